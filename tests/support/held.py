"""Commands that wait until metron has measured what they hold.

A test starts the command with stdin=PIPE. A workload that is given "-" for a time holds on for a line on its
standard input, or its end, which Started.finish() brings about: so the test first waits for the record it needs,
however busy the machine is.
"""

import contextlib
import signal

from support.processes import state, wait_until
from support.records import whole_lines


def records(started):
    """The records that a run under way has written so far."""
    return whole_lines(started.path("usage.jsonl"))


def _count(started):
    """How many those are, at little cost: some have thousands of processes."""
    path = started.path("usage.jsonl")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def go_on(started):
    """A line on standard input: the command comes to its next part."""
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()


def await_records(started, count, timeout=120):
    """Waits for `count` more records. Returns all that there are then."""
    count += _count(started)
    wait_until(lambda: _count(started) >= count, timeout, f"{count} records")
    return records(started)


def await_record(started, condition, what, timeout=120):
    """The first record whose measurements fulfil a condition."""
    def find():
        assert started.process.poll() is None, "the run has ended"
        return next((record for record in records(started) if condition(record["measurements"])), None)
    return wait_until(find, timeout, what)


@contextlib.contextmanager
def paused(started):
    """metron is stopped meanwhile and takes no sample; the command goes on."""
    started.signal(signal.SIGSTOP)
    wait_until(lambda: state(started.pid) == "T", what="metron stopped")
    try:
        yield
    finally:
        started.signal(signal.SIGCONT)
