"""The daemon as another program sees it: its socket, its database and its log, by the names of the format.

The client (support/daemon_client.py) is written from the text of the format and shares no code with metron. Numbers
are held against the kernel's own, read here. Most tests run for the caller (root: the whole machine is watched) and for
an ordinary user.
"""

import json
import os
import pathlib
import signal
import stat
import statistics
import tempfile
import time

import pytest

from support import daemon_client as dc
from support import kernel_events, processes
from support.daemon_client import (Daemon, RpcError, Shell, check_fields, event_name, expect_error, process_in,
                                   progress_in, publish, start_child)
from support.processes import wait_until

NOBODY = 65534
INTERVAL = 0.2

ESCAPE_SLOWLY = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    time.sleep(1)
    os._exit(0)
time.sleep(600)
"""


# ---- fixtures ----

def starter(runner, uid):
    """start(name=…, **settings) -> a ready Daemon; start.daemons are all of them."""
    dc.need_daemon(runner)
    made = []

    def start(name=None, **settings):
        folder = runner.cwd / name if name else runner.cwd
        folder.mkdir(exist_ok=True)
        if uid is not None:
            os.chown(folder, uid, uid)
        made.append(Daemon(runner, folder, uid))
        return made[-1].start(**settings)
    start.daemons = made
    start.runner = runner
    return start


@pytest.fixture
def start_daemon(run_metron):
    """A daemon of the caller's: of root, it watches the whole machine."""
    start = starter(run_metron, None)
    yield start
    for daemon in start.daemons:
        daemon.end()


@pytest.fixture
def start_user_daemon(run_as_user):
    """A daemon of an ordinary user's."""
    start = starter(run_as_user, NOBODY if os.getuid() == 0 else None)
    yield start
    for daemon in start.daemons:
        daemon.end()


@pytest.fixture(params=["caller", "ordinary-user"])
def start_either(request):
    return request.getfixturevalue("start_daemon" if request.param == "caller" else "start_user_daemon")


@pytest.fixture
def daemon(start_daemon):
    return start_daemon()


@pytest.fixture
def either(start_either):
    return start_either()


@pytest.fixture
def jobs_daemon(start_daemon):
    """Only jobs are watched: what other tests do at the same time is not seen."""
    return start_daemon(watch="jobs")


@pytest.fixture
def either_jobs(start_either):
    return start_either(watch="jobs")


def job_shell(daemon, job_id, env=None, **params):
    """A shell that is the root of a new job: what it starts belongs to the job."""
    shell = Shell(daemon.runner, env)
    daemon.call("job.start", job_id=job_id, pid=shell.pid, **params)
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid), what="the job's root")
    return shell


def need_exit_codes(daemon):
    """Only where the kernel tells of every exit are codes and signals always known."""
    reason = kernel_events.why_none(daemon.runner.binary)
    if reason is not None:
        pytest.skip(f"exit codes and signals need kernel events: {reason}")


def need_another_user():
    if os.getuid() != 0:
        pytest.skip("only root can become another user")


def of_pid(events, pid):
    return [event for event in events if event["pid"] == pid]


def types_of(events, pid):
    return [event["event_type"] for event in of_pid(events, pid)]


# ---- the snapshot: the machine ----

def test_every_field_of_a_snapshot_has_its_name_and_type(either):
    snapshot = either.top_when()
    assert snapshot["daemon_pid"] == either.pid
    own = process_in(either.top_when(lambda snapshot: process_in(snapshot, either.pid)), either.pid)
    check_fields(own, dc.PROCESS_FIELDS, dc.PROCESS_OPTIONAL, "the daemon's own process")
    assert "job_id" not in own and "sheet_num" not in own, "it belongs to no job"


def test_snapshots_come_at_the_interval_and_are_stamped_in_unix_seconds(daemon):
    stamps = [snapshot["timestamp"] for snapshot in daemon.tops(8)]
    assert abs(stamps[-1] - time.time()) < 2
    steps = [after - before for before, after in zip(stamps, stamps[1:])]
    assert min(steps) > 0
    assert statistics.median(steps) == pytest.approx(INTERVAL, abs=0.05)


def test_memory_of_the_machine_is_the_kernels_in_mib(either):
    slack = 0.05 * dc.meminfo_mb()["MemTotal"]
    before = dc.meminfo_mb()
    snapshot = either.top_when()
    after = dc.meminfo_mb()
    assert snapshot["system_memory_total_mb"] == pytest.approx(before["MemTotal"], abs=0.1)
    available = sorted([before["MemAvailable"], after["MemAvailable"]])
    assert available[0] - slack <= snapshot["system_memory_available_mb"] <= available[1] + slack
    assert snapshot["system_memory_used_mb"] == pytest.approx(
        snapshot["system_memory_total_mb"] - snapshot["system_memory_available_mb"], abs=1)


def test_load_averages_are_the_kernels(either):
    def same(snapshot):
        told = [snapshot[f"load_avg_{minutes}"] for minutes in (1, 5, 15)]
        return told == pytest.approx(dc.load_averages(), abs=0.006)
    either.top_when(same, what="the kernel's load averages")


