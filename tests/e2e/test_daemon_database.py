"""The daemon's database as another program reads it, held against what the socket told."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess

import pytest

from support import daemon_client as dc
from support.daemon_client import job_shell, of_pid, publish, start_child, types_of
from support.processes import wait_until
from support.run import takes

pytestmark = pytest.mark.threads
own_daemon = dc.own_daemon

OLDER_HISTORY = pathlib.Path(__file__).parents[1] / "fixtures" / "history-5.sql"


def test_every_named_column_can_be_selected_while_the_daemon_writes(either):
    either.wait_for_stored(either.top_when()["timestamp"])
    with either.read_database() as database:
        assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert database.execute("PRAGMA user_version").fetchone()[0] > 0
        for table, columns in (("snapshots", dc.SNAPSHOT_COLUMNS), ("process_metrics", dc.PROCESS_COLUMNS),
                               ("process_events", dc.EVENT_COLUMNS)):
            database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY id DESC LIMIT 5").fetchall()
        for table in ("snapshots_1m", "process_metrics_1m"):
            database.execute(f"SELECT * FROM {table} LIMIT 5").fetchall()
        assert database.execute("PRAGMA quick_check").fetchone()[0] == "ok"


def close_to(stored, told, tolerance):
    """NULL is absence, and only absence."""
    if told is None or stored is None:
        return stored is None and told is None
    return abs(stored - told) <= tolerance


def test_stored_snapshots_are_those_that_were_told(either):
    for snapshot in either.stored_tops(4):
        row = either.stored(snapshot["timestamp"])
        assert row["child_count"] == len(snapshot["processes"])
        for name in ("daemon_pid", "zombie_count", "running_jobs", "active_sheets"):
            assert row[name] == snapshot[name], name
        for name in ("system_memory_total_mb", "system_memory_available_mb", "system_memory_used_mb", "daemon_rss_mb",
                     "load_avg_1", "load_avg_5", "load_avg_15"):
            assert close_to(row[name], snapshot[name], 0.01), name
        assert row["pressure_level"] == snapshot.get("pressure_level")
        gpus = snapshot.get("gpus", [])
        assert (row["gpu_count"] or 0) == len(gpus)
        for column, name in (("gpu_utilization_pct", "utilization_pct"), ("gpu_memory_used_mb", "memory_used_mb"),
                             ("gpu_temperature", "temperature_c")):
            stored = [] if row[column] is None else json.loads(row[column])
            assert isinstance(stored, list) and len(stored) in (0, len(gpus))
            assert not stored or stored == pytest.approx([gpu[name] for gpu in gpus], abs=0.1)


def test_stored_processes_are_those_that_were_told(either):
    """Every process of a snapshot, every column; what was absent is NULL, never 0."""
    shell = job_shell(either, "kept")
    with either.client() as client:
        publish(client, "sheet.started", "kept", 4, pid=shell.pid)
    burner = shell.start(f"{either.runner.workload('burn')} 600")
    start_child(either.runner, "sleep", "600")
    told = either.stored_tops(5)
    for snapshot in told:
        rows = either.rows(f"SELECT {', '.join(dc.PROCESS_COLUMNS)} FROM process_metrics WHERE snapshot_id = ?",
                           either.stored(snapshot["timestamp"])["id"])
        by_pid = {row["pid"]: row for row in rows}
        assert len(by_pid) == len(rows)
        assert set(by_pid) == {process["pid"] for process in snapshot["processes"]}
        for process in snapshot["processes"]:
            row = by_pid[process["pid"]]
            for name in ("ppid", "command", "state", "threads", "open_fds", "job_id", "sheet_num"):
                assert row[name] == process.get(name), (name, row, process)
            for name, tolerance in (("cpu_percent", 0.1), ("rss_mb", 0.01), ("vms_mb", 0.01), ("age_seconds", 0.05)):
                assert close_to(row[name], process.get(name), tolerance), (name, row, process)
            for name in ("syscall_counts", "syscall_time_pct"):
                assert (json.loads(row[name]) if row[name] is not None else None) == process.get(name), name
    row = by_pid[burner]
    assert (row["job_id"], row["sheet_num"]) == ("kept", 4)
    assert by_pid[either.pid]["job_id"] is None and by_pid[either.pid]["sheet_num"] is None


def test_stored_events_are_those_that_were_told(either_jobs):
    shell = job_shell(either_jobs, "history")
    pids = dc.seen_and_gone(either_jobs, shell, 3)
    events = either_jobs.events_when(lambda events: all("exit" in types_of(events, pid) for pid in pids), what="exits")
    statement = f"SELECT {', '.join(dc.EVENT_COLUMNS)} FROM process_events WHERE pid = ? ORDER BY id"
    for pid in pids:
        told = of_pid(events, pid)
        rows = wait_until(lambda pid=pid, told=told: (found := either_jobs.rows(statement, pid)) and
                          len(found) >= len(told) and found, what="the events in the database")
        assert len(rows) == len(told)
        for row, event in zip(rows, told):
            assert row["event_type"] == event["event_type"]
            assert dc.unix_seconds(row["timestamp"]) == pytest.approx(dc.unix_seconds(event["timestamp"]), abs=0.001)
            for name in ("exit_code", "signal_num", "job_id", "sheet_num"):
                assert row[name] == event.get(name), (name, row, event)


def test_a_command_line_is_stored_once(either):
    """Twenty processes with one command line, over several snapshots; looked for in every column of every table.
    (The one with which they became another user is another one.)"""
    marker = f"600.{os.getpid():08d}77"
    for _ in range(20):
        start_child(either.runner, "sleep", marker)
    either.stored_tops(5)
    shown = either.rows("SELECT count(*) AS n FROM process_metrics WHERE command = ?", f"sleep {marker}")[0]["n"]
    assert shown >= 60, "each row shows it"
    places, wrapper = {}, " ".join(either.runner.wrapper) or "none"
    with either.read_database() as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for column in [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]:
                count = database.execute(f'SELECT count(*) FROM "{table}" WHERE instr(CAST("{column}" AS TEXT), ?1)'
                                         f' AND NOT instr(CAST("{column}" AS TEXT), ?2)',
                                         (marker, wrapper)).fetchone()[0]
                if count:
                    places[f"{table}.{column}"] = count
    assert sum(places.values()) == 1, places


def test_a_reader_that_holds_a_transaction_does_not_stop_the_daemon(daemon):
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    with daemon.read_database() as database:
        database.execute("BEGIN")
        count = database.execute("SELECT count(*) FROM snapshots").fetchone()[0]
        last = daemon.tops(4)[-1]
        daemon.wait_for_stored(last["timestamp"])
        assert database.execute("SELECT count(*) FROM snapshots").fetchone()[0] == count, "its own view stands"


def test_sigterm_ends_the_upgrade_of_an_older_history(own_daemon, notified):
    """The daemon is held at its first notification, since nobody reads those before: only then is it sent SIGTERM."""
    path, listener = notified
    with contextlib.closing(sqlite3.connect(own_daemon.database)) as older:
        older.executescript(OLDER_HISTORY.read_text(encoding="utf-8"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, pytest.raises(BlockingIOError):
        while True:
            other.sendto(b"", socket.MSG_DONTWAIT, str(path))
    own_daemon.launch(env={"NOTIFY_SOCKET": str(path)})
    wait_until(lambda: takes(own_daemon.pid, signal.SIGTERM), what="the upgrade")
    own_daemon.process.send_signal(signal.SIGTERM)
    while not (notification := listener.recv(4096)):
        pass
    assert b"EXTEND_TIMEOUT_USEC=" in notification
    assert own_daemon.wait() == 0 and "the next start tries again" in own_daemon.said()
    assert b"READY" not in listener.recv(4096)
    with contextlib.closing(sqlite3.connect(own_daemon.database)) as older:
        assert older.execute("PRAGMA user_version").fetchone()[0] == 5
    own_daemon.start()
    assert own_daemon.rows("PRAGMA user_version")[0]["user_version"] > 5
    assert own_daemon.stop() == 0


def test_the_daemon_refuses_a_history_of_a_newer_version(own_daemon):
    with contextlib.closing(sqlite3.connect(own_daemon.database)) as newer:
        newer.executescript(OLDER_HISTORY.read_text(encoding="utf-8") + "PRAGMA user_version = 99;")
    before = own_daemon.database.read_bytes()
    own_daemon.launch()
    assert own_daemon.wait() == 1
    assert "was written by a newer metron" in own_daemon.said() and "choose another path" in own_daemon.said()
    assert own_daemon.database.read_bytes() == before


@pytest.mark.once
def test_the_database_and_its_log_stay_within_the_cap_under_a_load_of_events(start_daemon):
    """While a write is under way, the pages that it changes come on top (docs/daemon.md)."""
    cap, slack = dc.MIB, 2 * dc.MIB
    daemon = start_daemon(interval=0.1, watch="jobs", database_cap=cap / dc.MIB, log_file="off")
    # Without kernel events, only those are seen that live at the time of a snapshot.
    many = daemon.runner.workload("manyprocs")
    load = subprocess.Popen(["sh", "-c", f"while :; do {many} 60 0.15 >/dev/null; done"])
    daemon.call("job.start", job_id="load", pid=load.pid)
    files = [daemon.database, pathlib.Path(f"{daemon.database}-wal")]
    sizes = []

    def has_forgotten_the_oldest():
        sizes.append(sum(file.stat().st_size for file in files))
        assert sizes[-1] <= cap + slack, sizes
        return daemon.rows("SELECT min(id) AS first FROM events")[0]["first"] not in (None, 1)
    wait_until(has_forgotten_the_oldest, timeout=120, what="a full database")
    end = daemon.call("daemon.status")["ticks"] + 50
    wait_until(lambda: has_forgotten_the_oldest() and daemon.call("daemon.status")["ticks"] >= end, what="50 snapshots")
    assert max(sizes) > cap / 2
    wait_until(lambda: sum(file.stat().st_size for file in files) <= cap, what="a size within the cap between two writes")
    load.kill()
    load.wait()
