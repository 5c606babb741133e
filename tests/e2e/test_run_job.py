"""metron run --job: the daemon is told of the run, where there is one."""

import json
import os
import signal
import subprocess
import time

import pytest

from support.daemon_client import Daemon, await_method, profile_value, run_job
from support.leaves import ESCAPE, PYTHON, cpu_of_leaf, only_the_shell_is_in, own_leaf
from support.processes import send_signal, wait_until

# Whoever inherits a job's name is of that job: tests that run beside this one have another.
JOB = f"night-{os.getpid()}"


@pytest.fixture
def daemon(run_metron, tmp_path):
    if run_metron.metron(["daemon", "--help"]).returncode != 0:
        pytest.skip("this build has no daemon")
    folder = tmp_path / "daemon"
    folder.mkdir(mode=0o700)
    started = Daemon(run_metron, folder).start()
    # What a process uses between its last sample and its end is told by the kernel alone, once our programs are there.
    started.tells_all = await_method(started) == "bpf"
    yield started
    started.end()


def seconds_of(daemon, seconds):
    """With kernel events to the millisecond, else what the last sample had seen of it."""
    return pytest.approx(seconds, abs=0.01 if daemon.tells_all else 0.25)


def test_a_run_is_a_job_from_its_start_to_its_end(run_metron, daemon):
    run = run_job(daemon, f"--job {JOB}", [run_metron.workload("burn"), "0.6"])
    assert run.returncode == 0
    profile = daemon.call("job.profile", job_id=JOB)
    assert profile["status"] == "completed", run
    assert profile_value(profile, "cpu_seconds") == seconds_of(daemon, 0.6)
    assert profile["sheets"] == []


def test_a_run_that_fails_is_a_job_that_failed(run_metron, daemon):
    assert run_job(daemon, f"--job {JOB}", ["sh", "-c", "sleep 0.3; exit 3"]).returncode == 3
    assert daemon.call("job.status", job_id=JOB)["status"] == "failed"


def test_a_sheet_belongs_to_the_job_that_runs_already(run_metron, daemon):
    daemon.call("job.start", job_id="long")
    run_job(daemon, "--job long --sheet 2", [run_metron.workload("burn"), "0.6"])
    job = daemon.call("job.status", job_id="long")
    assert job["status"] == "running", "whoever began it ends it"
    [sheet] = job["sheets"]
    assert (sheet["sheet_num"], sheet["status"]) == (2, "completed")
    assert sheet["usage"]["cpu_seconds"] == seconds_of(daemon, 0.6)


def test_without_a_daemon_everything_is_as_it_was(run_metron, tmp_path):
    run = run_metron(f"--socket {tmp_path / 'none.sock'} --job {JOB}", ["true"])
    assert run.returncode == 0
    assert b"daemon" not in run.stderr
    assert run.info["job"] == JOB


def test_a_daemon_that_does_not_answer_holds_up_nobody_for_long(run_metron, daemon):
    send_signal(daemon.pid, signal.SIGSTOP)
    try:
        run = run_metron(f"--socket {daemon.socket} --job {JOB}", ["true"])
        assert run.returncode == 0, "it ends, though nobody answers"
        assert b"the daemon is not told of this run" in run.stderr
    finally:
        send_signal(daemon.pid, signal.SIGCONT)


def run_while_it_is_stopped(runner, daemon, options, job=JOB):
    """A run that has begun, and was not answered, when the daemon goes on; and then runs for a while. At its end metron
    waits for two seconds: another run, if a daemon on a busy machine took longer."""
    for attempt in range(10):
        name = job or f"{JOB}-{attempt}"
        run = run_once_while_it_is_stopped(runner, daemon, name, f"--clobber --job {name} {options}")
        if b"did not answer within 2 s" not in run.stderr:
            break
    return name, run


def run_once_while_it_is_stopped(runner, daemon, job, args):
    (runner.cwd / "begun").unlink(missing_ok=True)
    send_signal(daemon.pid, signal.SIGSTOP)
    try:
        started = runner.start(f"--socket {daemon.socket} {args}", ["sh", "-c", "touch begun; read line; exit 3"],
                               stdin=subprocess.PIPE)
        wait_until((started.cwd / "begun").exists, what="the command")
        time.sleep(0.6)  # no answer within 0.2 s, and nothing shows that metron waits no longer
    finally:
        send_signal(daemon.pid, signal.SIGCONT)
    wait_until(lambda: any(each["job_id"] == job for each in daemon.call("job.list")), what="the job in the daemon")
    return started.finish(data=b"\n")


