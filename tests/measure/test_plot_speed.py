"""metron plot of long runs: the instructions it takes, and its memory. `make bench` has the time of a week."""

import subprocess

import pytest

from support import instructions, made_recording

LONG, MIDDLE, SHORT = 120_000, 10_000, 5_000
WEEK = 600_000  # seconds

# Reading one record of 300 bytes; a week of seconds has 600,000 of them.
INSTRUCTIONS_PER_RECORD = 15_000
# Reading the short one and drawing it.
INSTRUCTIONS_OF_PICTURE = {"png": 1_500_000_000, "svg": 800_000_000}
# Of address space: what is drawn takes 21 MiB; the long recording, which is never held whole, has 36.
MEMORY = 48 << 20


def make_week(runner, number):
    """A week that was recorded in so many records."""
    return made_recording.make_long(runner.cwd / str(number), records=number, interval=WEEK / number)


def plot_line(runner, form, folder):
    picture = ["-o", str(runner.cwd / f"week.{form}")] if form != "terminal" else []
    if picture and not (runner.programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures (cairo is missing)")
    return [runner.binary, "plot", *picture, str(folder)]


def test_a_record_takes_few_instructions(run_metron):
    """A terminal is drawn with the same effort whatever the length: the rest is reading."""
    lines = [plot_line(run_metron, "terminal", make_week(run_metron, number)) for number in (MIDDLE, SHORT)]
    more, less = (instructions.of_command(line, run_metron.environment()) for line in lines)
    assert (more - less) / (MIDDLE - SHORT) < INSTRUCTIONS_PER_RECORD


@pytest.mark.parametrize("form", INSTRUCTIONS_OF_PICTURE)
def test_a_picture_takes_few_instructions(run_metron, form):
    line = plot_line(run_metron, form, make_week(run_metron, SHORT))
    assert instructions.of_command(line, run_metron.environment()) < INSTRUCTIONS_OF_PICTURE[form]


@pytest.fixture(scope="module")
def long_recording(tmp_path_factory):
    return made_recording.make_long(tmp_path_factory.mktemp("week"), records=LONG, interval=WEEK / LONG)


@pytest.mark.parametrize("form", ["png", "svg", "terminal"])
def test_a_long_recording_is_never_held_whole(run_metron, long_recording, form):
    assert (long_recording / "usage.jsonl").stat().st_size > 0.7 * MEMORY
    subprocess.run(["prlimit", f"--as={MEMORY}", *plot_line(run_metron, form, long_recording)], check=True,
                   stdout=subprocess.DEVNULL, env=run_metron.environment())
