"""What the daemon itself costs: system calls and memory with 4,000 processes in 50 jobs, and memory over a thousand
ticks. `make bench` measures its CPU, `make soak` its memory over many thousand ticks.
"""

import os
import pathlib
import subprocess
import time

import pytest

from support import daemon_client as dc
from support import kernel_events
from support.daemon_client import Daemon
from support.processes import wait_until
from support.traced import calls_about, traces_of
from support.users import ANOTHER_USER
from test_scale import room_for_processes

daemon = dc.own_daemon

JOBS, FEW_JOBS, PROCESSES_EACH = 50, 15, 80
INTERVAL = 0.5
MEMORY_MB = 64

# Allowed growth between FEW_TICKS and MANY_TICKS. SQLite caches so many MB of pages, each a little larger than in the
# file; a process that is followed takes 8 kB.
FEW_TICKS, MANY_TICKS = 300, 1300
GROWTH_MB, CACHE_MB, PAGE_FACTOR, MEMBER_MB = 0.15, 4, 1.15, 8 / 1024

CHURN = "while :; do sleep 0.02 & sleep 0.01; true & wait $!; done"


def ask(daemon, method, **params):
    """Thousands of processes take a busy machine a while."""
    with daemon.client(timeout=60) as client:
        return client.call(method, **params)


def processes_here():
    return sum(name.isdigit() for name in os.listdir("/proc"))


def start_jobs(runner, *daemons, seconds=300, number=JOBS):
    """The jobs' processes, sleeping, and each one's job: {pid: job}."""
    jobs, crowds = {}, []
    for job in range(number):
        path = runner.cwd / f"pids-{job}"
        crowds.append((f"job-{job}", path, subprocess.Popen(
            [runner.workload("manyprocs"), "-o", str(path), str(PROCESSES_EACH), str(seconds)],
            stdout=subprocess.PIPE)))
    for job, path, crowd in crowds:
        assert crowd.stdout.readline() == b"ready\n"
        for daemon in daemons:
            ask(daemon, "job.start", job_id=job, pid=crowd.pid)
        jobs.update(dict.fromkeys(map(int, path.read_text(encoding="utf-8").split()), job))
    assert len(jobs) == number * PROCESSES_EACH
    return jobs


def processes_followed(daemon):
    """How many the latest snapshot has: asked for often, at little cost."""
    return ask(daemon, "daemon.status").get("processes", 0)


def jobs_shown(daemon):
    """{pid: job} of the latest snapshot."""
    return {process["pid"]: process.get("job_id") for process in ask(daemon, "daemon.top")["processes"]}


# Each process has its clock, its parent and its memory read; with the iterator only what it cannot read is: now and
# then the descriptors of some.
@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("events, calls_per_process, number", [("bpf", 0.5, JOBS), ("off", 6, FEW_JOBS)])
def test_all_processes_of_many_jobs_are_shown_and_cost_few_calls(run_metron, daemon, events, calls_per_process, number):
    room_for_processes(number * PROCESSES_EACH)
    if events == "bpf":
        kernel_events.need(run_metron)
    daemon.start(interval=INTERVAL, log_file="off", env={"METRON_EVENTS": events})
    jobs = start_jobs(run_metron, daemon, number=number)
    wait_until(lambda: processes_followed(daemon) >= len(jobs), 60, "so many processes")
    wait_until(lambda: jobs_shown(daemon).items() >= jobs.items(), 60, "every process in daemon.top, with its job")
    everybody = max(len(jobs), processes_here())
    before, begin = ask(daemon, "daemon.status"), time.monotonic()
    calls = [calls_about(trace, jobs) for trace in traces_of(daemon.pid, 4)]
    elapsed, after = time.monotonic() - begin, ask(daemon, "daemon.status")
    print(f"\nsystem calls of a tick about them: {calls}, {dc.rss_mb(daemon.pid):.1f} MB, "
          f"at most {dc.status_of(daemon.pid)['VmHWM']}")
    everybody = max(everybody, processes_here())
    assert max(calls) < calls_per_process * len(jobs)
    ticks, missed = (after[name] - before[name] for name in ("ticks", "missed_ticks"))
    assert ticks + missed >= elapsed / INTERVAL - 2
    assert dc.rss_mb(daemon.pid) < MEMORY_MB * everybody / len(jobs)
    assert jobs_shown(daemon).items() >= jobs.items()


