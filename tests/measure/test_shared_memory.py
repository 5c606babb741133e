"""Eight workers that share 200 MB hold 200 MB: summed RSS counts them nine times, PSS and the group do not.

Truth is anon + shmem in memory.stat of a group, read here while all of them hold it. Tolerance 3 %.

They hold it until a record has the sum over all of them, however long a busy machine takes for it.
"""

import os
import subprocess

import pytest

from support.held import await_record

SHARED = 200_000_000
WORKERS = 8
# Processes are read one after the other: what is shared changes meanwhile.
TOLERANCE = 0.03
# One reading of all of them must fit into the budget, which half a sample bounds: else there is no sum.
ARGS = "--sample-interval 2 --report-interval 2 --smaps-interval 2 --smaps-budget 1"


def start(runner, args, option, prefix=(), outer=()):
    """Starts the workers; returns once all of them have the memory."""
    started = runner.start(args,
                           [*prefix, runner.workload("sharers"), *option, str(SHARED), str(WORKERS), "-"],
                           outer=outer, stdin=subprocess.PIPE)
    assert started.process.stdout.readline() == b"ready\n", started.process.stderr.read()
    return started


def finish(started, key="smaps_rss_total"):
    """Lets them go once a record has a sum over all of them."""
    await_record(started, lambda values: values.get(key, 0) > 0.95 * (WORKERS + 1) * SHARED, f"{key} of all workers")
    return started.finish()


def assert_told_apart(run, held):
    assert run.returncode == 0, run
    assert held == pytest.approx(SHARED, rel=0.02), "the workload: else this proves nothing"
    assert run.summary["proc_peak_rss_total"] > 5 * held
    assert run.summary["smaps_peak_pss_total"] == pytest.approx(held, rel=TOLERANCE)
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["value"] == pytest.approx(held, rel=TOLERANCE)
    assert headline["source"] != "proc_peak_rss_total"
    sources = {entry["source"]: entry["value"] for entry in run.info["peak_memory"]}
    assert sources["proc_peak_rss_total"] == run.summary["proc_peak_rss_total"]
    assert sources["smaps_peak_pss_total"] == run.summary["smaps_peak_pss_total"]


VARIANTS = pytest.mark.parametrize("option", [[], ["-p"]], ids=["one-shared-mapping", "copy-on-write"])


@VARIANTS
def test_sharing_workers_are_counted_once_for_an_ordinary_user(run_as_user, user_memory, option):
    started = start(run_as_user, f"{ARGS} --cgroup off", option, user_memory.join, user_memory.outer)
    held = user_memory.group.held_bytes()
    assert_told_apart(finish(started), held)


@VARIANTS
def test_sharing_workers_are_counted_once_in_an_own_leaf(own_leaf, groups, option):
    around = groups.memory()
    started = start(own_leaf, f"{ARGS} --cgroup own", option, outer=around.inside)
    leaf = around.leaf()
    if leaf is None or not os.path.exists(leaf.path / "memory.stat"):
        pytest.skip("an own leaf has no memory controller here")
    held = leaf.held_bytes()
    run = finish(started)
    assert_told_apart(run, held)
    assert run.summary["cgroup_peak_mem_anon_shmem"] == pytest.approx(held, rel=TOLERANCE)
    assert run.summary["cgroup_mem_peak"] >= held


def test_sum_of_pss_taken_while_pages_change_hands_is_not_too_high(run_as_user, user_memory):
    """Processes are read one after the other. What had one owner when the first was read, and has nine when the
    last is, must not be counted as both: a sum that is of no instant is no measurement."""
    started = start(run_as_user, "--sample-interval 0.12 --report-interval 0.12 --cgroup off", [], user_memory.join,
                    user_memory.outer)
    held = user_memory.group.held_bytes()
    run = finish(started, "proc_rss_total")
    sums = [record["measurements"].get("smaps_pss_total", 0) for record in run.usage]
    assert max(sums) <= held * (1 + TOLERANCE), sums


def test_without_smaps_the_sum_of_rss_is_called_an_upper_bound(run_as_user):
    run = finish(start(run_as_user, f"{ARGS} --cgroup off --no-smaps", []), "proc_rss_total")
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["source"] == "proc_peak_rss_total"
    assert headline["value"] > 5 * SHARED
    assert "upper bound" in headline["note"]
    assert not any(key.startswith("smaps_") for key in run.summary)


def test_processes_too_large_to_be_read_do_not_hide_the_others(run_as_user):
    """Four that share nothing and may not be read for their shares: an upper bound, not the largest of them."""
    holder = f"{run_as_user.workload('sharers')} -p 60000000 0 - <&3"
    started = run_as_user.start("--sample-interval 0.1 --report-interval 0.1 --smaps-limit 0.01 --cgroup off",
                                ["sh", "-c", f"exec 3<&0; {holder} & {holder} & {holder} & {holder} & wait"],
                                stdin=subprocess.PIPE)
    await_record(started, lambda values: values.get("proc_rss_total", 0) > 240_000_000, "all four")
    run = started.finish()
    headline = run.info["headline"]["peak_memory_bytes"]
    assert run.summary["smaps_skipped"] > 0
    assert headline["source"] == "proc_peak_rss_total" and "upper bound" in headline["note"]
    assert headline["value"] == pytest.approx(240_000_000, rel=0.1)
