"""The daemon's files while it runs: somebody removes them, a second daemon wants them, or they are another user's."""

import contextlib
import os
import shutil
import socket
import stat

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.processes import wait_until
from support.users import ANOTHER_USER

pytestmark = pytest.mark.threads
daemon = dc.own_daemon

REMOVED = "it was removed or replaced while in use; a new one is begun"


# ---- removed ----

def remove_database(daemon):
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{daemon.database}{suffix}")


def stored_jobs(daemon):
    if not daemon.database.exists():
        return {}
    with contextlib.suppress(dc.sqlite3.OperationalError):  # no table yet
        return {row["name"]: row["status"] for row in daemon.rows("SELECT name, status FROM jobs")}
    return {}


def test_a_removed_database_is_reported_once_and_the_new_one_knows_the_jobs(daemon):
    daemon.start(interval=0.1, watch="jobs")
    for job in ("runs", "ended"):
        daemon.call("job.start", job_id=job)
    daemon.call("job.finish", job_id="ended", outcome="completed")
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])
    assert "history_remark" not in daemon.call("daemon.status")["store"]
    remove_database(daemon)
    wait_until(lambda: stored_jobs(daemon) == {"runs": "running", "ended": "completed"}, what="the jobs in a new file")
    daemon.wait_for_stored(daemon.tops(3)[-1]["timestamp"])
    assert daemon.said().count(REMOVED) == 1, daemon.said()
    assert daemon.call("daemon.status")["store"]["history_remark"] == REMOVED
    assert "history" not in daemon.call("daemon.status")["store"], "it works"
    assert daemon.stop() == 0
    assert stored_jobs(daemon) == {"runs": "running", "ended": "completed"}


def reachable(daemon):
    try:
        return daemon.call("daemon.health")
    except OSError:
        return False


@pytest.mark.parametrize("suffixes", [("",), (".lock",), ("", ".lock")], ids=["socket", "lock", "both"])
def test_a_removed_socket_is_made_anew(daemon, run_metron, suffixes):
    daemon.start(interval=0.1)
    with daemon.client() as connected:
        for suffix in suffixes:
            os.unlink(f"{daemon.socket}{suffix}")
        wait_until(lambda: connected.call("daemon.status").get("socket_remade") == 1, what="a new socket")
        assert daemon.call("daemon.health")["status"] == "ok"
    mode = daemon.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600
    assert daemon.said().count("they are made anew") == 1, daemon.said()
    second = Daemon(run_metron, daemon.folder)
    second.messages = daemon.folder / "second"
    assert second.launch().wait() == 1 and f"pid {daemon.pid} " in second.said()
    assert daemon.stop() == 0
    assert not daemon.socket.exists() and not os.path.exists(f"{daemon.socket}.lock")


def test_a_removed_folder_of_the_socket_is_made_anew(daemon):
    daemon.socket = daemon.folder / "run" / "d.sock"
    daemon.socket.parent.mkdir()
    daemon.start(interval=0.1)
    shutil.rmtree(daemon.socket.parent)
    wait_until(lambda: reachable(daemon), what="a new socket")
    assert stat.S_IMODE(daemon.socket.parent.stat().st_mode) == 0o700


def test_a_socket_that_another_process_put_in_its_place_is_left_alone(daemon):
    daemon.start(interval=0.1)
    with daemon.client() as connected, socket.socket(socket.AF_UNIX) as other:
        daemon.socket.unlink()
        while True:  # the daemon may be faster
            with contextlib.suppress(OSError):
                other.bind(str(daemon.socket))
                break
            daemon.socket.unlink()
        other.listen()
        wait_until(lambda: "clients cannot connect" in daemon.said(), what="a message")
        before = connected.call("daemon.status")
        wait_until(lambda: connected.call("daemon.status")["ticks"] >= before["ticks"] + 3, what="more ticks")
        assert daemon.said().count("clients cannot connect") == 1, daemon.said()
    daemon.socket.unlink()
    wait_until(lambda: reachable(daemon), what="its own socket")


# ---- somebody else's ----

def refused(second):
    assert second.wait() == 1, second.said()
    lines = second.said().strip().splitlines()
    assert len(lines) == 1 and str(second.database) in lines[0], lines
    return lines[0]


def test_a_second_daemon_on_the_same_database_is_refused(daemon, run_metron):
    daemon.start(interval=0.1)
    folder = run_metron.cwd / "second"
    folder.mkdir()
    second = Daemon(run_metron, folder)
    second.database = daemon.database
    assert "in use by another metron" in refused(second.launch())
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])
    assert daemon.stop() == 0
    second.messages.unlink()
    second.start()
    assert second.stop() == 0


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_database_of_another_user_is_refused(daemon, suffix):
    dc.need_another_user()
    theirs = daemon.folder / f"{daemon.database.name}{suffix}"
    theirs.touch()
    os.chown(theirs, ANOTHER_USER, ANOTHER_USER)
    assert f"{theirs}' belongs to user {ANOTHER_USER}" in refused(daemon.launch())
    assert theirs.stat().st_size == 0
