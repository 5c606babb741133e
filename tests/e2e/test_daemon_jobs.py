"""Jobs and sheets over the daemon's socket: who belongs to them, what they are told of, what is known after."""

import os
import signal

import pytest

from support import daemon_client as dc
from support import processes
from support.daemon_client import (NOT_PERMITTED, Shell, check_fields, expect_error, job_shell, need_exit_codes, process_in,
                                   progress_in, publish, start_child)
from support.processes import wait_until

ESCAPE_SLOWLY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    os._exit(0)
time.sleep(600)
"""


# ---- jobs and sheets ----

def test_a_job_is_listed_from_start_to_finish_and_after(either):
    with either.client() as client:
        client.call("job.start", job_id="build", workspace="/somewhere", config_hash="abc", total_sheets=3)
        (listed,) = [job for job in client.call("job.list") if job["job_id"] == "build"]
        told = client.call("job.status", job_id="build")
        assert told["job_id"] == "build" and told["status"] == listed["status"] == "running"
        assert told["total_sheets"] == 3
        client.call("job.finish", job_id="build", outcome="completed")
        told = client.call("job.status", job_id="build")
        assert told["status"] != "running" and "completed" in told.values()


def test_running_jobs_and_active_sheets_are_counted(either):
    with either.client() as client:
        before = either.top_when()
        assert (before["running_jobs"], before["active_sheets"]) == (0, 0)
        client.call("job.start", job_id="one")
        client.call("job.start", job_id="two")
        publish(client, "sheet.started", "one", 1)
        publish(client, "sheet.started", "two", 1)
        publish(client, "sheet.completed", "two", 1)
        now = either.top_when(lambda snapshot: snapshot["running_jobs"] == 2)
        assert now["active_sheets"] == 1
        status = client.call("daemon.status")
        assert status["running_jobs"] == 2
        client.call("job.finish", job_id="one", outcome="failed")
        client.call("job.finish", job_id="two", outcome="completed")
        either.top_when(lambda snapshot: (snapshot["running_jobs"], snapshot["active_sheets"]) == (0, 0), what="0, 0")


def test_a_run_within_a_run_does_not_end_a_job_that_it_was_faster_to_begin(either):
    shell = Shell(either.runner)
    inner = shell.start("sleep 600")
    with either.client() as client:
        client.subscribe(events=["job.*"])
        client.call("job.start", job_id="outer", runner=inner)
        assert client.call("job.start", job_id="outer", runner=shell.pid)["runner"] == shell.pid
        expect_error(client, NOT_PERMITTED, "job.finish", job_id="outer", outcome="failed", runner=inner)
        client.call("job.finish", job_id="outer", outcome="completed", runner=shell.pid)
        assert [client.next_event()["event"] for _ in range(2)] == ["job.started", "job.finished"]
    shell.end()


def test_progress_of_a_job_follows_its_sheets(either):
    with either.client() as client:
        client.call("job.start", job_id="steps", total_sheets=4)
        publish(client, "sheet.started", "steps", 1)
        told = progress_in(either.top_when(lambda snapshot: progress_in(snapshot, "steps")), "steps")
        assert (told["total_sheets"], told["current_sheet"], told["status"]) == (4, 1, "running")
        assert told.get("last_completed_sheet", 0) == 0
        publish(client, "sheet.completed", "steps", 1)
        publish(client, "sheet.started", "steps", 2)
        told = progress_in(either.top_when(lambda snapshot: progress_in(snapshot, "steps").get("current_sheet") == 2),
                           "steps")
        check_fields(told, dc.PROGRESS_FIELDS, where="job_progress")
        assert told["last_completed_sheet"] == 1


def test_processes_that_lived_before_the_sheet_was_announced_are_adopted(either):
    shell = Shell(either.runner)
    child = shell.start("sleep 600")
    with either.client() as client:
        client.call("job.start", job_id="late")
        publish(client, "sheet.started", "late", 2, pid=shell.pid)
    snapshot = either.top_when(lambda snapshot: process_in(snapshot, child).get("job_id"), what="the child's job")
    for pid in (shell.pid, child):
        told = process_in(snapshot, pid)
        assert (told["job_id"], told["sheet_num"]) == ("late", 2)
    assert "job_id" not in process_in(snapshot, either.pid)


def test_a_child_that_leaves_its_session_and_parents_stays_with_its_sheet(either):
    """setsid and a double fork; a daemon that only reads /proc at each tick sees it before its parent exits."""
    shell = Shell(either.runner)
    with either.client() as client:
        client.call("job.start", job_id="leavers")
        publish(client, "sheet.started", "leavers", 1, pid=shell.pid)
    either.top_when(lambda snapshot: process_in(snapshot, shell.pid).get("job_id"))
    script = either.runner.cwd / "escape.py"
    script.write_text(ESCAPE_SLOWLY, encoding="utf-8")
    script.chmod(0o644)
    leave = either.runner.cwd / "leave"
    orphan = int(shell.ask(f"/usr/bin/python3 {script} {leave} &"))
    either.top_when(lambda snapshot: process_in(snapshot, orphan), what="the child before it is an orphan")
    leave.touch()
    wait_until(lambda: processes.stat_fields(orphan)[1] == os.getpid(), what="another parent")
    told = process_in(either.top_when(lambda snapshot: process_in(snapshot, orphan).get("ppid") == os.getpid()), orphan)
    assert (told["job_id"], told["sheet_num"]) == ("leavers", 1)
    assert os.getsid(orphan) != os.getsid(shell.pid)


def escaped(runner, shell):
    """The pid of a process that has left the shell's tree at once."""
    path = runner.cwd / "escaped"
    shell.run(f"{runner.workload('escape')} -o {path} 600 0")
    return int(wait_until(lambda: processes.file_lines(path), what="the orphan")[0])


