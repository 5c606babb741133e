"""Whose end is the end, who outlives it, and which processes are followed."""

import os
import shlex
import signal
import subprocess

import pytest

from support import held
from support.kernel_events import of_kind
from support.processes import alive, file_lines, named_descendants, wait_until
from support.records import leaves, per_pid
from support.run import Run


def test_wait_root_ends_with_the_command_and_names_who_is_left(run_metron):
    path = run_metron.cwd / "orphan"
    run = run_metron("--sample-interval 0.1", [run_metron.workload("escape"), "-o", str(path), "600", "0.3"])
    assert run.returncode == 0
    orphan = int(path.read_text())
    assert alive(orphan), "a survivor is not ended"
    assert str(orphan) in run.message and "escape" in run.message
    assert orphan in list(leaves(run.info)) or str(orphan) in run.bytes("info.json").decode()


def test_wait_tree_ends_when_nobody_is_left(run_metron):
    path = run_metron.cwd / "orphan"
    run = run_metron("--wait tree --sample-interval 0.1",
                     [run_metron.workload("escape"), "-o", str(path), "0.5", "0"])
    assert run.returncode == 0
    assert run.wall >= 0.5
    assert not alive(int(path.read_text()))
    assert run.summary["wall_clock_time"] >= 0.5
    assert run.summary["proc_cpu_seconds"] >= 0.45


def test_wait_tree_keeps_the_commands_own_exit_code(run_metron):
    run = run_metron("--wait tree --sample-interval 0.1", ["sh", "-c", "sleep 0.3 & exit 3"])
    assert run.returncode == 3
    assert run.wall >= 0.3
    assert run.info["provenance"]["wait"] == "tree"


def test_wait_tree_can_be_ended_by_a_signal(run_metron):
    path = run_metron.cwd / "orphan"
    run = run_metron.start("--wait tree --sample-interval 0.1",
                           [run_metron.workload("escape"), "-o", str(path), "600", "0"])
    orphan = int(wait_until(lambda: file_lines(path), what="the orphan")[0])
    wait_until(lambda: list(named_descendants(run.pid).values()).count("escape") == 1,
               what="the end of the command itself")
    run.signal(signal.SIGTERM)
    done = run.finish()
    assert not alive(orphan)
    assert done.returncode == 0, "the command itself had already ended well"


@pytest.mark.parametrize("events", ["bpf", "connector", "off"])
def test_children_killed_just_before_the_command_exits_did_not_outlive_it(run_metron, events):
    """SIGKILL ends a process once it has a CPU to die on, which may be after the command's own exit."""
    run_metron.need_events(events)
    run = run_metron(f"--events {events}", [
        "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & all=\"$all $!\"; done; kill -9 $all; exit 0"])
    assert run.returncode == 0
    assert "survivors" not in run.info
    by_kind = {kind: sorted(event["pid"] for event in of_kind(run.events, kind))
               for kind in ("spawn", "exit", "kill", "signal")}
    assert by_kind["exit"] == by_kind["spawn"]
    assert not by_kind["signal"]
    if events != "off":  # else the shell may wait for them before metron has seen how they ended
        assert len(by_kind["exit"]) == 11 and len(by_kind["kill"]) == 10


def test_no_survivors_are_named_when_there_are_none(run_metron):
    run = run_metron("", "true")
    assert "surviv" not in run.message and "outliv" not in run.message


def test_command_leads_its_own_session_by_default(run_metron):
    run = run_metron("-q", ["sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat"])
    pid, group, session = run.stdout.split()
    assert pid == group == session


def test_current_session_follows_the_session(run_metron):
    """As in a batch job's shell: what its script started beside us belongs to it too."""
    line = " ".join(run_metron.command_line(
        "--mode current-session --sample-interval 0.1 --report-interval 0.2", "sleep 0.6"))
    script = f"sleep 600 & echo $!; {line}; kill %1; exit 0"
    done = subprocess.run(["setsid", "-w", "bash", "-mc", script], cwd=run_metron.cwd,
                          env=run_metron.environment(), capture_output=True, timeout=60, check=False)
    sibling = done.stdout.split()[0].decode()
    run = Run(0, done.stdout, done.stderr, 0, run_metron.cwd, "run_").check()
    assert sibling in per_pid(run.usage, "proc_rss")
    assert "conserved" in run.bytes("info.json").decode(), "CPU is marked as not conserved"


def test_current_session_keeps_the_command_in_it(run_metron):
    run = run_metron("-q --mode current-session", ["sh", "-c", "cut -d' ' -f6 /proc/$$/stat"],
                     start_new_session=True)
    with_pid = run.stdout.strip()
    assert run.info["provenance"]["mode"] == "current-session"
    other = run_metron("-q --clobber", ["sh", "-c", "cut -d' ' -f6 /proc/$$/stat; echo $$"])
    session, pid = other.stdout.split()
    assert session == pid
    assert with_pid != b"" and run.returncode == 0
    assert other.info["provenance"]["mode"] == "new-session" and other.info["provenance"]["wait"] == "root"


def test_threads_are_not_processes(run_metron):
    run = run_metron("--sample-interval 0.1", [run_metron.workload("burn"), "0.12", "8"])
    assert run.info["headline"]["processes"]["value"] == 1
    assert run.summary["proc_peak_processes"] == 1


def test_children_of_threads_are_found(run_metron):
    run = run_metron("--sample-interval 0.05 --events off", [run_metron.workload("threads_fork"), "4", "3", "150"])
    assert run.returncode == 0
    assert run.summary["proc_peak_processes"] >= 4


