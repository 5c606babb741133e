"""metron ends before the command, or before its last child: they go on, and their output arrives."""

import pytest

from support.harm import ATTACH, JOB, PTY, RUN, cells, expect_same

LATE = "say late lines 200 write late state end exit 7"
# When metron is killed: what the witness does before, and after.
MOMENTS = {
    "begun": ("ready wait", LATE),
    "written": ("say early write early ready wait", LATE),
    "writing": ("say early ready " + "lines 20 pause 0.002 " * 50 + "wait", LATE),
    "child": ("say early child ready wait child", LATE),
}
FEW = ["written", "writing"]


@pytest.mark.parametrize("column, moment", cells({RUN: MOMENTS, PTY: MOMENTS, ATTACH: FEW, JOB: MOMENTS}))
def test_metron_killed(stage, column, moment):
    def procedure(case):
        case.wait_ready()
        if moment == "writing":
            case.wait_seen(5000)
        case.kill_metron()
        case.go()
        return case.finish()

    steps = " ".join(MOMENTS[moment])
    reference = procedure(stage.bare(column, steps))
    expect_same(procedure(stage.start(column, steps)), reference)


@pytest.mark.parametrize("column, wait", cells({RUN: ["root"], PTY: ["root"], JOB: ["root"]}, "wait-{}"))
def test_child_that_outlives_the_command(stage, column, wait):
    """It goes on after the command and metron have ended. The reader sees the end of the output when the child ends."""
    def procedure(case):
        case.wait_end()
        case.go()
        return case.finish()

    steps = f"say early leave 7 wait {LATE}"
    args = f"--wait {wait}" if column != JOB else ""
    reference = procedure(stage.bare(column, steps))
    case = stage.start(column, steps, args)
    expect_same(procedure(case), reference)
    assert column == JOB or case.has_recorded(7)


@pytest.mark.parametrize("column, wait", cells({RUN: ["tree"], PTY: ["tree"]}, "wait-{}"))
def test_metron_killed_while_it_waits_for_such_a_child(stage, column, wait):
    def procedure(case):
        case.wait_ready()
        case.kill_metron()
        case.go()
        return case.finish()._replace(code=None)  # no process is left to pass the command's exit code on

    steps = f"say early leave 7 ready wait {LATE}"
    reference = procedure(stage.bare(column, steps))
    expect_same(procedure(stage.start(column, steps, f"--wait {wait}")), reference)