def test_with_kernel_events_a_child_that_leaves_at_once_stays_with_its_sheet(daemon):
    need_exit_codes(daemon)
    shell = Shell(daemon.runner)
    with daemon.client() as client:
        client.call("job.start", job_id="quick")
        publish(client, "sheet.started", "quick", 1, pid=shell.pid)
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid).get("job_id"))
    orphan = escaped(daemon.runner, shell)
    told = process_in(daemon.top_when(lambda snapshot: process_in(snapshot, orphan)), orphan)
    assert (told["job_id"], told["sheet_num"]) == ("quick", 1)


def test_the_inherited_variables_tell_the_sheet_of_a_child_that_leaves_at_once(either):
    either.call("job.start", job_id="inherited")
    shell = Shell(either.runner, {"METRON_JOB": "inherited", "METRON_SHEET": "3"})
    orphan = escaped(either.runner, shell)
    told = process_in(either.top_when(lambda snapshot: process_in(snapshot, orphan)), orphan)
    assert (told["job_id"], told["sheet_num"]) == ("inherited", 3)


def test_a_command_line_that_mentions_a_job_belongs_to_no_job(daemon):
    daemon.call("job.start", job_id="mentioned", workspace="/srv/mentioned")
    child = start_child(daemon.runner, "sh", "-c", "sleep 600; exit 0", "/srv/mentioned", "mentioned")
    snapshot = daemon.top_when(lambda snapshot: process_in(snapshot, child.pid))
    assert "job_id" not in process_in(snapshot, child.pid)


def test_the_snapshot_of_a_job_has_its_processes_only(either):
    shells = {name: job_shell(either, name) for name in ("left", "right")}
    pids = {name: {shell.pid, shell.start("sleep 600")} for name, shell in shells.items()}
    for name, expected in pids.items():
        snapshot = either.top_when(
            lambda snapshot, expected=expected: {process["pid"] for process in snapshot["processes"]} == expected,
            what=f"exactly the processes of {name}", job_id=name)
        assert {process["job_id"] for process in snapshot["processes"]} == {name}


# ---- resource context ----

def test_a_sheets_event_comes_back_with_its_resource_context(either):
    child = dc.start_known_child(either.runner)
    with either.client() as client:
        client.call("job.start", job_id="context")
        publish(client, "sheet.started", "context", 1, pid=child.pid)
        either.top_when(lambda snapshot: process_in(snapshot, child.pid).get("cpu_percent", 100) < 1)
        event = publish(client, "sheet.completed", "context", 1, pid=child.pid, note="kept")
    assert event["event"] == "sheet.completed"
    assert (event["job_id"], event["sheet_num"], event["data"]["note"]) == ("context", 1, "kept")
    context = event["data"]["resource_context"]
    check_fields(context, {"rss_mb": dc.NUMBER, "cpu_pct": dc.NUMBER},
                 {"syscall_hotspot": dc.TEXT, "anomalies_active": dc.INTEGER}, "the resource context")
    assert context["rss_mb"] == pytest.approx(dc.rss_mb(child.pid), abs=1)
    assert 0 <= context["cpu_pct"] < 10 and round(context["cpu_pct"], 1) == context["cpu_pct"]


