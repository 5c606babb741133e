"""The daemon in bad times: killed at any moment, among hostile clients, with a full disk, a locked database, wrong
settings. Sampling goes on, and what was stored stays stored.

METRON_KILLS  how often it is killed (20; `make soak`: 1,000)
"""

import contextlib
import itertools
import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from support import daemon_client as dc
from support import processes
from support.burner import cpu_seconds
from support.daemon_client import process_in
from support.hostile_clients import REAL_METHODS
from support.processes import wait_until

pytestmark = pytest.mark.threads
daemon = dc.own_daemon

JOB = f"bad-times-{os.getpid()}"
KILLS = int(os.environ.get("METRON_KILLS", "20"))
KILLS_PER_DATABASE = 100
REPORT_EVERY = 25  # kills
LONGEST_WAIT = 60  # seconds
HOSTILE = pathlib.Path(__file__).resolve().parent.parent / "support" / "hostile_clients.py"
FAST = {"METRON_TEST_INTERVAL": "0.02", "METRON_EVENTS": "off"}
CPU_NEAR = 0.05  # seconds: the kernel counts children in ticks of 10 ms, and those that were not waited for yet nowhere
# A process of which nobody exits, and which uses more than CPU_NEAR in a few lives of the daemon, but not a whole core.
SPIN = """
import time
while True:
    end = time.process_time() + 0.02
    while time.process_time() < end:
        pass
    time.sleep(0.15)
"""
CHURN = "while :; do sleep 0.05 & sleep 0.02; wait; done"


def ticks(daemon):
    return daemon.call("daemon.status")["ticks"]


def goes_on_sampling(daemon, count=3):
    begin = ticks(daemon)
    wait_until(lambda: ticks(daemon) >= begin + count, what="more snapshots")


# ---- killed ----

def kill_all(daemon):
    """The daemon and whatever it has started, at once."""
    for pid in [daemon.pid, *processes.descendants(daemon.pid)]:
        with contextlib.suppress(ProcessLookupError):
            processes.send_signal(pid, signal.SIGKILL)
    daemon.wait()


def stored_times(daemon):
    """When the snapshots in the database were taken, to the millisecond."""
    with daemon.read_database() as database:
        return {round(row[0], 3) for row in database.execute("SELECT timestamp FROM ticks")}


# What the announcer of jobs does with each, and how far the database shows that it came.
STEPS = ("SELECT 1 FROM jobs WHERE name = ?",
         "SELECT 1 FROM jobs JOIN sheets ON job = id WHERE name = ?",
         "SELECT 1 FROM jobs JOIN sheets ON job = id WHERE name = ? AND sheets.status = 'completed'",
         "SELECT 1 FROM jobs WHERE name = ? AND status = 'completed'")


class Announcer(threading.Thread):
    """Begins and ends jobs until the daemon is gone; acknowledged[job]: so many steps were, as durable ones."""

    def __init__(self, daemon, life):
        super().__init__()
        self.daemon, self.life, self.acknowledged, self.not_durable = daemon, life, {}, 0

    def announce(self, client, name):
        for step, answer in enumerate((lambda: client.call("job.start", job_id=name),
                                       lambda: dc.publish(client, "sheet.started", name, 1),
                                       lambda: dc.publish(client, "sheet.completed", name, 1),
                                       lambda: client.call("job.finish", job_id=name, outcome="completed"))):
            if answer().get("durable", True):
                self.acknowledged[name] = step + 1
            else:
                self.not_durable += 1

    def end(self):
        self.join(LONGEST_WAIT)
        assert not self.is_alive(), "it waits for an answer of a daemon that was killed"

    def run(self):
        # Killed within an answer, the daemon hangs up: an error of the socket, or no answer.
        with contextlib.suppress(OSError, AssertionError), self.daemon.client() as client:
            for number in itertools.count():
                self.announce(client, f"job {self.life} {number}")

    def check(self):
        with self.daemon.read_database() as database:
            for name, steps in self.acknowledged.items():
                for sql in STEPS[:steps]:
                    assert database.execute(sql, (name,)).fetchone(), f"{name!r}, acknowledged {steps} times: {sql}"


