"""Groups of the tests' own: limits around metron, and the kernel's counts of what ran inside.

A group is made below the one the tests run in (v1: in the hierarchy of its controller; v2: the unified one) and
joined through the `join` workload, so that no process moves but those a test has started. The numbers of a group
are read from its files here and nowhere else: what metron says is compared with them. What this machine cannot
give is a skip that names it.
"""

import errno
import os
import pathlib
import time

import pytest

from support import cputruth

MIB = 1 << 20


def own_group(kind, controller):
    """The folder of the group we are in: kind 'cgroup' (v1, of a controller) or 'cgroup2'; None if there is none."""
    return cputruth.own_group(kind, controller)


def unified_mount():
    """Where all of cgroup v2 is mounted, with or without controllers; None if it is not."""
    for mount, root, kind, _ in cputruth.mounts():
        if kind == "cgroup2" and root == "/":
            return mount
    return None


def why_no_leaf():
    """Why no group can be made below our own, or None if one can."""
    if os.getuid() != 0:
        return "only root may make groups here"
    own = own_group("cgroup2", "")
    if own is None:
        own = own_group("cgroup", "cpuacct")
    if own is None:
        return "neither cgroup v2 nor cpuacct is mounted"
    if os.path.isdir("/run/systemd/system") and not _is_delegated(own):
        return f"{own} is systemd's and not delegated"
    trial = own / cputruth.group_name()
    try:
        trial.mkdir()
        trial.rmdir()
    except OSError as error:
        return f"{own}: {error.strerror}"
    return None


def _is_delegated(folder):
    for name in ("user.delegate", "trusted.delegate"):
        try:
            if os.getxattr(folder, name) == b"1":
                return True
        except OSError:
            pass
    return False


class Group:
    """One group. `inside` is the command line prefix that starts something in it."""

    def __init__(self, join_program, path, version):
        self.join_program = join_program
        self.path = pathlib.Path(path)
        self.version = version

    @property
    def inside(self):
        return [self.join_program, str(self.path / "cgroup.procs"), "--"]

    def read(self, name):
        return (self.path / name).read_text(encoding="utf-8").strip()

    def write(self, name, value):
        (self.path / name).write_text(str(value), encoding="utf-8")

    def keyed(self, name):
        """{key: number} of a file with `key number` lines."""
        return {key: int(value) for key, value in (line.split() for line in self.read(name).splitlines())}

    def subgroups(self):
        return sorted(path for path in self.path.iterdir() if path.is_dir())

    def leaf(self):
        """The one group that metron has made for its target below this one, as a Group; None if it has made none. In
        v2 it may have made one for itself beside it."""
        made = [path for path in self.subgroups() if not path.name.endswith("-self")]
        assert len(made) <= 1, f"more than one group below {self.path}: {made}"
        return Group(self.join_program, made[0], self.version) if made else None

    def held_bytes(self):
        """Anonymous and shared memory held by this group and all below it: what nobody can take away."""
        stat = self.keyed("memory.stat")
        if self.version == 1:
            return stat["total_rss"] + stat["total_shmem"]
        return stat["anon"] + stat["shmem"]

    def cached_bytes(self):
        """Page cache charged to this group and all below it, shared memory included."""
        return self.keyed("memory.stat")["total_cache" if self.version == 1 else "file"]

    def throttled_seconds(self):
        return self.throttled_in(self.read("cpu.stat"))[0]

    def throttled_in(self, text):
        """The throttled seconds of each cpu.stat in a text."""
        key, scale = ("throttled_time", 1e9) if self.version == 1 else ("throttled_usec", 1e6)
        return [int(line.split()[1]) / scale for line in text.splitlines() if line.startswith(f"{key} ")]

    def limit_hits(self):
        """How often this very group's own limit was in the way (v1: also where reclaim then helped)."""
        return int(self.read("memory.failcnt")) if self.version == 1 else self.keyed("memory.events.local")["oom"]

    def oom_kills(self):
        """How many processes of this very group the OOM killer has ended."""
        name = "memory.oom_control" if self.version == 1 else "memory.events.local"
        return self.keyed(name).get("oom_kill")


