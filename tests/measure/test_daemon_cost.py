"""What the daemon itself costs: CPU and memory with 4,000 processes in 50 jobs, and memory over thousands of ticks.

CPU is the kernel's count of the daemon, and of several windows the cheapest one is judged: a busy machine makes the
same work dearer, never cheaper.
"""

import subprocess
import time

import pytest

from support import daemon_client as dc
from support import kernel_events
from support.daemon_client import Daemon
from support.processes import wait_until
from test_scale import room_for_processes

pytestmark = pytest.mark.alone

JOBS, PROCESSES_EACH = 50, 80
INTERVAL = 1.0
WINDOWS, WINDOW_SECONDS = 4, 5
MEMORY_MB = 64

GROWTH_MB = 1

CHURN = "while :; do sleep 0.02 & sleep 0.01; true & wait $!; done"


@pytest.fixture
def daemon(run_metron):
    dc.need_daemon(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made
    made.end()


def start_jobs(runner, *daemons, seconds=300):
    """The jobs' processes, sleeping, and each one's job: {pid: job}."""
    jobs, crowds = {}, []
    for number in range(JOBS):
        path = runner.cwd / f"pids-{number}"
        crowds.append((f"job-{number}", path, subprocess.Popen(
            [runner.workload("manyprocs"), "-o", str(path), str(PROCESSES_EACH), str(seconds)],
            stdout=subprocess.PIPE)))
    for job, path, crowd in crowds:
        assert crowd.stdout.readline() == b"ready\n"
        for daemon in daemons:
            daemon.call("job.start", job_id=job, pid=crowd.pid)
        jobs.update(dict.fromkeys(map(int, path.read_text(encoding="utf-8").split()), job))
    assert len(jobs) == JOBS * PROCESSES_EACH
    return jobs


def cost_of(pid, limit):
    """CPU in percent of one core in the cheapest of several windows, and MB in the smallest: a storm of processes
    elsewhere on the machine is watched too. No more windows than it takes to see both below their limits."""
    shares, sizes = [], []
    while len(shares) < WINDOWS and not (shares and min(shares) < limit and min(sizes) < MEMORY_MB):
        cpu, begin = dc.cpu_seconds(pid), time.monotonic()
        time.sleep(WINDOW_SECONDS)
        shares.append((dc.cpu_seconds(pid) - cpu) / (time.monotonic() - begin) * 100)
        sizes.append(dc.rss_mb(pid))
    print(f"\nCPU of the daemon, % of one core: {', '.join(f'{share:.1f}' for share in shares)}")
    return min(shares), min(sizes)


@pytest.mark.slow
# Files alone cost about 3 %: with the iterator it has to be clearly less.
@pytest.mark.parametrize("events, limit", [("bpf", 2.5), ("off", 12)])
def test_4000_processes_in_50_jobs_cost_little_and_are_all_told(run_metron, daemon, not_sanitized, events, limit):
    room_for_processes(JOBS * PROCESSES_EACH)
    if events == "bpf":
        kernel_events.need(run_metron)
    daemon.start(interval=INTERVAL, log_file="off", env={"METRON_EVENTS": events})
    jobs = start_jobs(run_metron, daemon)
    wait_until(lambda: jobs_told(daemon).items() >= jobs.items(), 15, "every process in daemon.top, with its job")
    before = daemon.call("daemon.status")
    begin = time.monotonic()
    share, size = cost_of(daemon.pid, limit)
    after = daemon.call("daemon.status")
    print(f"{size:.1f} MB, at most {dc.status_of(daemon.pid)['VmHWM']}, "
          f"the longest tick {after['longest_tick_seconds'] * 1e3:.0f} ms")
    assert after["ticks"] - before["ticks"] >= (time.monotonic() - begin) / INTERVAL - 2
    assert after["missed_ticks"] == before["missed_ticks"]
    assert share < limit
    assert size < MEMORY_MB
    assert jobs_told(daemon).items() >= jobs.items()


def jobs_told(daemon):
    """{pid: job} of the latest snapshot."""
    with daemon.client() as client:
        return {process["pid"]: process.get("job_id") for process in client.call("daemon.top")["processes"]}


# SQLite keeps 4 MiB of pages: it takes some thousand ticks until it has read or written as many.
@pytest.mark.slow
@pytest.mark.parametrize("database, few, many", [("off", 2000, 10_000), (None, 8000, 16_000)], ids=["bare", "storing"])
def test_memory_does_not_grow_over_thousands_of_ticks(run_metron, daemon, not_sanitized, database, few, many):
    """Processes come and go all the while."""
    stored = {"database": database} if database else {}
    daemon.start(watch="jobs", log_file="off", env={"METRON_TEST_INTERVAL": "0.001"}, **stored)
    crowd = subprocess.Popen([run_metron.workload("manyprocs"), "50", "300"], stdout=subprocess.PIPE)
    assert crowd.stdout.readline() == b"ready\n"
    churn = subprocess.Popen(["sh", "-c", CHURN])
    daemon.call("job.start", job_id="crowd", pid=crowd.pid)
    daemon.call("job.start", job_id="churn", pid=churn.pid)
    growths, ticks = [], few
    # A leak grows in every span; what queues up while the machine is busy does not.
    while not growths or (growths[-1] >= GROWTH_MB and len(growths) < 3):
        begin = size_after(daemon, ticks)
        ticks += many - few
        growths.append(size_after(daemon, ticks) - begin)
        print(f"\n{begin:.1f} MB, {many - few} ticks later {growths[-1]:+.2f}")
    assert dc.profile_value(daemon.call("job.profile", job_id="churn"), "spawns") > 100
    assert min(growths) < GROWTH_MB


def size_after(daemon, ticks):
    wait_until(lambda: daemon.call("daemon.status")["ticks"] >= ticks, 180, f"{ticks} ticks")
    return smallest_rss_mb(daemon.pid)


def smallest_rss_mb(pid):
    """Within a moment: what a snapshot holds while it is written comes and goes."""
    readings = []
    for _ in range(50):
        readings.append(dc.rss_mb(pid))
        time.sleep(0.01)
    return min(readings)
