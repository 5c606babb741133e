"""The daemon's files while it runs: somebody removes them, a second daemon wants them, or they are another user's."""

import contextlib
import os

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.processes import wait_until
from support.users import ANOTHER_USER

pytestmark = pytest.mark.threads

REMOVED = "it was removed or replaced while in use; a new one is begun"


@pytest.fixture
def daemon(run_metron):
    dc.need_daemon(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made
    made.end()


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
