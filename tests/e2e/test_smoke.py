"""Every command once, doing its ordinary work on real input: what `make check` runs before each commit."""

import re
import signal
import subprocess
import sys

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.kernel_events import need_program
from support.processes import wait_until
from support.records import strict_json


@pytest.fixture(scope="module")
def recorded(programs, tmp_path_factory):
    """A folder with two runs, `a_` and `b_`, recorded by this metron."""
    folder = tmp_path_factory.mktemp("recorded")
    for prefix in ("a_", "b_"):
        subprocess.run([programs / "metron", "run", "-q", "-p", prefix, "--", "sh", "-c", "echo out; echo err >&2"],
                       cwd=folder, stdin=subprocess.DEVNULL, check=True, capture_output=True)
    return folder


@pytest.fixture
def sleeping():
    """A process that sleeps until the test is over."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def daemon(run_metron):
    dc.need_daemon(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made.start()
    made.end()


def output_of(runner, *line):
    done = runner.metron([str(word) for word in line], timeout=120)
    assert done.returncode == 0, done
    return done.stdout.decode()


def test_run(run_metron):
    run = run_metron("", ["sh", "-c", "echo out; exit 3"])
    assert run.returncode == 3 and run.stdout == b"out\n"
    assert run.summary["exit_code"] == 3


def test_attach(run_metron, sleeping):
    run = run_metron.attach("--duration 0.2", sleeping.pid).finish(timeout=120)
    assert run.returncode == 0 and str(sleeping.pid) in run.usage[0]["measurements"]["proc_rss"]


def test_ls(run_metron, recorded):
    runs = strict_json(output_of(run_metron, "ls", "--json", recorded).encode())
    assert sorted(run["prefix"] for run in runs) == [str(recorded / "a_"), str(recorded / "b_")]


def test_report(run_metron, recorded):
    assert "exited with code 0" in output_of(run_metron, "report", recorded / "a_")


def test_plot(run_metron, recorded):
    assert output_of(run_metron, "plot", recorded / "a_").strip()
    if (run_metron.programs / "metron-plot").exists():
        output_of(run_metron, "plot", "-o", run_metron.cwd / "a.png", recorded / "a_")
        assert (run_metron.cwd / "a.png").read_bytes().startswith(b"\x89PNG")


def test_diff(run_metron, recorded):
    assert "wall" in output_of(run_metron, "diff", recorded / "a_", recorded / "b_")


def test_suggest(run_metron, recorded):
    assert "memory" in output_of(run_metron, "suggest", recorded)


def test_pp(run_metron, recorded):
    assert "execution_summary" in output_of(run_metron, "pp", recorded / "a_info.json")


def test_export(run_metron, recorded):
    assert output_of(run_metron, "export", "--format", "csv", recorded / "a_").startswith("elapsed")


def test_rm(run_metron):
    output_of(run_metron, "run", "-q", "-p", "gone_", "true")
    assert "gone_" in output_of(run_metron, "rm", "--yes", "gone_")
    assert not list(run_metron.cwd.glob("gone_*"))


def test_gc(run_metron, recorded):
    output_of(run_metron, "gc", "--older-than", "30d", recorded)
    assert (recorded / "a_info.json").exists()


def test_trace(run_metron):
    need_program("strace")
    target = subprocess.Popen([sys.executable, "-c", "import os, time\nwhile True: os.getppid(), time.sleep(0.01)"])
    shown = run_metron.cwd / "shown"
    with open(shown, "wb") as stdout:
        tracer = subprocess.Popen([run_metron.binary, "trace", str(target.pid)], cwd=run_metron.cwd, stdout=stdout,
                                  env=run_metron.environment())
    wait_until(lambda: b"getppid" in shown.read_bytes(), what="a system call")
    tracer.send_signal(signal.SIGINT)
    assert tracer.wait(60) == 0 and target.poll() is None


def test_measurements(run_metron):
    assert "proc_rss_total" in output_of(run_metron, "measurements")


def test_doctor(run_metron):
    assert strict_json(output_of(run_metron, "doctor", "--json").encode())


def test_daemon(run_metron, daemon):
    assert str(daemon.pid) in output_of(run_metron, "daemon", "status", "--socket", daemon.socket)


def test_job(run_metron, daemon):
    output_of(run_metron, "job", "start", "smoke", "--socket", daemon.socket)
    assert "smoke" in output_of(run_metron, "job", "list", "--socket", daemon.socket)


def test_events(run_metron, daemon, sleeping):
    daemon.call("job.start", job_id="smoke", pid=sleeping.pid)
    daemon.top_when(lambda snapshot: dc.process_in(snapshot, sleeping.pid), what="the job's process")
    sleeping.kill()
    sleeping.wait()  # without kernel events one ends when it is reaped
    wait_until(lambda: "exit" in output_of(run_metron, "events", "--job", "smoke", "--socket", daemon.socket),
               what="the exit of the job's process")


def test_every_command_is_tried_here(run_metron):
    listed = re.search(r"^Commands:\n(.*?)\n\n", output_of(run_metron, "--help"), re.M | re.S)[1]
    assert [line.split()[0] for line in listed.splitlines() if f"test_{line.split()[0]}" not in globals()] == []
