"""Storing a snapshot: the instructions it takes for each process. `make bench` has the daemon's time."""

import pytest

from support import instructions
from support.built import unit_program

FEW, MANY = 250, 1000
# Of 4,000 processes that is less than five milliseconds on an old machine; what makes up the snapshots is included.
LIMIT = 4000


def instructions_per_process(folder, processes, options):
    """Of a snapshot, upkeep included: the difference of a long and a short history."""
    short, long = (instructions.of_command(
        [unit_program("history_writer"), f"processes={processes}", f"ticks={ticks}", "interval=1", "maintain=5",
         *options, folder / f"{processes}-{ticks}.db"], None) for ticks in (5, 20))
    return (long - short) / 15 / processes


@pytest.mark.parametrize("options", [[], ["random=1", "waking=0"]], ids=["steady", "random"])
def test_a_stored_process_takes_few_instructions_among_few_or_many(tmp_path, options):
    few, many = (instructions_per_process(tmp_path, processes, options) for processes in (FEW, MANY))
    assert many < LIMIT
    assert many < 1.2 * few
