"""Another user for the tests of this process: one without privilege, without a name, and without any other process.

Its number follows from the pid of the process that runs the tests. No two living processes have the same pid, so
neither two workers nor two suites share a user; tests/unit/another_user.h counts the same way. There is no entry of
it in /etc/passwd: no program that is tested needs one.
"""

import os
import pathlib
import pwd
import subprocess

# Above the numbers that distributions, directories (sssd) and containers (systemd) give away, below 2^31.
FIRST = 2_100_000_000
PIDS = 1 << 22  # the most there can be (PID_MAX_LIMIT of the kernel)
# Where a container has only the usual 65,536 numbers: above a machine's own users, below 65534.
FIRST_OF_FEW, FEW = 20_000, 40_000


def _has_a_name(uid):
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


def _owners():
    """The users of all processes."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found.add(path.stat().st_uid)
        except OSError:
            pass
    return found


def _candidates(which):
    """Numbers for the first (0) or second (1) user, far apart: the neighbours of one belong to the next pids."""
    maps = [[int(word) for word in line.split()] for line in open("/proc/self/uid_map", encoding="ascii")]
    if max(first + count for first, _, count in maps) > FIRST + PIDS:
        yield from range(FIRST + os.getpid() + which * PIDS, 1 << 31, PIDS)
    else:
        yield from (FIRST_OF_FEW + (os.getpid() + which * FEW // 2 + step) % FEW for step in range(FEW))


def _free(which, *taken):
    owners = _owners().union(taken)
    return next(uid for uid in _candidates(which) if uid not in owners and not _has_a_name(uid))


ANOTHER_USER = _free(0)
STRANGER = _free(1, ANOTHER_USER)  # a second one: to root and to the other alike
AS_ANOTHER_USER = ["setpriv", f"--reuid={ANOTHER_USER}", f"--regid={ANOTHER_USER}", "--clear-groups", "--"]


def others_are_hidden():
    """Whether /proc shows that user nobody's processes but its own (hidepid)."""
    return subprocess.run([*AS_ANOTHER_USER, "test", "-e", "/proc/1"], check=False).returncode != 0
