"""Events of processes and of sheets: asked for, and sent to those who subscribed."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

from support import daemon_client as dc
from support import kernel_events, processes
from support.daemon_client import (check_fields, event_name, job_shell, need_exit_codes, of_pid, process_in, publish,
                                   seen_and_gone, types_of)
from support.processes import named_descendants, wait_until

pytestmark = pytest.mark.threads


# ---- events of processes ----

def test_each_process_has_one_spawn_and_one_exit(either_jobs):
    """By whatever method the daemon has them."""
    shell = job_shell(either_jobs, "births")
    pids = seen_and_gone(either_jobs, shell, 3)
    events = either_jobs.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids), what="exits")
    for pid in pids:
        assert types_of(events, pid) == ["spawn", "exit"]
        for event in of_pid(events, pid):
            check_fields(event, {"event_type": dc.TEXT, "pid": dc.INTEGER, "details": dc.OBJECT},
                         {"exit_code": dc.INTEGER, "signal_num": dc.INTEGER, "sheet_num": dc.INTEGER}, "an event")
            assert event["details"]["seen"] in ("sampled", "reaped", "event")
            assert event["job_id"] == "births"
            assert abs(dc.unix_seconds(event["timestamp"]) - time.time()) < 3600, "the time of day, in UTC"
        spawn, end = of_pid(events, pid)
        assert "exit_code" not in spawn and "signal_num" not in spawn
        assert end.get("exit_code", 0) == 0 and "signal_num" not in end


def test_an_exit_code_is_told(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "codes")
    pid = shell.start("sh -c 'sleep 0.1; exit 7'")
    assert shell.reap(pid) == 7
    (end,) = [event for event in of_pid(jobs_daemon.events_when(lambda events: "exit" in types_of(events, pid)), pid)
              if event["event_type"] == "exit"]
    assert end["exit_code"] == 7 and "signal_num" not in end


def test_even_a_process_that_lives_for_a_moment_is_told(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "moments")
    pid = shell.start("true")
    shell.reap(pid)
    events = jobs_daemon.events_when(lambda events: "exit" in types_of(events, pid))
    assert types_of(events, pid) == ["spawn", "exit"]


def test_a_kill_is_told_besides_the_exit(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "kills")
    pid = shell.start("sleep 600")
    jobs_daemon.top_when(lambda snapshot: process_in(snapshot, pid))
    processes.send_signal(pid, signal.SIGKILL)
    assert shell.reap(pid) == 128 + signal.SIGKILL
    events = jobs_daemon.events_when(lambda events: "exit" in types_of(events, pid))
    assert sorted(types_of(events, pid)) == ["exit", "kill", "spawn"]
    (kill,) = [event for event in of_pid(events, pid) if event["event_type"] == "kill"]
    assert kill["signal_num"] == signal.SIGKILL and kill["job_id"] == "kills"
    assert kill["details"].get("sender_pid", os.getpid()) == os.getpid()


def test_a_signal_that_does_not_kill_is_told_as_a_signal(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "signals")
    noted = jobs_daemon.runner.cwd / "noted"
    pid = shell.start(f"{jobs_daemon.runner.workload('signals')} {noted} 600")
    wait_until(lambda: "ready" in processes.file_lines(noted))
    processes.send_signal(pid, signal.SIGUSR1)
    events = jobs_daemon.events_when(lambda events: "signal" in types_of(events, pid))
    (told,) = [event for event in of_pid(events, pid) if event["event_type"] == "signal"]
    assert told["signal_num"] == signal.SIGUSR1
    assert "exit" not in types_of(events, pid)


def test_events_come_newest_last_and_as_many_as_asked_for(jobs_daemon):
    shell = job_shell(jobs_daemon, "many")
    pids = crowd(jobs_daemon, shell, 40)
    everything = jobs_daemon.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids),
                                         what="every exit")
    stamps = [dc.unix_seconds(event["timestamp"]) for event in everything]
    assert stamps == sorted(stamps)
    with jobs_daemon.client() as client:
        assert client.call("daemon.events", limit=3)["events"] == everything[-3:]
        assert client.call("daemon.events")["events"] == everything[-50:], "50 unless told"


def crowd(daemon, shell, count):
    """So many processes of the shell, each of them seen, and killed. Returns their pids."""
    before = len(processes.descendants(shell.pid))
    pid = shell.start(f"{daemon.runner.workload('manyprocs')} {count} 600")
    wait_until(lambda: len(processes.descendants(shell.pid)) == before + count, what="the crowd")
    pids = {pid, *processes.descendants(pid)}
    daemon.top_when(lambda top: all(process_in(top, each) for each in pids), what="all of them in a snapshot")
    for each in pids:
        processes.send_signal(each, signal.SIGKILL)
    shell.reap(pid)
    for each in pids - {pid}:  # ours by now; without kernel events one ends when it is reaped
        with contextlib.suppress(ChildProcessError):
            os.waitpid(each, 0)
    return pids


def test_events_of_a_job_are_not_pushed_out_by_others(either_jobs):
    quiet, loud = job_shell(either_jobs, "quiet"), job_shell(either_jobs, "loud")
    (pid,) = seen_and_gone(either_jobs, quiet)
    either_jobs.events_when(lambda events: "exit" in types_of(events, pid))
    crowd(either_jobs, loud, 120)
    either_jobs.events_when(lambda events: not of_pid(events, pid), what="200 others")

    def of_quiet():
        return either_jobs.call("daemon.events", job_id="quiet", limit=9)["events"]
    wait_until(lambda: "exit" in types_of(of_quiet(), pid), what="its end, from the history")
    assert {event["job_id"] for event in of_quiet()} == {"quiet"}
    assert types_of(of_quiet(), pid) == ["spawn", "exit"]
    assert either_jobs.call("daemon.events", job_id="nobody") == {"events": []}
    wait_until(lambda: len(either_jobs.call("daemon.events", job_id="loud", limit=230)["events"]) == 230,
               what="all of them, from the history")


def test_events_of_a_job_without_a_history_are_those_remembered(start_daemon):
    daemon = start_daemon(watch="jobs", database="off", log_file="off")
    first, second = job_shell(daemon, "first"), job_shell(daemon, "second")
    pids = [pid for shell in (first, second) for pid in seen_and_gone(daemon, shell)]
    daemon.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids))
    events = daemon.call("daemon.events", job_id="first", limit=1)["events"]
    assert types_of(events, pids[0]) == ["exit"] and len(events) == 1, "the other job's came later"


# ---- subscribers ----

def test_two_subscribers_both_get_a_sheets_event_with_its_context(either):
    child = dc.start_known_child(either.runner)
    either.call("job.start", job_id="told")
    either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    with either.client() as first, either.client() as second, either.client() as client:
        first.subscribe(job_id="told")
        second.subscribe(events=["sheet.started"])
        publish(client, "sheet.started", "told", 5, pid=child.pid)
        for subscriber in (first, second):
            event = subscriber.events_until(lambda event: event_name(event) == "sheet.started")[-1]
            assert (event["job_id"], event["sheet_num"]) == ("told", 5)
            assert event["data"]["resource_context"]["rss_mb"] == pytest.approx(dc.rss_mb(child.pid), abs=1)


def test_a_subscriber_gets_only_the_events_and_the_job_it_asked_for(daemon):
    with daemon.client() as subscriber, daemon.client() as client:
        client.call("job.start", job_id="mine")
        client.call("job.start", job_id="other")
        subscriber.subscribe(events=["sheet.completed", "sheet.failed"], job_id="mine")
        for job_id in ("other", "mine"):
            for name in ("sheet.started", "sheet.completed", "sheet.retrying"):
                publish(client, name, job_id, 1)
        publish(client, "sheet.failed", "mine", 2)
        got = subscriber.events_until(lambda event: event_name(event) == "sheet.failed")
    assert [(event_name(event), event["job_id"], event["sheet_num"]) for event in got] == [
        ("sheet.completed", "mine", 1), ("sheet.failed", "mine", 2)]


def test_events_of_processes_are_streamed(either_jobs):
    shell = job_shell(either_jobs, "live")
    with either_jobs.client() as subscriber:
        subscriber.subscribe(events=["spawn", "exit"], job_id="live")
        (pid,) = seen_and_gone(either_jobs, shell)
        got = subscriber.events_until(lambda event: event_name(event) == "exit" and event["pid"] == pid)
    assert [event_name(event) for event in of_pid(got, pid)] == ["spawn", "exit"]
    assert {event["job_id"] for event in got} == {"live"}


def test_the_exit_of_a_jobs_process_comes_before_the_jobs_end(jobs_daemon):
    """Its runner reports the end as soon as it has waited for the process: the kernel reports the exit a moment later. In a
    storm of processes the daemon gives up waiting for some of them, and has no exit code then."""
    need_exit_codes(jobs_daemon)
    known = 0
    with jobs_daemon.client() as subscriber, jobs_daemon.client() as client:
        subscriber.subscribe(events=["exit", "job.finished"])
        for number in range(40):
            name = f"ends-{number}"
            child = subprocess.Popen(["/bin/sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE)
            client.call("job.start", job_id=name, pid=child.pid, wait=False)
            child.stdin.close()
            assert child.wait() == 7
            client.call("job.finish", job_id=name, outcome="failed", wait=False)
            got = subscriber.events_until(lambda event: event_name(event) == "job.finished")
            assert [(event_name(event), event["job_id"]) for event in got] == [("exit", name), ("job.finished", name)]
            (exited, finished), is_known = got, got[0]["details"]["seen"] == "event"
            codes = (exited.get("exit_code"), finished["data"].get("exit_code"))
            assert codes == ((7, 7) if is_known else (None, None)) and finished["data"]["outcome"] == "failed"
            known += is_known
    assert known > 0


def test_a_subscriber_gets_snapshots_of_the_job_it_asked_for(jobs_daemon):
    shells = [job_shell(jobs_daemon, name) for name in ("shown", "hidden")]
    with jobs_daemon.client() as subscriber:
        subscriber.subscribe(job_id="shown", events=["monitor.*"], snapshots=True)
        got = [subscriber.next_event() for _ in range(2)]
    for snapshot in got:
        assert event_name(snapshot) == "monitor.snapshot"
        dc.check_snapshot(snapshot)
        assert [process["pid"] for process in snapshot["processes"]] == [shells[0].pid]
        assert [progress["job_id"] for progress in snapshot["job_progress"]] == ["shown"]
    assert got[0]["timestamp"] < got[1]["timestamp"]


def test_a_subscriber_that_does_not_read_loses_its_oldest_and_is_told_how_many(daemon):
    """What it got and what it is told it lost make up everything; who reads loses nothing meanwhile."""
    count, batch, padding = 3000, 20, "x" * 4096
    with daemon.client(receive_buffer=4096) as slow, daemon.client() as quick, daemon.client() as client:
        client.call("job.start", job_id="flood")
        slow.subscribe(events=["sheet.retrying"])
        quick.subscribe(events=["sheet.retrying"])
        seen = []
        for begin in range(0, count, batch):
            client.call_many("event.publish", [
                {"event": "sheet.retrying", "job_id": "flood", "sheet_num": 1,
                 "data": {"serial": serial, "pad": padding}} for serial in range(begin, begin + batch)])
            for _ in range(batch):
                seen.append(quick.next_event()["data"]["serial"])
        assert seen == list(range(count))
        got = slow.events_until(lambda event: event.get("data", {}).get("serial") == count - 1)
    serials = [event["data"]["serial"] for event in got if "serial" in event.get("data", {})]
    lost = sum(dc.lost_count(event) for event in got)
    assert lost > 0 and len(serials) + lost == count
    assert serials == sorted(set(serials)) and serials[-1] == count - 1, "the newest are kept, in order"


def test_a_subscriber_that_leaves_harms_nobody(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="left-alone")
        for _ in range(3):
            daemon.client().subscribe().close()
            publish(client, "sheet.started", "left-alone", 1)
        assert client.call("daemon.status")["pid"] == daemon.pid


def test_the_program_that_loads_kernel_events_leaves_no_zombie(run_metron, daemon):
    kernel_events.need(run_metron)
    wait_until(lambda: daemon.call("daemon.status")["processes_seen_by"] == "bpf", what="kernel events in force")

    def loader():
        return [pid for pid, name in named_descendants(daemon.pid).items() if name == "metron-bpf"]

    wait_until(lambda: not loader(), what="the loader to be reaped")


def test_a_birth_has_its_job_though_the_next_snapshot_is_far_off(start_daemon):
    """An event of a job comes between the birth and the pass that finds whose the process is by its variable."""
    daemon = dc.without_snapshots(start_daemon)
    name = f"early-{os.getpid()}"
    with daemon.client() as client:
        wait_until(lambda: "processes_seen_by" in (status := client.call("daemon.status"))
                   and (status["processes_seen_by"] == "bpf" or "why_no_kernel_events" in status), what="kernel events")
        if client.call("daemon.status")["processes_seen_by"] not in ("bpf", "connector"):
            pytest.skip("the kernel's events cannot be had here")
        client.call("job.start", job_id=name)
        child = subprocess.Popen(["sleep", "600"], env={**os.environ, "METRON_JOB": name, "METRON_SHEET": "2"})
        for _ in range(3):
            publish(client, "sheet.retrying", name, 1)
        # Popen returns before the kernel has set up the variables.
        environ = pathlib.Path(f"/proc/{child.pid}/environ")
        wait_until(lambda: name.encode() in environ.read_bytes(), what="the variables of the process")
        client.call("job.finish", job_id=name, outcome="completed")  # with a pass, in place of a snapshot's
        names = ["job.started", *["sheet.retrying"] * 3, "spawn", "job.finished"]
        events = [event for event in client.call("daemon.events", limit=200)["events"] if event.get("job_id") == name]
        assert [event["event_type"] for event in events] == names
        assert (events[-2]["pid"], events[-2]["sheet_num"]) == (child.pid, 2)
    child.kill()
    child.wait()
    stored = daemon.rows("SELECT event_type FROM process_events WHERE job_id = ? ORDER BY id", name)
    assert [row["event_type"] for row in stored] == names, "in this order"
