"""Jobs over a restart: one that nothing is left of is lost, one whose process lives goes on, with all that it used."""

import os
import pathlib
import signal
import sqlite3
import subprocess

import pytest

from support import daemon_client as dc
from support import kernel_events
from support.burner import Burner, cpu_seconds, own_cpu_seconds
from support.daemon_client import RpcError
from support.processes import send_signal, wait_until


def job_of_child(daemon, name):
    child = dc.start_child(daemon.runner, "sleep", "600")
    daemon.call("job.start", job_id=name, pid=child.pid)
    daemon.top_when(lambda top: (dc.process_in(top, child.pid) or {}).get("job_id") == name, what=f"job {name}")
    return child


def kill_daemon(daemon):
    daemon.process.kill()
    daemon.process.wait()


def statuses(daemon):
    return {job["job_id"]: job["status"] for job in daemon.call("job.list")}


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
    assert "job 'gone' is lost: all its processes have exited" in daemon.said()
    wait_until(lambda: stored_status(daemon, "gone") == "lost", what="its end in the database")
    assert stored_status(daemon, "stays") == "running"
    assert daemon.call("job.finish", job_id="gone", outcome="failed")["status"] == "failed"
    with pytest.raises(RpcError):
        daemon.call("job.finish", job_id="gone", outcome="failed")
    wait_until(lambda: stored_status(daemon, "gone") == "failed", what="how it ended")
    stays.kill()
    stays.wait()
    assert daemon.stop() == 0


def capabilities_of_threads(daemon):
    return {(task / "comm").read_text(encoding="utf-8").strip(): kernel_events.capabilities(f"{daemon.pid}/task/{task.name}")
            for task in pathlib.Path(f"/proc/{daemon.pid}/task").iterdir()}


def test_threads_that_began_before_the_kernel_s_events_keep_no_capability_for_them(run_metron, start_daemon):
    """The job is there at once, and so is the thread that reads its memory."""
    kernel_events.need(run_metron)
    daemon = start_daemon()
    job_of_child(daemon, "night")
    kill_daemon(daemon)
    daemon.start()
    wait_until(lambda: "peak_pss_mb" in daemon.call("job.status", job_id="night")["usage"], what="a thread for PSS")
    whole = kernel_events.capabilities(os.getpid())
    wait_until(lambda: kernel_events.capabilities(daemon.pid) != whole, what="a daemon that has opened all")
    threads = capabilities_of_threads(daemon)
    assert {"metron-writer", "metron-pss"} <= threads.keys(), threads
    dropped = kernel_events.capabilities(daemon.pid)
    assert {name: f"{held & ~dropped:x}" for name, held in threads.items() if name.startswith("metron-")} \
        == dict.fromkeys((name for name in threads if name.startswith("metron-")), "0")


def test_a_sheet_that_has_ended_stays_so_though_a_process_of_its_job_names_it(start_either):
    daemon = start_either()
    child = subprocess.Popen(
        [*daemon.runner.wrapper, "sleep", "600"], stdin=subprocess.DEVNULL,
        env=daemon.runner.environment({"METRON_JOB": "names", "METRON_SHEET": "1"}))
    daemon.top_when(lambda top: (dc.process_in(top, child.pid) or {}).get("command") == "sleep 600", what="the process")
    daemon.call("job.start", job_id="names", pid=child.pid)
    for event in ("sheet.started", "sheet.completed"):
        daemon.call("event.publish", event=event, job_id="names", sheet_num=1, data={})
    before = daemon.call("job.status", job_id="names")["sheets"]
    kill_daemon(daemon)
    daemon.start()
    daemon.top_when(lambda top: (dc.process_in(top, child.pid) or {}).get("job_id") == "names", what="the process")
    [sheet] = daemon.call("job.status", job_id="names")["sheets"]
    assert (sheet["status"], sheet["tries"], sheet["ended"]) == ("completed", 1, before[0]["ended"])
    child.kill()
    child.wait()
    assert daemon.stop() == 0


def stored_status(daemon, name):
    return daemon.rows("SELECT status FROM jobs WHERE name = ?", name)[0]["status"]


def test_a_job_whose_stored_calls_are_damaged_goes_on_and_so_do_the_jobs_after_it(start_daemon):
    daemon = start_daemon()
    for name in "abc":
        daemon.call("job.start", job_id=name)
    assert daemon.stop() == 0
    with sqlite3.connect(daemon.database) as database:
        changed = database.execute("""UPDATE jobs SET hotspots = '{"read":[-1,0.5]}' WHERE name = 'b'""").rowcount
    database.close()
    assert changed == 1
    daemon.start()
    daemon.top_when(what="a snapshot")
    assert statuses(daemon) == {"a": "running", "b": "running", "c": "running"}, daemon.said()
    assert daemon.stop() == 0


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


# ---- what was used while no daemon watched ----

@pytest.fixture
def burner(start_either):
    made = Burner(start_either.runner)
    yield made
    made.end()


def begin_job(daemon, burner, sheet=False):
    """A job of the burner, and what it used before."""
    begin = cpu_seconds(burner.pid)
    daemon.call("job.start", job_id="cpu", pid=burner.pid)
    if sheet:
        with daemon.client() as client:
            dc.publish(client, "sheet.started", "cpu", 1, pid=burner.pid)
    return begin


def store(daemon, *pids):
    """Until the store has the job as it is now: a job whose numbers alone change is written now and then."""
    daemon.top_when(lambda top: all((dc.process_in(top, pid) or {}).get("job_id") == "cpu" for pid in pids),
                    what="the job's processes")
    used = daemon.call("job.status", job_id="cpu")["usage"]["cpu_seconds"]
    wait_until(lambda: daemon.rows(f"SELECT 1 FROM jobs WHERE cpu_seconds >= {used - 1e-6}"),
               what="its usage in the database")