class Watched:
    """A process that is a job, and what the kernel says that it and its waited-for children have used since."""

    def __init__(self, daemon, job, pid):
        self.daemon, self.job, self.pid = daemon, job, pid
        before = cpu_seconds(pid)
        daemon.call("job.start", job_id=job, pid=pid)
        self.least, self.most = before, cpu_seconds(pid)  # before it began

    def check(self, is_alone):
        """One that nobody exits of is right, whatever is said of it; of another one the number may be too low if that is
        said."""
        least = cpu_seconds(self.pid) - self.most - CPU_NEAR
        self.daemon.top_when(what="a snapshot of now")
        usage = self.daemon.call("job.status", job_id=self.job)["usage"]
        most = cpu_seconds(self.pid) - self.least + CPU_NEAR
        assert usage["cpu_seconds"] <= most, f"{self.job}: more than it used, {usage}"
        if is_alone or "cpu_is_exact" not in usage:
            assert least <= usage["cpu_seconds"], f"{self.job}: {least} s, {usage}"


def live_once(daemon, job, pid, seconds):
    """The snapshots that were shown within this time and then were found in the database."""
    shown = set()
    with daemon.client() as client:
        assert client.call("job.status", job_id=job)["status"] == "running"
        begin = time.monotonic()
        while not shown or time.monotonic() < begin + seconds:  # any moment will do to be killed
            assert time.monotonic() < begin + LONGEST_WAIT, "no snapshot was shown"
            with contextlib.suppress(dc.RpcError):  # none has been taken yet
                snapshot = client.call("daemon.top")
                shown.add(round(snapshot["timestamp"], 3))
                told = process_in(snapshot, pid)
                assert told is not None and told["job_id"] == job, "the job's process is the job's"
            time.sleep(0.01)
    return shown & stored_times(daemon)


def check_database(daemon, committed, life):
    with daemon.read_database() as database:
        assert [row[0] for row in database.execute("PRAGMA integrity_check")] == ["ok"], f"life {life}"
    lost = committed - stored_times(daemon)
    assert not lost, f"life {life}: {len(lost)} of {len(committed)} stored snapshots are gone"


def kill_while_it_begins(daemon, seconds):
    daemon.launch(watch="jobs", env=FAST)
    time.sleep(seconds)  # any moment will do
    kill_all(daemon)


class Tally:
    """What the kills had to do with, and how long they took."""

    def __init__(self):
        self.kills, self.snapshots, self.jobs, self.not_durable = 0, 0, 0, 0
        self.begin = self.last = time.monotonic()

    def add(self, announcer):
        self.kills += 1
        self.jobs += len(announcer.acknowledged)
        self.not_durable += announcer.not_durable

    def report(self, daemon, committed):
        now = time.monotonic()
        print(f"{self.kills} of {KILLS} kills after {now - self.begin:.0f} s, the last {REPORT_EVERY} at "
              f"{(now - self.last) / REPORT_EVERY:.2f} s each; {self.jobs} jobs acknowledged, {self.not_durable} answers "
              f"not durable, {len(committed)} snapshots in a database of {daemon.database.stat().st_size >> 10} KiB",
              flush=True)
        self.last = now


def kill_again_and_again(daemon, count, chance, tally):
    """With its own database: most kills leave a job that runs, and each snapshot has all of them. With a thousand, the
    last kill would cost many times what the first did."""
    shell = subprocess.Popen(["sh", "-c", CHURN], start_new_session=True)
    spinner = subprocess.Popen([sys.executable, "-c", SPIN])
    committed = set()
    daemon.start(watch="jobs", env=FAST)
    survivor, spinning = Watched(daemon, "survivor", shell.pid), Watched(daemon, "spinning", spinner.pid)
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid), what="the job's process")
    for life in range(count):
        announcer = Announcer(daemon, life)
        announcer.start()
        committed |= live_once(daemon, "survivor", shell.pid, chance.uniform(0, 0.1))
        spinning.check(is_alone=True)
        survivor.check(is_alone=False)
        time.sleep(chance.uniform(0, 0.03))
        kill_all(daemon)
        announcer.end()
        check_database(daemon, committed, life)
        announcer.check()
        if life % 4 == 3:
            kill_while_it_begins(daemon, chance.uniform(0, 0.2))
            announcer.check()
        daemon.start(watch="jobs", env=FAST)
        tally.add(announcer)
        if tally.kills % REPORT_EVERY == 0:
            tally.report(daemon, committed)
    for job in ("survivor", "spinning"):
        assert daemon.call("job.status", job_id=job)["status"] == "running"
    assert daemon.stop() == 0
    check_database(daemon, committed, count)
    assert committed
    tally.snapshots += len(committed)
    for process in (shell, spinner):
        process.kill()
        process.wait()


