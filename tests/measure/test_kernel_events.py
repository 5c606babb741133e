"""Kernel events: everybody who came and went, with what he used, told by the kernel and checked against its own books.

Truth of CPU is a cgroup that only the target joins; of births and deaths, the workload itself.
"""

import collections
import os
import pathlib
import signal
import subprocess

import pytest

from support import records
from support.cgroups import MIB
from support.cputruth import JOINING_SECONDS
from support.kernel_events import of_kind
from support.processes import file_lines, named_descendants, send_signal, wait_until

TOLERANCE = 0.001

USED = {"cpu_seconds", "read_bytes", "write_bytes", "minor_faults", "major_faults", "lifetime_seconds"}


def storm(runner, truth, args, *arguments, **how):
    how.setdefault("timeout", 120)
    run = runner(args, [*truth.join, runner.workload("forkstorm"), *arguments], outer=truth.outer, **how)
    assert run.returncode == 0, run
    return run, truth.seconds()


def assert_everybody_is_told(run, count):
    """Exactly `count` processes, each with one birth and one end, and the end with what it used."""
    assert run.info["provenance"]["processes_seen_by"] == "bpf"
    assert run.info["provenance"]["spawned_is_exact"] is True
    assert "events_lost" not in run.info["provenance"]
    assert run.summary["proc_spawned"] == count
    assert run.summary["proc_exited"] == count
    assert run.summary["exit_processes"] == count
    # A pid may come again within the run, where others fork as well.
    spawned, exited = (collections.Counter((event["pid"], event["start_time"]) for event in of_kind(run.events, kind))
                       for kind in ("spawn", "exit"))
    assert len(spawned) == count and set(spawned.values()) == {1}
    assert exited == spawned
    for event in of_kind(run.events, "exit"):
        assert USED <= set(event), event
        assert event["seen"] == "event" and event["exit_code"] == 0, event


def assert_cpu_is_exact(run, seconds):
    told = run.summary["exit_cpu_seconds_total"]
    assert told == pytest.approx(seconds, rel=TOLERANCE, abs=JOINING_SECONDS)
    lines = sum(event["cpu_seconds"] for event in of_kind(run.events, "exit"))
    assert lines == pytest.approx(told, rel=1e-6)
    assert records.total(run.usage, "exit_cpu_seconds_total") == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("option, count", [([], 2000), (["-i"], 1000)], ids=["waited-for", "ignored"])
def test_thousands_of_children_of_1_ms_are_complete(with_bpf, cpu_truth, option, count):
    truth = cpu_truth(as_user=False)
    run, seconds = storm(with_bpf, truth, "--events bpf --cgroup off", *option, str(count), "1")
    assert_everybody_is_told(run, count + 1)
    assert_cpu_is_exact(run, seconds)
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "exit_cpu_seconds_total"
    assert headline["value"] == pytest.approx(seconds, rel=TOLERANCE, abs=JOINING_SECONDS)
    root = int(run.root)
    used = [event["cpu_seconds"] for event in of_kind(run.events, "exit") if event["pid"] != root]
    assert min(used) >= 0.001, "each burnt that much by its own clock"


@pytest.mark.parametrize("option, count", [(["-x"], 501), (["-n"], 1001)],
                         ids=["children-that-exec", "parents-that-leave"])
def test_storms_of_other_kinds_are_complete(with_bpf, cpu_truth, option, count):
    truth = cpu_truth(as_user=False)
    run, seconds = storm(with_bpf, truth, "--events bpf --wait tree", *option, "500", "1")
    assert_everybody_is_told(run, count)
    assert_cpu_is_exact(run, seconds)


def test_own_group_and_the_ends_agree(with_bpf, leaf_truth):
    run, seconds = storm(with_bpf, leaf_truth, "--events bpf", "1000", "1")
    assert_cpu_is_exact(run, seconds)
    if run.info["provenance"]["cgroup_scope"] == "own":
        assert run.info["headline"]["cpu_seconds"]["source"] == "cgroup_cpu_seconds"
        assert run.summary["exit_cpu_seconds_total"] == pytest.approx(run.summary["cgroup_cpu_seconds"], rel=TOLERANCE,
                                                                      abs=JOINING_SECONDS)
    assert "warning" not in run.message, "the methods do not disagree"


