"""Methods that measure the same say the same of ordinary work, and where they do not metron warns: in a group of its
own, in one that it shares, and in none. Their tolerance is 1 % and 50 ms, so each of these uses some tenths of a second
at least."""

import shutil

import pytest

from support import kernel_events

BUILD = ("for i in 1 2 3 4 5 6 7 8; do echo \"#include <stdlib.h>\nint f$i(void) { return abs($i); }\" >f$i.c; done; "
         "exec make -s -j2 f1.o f2.o f3.o f4.o f5.o f6.o f7.o f8.o")
POOL = ("import multiprocessing\ndef work(n):\n    return sum(i * i for i in range(n))\n"
        "with multiprocessing.Pool(4) as pool:\n    pool.map(work, [400000] * 12)\n")
ORDINARY = {
    "pool": (["/usr/bin/python3", "-c", POOL], ""),
    "build": (["sh", "-c", BUILD], ""),
    "fork-storm": (["@forkstorm", "200", "2"], ""),
    "children-that-exec": (["@forkstorm", "-x", "60", "5"], ""),
    "parents-that-leave": (["@forkstorm", "-n", "100", "4"], "--wait tree"),
    "threads-that-fork": (["@threads_fork", "3", "10", "10"], ""),
    "a-daemon-that-is-waited-for": (["@escape", "0.4", "0"], "--wait tree"),
    "a-daemon-that-goes-on": (["sh", "-c", "@escape 600 0; exec @burn 0.4"], ""),
    "zombies": (["@zombies", "10", "35", "0.3"], ""),
    "a-child-that-is-killed": (["sh", "-c", "ulimit -t 1; @burn 600; true"], ""),
    "a-chain-of-execs": (["@execchain", "20", "20"], ""),
    "a-leader-that-leaves": (["@leaderexit", "0.4"], ""),
}
EVENTS = "--events bpf"
FEW = {"pool", "build", "fork-storm", "a-daemon-that-goes-on"}  # where other tests show the same
# metron's arguments, and whether it is started in a group that it shares with the command
PLACES = {"none": (f"--cgroup off {EVENTS}", False), "shared": (f"--cgroup inherited {EVENTS}", True),
          "shared-without-events": ("--cgroup inherited --events off", True), "own": (f"--cgroup own {EVENTS}", False)}


def disagreements(run):
    return [line for line in run.message.splitlines() if "warning: CPU: " in line or "warning: memory: " in line]


def need(runner, cpu_truth, place):
    """The arguments of metron in this place, and the prefix that starts it there."""
    args, shared = PLACES[place]
    if EVENTS in args:
        kernel_events.need(runner)
    if place == "own":
        probe = runner("-q --cgroup own", "true", prefix="probe_", check=False)
        if probe.returncode != 0:
            pytest.skip(f"no own group here: {probe.message.strip()}")
    return args, cpu_truth(as_user=False).join if shared else ()


def of_workloads(runner, command):
    """@NAME is the program of that name."""
    return [word if "@" not in word else " ".join(
        runner.workload(part[1:]) if part.startswith("@") else part for part in word.split(" ")) for word in command]


@pytest.mark.parametrize("name, place", [(name, place) for name in ORDINARY for place in PLACES
                                         if place in ("none", "shared") or name in FEW])
def test_ordinary_work_gives_no_warning(run_metron, cpu_truth, name, place):
    command, more = ORDINARY[name]
    if name == "build" and not (shutil.which("make") and shutil.which("cc")):
        pytest.skip("make or cc is missing")
    args, outer = need(run_metron, cpu_truth, place)
    run = run_metron(f"--sample-interval 0.2 --fail-time 0 {args} {more}", of_workloads(run_metron, command), outer=outer)
    assert run.returncode in (0, 124, 137), run
    if place.startswith("shared"):
        assert run.info["provenance"]["cgroup_scope"] == "inherited" and "cgroup_cpu_seconds" in run.summary
    if EVENTS in args:
        assert "exit_cpu_seconds_total" in run.summary, "there is something to compare"
    assert run.summary["proc_cpu_seconds"] > 0.1, "there is something to disagree about"
    assert not disagreements(run)


@pytest.mark.parametrize("place", ["none", "shared"])
def test_times_that_the_kernel_drops_give_one(run_metron, cpu_truth, place):
    """Of children whose parent ignores SIGCHLD the ledger has nothing; their ends have it all."""
    args, outer = need(run_metron, cpu_truth, place)
    run = run_metron(args, [run_metron.workload("forkstorm"), "-i", "100", "5"], outer=outer)
    (warning,) = disagreements(run)
    assert "exit reports count" in warning and "the exit reports are right" in warning
    assert run.info["headline"]["cpu_seconds"]["source"] == "exit_cpu_seconds_total"


def test_one_that_leaves_a_shared_group_gives_one(run_metron, cpu_truth):
    """Only then: a group that others share may count more, as it does here with the burner beside it."""
    args, outer = need(run_metron, cpu_truth, "shared-without-events")
    elsewhere = cpu_truth(as_user=False)
    run = run_metron(args, [*elsewhere.join, run_metron.workload("burn"), "0.5"], outer=outer)
    (warning,) = disagreements(run)
    assert "the control group it began in counts" in warning and "the /proc readings are right" in warning
    beside = ["sh", "-c", '"$1" 1 & shift; "$@"; code=$?; wait; exit $code', "sh", run_metron.workload("burn")]
    run = run_metron(f"{args} --clobber", [run_metron.workload("burn"), "0.5"], outer=[*outer, *beside])
    assert run.summary["cgroup_cpu_seconds"] > run.summary["proc_cpu_seconds"] + 0.1, "the other one is counted"
    assert not disagreements(run)