def test_the_daemon_tells_its_own_size_and_age(either):
    snapshot = either.top_when()
    assert snapshot["daemon_rss_mb"] == pytest.approx(dc.rss_mb(either.pid), rel=0.2, abs=2)
    assert snapshot["conductor_uptime_seconds"] == pytest.approx(dc.age_at(either.pid, snapshot["timestamp"]), abs=1.5)
    later = either.top_when(lambda later: later["timestamp"] > snapshot["timestamp"] + 0.3)
    grown = later["conductor_uptime_seconds"] - snapshot["conductor_uptime_seconds"]
    assert grown == pytest.approx(later["timestamp"] - snapshot["timestamp"], abs=0.3)


def test_a_machine_without_a_gpu_tells_of_none(daemon):
    if list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("there is a GPU")
    assert not daemon.top_when().get("gpus")


# ---- the snapshot: processes ----

def test_a_known_child_is_told_as_the_kernel_tells_it(either):
    """Memory to 0.5 MiB (the kernel itself counts it in batches), age to 0.25 s, everything else exactly."""
    child = dc.start_known_child(either.runner)
    snapshot = either.top_when(lambda snapshot: "open_fds" in process_in(snapshot, child.pid))
    told = process_in(snapshot, child.pid)
    check_fields(told, dc.PROCESS_FIELDS, dc.PROCESS_OPTIONAL, "the child")
    assert told["ppid"] == os.getpid()
    assert told["state"] == processes.state(child.pid) == "S"
    assert told["threads"] == int(dc.status_of(child.pid)["Threads"]) == 4
    assert told["open_fds"] == dc.open_fds(child.pid) >= 10
    assert told["rss_mb"] == pytest.approx(dc.rss_mb(child.pid), abs=0.5)
    assert told["rss_mb"] > 64
    assert told["vms_mb"] == pytest.approx(dc.vms_mb(child.pid), abs=0.1)
    assert told["age_seconds"] == pytest.approx(dc.age_at(child.pid, snapshot["timestamp"]), abs=0.25)
    assert "job_id" not in told and "sheet_num" not in told and "syscall_counts" not in told


def test_a_command_is_the_whole_command_line(either):
    child = start_child(either.runner, "sleep", "600.25", "0.5")
    snapshot = either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    assert process_in(snapshot, child.pid)["command"] == dc.command_line(child.pid) == "sleep 600.25 0.5"


def test_secrets_on_a_command_line_are_masked(either):
    child = start_child(either.runner, "sh", "-c", "sleep 600; exit 0", "--password=hunter2")
    snapshot = either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    assert "hunter2" not in process_in(snapshot, child.pid)["command"]


def test_open_files_are_counted_anew_when_they_grow(daemon):
    shell = Shell(daemon.runner)
    before = dc.open_fds(shell.pid)
    assert shell.ask("exec 7< /dev/null 8< /dev/null; echo done") == "done"
    assert dc.open_fds(shell.pid) == before + 2
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid).get("open_fds") == before + 2,
                    what="two more files")


def test_a_stopped_process_is_told_as_stopped(daemon):
    child = start_child(daemon.runner, "sleep", "600")
    child.send_signal(signal.SIGSTOP)
    daemon.top_when(lambda snapshot: process_in(snapshot, child.pid).get("state") == "T", what="state T")


def check_cpu_percent(daemon, pid):
    """100 is one core. Over five intervals of the log, within 10 (a clock tick is 5 of an interval) of the kernel's own
    count, read by us all the while. Returns both, as means."""
    daemon.top_when(lambda snapshot: "cpu_percent" in process_in(snapshot, pid))
    readings, count = [], len(daemon.logged())
    while len(logged := daemon.logged()[count:]) < 7:
        readings.append((time.time(), dc.cpu_seconds(pid)))
        assert len(readings) < 2000, "seven snapshots did not come"
        time.sleep(0.01)
    readings.append((time.time(), dc.cpu_seconds(pid)))
    stamps = [snapshot["timestamp"] for snapshot in logged[1:7]]
    span = stamps[-1] - stamps[0]
    told = [process_in(snapshot, pid)["cpu_percent"] for snapshot in logged[2:7]]
    used = [dc.between(readings, moment) for moment in (stamps[0], stamps[-1])]
    mean = sum(rate * (end - begin) for rate, begin, end in zip(told, stamps, stamps[1:])) / span
    truth = 100 * (used[1] - used[0]) / span
    assert mean == pytest.approx(truth, rel=0.05, abs=10), told
    assert min(told) > 0, told
    return mean, truth


def test_cpu_percent_of_a_burner_is_what_the_kernel_counted(either):
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    mean, truth = check_cpu_percent(either, child.pid)
    if truth > 95:  # nobody else wanted the core
        assert mean == pytest.approx(100, abs=10)
    assert mean < 110


def test_cpu_percent_counts_every_core_a_process_uses(daemon):
    child = start_child(daemon.runner, daemon.runner.workload("burn"), "600", "3")
    mean, _ = check_cpu_percent(daemon, child.pid)
    assert mean < 100 * os.cpu_count() + 10