class Groups:
    """All groups that one test makes. `remove` takes them away, and whatever metron has left inside."""

    def __init__(self, programs):
        self.programs = pathlib.Path(programs)
        self.made = []

    def _make(self, parent, version):
        path = parent / cputruth.group_name()
        try:
            path.mkdir()
        except OSError as error:
            pytest.skip(f"no group can be made in {parent}: {error.strerror}")
        self.made.append(path)
        return Group(str(self.programs / "join"), path, version)

    def _enable(self, folder, controller):
        """Has v2 hand `controller` down to the groups below `folder`. False if it cannot.

        It stays so: a group that somebody else has made there since would lose its limits.
        """
        try:
            if controller in (folder / "cgroup.subtree_control").read_text(encoding="utf-8").split():
                return True
            (folder / "cgroup.subtree_control").write_text(f"+{controller}", encoding="utf-8")
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EOPNOTSUPP):
                raise
            return False
        return True

    def _parent(self, controller):
        """(folder below which a group of this controller can be made, version)."""
        own = own_group("cgroup", controller)
        if own is not None:
            return own, 1
        own = own_group("cgroup2", "")
        if own is None:
            pytest.skip(f"neither a v1 hierarchy of {controller} nor cgroup v2 is mounted")
        if self._enable(own, controller):
            return own, 2
        # Our own group has members, so v2 hands no controllers down below it: beside it, then, where somebody
        # has them handed down already.
        mount = unified_mount()
        folder = own
        while mount is not None and folder != mount and mount in folder.parents:
            folder = folder.parent
            handed = (folder / "cgroup.subtree_control").read_text(encoding="utf-8").split()
            if controller in handed:
                return folder, 2
        pytest.skip(f"v2 hands no {controller} controller down to {own}")

    def _group(self, controller, below):
        if os.getuid() != 0:
            pytest.skip(f"only root may make a {controller} group")
        if below is None:
            return self._make(*self._parent(controller))
        if below.version == 2 and not self._enable(below.path, controller):
            pytest.skip(f"v2 hands no {controller} controller down below {below.path}")
        return self._make(below.path, below.version)

    def memory(self, limit=None, below=None, with_swap=False):
        """A memory group with a limit in bytes that swap does not soften, or with none of its own.

        with_swap: memory and swap together are limited to as much, as batch systems do it, swap or no swap.
        """
        group = self._group("memory", below)
        if limit is None:
            return group
        group.write("memory.limit_in_bytes" if group.version == 1 else "memory.max", limit)
        if with_swap:
            swap, value = ("memory.memsw.limit_in_bytes", limit) if group.version == 1 else ("memory.swap.max", 0)
            if not (group.path / swap).exists():
                pytest.skip(f"this kernel has no {swap}")
            group.write(swap, value)
        else:  # somebody may switch swap on at any time
            for name in ("memory.swappiness", "memory.swap.max"):
                if (group.path / name).exists():
                    group.write(name, 0)
        return group

    def cpu(self, quota_us, period_us):
        """A group that gets no more than quota / period of a CPU."""
        group = self._group("cpu", None)
        if group.version == 1:
            if not (group.path / "cpu.cfs_quota_us").exists():
                pytest.skip("this kernel has no CPU quotas (CONFIG_CFS_BANDWIDTH)")
            group.write("cpu.cfs_period_us", period_us)
            group.write("cpu.cfs_quota_us", quota_us)
        else:
            group.write("cpu.max", f"{quota_us} {period_us}")
        return group

    def everywhere(self):
        """A group in each hierarchy in which metron makes leaves: nobody else's metron makes any there."""
        if os.getuid() != 0:
            pytest.skip("only root may make groups here")
        parents = [(own_group("cgroup2", ""), 2)]
        parents += [(own_group("cgroup", controller), 1) for controller in ("memory", "cpuacct", "pids", "blkio")]
        found = dict.fromkeys((parent, version) for parent, version in parents if parent is not None)
        return Place([self._make(parent, version) for parent, version in found])

    def below(self, group):
        """A group with no limit of its own below another; v2 needs no controller for that."""
        return self._make(group.path, group.version)

    def remove(self):
        for path in reversed(self.made):
            _remove_tree(path)
        self.made = []


class Place:
    """Groups of several hierarchies, joined together."""

    def __init__(self, groups):
        self.groups = groups

    @property
    def inside(self):
        return [self.groups[0].join_program, *(str(group.path / "cgroup.procs") for group in self.groups), "--"]

    def subgroups(self):
        return [path for group in self.groups for path in group.subgroups()]


class UserMemory:
    """A memory group that an ordinary user's command may join: `outer` starts metron, `join` the command."""

    def __init__(self, groups, uid):
        parent, version = groups._parent("memory")
        if version == 1:
            self.group = groups._make(parent, version)
            self.outer, writable = [], [self.group]
        else:
            # v2 asks for write access to the common ancestor: metron in one leaf, the command in another
            top = groups.memory()
            outside, self.group = groups.memory(below=top), groups.memory(below=top)
            self.outer, writable = outside.inside, [top, self.group]
        if uid is not None:
            for group in writable:
                os.chown(group.path / "cgroup.procs", uid, -1)
        self.join = self.group.inside


class WithinTruth:
    """CPU time of a command that stays in the group it was started in: a group below that one counts it too."""

    def __init__(self, programs, folder):
        mount = unified_mount()
        if mount is None:
            pytest.skip("cgroup v2 is not mounted")
        self.file = pathlib.Path(folder) / "within-usec"
        self.outer = []
        self.join = [str(pathlib.Path(programs) / "within"), str(mount), str(self.file), "--"]
        self.method = "cpu.stat of a cgroup v2 group below"

    def seconds(self):
        return int(self.file.read_text(encoding="utf-8")) / 1e6


def need_own_leaf(runner):
    """Skips where no group may be made; fails where one may, and metron makes none all the same."""
    probe = runner("-q --cgroup own", "true", prefix="probe_", check=False)
    for path in runner.cwd.glob("probe_*"):
        path.unlink()
    if probe.returncode != 0:
        reason = why_no_leaf()
        if reason is not None:
            pytest.skip(f"no own cgroup here: {reason}")
        pytest.fail(f"a group can be made here, but not by metron: {probe.message.strip()}")


def _remove_tree(path):
    """Removes a group and all below it; a member that is just ending is given a moment."""
    if not path.is_dir():
        return
    for child in [child for child in path.iterdir() if child.is_dir()]:
        _remove_tree(child)
    for _ in range(200):
        try:
            path.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)
