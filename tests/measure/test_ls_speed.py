"""metron ls over many runs: the instructions it takes for each, and its memory. `make bench` has its time."""

import subprocess

import pytest

from support import instructions, made_runs

MANY, SOME, FEW = 2500, 200, 50
MEMORY = 16 << 20  # so 10,000 runs fit into 64 MiB

# Instructions that a listing may take for each run, by its arguments; of 10,000 runs that is two seconds on an old
# machine. A key that is not among the common ones has the whole summary searched.
LISTINGS = [
    ([], 900_000), (["--json"], 900_000), (["-f", "csv"], 900_000), (["--sort", "wall"], 900_000),
    (["--group-by", "job"], 900_000), (["-F", "command,proc_peak_rss_total"], 1_400_000),
    (["--filter", "proc_peak_rss_total > 1MiB or command =~ seed"], 1_400_000)]


def instructions_per_run(runner, args, number):
    folder = made_runs.make_many(runner.cwd / str(number), number)
    return instructions.of_command([runner.binary, "ls", *args, folder], runner.environment()) / number


# Listings that put all runs in order, or in groups.
SORTING = [["--sort", "wall"], ["--group-by", "job"]]


@pytest.mark.parametrize("args, limit", LISTINGS, ids=lambda part: " ".join(part) if isinstance(part, list) else "")
def test_a_listed_run_takes_few_instructions_among_few_or_many(run_metron, args, limit):
    some = instructions_per_run(run_metron, args, SOME)
    assert some < limit
    if args in SORTING:
        assert some < 1.05 * instructions_per_run(run_metron, args, FEW)


def test_thousands_of_runs_list_in_little_memory(run_metron):
    """Of address space. (A process's largest RSS, as wait4 has it, begins with that of the one that spawned it.)"""
    folder, out = made_runs.make_many(run_metron.cwd / "many", MANY), run_metron.cwd / "out"
    for args, _ in LISTINGS:
        with open(out, "wb") as stdout:
            subprocess.run(["prlimit", f"--as={MEMORY}", run_metron.binary, "ls", *args, folder], check=True,
                           stdout=stdout, env=run_metron.environment())
        assert out.stat().st_size > 0, args