def test_cpu_percent_of_a_fresh_burner_is_there_from_the_second_snapshot_on_and_never_0(either):
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    either.tops(5)
    seen = [process_in(snapshot, child.pid) for snapshot in either.logged()]
    seen = [process for process in seen if process]
    assert len(seen) >= 3
    assert "cpu_percent" not in seen[0] or seen[0]["cpu_percent"] > 0, "before a second reading: known, or absent"
    for process in seen[1:]:
        assert process["cpu_percent"] > 0, process


def test_cpu_percent_of_a_sleeper_is_near_0_and_there(either):
    child = start_child(either.runner, "sleep", "600")
    either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    for snapshot in either.tops(4)[1:]:
        assert 0 <= process_in(snapshot, child.pid)["cpu_percent"] < 1


def test_a_zombie_is_counted_named_and_has_its_parent(either):
    parent = start_child(either.runner, either.runner.workload("zombies"), "1", "0", "600")
    (zombie,) = wait_until(lambda: processes.descendants(parent.pid), what="the zombie")
    wait_until(lambda: processes.state(zombie) == "Z")
    snapshot = either.top_when(lambda snapshot: zombie in snapshot["zombie_pids"])
    told = process_in(snapshot, zombie)
    assert told["state"] == "Z" and told["ppid"] == parent.pid
    assert snapshot["zombie_count"] == len(snapshot["zombie_pids"]) >= 1
    parent.kill()
    parent.wait()
    os.waitpid(zombie, 0)  # it has come to us
    either.top_when(lambda snapshot: zombie not in snapshot["zombie_pids"], what="the end of the zombie")


def test_a_process_that_has_ended_is_told_no_more(either):
    child = start_child(either.runner, "sleep", "600")
    either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    child.kill()
    child.wait()
    either.top_when(lambda snapshot: not process_in(snapshot, child.pid), what="the end of the process")


# ---- who is watched ----

def test_a_users_daemon_tells_of_that_users_processes_only(start_user_daemon):
    daemon = start_user_daemon()
    uid = daemon.uid if daemon.uid is not None else os.getuid()
    child = start_child(daemon.runner, "sleep", "600")
    snapshot = daemon.top_when(lambda snapshot: process_in(snapshot, child.pid))
    owners = {dc.owner(process["pid"]) for process in snapshot["processes"]} - {None}
    assert owners == {uid}


def test_roots_daemon_tells_of_everybody_but_kernel_threads(daemon, run_as_user):
    need_another_user()
    child = start_child(run_as_user, "sleep", "600")
    snapshot = daemon.top_when(lambda snapshot: process_in(snapshot, child.pid))
    told = {process["pid"] for process in snapshot["processes"]}
    assert {os.getpid(), daemon.pid, child.pid, 1} <= told
    assert not [pid for pid in told if dc.is_kernel_thread(pid)]


def test_watching_jobs_only_leaves_everybody_else_out(either_jobs):
    outside = start_child(either_jobs.runner, "sleep", "600")
    shell = job_shell(either_jobs, "narrow")
    inside = shell.start("sleep 600")
    snapshot = either_jobs.top_when(lambda snapshot: process_in(snapshot, inside))
    assert {process["pid"] for process in snapshot["processes"]} == {shell.pid, inside}
    assert not process_in(snapshot, outside.pid)


# ---- the log ----

def test_the_log_has_every_snapshot_as_it_was_told_while_it_is_written(either):
    assert either.call("daemon.top.stream") == {"jsonl_path": str(either.log_file)}
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    told = either.tops(5)
    wait_until(lambda: either.logged()[-1]["timestamp"] >= told[-1]["timestamp"], what="the last one in the log")
    logged = {snapshot["timestamp"]: dc.check_snapshot(snapshot) for snapshot in either.logged()}
    assert list(logged) == sorted(logged)
    for snapshot in told:
        for name in set(dc.SNAPSHOT_FIELDS) - {"conductor_uptime_seconds"}:
            assert logged[snapshot["timestamp"]][name] == snapshot[name], name
    assert process_in(logged[told[-1]["timestamp"]], child.pid)


# ---- events of processes ----

def test_each_process_has_one_spawn_and_one_exit(either_jobs):
    """However they are learnt. A daemon without kernel events sees what lives for two ticks."""
    shell = job_shell(either_jobs, "births")
    pids = [shell.start("sleep 0.7") for _ in range(3)]
    begin = time.time()
    for pid in pids:
        assert shell.reap(pid) == 0
    events = either_jobs.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids), what="exits")
    for pid in pids:
        assert types_of(events, pid) == ["spawn", "exit"]
        for event in of_pid(events, pid):
            check_fields(event, {"event_type": dc.TEXT, "pid": dc.INTEGER, "seen": dc.TEXT},
                         {"exit_code": dc.INTEGER, "signal_num": dc.INTEGER, "sheet_num": dc.INTEGER}, "an event")
            assert event["seen"] in ("sampled", "reaped", "event")
            assert event["job_id"] == "births"
            assert abs(dc.unix_seconds(event["timestamp"]) - begin) < 5
        spawn, end = of_pid(events, pid)
        assert "exit_code" not in spawn and "signal_num" not in spawn
        assert end.get("exit_code", 0) == 0 and "signal_num" not in end


