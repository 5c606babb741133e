"""What the daemon has acknowledged survives kill -9; where it may not, the answer says so."""

import contextlib
import itertools
import sqlite3

import pytest

from support import daemon_client as dc
from support.processes import wait_until

pytestmark = pytest.mark.threads


def kill_daemon(daemon):
    daemon.process.kill()
    daemon.process.wait()


def stored(daemon):
    """{job: (status, {sheet: status})} as the database has them."""
    jobs = {row["name"]: (row["status"], {}) for row in daemon.rows("SELECT name, status FROM jobs ORDER BY id")}
    for row in daemon.rows("SELECT j.name, s.number, s.status FROM sheets AS s JOIN jobs AS j ON j.id = s.job"):
        jobs[row["name"]][1][row["number"]] = row["status"]
    return jobs


@pytest.fixture
def daemon(start_either):
    return dc.without_snapshots(start_either)


def test_an_acknowledged_job_survives_kill_9(daemon):
    with daemon.client() as client:
        for number in range(20):
            assert "durable" not in client.call("job.start", job_id=f"job {number}", total_sheets=3)
        for number in range(0, 20, 2):
            assert "durable" not in client.call("job.finish", job_id=f"job {number}", outcome="completed")
    kill_daemon(daemon)
    expected = {f"job {number}": ("running" if number % 2 else "completed", {}) for number in range(20)}
    assert stored(daemon) == expected
    daemon.start()
    running = {job["job_id"]: job["status"] for job in daemon.call("job.list")}
    assert running == {f"job {number}": "running" for number in range(1, 20, 2)}
    assert daemon.call("job.profile", job_id="job 0")["status"] == "completed"
    assert daemon.stop() == 0


def test_an_acknowledged_sheet_survives_kill_9(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="sheets")
        for number, event in ((1, "completed"), (2, "failed"), (3, "retrying"), (4, None)):
            assert "durable" not in dc.publish(client, "sheet.started", "sheets", number)
            if event:
                assert "durable" not in dc.publish(client, f"sheet.{event}", "sheets", number)
    kill_daemon(daemon)
    assert stored(daemon) == {"sheets": ("running", {1: "completed", 2: "failed", 3: "retrying", 4: "running"})}


def test_a_name_that_is_used_again_and_again_is_stored_each_time(daemon):
    with daemon.client() as client:
        for number in range(10):
            client.call("job.start", job_id="again", config_hash=str(number))
            client.call("job.finish", job_id="again", outcome="failed" if number == 9 else "completed")
    kill_daemon(daemon)
    rows = daemon.rows("SELECT config_hash, status FROM jobs WHERE name = 'again' ORDER BY id")
    assert [(row["config_hash"], row["status"]) for row in rows] == [
        (str(number), "failed" if number == 9 else "completed") for number in range(10)]


def test_many_requests_at_once_are_all_answered_and_stored(daemon):
    names = [f"many {number}" for number in range(300)]
    with daemon.client() as client:
        answers = client.call_many("job.start", [{"job_id": name} for name in names])
    assert [answer["job_id"] for answer in answers] == names
    assert not any("durable" in answer for answer in answers)
    kill_daemon(daemon)
    assert set(names) <= set(stored(daemon))


@pytest.mark.once
@pytest.mark.parametrize("start_either", ["caller"], indirect=True)
def test_jobs_that_are_stored_make_room_for_others_before_the_next_snapshot(daemon):
    count, batch = 4400, 200  # more than it holds that have ended
    with daemon.client() as client:
        for first in range(0, count, batch):
            names = ["again" if number % 2 else f"job {number}" for number in range(first, first + batch)]
            requests = [(method, {"job_id": name, **params}) for name in names
                        for method, params in (("job.start", {}), ("job.finish", {"outcome": "completed"}))]
            for number in [client.request(method, **params) for method, params in requests]:
                client.answer(number)  # on a slow disk not durable, as it says; but no job is refused
    wait_until(lambda: daemon.rows("SELECT count(*) AS ended FROM jobs WHERE status = 'completed'")[0]["ended"] == count,
               what="every job in the history")


