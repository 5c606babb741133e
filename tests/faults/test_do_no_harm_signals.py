"""Signals sent to metron: the command reacts as if they had been sent to its process group.

SIGTERM and SIGHUP go to its whole tree; with `metron job exec` every signal goes to the command alone. Signals that
report a fault in metron, and signals that no process can handle, are not tested.
"""

import signal

import pytest

from support.harm import ATTACH, JOB, PTY, RUN, cells, expect_same, run_to_end
from support.processes import wait_until

FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP, signal.SIGSYS, signal.SIGABRT}
UNHANDLED = {signal.SIGKILL, signal.SIGSTOP}
STOPPING = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
NOT_FATAL = STOPPING | {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
# All below the real-time signals; of these the first, one that metron uses between its threads, and the last.
NUMBERS = {number.name[3:]: int(number) for number in signal.Signals
           if number < 32 and number not in FAULTS | UNHANDLED}
NUMBERS |= {"RTMIN": int(signal.SIGRTMIN), "RTMIN+6": int(signal.SIGRTMIN) + 6, "RTMAX": int(signal.SIGRTMAX)}


def has_own_rules(column, number):
    """Whether the command may get something other than the signal. SIGCHLD is about metron's children; metron stops the
    command with SIGSTOP, because its group is orphaned; with --pty SIGWINCH becomes a new size of its terminal."""
    return number in STOPPING or number == signal.SIGCHLD or (column == PTY and number == signal.SIGWINCH)


@pytest.mark.parametrize("column, name", cells({RUN: NUMBERS, PTY: NUMBERS, JOB: NUMBERS}))
def test_signal_with_its_default_action(stage, column, name):
    """It ends the command, does nothing, or stops it until SIGCONT."""
    number = NUMBERS[name]

    def procedure(case):
        case.wait_ready()
        case.send(number)
        if number in NOT_FATAL:
            case.go()
        return case.finish(continuing=number in STOPPING)

    steps = "state begin say before ready wait say after write one exit 7"
    reference = procedure(stage.bare(column, steps))
    case = stage.start(column, steps)
    expect_same(procedure(case), reference)
    assert column == JOB or case.has_recorded(reference.code)


@pytest.mark.parametrize("column, name", cells({RUN: NUMBERS, PTY: NUMBERS, JOB: NUMBERS}))
def test_signal_that_is_handled_or_ignored(stage, column, name):
    """The command handles it; of its children one ignores it, one does not, and one handles it in its own session."""
    number = NUMBERS[name]
    own_rules = has_own_rules(column, number)

    def procedure(case, reference=None):
        case.wait_ready()
        case.send(number)
        if reference and not own_rules:
            wait_until(lambda: case.metron_ended() or case.reacted_as(reference), what="the signal")
        case.go()
        effects = case.finish(continuing=number in STOPPING)
        return effects.without("signals", "away") if own_rules else effects

    steps = f"state begin handle {number} family {number} say before ready wait say after reap write one exit 7"
    reference = procedure(stage.bare(column, steps))
    case = stage.start(column, steps)
    expect_same(procedure(case, reference), reference)
    assert column == JOB or case.has_recorded(reference.code)


@pytest.mark.parametrize("column, name", cells({ATTACH: NUMBERS}))
def test_signal_to_a_metron_that_is_attached(stage, column, name):
    """The witness, which handles every signal, gets none."""
    steps = "handle 0 say before ready wait say after write one exit 7"
    reference = run_to_end(stage.bare(column, steps))
    case = stage.start(column, steps)
    case.wait_ready()
    case.send(NUMBERS[name])
    case.go()
    expect_same(case.finish(), reference)