def test_an_exit_code_is_told(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "codes")
    pid = shell.start("sh -c 'sleep 0.5; exit 7'")
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
    os.kill(pid, signal.SIGKILL)
    assert shell.reap(pid) == 128 + signal.SIGKILL
    events = jobs_daemon.events_when(lambda events: "exit" in types_of(events, pid))
    assert sorted(types_of(events, pid)) == ["exit", "kill", "spawn"]
    (kill,) = [event for event in of_pid(events, pid) if event["event_type"] == "kill"]
    assert kill["signal_num"] == signal.SIGKILL and kill["job_id"] == "kills"
    assert kill.get("sender_pid", os.getpid()) == os.getpid()


def test_a_signal_that_does_not_kill_is_told_as_a_signal(jobs_daemon):
    need_exit_codes(jobs_daemon)
    shell = job_shell(jobs_daemon, "signals")
    noted = jobs_daemon.runner.cwd / "noted"
    pid = shell.start(f"{jobs_daemon.runner.workload('signals')} {noted} 600")
    wait_until(lambda: "ready" in processes.file_lines(noted))
    os.kill(pid, signal.SIGUSR1)
    events = jobs_daemon.events_when(lambda events: "signal" in types_of(events, pid))
    (told,) = [event for event in of_pid(events, pid) if event["event_type"] == "signal"]
    assert told["signal_num"] == signal.SIGUSR1
    assert "exit" not in types_of(events, pid)


def test_events_come_newest_last_and_as_many_as_asked_for(jobs_daemon):
    shell = job_shell(jobs_daemon, "many")
    shell.run(f"{jobs_daemon.runner.workload('manyprocs')} 40 0.7")
    jobs_daemon.events_when(lambda events: len(events) >= 80, what="80 events")
    jobs_daemon.tops(3)
    everything = jobs_daemon.call("daemon.events", limit=200)["events"]
    stamps = [dc.unix_seconds(event["timestamp"]) for event in everything]
    assert stamps == sorted(stamps)
    with jobs_daemon.client() as client:
        assert client.call("daemon.events", limit=3)["events"] == everything[-3:]
        assert client.call("daemon.events")["events"] == everything[-50:], "50 unless told"


# ---- jobs and sheets ----

def test_a_job_is_listed_from_start_to_finish_and_after(either):
    with either.client() as client:
        client.call("job.start", job_id="build", workspace="/somewhere", config_hash="abc", total_sheets=3)
        (listed,) = [job for job in dc.jobs_of(client.call("job.list")) if job["job_id"] == "build"]
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
    """setsid and a double fork, slow enough to be seen by a daemon that only looks at each tick."""
    shell = Shell(either.runner)
    with either.client() as client:
        client.call("job.start", job_id="leavers")
        publish(client, "sheet.started", "leavers", 1, pid=shell.pid)
    either.top_when(lambda snapshot: process_in(snapshot, shell.pid).get("job_id"))
    script = either.runner.cwd / "escape.py"
    script.write_text(ESCAPE_SLOWLY, encoding="utf-8")
    script.chmod(0o644)
    orphan = int(shell.ask(f"/usr/bin/python3 {script} &"))
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
    either.top_when(lambda snapshot: process_in(snapshot, child.pid).get("cpu_percent", 0) > 0)
    snapshot = either.top_when()
    context = either.call("context.get", pid=child.pid)
    assert context["rss_mb"] == pytest.approx(dc.rss_mb(child.pid), abs=0.5)
    assert context["cpu_pct"] > 0 and round(context["cpu_pct"], 1) == context["cpu_pct"]
    assert context["daemon_rss_mb"] == pytest.approx(snapshot["daemon_rss_mb"], rel=0.2, abs=2)
    assert "syscall_hotspot" not in context, "nothing has counted its calls"


def test_the_context_of_no_pid_is_the_machines(either):
    either.call("job.start", job_id="around")
    context = either.call("context.get")
    check_fields(context, {"daemon_rss_mb": dc.NUMBER, "running_jobs": dc.INTEGER, "active_sheets": dc.INTEGER},
                 {"pressure_level": dc.TEXT, "anomalies_active": dc.INTEGER}, "the context")
    assert (context["running_jobs"], context["active_sheets"]) == (1, 0)


def test_the_context_of_an_unknown_pid_leaves_out_what_is_unknown(daemon):
    child = start_child(daemon.runner, "true")
    child.wait()
    context = daemon.call("context.get", pid=child.pid)
    assert "rss_mb" not in context and "cpu_pct" not in context


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
        pid = shell.start("sleep 0.7")
        shell.reap(pid)
        got = subscriber.events_until(lambda event: event_name(event) == "exit" and event["pid"] == pid)
    assert [event_name(event) for event in of_pid(got, pid)] == ["spawn", "exit"]
    assert {event["job_id"] for event in got} == {"live"}


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


# ---- after a job ----

def test_cpu_seconds_of_a_job_are_what_it_burned(either_jobs):
    """2 s by the burners' own clocks, within 2 %: two threads of one, then one child after the other."""
    shell = job_shell(either_jobs, "burnt")
    assert shell.run(f"{either_jobs.runner.workload('burn')} 0.7 2") == 0
    assert shell.run(f"{either_jobs.runner.workload('forkstorm')} 3 200") == 0
    either_jobs.tops(3)
    either_jobs.call("job.finish", job_id="burnt", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="burnt")
    assert dc.profile_value(profile, "cpu_seconds") == pytest.approx(2.0, rel=0.02)


