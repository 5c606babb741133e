"""The leaf that metron makes for a command: where it is, and what the kernel counts for it."""

import pathlib

import pytest

from support import cgroups, cputruth

PYTHON = "/usr/bin/python3"
# A program that leaves its session and its parents at once, and sleeps without any variable of its job.
ESCAPE = "import os, sys\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n" \
         "os.execve('/bin/sleep', ['sleep', sys.argv[1]], {})"


def group_folder(pid, kind, controller):
    """Where the group of a process is mounted, in the hierarchy of this kind; None if it is not."""
    for text in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        number, controllers, path = text.split(":", 2)
        if (number == "0") != (kind == "cgroup2") or (controller and controller not in controllers.split(",")):
            continue
        for mount, root, mounted, options in cputruth.mounts():
            if mounted == kind and path.startswith(root) and (not controller or controller in options):
                return mount / path[len(root):].lstrip("/")
    return None


def own_leaf(pid):
    """The leaf that counts the CPU of the process; skips where none can be made."""
    why = cgroups.why_no_leaf()
    if why:
        pytest.skip(f"no control group of its own: {why}")
    for kind, controller in (("cgroup2", ""), ("cgroup", "cpuacct")):
        folder = group_folder(pid, kind, controller)
        if folder is not None and folder.name.startswith("metron-"):
            return folder
    raise AssertionError(f"process {pid} is in no leaf")


def cpu_of_leaf(folder):
    if (folder / "cpuacct.usage").exists():
        return int((folder / "cpuacct.usage").read_text(encoding="utf-8")) / 1e9
    stat = dict(each.split() for each in (folder / "cpu.stat").read_text(encoding="utf-8").splitlines())
    return int(stat["usage_usec"]) / 1e6


def only_the_shell_is_in(folder):
    """Whatever it started has ended."""
    return len((folder / "cgroup.procs").read_text(encoding="utf-8").split()) == 1
