"""A working folder that metron cannot write into, with the default prefix: the command runs all the same."""

import subprocess

import pytest

from support.harm import ATTACH, COLUMNS, JOB, PTY, RUN, cells, expect_same, run_to_end

STEPS = "state begin say before write one ready wait say after write two exit 7"


@pytest.fixture
def make_disk(full_disk):
    """make_disk(state) -> a folder on a small disk that is full, read-only, or has only 64 KiB."""
    def make(state):
        disk = full_disk("64k")
        if state == "full":
            with open(disk / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
                while True:
                    filler.write(b"x" * 4096)
        elif state == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        return disk
    return make


@pytest.mark.parametrize("column, state", cells({column: ["full", "read-only"] for column in COLUMNS}))
def test_disk(stage, make_disk, column, state):
    disk = make_disk(state)
    reference = run_to_end(stage.bare(column, STEPS, cwd=disk))
    case = stage.start(column, STEPS, cwd=disk)
    expect_same(run_to_end(case), reference)
    assert column == JOB or case.said, "metron does not say that it cannot record the run"


@pytest.mark.parametrize("column, state", cells({RUN: ["filling"], PTY: ["filling"], ATTACH: ["filling"]}))
def test_disk_that_becomes_full(stage, make_disk, column, state):
    """The output alone has more bytes than the disk."""
    disk = make_disk(state)
    steps = STEPS.replace("wait", "wait lines 100")
    args = "--sample-interval 0.01 --report-interval 0.01"
    reference = run_to_end(stage.bare(column, steps, cwd=disk))
    expect_same(run_to_end(stage.start(column, steps, args, cwd=disk)), reference)