def test_peak_memory_of_a_job_is_what_it_held(either_jobs):
    """128 MiB touched, given back before the job ends; beside it a shell and the program itself: 16 MiB at most."""
    shell = job_shell(either_jobs, "peak")
    assert shell.run(f"{either_jobs.runner.workload('spike')} {128 * dc.MIB} 700 0.3") == 0
    either_jobs.call("job.finish", job_id="peak", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="peak")
    assert 128 <= dc.profile_value(profile, "peak_memory_mb") <= 144


def test_processes_of_a_job_are_counted(either_jobs):
    """Five of the shell's, with or without the shell itself, which was there before."""
    shell = job_shell(either_jobs, "counted")
    for pid in [shell.start("sleep 0.7") for _ in range(5)]:
        shell.reap(pid)
    either_jobs.tops(3)
    either_jobs.call("job.finish", job_id="counted", outcome="completed")
    profile = either_jobs.call("job.profile", job_id="counted")
    assert dc.profile_value(profile, "spawns") in (5, 6)
    assert dc.profile_value(profile, "unique_processes") in (5, 6)


def test_the_report_of_a_job_is_a_text_that_names_it(either_jobs):
    shell = job_shell(either_jobs, "reported-job")
    shell.run(f"{either_jobs.runner.workload('burn')} 0.5")
    either_jobs.call("job.finish", job_id="reported-job", outcome="failed")
    text = dc.text_of(either_jobs.call("job.report", job_id="reported-job"))
    assert "reported-job" in text and "failed" in text and "null" not in text
    assert "\x1b" not in text, "no colour: it is no terminal"


# ---- the daemon itself ----

def test_health_ready_and_status_answer(either):
    with either.client() as client:
        client.call("daemon.health")
        client.call("daemon.ready")
        status = client.call("daemon.status")
    check_fields(status, dc.STATUS_FIELDS, where="daemon.status")
    assert status["pid"] == either.pid
    assert status["uptime_seconds"] == pytest.approx(dc.age_at(either.pid, time.time()), abs=1.5)
    assert status["memory_usage_mb"] == pytest.approx(dc.rss_mb(either.pid), rel=0.2, abs=2)
    assert status["version"] in either.runner.metron("--version").stdout.decode()


@pytest.mark.parametrize("by_environment", [False, True], ids=["options", "environment"])
def test_the_settings_in_force_are_told(start_daemon, by_environment):
    given = {"watch": "jobs", "retention_hours": 3, "retention_days": 5, "events_days": 7}
    daemon = start_daemon(by_environment=by_environment, **given)
    told = daemon.call("daemon.config")
    assert float(dc.find_value(told, dc.SETTINGS["interval"])) == INTERVAL
    for name, value in {"socket": daemon.socket, "database": daemon.database, "log_file": daemon.log_file,
                        **given}.items():
        assert str(dc.find_value(told, dc.SETTINGS[name])) == str(value), name


def test_an_interval_below_a_tenth_of_a_second_is_refused(start_daemon, run_metron):
    daemon = Daemon(run_metron, run_metron.cwd)
    start_daemon.daemons.append(daemon)
    assert daemon.launch(interval=0.01).wait() == 2
    assert daemon.said().count("\n") == 1 and dc.SETTINGS["interval"] in daemon.said()


def test_sigterm_ends_it_with_0_and_takes_the_socket_away(either):
    either.top_when()
    assert either.stop(signal.SIGTERM) == 0
    assert not either.socket.exists()
    assert either.database.exists() and either.log_file.exists()


@pytest.mark.parametrize("graceful", [True, False])
def test_it_can_be_shut_down_over_the_socket(either, graceful):
    either.call("daemon.shutdown", graceful=graceful)
    assert either.wait() == 0
    assert not either.socket.exists()


def test_everything_told_is_in_the_database_after_an_orderly_end(daemon):
    last = daemon.tops(3)[-1]
    assert daemon.stop() == 0
    assert daemon.stored(last["timestamp"])


# ---- requests that are wrong ----

def test_many_requests_on_one_connection_in_one_write(either):
    with either.client() as client:
        client.send(b"".join(json.dumps({"jsonrpc": "2.0", "id": name, "method": "daemon.status"}).encode() + b"\n"
                             for name in ("one", "two", 3)))
        answers = {}
        for _ in range(3):
            message = client.receive()
            answers[message["id"]] = message["result"]["pid"]
    assert answers == {"one": either.pid, "two": either.pid, 3: either.pid}


def test_a_request_that_comes_in_pieces_is_answered_once_it_is_whole(daemon):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "daemon.status"}).encode() + b"\n"
    with daemon.client() as client:
        for piece in (line[:9], line[9:-1], line[-1:]):
            client.send(piece)
            time.sleep(0.1)
        assert client.answer(1)["pid"] == daemon.pid


def test_a_request_without_an_id_gets_no_answer(daemon):
    with daemon.client() as client:
        client.send({"jsonrpc": "2.0", "method": "daemon.status"})
        assert client.call("daemon.status")["pid"] == daemon.pid, "the first answer is that of the second request"