@pytest.mark.parametrize("args", ["", "--sheet 3"], ids=["job", "sheet"])
def test_a_job_that_the_daemon_begins_late_is_finished(run_metron, daemon, args):
    name, run = run_while_it_is_stopped(run_metron, daemon, args, job=None)
    assert run.returncode == 3
    assert b"not told of this run in time" in run.stderr and b"has ended" not in run.stderr
    job = daemon.call("job.status", job_id=name)
    assert job["status"] == "failed"
    assert [(sheet["sheet_num"], sheet["status"], "pid" in sheet) for sheet in job["sheets"]] \
        == ([(3, "failed", True)] if args else [])
    known = run.info["headline"]["cpu_seconds"]["value"]
    for ended in [job, *job["sheets"]]:
        assert ended["exit_code"] == 3
        assert known > 0 and ended["usage"]["cpu_seconds"] == pytest.approx(known, abs=1e-6), "the run knows it"


def test_a_job_that_ran_already_goes_on_though_the_daemon_answers_late(run_metron, daemon):
    daemon.call("job.start", job_id=JOB)
    _, run = run_while_it_is_stopped(run_metron, daemon, "")
    assert b"not told of this run in time" in run.stderr and b"has ended" not in run.stderr
    assert daemon.call("job.status", job_id=JOB)["status"] == "running"


@pytest.mark.parametrize("name,reason", [("a\tb", b"control characters"), ("x" * 256, b"1 to 255 bytes")],
                         ids=["tab", "long"])
def test_why_a_job_is_refused_is_said(run_metron, daemon, name, reason):
    run = run_metron(["--socket", daemon.socket, "--job", name], ["sh", "-c", "exit 4"])
    assert run.returncode == 4
    # A daemon that takes longer than 0.2 s is named first, and its reason at the end.
    assert run.stderr.count(b"the daemon is not told ") == 1 + (b"not told of this run in time" in run.stderr)
    assert reason in run.stderr
    assert daemon.call("job.list") == []


def test_a_daemon_that_is_busy_when_the_run_ends_is_waited_for(run_metron, daemon):
    started = start_waiting(run_metron, daemon, f"--job {JOB}", "true")
    send_signal(daemon.pid, signal.SIGSTOP)
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()
    time.sleep(0.3)  # nothing shows that metron waits for the daemon
    send_signal(daemon.pid, signal.SIGCONT)
    run = started.finish()
    job = daemon.call("job.status", job_id=JOB)
    assert job["status"] == "completed"
    if run.info["provenance"]["cgroup_scope"] == "own":
        # Unless it took the daemon more than two seconds all the same.
        assert b"not told" in run.stderr or job["usage"]["cpu_seconds"] == run.summary["cgroup_cpu_seconds"], \
            "its group was still there to be read"


def test_a_daemon_that_is_not_told_of_the_end_is_said(run_metron, daemon):
    started = start_waiting(run_metron, daemon, f"--job {JOB}", "true")
    send_signal(daemon.pid, signal.SIGSTOP)
    try:
        run = started.finish(data=b"\n")
        assert run.returncode == 0
        assert b"the daemon is not told that this run has ended" in run.stderr
    finally:
        send_signal(daemon.pid, signal.SIGCONT)


def test_its_processes_are_the_jobs_while_it_runs(run_metron, daemon):
    started = run_metron.start(f"-q --socket {daemon.socket} --job {JOB} --sheet 1", ["sh", "-c", "sleep 600 & wait"])
    try:
        def of_job():
            told = daemon.call("daemon.top")["processes"]
            return [each for each in told if each.get("job_id") == JOB and each.get("sheet_num") == 1]
        found = wait_until(lambda: len(of_job()) == 2 and of_job(), what="the shell and the sleeper")
        assert started.pid not in {each["pid"] for each in found}, "metron is no part of it"
        assert {each["membership"] for each in found} <= {"events", "descent", "variable", "cgroup"}
    finally:
        send_signal(started.pid, signal.SIGTERM)
        started.finish()


# ---- the leaf ----

def members(daemon, job):
    return [each for each in daemon.call("daemon.top")["processes"] if each.get("job_id") == job]


def start_waiting(runner, daemon, args, script, *words, then="true"):
    """A run whose command says `ready`, and goes on when it is fed a line. `then` runs after that: the daemon has the
    job by then."""
    started = runner.start(f"-q --socket {daemon.socket} --outputs all --capture-outputs none {args}",
                           ["sh", "-c", f"{script}; echo ready; read line; {then}", *words], stdin=subprocess.PIPE)
    assert started.process.stdout.readline() == b"ready\n"
    wait_until(lambda: known(daemon), what="the job in the daemon")
    return started


