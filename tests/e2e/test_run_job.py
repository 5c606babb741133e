"""metron run --job: the daemon is told of the run, where there is one."""

import os
import signal
import time

import pytest

from support.daemon_client import Daemon, profile_value
from support.processes import wait_until


@pytest.fixture
def daemon(run_metron, tmp_path):
    if run_metron.metron(["daemon", "--help"]).returncode != 0:
        pytest.skip("this build has no daemon")
    folder = tmp_path / "daemon"
    folder.mkdir(mode=0o700)
    started = Daemon(run_metron, folder).start()
    # What a process uses between its last sample and its end is told by the kernel alone, once our programs are there.
    wait_until(lambda: started.call("daemon.status")["processes_seen_by"] == "bpf"
               or "why_no_kernel_events" in started.call("daemon.status"), what="kernel events, or why not")
    started.tells_all = started.call("daemon.status")["processes_seen_by"] == "bpf"
    yield started
    started.end()


def run_job(runner, daemon, args, command, **how):
    return runner(f"-q --socket {daemon.socket} {args}", command, **how)


def seconds_of(daemon, seconds):
    """With kernel events to the millisecond, else what the last sample had seen of it."""
    return pytest.approx(seconds, abs=0.01 if daemon.tells_all else 0.25)


def test_a_run_is_a_job_from_its_start_to_its_end(run_metron, daemon):
    run = run_job(run_metron, daemon, "--job night", [run_metron.workload("burn"), "0.6"])
    assert run.returncode == 0
    profile = daemon.call("job.profile", job_id="night")
    assert profile["status"] == "completed"
    assert profile_value(profile, "cpu_seconds") == seconds_of(daemon, 0.6)
    assert profile["sheets"] == []


def test_a_run_that_fails_is_a_job_that_failed(run_metron, daemon):
    assert run_job(run_metron, daemon, "--job night", ["sh", "-c", "sleep 0.3; exit 3"]).returncode == 3
    assert daemon.call("job.status", job_id="night")["status"] == "failed"


def test_a_sheet_belongs_to_the_job_that_runs_already(run_metron, daemon):
    daemon.call("job.start", job_id="long")
    run_job(run_metron, daemon, "--job long --sheet 2", [run_metron.workload("burn"), "0.6"])
    job = daemon.call("job.status", job_id="long")
    assert job["status"] == "running", "whoever began it ends it"
    [sheet] = job["sheets"]
    assert (sheet["sheet_num"], sheet["status"]) == (2, "completed")
    assert sheet["usage"]["cpu_seconds"] == seconds_of(daemon, 0.6)


def test_without_a_daemon_everything_is_as_it_was(run_metron, tmp_path):
    run = run_metron(f"--socket {tmp_path / 'none.sock'} --job night", ["true"])
    assert run.returncode == 0
    assert b"daemon" not in run.stderr
    assert run.info["job"] == "night"


def test_a_daemon_that_does_not_answer_holds_up_nobody_for_long(run_metron, daemon):
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        before = time.monotonic()
        run = run_metron(f"--socket {daemon.socket} --job night", ["true"])
        assert run.returncode == 0
        assert time.monotonic() - before < 1.5
        assert b"the daemon is not told of this run" in run.stderr
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


def test_its_processes_are_the_jobs_while_it_runs(run_metron, daemon):
    started = run_metron.start(f"-q --socket {daemon.socket} --job night --sheet 1", ["sh", "-c", "sleep 30 & wait"])
    try:
        def of_job():
            told = daemon.call("daemon.top")["processes"]
            return [each for each in told if each.get("job_id") == "night" and each.get("sheet_num") == 1]
        found = wait_until(lambda: len(of_job()) == 2 and of_job(), what="the shell and the sleeper")
        assert started.pid not in {each["pid"] for each in found}, "metron is no part of it"
        assert {each["membership"] for each in found} <= {"events", "descent", "variable"}
    finally:
        os.kill(started.pid, signal.SIGTERM)
        started.finish()