def test_without_a_history_the_answer_says_that_nothing_is_durable(start_either):
    daemon = start_either(database="off")
    with daemon.client() as client:
        assert client.call("job.start", job_id="a")["durable"] is False
        assert dc.publish(client, "sheet.started", "a", 1)["durable"] is False
        assert client.call("job.finish", job_id="a", outcome="completed")["durable"] is False
        assert "durable" not in client.call("job.status", job_id="a"), "it acknowledges nothing"
        assert "durable" not in client.call("event.publish", event="mine", job_id="a", data={})
    assert daemon.stop() == 0


def test_a_locked_database_holds_up_no_command(daemon):
    """A client that runs a command does not wait for the disk: it is answered before one that asked earlier."""
    with contextlib.closing(sqlite3.connect(daemon.database, timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with daemon.client() as client:
            waits = client.request("job.start", job_id="waits")
            asked = [client.request("job.start", job_id="night", wait=False),
                     client.request("event.publish", event="sheet.started", job_id="night", sheet_num=1, data={}, wait=False),
                     client.request("job.finish", job_id="night", outcome="completed", wait=False)]
            answers = [client.receive() for _ in (*asked, waits)]
        assert [answer["id"] for answer in answers] == [*asked, waits]
        assert all(answer["result"]["durable"] is False for answer in answers)
        other.execute("ROLLBACK")
    wait_until(lambda: daemon.rows("SELECT 1 FROM jobs WHERE name = 'night' AND status = 'completed'"),
               what="the job on disk")


def test_while_the_database_is_locked_the_answer_comes_and_says_that_it_is_not_durable(daemon):
    with contextlib.closing(sqlite3.connect(daemon.database, timeout=60, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with daemon.client() as client:
            assert client.call("job.start", job_id="late")["durable"] is False
            assert client.call("daemon.health")["status"] == "ok"
        other.execute("ROLLBACK")
    # What could not be stored at once is stored with the next change, before that is acknowledged.
    numbers = itertools.count()
    wait_until(lambda: "durable" not in daemon.call("job.start", job_id=f"next {next(numbers)}"),
               what="a durable answer")
    kill_daemon(daemon)
    assert stored(daemon)["late"] == ("running", {})


# ---- events ----

def events_of(daemon, job):
    return [(row["event_type"], row["sheet_num"]) for row in daemon.rows(
        "SELECT event_type, sheet_num FROM process_events WHERE job_id = ? ORDER BY id", job)]


def test_what_happened_to_an_acknowledged_job_survives_with_it(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="events")
        dc.publish(client, "sheet.started", "events", 1)
        dc.publish(client, "sheet.completed", "events", 1)
        assert "durable" not in client.call("job.finish", job_id="events", outcome="completed")
    kill_daemon(daemon)
    expected = [("job.started", None), ("sheet.started", 1), ("sheet.completed", 1), ("job.finished", None)]
    assert events_of(daemon, "events") == expected
    daemon.start()
    assert [event["event_type"] for event in daemon.call("daemon.events", job_id="events")["events"]] == [
        name for name, _ in expected]
    assert daemon.stop() == 0
    assert events_of(daemon, "events") == expected, "each of them once"


def test_events_of_jobs_fill_the_history_with_no_snapshots(start_user_daemon):
    """A client may publish as much and as often as it likes. What happens to processes does make snapshots due: of this
    user there are none."""
    dc.need_another_user()
    daemon = dc.without_snapshots(start_user_daemon)
    count, padding = 3000, "x" * 4000
    ticks = daemon.call("daemon.status")["ticks"]
    with daemon.client() as client:
        client.call("job.start", job_id="flood")
        for _ in range(count // 20):
            client.call_many("event.publish", [
                {"event": "sheet.retrying", "job_id": "flood", "sheet_num": 1, "wait": False,
                 "data": {"pad": padding}} for _ in range(20)])
        dc.publish(client, "sheet.failed", "flood", 1)
    status = daemon.call("daemon.status")
    assert status["ticks"] == ticks and status["events_lost"] == 0
    assert events_of(daemon, "flood") == [("job.started", None), *[("sheet.retrying", 1)] * count, ("sheet.failed", 1)]
    assert daemon.stop() == 0