def known(daemon):
    """The pid that was announced with the job or its sheet, once the daemon has been told: the run does not wait."""
    for job in daemon.call("job.list"):
        if "pid" in job or job["sheets"]:
            return job.get("pid") or job["sheets"][0].get("pid")
    return None


def test_the_cpu_of_the_job_is_the_kernels_count_of_its_leaf(run_metron, daemon):
    burn = run_metron.workload("burn")
    started = start_waiting(run_metron, daemon, f"--job {JOB}", f"{burn} 0.3; ({burn} 0.2 &); {burn} 0.4")
    leaf = own_leaf(known(daemon))
    wait_until(lambda: only_the_shell_is_in(leaf), what="the end of the one in the background")
    before = cpu_of_leaf(leaf)
    run = started.finish(data=b"\n")
    job = daemon.call("job.status", job_id=JOB)
    assert job["own_cgroup"] is True
    assert job["usage"]["cpu_source"] == "cgroup_cpu_seconds"
    assert before <= job["usage"]["cpu_seconds"] < before + 0.02, "and what the shell needed to end"
    assert job["usage"]["cpu_seconds"] == run.summary["cgroup_cpu_seconds"], "read when nobody was left in it"
    assert not leaf.exists()


def test_whoever_is_moved_into_the_leaf_is_a_member(run_metron, daemon):
    started = start_waiting(run_metron, daemon, f"--job {JOB} --sheet 4", "true")
    leaf = own_leaf(known(daemon))
    stranger = subprocess.Popen(["sleep", "30"])
    try:
        (leaf / "cgroup.procs").write_text(str(stranger.pid), encoding="utf-8")
        [found] = wait_until(lambda: [each for each in members(daemon, JOB) if each["pid"] == stranger.pid],
                             what="the stranger in a snapshot")
        assert (found["sheet_num"], found["membership"]) == (4, "cgroup")
    finally:
        stranger.kill()
        stranger.wait()
        started.finish(data=b"\n")


def test_an_escapee_is_a_member_where_the_kernel_tells_nothing(run_metron, tmp_path):
    folder = tmp_path / "daemon"
    folder.mkdir(mode=0o700)
    daemon = Daemon(run_metron, folder).start(interval=1.5, env={"METRON_EVENTS": "off"})
    try:
        started = start_waiting(run_metron, daemon, f"--job {JOB}", f'{PYTHON} -S -c "$0" 32.25', ESCAPE)
        own_leaf(known(daemon))
        [escapee] = wait_until(lambda: [each for each in members(daemon, JOB) if each["command"] == "sleep 32.25"],
                               what="the escapee in a snapshot")
        # It executes a program without the variable of the job: a daemon may find it before that, by the variable.
        assert escapee["membership"] in ("cgroup", "variable")
        send_signal(escapee["pid"], signal.SIGKILL)
        started.finish(data=b"\n")
    finally:
        daemon.end()


def test_a_run_without_a_leaf_is_a_job_all_the_same(run_metron, daemon):
    run_job(daemon, f"--cgroup off --job {JOB}", [run_metron.workload("burn"), "0.3"])
    job = daemon.call("job.status", job_id=JOB)
    assert "own_cgroup" not in job
    assert job["usage"]["cpu_source"] == "proc_cpu_seconds" and "cgroup_cpu_seconds" not in job["usage"]


# ---- runs within runs ----

def sheet_events(daemon):
    return [event["event_type"] for event in daemon.call("daemon.events", job_id=JOB, limit=1000)["events"]
            if event["event_type"].startswith("sheet.")]


def inner(runner, daemon, command):
    return f"{runner.binary} run -q --socket {daemon.socket} --fail-time 0 -p inner_ -- {command}"


def test_a_run_within_a_sheet_neither_begins_nor_ends_it(run_metron, daemon):
    started = start_waiting(run_metron, daemon, f"--job {JOB} --sheet 1", "true",
                            then=f"{inner(run_metron, daemon, 'false')}; echo after; read line")
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()
    assert started.process.stdout.readline() == b"after\n"
    [sheet] = daemon.call("job.status", job_id=JOB)["sheets"]
    assert (sheet["status"], sheet["tries"], sheet["runner"]) == ("running", 1, started.pid)
    assert sheet_events(daemon) == ["sheet.started"]
    run = started.finish(data=b"\n")
    assert run.returncode == 0 and run.stderr == b"", "what is as it should be needs no words"
    job = daemon.call("job.status", job_id=JOB)
    assert [(each["status"], each["exit_code"]) for each in (job, *job["sheets"])] == [("completed", 0)] * 2
    assert sheet_events(daemon) == ["sheet.started", "sheet.completed"]