def orphan_of(daemon, burner, seconds):
    """One that was a member before it became an orphan: without kernel events nobody would know."""
    orphan = burner.ask(f"grandchild {seconds}")
    daemon.top_when(lambda top: (dc.process_in(top, orphan) or {}).get("job_id") == "cpu", what="the grandchild")
    burner.ask("leave")
    store(daemon, burner.pid, orphan)
    return orphan


def after_restart(daemon, burner):
    """The job's usage, once a snapshot has all that the idle burner has used."""
    daemon.start()
    daemon.top_when(lambda top: (dc.process_in(top, burner.pid) or {}).get("job_id") == "cpu", what="its process")
    return daemon.call("job.status", job_id="cpu")


# The kernel counts children in ticks of 10 ms; a process that waits for orders uses a little itself.
NEAR = {"abs": 0.05}


def test_cpu_that_a_job_used_while_no_daemon_watched_is_counted(start_either, burner):
    daemon = start_either()
    begin = begin_job(daemon, burner, sheet=True)
    burner.ask("burn 0.2")
    store(daemon, burner.pid)
    for _ in range(2):
        burner.ask("burn 0.2")  # maybe stored, maybe not
        kill_daemon(daemon)
        burner.ask("burn 0.3")
        job = after_restart(daemon, burner)
        truth = cpu_seconds(burner.pid) - begin
        assert job["usage"]["cpu_seconds"] == pytest.approx(truth, **NEAR)
        assert job["sheets"][0]["usage"]["cpu_seconds"] == pytest.approx(truth, **NEAR)
        if dc.hears_of_all(daemon):
            assert "cpu_is_exact" not in job["usage"], "nobody has exited"
            assert "cpu_is_exact" not in job["sheets"][0]["usage"]
    assert daemon.stop() == 0
    burner.ask("burn 0.3")
    assert after_restart(daemon, burner)["usage"]["cpu_seconds"] == pytest.approx(
        cpu_seconds(burner.pid) - begin, **NEAR), "a daemon that was stopped is no other"


def test_cpu_of_a_job_that_is_killed_right_after_its_start_is_counted(start_either, burner):
    daemon = start_either(interval=5)
    begin = begin_job(daemon, burner, sheet=True)
    kill_daemon(daemon)
    burner.ask("burn 0.5")
    job = after_restart(daemon, burner)
    truth = cpu_seconds(burner.pid) - begin
    assert job["usage"]["cpu_seconds"] == pytest.approx(truth, **NEAR)
    assert job["sheets"][0]["usage"]["cpu_seconds"] == pytest.approx(truth, **NEAR)


def test_cpu_of_children_that_exited_meanwhile_is_counted_once_and_marked(start_either, burner):
    daemon = start_either()
    begin = begin_job(daemon, burner)
    child = burner.ask("start 0.3")
    store(daemon, burner.pid, child)
    kill_daemon(daemon)
    burner.ask("child 0.4")  # born and waited for while nobody watched
    burner.ask("kill")       # the one that the store knows
    usage = after_restart(daemon, burner)["usage"]
    assert usage["cpu_seconds"] == pytest.approx(cpu_seconds(burner.pid) - begin, **NEAR)
    assert usage["cpu_is_exact"] is False
    assert stored_status(daemon, "cpu") == "running"
    wait_until(lambda: daemon.rows("SELECT cpu_is_low FROM jobs")[0]["cpu_is_low"], what="the mark in the database")


def test_children_born_meanwhile_and_orphans_go_on_with_all_they_used(start_either, burner):
    daemon = start_either()
    begin = begin_job(daemon, burner)
    orphan = orphan_of(daemon, burner, 0.2)
    kill_daemon(daemon)
    child = burner.ask("start 0.4")
    job = after_restart(daemon, burner)
    top = daemon.top_when(lambda top: dc.process_in(top, child), what="the child")
    assert {dc.process_in(top, pid).get("job_id") for pid in (orphan, child)} == {"cpu"}
    truth = cpu_seconds(burner.pid) - begin + own_cpu_seconds(orphan) + own_cpu_seconds(child)
    assert job["usage"]["cpu_seconds"] == pytest.approx(truth, **NEAR)
    for pid in (orphan, child):
        send_signal(pid, signal.SIGKILL)


def test_a_member_that_left_nobody_its_cpu_makes_it_a_lower_bound(start_either, burner):
    daemon = start_either()
    begin = begin_job(daemon, burner)
    orphan = orphan_of(daemon, burner, 0.3)
    known = daemon.rows("SELECT cpu_seconds FROM jobs")[0]["cpu_seconds"]
    kill_daemon(daemon)
    burner.ask("burn 0.2")
    send_signal(orphan, signal.SIGKILL)
    usage = after_restart(daemon, burner)["usage"]
    assert usage["cpu_is_exact"] is False
    assert known + 0.15 < usage["cpu_seconds"] <= cpu_seconds(burner.pid) - begin + 0.3 + 0.05


def test_a_job_that_is_finished_at_once_after_a_restart_has_all_that_it_used(start_either, burner):
    daemon = start_either()
    begin = begin_job(daemon, burner)
    store(daemon, burner.pid)
    kill_daemon(daemon)
    burner.ask("burn 0.5")
    daemon.launch(interval=3600)  # its first snapshot never comes
    wait_until(lambda: dc.answers(daemon), what="an answer")
    usage = daemon.call("job.finish", job_id="cpu", outcome="completed")["usage"]
    assert usage["cpu_seconds"] == pytest.approx(cpu_seconds(burner.pid) - begin, **NEAR)
