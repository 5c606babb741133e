"""metron is killed while strace starts: neither strace nor the children it forks to test ptrace are left."""

import os
import random
import signal
import subprocess
import time

import pytest

from support.daemon_client import publish
from support.kernel_events import need_program
from support.processes import alive, file_lines, named_descendants, send_signal, stat_fields, wait_until

ROUNDS = 100
# Like strace in the moment in which one of its children is there.
STAND_IN = """#!/bin/sh
sleep 600 &
echo "$$ $!" > {pids}.made
mv {pids}.made {pids}
wait
"""


@pytest.fixture
def stand_in(run_as_user):
    """The environment in which it is the strace that metron finds; its pids will be in the file `pids`."""
    folder = run_as_user.cwd / "bin"
    folder.mkdir()
    (folder / "strace").write_text(STAND_IN.format(pids=run_as_user.cwd / "pids"), encoding="utf-8")
    (folder / "strace").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def kill_with_strace(runner, metron):
    """Kills metron once strace has a child, and waits until both are gone."""
    pids = runner.cwd / "pids"
    wait_until(lambda: file_lines(pids), what="strace and its child")
    started = [int(word) for word in pids.read_text(encoding="utf-8").split()]
    assert all(alive(pid) for pid in started)
    send_signal(metron, signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in started), what="their end")


def left_over():
    return [pid for pid, name in named_descendants(os.getpid()).items() if name in ("strace", "metron") and alive(pid)]


def test_of_a_run(run_as_user, stand_in):
    run = run_as_user.start("-q --syscalls summary --events off", "sleep 600", env=stand_in)
    kill_with_strace(run_as_user, run.pid)


def test_of_a_trace(run_as_user, stand_in):
    target = subprocess.Popen([*run_as_user.wrapper, "sleep", "600"])
    wait_until(lambda: named_descendants(os.getpid()).get(target.pid) == "sleep", what="the target")
    trace = subprocess.Popen([*run_as_user.wrapper, run_as_user.binary, "trace", "-o", "trace", str(target.pid)],
                             cwd=run_as_user.cwd, env=run_as_user.environment(stand_in))
    kill_with_strace(run_as_user, trace.pid)
    assert alive(target.pid) and stat_fields(target.pid)[0] == "S"


@pytest.mark.parametrize("what", ["sheet", "trace"])
def test_of_the_daemon(start_user_daemon, stand_in, what):
    daemon = start_user_daemon(env={**stand_in, "METRON_STRACE_ENABLED": "yes"})
    runner = start_user_daemon.runner
    target = subprocess.Popen([*runner.wrapper, "sleep", "600"])
    wait_until(lambda: named_descendants(os.getpid()).get(target.pid) == "sleep", what="the target")
    with daemon.client() as client:
        if what == "trace":
            client.request("trace.start", pid=target.pid)
        else:
            client.call("job.start", job_id="killed")
            publish(client, "sheet.started", "killed", 1, pid=target.pid)
        kill_with_strace(runner, daemon.pid)
    assert alive(target.pid) and stat_fields(target.pid)[0] == "S"


def test_at_any_moment_of_the_real_strace(run_as_user):
    need_program("strace")
    for number in range(ROUNDS):
        run = run_as_user.start("-q --syscalls summary --events off", "sleep 600", prefix=f"{number}_")
        children = f"/proc/{run.pid}/task/{run.pid}/children"
        wait_until(lambda path=children: os.path.exists(path) and open(path, encoding="ascii").read(), what="strace")
        time.sleep(random.uniform(0, 0.05))  # any moment will do
        run.process.kill()
        run.finish(check=False)
    wait_until(lambda: not left_over(), what="the end of all")