def test_exec_keeps_the_process_and_renews_its_command(run_metron):
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.1", ["sh", "-c", "read go; exec sleep 600"],
                               stdin=subprocess.PIPE)
    usage = started.path("usage.jsonl")
    wait_until(lambda: any("read go" in line for line in file_lines(usage)), what="a record of the shell")
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()
    wait_until(lambda: any('"sleep 600"' in line for line in file_lines(usage)), what="a record of what it executed")
    started.signal(signal.SIGTERM)
    run = started.finish()
    commands = per_pid(run.usage, "proc_cmd")[run.root]
    assert commands[0].startswith("sh") and commands[-1].startswith("sleep")
    exits = [event for event in run.events if event["event_type"] == "exit" and str(event["pid"]) == run.root]
    assert len(exits) == 1


@pytest.mark.parametrize("events", ["auto", "connector", "off"])
def test_every_way_of_learning_about_children_works(run_as_user, events):
    run_as_user.need_events(events)
    started = run_as_user.start(f"--events {events} --sample-interval 0.1 --report-interval 0.1",
                                ["sh", "-c", "for i in 1 2 3; do sleep 600 & all=\"$all $!\"; done; read line; kill $all; wait"],
                                stdin=subprocess.PIPE)
    held.await_record(started, lambda measured: measured.get("proc_processes") == 4, "a record of all four")
    run = started.finish()
    assert run.returncode == 0
    assert run.info["headline"]["processes"]["value"] == 4


def test_deep_chain_of_processes_is_followed(run_metron):
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.1 --events off",
                               [run_metron.workload("manyprocs"), "-f", "1", "60", "-"], stdin=subprocess.PIPE)
    held.await_record(started, lambda measured: measured.get("proc_processes") == 60, "a record of all of them")
    run = started.finish()
    assert run.returncode == 0
    assert run.summary["proc_peak_processes"] == 60


def test_two_runs_in_one_another_do_not_disturb(run_metron):
    inner = run_metron.command_line("--sample-interval 0.1", [run_metron.workload("burn"), "0.4"],
                                    prefix="inner_")
    run = run_metron("--sample-interval 0.1", inner)
    assert run.returncode == 0
    assert run.summary["proc_cpu_seconds"] >= 0.39
    inner_info = (run.cwd / "inner_info.json").read_bytes()
    assert b"proc_cpu_seconds" in inner_info


def test_survivors_do_not_hold_metron(run_metron):
    """A whole crowd is left behind; the end is not later for it."""
    run = run_metron("--sample-interval 0.1", ["sh", "-c",
                     f"mkfifo ready; {run_metron.workload('manyprocs')} 200 600 > ready & read line < ready; exit 2"])
    assert run.returncode == 2
    assert run.info["survivors"]["count"] == 200, "they sleep for longer than any test"
    assert os.path.exists(run.path("info.json"))


def shell_with_metron(run_metron, script, args, command):
    """Runs a shell script in a session of its own; METRON in it is the whole command line."""
    line = shlex.join(run_metron.command_line(args, command))
    done = subprocess.run(["setsid", "-w", "bash", "-c", script.replace("METRON", line)], cwd=run_metron.cwd,
                          env=run_metron.environment(), capture_output=True, timeout=60, check=False)
    return Run(done.returncode, done.stdout, done.stderr, 0, run_metron.cwd, "run_").check()


@pytest.mark.parametrize("events", ["auto", "off"])
def test_children_of_before_are_not_the_targets(run_metron, events):
    """A shell that execs metron leaves it its own children: tee, for one."""
    run = shell_with_metron(run_metron, "sleep 600 > /dev/null 2>&1 & exec METRON > >(cat)",
                            f"--wait tree --events {events} --sample-interval 0.05", "sleep 0.3")
    assert run.returncode == 0, "they are not waited for"
    assert len(per_pid(run.usage, "proc_rss")) == 1 and run.summary["proc_spawned"] == 1
    assert "survivors" not in run.info


@pytest.mark.parametrize("events", ["auto", "off"])
def test_cpu_of_a_session_is_not_counted_twice(run_metron, events):
    """A child and the parent that waited for it end between two samples."""
    burn = run_metron.workload("burn")
    run = shell_with_metron(run_metron, "METRON; exit 0",
                            f"--mode current-session --events {events} --sample-interval 0.1",
                            ["sh", "-c", f"for i in 1 2 3 4 5; do sh -c '{burn} 0.1; :'; done"])
    waited_for = run.summary["rusage_cpu_user_seconds"] + run.summary["rusage_cpu_system_seconds"]
    assert waited_for > 0.5
    assert run.summary["proc_cpu_seconds"] == pytest.approx(waited_for, abs=0.02)


def test_ending_a_session_run_ends_a_stubborn_descendant(run_metron):
    script = "trap : TERM; echo $$ > pid; while :; do sleep 0.1; done"
    started = run_metron.start("-q --mode current-session --kill-after 0.5",
                               ["sh", "-c", f"sh -c '{script}' & wait"], start_new_session=True)
    wait_until(lambda: file_lines(started.cwd / "pid"), what="the descendant")
    started.signal(signal.SIGTERM)
    assert started.finish().returncode == 128 + signal.SIGTERM
    wait_until(lambda: not alive(int(file_lines(started.cwd / "pid")[0])), what="its end")
