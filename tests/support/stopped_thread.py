"""One thread of a process stopped while the others go on: a write that does not come back, without a broken disk."""

import contextlib
import ctypes
import os
import pathlib

import pytest

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # __WALL: threads are waited for as well

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def thread_named(pid, name):
    """The thread of a process that has this name."""
    for folder in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (folder / "comm").read_text(encoding="utf-8").strip() == name:
            return int(folder.name)
    raise AssertionError(f"process {pid} has no thread {name}")


def _ptrace(request, tid):
    if libc.ptrace(request, tid, None, None) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def seize(tid):
    """The thread stands still from now on. Skips where we may not trace it; OSError: it has ended."""
    try:
        _ptrace(PTRACE_SEIZE, tid)
    except PermissionError:
        pytest.skip("no process may be traced here")
    with contextlib.suppress(ProcessLookupError):
        _ptrace(PTRACE_INTERRUPT, tid)
    _, status = os.waitpid(tid, WALL)  # of one that has ended as well: its process does not end before
    if not os.WIFSTOPPED(status):
        raise ProcessLookupError(f"thread {tid} has ended")


def has_ended(tid):
    """Whether a thread that was seized has been ended meanwhile."""
    try:
        return os.waitpid(tid, WALL | os.WNOHANG)[0] == tid
    except ChildProcessError:
        return True


@contextlib.contextmanager
def stopped(pid, name):
    """The thread stands still within the block. Skips where we may not trace it."""
    tid = thread_named(pid, name)
    seize(tid)
    try:
        yield
    finally:
        _ptrace(PTRACE_DETACH, tid)
