"""A disk that does not answer: the writer's thread stands still, sampling goes on, and once it is back the store has
every event, as far as there was room for them; the others are counted. And a kernel that does not."""

import signal
import subprocess

import pytest

from support import daemon_client as dc
from support.processes import wait_until
from support.stopped_thread import has_ended, seize, stopped, thread_named

FAST = {"METRON_TEST_INTERVAL": "0.01", "METRON_EVENTS": "off"}
WRITER = "metron-writer"


def store(daemon):
    return daemon.call("daemon.status")["store"]


def until_it_drops(daemon):
    wait_until(lambda: store(daemon)["snapshots_dropped"] > 20, what="a full queue")


def live_and_die(daemon, job):
    """A process of the job that is seen, and then gone. Its pid."""
    child = dc.start_child(daemon.runner, "sleep", "600")
    daemon.call("job.start", job_id=job, pid=child.pid)
    daemon.top_when(lambda top: dc.process_in(top, child.pid), what="the job's process")
    child.send_signal(signal.SIGKILL)
    child.wait()
    daemon.top_when(lambda top: not dc.process_in(top, child.pid), what="its end")
    return child.pid


def stored_ends(daemon, pid):
    return daemon.rows("SELECT job_id FROM process_events WHERE pid = ? AND event_type = 'exit'", pid)


@pytest.mark.plain  # the thread that is stopped may hold a lock of the sanitizer's heap
def test_what_happened_while_the_disk_was_stuck_is_stored_once_it_is_back(start_either):
    daemon = start_either(watch="jobs", log_file="off", env=FAST)
    with stopped(daemon.pid, WRITER):
        until_it_drops(daemon)
        pids = {job: live_and_die(daemon, job) for job in ("one", "two")}
        told = [event.get("pid") for event in daemon.call("daemon.events", limit=200)["events"]
                if event["event_type"] == "exit" and event.get("job_id")]
        assert not any(stored_ends(daemon, pid) for pid in pids.values()), "the writer stands still: else this is no test"
        dropped = store(daemon)["snapshots_dropped"]
        wait_until(lambda: store(daemon)["snapshots_dropped"] > dropped + 20, what="more that are dropped")
        again = [event.get("pid") for event in daemon.call("daemon.events", limit=200)["events"]
                 if event["event_type"] == "exit" and event.get("job_id")]
    for job, pid in pids.items():
        wait_until(lambda pid=pid: stored_ends(daemon, pid), what=f"the end of {pid} in the database")
        assert [row["job_id"] for row in stored_ends(daemon, pid)] == [job], "once, with its job"
    assert sorted(told) == sorted(again) == sorted(pids.values()), "carried over, and not told again"
    assert store(daemon)["events_dropped"] == 0
    assert daemon.stop() == 0


@pytest.mark.plain  # the thread that is stopped may hold a lock of the sanitizer's heap
def test_what_there_is_no_room_for_is_counted_the_oldest_first(start_either):
    """Long command lines, so that few of them are enough, and ten at once, so that they soon are."""
    daemon = start_either(watch="jobs", log_file="off", env=FAST)
    shell = subprocess.Popen([*daemon.runner.wrapper, "sh", "-c", "echo ready; read go; long=$(printf %03900d 0); while :; "
                              "do for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'sleep 0.03; exit 0' $i $long & done; wait; "
                              "done"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert shell.stdout.readline() == b"ready\n", "it is the user's by now"
    daemon.call("job.start", job_id="noisy", pid=shell.pid)
    with stopped(daemon.pid, WRITER):
        until_it_drops(daemon)
        first = live_and_die(daemon, "first")
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        wait_until(lambda: store(daemon)["events_dropped"] > 0, 600, "more events than there is room for")
        shell.kill()
        shell.wait()
        last = live_and_die(daemon, "last")
    wait_until(lambda: stored_ends(daemon, last), what="the newest in the database")
    assert not stored_ends(daemon, first), "the oldest was dropped"
    text = daemon.runner.metron(["daemon", "status", "--socket", str(daemon.socket)]).stdout.decode()
    assert "events" in text and "dropped" in text, text
    assert daemon.stop() == 0


def catch_thread(daemon, name):
    """Stops a thread that is there for moments only; its number."""
    def look():
        try:
            tid = thread_named(daemon.pid, name)
            seize(tid)
        except (AssertionError, OSError):
            return None  # not there, or not any more
        return tid
    return wait_until(look, 60, f"a thread {name} that is at work")


def test_a_daemon_ends_though_the_memory_of_a_process_cannot_be_read(start_daemon):
    """The kernel may keep a reader of smaps_rollup waiting for as long as somebody holds the process's memory."""
    # The search for leaks would trace the thread that is traced here.
    daemon = start_daemon(log_file="off", env={"ASAN_OPTIONS": "detect_leaks=0"})
    crowd = subprocess.Popen([daemon.runner.workload("manyprocs"), "400", "600"], stdout=subprocess.PIPE)
    assert crowd.stdout.readline() == b"ready\n"
    daemon.call("job.start", job_id="many", pid=crowd.pid)
    tid = catch_thread(daemon, "metron-pss")
    assert daemon.call("daemon.top")["timestamp"] > 0
    daemon.process.send_signal(signal.SIGTERM)
    # Whoever traces a thread is told of its end before the parent of the process is.
    wait_until(lambda: has_ended(tid) and daemon.process.poll() is not None, what="its end")
    assert daemon.process.returncode == 0, daemon.said()
    crowd.kill()
    crowd.wait()
