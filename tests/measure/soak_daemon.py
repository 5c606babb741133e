"""The daemon over a long time: `make soak`.

Ten minutes with 4,000 processes in 50 jobs: two daemons watch the same processes at once, one with the task iterator,
one with files alone. METRON_SOAK_SECONDS makes it shorter. And memory over many thousand ticks.
"""

import os
import time

import pytest

from support import daemon_client as dc
from support import kernel_events
from support.daemon_client import Daemon
from support.processes import wait_until
from test_daemon_cost import (JOBS, MEMORY_MB, PROCESSES_EACH, Sizes, daemon, jobs_shown, smallest_rss_mb, start_churn,
                              start_jobs)
from test_scale import room_for_processes

SECONDS = int(os.environ.get("METRON_SOAK_SECONDS", "600"))
INTERVAL = 1.0
# Percent of one core.
LIMITS = {"bpf": 3, "off": 12}
HEALTH_SECONDS = 0.05
GROWTH_MB = 1


@pytest.fixture
def daemons(run_metron):
    made = {}
    for events in LIMITS:
        folder = run_metron.cwd / events
        folder.mkdir()
        made[events] = Daemon(run_metron, folder)
    yield made
    for daemon in made.values():
        daemon.end()


def seconds_of_health(daemon):
    with daemon.client() as client:
        begin = time.monotonic()
        client.call("daemon.health")
        return time.monotonic() - begin


def test_4000_processes_in_50_jobs_cost_little_for_ten_minutes(run_metron, daemons):
    kernel_events.need(run_metron)
    room_for_processes(JOBS * PROCESSES_EACH)
    for events, daemon in daemons.items():
        daemon.start(interval=INTERVAL, log_file="off", env={"METRON_EVENTS": events})
    jobs = start_jobs(run_metron, *daemons.values(), seconds=SECONDS + 120)
    for daemon in daemons.values():
        wait_until(lambda: jobs_shown(daemon).items() >= jobs.items(), 30, "every process in daemon.top, with its job")
    before = {events: (dc.cpu_seconds(daemon.pid), daemon.call("daemon.status"))
              for events, daemon in daemons.items()}
    begin, largest, slowest = time.monotonic(), dict.fromkeys(daemons, 0.0), dict.fromkeys(daemons, 0.0)
    while time.monotonic() - begin < SECONDS:
        time.sleep(0.7)
        for events, daemon in daemons.items():
            largest[events] = max(largest[events], dc.rss_mb(daemon.pid))
            slowest[events] = max(slowest[events], seconds_of_health(daemon))
    wall = time.monotonic() - begin
    for events, daemon in daemons.items():
        cpu_before, status_before = before[events]
        share = (dc.cpu_seconds(daemon.pid) - cpu_before) / wall * 100
        status = daemon.call("daemon.status")
        ticks, missed = (status[name] - status_before[name] for name in ("ticks", "missed_ticks"))
        print(f"\n{events}: {wall:.0f} s, {ticks} ticks, {missed} missed, {share:.2f} % of a core, at most "
              f"{largest[events]:.1f} MB (VmHWM {dc.status_of(daemon.pid)['VmHWM']}), the longest tick "
              f"{status['longest_tick_seconds'] * 1e3:.0f} ms, health at worst {slowest[events] * 1e3:.0f} ms")
        assert missed == 0
        assert ticks >= wall / INTERVAL - 2
        assert share < LIMITS[events]
        assert largest[events] < MEMORY_MB
        assert slowest[events] < HEALTH_SECONDS
        assert jobs_shown(daemon).items() >= jobs.items()


# SQLite keeps 4 MiB of pages: it takes some thousand ticks until it has read or written as many.
@pytest.mark.parametrize("database, few, many", [("off", 2000, 10_000), (None, 8000, 16_000)], ids=["bare", "storing"])
def test_memory_does_not_grow_over_thousands_of_ticks(run_metron, daemon, database, few, many):
    stored = {"database": database} if database else {}
    daemon.start(watch="jobs", log_file="off", env={"METRON_TEST_INTERVAL": "0.001"}, **stored)
    start_churn(run_metron, daemon)
    sizes = Sizes(daemon)
    sizes.await_ticks(few)
    begin = smallest_rss_mb(daemon.pid)
    sizes.await_ticks(many)
    growth = smallest_rss_mb(daemon.pid) - begin
    print(f"\n{begin:.1f} MB, {many - few} ticks later {growth:+.2f}")
    assert dc.profile_value(daemon.call("job.profile", job_id="churn"), "spawns") > 100
    assert growth < GROWTH_MB