def test_threads_are_summed_and_the_process_ends_once(with_bpf, cpu_truth):
    truth = cpu_truth(as_user=False)
    run = with_bpf("--events bpf --cgroup off", [*truth.join, with_bpf.workload("threads_fork"), "4", "40", "3"],
                   outer=truth.outer)
    assert_everybody_is_told(run, 161)
    assert_cpu_is_exact(run, truth.seconds())


def test_a_leader_that_left_before_its_threads_ends_with_the_last(with_bpf, cpu_truth):
    truth = cpu_truth(as_user=False)
    run = with_bpf("--events bpf --cgroup off", [*truth.join, with_bpf.workload("leaderexit"), "0.5"], outer=truth.outer)
    assert_everybody_is_told(run, 2)
    assert_cpu_is_exact(run, truth.seconds())


def test_with_the_connector_all_are_seen_or_the_loss_is_told(run_metron, cpu_truth):
    run_metron.need_events("connector")
    truth = cpu_truth(as_user=False)
    run, _ = storm(run_metron, truth, "--events connector --cgroup off", "1500", "1")
    assert run.info["provenance"]["processes_seen_by"] == "connector"
    if run.info["provenance"].get("events_lost"):
        assert run.info["provenance"]["spawned_is_exact"] is False
        assert run.summary["proc_spawned"] <= 1501
    else:
        assert run.info["provenance"]["spawned_is_exact"] is True
        assert run.summary["proc_spawned"] == run.summary["proc_exited"] == 1501
    assert "exit_cpu_seconds_total" not in run.summary
    assert run.info["provenance"]["collectors"]["exit"]["reason"] == "the process connector was asked for"


def test_exit_lines_have_what_wait4_says(with_bpf):
    """Faults and peak of a process, by the kernel's other account of the same things."""
    run = with_bpf("--events bpf --sample-interval 5", [with_bpf.workload("faults"), "5000"])
    (end,) = of_kind(run.events, "exit")
    assert end["minor_faults"] == run.summary["exit_minor_faults_total"] == run.summary["proc_minor_faults_total"]
    assert end["minor_faults"] >= 5000
    page = os.sysconf("SC_PAGESIZE")
    # Each CPU keeps some pages back before it adds them to the count.
    assert end["max_rss"] == pytest.approx(run.summary["rusage_max_rss"], abs=64 * page * os.cpu_count())


def test_bytes_of_children_are_their_own(with_bpf):
    folder = with_bpf.cwd / "written"
    folder.mkdir()
    run = with_bpf("--events bpf", [with_bpf.workload("iochildren"), "4", str(4 * MIB), str(folder)])
    assert run.returncode == 0, run
    children = {event["pid"]: event for event in of_kind(run.events, "exit")}
    root = children.pop(int(run.root))
    if sum(child["write_bytes"] for child in children.values()) == 0:
        pytest.fail("nothing was written to storage: is the folder of the tests in memory?")
    assert len(children) == 4
    for child in children.values():
        assert child["write_bytes"] == pytest.approx(4 * MIB, rel=0.02)
    assert root["write_bytes"] < MIB
    assert run.summary["exit_write_bytes_total"] == pytest.approx(run.summary["io_write_bytes_total"], rel=0.02)


def test_killer_from_outside_is_named(with_bpf):
    path = with_bpf.cwd / "pid"
    started = with_bpf.start("--events bpf", ["sh", "-c", f"sleep 60 & echo $! >{path}; wait $!; exit 5"])
    (pid,) = wait_until(lambda: file_lines(path), what="the child's pid")
    send_signal(int(pid), signal.SIGKILL)
    run = started.finish()
    (kill,) = of_kind(run.events, "kill")
    assert kill["pid"] == int(pid) and kill["signal_num"] == signal.SIGKILL
    assert kill["sender_pid"] == os.getpid()
    assert kill["sender"] == pathlib.Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    (end,) = [event for event in of_kind(run.events, "exit") if event["pid"] == int(pid)]
    assert end["signal_num"] == signal.SIGKILL and "exit_code" not in end