def test_an_event_of_a_sheet_without_a_process_has_no_invented_values(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="nobody")
        context = publish(client, "sheet.failed", "nobody", 1)["data"]["resource_context"]
    assert "rss_mb" not in context and "cpu_pct" not in context and "syscall_hotspot" not in context


def test_the_context_of_a_pid_is_the_kernels(either):
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    # A whole interval may pass without a CPU for it, and while it begins its memory grows.
    def when_it_burns():
        context = either.call("context.get", pid=child.pid)
        resident = pytest.approx(dc.rss_mb(child.pid), abs=0.5)
        return context if context.get("cpu_pct") and context["rss_mb"] == resident else None

    before = either.top_when()["daemon_rss_mb"]
    context = wait_until(when_it_burns, what="CPU and memory of the child")
    after = either.top_when()["daemon_rss_mb"]
    assert round(context["cpu_pct"], 1) == context["cpu_pct"]
    assert 0.8 * min(before, after) - 2 <= context["daemon_rss_mb"] <= 1.2 * max(before, after) + 2
    assert "syscall_hotspot" not in context, "nothing has counted its calls"


def test_the_context_of_no_pid_is_the_machines(either):
    either.call("job.start", job_id="around")
    context = either.call("context.get")
    check_fields(context, {"daemon_rss_mb": dc.NUMBER, "running_jobs": dc.INTEGER, "active_sheets": dc.INTEGER},
                 {"pressure_level": dc.TEXT, "anomalies_active": dc.INTEGER}, "the context")
    assert (context["running_jobs"], context["active_sheets"]) == (1, 0)


def test_the_context_of_an_unknown_pid_leaves_out_what_is_unknown(daemon):
    pid = dc.ended_pid()
    daemon.top_when()  # the latest snapshot may have seen it while it ended
    context = daemon.call("context.get", pid=pid)
    assert "rss_mb" not in context and "cpu_pct" not in context


# ---- after a job ----

@pytest.mark.threads
def test_cpu_seconds_of_a_job_are_what_it_burned(either_jobs):
    """1 s by the burners' own clocks, and what starting them takes: two threads, then one child after the other."""
    shell = job_shell(either_jobs, "burnt")
    before = shell.cpu_seconds()
    assert shell.run(f"{either_jobs.runner.workload('burn')} 0.35 2") == 0
    assert shell.run(f"{either_jobs.runner.workload('forkstorm')} 3 100") == 0
    either_jobs.tops(3)
    either_jobs.call("job.finish", job_id="burnt", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="burnt")
    burned = shell.cpu_seconds() - before
    assert burned >= 1 - 0.05  # four fields, each cut down to a tick
    assert dc.profile_value(profile, "cpu_seconds") == pytest.approx(burned, abs=0.05)


@pytest.mark.threads
def test_peak_memory_of_a_job_is_what_it_held(either_jobs):
    """128 MiB touched, given back before the job ends; beside it a shell and the program itself: 16 MiB at most."""
    shell = job_shell(either_jobs, "peak")
    pid = shell.start(f"{either_jobs.runner.workload('spike')} {128 * dc.MIB} 600000 0.3")
    either_jobs.top_when(lambda top: process_in(top, pid).get("rss_mb", 0) >= 128, what="its memory")
    processes.send_signal(pid, signal.SIGKILL)
    shell.reap(pid)
    either_jobs.call("job.finish", job_id="peak", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="peak")
    assert 128 <= dc.profile_value(profile, "peak_memory_mb") <= 144


def test_processes_of_a_job_are_counted(either_jobs):
    """Five of the shell's, with or without the shell itself, which was there before."""
    shell = job_shell(either_jobs, "counted")
    dc.seen_and_gone(either_jobs, shell, 5)
    either_jobs.tops(3)
    either_jobs.call("job.finish", job_id="counted", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="counted")
    assert dc.profile_value(profile, "spawns") in (5, 6)
    assert dc.profile_value(profile, "unique_processes") in (5, 6)


@pytest.mark.threads
def test_the_report_of_a_job_is_a_text_that_names_it(either_jobs):
    shell = job_shell(either_jobs, "reported-job")
    shell.run(f"{either_jobs.runner.workload('burn')} 0.1")
    either_jobs.call("job.finish", job_id="reported-job", outcome="failed")
    text = dc.text_of(either_jobs.call("job.report", job_id="reported-job"))
    assert "reported-job" in text and "failed" in text and "null" not in text
    assert "\x1b" not in text, "no colour: it is no terminal"
