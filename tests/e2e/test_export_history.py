"""`metron export --history`: the views of the daemon's history as plain tables of a file, and nothing but that file.

A daemon writes the histories of the tests that need a live one; the others are made by tests/unit/history_writer.c.
"""

import contextlib
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from support.built import unit_program
from support.daemon_client import open_database
from support.processes import state, wait_until
from support.run import Runner
from support.users import ANOTHER_USER

TABLES = {
    "snapshots": """id timestamp daemon_pid system_memory_total_mb system_memory_available_mb system_memory_used_mb
        daemon_rss_mb child_count zombie_count load_avg_1 load_avg_5 load_avg_15 gpu_count gpu_utilization_pct
        gpu_memory_used_mb gpu_temperature pressure_level running_jobs active_sheets""".split(),
    "process_metrics": """id snapshot_id pid ppid command state cpu_percent rss_mb vms_mb threads open_fds age_seconds
        job_id sheet_num syscall_counts syscall_time_pct""".split(),
    "process_events": "id timestamp pid event_type exit_code signal_num job_id sheet_num details".split(),
}
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def need_export(programs):
    if not (programs / "metron-history").exists():
        pytest.skip("this build has no SQLite")


# ---- histories ----

def write(path, **options):
    """A history that is closed: without a log."""
    words = [f"{name}={value}" for name, value in {"processes": 20, "ticks": 10, **options}.items()]
    subprocess.run([unit_program("history_writer"), *words, path], stdout=subprocess.DEVNULL, check=True, timeout=120)
    return path


def write_and_kill(path, **options):
    """A history whose writer was killed: much of it is in the log alone."""
    words = [f"{name}={value}" for name, value in {"processes": 20, "ticks": 1000000, "pause_ms": 1, **options}.items()]
    with subprocess.Popen([unit_program("history_writer"), *words, path], stdout=subprocess.PIPE) as process:
        for _ in range(5):
            process.stdout.readline()
        process.kill()
    assert os.path.getsize(f"{path}-wal") > 0
    return path


@pytest.fixture
def history(run_metron):
    """A small one with all that a row can have."""
    return write(run_metron.cwd / "monitor.db", events=3, jobs=2, calls=1, churn=2)