@pytest.mark.parametrize("line, code", [
    (b"{nonsense\n", dc.PARSE_ERROR),
    (b"\xff\xfe\n", dc.PARSE_ERROR),
    (b'"text"\n', dc.INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": null}\n', dc.INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": null, "method": 5}\n', dc.INVALID_REQUEST),
], ids=["not-json", "not-utf8", "no-object", "no-method", "method-no-text"])
def test_a_malformed_request_gets_an_error_and_the_connection_goes_on(daemon, line, code):
    with daemon.client() as client:
        client.send(line)
        with pytest.raises(RpcError) as caught:
            dc.result_of(client.receive(), None)
        dc.check_error(caught.value, code)
        assert client.call("daemon.status")["pid"] == daemon.pid


@pytest.mark.parametrize("request_line", [
    b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (2 * dc.REQUEST_LIMIT) + b'"}\n',
    b'{"jsonrpc": "2.0", "id": 1, "method": "daemon.top", "params": ' + b"[" * 200000 + b"]" * 200000 + b"}\n",
], ids=["over-1-MiB", "deep"])
def test_a_huge_or_deep_request_gets_an_error_and_the_daemon_lives_on(daemon, request_line):
    with daemon.client() as client:
        try:
            client.send(request_line)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it need not be heard to the end
        message = client.receive()
    assert message["error"]["code"] in (dc.PARSE_ERROR, dc.INVALID_REQUEST) and message["error"]["data"]
    assert daemon.call("daemon.status")["pid"] == daemon.pid


def test_a_request_just_below_1_mib_is_answered(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="big")
        told = publish(client, "sheet.retrying", "big", 1, pad="x" * (dc.REQUEST_LIMIT - 4096))
    assert len(told["data"]["pad"]) == dc.REQUEST_LIMIT - 4096


@pytest.mark.parametrize("code, method, params", [
    (dc.NO_METHOD, "daemon.nonsense", {}),
    (dc.BAD_PARAMS, "job.status", {}),
    (dc.BAD_PARAMS, "job.start", {"job_id": 5}),
    (dc.BAD_PARAMS, "daemon.events", {"limit": "many"}),
    (dc.BAD_PARAMS, "context.get", {"pid": "self"}),
    (dc.NO_SUCH_JOB, "job.status", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "job.finish", {"job_id": "never-started", "outcome": "completed"}),
    (dc.NO_SUCH_JOB, "job.profile", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "job.report", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "daemon.top", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "event.publish", {"event": "sheet.started", "job_id": "never-started", "sheet_num": 1,
                                       "data": {}}),
])
def test_an_error_has_its_code_and_says_what_to_do(daemon, code, method, params):
    with daemon.client() as client:
        expect_error(client, code, method, **params)
        assert client.call("daemon.status")["pid"] == daemon.pid


# ---- the database ----

def test_every_named_column_can_be_selected_while_the_daemon_writes(either):
    either.wait_for_stored(either.top_when()["timestamp"])
    with either.read_database() as database:
        assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert database.execute("PRAGMA user_version").fetchone()[0] > 0
        for table, columns in (("snapshots", dc.SNAPSHOT_COLUMNS), ("process_metrics", dc.PROCESS_COLUMNS),
                               ("process_events", dc.EVENT_COLUMNS)):
            database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY id DESC LIMIT 5").fetchall()
        for table in ("snapshots_1m", "process_metrics_1m"):
            database.execute(f"SELECT * FROM {table} LIMIT 5").fetchall()
        assert database.execute("PRAGMA quick_check").fetchone()[0] == "ok"


def close_to(stored, told, tolerance):
    """NULL is absence, and only absence."""
    if told is None or stored is None:
        return stored is None and told is None
    return abs(stored - told) <= tolerance


def test_stored_snapshots_are_those_that_were_told(either):
    told = either.tops(4)
    either.wait_for_stored(told[-1]["timestamp"])
    for snapshot in told:
        row = either.stored(snapshot["timestamp"])
        assert row, f"snapshot {snapshot['timestamp']} is not stored"
        assert row["child_count"] == len(snapshot["processes"])
        for name in ("daemon_pid", "zombie_count", "running_jobs", "active_sheets"):
            assert row[name] == snapshot[name], name
        for name in ("system_memory_total_mb", "system_memory_available_mb", "system_memory_used_mb", "daemon_rss_mb",
                     "load_avg_1", "load_avg_5", "load_avg_15"):
            assert close_to(row[name], snapshot[name], 0.01), name
        assert row["pressure_level"] == snapshot.get("pressure_level")
        gpus = snapshot.get("gpus", [])
        assert (row["gpu_count"] or 0) == len(gpus)
        for column, name in (("gpu_utilization_pct", "utilization_pct"), ("gpu_memory_used_mb", "memory_used_mb"),
                             ("gpu_temperature", "temperature_c")):
            stored = [] if row[column] is None else json.loads(row[column])
            assert isinstance(stored, list) and len(stored) in (0, len(gpus))
            assert not stored or stored == pytest.approx([gpu[name] for gpu in gpus], abs=0.1)


