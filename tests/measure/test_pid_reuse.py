"""A pid that is used again is another process: nothing of the first is the second's, and nothing is lost.

The pair is made by the kernel's own means (clone3 with set_tid, root only): two processes with one number, one after the
other, each using 400 ms of CPU. They have a pid namespace to themselves, where nobody else takes the number; only the
process connector has no answer there.
"""

import os

import pytest

from support.cputruth import JOINING_SECONDS
from support.namespaces import OWN_PIDS, through
from support.records import per_pid

BURN_MS = 400


@pytest.fixture
def pair(run_metron):
    """pair(args, truth) -> (run, the pid of the pair, the kernel's count of its CPU)."""
    if os.getuid() != 0:
        pytest.skip("a pid can be asked for only as root (clone3)")

    def make(args, truth, own_pids=True):
        path = run_metron.cwd / "pid"
        run = run_metron(f"--sample-interval 0.05 --report-interval 30 {args}",
                         [*truth.join, run_metron.workload("pidreuse"), str(path), str(BURN_MS)],
                         outer=[*truth.outer, *(through(OWN_PIDS) if own_pids else ())])
        assert run.returncode == 0, run
        pid = path.read_text(encoding="utf-8").strip()
        assert pid != "no", "a pid can be asked for"
        return run, pid, truth.seconds()

    return make


@pytest.mark.parametrize("events", ["connector", "off"])
def test_pid_used_again_is_counted_for_both(run_metron, pair, cpu_truth, events):
    run_metron.need_events(events)
    run, pid, seconds = pair(f"--cgroup off --events {events}", cpu_truth(as_user=False), events == "off")
    assert run.summary["proc_cpu_seconds"] == pytest.approx(seconds, rel=0.005)
    assert run.info["provenance"]["cpu_is_conserved"] is True
    for key in ("proc_rss", "proc_pdcpu", "proc_start_time", "proc_minor_faults", "io_rchar"):
        assert {pid, f"{pid}#2"} <= set(per_pid(run.usage, key)), key
    starts = per_pid(run.usage, "proc_start_time")
    assert starts[pid] != starts[f"{pid}#2"]
    for name in (pid, f"{pid}#2"):
        assert sum(per_pid(run.usage, "proc_own_cpu_seconds")[name]) <= BURN_MS / 1000 + 0.05
        assert max(per_pid(run.usage, "proc_etime")[name]) <= run.wall
    exits = [event for event in run.events if event["event_type"] == "exit" and event["pid"] == int(pid)]
    assert len(exits) == 2


def test_pid_used_again_changes_nothing_for_the_leaf(own_leaf, pair, leaf_truth):
    run, _, seconds = pair("--cgroup own", leaf_truth)
    # Less than a second of CPU: what joining the truth's group costs is more than 0.1 % of it.
    assert run.info["headline"]["cpu_seconds"]["value"] == pytest.approx(seconds, rel=0.001, abs=JOINING_SECONDS)
    assert abs(run.summary["ledger_unaccounted_seconds"]) <= 0.005 * seconds