def change(path, script):
    """Edits the database as somebody else's program might."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(script)


def replace_view(path, name, sql):
    change(path, f"DROP VIEW {name}; CREATE VIEW {name} AS {sql};")


def never_end(path):
    """Its snapshots are a query that ends never and gives no row."""
    columns = ", ".join(f"i AS {name}" for name in TABLES["snapshots"])
    replace_view(path, "snapshots", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                 f" SELECT {columns} FROM n WHERE i < 0")


# ---- exports ----

def export(runner, output, database, *more):
    return runner.metron(["export", "--history", output, "--database", database, *more])


def refused(run, *words, status=1):
    """One line says why, and what to do."""
    assert run.returncode == status and run.stdout == b"", run
    lines = run.message.splitlines()
    assert len(lines) == 1 and lines[0].startswith("metron: error: "), run.message
    for word in words:
        assert word in lines[0], run.message


def names(folder):
    return sorted(os.listdir(folder))


def rows(path, table, until=None):
    """All rows by id, up to one."""
    query = f"SELECT {', '.join(TABLES[table])} FROM {table} WHERE ?1 IS NULL OR id <= ?1 ORDER BY id"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as database:
        return database.execute(query, (until,)).fetchall()


def same_rows(output, database):
    """The rows of all tables are those of the views. {table: number of rows}"""
    counts = {}
    for table in TABLES:
        found, wanted = rows(output, table), rows(database, table)
        assert found == wanted, table
        assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in wanted], table
        counts[table] = len(found)
    return counts


def content(path):
    """What an export may not change: names, bytes and times of the database and its log (-shm is the readers' board)."""
    folder = os.path.dirname(path)
    kept = [name for name in names(folder) if name.startswith(os.path.basename(path)) and not name.endswith("-shm")]
    data = {name: (open(f"{folder}/{name}", "rb").read(), os.stat(f"{folder}/{name}").st_mtime_ns) for name in kept}
    return data


# ---- what is written ----

def test_the_tables_have_exactly_the_rows_and_columns_of_the_views(run_metron, history):
    run = export(run_metron, "out.db", history)
    assert run.returncode == 0 and run.stdout == b""
    counts = same_rows(run_metron.cwd / "out.db", history)
    assert counts["snapshots"] == 10 and counts["process_metrics"] == 200 and counts["process_events"] > 0
    assert run.message == (f"metron: out.db: 10 snapshots, 200 rows of processes and {counts['process_events']} events,"
                           f" from {history}\n")
    with contextlib.closing(sqlite3.connect(run_metron.cwd / "out.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT type, name FROM sqlite_master").fetchall() == [("table", name) for name in TABLES]
        for table, columns in TABLES.items():
            told = database.execute(f"PRAGMA table_info({table})").fetchall()
            assert [column[1] for column in told] == columns
            assert [column[1] for column in told if column[5]] == ["id"]
            assert {column[2] for column in told} <= {"INTEGER", "REAL", "TEXT"}
        assert database.execute("SELECT count(syscall_counts), count(job_id) FROM process_metrics").fetchone() > (0, 0)


def test_indexes_can_be_made_and_are_used(run_metron, history):
    assert export(run_metron, "out.db", history).returncode == 0
    with contextlib.closing(sqlite3.connect(run_metron.cwd / "out.db")) as database:
        database.execute("CREATE INDEX IF NOT EXISTS by_pid ON process_metrics(pid)")
        database.execute("CREATE INDEX IF NOT EXISTS by_time ON snapshots(timestamp)")
        plan = database.execute("EXPLAIN QUERY PLAN SELECT * FROM process_metrics WHERE pid = 1000").fetchall()
        assert "by_pid" in plan[0][3]


def test_the_file_is_private_and_the_only_one(run_metron, history):
    before = set(names(run_metron.cwd))
    old = os.umask(0)
    try:
        assert export(run_metron, "out.db", history).returncode == 0
    finally:
        os.umask(old)
    assert set(names(run_metron.cwd)) - before == {"out.db"}
    assert stat.S_IMODE((run_metron.cwd / "out.db").stat().st_mode) == 0o600


def test_names_of_any_bytes(run_metron, history):
    folder = run_metron.cwd / "odd ?#%41'\" ö\n"
    folder.mkdir()
    shutil.copy(history, folder / "file:x?mode=memory")
    assert export(run_metron, folder / "file:y?#", folder / "file:x?mode=memory").returncode == 0
    shutil.copy(folder / "file:y?#", "/".join([str(run_metron.cwd), "plain.db"]))
    assert same_rows(run_metron.cwd / "plain.db", history)["snapshots"] == 10
    assert names(folder) == ["file:x?mode=memory", "file:y?#"]
    assert export(run_metron, f"/{run_metron.cwd}/double.db", f"/{history}").returncode == 0


def test_quiet_says_nothing(run_metron, history):
    run = export(run_metron, "out.db", history, "-q")
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert len(rows(run_metron.cwd / "out.db", "snapshots")) == 10


# ---- a daemon that writes meanwhile ----

def test_the_history_of_a_running_daemon(either):
    daemon, output = either, either.runner.cwd / "out.db"
    daemon.call("job.start", job_id="exported")
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    wait_until(lambda: daemon.rows("SELECT 1 FROM process_events WHERE job_id = 'exported'"), what="the event")
    run = export(daemon.runner, output, daemon.database)
    assert run.returncode == 0, run
    for table in TABLES:
        found = rows(output, table)
        assert found and found == rows(daemon.database, table, found[-1][0]), table
    assert output.stat().st_uid == daemon.database.stat().st_uid
    assert daemon.call("daemon.status")["pid"] == daemon.pid


def test_an_export_is_of_one_instant(run_metron):
    """Each snapshot has as many processes as it says, however many come while it is read."""
    path = run_metron.cwd / "monitor.db"
    words = ["processes=100", "ticks=1000000", "pause_ms=1", "start=1700000000", path]
    with subprocess.Popen([unit_program("history_writer"), *words], stdout=subprocess.PIPE) as writer:
        for _ in range(20):
            writer.stdout.readline()
        for _ in range(3):
            assert export(run_metron, "out.db", path, "--clobber").returncode == 0
            told = {row[0]: row[7] for row in rows(run_metron.cwd / "out.db", "snapshots")}
            counted = {}
            for row in rows(run_metron.cwd / "out.db", "process_metrics"):
                counted[row[1]] = counted.get(row[1], 0) + 1
            assert counted == told
        assert writer.poll() is None
        writer.kill()


def start_export(runner, output, database, *more, **popen):
    line = [*runner.wrapper, runner.binary, "export", "--history", output, "--database", database, *more]
    return subprocess.Popen(line, cwd=runner.cwd, env=runner.environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)


def temporaries(folder, name="out.db"):
    return [path for path in folder.iterdir() if path.name.startswith(f".{name}.") and path.name.endswith(".tmp")]


def stopped_export(runner, output, database):
    """An export that was stopped while it writes rows. One that was over before is begun again."""
    while True:
        process = start_export(runner, output, database)
        while process.poll() is None and not sum(size_of(one) for one in temporaries(runner.cwd, output)):
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: state(process.pid) in ("T", "Z", None), what="the stop")
        if state(process.pid) == "T" and not (runner.cwd / output).exists():
            return process
        process.send_signal(signal.SIGCONT)
        assert process.wait() == 0, process.communicate()
        (runner.cwd / output).unlink()


def size_of(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def test_a_daemon_that_starts_meanwhile_is_noticed(run_metron):
    """A closed history is read without its log. One that was opened and changed since is read again."""
    path = write(run_metron.cwd / "monitor.db", processes=500, ticks=400)
    process = stopped_export(run_metron, "out.db", path)
    write(path, processes=500, ticks=100, start=1700100000)
    process.send_signal(signal.SIGCONT)
    output = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert b" 500 snapshots, " in output[1]
    assert same_rows(run_metron.cwd / "out.db", path)["snapshots"] == 500


# ---- the source stays as it is ----

def test_a_closed_history_is_not_changed_and_gets_no_log(run_metron, history):
    before = content(history), names(run_metron.cwd)
    assert list(before[0]) == ["monitor.db"]
    assert export(run_metron, "../out.db", history).returncode == 0
    assert (content(history), names(run_metron.cwd)) == before


def test_the_log_of_a_killed_daemon_is_read_and_not_changed(run_metron):
    path = write_and_kill(run_metron.cwd / "monitor.db")
    before = content(path)
    assert export(run_metron, "../out.db", path).returncode == 0
    assert content(path) == before
    assert same_rows(run_metron.cwd / "../out.db", path)["snapshots"] >= 5


@pytest.mark.parametrize("made_by", [write, write_and_kill])
@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_an_ordinary_user_needs_no_write_permission(run_as_user, made_by, mode):
    folder = run_as_user.cwd / "closed"
    folder.mkdir()
    path = made_by(folder / "monitor.db")
    uid = os.stat(run_as_user.cwd).st_uid
    for name in names(folder):
        os.chmod(folder / name, mode)
        os.chown(folder / name, uid, uid)
    folder.chmod(0o555)
    before = content(path), names(folder)
    run = export(run_as_user, "out.db", path)
    assert run.returncode == 0, run
    assert (content(path), names(folder)) == before
    folder.chmod(0o755)
    assert same_rows(run_as_user.cwd / "out.db", path)["snapshots"] >= 5


def test_a_log_that_cannot_be_read_is_an_error(run_as_user):
    """Without -shm SQLite cannot read the log, and makes none here: to leave the log out would lose rows."""
    folder = run_as_user.cwd / "closed"
    folder.mkdir()
    path = write_and_kill(folder / "monitor.db")
    os.unlink(f"{path}-shm")
    uid = os.stat(run_as_user.cwd).st_uid
    for name in names(folder):
        os.chown(folder / name, uid, uid)
    folder.chmod(0o555)
    refused(export(run_as_user, "out.db", path), str(path))
    folder.chmod(0o755)
    assert names(run_as_user.cwd) == ["closed"]


def test_half_a_transaction_of_another_program_is_not_read(run_metron):
    """It changed the journal mode, and was killed when a part of its transaction was in the file."""
    path = write(run_metron.cwd / "monitor.db", processes=300)
    script = ("import os, sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None);"
              "[d.execute(one) for one in ('PRAGMA journal_mode = DELETE', 'PRAGMA cache_size = 1', 'BEGIN IMMEDIATE',"
              " 'UPDATE commands SET text = text || hex(zeroblob(1000))')]; os.kill(os.getpid(), 9)")
    subprocess.run([sys.executable, "-c", script, path], check=False, timeout=60)
    assert os.path.getsize(f"{path}-journal") > 0
    before = content(path)
    refused(export(run_metron, "../out.db", path), str(path))
    assert content(path) == before


def test_a_missing_history_is_not_made(run_metron):
    refused(export(run_metron, "out.db", "monitor.db"), "'monitor.db' does not exist", "metron daemon")
    refused(export(run_metron, "out.db", "none/monitor.db"), "does not exist")
    assert names(run_metron.cwd) == []


# ---- what is there already ----

def test_an_existing_file_is_replaced_only_if_asked_for(run_metron, history):
    output = run_metron.cwd / "out.db"
    output.write_text("precious")
    refused(export(run_metron, "out.db", history), "'out.db' exists", "--clobber")
    assert output.read_text() == "precious"
    assert export(run_metron, "out.db", history, "--clobber").returncode == 0
    assert names(run_metron.cwd) == ["monitor.db", "out.db"]
    assert same_rows(output, history)["snapshots"] == 10


def test_an_existing_file_is_an_error_before_anything_is_read(run_metron, history):
    never_end(history)
    (run_metron.cwd / "out.db").write_text("precious")
    refused(export(run_metron, "out.db", history), "'out.db' exists")


def test_a_file_that_appears_meanwhile_is_not_replaced(run_metron):
    process = stopped_export(run_metron, "out.db", write(run_metron.cwd / "monitor.db", processes=500, ticks=400))
    (run_metron.cwd / "out.db").write_text("precious")
    process.send_signal(signal.SIGCONT)
    output = process.communicate(timeout=120)
    assert process.returncode == 1 and b"'out.db' exists" in output[1], output
    assert (run_metron.cwd / "out.db").read_text() == "precious"
    assert names(run_metron.cwd) == ["monitor.db", "out.db"]


@pytest.mark.parametrize("clobber", [[], ["--clobber"]])
@pytest.mark.parametrize("target", ["precious", "missing", "monitor.db-copy", "/dev/null", "/proc/self/fd/1", "."])
def test_a_link_is_neither_followed_nor_replaced(run_metron, history, target, clobber):
    """/dev/stdout is one, and root could replace it."""
    shutil.copy(history, run_metron.cwd / "monitor.db-copy")
    (run_metron.cwd / "precious").write_text("precious")
    before = {name: (run_metron.cwd / name).read_bytes() for name in ("precious", "monitor.db-copy")}
    (run_metron.cwd / "out.db").symlink_to(target)
    refused(export(run_metron, "out.db", history, *clobber), "'out.db' is a symbolic link")
    assert os.readlink(run_metron.cwd / "out.db") == target
    assert {name: (run_metron.cwd / name).read_bytes() for name in before} == before
    assert not (run_metron.cwd / "missing").exists()


@pytest.mark.parametrize("clobber", [[], ["--clobber"]])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_plain_file_is_not_replaced(run_metron, history, make, clobber):
    make(run_metron.cwd / "out.db")
    refused(export(run_metron, "out.db", history, *clobber), "'out.db' is not a plain file")
    assert names(run_metron.cwd) == ["monitor.db", "out.db"]


def test_a_temporary_name_that_is_taken_stays(run_metron, history):
    """metron becomes metron-history: the pid in the name of the temporary file is known."""
    shell = 'ln -s precious ".out.db.$$.tmp"; exec "$@"'
    (run_metron.cwd / "precious").write_text("precious")
    line = ["/bin/sh", "-c", shell, "sh", run_metron.binary, "export", "--history", "out.db", "--database", history]
    subprocess.run(line, cwd=run_metron.cwd, env=run_metron.environment(), check=True, timeout=60)
    assert (run_metron.cwd / "precious").read_text() == "precious"
    assert len(temporaries(run_metron.cwd)) == 1 and temporaries(run_metron.cwd)[0].is_symlink()
    assert same_rows(run_metron.cwd / "out.db", history)["snapshots"] == 10


NAMES_OF_IT = ["monitor.db", "./monitor.db", "../work/monitor.db", "hard", "soft", "monitor.db-wal", "monitor.db-shm",
               "monitor.db-journal", "soft-folder/monitor.db-wal"]


@pytest.mark.parametrize("clobber", [[], ["--clobber"]])
@pytest.mark.parametrize("made_by, output", [*((write, name) for name in NAMES_OF_IT),
                                             *((write_and_kill, name) for name in [*NAMES_OF_IT, "hard-wal"])])
def test_the_history_itself_is_never_replaced(run_metron, made_by, output, clobber):
    path = made_by(run_metron.cwd / "monitor.db")
    (run_metron.cwd / "hard").hardlink_to(path)
    (run_metron.cwd / "soft").symlink_to("monitor.db")
    (run_metron.cwd / "soft-folder").symlink_to(".")
    if os.path.exists(f"{path}-wal"):
        (run_metron.cwd / "hard-wal").hardlink_to(f"{path}-wal")
    before = content(path), names(run_metron.cwd)
    refused(export(run_metron, output, path, *clobber), "is the history itself, or part of it")
    refused(export(run_metron, output, "monitor.db", *clobber), "is the history itself, or part of it")
    assert (content(path), names(run_metron.cwd)) == before


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_the_log_of_another_database_is_not_played_into_it(run_metron, history, suffix):
    (run_metron.cwd / f"out.db{suffix}").write_text("of another one")
    refused(export(run_metron, "out.db", history, "--clobber"), f"'out.db{suffix}' exists")
    assert names(run_metron.cwd) == ["monitor.db", f"out.db{suffix}"]


# ---- what goes wrong ----

@pytest.mark.parametrize("output", ["none/out.db", "monitor.db/out.db", "folder/", "", "x" * 300])
def test_a_file_that_cannot_be_made_is_an_error(run_metron, history, output):
    (run_metron.cwd / "folder").mkdir()
    run = export(run_metron, output, history)
    assert run.returncode in (1, 2) and len(run.message.splitlines()) == 1, run
    assert names(run_metron.cwd) == ["folder", "monitor.db"] and names(run_metron.cwd / "folder") == []


def test_a_limit_on_the_size_of_files_leaves_nothing(run_metron):
    path = write(run_metron.cwd / "monitor.db", processes=500, ticks=60)
    line = ["/bin/sh", "-c", 'ulimit -f 1024 && exec "$@"', "sh", run_metron.binary, "export", "--history", "out.db",
            "--database", path]
    done = subprocess.run(line, cwd=run_metron.cwd, env=run_metron.environment(), capture_output=True, check=False,
                          timeout=120)
    assert done.returncode == 1 and b"cannot write 'out.db'" in done.stderr and b"make room" in done.stderr, done
    assert names(run_metron.cwd) == ["monitor.db"]


@pytest.mark.parametrize("size", ["64k", "1m"])
def test_a_full_disk_leaves_nothing(run_metron, full_disk, size):
    path = write(run_metron.cwd / "monitor.db", processes=500, ticks=60)
    disk = full_disk(size)
    before = names(disk)
    refused(export(run_metron, disk / "out.db", path), f"cannot write '{disk}/out.db'", "make room")
    assert names(disk) == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_query_without_rows(run_metron, number):
    path = write(run_metron.cwd / "monitor.db")
    never_end(path)
    process = start_export(run_metron, "out.db", path)
    wait_until(lambda: temporaries(run_metron.cwd), what="the temporary file")
    process.send_signal(number)
    output = process.communicate(timeout=60)
    assert process.returncode == -number and output == (b"", b""), output
    assert names(run_metron.cwd) == ["monitor.db"]


def test_an_ignored_signal_stays_ignored(run_metron):
    path = write(run_metron.cwd / "monitor.db")
    never_end(path)
    process = start_export(run_metron, "out.db", path, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lambda: temporaries(run_metron.cwd), what="the temporary file")
    process.send_signal(signal.SIGHUP)
    ignored = [line for line in open(f"/proc/{process.pid}/status", encoding="ascii") if line.startswith("SigIgn:")]
    assert int(ignored[0].split()[1], 16) & 1 << (signal.SIGHUP - 1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


# ---- what is no history of this version ----

def test_an_older_history_says_how_to_bring_it_up(run_metron, history):
    with contextlib.closing(open_database(history)) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
    change(history, f"PRAGMA user_version = {version - 1}")
    before = content(history)
    refused(export(run_metron, "out.db", history), str(history), "older version", "start the daemon once")
    change(history, f"PRAGMA user_version = {version + 1}")
    refused(export(run_metron, "out.db", history), "newer metron")
    assert content(history).keys() == before.keys() and names(run_metron.cwd) == ["monitor.db"]


def test_what_is_no_history_is_refused(run_metron, history):
    assert export(run_metron, "exported.db", history).returncode == 0
    with contextlib.closing(sqlite3.connect(run_metron.cwd / "other.db")) as database:
        database.executescript("CREATE TABLE snapshots(id); CREATE TABLE process_metrics(id)")
    (run_metron.cwd / "garbage").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    (run_metron.cwd / "text").write_text("no database")
    os.mkfifo(run_metron.cwd / "pipe")
    (run_metron.cwd / "link").symlink_to("monitor.db")
    before = names(run_metron.cwd)
    for name, words in {"exported.db": "another program's database", "other.db": "another program's database",
                        "garbage": "", "text": "is not a database", "pipe": "is not a plain file", ".": "is not a plain file",
                        "link": "is a symbolic link", "/dev/null": "is not a plain file"}.items():
        refused(export(run_metron, "out.db", name), f"'{name}'", words)
    assert names(run_metron.cwd) == before


def test_another_users_history_is_refused(run_as_user):
    if os.getuid() != 0:
        pytest.skip("needs two users")
    root = Runner(run_as_user.programs, run_as_user.cwd, run_as_user.home)
    path = write(run_as_user.cwd / "monitor.db")
    path.chmod(0o644)
    assert export(run_as_user, "of-root.db", path).returncode == 0
    os.chown(path, ANOTHER_USER, ANOTHER_USER)
    refused(export(root, "out.db", path), f"belongs to user {ANOTHER_USER}")
    path.chmod(0o600)
    os.chown(path, 0, 0)
    refused(export(run_as_user, "out.db", path), "ermission denied", "owner")
    assert names(run_as_user.cwd) == ["monitor.db", "of-root.db"]


# ---- hostile databases ----

def survives(run, folder):
    """An error, or a file; never a crash, and nothing else is left."""
    assert run.returncode in (0, 1), run
    assert len(run.message.splitlines()) == 1, run.message
    assert names(folder) == ["monitor.db"] + ["out.db"] * (run.returncode == 0)
    return run


@pytest.mark.parametrize("part", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_history_is_an_error(run_metron, history, part):
    os.truncate(history, int(history.stat().st_size * part))
    refused(survives(export(run_metron, "out.db", history), run_metron.cwd), str(history))


@pytest.mark.parametrize("offset", range(100, 20000, 1999))
def test_a_garbled_history_never_crashes_it(run_metron, history, offset):
    with open(history, "r+b") as file:
        file.seek(offset)
        file.write(bytes(range(255, 0, -1)) * 2)
    survives(export(run_metron, "out.db", history), run_metron.cwd)


HOSTILE = {
    "a view is missing": ("DROP VIEW process_events", 1),
    "it has other columns": ("DROP VIEW snapshots; CREATE VIEW snapshots AS SELECT 1 AS id, 2 AS other", 1),
    "ids are there twice": ("DROP VIEW process_events; CREATE VIEW process_events AS SELECT 1 AS id, 1.0 AS timestamp,"
                            " 1 AS pid, '' AS event_type, 1 AS exit_code, 1 AS signal_num, '' AS job_id, 1 AS sheet_num,"
                            " '' AS details FROM ticks", 1),
    "a view reads itself": ("DROP VIEW snapshots; CREATE VIEW snapshots AS SELECT * FROM snapshots", 1),
    "a view reads the output": ("DROP VIEW snapshots; CREATE VIEW snapshots AS SELECT * FROM output.process_metrics", 1),
    "a value without end": ("DROP VIEW process_events; CREATE VIEW process_events AS SELECT 1 AS id, 1.0 AS timestamp,"
                            " 1 AS pid, hex(zeroblob(400000000)) AS event_type, 1 AS exit_code, 1 AS signal_num,"
                            " '' AS job_id, 1 AS sheet_num, '' AS details", 1),
    "an extension": ("DROP VIEW snapshots; CREATE VIEW snapshots AS SELECT load_extension('/tmp/x.so') AS id", 1),
    "triggers": ("CREATE TRIGGER t1 INSTEAD OF INSERT ON snapshots BEGIN DELETE FROM ticks; END;"
                 "CREATE TRIGGER t2 AFTER INSERT ON ticks BEGIN DELETE FROM ticks; END;", 0),
    "the names are tables": ("DROP VIEW process_events; CREATE TABLE process_events(id, timestamp, pid, event_type,"
                             " exit_code, signal_num, job_id, sheet_num, details)", 0),
}


@pytest.mark.parametrize("script, status", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_history_is_only_read(run_metron, history, script, status):
    # A definition that SQLite would not take by itself is written into its catalogue.
    with contextlib.closing(sqlite3.connect(history)) as database:
        try:
            database.executescript(script)
        except sqlite3.OperationalError:
            database.executescript("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
                                   " 'CREATE VIEW snapshots AS SELECT * FROM snapshots' WHERE name = 'snapshots'")
    before = content(history)
    run = survives(export(run_metron, "out.db", history), run_metron.cwd)
    assert run.returncode == status, run
    assert status == 0 or "give it more memory" in run.message or "the file is damaged" in run.message
    assert content(history) == before


# ---- options and places ----

@pytest.mark.parametrize("line, words", [
    ("--history out.db RUN", "takes no run"),
    ("--history -", "needs the name of a file"),
    ("--history --database monitor.db", "'--database' looks like an option"),
    ("--history out.db -o x", "--output is for a run"),
    ("--history out.db --format csv", "--format is for a run"),
    ("--history out.db --history other.db", "given twice"),
    ("--database monitor.db", "--database is for the daemon's history"),
    ("--clobber --format duct -o x RUN", "--clobber is for the daemon's history"),
])
def test_options_that_do_not_go_together_are_wrong_usage(run_metron, line, words):
    refused(run_metron.metron(["export", *line.split()]), words, status=2)
    assert names(run_metron.cwd) == []


def test_settings_of_the_history_do_not_disturb_the_export_of_a_run(run_metron):
    assert run_metron("", "true").returncode == 0
    settings = {"METRON_DATABASE": "/none/monitor.db", "METRON_CLOBBER": "yes"}
    run = run_metron.metron("export run_", env=settings)
    assert run.returncode == 0 and run.stdout.startswith(b"elapsed")


def test_the_history_is_found_where_the_daemon_keeps_it(run_as_user):
    state_folder = run_as_user.home / "state"
    uid = os.stat(run_as_user.home).st_uid
    path = write(state_folder / "metron" / "monitor.db")
    for one in (state_folder, state_folder / "metron", path):
        os.chown(one, uid, uid)
    assert run_as_user.metron("export --history a.db", env={"XDG_STATE_HOME": str(state_folder)}).returncode == 0
    assert run_as_user.metron("export --history b.db", env={"METRON_DATABASE": str(path)}).returncode == 0
    (run_as_user.home / ".local").mkdir()
    os.chown(run_as_user.home / ".local", uid, uid)
    state_folder.rename(run_as_user.home / ".local" / "state")
    assert run_as_user.metron("export --history c.db").returncode == 0
    assert len({(run_as_user.cwd / f"{name}.db").read_bytes() for name in "abc"}) == 1


def test_without_a_history_the_error_names_the_places(run_as_user):
    if os.path.exists("/var/lib/metron/monitor.db"):
        pytest.skip("the machine has a daemon of its own")
    refused(run_as_user.metron("export --history out.db"), f"'{run_as_user.home}/.local/state/metron/monitor.db'",
            "'/var/lib/metron/monitor.db'", "metron daemon", "--database")
    run = run_as_user.metron("export --history out.db", env={"HOME": "", "XDG_STATE_HOME": ""})
    refused(run, "HOME is not set", "'/var/lib/metron/monitor.db'", "--database")
    for env in ({"METRON_DATABASE": "off"}, {}):
        line = ["export", "--history", "out.db", *([] if env else ["--database", "off"])]
        refused(run_as_user.metron(line, env=env), "keeps no history", "--database")
    assert names(run_as_user.cwd) == []


def test_without_its_program_the_error_says_so(run_metron, programs, tmp_path, history):
    folder = tmp_path / "alone"
    folder.mkdir()
    shutil.copy(programs / "metron", folder / "metron")
    done = subprocess.run([folder / "metron", "export", "--history", "out.db", "--database", history], cwd=run_metron.cwd,
                          env=run_metron.environment(), capture_output=True, check=False)
    assert done.returncode == 1 and b"metron-history is not installed beside it" in done.stderr
    done = subprocess.run([programs / "metron-history"], capture_output=True, check=False)
    assert done.returncode == 2 and b"metron export --history" in done.stderr
