"""A run that was killed reports no end: its job is lost once nothing is left of it, and no sooner."""

import concurrent.futures
import json
import os
import signal
import socket
import subprocess

import pytest

from support import daemon_client as dc
from support import processes
from support.processes import wait_until

# In place of the minute: two snapshots are enough to see the difference.
SOON = {"METRON_TEST_LOST_AFTER": "0.3"}
# Root's daemon takes every process that names a job it knows: other tests use other names.
JOB = f"lost-{os.getpid()}"


class Run:
    """`metron run` of a command that stays."""

    def __init__(self, daemon, *options):
        runner = daemon.runner
        self.process = subprocess.Popen(
            [*runner.wrapper, runner.binary, "run", "--socket", daemon.socket, "--job", JOB, *options, "-p",
             str(runner.cwd / "run_"), "--", "sleep", "600"], cwd=runner.cwd, env=runner.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.daemon = daemon
        wait_until(lambda: self.command() and self.job().get("usage", {}).get("unique_processes"),
                   what="the command, and the job")
        self.pids = [self.process.pid, self.command()]

    def command(self):
        named = processes.named_descendants(self.process.pid)
        return next((pid for pid, name in named.items() if name == "sleep"), None)

    def job(self):
        return next((job for job in self.daemon.call("job.list") if job["job_id"] == JOB), {})

    def kill(self, pid):
        processes.send_signal(pid, signal.SIGKILL)
        if pid == self.process.pid:
            self.process.wait()
        wait_until(lambda: not processes.alive(pid), what="its end")


@pytest.mark.parametrize("options", [(), ("--sheet", "3")], ids=["job", "sheet"])
def test_a_run_that_was_killed_leaves_a_lost_job_once_its_command_has_exited(start_either, options):
    daemon = start_either(env=SOON, interval=0.1)
    run = Run(daemon, *options)
    assert run.job()["runner"] == run.process.pid
    assert not options or run.job()["sheets"][0]["runner"] == run.process.pid
    daemon.tops(6)
    assert run.job()["status"] == "running"
    run.kill(run.pids[0])
    daemon.tops(6)
    assert run.job()["status"] == "running", "its command runs"
    run.kill(run.pids[1])
    wait_until(lambda: run.job()["status"] == "lost", what="a lost job")
    assert all(sheet["status"] == "lost" for sheet in run.job()["sheets"])
    assert f"'{JOB}' is lost" in daemon.said()
    assert daemon.call("daemon.status")["running_jobs"] == 0
    wait_until(lambda: daemon.rows("SELECT status FROM jobs")[0]["status"] == "lost", what="its end in the history")
    refused = daemon.runner.metron(["job", "sheet", "--socket", str(daemon.socket), JOB, "4", "started"])
    assert refused.returncode == 1 and refused.message.endswith(
        f"job '{JOB}' has ended and is lost; 'metron job start {JOB}' begins it anew\n"), refused
    with daemon.client() as client:
        client.call("job.finish", job_id=JOB, outcome="failed")
        error = dc.expect_error(client, dc.NO_SUCH_JOB, "event.publish", event="sheet.started", job_id=JOB,
                                sheet_num=4, data={})
        assert error.message == f"job '{JOB}' has ended"
        error = dc.expect_error(client, dc.NO_SUCH_JOB, "event.publish", event="sheet.started", job_id="nothing",
                                sheet_num=4, data={})
        assert "there is no job 'nothing'" in error.message


def test_a_job_whose_process_was_moved_to_another_names_that(start_daemon):
    daemon = start_daemon(env=SOON, interval=0.1)
    child = subprocess.Popen(["sleep", "600"])
    daemon.call("job.start", job_id="day", pid=child.pid)
    daemon.call("job.start", job_id=JOB, pid=child.pid)
    wait_until(lambda: "'day' is lost" in daemon.said(), what="a lost job")
    assert f"job 'day' is lost: its process {child.pid} was moved to job '{JOB}'" in daemon.said()
    assert daemon.call("job.status", job_id=JOB)["status"] == "running"
    child.kill()
    child.wait()
    wait_until(lambda: f"'{JOB}' is lost" in daemon.said(), what="the other one")
    assert f"job '{JOB}' is lost: all its processes have exited" in daemon.said()


def test_a_run_that_was_killed_while_no_daemon_ran_leaves_a_lost_job(start_either):
    daemon = start_either()
    run = Run(daemon, "--sheet", "3")
    daemon.process.kill()
    daemon.process.wait()
    for pid in run.pids:
        run.kill(pid)
    daemon.start()
    daemon.top_when(what="a snapshot")  # before that it has not seen who is left
    assert run.job()["status"] == "lost"
    assert run.job()["sheets"][0]["status"] == "lost"


@pytest.mark.parametrize("options", [(), ("--sheet", "3")], ids=["job", "sheet"])
def test_a_run_reports_its_end_to_the_daemon_that_came_after(start_either, options):
    daemon = start_either(interval=0.1)
    run = Run(daemon, *options)
    daemon.process.kill()
    daemon.process.wait()
    daemon.start(interval=0.1)
    processes.send_signal(run.pids[1], signal.SIGTERM)
    run.process.wait()
    wait_until(lambda: run.job()["status"] == "failed", what="its end in the daemon")
    assert all(sheet["status"] == "failed" for sheet in run.job()["sheets"])


def answer_until(listener, last):
    """As a daemon on one connection: answers each request, and closes on the one with this method (or event). Returns
    the methods (or events) of all."""
    asked = []
    connection, _ = listener.accept()
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            request = json.loads(line)
            asked.append(request["params"].get("event", request["method"]))
            if asked[-1] == last:
                break
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {}}), file=lines, flush=True)
    return asked


def test_a_daemon_that_dies_at_the_start_of_a_sheet_has_a_successor_that_hears_of_its_end(run_metron, tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener, concurrent.futures.ThreadPoolExecutor(1) as daemons:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(60)
        first = daemons.submit(answer_until, listener, "sheet.started")
        second = daemons.submit(answer_until, listener, "job.finish")
        ended = run_metron.metron(["run", "-q", "-t", "none", "--socket", str(path), "--job", JOB, "--sheet", "3", "true"])
        assert ended.returncode == 0
        assert first.result(60) == ["job.start", "sheet.started"]
        assert second.result(60) == ["sheet.completed", "job.finish"]


def test_a_run_that_outlives_its_command_is_not_lost(start_either):
    """Stopped before it sees the end of its command, it still has to report it."""
    daemon = start_either(env=SOON, interval=0.1)
    run = Run(daemon)
    processes.send_signal(run.pids[0], signal.SIGSTOP)
    processes.send_signal(run.pids[1], signal.SIGKILL)
    daemon.tops(10)
    assert run.job()["status"] == "running"
    processes.send_signal(run.pids[0], signal.SIGCONT)
    run.process.wait()
    wait_until(lambda: run.job()["status"] == "failed", what="its end in the daemon")