def test_killed_again_and_again_it_keeps_what_was_stored_and_acknowledged(daemon):
    chance, tally = random.Random(6), Tally()
    print()
    while tally.kills < KILLS:
        daemon.database = daemon.folder / f"monitor-{tally.kills}.db"
        kill_again_and_again(daemon, min(KILLS_PER_DATABASE, KILLS - tally.kills), chance, tally)
    print(f"{tally.kills} kills, {tally.snapshots} snapshots seen stored, {tally.jobs} jobs acknowledged, "
          f"{tally.not_durable} answers not durable")
    assert tally.jobs
    assert "damaged" not in daemon.said()


# ---- hostile clients ----

def test_among_200_clients_50_of_them_hostile_health_is_answered_and_sampling_goes_on(daemon):
    daemon.start()
    idle = [daemon.client() for _ in range(148)]
    good, watcher = daemon.client(), daemon.client()
    crowd = subprocess.Popen([sys.executable, HOSTILE, str(daemon.socket), "50", *REAL_METHODS])
    try:
        wait_until(lambda: watcher.call("daemon.status")["clients"] >= 195, what="200 clients")
        before = watcher.call("daemon.status")["ticks"]
        for _ in range(50):
            good.call("daemon.health")
        wait_until(lambda: good.call("daemon.health") and watcher.call("daemon.status")["ticks"] >= before + 5,
                   what="snapshots among hostile clients")
    finally:
        crowd.kill()
        crowd.wait()
    for connection in idle:
        connection.call("daemon.health")
        connection.close()


# ---- a full disk, a locked database ----

def counted(daemon, word):
    return sum(word in line for line in daemon.said().splitlines())


def fails_then_recovers(daemon, mend):
    """Both sinks fail, each says so once, sampling goes on; after mend() both tell that they work again."""
    wait_until(lambda: counted(daemon, "sampling goes on") >= 2, what="a word on the database and the log")
    goes_on_sampling(daemon, 10)
    assert counted(daemon, "sampling goes on") == 2, daemon.said()
    assert counted(daemon, "works again") == 0, daemon.said()
    mend()
    wait_until(lambda: counted(daemon, "works again") >= 2, what="a word on their recovery")
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    with daemon.read_database() as database:
        assert [row[0] for row in database.execute("PRAGMA integrity_check")] == ["ok"]
    assert dc.read_log(daemon.log_file), "whole lines"
    assert daemon.stop() == 0


def test_a_full_disk_is_told_once_and_sampling_goes_on(daemon, full_disk):
    disk = full_disk(4 << 20)
    daemon.database, daemon.log_file = disk / "monitor.db", disk / "monitor.jsonl"
    daemon.start(interval=0.1, watch="jobs")  # everybody's processes could fill it too
    daemon.tops(2)
    filler = disk / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    fails_then_recovers(daemon, filler.unlink)


def test_a_limit_on_the_size_of_files_is_as_a_full_disk(daemon):
    daemon.start(interval=0.1)
    daemon.tops(2)
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (4096, hard))
    fails_then_recovers(daemon, lambda: resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard)))


def test_a_word_that_may_not_be_written_does_not_end_it(daemon):
    """Its own messages are in a file here: the kernel sends SIGXFSZ to the thread that writes one more."""
    daemon.start(interval=0.1)
    daemon.tops(2)
    said = daemon.said()
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (0, hard))
    goes_on_sampling(daemon, 15)
    assert daemon.said() == said, "it could not say that nothing can be stored"
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard))
    wait_until(lambda: counted(daemon, "works again") >= 1, what="a word on the recovery: there was one before")
    assert daemon.stop() == 0