def test_stored_processes_are_those_that_were_told(either):
    """Every process of a snapshot, every column; what was absent is NULL, never 0."""
    shell = job_shell(either, "kept")
    with either.client() as client:
        publish(client, "sheet.started", "kept", 4, pid=shell.pid)
    burner = shell.start(f"{either.runner.workload('burn')} 600")
    start_child(either.runner, "sleep", "600")
    told = either.tops(5)
    either.wait_for_stored(told[-1]["timestamp"])
    for snapshot in told:
        rows = either.rows(f"SELECT {', '.join(dc.PROCESS_COLUMNS)} FROM process_metrics WHERE snapshot_id = ?",
                           either.stored(snapshot["timestamp"])["id"])
        by_pid = {row["pid"]: row for row in rows}
        assert len(by_pid) == len(rows)
        assert set(by_pid) == {process["pid"] for process in snapshot["processes"]}
        for process in snapshot["processes"]:
            row = by_pid[process["pid"]]
            for name in ("ppid", "command", "state", "threads", "open_fds", "job_id", "sheet_num"):
                assert row[name] == process.get(name), (name, row, process)
            for name, tolerance in (("cpu_percent", 0.1), ("rss_mb", 0.01), ("vms_mb", 0.01), ("age_seconds", 0.05)):
                assert close_to(row[name], process.get(name), tolerance), (name, row, process)
            for name in ("syscall_counts", "syscall_time_pct"):
                assert (json.loads(row[name]) if row[name] is not None else None) == process.get(name), name
    row = by_pid[burner]
    assert (row["job_id"], row["sheet_num"]) == ("kept", 4)
    assert by_pid[either.pid]["job_id"] is None and by_pid[either.pid]["sheet_num"] is None


def test_stored_events_are_those_that_were_told(either_jobs):
    shell = job_shell(either_jobs, "history")
    pids = [shell.start("sleep 0.7") for _ in range(3)]
    for pid in pids:
        shell.reap(pid)
    events = either_jobs.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids), what="exits")
    statement = f"SELECT {', '.join(dc.EVENT_COLUMNS)} FROM process_events WHERE pid = ? ORDER BY id"
    for pid in pids:
        told = of_pid(events, pid)
        rows = wait_until(lambda pid=pid, told=told: (found := either_jobs.rows(statement, pid)) and
                          len(found) >= len(told) and found, what="the events in the database")
        assert len(rows) == len(told)
        for row, event in zip(rows, told):
            assert row["event_type"] == event["event_type"]
            assert dc.unix_seconds(row["timestamp"]) == pytest.approx(dc.unix_seconds(event["timestamp"]), abs=0.001)
            for name in ("exit_code", "signal_num", "job_id", "sheet_num"):
                assert row[name] == event.get(name), (name, row, event)


def test_a_command_line_is_stored_once(either):
    """Twenty processes with one command line, over several snapshots; looked for in every column of every table."""
    marker = f"600.{os.getpid():08d}77"
    for _ in range(20):
        start_child(either.runner, "sleep", marker)
    last = either.tops(5)[-1]
    either.wait_for_stored(last["timestamp"])
    shown = either.rows("SELECT count(*) AS n FROM process_metrics WHERE command = ?", f"sleep {marker}")[0]["n"]
    assert shown >= 60, "each row shows it"
    places = {}
    with either.read_database() as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for column in [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]:
                count = database.execute(f'SELECT count(*) FROM "{table}" WHERE instr(CAST("{column}" AS TEXT), ?)',
                                         (marker,)).fetchone()[0]
                if count:
                    places[f"{table}.{column}"] = count
    assert sum(places.values()) == 1, places


def test_a_reader_that_holds_a_transaction_does_not_stop_the_daemon(daemon):
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    with daemon.read_database() as database:
        database.execute("BEGIN")
        count = database.execute("SELECT count(*) FROM snapshots").fetchone()[0]
        last = daemon.tops(4)[-1]
        daemon.wait_for_stored(last["timestamp"])
        assert database.execute("SELECT count(*) FROM snapshots").fetchone()[0] == count, "its own view stands"


# ---- who gets in ----

def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_files_are_the_owners_only_even_without_a_umask(either):
    either.wait_for_stored(either.top_when()["timestamp"])
    files = [either.socket, either.log_file, *either.folder.glob("monitor.db*")]
    assert len(files) >= 3
    assert {path.name: mode(path) for path in files} == {path.name: 0o600 for path in files}


