"""Watching and ending processes, without leaving any behind."""

import contextlib
import ctypes
import os
import pathlib
import signal
import time

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    """Orphans of what the tests start come to us, so that they can be found and ended."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def stat_fields(pid):
    """(state, ppid) of a process, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (fields[0].decode(), int(fields[1])) if len(fields) > 1 else None


def state(pid):
    fields = stat_fields(pid)
    return fields[0] if fields else None


def alive(pid):
    return state(pid) not in (None, "Z", "X")


def descendants(root):
    """All living descendants of a process, by one scan of /proc, parents before children."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat_fields(name)
            if fields:
                children.setdefault(fields[1], []).append(int(name))
    found, todo = [], [root]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def named_descendants(root):
    """{pid: name} of those who did not end meanwhile."""
    found = {}
    for pid in descendants(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    return found


def is_below(pid):
    """Whether this process or one below it has started it, or adopted it."""
    while fields := stat_fields(pid):
        pid = fields[1]
        if pid == os.getpid():
            return True
    return False


def send_signal(pid, number):
    """Sends a signal to a process below this one; ProcessLookupError if there is none. os.kill may hit another process
    of the machine that has the pid by now. So a descriptor is opened, and after that it is checked whose it is."""
    fd = os.pidfd_open(pid)
    try:
        if not is_below(pid):
            raise ProcessLookupError(f"{pid} is not a process of these tests any more")
        signal.pidfd_send_signal(fd, number)
    finally:
        os.close(fd)


SPARED = set()  # pids of what several tests share: their own fixtures end them


def leftovers():
    """Everything below this process, zombies included, but for what several tests share."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []  # most tests: nobody to look for among all processes of the machine
    left = descendants(os.getpid())
    # Read after the others: a process that was just started below a shared one is below it now.
    shared = {pid for each in SPARED for pid in (each, *descendants(each))}
    return [pid for pid in left if pid not in shared]


def end_leftovers():
    """Kills everything below this process and reaps what has become ours. Returns how many there were."""
    count = 0
    for _ in range(50):
        left = leftovers()
        if not left:
            return count
        for pid in left:
            if alive(pid):
                count += 1
            with contextlib.suppress(ProcessLookupError):
                send_signal(pid, signal.SIGKILL)
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        time.sleep(0.02)
    return count


def wait_until(condition, timeout=60.0, what="the condition"):
    """Polls until `condition()` is true and returns what it gave; an error after `timeout` seconds. What takes long is
    looked at less and less often: every 5 ms at first, every 50 ms after half a second."""
    begin = time.monotonic()
    while True:
        result = condition()
        if result:
            return result
        waited = time.monotonic() - begin
        if waited > timeout:
            raise AssertionError(f"{what} did not come true within {timeout} s")
        time.sleep(min(0.05, max(0.005, waited / 10)))


def file_lines(path):
    """The lines of a file that somebody may still be writing; [] if it is not there yet."""
    try:
        return path.read_text().splitlines()
    except FileNotFoundError:
        return []


def expect_none_left():
    """Waits until everything below this process has ended, but for what several tests share."""
    try:
        wait_until(lambda: not list(filter(alive, leftovers())), what="the end of every process")
    except AssertionError as error:
        left = {pid: name for pid, name in named_descendants(os.getpid()).items() if alive(pid)}
        raise AssertionError(f"{error}: {left}") from None
