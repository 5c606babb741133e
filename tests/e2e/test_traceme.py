"""A command that calls ptrace(PTRACE_TRACEME) makes metron its tracer: nothing comes of it."""

import os
import pathlib
import signal
import subprocess

import pytest

from support.daemon_client import Daemon, need_daemon
from support.processes import send_signal, stat_fields, wait_until

CASES = {
    "raise": ["raise"],
    "trap": ["trap"],
    "threads": ["threads"],
    "exec": ["exec", "sh", "-c", "echo out; echo err >&2; echo file > made; exit 6"],
    "exec_twice": ["exec", "sh", "-c", "exec sh -c 'kill -USR1 $$; exit 7'"],
}


def alone(runner, words, folder):
    """What the same program does that no one traces: (exit code, stdout, stderr, files)."""
    folder.mkdir()
    done = subprocess.run([runner.workload("traceme"), "-n", *words], cwd=folder, capture_output=True, check=False)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout, done.stderr, contents(folder)


def contents(folder):
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir() if not path.name.startswith("run_")}


@pytest.fixture(params=["session", "no_session", "user"])
def runner(request):
    """metron run: as a sub-reaper, as none, and without privilege."""
    made = request.getfixturevalue("run_as_user" if request.param == "user" else "run_metron")
    made.follows_one = request.param != "no_session"
    made.options = "-q" if made.follows_one else "-q --mode current-session"
    return made


@pytest.mark.parametrize("name", CASES)
def test_a_command_that_has_itself_traced_does_what_it_does_alone(runner, tmp_path, name):
    run = runner(runner.options, [runner.workload("traceme"), *CASES[name]])
    assert (run.returncode, run.stdout, run.stderr, contents(runner.cwd)) == \
        alone(runner, CASES[name], tmp_path / "alone")
    assert run.summary["exit_code"] == run.returncode
    if runner.follows_one:
        assert run.info["headline"]["processes"]["value"] == 1, "no thread counts as a process"


@pytest.mark.parametrize("number, code, last", [(signal.SIGUSR1, 23, b"handled\n"), (signal.SIGTERM, 143, b"")])
def test_a_signal_from_somebody_else_reaches_it(runner, number, code, last):
    started = runner.start(runner.options, [runner.workload("traceme"), "wait"])
    send_signal(int(started.process.stdout.readline()), number)
    run = started.finish()
    assert (run.returncode, run.stdout) == (code, last)
    assert run.summary["exit_code"] == code


def test_one_that_is_stopped_stays_so_until_it_is_continued(runner):
    started = runner.start(runner.options, [runner.workload("traceme"), "wait"])
    pid = int(started.process.stdout.readline())
    send_signal(pid, signal.SIGSTOP)
    wait_until(lambda: stat_fields(pid)[0] == "T", what="a stop that is none of a tracer's")
    send_signal(pid, signal.SIGCONT)
    send_signal(pid, signal.SIGUSR1)
    assert started.finish().returncode == 23


def test_an_orphan_that_has_itself_traced_is_waited_for(run_metron):
    script = f"(sleep 0.1; exec {run_metron.workload('traceme')} exec sh -c 'sleep 0.1; echo late') & exit 3"
    run = run_metron("-q --wait tree", ["sh", "-c", script])
    assert (run.returncode, run.stdout) == (3, b"late\n")


@pytest.mark.parametrize("name", CASES)
def test_so_does_a_sheet_of_a_job(run_metron, tmp_path, name):
    need_daemon(run_metron)
    folder = tmp_path / "daemon"
    folder.mkdir(mode=0o700)
    daemon = Daemon(run_metron, folder).start(env={"METRON_EVENTS": "off"})
    job = f"traced-{os.getpid()}"
    daemon.call("job.start", job_id=job)
    line = [run_metron.binary, "job", "exec", "--socket", str(daemon.socket), job, "1", "--",
            run_metron.workload("traceme"), *CASES[name]]
    done = subprocess.run(line, cwd=run_metron.cwd, env=run_metron.environment(), capture_output=True, timeout=60,
                          check=False)
    daemon.end()
    assert (done.returncode, done.stdout, done.stderr, contents(run_metron.cwd)) == \
        alone(run_metron, CASES[name], tmp_path / "alone")
