"""A storm of processes: the daemon stays under 64 MB, and every birth and end is stored or counted as lost.

The truth is the number of processes that the workload forks, which the kernel's own count (/proc/stat) confirms.
"""

import contextlib
import subprocess

import pytest

from support import daemon_client as dc
from support import kernel_events
from support.daemon_client import Daemon
from support.kernel_values import forks
from support.processes import wait_until
from support.stopped_thread import stopped
from test_daemon_cost import MEMBER_MB, processes_here

LIMIT_KB = 65536
# A writer that stands still has room for the events of 16,000.
STORM, STUCK_STORM = 8000, 20_000


@pytest.fixture
def daemon(run_metron):
    dc.need_daemon(run_metron)
    kernel_events.need(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made
    made.end()


def highest_kb(pid):
    return int(dc.status_of(pid)["VmHWM"].split()[0])


@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("stuck, storm", [(False, STORM), (True, STUCK_STORM)], ids=["writing", "stuck"])
def test_in_a_storm_memory_is_bounded_and_every_event_is_stored_or_counted(run_metron, daemon, stuck, storm):
    daemon.start(interval=5, log_file="off", watch="jobs", env={"METRON_EVENTS": "bpf"})
    wait_until(lambda: daemon.call("daemon.status")["processes_seen_by"] == "bpf", 60, "kernel events")
    line = ["sh", "-c", f"read go; {run_metron.workload('forkstorm')} {storm} 0; read end"]
    shell = subprocess.Popen(line, stdin=subprocess.PIPE)
    daemon.call("job.start", job_id="storm", pid=shell.pid)
    before = forks()
    with stopped(daemon.pid, "metron-writer") if stuck else contextlib.nullcontext():
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        wait_until(lambda: daemon.call("job.status", job_id="storm")["usage"]["exited"] > storm, 120, "its end")
        assert forks() - before > storm, "the kernel's count: else this proves nothing"
    shell.stdin.close()
    shell.wait()
    status, highest = daemon.call("daemon.status"), highest_kb(daemon.pid)
    lost = status["events_lost"] + status["store"]["events_dropped"]
    assert daemon.stop() == 0
    counts = {row["event_type"]: row["number"] for row in daemon.rows(
        "SELECT event_type, count(*) AS number FROM process_events WHERE job_id = 'storm' GROUP BY event_type")}
    stored = counts["spawn"] + counts["exit"]
    print(f"\n{stored} stored, {lost} counted as lost, at most {highest} kB, {status['ticks']} ticks")
    assert highest < LIMIT_KB + 1024 * MEMBER_MB * processes_here()  # as root it follows the whole machine
    assert lost or not stuck  # one that can write loses some where it gets too little CPU
    assert stored <= 2 * storm + 4
    assert stored + lost >= 2 * storm + 2