def test_a_locked_database_is_told_once_and_sampling_goes_on(daemon):
    daemon.start(interval=0.4, watch="jobs")  # its queue holds what is taken while the database is locked
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])
    with contextlib.closing(sqlite3.connect(daemon.database, timeout=60, isolation_level=None)) as other:
        daemon.call("job.start", job_id=JOB)
        daemon.call("event.publish", event="sheet.started", job_id=JOB, sheet_num=1, data={})
        other.execute("BEGIN IMMEDIATE")
        daemon.call("event.publish", event="sheet.completed", job_id=JOB, sheet_num=1, data={})
        wait_until(lambda: counted(daemon, "sampling goes on"), what="a word on the database")
        daemon.call("job.finish", job_id=JOB, outcome="completed")
        told = [top["timestamp"] for top in daemon.tops(10)]
        other.execute("ROLLBACK")
    wait_until(lambda: counted(daemon, "works again"), what="a word on its recovery")
    assert counted(daemon, "sampling goes on") == 1, daemon.said()
    assert counted(daemon, "nothing is missing in it") == 1, daemon.said()
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    # Both are rounded, and not always to the same side.
    missing = [timestamp for timestamp in told if not daemon.stored(timestamp)]
    assert not missing, "what was not taken at once was offered again"
    assert job_and_sheets(daemon) == [("completed", 1, "completed")]


def job_and_sheets(daemon):
    rows = daemon.rows("SELECT j.status AS job, s.number AS number, s.status AS sheet FROM jobs AS j"
                       " JOIN sheets AS s ON s.job = j.id WHERE j.name = ? ORDER BY s.number", JOB)
    return [(row["job"], row["number"], row["sheet"]) for row in rows]


def test_a_history_that_is_damaged_meanwhile_is_told_and_the_new_one_knows_the_jobs(daemon):
    daemon.start(interval=0.1)
    daemon.call("job.start", job_id=JOB)
    for number in (1, 2):
        daemon.call("event.publish", event="sheet.started", job_id=JOB, sheet_num=number, data={})
    daemon.call("event.publish", event="sheet.completed", job_id=JOB, sheet_num=1, data={})
    daemon.wait_for_stored(daemon.tops(3)[-1]["timestamp"])
    processes.send_signal(daemon.pid, signal.SIGSTOP)
    with contextlib.closing(sqlite3.connect(daemon.database)) as other:
        # Somebody else's write: the daemon has to read its pages again.
        other.execute("CREATE TABLE others(x)")
        other.commit()
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(daemon.database, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (daemon.database.stat().st_size - 4096))
    processes.send_signal(daemon.pid, signal.SIGCONT)
    wait_until(lambda: counted(daemon, "it was damaged; it is kept as"), what="a word on it")
    assert len(list(daemon.database.parent.glob(f"{daemon.database.name}.damaged-*"))) >= 1
    wait_until(lambda: job_and_sheets(daemon) == [("running", 1, "completed"), ("running", 2, "running")],
               what="the job, as it was told to the other file")
    assert daemon.stop() == 0


# ---- settings read again ----

def write_settings(runner, text):
    path = runner.home / "config" / "metron" / "metron.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_sighup_takes_a_new_interval_and_wrong_settings_leave_the_old_ones(daemon, run_metron):
    write_settings(run_metron, "interval = 5\n")
    daemon.start(interval=None)
    assert daemon.call("daemon.status")["interval"] == 5
    write_settings(run_metron, "interval = 0.2\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.call("daemon.status")["interval"] == 0.2, what="the new interval")
    goes_on_sampling(daemon, 5)
    for wrong in ("interval = 0\n", "interval = soon\n", "no such thing\n"):
        said = daemon.said().count("settings are wrong")
        write_settings(run_metron, wrong)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda said=said: daemon.said().count("settings are wrong") > said, what=f"a word on {wrong!r}")
        assert daemon.call("daemon.status")["interval"] == 0.2
    goes_on_sampling(daemon, 5)
    assert daemon.stop() == 0


# ---- in the background ----

def detached(daemon):
    names = [word for name, value in daemon.settings().items() for word in (f"--{name}", value)]
    return daemon.runner.metron(["daemon", "--detach", *names])


def test_detached_it_returns_once_it_listens_and_can_be_stopped(daemon):
    done = detached(daemon)
    assert done.returncode == 0, done
    status = daemon.call("daemon.status")
    assert os.getsid(status["pid"]) != os.getsid(0)
    second = detached(daemon)
    assert second.returncode != 0 and str(daemon.socket).encode() in second.stderr, "it tells why it did not begin"
    stopped = daemon.runner.metron(["daemon", "stop", "--socket", str(daemon.socket)])
    assert stopped.returncode == 0, stopped
    wait_until(lambda: not processes.alive(status["pid"]), what="its end")
    assert not daemon.socket.exists()