def test_killer_of_the_command_is_in_its_cause(with_bpf):
    path = with_bpf.cwd / "pid"
    started = with_bpf.start("--events bpf", ["sh", "-c", f"echo $$ >{path}; exec sleep 60"])
    (pid,) = wait_until(lambda: file_lines(path), what="the command's pid")
    killer = subprocess.Popen(["sh", "-c", f"kill -9 {pid}; exit 0"])
    killer.wait()
    run = started.finish()
    assert run.returncode == 137
    (kill,) = of_kind(run.events, "kill")
    assert (kill["pid"], kill["sender_pid"], kill["sender"]) == (int(pid), killer.pid, "sh")
    cause = run.summary["cause"]
    assert cause.startswith("killed by SIGKILL") and str(killer.pid) in cause and "sh" in cause, cause


def test_signal_that_is_handled_is_told_and_no_kill(with_bpf):
    run = with_bpf("--events bpf", ["sh", "-c", "trap 'echo got' USR1; kill -USR1 $$; exit 4"])
    assert run.returncode == 4 and run.stdout == b"got\n"
    (told,) = of_kind(run.events, "signal")
    assert (told["pid"], told["signal_num"], told["sender_pid"]) == (int(run.root), signal.SIGUSR1, int(run.root))
    assert of_kind(run.events, "kill") == []


def test_signals_that_are_blocked_and_then_read_are_no_kills(with_bpf):
    """They would end the process by their default action: only its end shows that they have not."""
    path = with_bpf.cwd / "got"
    started = with_bpf.start("--events bpf", [with_bpf.workload("signals"), "-x", "TERM", str(path), "60"])
    wait_until(lambda: "ready" in file_lines(path), what="ready")
    (child,) = (pid for pid, name in named_descendants(started.pid).items() if name == "signals")
    send_signal(child, signal.SIGUSR1)
    wait_until(lambda: "USR1" in file_lines(path), what="USR1")
    send_signal(child, signal.SIGTERM)
    run = started.finish()
    assert run.returncode == 0
    told = [(event["pid"], event["signal_num"], event["sender_pid"])
            for event in sorted(of_kind(run.events, "signal"), key=lambda event: event["timestamp"])]
    assert told == [(child, signal.SIGUSR1, os.getpid()), (child, signal.SIGTERM, os.getpid())]
    assert of_kind(run.events, "kill") == []


@pytest.mark.parametrize("choice", ["own", "inherited"])
def test_oom_kill_is_an_event_and_the_cause_as_before(with_bpf, groups, choice):
    """metron waits inside the limit, so it must itself fit."""
    group = groups.memory(limit=64 * MIB)
    run = with_bpf(f"--events bpf --cgroup {choice}", [with_bpf.workload("hog"), "-c", "3", str(200 * MIB)],
                   outer=group.inside)
    assert run.returncode == 3, run
    (oom,) = of_kind(run.events, "oom")
    (kill,) = of_kind(run.events, "kill")
    assert kill["pid"] == oom["pid"] != int(run.root)
    assert kill["sender"] == "kernel" and "sender_pid" not in kill
    assert "exited with code 3" in run.summary["cause"] and "OOM killer" in run.summary["cause"]
    assert group.oom_kills() in (0, 1, None)


def test_oom_kill_of_the_command_itself(with_bpf, groups):
    group = groups.memory(limit=64 * MIB)
    run = with_bpf("--events bpf", [with_bpf.workload("hog"), str(200 * MIB)], outer=group.inside)
    assert run.returncode == 137
    assert [event["pid"] for event in of_kind(run.events, "oom")] == [int(run.root)]
    assert run.summary["cause"].startswith("killed by the OOM killer at its own limit of 64"), run.summary["cause"]


def test_the_programs_cost_is_told(with_bpf):
    run = with_bpf("--events bpf --cgroup off", [with_bpf.workload("forkstorm"), "300", "1"])
    assert 0 < run.summary["self_kernel_seconds"] < run.wall * os.cpu_count()
