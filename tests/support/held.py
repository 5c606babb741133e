"""Commands that wait until metron has measured what they hold.

A test starts the command with stdin=PIPE. A workload that is given "-" for a time holds on for a line on its
standard input, or its end, which Started.finish() brings about: so the test first waits for the record it needs,
however busy the machine is.
"""

import json

from support.processes import file_lines, wait_until


def records(started):
    """The records that a run under way has written so far."""
    found = []
    for line in file_lines(started.path("usage.jsonl")):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break  # it is being written
    return found


def go_on(started):
    """A line on standard input: the command comes to its next part."""
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()


def await_records(started, count, timeout=120):
    """So many more records than there are."""
    count += len(records(started))
    wait_until(lambda: len(records(started)) >= count, timeout, f"{count} records")
    return records(started)


def await_record(started, condition, what, timeout=120):
    """The first record whose measurements fulfil a condition."""
    def find():
        assert started.process.poll() is None, "the run has ended"
        return next((record for record in records(started) if condition(record["measurements"])), None)
    return wait_until(find, timeout, what)
