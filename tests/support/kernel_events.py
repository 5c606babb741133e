"""Programs in the kernel: whether they can be had, which of them a metron holds, and whether they are gone."""

import functools
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess

import pytest

from support import processes
from support.processes import wait_until

# What opens descriptors for BPF, perf and netlink (linux/capability.h).
CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 12, 21, 38, 39
NO_CONNECTOR = "no process connector here"
FIRST_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO (linux/proc_ns.h)
OPENING = (CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF)


def why_none(binary):
    """What is missing here for kernel events, told without asking metron; None if nothing is."""
    if os.getuid() != 0:
        return "the tests are not run by root"
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "this kernel has no BTF (/sys/kernel/btf/vmlinux)"
    if not os.access(pathlib.Path(binary).parent / "metron-bpf", os.X_OK):
        return f"there is no metron-bpf beside {binary}"
    return None


def need(runner):
    """Skips where something is missing; where nothing is, metron is expected to have them."""
    reason = why_none(runner.binary)
    if reason is not None:
        pytest.skip(f"no kernel events here: {reason}")


@functools.cache
def why_no_connector():
    """Why the kernel tells root nothing through the process connector, asked without metron; None if it does."""
    if os.stat("/proc/self/ns/pid").st_ino != FIRST_PID_NAMESPACE:
        return "it speaks to the first pid namespace alone"
    listen = struct.pack("=IIIIHHI", 1, 1, 0, 0, 4, 0, 1)  # cn_msg to CN_IDX_PROC, PROC_CN_MCAST_LISTEN
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 11) as connector:
        connector.settimeout(2)
        try:
            connector.bind((0, 1))
            connector.send(struct.pack("=IHHII", 16 + len(listen), 3, 0, 0, os.getpid()) + listen)
            subprocess.run(["true"], check=True)
            connector.recv(4096)
        except OSError as error:
            return f"nobody answers in this network namespace ({error})"
    return None


def need_program(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def capture_processes(pid):
    """The processes that capture output for a metron."""
    return [child for child, name in processes.named_descendants(pid).items()
            if name == "metron-capture" and (processes.stat_fields(child) or (None, None))[1] == pid]


def await_all_open(pid):
    """Waits until a metron has opened all that it listens to: then none of its threads can open more."""
    def held():
        threads = [thread for each in [pid, *capture_processes(pid)]
                   for thread in pathlib.Path(f"/proc/{each}/task").iterdir()]
        texts = [(thread / "status").read_text(encoding="utf-8") for thread in threads]
        held = [[int(line.split()[1], 16) for line in text.splitlines() if line.startswith(("CapEff", "CapPrm"))]
                for text in texts]
        if len(held) < 2:
            return None  # it begins: those that take the output are not there yet
        assert min(map(len, held)) == 2
        return [bits for each in held for bits in each if any(bits & (1 << number) for number in OPENING)]

    wait_until(lambda: held() == [], what="the end of its privilege")


def held_objects(pid):
    """{("prog" | "link" | "map", id)} of all BPF objects that a process has open."""
    found = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        found |= {(kind, int(number)) for kind, number in re.findall(r"^(prog|link|map)_id:\t(\d+)", text, re.M)}
    return found


def table_of_calls(pid):
    """All entries of the table in which a metron's programs count system calls, as bpftool shows them."""
    bpftool = need_program("bpftool")
    for kind, number in held_objects(pid):
        if kind != "map":
            continue
        show = subprocess.run([bpftool, "-j", "map", "show", "id", str(number)], capture_output=True, check=True)
        if json.loads(show.stdout).get("name") == "calls":
            dump = subprocess.run([bpftool, "-j", "map", "dump", "id", str(number)], capture_output=True, check=True)
            return json.loads(dump.stdout)
    raise AssertionError(f"process {pid} holds no table of calls")


def living_objects(objects):
    """Those that the kernel still has, asked through bpftool. The kernel does not use a number twice."""
    bpftool = need_program("bpftool")
    found = set()

    def lists(kind):
        """False where an object of another program goes away while bpftool asks about it, which is an error to it."""
        done = subprocess.run([bpftool, "-j", kind, "show"], capture_output=True, check=False)
        if done.returncode != 0:
            return False
        found.update((kind, each["id"]) for each in json.loads(done.stdout))
        return True

    for kind in sorted({kind for kind, _ in objects}):
        wait_until(lambda kind=kind: lists(kind), what=f"a list of every {kind}")
    return found & objects


def expect_gone(objects):
    wait_until(lambda: not living_objects(objects), what=f"the end of the BPF objects {sorted(objects)}")


def capabilities(pid, which="Eff"):
    """The set of capabilities of a process, as a number."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(rf"^Cap{which}:\t([0-9a-f]+)", text, re.M).group(1), 16)


def of_kind(events, kind):
    return [event for event in events if event["event_type"] == kind]


# ---- a strace that never attaches ----

def hanging_strace(folder):
    """Variables of a metron whose strace never attaches, made in this folder."""
    program = folder / "hanging" / "strace"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntrap '' INT TERM\nwhile :; do sleep 600; done\n", encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def wait_for_strace(pid):
    """The pid of the strace that this process has started."""
    return wait_until(lambda: [child for child, name in processes.named_descendants(pid).items() if name == "strace"],
                      what="strace")[0]
