"""Whose a job is: with a socket that a group may use, its members announce jobs, and none changes another's."""

import grp
import os
import pathlib
import subprocess
import tempfile

import pytest

from support import daemon_client as dc
from support.daemon_client import NOT_PERMITTED, Client, expect_error, publish
from support.processes import wait_until
from support.users import ANOTHER_USER, STRANGER

pytestmark = pytest.mark.threads
JOB = f"owned-{os.getpid()}"


def as_user(uid, *command):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *command]


@pytest.fixture
def group():
    dc.need_another_user()
    return next(entry for entry in grp.getgrall() if entry.gr_gid != 0)


def start(daemon, group):
    """The group may talk to it."""
    daemon.gid = group.gr_gid
    return daemon.start(env={"METRON_SOCKET_GROUP": group.gr_name}, watch="jobs")


@pytest.fixture
def daemon_of_root(run_metron, group):
    dc.need_daemon(run_metron)
    with tempfile.TemporaryDirectory(prefix="metron-owner-") as folder:
        os.chmod(folder, 0o711)
        made = dc.Daemon(run_metron, folder)
        yield start(made, group)
        made.end()


@pytest.fixture
def daemon_of_a_user(run_as_user, group):
    dc.need_daemon(run_as_user)
    run_as_user.wrapper[run_as_user.wrapper.index("--clear-groups")] = f"--groups={group.gr_gid}"
    for folder in run_as_user.cwd, run_as_user.cwd.parent:
        folder.chmod(0o711)
    made = dc.Daemon(run_as_user, run_as_user.cwd, ANOTHER_USER)
    yield start(made, group)
    made.end()


@pytest.fixture(params=["root", "a_user"])
def daemon(request):
    return request.getfixturevalue(f"daemon_of_{request.param}")


def member(daemon, uid):
    """A connection of a user in the group."""
    return Client(daemon.socket, uid=uid, gid=daemon.gid)


@pytest.fixture
def process_of():
    """process_of(uid) -> the pid of one that waits."""
    made = []

    def start(uid):
        made.append(subprocess.Popen(as_user(uid, "sleep", "600")))
        pid = made[-1].pid
        wait_until(lambda: os.stat(f"/proc/{pid}").st_uid == uid, what="the other user")
        return pid
    yield start
    for process in made:
        process.kill()
        process.wait()


def test_only_who_began_a_job_may_change_it(daemon):
    # The daemon's own user is none of these two.
    third = STRANGER + 1
    with member(daemon, STRANGER) as owner, member(daemon, third) as other:
        owner.call("job.start", job_id=JOB, total_sheets=3)
        publish(owner, "sheet.started", JOB, 1)
        before = owner.call("job.status", job_id=JOB)
        for method, params in [
                ("job.start", {}), ("job.finish", {"outcome": "failed"}),
                ("job.finish", {"outcome": "completed", "usage": {"proc_cpu_seconds": 5}}),
                *[("event.publish", {"event": f"sheet.{word}", "sheet_num": 1,
                                     "data": {"usage": {"proc_cpu_seconds": 5}}})
                  for word in ("started", "completed", "failed", "retrying")],
                ("event.publish", {"event": "sheet.started", "sheet_num": 2}),
                ("event.publish", {"event": "progress"})]:
            error = expect_error(other, NOT_PERMITTED, method, job_id=JOB, **params)
            assert error.message == f"job '{JOB}' belongs to user {STRANGER}, and you are user {third}"
            assert "another name" in error.data["hint"]
        after = other.call("job.status", job_id=JOB)
        for changing in ("wall_seconds", "usage"):
            for part in (before, after, *before["sheets"], *after["sheets"]):
                part.pop(changing, None)
        assert after == before, "all may see it"
        publish(owner, "sheet.completed", JOB, 1)
        owner.call("job.finish", job_id=JOB, outcome="completed")
        expect_error(other, NOT_PERMITTED, "job.start", job_id=JOB)
        owner.call("job.start", job_id=JOB)
    with Client(daemon.socket) as root:
        root.call("job.finish", job_id=JOB, outcome="cancelled")


def test_the_owner_is_known_after_a_restart(daemon):
    with member(daemon, STRANGER) as owner:
        owner.call("job.start", job_id=JOB)
    assert daemon.stop() == 0
    start(daemon, grp.getgrgid(daemon.gid))
    with member(daemon, STRANGER + 1) as other:
        expect_error(other, NOT_PERMITTED, "job.finish", job_id=JOB, outcome="failed")
    with member(daemon, STRANGER) as owner:
        assert owner.call("job.finish", job_id=JOB, outcome="completed")["status"] == "completed"


def test_a_process_of_another_user_is_not_announced(daemon_of_root, process_of):
    """Else its figures, and all that descends from it, were those of a job that it has nothing to do with."""
    daemon = daemon_of_root
    mine, foreign = process_of(ANOTHER_USER), process_of(STRANGER)
    with member(daemon, ANOTHER_USER) as client:
        for own_cgroup in (False, True):
            for pid in (foreign, os.getpid(), 1):
                error = expect_error(client, NOT_PERMITTED, "job.start", job_id=JOB, pid=pid, own_cgroup=own_cgroup)
                assert error.message == f"process {pid} is another user's"
        assert client.call("job.list") == []
        client.call("job.start", job_id=JOB, pid=mine)
        expect_error(client, NOT_PERMITTED, "event.publish", event="sheet.started", job_id=JOB, sheet_num=1,
                     data={"pid": foreign, "own_cgroup": True})
        assert client.call("job.status", job_id=JOB)["sheets"] == []
        assert "hint" in publish(client, "sheet.started", JOB, 1, pid=4_000_000)["data"], "nobody is not somebody else's"
        daemon.top_when(lambda snapshot: [each["pid"] for each in snapshot["processes"]] == [mine], what="the one process")
        client.call("job.finish", job_id=JOB, outcome="completed")
    with Client(daemon.socket) as root:
        root.call("job.start", job_id=JOB + "-root", pid=foreign)
        root.call("job.finish", job_id=JOB + "-root", outcome="completed")


def test_a_process_that_has_become_another_user_is_still_announced(daemon_of_root, run_as_user, asroot):
    """As the command of `metron run --job J -- sudo COMMAND` is, by the time that the daemon hears of it."""
    daemon = daemon_of_root
    shell = dc.Shell(run_as_user)
    became = shell.start(f"exec 3<&0; {asroot} <&3")
    status = pathlib.Path(f"/proc/{became}/status")
    wait_until(lambda: "\nUid:\t0\t0\t0\t0\n" in status.read_text(encoding="utf-8"), what="root")
    with member(daemon, ANOTHER_USER) as client:
        assert client.call("job.start", job_id=JOB, pid=became)["pid"] == became
        client.call("job.finish", job_id=JOB, outcome="completed")
    shell.end()
