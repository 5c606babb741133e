"""Jobs over a restart: one that nothing is left of is lost, one whose process lives goes on."""

import subprocess

import pytest

from support import daemon_client as dc
from support.daemon_client import RpcError
from support.processes import wait_until


def job_of_child(daemon, name):
    child = dc.start_child(daemon.runner, "sleep", "600")
    daemon.call("job.start", job_id=name, pid=child.pid)
    daemon.top_when(lambda top: (dc.process_in(top, child.pid) or {}).get("job_id") == name, what=f"job {name}")
    return child


def kill_daemon(daemon):
    daemon.process.kill()
    daemon.process.wait()


def statuses(daemon):
    return {job["job_id"]: job["status"] for job in daemon.call("job.list")["jobs"]}


def test_a_job_whose_process_is_gone_after_a_restart_is_lost_and_others_go_on(start_either):
    daemon = start_either()
    gone, stays = job_of_child(daemon, "gone"), job_of_child(daemon, "stays")
    daemon.call("event.publish", event="sheet.started", job_id="gone", sheet_num=1, data={"pid": gone.pid})
    daemon.call("job.start", job_id="no process", total_sheets=3)
    top = daemon.top_when(lambda top: top["running_jobs"] == 3 and top["active_sheets"] == 1, what="three jobs")
    daemon.wait_for_stored(top["timestamp"])
    kill_daemon(daemon)
    last = daemon.rows("SELECT max(timestamp) AS last FROM snapshots")[0]["last"]
    gone.kill()
    gone.wait()
    daemon.start()
    daemon.top_when(what="a snapshot")
    assert statuses(daemon) == {"gone": "lost", "stays": "running", "no process": "running"}
    lost = daemon.call("job.status", job_id="gone")
    assert lost["ended"] == pytest.approx(last, abs=0.01), "when the daemon was last heard of"
    assert lost["sheets"][0]["status"] == "lost"
    assert "gone" in daemon.said() and "how it ended is not known" in daemon.said()
    wait_until(lambda: stored_status(daemon, "gone") == "lost", what="its end in the database")
    assert stored_status(daemon, "stays") == "running"
    assert daemon.call("job.finish", job_id="gone", outcome="failed")["status"] == "failed"
    with pytest.raises(RpcError):
        daemon.call("job.finish", job_id="gone", outcome="failed")
    wait_until(lambda: stored_status(daemon, "gone") == "failed", what="how it ended")
    stays.kill()
    stays.wait()
    assert daemon.stop() == 0


def stored_status(daemon, name):
    return daemon.rows("SELECT status FROM jobs WHERE name = ?", name)[0]["status"]


def test_a_process_that_inherited_the_name_keeps_the_job_though_the_announced_one_is_gone(start_either):
    daemon = start_either()
    announced = job_of_child(daemon, "kept")
    heir = subprocess.Popen(
        [*daemon.runner.wrapper, "sleep", "600"], env=daemon.runner.environment({"METRON_JOB": "kept"}),
        stdin=subprocess.DEVNULL)
    daemon.top_when(lambda top: (dc.process_in(top, heir.pid) or {}).get("job_id") == "kept", what="the heir")
    kill_daemon(daemon)
    announced.kill()
    announced.wait()
    daemon.start()
    daemon.top_when(lambda top: (dc.process_in(top, heir.pid) or {}).get("job_id") == "kept", what="the heir")
    assert statuses(daemon) == {"kept": "running"}
    heir.kill()
    heir.wait()
