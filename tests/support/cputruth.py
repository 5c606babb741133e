"""The kernel's own count of what a target used: a cgroup leaf that only the target joins.

cpuacct of cgroup v1 where it is mounted and may be written, else cpu.stat of cgroup v2 (which counts CPU even
without any controller). metron itself, and everything else of the test, stays outside the leaf.
"""

import os
import pathlib
import tempfile
import time

# What a command uses while it joins: between its word of what it has used so far, and the group that counts it.
JOINING_SECONDS = 0.0005


class NoTruth(Exception):
    """This machine lets us make no such group; the text says why."""


def group_name():
    """A name that no other group has, and no metron would take for its own."""
    return f"metron-test-{os.getpid()}-{time.monotonic_ns()}"


def mounts():
    """(mount point, root inside the file system, type, super options) of every cgroup mount."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            left, _, right = line.partition(" - ")
            fields, (kind, _, options) = left.split(), right.split()[:3]
            if kind in ("cgroup", "cgroup2"):
                yield pathlib.Path(fields[4]), fields[3], kind, options.split(",")


def _membership(controller):
    """The path of our own group in the hierarchy of `controller` ('' for v2)."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if controller in controllers.split(","):
                return path.lstrip("/")
    return None


def own_group(kind, controller):
    own = _membership(controller)
    for mount, root, mounted_kind, options in mounts():
        if mounted_kind != kind or own is None:
            continue
        if kind == "cgroup" and controller not in options:
            continue
        inside = own[len(root.lstrip("/")):].lstrip("/") if root != "/" else own
        if (mount / inside).is_dir():
            return mount / inside
    return None


class CpuTruth:
    """A leaf. `outer` starts metron, `join` starts the target (both are command line prefixes)."""

    def __init__(self, join, uid=None, version=None):
        self.join_program = join
        self.groups = []
        # What was used before it joined: metron's child until its exec, and `join` itself.
        handle, path = tempfile.mkstemp(prefix="metron-test-used-")
        os.close(handle)
        self.used_before = pathlib.Path(path)
        self.used_before.chmod(0o666)
        reasons = []
        for attempt in (self._make_v1, self._make_v2):
            if version and attempt.__name__ != f"_make_{version}":
                continue
            try:
                attempt(uid)
                return
            except OSError as error:
                reasons.append(error.strerror or str(error))
                self._remove_groups()
        self.remove()
        raise NoTruth("no writable cpuacct (v1) or cgroup v2 group: " + "; ".join(reasons))

    def _mkdir(self, path):
        path.mkdir()
        self.groups.append(path)
        return path

    def _make_v1(self, uid):
        own = own_group("cgroup", "cpuacct")
        if own is None:
            raise OSError("cpuacct is not mounted")
        leaf = self._mkdir(own / group_name())
        if uid is not None:
            os.chown(leaf / "tasks", uid, -1)
        self.usage_file = leaf / "cpuacct.usage"
        self.outer = []
        self.join = [self.join_program, "-c", str(self.used_before), str(leaf / "tasks"), "--"]
        self.method = "cpuacct"

    def _make_v2(self, uid):
        # An ordinary user may only move within a subtree whose top it may write: metron starts in one leaf
        # of it and the target joins the other.
        own = own_group("cgroup2", "")
        if own is None:
            raise OSError("cgroup v2 is not mounted")
        top = self._mkdir(own / group_name())
        outside, leaf = self._mkdir(top / "metron"), self._mkdir(top / "target")
        if uid is not None:
            for group in (top, leaf):
                os.chown(group / "cgroup.procs", uid, -1)
        self.usage_file = leaf / "cpu.stat"
        self.outer = [self.join_program, str(outside / "cgroup.procs"), "--"]
        self.join = [self.join_program, "-c", str(self.used_before), str(leaf / "cgroup.procs"), "--"]
        self.method = "cpu.stat of cgroup v2"

    def seconds(self):
        """All that the target used since it was forked."""
        before = sum(float(line) for line in self.used_before.read_text(encoding="utf-8").split())
        text = self.usage_file.read_text(encoding="utf-8")
        if self.usage_file.name == "cpuacct.usage":
            return before + int(text) / 1e9
        return before + int(dict(line.split() for line in text.splitlines())["usage_usec"]) / 1e6

    def remove(self):
        self._remove_groups()
        self.used_before.unlink(missing_ok=True)

    def _remove_groups(self):
        """A member that is just ending is given a moment."""
        for group in reversed(self.groups):
            for _ in range(200):
                try:
                    group.rmdir()
                    break
                except OSError:
                    time.sleep(0.01)
        self.groups = []
