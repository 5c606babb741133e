"""The daemon's first moments: signals as soon as clients can connect, a disk that is full from the start."""

import contextlib
import copy
import shutil
import signal

import pytest

from support import daemon_client as dc
from support.processes import wait_until

pytestmark = pytest.mark.threads
daemon = dc.own_daemon


# ---- signals ----

def signalled_at_listen(daemon, number):
    """Sends itself the signal with listen(2): nobody can be faster."""
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    daemon.runner = copy.copy(daemon.runner)
    daemon.runner.wrapper = ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=listen", "-e",
                             f"inject=listen:signal={number.name}"]
    return daemon


@pytest.mark.plain  # the leak check cannot run under strace
def test_sighup_at_listen_does_not_end_it(daemon):
    signalled_at_listen(daemon, signal.SIGHUP).start()
    assert daemon.stop() == 0


@pytest.mark.plain
def test_sigterm_at_listen_ends_it_in_order(daemon):
    signalled_at_listen(daemon, signal.SIGTERM).launch()
    assert daemon.wait() == 0, daemon.said()
    assert "ending" in daemon.said() and not daemon.socket.exists()


# ---- a full disk ----

def fill(disk):
    with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return disk / "filler"


def starts_and_recovers(daemon, filler):
    """Started on a full disk, it samples and says once why nothing is stored; with space it stores."""
    daemon.start(interval=0.1, watch="jobs", log_file="off")
    wait_until(lambda: "sampling goes on" in daemon.said(), what="a message")
    assert "disk is full" in daemon.call("daemon.status")["store"]["history"]
    ticks = daemon.call("daemon.status")["ticks"]
    wait_until(lambda: daemon.call("daemon.status")["ticks"] >= ticks + 3, what="more ticks")
    assert daemon.said().count("sampling goes on") == 1, daemon.said()
    filler.unlink()
    wait_until(lambda: "works again" in daemon.said(), what="its recovery")
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])
    assert "history" not in daemon.call("daemon.status")["store"]


def test_it_starts_on_a_full_disk_and_recovers(daemon, full_disk):
    disk = full_disk(4 << 20)
    daemon.database = disk / "monitor.db"
    starts_and_recovers(daemon, fill(disk))
    assert daemon.stop() == 0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_jobs_of_before_go_on_once_a_full_disk_has_space(daemon, full_disk, end):
    disk = full_disk(4 << 20)
    daemon.database = disk / "monitor.db"
    daemon.start(interval=0.1, watch="jobs", log_file="off")
    shell = dc.job_shell(daemon, "goes-on")
    gone = dc.job_shell(daemon, "is-lost")
    daemon.call("job.start", job_id="announced")
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])
    daemon.stop(end)
    last = daemon.rows("SELECT max(timestamp) AS last FROM snapshots")[0]["last"]
    gone.end()
    filler = fill(disk)
    daemon.messages.unlink()
    starts_and_recovers(daemon, filler)
    wait_until(lambda: len(daemon.call("job.list")) >= 2, what="the jobs of before")
    assert daemon.call("job.status", job_id="goes-on")["status"] == "running"
    assert daemon.call("job.status", job_id="announced")["status"] == "running"
    lost = daemon.call("job.status", job_id="is-lost")
    assert lost["status"] == "lost" and lost["ended"] == pytest.approx(last, abs=0.01)
    pid = shell.start("sleep 600")
    daemon.top_when(lambda snapshot: (dc.process_in(snapshot, pid) or {}).get("job_id") == "goes-on",
                    what="a new process of the job")
    assert daemon.stop() == 0
