"""The history on the socket: snapshots of a span of time, and one process along them."""

import subprocess

import pytest

from support import daemon_client as dc
from support.built import unit_program
from support.daemon_client import expect_error, job_shell

pytestmark = pytest.mark.threads


def pages(client, method, name, **params):
    """All of them, however many answers that takes; how many each had."""
    found, counts = [], []
    while params.get("since") is not None:
        answer = client.call(method, **params)
        found += answer[name]
        counts.append(len(answer[name]))
        params["since"] = answer.get("next_since")
    return found, counts


def test_snapshots_come_back_in_pages_as_they_were(either):
    told = either.stored_tops(5)
    begin, end = told[0]["timestamp"], told[-1]["timestamp"]
    with either.client() as client:
        found, counts = pages(client, "daemon.snapshots", "snapshots", since=begin, until=end, limit=3)
    assert all(count == 3 for count in counts[:-1]) and 1 <= counts[-1] <= 3
    times = [snapshot["timestamp"] for snapshot in found]
    assert times == sorted(set(times)) and begin in times and end not in times
    by_time = {snapshot["timestamp"]: dc.check_snapshot(snapshot) for snapshot in found}
    for snapshot in told[:-1]:
        stored = by_time[snapshot["timestamp"]]
        for name in ("pid", "start_ticks", "command", "rss_mb"):
            assert [one.get(name) for one in stored["processes"]] == [one.get(name) for one in snapshot["processes"]]
        assert stored["system_memory_used_mb"] == pytest.approx(snapshot["system_memory_used_mb"], abs=0.01)


def test_snapshots_of_a_job_have_its_processes_alone(either):
    shell = job_shell(either, "spanned")
    told = either.top_when(lambda snapshot: any(one["pid"] == shell.pid for one in snapshot["processes"]))
    either.wait_for_stored(told["timestamp"])
    (found,) = either.call("daemon.snapshots", since=told["timestamp"], limit=1, job_id="spanned")["snapshots"]
    assert found["processes"] and {one["job_id"] for one in found["processes"]} == {"spanned"}


def test_a_page_ends_after_so_many_rows_were_read(start_daemon):
    """Snapshots of a job that has no processes make a small answer, however many others they had."""
    subprocess.run([unit_program("history_writer"), "processes=2000", "ticks=150", "busy=0", "waking=0",
                    start_daemon.runner.cwd / "monitor.db"], check=True, stdout=subprocess.DEVNULL, timeout=600)
    daemon = start_daemon(watch="jobs")
    with daemon.client() as client:
        found, counts = pages(client, "daemon.snapshots", "snapshots", since=1700000000, until=1700001000, limit=10000,
                              job_id="nobody")
        assert len(found) == 150 and len({snapshot["timestamp"] for snapshot in found}) == 150
        assert not any(snapshot["processes"] for snapshot in found)
        assert counts == [50, 50, 50]


def test_a_process_is_in_each_snapshot_of_its_life(either):
    shell = job_shell(either, "followed")
    told = [snapshot for snapshot in either.stored_tops(6)
            if any(one["pid"] == shell.pid for one in snapshot["processes"])]
    (start,) = {one["start_ticks"] for one in told[0]["processes"] if one["pid"] == shell.pid}
    with either.client() as client:
        ask = {"pid": shell.pid, "since": told[0]["timestamp"], "until": told[-1]["timestamp"] + 0.001}
        found, counts = pages(client, "process.history", "samples", limit=2, **ask)
        assert client.call("process.history", start_ticks=start + 1, **ask) == {"samples": []}
    assert len(counts) >= 2 and {one["pid"] for one in found} == {shell.pid}
    assert {one["start_ticks"] for one in found} == {start}
    times = [one["timestamp"] for one in found]
    assert times == sorted(set(times)) and set(times) >= {snapshot["timestamp"] for snapshot in told}


def test_a_span_that_cannot_be_is_refused(either):
    with either.client() as client:
        expect_error(client, dc.BAD_PARAMS, "daemon.snapshots", since="yesterday")
        expect_error(client, dc.BAD_PARAMS, "daemon.snapshots", limit=0)
        expect_error(client, dc.BAD_PARAMS, "process.history")
        expect_error(client, dc.BAD_PARAMS, "process.history", pid=-3)
        assert client.call("daemon.snapshots", since=5, until=4) == {"snapshots": []}