def test_nor_does_it_where_the_daemon_answers_late(run_metron, daemon):
    within = inner(run_metron, daemon, "sh -c 'touch begun; while ! test -e over; do sleep 0.02; done'")
    started = run_metron.start(f"-q --socket {daemon.socket} --job {JOB} --sheet 1",
                               ["sh", "-c", f"read line; {within}; touch ended; read line"], stdin=subprocess.PIPE)
    wait_until(lambda: known(daemon), what="the job in the daemon")
    send_signal(daemon.pid, signal.SIGSTOP)
    try:
        started.process.stdin.write(b"\n")
        started.process.stdin.flush()
        wait_until((started.cwd / "begun").exists, what="the command of the inner one")
        time.sleep(0.6)  # no answer within 0.2 s, and nothing shows that metron waits no longer
    finally:
        send_signal(daemon.pid, signal.SIGCONT)
    (started.cwd / "over").touch()
    wait_until((started.cwd / "ended").exists, what="the end of the inner one")
    [sheet] = daemon.call("job.status", job_id=JOB)["sheets"]
    assert (sheet["status"], sheet["tries"]) == ("running", 1)
    started.finish(data=b"\n")
    assert sheet_events(daemon) == ["sheet.started", "sheet.completed"]


def test_a_later_run_of_the_same_sheet_is_another_try(run_metron, daemon):
    """Of a shell that has the names in its environment; it may be a part of the job itself."""
    daemon.call("job.start", job_id=JOB)
    script = f"{inner(run_metron, daemon, 'false')}; {run_metron.binary} run -q -p second_ -- true"
    done = subprocess.run(["sh", "-c", script], cwd=run_metron.cwd, stdin=subprocess.DEVNULL, check=False,
                          env=run_metron.environment({"METRON_JOB": JOB, "METRON_SHEET": "1",
                                                      "METRON_SOCKET": str(daemon.socket)}))
    assert done.returncode == 0
    [sheet] = daemon.call("job.status", job_id=JOB)["sheets"]
    assert (sheet["status"], sheet["tries"]) == ("completed", 2)
    assert sheet_events(daemon) == ["sheet.started", "sheet.failed", "sheet.started", "sheet.completed"]


def test_a_sheet_within_a_sheet_is_told_if_it_is_asked_for_by_name(run_metron, daemon):
    execs = [f"{run_metron.binary} job --socket {daemon.socket} exec {JOB} {number} -- true" for number in (1, 2)]
    started = start_waiting(run_metron, daemon, f"--job {JOB} --sheet 1", "true", then="; ".join(execs))
    run = started.finish(data=b"\n")
    assert f"runs within sheet 1 of job '{JOB}'".encode() in run.stderr and run.returncode == 0
    assert sheet_events(daemon) == ["sheet.started"] * 2 + ["sheet.completed"] * 2
    assert [sheet["sheet_num"] for sheet in daemon.call("job.status", job_id=JOB)["sheets"]] == [1, 2]


# ---- a session ----

def test_of_a_session_only_the_command_is_the_jobs(run_metron, daemon):
    """The run measures the whole session; the job is what the command has started."""
    others = 5
    command = f"{run_metron.binary} run -q --socket {daemon.socket} --mode current-session --job {JOB} -p session_ " \
              f"--fail-time 0 -- sh -c '{run_metron.workload('burn')} 0.2; exit 3'"
    script = "sleep 600 & " * others + f"{run_metron.workload('burn')} 600 & {command}; code=$?; kill $(jobs -p); exit $code"
    done = subprocess.run(["setsid", "-w", "sh", "-c", script], cwd=run_metron.cwd, stdin=subprocess.DEVNULL, check=False,
                          env=run_metron.environment())
    assert done.returncode == 3
    job = daemon.call("job.status", job_id=JOB)
    assert (job["status"], job["exit_code"]) == ("failed", 3)
    assert job["usage"].get("peak_processes", 1) <= 2 and job["usage"]["unique_processes"] <= 2, job
    summary = json.loads((run_metron.cwd / "session_info.json").read_bytes())["execution_summary"]
    assert summary["proc_peak_processes"] > others, "the run did measure the session"
