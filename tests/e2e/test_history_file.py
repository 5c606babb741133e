"""The daemon's history, read by Python's own SQLite while and after a program writes it (tests/unit/history_writer.c).
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import time

import pytest

from support.built import unit_program

SNAPSHOT_COLUMNS = """id timestamp daemon_pid system_memory_total_mb system_memory_available_mb system_memory_used_mb
    daemon_rss_mb child_count zombie_count load_avg_1 load_avg_5 load_avg_15 gpu_count gpu_utilization_pct
    gpu_memory_used_mb gpu_temperature pressure_level running_jobs active_sheets""".split()
PROCESS_COLUMNS = """id snapshot_id pid ppid command state cpu_percent rss_mb vms_mb threads open_fds age_seconds job_id
    sheet_num syscall_counts syscall_time_pct""".split()
EVENT_COLUMNS = "id timestamp pid event_type exit_code signal_num job_id sheet_num details".split()


def find_writer():
    return unit_program("history_writer")


def start(path, *, before=(), **options):
    words = [f"{name}={value}" for name, value in options.items()]
    return subprocess.Popen([*before, find_writer(), *words, path], stdout=subprocess.PIPE, text=True)


def rest_of(process):
    """What it prints after the lines that were read; communicate() loses those that came together with them."""
    output = process.stdout.read()
    process.wait()
    return output


def write(path, *, status=0, before=(), **options):
    """Its lines: errors as text, snapshots as (id, what it printed about it)."""
    process = start(path, before=before, **options)
    output = process.communicate(timeout=120)[0]
    assert process.returncode == status, output
    lines = output.splitlines()
    told = [line.split(" ", 1) for line in lines if line[0].isdigit()]
    return [(int(number), rest) for number, rest in told], [line for line in lines if not line[0].isdigit()]


def connect(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
    connection.row_factory = sqlite3.Row
    return connection


def columns(connection, table):
    return [row["name"] for row in connection.execute(f"PRAGMA table_info({table})")]


def is_sound(path):
    connection = connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    return connection


def check_process(row, told, snapshot_id):
    assert row["snapshot_id"] == snapshot_id
    for name in ("pid", "ppid", "command", "state", "threads", "open_fds", "job_id", "sheet_num"):
        assert row[name] == told.get(name), name
    for name in ("cpu_percent", "rss_mb", "vms_mb", "age_seconds"):
        assert row[name] == pytest.approx(told[name], abs=0.051), name
    for name in ("syscall_counts", "syscall_time_pct"):
        assert (json.loads(row[name]) if row[name] is not None else None) == told.get(name), name


def test_views_give_what_was_measured_under_the_names_of_the_format(tmp_path):
    path = tmp_path / "new" / "folder" / "monitor.db"
    told, errors = write(path, processes=60, ticks=40, churn=2, jobs=3, calls=1, events=3, json=1)
    assert len(told) == 40 and not errors
    connection = is_sound(path)
    assert columns(connection, "snapshots")[:len(SNAPSHOT_COLUMNS)] == SNAPSHOT_COLUMNS
    assert columns(connection, "process_metrics")[:len(PROCESS_COLUMNS)] == PROCESS_COLUMNS
    assert {"read_bytes", "write_bytes"} <= set(columns(connection, "process_metrics")[len(PROCESS_COLUMNS):])
    assert columns(connection, "process_events") == EVENT_COLUMNS
    for number, text in told:
        snapshot = json.loads(text)
        row = connection.execute("SELECT * FROM snapshots WHERE id = ?", (number,)).fetchone()
        for name in set(SNAPSHOT_COLUMNS) & set(snapshot):
            assert row[name] == pytest.approx(snapshot[name], abs=0.001), name
        assert row["child_count"] == len(snapshot["processes"])
        assert row["gpu_count"] is None and row["pressure_level"] is None
        rows = connection.execute("SELECT * FROM process_metrics WHERE snapshot_id = ? ORDER BY pid", (number,)).fetchall()
        assert len(rows) == len(snapshot["processes"])
        for process, one in zip(snapshot["processes"], rows):
            check_process(one, process, number)
    ids = [row[0] for row in connection.execute("SELECT id FROM process_metrics")]
    assert len(ids) == len(set(ids)) == 40 * 60
    assert connection.execute("SELECT count(DISTINCT text) = count(*) FROM commands").fetchone()[0] == 1
    event = connection.execute("SELECT * FROM process_events ORDER BY id LIMIT 1 OFFSET 1").fetchone()
    assert (event["event_type"], event["pid"], event["exit_code"], event["job_id"]) == ("exit", 5001, 3, None)
    assert json.loads(event["details"]) == {"ppid": 1, "seen": "event", "command": "/bin/true",
                                            "start_time": "2026-11-15T07:42:53.000000+00:00"}


def test_file_and_folders_are_private(tmp_path):
    path = tmp_path / "a" / "b" / "monitor.db"
    process = start(path, processes=3, ticks=1000000, pause_ms=5)
    assert process.stdout.readline()
    modes = {name: (path.parent / name).stat().st_mode & 0o777
             for name in ("monitor.db", "monitor.db-wal", "monitor.db-shm")}
    process.kill()
    process.communicate()
    assert set(modes.values()) == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_one_minute_mean_is_weighted_and_max_is_the_largest(tmp_path):
    path = tmp_path / "monitor.db"
    write(path, processes=30, ticks=100, churn=1, maintain=5, start=1700000000)
    connection = is_sound(path)
    minutes = connection.execute("SELECT * FROM snapshots_1m ORDER BY id").fetchall()
    assert len(minutes) == 8
    for minute in minutes:
        begin = minute["timestamp"]
        # All intervals but the very first are alike, and the first snapshot stands for none.
        rows = connection.execute(
            "SELECT p.*, s.timestamp FROM process_metrics p JOIN snapshots s ON s.id = snapshot_id"
            " WHERE timestamp >= ? AND timestamp < ?", (begin, begin + 60)).fetchall()
        by_pid = {}
        for row in rows:
            by_pid.setdefault(row["pid"], []).append(row)
        made = connection.execute("SELECT * FROM process_metrics_1m WHERE snapshot_id = ?", (minute["id"],)).fetchall()
        assert {row["pid"] for row in made} == set(by_pid) and len(made) == len(by_pid)
        for row in made:
            for name in ("cpu_percent", "rss_mb", "vms_mb", "threads", "open_fds"):
                values = [one[name] for one in by_pid[row["pid"]] if one["timestamp"] != 1700000005] or \
                         [one[name] for one in by_pid[row["pid"]]]
                assert row[name] == pytest.approx(sum(values) / len(values)), name
                assert row[name + "_max"] == max(one[name] for one in by_pid[row["pid"]]), name
        loads = [row[0] for row in connection.execute(
            "SELECT load_avg_5 FROM snapshots WHERE timestamp >= ? AND timestamp < ?", (begin, begin + 60))]
        assert minute["num_samples"] == len(loads) and minute["load_avg_5_max"] == max(loads)


def test_minutes_from_before_a_kill_are_made_after_it(tmp_path):
    path = tmp_path / "monitor.db"
    process = start(path, processes=5, ticks=30, pause_ms=1)
    while process.stdout.readline():
        pass
    process.wait()
    write(path, processes=5, ticks=1, start=1700001000, maintain=5)
    connection = is_sound(path)
    assert [row["timestamp"] for row in connection.execute("SELECT timestamp FROM snapshots_1m ORDER BY id")] == [
        1699999980, 1700000040, 1700000100]
    assert connection.execute("SELECT sum(num_samples) FROM snapshots_1m").fetchone()[0] == 30


def check_whole(path, printed):
    connection = is_sound(path)
    found = dict(connection.execute("SELECT id, child_count FROM snapshots").fetchall())
    rows = dict(connection.execute("SELECT snapshot_id, count(*) FROM process_metrics GROUP BY 1").fetchall())
    for number, count in printed:
        assert found[number] == count and rows[number] == count, number
    assert found == rows
    connection.close()


def kill_at_random(process, chance, started):
    """The snapshots it told of. `started`: not before the first; else perhaps while it opens the file."""
    first = process.stdout.readline() if started else ""
    time.sleep(chance.random() * 0.05)  # any moment will do
    process.send_signal(signal.SIGKILL)
    lines = (first + rest_of(process)).splitlines(keepends=True)
    assert not [line for line in lines if not line[0].isdigit()], lines
    return [tuple(map(int, line.split())) for line in lines if line.endswith("\n")]


def test_every_snapshot_that_was_told_survives_a_kill_at_any_moment(tmp_path):
    path = tmp_path / "monitor.db"
    chance = random.Random(6)
    printed = []
    for round_number in range(20):
        process = start(path, processes=25, ticks=1000000, churn=1, interval=0.1, events=1, jobs=1,
                        start=1700000000 + round_number * 1000)
        printed += kill_at_random(process, chance, round_number % 2)
    ids = [number for number, _ in printed]
    assert ids == sorted(set(ids)) and len(ids) >= 10
    check_whole(path, printed)


def test_a_kill_while_old_rows_are_forgotten_leaves_whole_snapshots(tmp_path):
    path = tmp_path / "monitor.db"
    chance = random.Random(7)
    for round_number in range(10):
        process = start(path, processes=40, ticks=1000000, churn=1, events=1, jobs=1, maintain=1, interval=1,
                        start=1700000000 + round_number * 1000, hours=0.05)
        printed = kill_at_random(process, chance, True)
        check_whole(path, printed[-60:])  # what is older may be gone


def test_full_disk_is_told_and_the_next_write_works_when_there_is_room(tmp_path):
    path = tmp_path / "monitor.db"
    told, errors = write(path, processes=200, ticks=400, random=1, busy=0.5, file_limit=1 << 20)
    assert told and errors
    assert all(line.startswith("error -28 ") and "make room" in line for line in errors), errors[0]
    check_whole(path, [(number, int(count)) for number, count in told])
    more, errors = write(path, processes=200, ticks=5, start=1700100000)
    assert not errors and [number for number, _ in more] == list(range(told[-1][0] + 1, told[-1][0] + 6))
    check_whole(path, [(number, int(count)) for number, count in told + more])


def test_writer_goes_on_after_another_program_let_go_of_its_lock(tmp_path):
    path = tmp_path / "monitor.db"
    ticks = 150
    process = start(path, processes=20, ticks=ticks, pause_ms=20, busy_ms=10)
    first = process.stdout.readline()
    holder = sqlite3.connect(path, timeout=60, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    lines = [first]
    while not lines[-1].startswith("error"):
        lines.append(process.stdout.readline())
        assert lines[-1], "it ended without an error"
    holder.execute("COMMIT")
    lines = [*lines, *rest_of(process).splitlines()]
    errors = [line for line in lines if line.startswith("error")]
    told = [tuple(map(int, line.split())) for line in lines if line[0].isdigit()]
    assert errors and all(line.startswith("error -16 ") and "locked" in line for line in errors), errors
    assert [number for number, _ in told] == list(range(1, len(told) + 1)) and len(told) + len(errors) == ticks
    check_whole(path, told)


def test_opening_a_locked_file_fails_with_a_clear_line(tmp_path):
    path = tmp_path / "monitor.db"
    write(path, ticks=1)
    holder = sqlite3.connect(path, timeout=60, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    _, errors = write(path, status=1, ticks=1, busy_ms=50)
    assert len(errors) == 1 and errors[0].startswith("error -16 ") and str(path) in errors[0]


def test_what_another_program_wrote_meanwhile_is_noticed(tmp_path):
    """Another program adds snapshots like the last one; the ids go on from there."""
    path = tmp_path / "monitor.db"
    process = start(path, processes=20, ticks=60, pause_ms=10, busy_ms=2000)
    process.stdout.readline()
    other = sqlite3.connect(path, timeout=60, isolation_level=None)
    columns = [row[1] for row in other.execute("PRAGMA table_info(ticks)") if row[1] != "id"]
    for _ in range(20):
        other.execute(f"INSERT INTO ticks(id, {', '.join(columns)}) SELECT id + 1, {', '.join(columns)} FROM ticks"
                      " ORDER BY id DESC LIMIT 1")
        time.sleep(0.01)  # any moment will do
    lines = rest_of(process).splitlines()
    assert not [line for line in lines if not line[0].isdigit()], lines
    told = [(1, 20)] + [tuple(map(int, line.split())) for line in lines]
    assert len({number for number, _ in told}) == 60
    assert other.execute("SELECT count(*) FROM ticks").fetchone()[0] == 80
    other.close()
    check_whole(path, told)


def test_a_second_writer_is_refused(tmp_path):
    path = tmp_path / "monitor.db"
    process = start(path, processes=20, ticks=1000000, pause_ms=10)
    process.stdout.readline()
    _, errors = write(path, status=1, ticks=1, busy_ms=50)
    assert len(errors) == 1 and errors[0].startswith("error -16 ") and "another metron" in errors[0]
    process.kill()
    process.communicate()


@pytest.mark.parametrize("damage", ["text", "middle", "start", "truncated"])
def test_damaged_file_is_set_aside_and_a_new_one_begun(tmp_path, damage):
    path = tmp_path / "monitor.db"
    write(path, processes=300, ticks=200, random=1)
    whole = bytearray(path.read_bytes())
    if damage == "text":
        whole = bytearray(b"this is no database\n" * 100)
    elif damage == "truncated":
        del whole[len(whole) // 2 + 100:]
    else:
        at = 100 if damage == "start" else len(whole) // 3
        whole[at:at + 20000] = random.Random(1).randbytes(20000)
    path.write_bytes(whole)
    told, lines = write(path, processes=10, ticks=3)
    assert len(lines) == 1 and lines[0].startswith(f"aside {path}.damaged-"), lines
    aside = pathlib.Path(lines[0].removeprefix("aside "))
    assert aside.read_bytes()[100:2000] == bytes(whole)[100:2000] and aside.stat().st_size >= len(whole) - 4096
    assert [number for number, _ in told] == [1, 2, 3]
    check_whole(path, [(number, int(count)) for number, count in told])


def test_damage_of_a_file_in_use_is_set_aside_too(tmp_path):
    path = tmp_path / "monitor.db"
    # Larger than what SQLite keeps in memory: forgetting old rows has to read them again.
    process = start(path, processes=300, ticks=1000, random=1, busy=1, maintain=5, hours=0.7)
    for _ in range(500):
        process.stdout.readline()
    with open(path, "r+b") as file:
        file.seek(8 * 4096)
        file.write(random.Random(3).randbytes(path.stat().st_size // 2))
    lines = rest_of(process).splitlines()
    assert process.returncode == 0 and lines[-1][0].isdigit(), lines[-1]
    assert len(list(tmp_path.glob("monitor.db.damaged-*"))) >= 1
    assert int(lines[-1].split()[0]) < 1000  # of the new file
    is_sound(path)


def test_newer_and_foreign_files_are_refused_and_left_alone(tmp_path):
    newer, foreign = tmp_path / "newer.db", tmp_path / "foreign.db"
    write(newer, ticks=1)
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE diary(entry)")
    connection.commit()
    connection.close()
    before = foreign.read_bytes()
    _, errors = write(newer, status=1, ticks=1)
    assert errors[0].startswith("error -95 ") and "newer metron" in errors[0]
    _, errors = write(foreign, status=1, ticks=1)
    assert errors[0].startswith("error -22 ") and "another program's" in errors[0]
    assert foreign.read_bytes() == before and len(list(tmp_path.iterdir())) <= 4


def test_folder_that_cannot_be_written_is_an_error(tmp_path):
    if os.getuid() == 0:
        path = pathlib.Path("/sys/kernel/metron-test/monitor.db")
    else:
        tmp_path.chmod(0o500)
        path = tmp_path / "monitor.db"
    _, errors = write(path, status=1, ticks=1)
    assert len(errors) == 1 and errors[0].startswith("error -") and "/sys/kernel" in errors[0] or os.getuid() != 0
    assert not path.exists()


def test_each_kind_is_kept_for_its_own_time(tmp_path):
    """Old rows go when the history is opened: what is left then is not younger nor older than was asked for."""
    path = tmp_path / "monitor.db"
    begin, interval = 1700000000, 600
    write(path, processes=2, ticks=6 * 24 * 10, interval=interval, events=1, maintain=5, start=begin)
    end = begin + 10 * 86400
    write(path, processes=2, ticks=1, interval=1, maintain=100, start=end, hours=24, minute_days=2, event_days=5)
    connection = is_sound(path)
    for query, kept, step in (("SELECT min(timestamp) FROM snapshots", 24 * 3600, interval),
                              ("SELECT min(timestamp) FROM snapshots_1m", 2 * 86400, interval),
                              ("SELECT min(timestamp) FROM process_events", 5 * 86400, interval)):
        age = end + 1 - connection.execute(query).fetchone()[0]
        assert kept - step - 60 <= age <= kept + 60, query


def test_reader_in_between_always_sees_whole_snapshots(tmp_path):
    path = tmp_path / "monitor.db"
    process = start(path, processes=50, ticks=400, churn=2, maintain=2, hours=0.1, figures=1)
    while not path.exists() or path.stat().st_size == 0:
        time.sleep(0.005)
    looks, last = 0, 0
    while process.poll() is None:
        connection = connect(path)
        try:
            connection.execute("BEGIN")
            newest = connection.execute("SELECT max(id) FROM snapshots").fetchone()[0]
            if newest:
                count = connection.execute("SELECT child_count FROM snapshots WHERE id = ?", (newest,)).fetchone()[0]
                pids = [row[0] for row in connection.execute(
                    "SELECT pid FROM process_metrics WHERE snapshot_id = ?", (newest,))]
                assert len(pids) == len(set(pids)) == count == 50
                assert newest >= last
                last = newest
                looks += 1
        except sqlite3.OperationalError as error:
            assert "no such table" in str(error)  # not made yet
        connection.close()
    process.communicate()
    assert looks > 0


def test_old_rows_go_and_what_is_left_is_whole(tmp_path):
    path = tmp_path / "monitor.db"
    write(path, processes=50, ticks=1500, churn=1, events=2, maintain=5, hours=0.5, figures=1)
    connection = is_sound(path)
    first, last, count = connection.execute("SELECT min(timestamp), max(timestamp), count(*) FROM snapshots").fetchone()
    assert 1800 <= last - first <= 1800 + 75 + 60 + 330 and count == (last - first) / 5 + 1
    assert connection.execute("SELECT count(*) FROM process_metrics").fetchone()[0] == count * 50
    assert connection.execute("SELECT count(*) FROM samples WHERE id < (SELECT min(first_sample) FROM ticks)").fetchone()[0] == 0
    minutes = connection.execute("SELECT count(*), sum(num_samples) FROM snapshots_1m").fetchone()
    assert minutes[0] == 125 and 1488 <= minutes[1] <= 1500
    assert connection.execute("SELECT count(*) FROM process_metrics_1m").fetchone()[0] >= 125 * 50
    assert connection.execute("SELECT count(*) FROM process_events").fetchone()[0] == 3000


def size_with_log(path):
    """The log goes when the file is closed, which may be at any moment here."""
    size = path.stat().st_size
    with contextlib.suppress(FileNotFoundError):
        size += pathlib.Path(f"{path}-wal").stat().st_size
    return size


def test_file_keeps_to_its_cap_with_the_newest_in_it(tmp_path):
    path = tmp_path / "monitor.db"
    cap = 1 << 20
    write(path, processes=100, ticks=800, random=1, churn=2, events=5, maintain=5, cap=cap, figures=1)
    assert path.stat().st_size <= cap * 1.1
    connection = is_sound(path)
    assert connection.execute("SELECT max(id) FROM snapshots").fetchone()[0] == 800
    assert connection.execute("SELECT count(*) FROM snapshots").fetchone()[0] > 20
    rows = dict(connection.execute("SELECT snapshot_id, count(*) FROM process_metrics GROUP BY 1").fetchall())
    assert set(rows.values()) == {100}
    assert connection.execute("SELECT count(*) FROM process_metrics WHERE command IS NULL").fetchone()[0] == 0


@pytest.mark.parametrize("load", [{"ticks": 150, "events": 500, "processes": 5},
                                  {"ticks": 300, "processes": 400, "random": 1, "busy": 1}],
                         ids=["events", "processes"])
def test_file_keeps_to_its_cap_within_a_minute(tmp_path, load):
    """As much as is written in seconds: no clock has to pass before the cap is enforced."""
    path = tmp_path / "monitor.db"
    cap = 2 << 20
    process = start(path, interval=0.1, maintain=5, cap=cap, **load)
    sizes = [size_with_log(path) for line in process.stdout if line[0].isdigit()]
    assert process.wait() == 0 and len(sizes) == load["ticks"]
    # It writes while it is measured: what one write takes comes besides.
    assert cap / 2 < max(sizes) <= cap * 1.25, max(sizes)
    connection = is_sound(path)
    assert connection.execute("SELECT max(id) FROM snapshots").fetchone()[0] == load["ticks"]
    assert connection.execute("SELECT count(*) FROM snapshots").fetchone()[0] > 5
    rows = dict(connection.execute("SELECT snapshot_id, count(*) FROM process_metrics GROUP BY 1").fetchall())
    assert set(rows.values()) == {load["processes"]}


def test_a_file_far_over_its_cap_does_not_grow_and_gets_smaller(tmp_path):
    path = tmp_path / "monitor.db"
    cap = 1 << 20
    write(path, ticks=150, interval=0.1, events=300, processes=5)
    large = path.stat().st_size
    assert large > 5 * cap
    process = start(path, ticks=100, interval=0.1, events=300, processes=5, cap=cap, start=1700000100, maintain=5)
    sizes = [path.stat().st_size for line in process.stdout if line[0].isdigit()]
    assert process.wait() == 0 and max(sizes) <= large * 1.1 and sizes[-1] <= cap * 1.1


def test_a_process_sample_takes_less_than_sixty_bytes(tmp_path, record_property):
    path = tmp_path / "monitor.db"
    write(path, processes=500, ticks=720, churn=1, events=2, maintain=5, figures=1)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    each = path.stat().st_size / (500 * 720)
    record_property("bytes_per_process_sample", each)
    print(f"{each:.1f} bytes per process-sample, minutes and events included")
    assert each <= 60


OLDER_HISTORY = pathlib.Path(__file__).parents[1] / "fixtures" / "history-5.sql"
VIEWS = ("snapshots", "process_metrics", "snapshots_1m", "process_metrics_1m")


def test_a_history_of_the_version_before_is_read_and_written_on(tmp_path):
    """Its views had their columns written out; each row says what it said. Views that a user added go on working."""
    path = tmp_path / "monitor.db"
    older = sqlite3.connect(path)
    older.executescript(OLDER_HISTORY.read_text(encoding="utf-8"))
    older.execute("CREATE VIEW mine AS SELECT m.id, m.pid, s.load_avg_1 FROM process_metrics AS m"
                  " JOIN snapshots AS s ON s.id = m.snapshot_id")
    older.execute("CREATE VIEW of_ranges AS SELECT ranges FROM ticks")
    older.row_factory = sqlite3.Row
    before = {view: [dict(row) for row in older.execute(f"SELECT * FROM {view}")] for view in (*VIEWS, "mine")}
    assert all(before.values())
    older.close()
    _, errors = write(path, processes=3, ticks=5, interval=20, start=1700000400, maintain=1)
    assert not errors
    connection = is_sound(path)
    for view, rows in before.items():
        now = {row["id"]: dict(row) for row in connection.execute(f"SELECT * FROM {view}")}
        assert len(now) > len(rows)
        for row in rows:
            assert row.items() <= now[row["id"]].items()
    with pytest.raises(sqlite3.OperationalError, match="no such column: ranges"):
        connection.execute("SELECT * FROM of_ranges")


@pytest.mark.parametrize("query", [
    "snapshots WHERE id = 5",
    "snapshots WHERE timestamp >= 1700000005",
    "process_events WHERE timestamp >= 1700000005",
    "process_metrics WHERE snapshot_id = (SELECT max(id) FROM snapshots)",
    "process_metrics WHERE pid = 1003 AND snapshot_id IN (SELECT id FROM snapshots WHERE timestamp >= 1700000005)",
    "process_metrics AS p JOIN snapshots AS s ON s.id = p.snapshot_id WHERE s.timestamp >= 1700000005 AND job_id = 'a'",
    "process_metrics_1m WHERE snapshot_id IN (SELECT id FROM snapshots_1m WHERE id > 5)",
])
def test_a_query_that_names_snapshots_or_a_time_reads_no_others(tmp_path, query):
    path = tmp_path / "monitor.db"
    write(path, processes=3, ticks=3)
    plan = [row["detail"] for row in connect(path).execute(f"EXPLAIN QUERY PLAN SELECT count(*) FROM {query}")]
    assert not [step for step in plan if step.startswith("SCAN")], plan


def test_a_history_of_a_newer_version_is_left_alone(tmp_path):
    path = tmp_path / "monitor.db"
    write(path, processes=3, ticks=3)
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    before = path.read_bytes()
    _, (error,) = write(path, status=1, processes=3, ticks=3)
    assert "newer metron" in error and "version 99" in error and "choose another path" in error
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]


def test_a_history_lacks_no_column_that_is_added_later(tmp_path):
    """As if the metron that made it had kept less: what it did not keep is absent, what follows is there."""
    path = tmp_path / "monitor.db"
    write(path, processes=3, ticks=3)
    older = sqlite3.connect(path)
    for view in VIEWS:
        older.execute(f"DROP VIEW {view}")
    for table, column in (("samples", "threads"), ("ticks", "load_5"), ("minute_samples", "threads"),
                          ("minute_samples", "threads_max"), ("minutes", "load_5"), ("minutes", "load_5_max")):
        older.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    older.commit()
    older.close()
    write(path, processes=3, ticks=3, start=1700000300)
    connection = is_sound(path)
    rows = connection.execute("SELECT snapshot_id, threads FROM process_metrics").fetchall()
    assert {row["threads"] is None for row in rows if row["snapshot_id"] <= 3} == {True}
    assert {row["threads"] is None for row in rows if row["snapshot_id"] > 3} == {False}
    assert [row["load_avg_5"] is None for row in connection.execute("SELECT load_avg_5 FROM snapshots")] == (
        3 * [True] + 3 * [False])
    assert columns(connection, "process_metrics")[:len(PROCESS_COLUMNS)] == PROCESS_COLUMNS