def start_churn(runner, daemon):
    """Two jobs: one that sleeps, and one in which processes come and go."""
    crowd = subprocess.Popen([runner.workload("manyprocs"), "50", "300"], stdout=subprocess.PIPE)
    assert crowd.stdout.readline() == b"ready\n"
    churn = subprocess.Popen(["sh", "-c", CHURN])
    ask(daemon, "job.start", job_id="crowd", pid=crowd.pid)
    ask(daemon, "job.start", job_id="churn", pid=churn.pid)


class Sizes:
    """How large a daemon is, and what it may be larger for: the pages that SQLite keeps, and the processes that there
    are. (As root it follows those of the whole machine, whatever it shows, and keeps the room.)"""

    def __init__(self, daemon):
        self.daemon = daemon
        self.threads = 0

    def has_ticked(self, ticks):
        loads = pathlib.Path("/proc/loadavg").read_text(encoding="ascii").split()
        self.threads = max(self.threads, int(loads[3].partition("/")[2]))
        return ask(self.daemon, "daemon.status")["ticks"] >= ticks

    def await_ticks(self, ticks):
        wait_until(lambda: self.has_ticked(ticks), 300, f"{ticks} ticks")

    def after(self, ticks):
        """MB after so many ticks, without the pages of the database that are cached."""
        self.await_ticks(ticks)
        return smallest_rss_mb(self.daemon.pid) - PAGE_FACTOR * min(CACHE_MB, self.database_mb())

    def database_mb(self):
        if not self.daemon.database.exists():
            return 0
        (size,) = self.daemon.rows("SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size")
        return size["bytes"] / 2**20


# Not beside those that start thousands: as root it follows these as well, and grows for them.
@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("database", ["off", None], ids=["bare", "storing"])
def test_memory_does_not_grow_from_tick_to_tick(run_metron, daemon, database):
    """Processes come and go all the while. SQLite keeps the pages that it has written, up to 4 MiB of them."""
    stored = {"database": database} if database else {}
    daemon.start(watch="jobs", log_file="off", env={"METRON_TEST_INTERVAL": "0.001"}, **stored)
    start_churn(run_metron, daemon)
    growths, ticks, sizes = [], FEW_TICKS, Sizes(daemon)
    # A leak grows in every span; what queues up while the machine is busy, and room for more processes, does not.
    while len(growths) < 6 and (not growths or growths[-1] >= GROWTH_MB):
        begin, threads = sizes.after(ticks), sizes.threads
        ticks += MANY_TICKS - FEW_TICKS
        end = sizes.after(ticks)
        growths.append(end - begin - MEMBER_MB * (sizes.threads - threads if len(growths) == 5 else 0))
        print(f"\n{begin:.2f} MB without pages, {MANY_TICKS - FEW_TICKS} ticks later {end:.2f}")
    assert dc.profile_value(ask(daemon, "job.profile", job_id="churn"), "spawns") > 10
    assert min(growths) < GROWTH_MB


def smallest_rss_mb(pid):
    """Within a moment: what a snapshot holds while it is written comes and goes."""
    readings = []
    for _ in range(20):
        readings.append(dc.rss_mb(pid))
        time.sleep(0.01)
    return min(readings)


# ---- after a crowd ----

CROWD = 2500
KEPT_MB = 7  # pages that SQLite caches, and what an allocator keeps


def anonymous_mb(pid):
    return int(dc.status_of(pid)["RssAnon"].split()[0]) / 1024


def test_memory_is_given_back_after_a_crowd_has_gone(run_as_user):
    """Of an ordinary user, who has no other processes: what the machine does besides is not followed."""
    room_for_processes(CROWD)
    dc.need_daemon(run_as_user)
    daemon = Daemon(run_as_user, run_as_user.cwd, ANOTHER_USER if os.getuid() == 0 else None)

    try:
        daemon.start(interval=0.2)
        begin = anonymous_mb(daemon.pid)
        for _ in range(2):
            crowd = subprocess.Popen([*run_as_user.wrapper, run_as_user.workload("manyprocs"), str(CROWD), "-"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert crowd.stdout.readline() == b"ready\n"
            wait_until(lambda: processes_followed(daemon) >= CROWD, 120, "the crowd")
            largest = anonymous_mb(daemon.pid)
            crowd.communicate(b"\n")
            wait_until(lambda: processes_followed(daemon) < CROWD / 10, 120, "its end")
        print(f"\n{begin:.1f} MB without a crowd, {largest:.1f} with one of {CROWD}")
        wait_until(lambda: anonymous_mb(daemon.pid) < begin + KEPT_MB, 120, "memory that is given back")
        assert daemon.stop() == 0
    finally:
        daemon.end()
