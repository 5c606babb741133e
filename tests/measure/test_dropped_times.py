"""CPU that the kernel adds to no parent: right with a group of its own, and told of without one.

Two ways to lose it: children of a parent that ignores SIGCHLD, and a pid namespace whose first process leaves
while others live in it. The ledger cannot have that time; a group can.
"""

import pytest

from support.cputruth import JOINING_SECONDS
from test_cpu_conserved import measured

WITH_LEAF = 0.001
WITHOUT = 0.005
ARGS = "--sample-interval 0.2 --report-interval 0.4"

SIGCHLD_IGNORED = ("forkstorm", "-i", "500", "5")
NAMESPACE_TORN_DOWN = ("teardown", "2", "0.8", "0.8")


@pytest.mark.parametrize("command, dropped_share", [(SIGCHLD_IGNORED, 0.9), (NAMESPACE_TORN_DOWN, 0.3)],
                         ids=["sigchld-ignored", "pid-namespace-torn-down"])
def test_dropped_times_are_in_the_leaf(own_leaf, leaf_truth, command, dropped_share):
    run, seconds = measured(own_leaf, leaf_truth, f"{ARGS} --cgroup own", *command)
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "cgroup_cpu_seconds"
    assert headline["value"] == pytest.approx(seconds, rel=WITH_LEAF, abs=JOINING_SECONDS)
    unaccounted = run.summary["ledger_unaccounted_seconds"]
    assert unaccounted == pytest.approx(headline["value"] - run.summary["proc_cpu_seconds"], abs=0.002)
    assert unaccounted >= dropped_share * seconds, "the difference is told"


@pytest.mark.parametrize("command", [SIGCHLD_IGNORED, NAMESPACE_TORN_DOWN],
                         ids=["sigchld-ignored", "pid-namespace-torn-down"])
def test_dropped_times_are_told_of_without_a_leaf(run_as_user, cpu_truth, command):
    run, seconds = measured(run_as_user, cpu_truth(), f"{ARGS} --cgroup off", *command)
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "proc_cpu_seconds"
    assert headline["value"] <= seconds * (1 + WITHOUT), "never too much"
    assert headline["value"] < seconds * (1 - WITHOUT), "the workload does lose some: else this proves nothing"
    assert run.info["provenance"]["cpu_is_conserved"] is False
    assert headline["note"]
    assert "ledger_unaccounted_seconds" not in run.summary, "nothing to compare with"
