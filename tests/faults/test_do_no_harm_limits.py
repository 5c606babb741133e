"""Resource limits around metron: the command does what it does under the same limit without metron.

Where a limit leaves metron 8 processes or threads and 32 descriptors beyond the command's need, metron records the run.
Below that the command has its own stdout and stderr, and metron says what it could not do.
"""

import resource
import signal

import pytest

from support.harm import ATTACH, JOB, PTY, RUN, cells, expect_same, run_to_end
from support.kernel_events import need_program
from support.processes import wait_until

STEPS = "state begin say before write one ready wait say after write two grow large state end exit 7"
# stdin, stdout, stderr and the file that the witness has open.
DESCRIPTORS_NEEDED = 4 + 32
KIB, MIB = 1 << 10, 1 << 20


def check(stage, column, limit, steps=STEPS, records=False):
    """`limit` as prlimit has it. `records`: metron has to record the run, as far as it records any."""
    outer = [need_program("prlimit"), f"--{limit}"]
    reference = run_to_end(stage.bare(column, steps, outer))
    case = stage.start(column, steps, outer=outer)
    expect_same(run_to_end(case), reference)
    if column == JOB:
        return
    recorded = case.has_recorded(reference.code)
    assert recorded or (not records and case.said), "metron neither recorded the run nor said why not"


NOFILE = [8, 12, 16, 19, 20, 24, 31, 32, 36, 48, 64]
NOFILE_FEW = [8, 19, 31, 64]


@pytest.mark.parametrize("column, limit", cells({RUN: NOFILE, PTY: NOFILE, ATTACH: NOFILE_FEW, JOB: NOFILE_FEW},
                                                "nofile-{}"))
def test_descriptors(stage, column, limit):
    check(stage, column, f"nofile={limit}", records=limit >= DESCRIPTORS_NEEDED)


@pytest.mark.parametrize("column, limit", cells({RUN: [8], PTY: [8], ATTACH: [8], JOB: [8]}, "nofile-{}-of-1024"))
def test_descriptors_that_metron_may_have_more_of(stage, column, limit):
    """metron raises its soft limit, not the command's."""
    check(stage, column, f"nofile={limit}:1024", records=True)


NPROC = [1, 2, 3, 4, 5, 6, 8, 9]
NPROC_FEW = [2, 9]


@pytest.mark.parametrize("column, limit", cells({RUN: NPROC, PTY: NPROC, ATTACH: NPROC_FEW, JOB: [1, *NPROC_FEW]},
                                                "nproc-{}"))
def test_processes(user_stage, column, limit):
    """The command needs one, metron at least one."""
    check(user_stage, column, f"nproc={limit}", records=limit >= 1 + 8)


@pytest.mark.parametrize("column, limit", cells({RUN: [10, 32], PTY: [10, 32], JOB: [10]}, "nproc-{}"))
def test_processes_of_a_command_that_has_a_child(user_stage, column, limit):
    check(user_stage, column, f"nproc={limit}", "say before ready wait child say after write one exit 7", records=True)


FSIZE = [0, 1 * KIB, 16 * KIB, 60 * KIB]
FSIZE_FEW = [0, 16 * KIB]


@pytest.mark.parametrize("column, limit", cells({RUN: FSIZE, PTY: FSIZE, ATTACH: FSIZE_FEW, JOB: FSIZE_FEW},
                                                "fsize-{}"))
def test_size_of_files(stage, column, limit):
    """With 0 the witness dies of SIGXFSZ at its first file."""
    check(stage, column, f"fsize={limit}", records=limit == 60 * KIB)


@pytest.mark.parametrize("column, limit", cells({RUN: [60 * KIB], PTY: [60 * KIB]}, "fsize-{}"))
def test_size_of_files_reached_by_the_output(stage, column, limit):
    """The capture of stdout reaches it: all of the output is shown."""
    check(stage, column, f"fsize={limit}", "say before write one ready wait lines 100 say after write two exit 7")


MEMORY = [size * MIB for size in (8, 12, 13, 14, 16, 32, 128)]
MEMORY_FEW = [8 * MIB, 16 * MIB]


@pytest.mark.plain
@pytest.mark.parametrize("column, limit", cells({RUN: MEMORY, PTY: MEMORY, ATTACH: MEMORY_FEW, JOB: MEMORY_FEW},
                                                "as-{}"))
def test_memory(stage, column, limit):
    """From what metron's libraries need to what all of it needs."""
    check(stage, column, f"as={limit}", records=limit == 128 * MIB)


@pytest.mark.parametrize("column, limit", cells({RUN: [300], PTY: [300], JOB: [300]}, "cpu-{}"))
def test_cpu_time_of_the_command(stage, column, limit):
    """It sees the same limit, and dies of the SIGXCPU that the kernel sends it when it has lowered its own."""
    check(stage, column, f"cpu={limit}:600", "state begin say before ready wait burn 60 exit 7", records=True)


@pytest.mark.parametrize("column, limit", cells({RUN: [0], PTY: [0], ATTACH: [0]}, "cpu-{}"))
def test_cpu_time_of_metron(stage, column, limit):
    """The SIGXCPU that the kernel sends to metron is not passed on."""
    steps = f"handle {int(signal.SIGXCPU)} say before ready wait say after exit 7"
    reference = run_to_end(stage.bare(column, steps))
    case = stage.start(column, steps, "--sample-interval 0.01")
    case.wait_ready()
    resource.prlimit(case.metron, resource.RLIMIT_CPU, (limit, 600))
    # The kernel raises the limit by a second when it has sent the signal.
    wait_until(lambda: case.metron_ended() or resource.prlimit(case.metron, resource.RLIMIT_CPU)[0] > limit,
               what="SIGXCPU to metron")
    case.go()
    expect_same(case.finish(), reference)
    assert case.has_recorded(reference.code)


@pytest.mark.parametrize("column, limit", cells({RUN: [0, 64 * KIB], PTY: [0, 64 * KIB], JOB: [0]}, "core-{}"))
def test_core(stage, column, limit):
    check(stage, column, f"core={limit}", f"state begin say before ready wait raise {int(signal.SIGABRT)}",
          records=True)


STACK = [256 * KIB, 1 * MIB]


@pytest.mark.parametrize("column, limit", cells({RUN: STACK, PTY: STACK, ATTACH: STACK[:1], JOB: STACK[:1]},
                                                "stack-{}"))
def test_stack(stage, column, limit):
    check(stage, column, f"stack={limit}", records=True)