def test_without_settings_everything_is_in_the_users_own_folders(start_user_daemon, run_as_user):
    daemon = Daemon(run_as_user, run_as_user.cwd, NOBODY if os.getuid() == 0 else None)
    start_user_daemon.daemons.append(daemon)
    runtime, state = daemon.folder / "runtime", daemon.folder / "state"
    runtime.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(runtime, NOBODY, NOBODY)
    daemon.socket = runtime / "metron.sock"
    daemon.launch(socket=None, database=None, log_file=None,
                  env={"XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(state)})
    wait_until(daemon.is_ready, 20, "daemon.ready")
    daemon.database, daemon.log_file = state / "metron" / "monitor.db", state / "metron" / "monitor.jsonl"
    assert daemon.call("daemon.top.stream") == {"jsonl_path": str(daemon.log_file)}
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    assert mode(state / "metron") == 0o700
    assert {mode(path) for path in (daemon.socket, daemon.database, daemon.log_file)} == {0o600}


@pytest.fixture
def open_daemon(run_metron):
    """Root's daemon with its files in a folder that everybody may enter."""
    need_another_user()
    dc.need_daemon(run_metron)
    with tempfile.TemporaryDirectory(prefix="metron-daemon-") as folder:
        os.chmod(folder, 0o755)
        daemon = Daemon(run_metron, folder)
        yield daemon.start()
        daemon.end()


def ask_for_everything(path):
    """What a stranger gets: the name of the error, or the lines of the answers."""
    lines = []
    try:
        with dc.Client(path, timeout=3.0) as client:
            client.send({"jsonrpc": "2.0", "id": 1, "method": "daemon.top"})
            while (message := client.receive()) is not None:
                lines.append(message)
                if "result" in message:
                    break
    except OSError as error:
        return {"failed": type(error).__name__, "answers": lines}
    return {"answers": lines}


def test_another_user_cannot_connect(open_daemon):
    got = dc.in_child_as(NOBODY, lambda: ask_for_everything(open_daemon.socket))
    assert got == {"failed": "PermissionError", "answers": []}


def test_another_user_is_refused_even_if_the_file_lets_him_in(open_daemon):
    """The peer's uid is checked: there is no answer but "not permitted", and no command line."""
    open_daemon.socket.chmod(0o666)
    got = dc.in_child_as(NOBODY, lambda: ask_for_everything(open_daemon.socket))
    for answer in got["answers"]:
        assert answer["error"]["code"] == dc.NOT_PERMITTED and answer["error"]["data"], got
    assert open_daemon.call("daemon.status")["pid"] == open_daemon.pid


def test_another_user_cannot_read_the_files(open_daemon):
    open_daemon.wait_for_stored(open_daemon.top_when()["timestamp"])

    def readable():
        return [path.name for path in open_daemon.folder.glob("monitor*") if os.access(path, os.R_OK)]
    assert dc.in_child_as(NOBODY, readable) == []


# ---- one daemon, and the next ----

def test_a_second_daemon_on_the_same_socket_refuses_and_the_first_goes_on(either):
    second = Daemon(either.runner, either.folder, either.uid)
    second.database, second.log_file = either.folder / "second.db", either.folder / "second.jsonl"
    second.messages = either.folder / "second-messages"
    try:
        assert second.launch().wait() not in (0, None)
    finally:
        second.end()
    assert second.said().count("\n") == 1 and str(either.socket) in second.said(), second.said()
    assert either.call("daemon.status")["pid"] == either.pid
    either.tops(2)


def test_a_socket_that_a_killed_daemon_left_behind_is_replaced(either):
    first = either.pid
    either.stop(signal.SIGKILL)
    assert either.socket.exists()
    either.start()
    assert either.call("daemon.status")["pid"] == either.pid != first


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["after-TERM", "after-KILL"])
def test_the_next_daemon_continues_the_history_and_the_running_jobs(start_either, number):
    daemon = start_either(watch="jobs")
    shell = job_shell(daemon, "goes-on", total_sheets=2)
    with daemon.client() as client:
        publish(client, "sheet.started", "goes-on", 1, pid=shell.pid)
    last = daemon.tops(3)[-1]
    old = daemon.wait_for_stored(last["timestamp"])
    daemon.stop(number)
    daemon.start(watch="jobs")
    fresh = daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid), what="the job's process")
    assert daemon.wait_for_stored(fresh["timestamp"])["id"] > old["id"]
    assert daemon.stored(last["timestamp"]) == old, "what was there stands"
    told = process_in(fresh, shell.pid)
    assert (told["job_id"], told["sheet_num"]) == ("goes-on", 1)
    assert daemon.call("job.status", job_id="goes-on")["status"] == "running"
    assert (fresh["running_jobs"], fresh["active_sheets"]) == (1, 1)
    child = shell.start("sleep 600")
    fresh = daemon.top_when(lambda snapshot: process_in(snapshot, child), what="a new process of the job")
    assert process_in(fresh, child)["job_id"] == "goes-on"


def test_cpu_of_a_running_job_is_not_counted_twice_by_the_next_daemon(start_daemon):
    daemon = start_daemon(watch="jobs")
    shell = job_shell(daemon, "twice")
    assert shell.run(f"{daemon.runner.workload('burn')} 1") == 0
    daemon.tops(3)
    daemon.stop()
    daemon.start(watch="jobs")
    daemon.tops(2)
    daemon.call("job.finish", job_id="twice", outcome="completed")
    profile = daemon.call("job.profile", job_id="twice")
    assert dc.profile_value(profile, "cpu_seconds") == pytest.approx(1.0, rel=0.05)


def test_ids_of_events_grow_across_a_restart(start_either):
    daemon = start_either(watch="jobs")
    shell = job_shell(daemon, "numbered")
    highest = []
    for _ in range(2):
        pid = shell.start("sleep 0.7")
        shell.reap(pid)
        rows = wait_until(lambda pid=pid: daemon.rows(
            "SELECT id FROM process_events WHERE pid = ? AND event_type = 'exit'", pid), what="the exit, stored")
        assert len(rows) == 1
        highest.append(rows[0]["id"])
        assert daemon.stop() == 0
        daemon.start(watch="jobs")
    assert highest[1] > highest[0]
