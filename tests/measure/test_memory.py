"""Peaks between two samples are not lost, and each number says which memory it is."""

import subprocess

import pytest

from support.held import await_record, await_records, go_on, records
from support.processes import wait_until
from support.records import per_pid

SPIKE = 300_000_000


def test_spike_of_a_living_process_is_in_its_high_water_mark(run_as_user):
    started = run_as_user.start("--sample-interval 1 --report-interval 1",
                                [run_as_user.workload("spike"), str(SPIKE), "20", "-"], stdin=subprocess.PIPE)
    await_record(started, lambda values: max(values.get("proc_hwm", {"": 0}).values()) > 0.99 * SPIKE, "its mark")
    run = started.finish()
    assert run.returncode == 0
    assert run.summary["proc_hwm_max"] == pytest.approx(SPIKE, rel=0.01)
    assert run.info["headline"]["peak_memory_bytes"]["value"] == pytest.approx(SPIKE, rel=0.01)
    (marks,) = per_pid(run.usage, "proc_hwm").values()
    assert max(marks) == pytest.approx(SPIKE, rel=0.01)


def test_spike_of_a_child_that_has_ended_is_not_lost(run_as_user):
    run = run_as_user("--sample-interval 1 --report-interval 1",
                      [run_as_user.workload("spike"), "-c", str(SPIKE), "20", "1.6"])
    assert run.returncode == 0
    assert run.summary["rusage_max_rss"] == pytest.approx(SPIKE, rel=0.01)
    assert run.info["headline"]["peak_memory_bytes"]["value"] == pytest.approx(SPIKE, rel=0.01)


def test_spike_of_a_command_shorter_than_a_sample_is_not_lost(run_as_user):
    run = run_as_user("", [run_as_user.workload("spike"), str(SPIKE), "20"])
    assert run.summary["rusage_max_rss"] == pytest.approx(SPIKE, rel=0.01)
    assert run.info["headline"]["peak_memory_bytes"]["value"] == pytest.approx(SPIKE, rel=0.01)


def test_small_command_is_not_charged_with_metrons_size(run_as_user):
    """ru_maxrss starts from the spawner's size: metron must still be small when it spawns."""
    run = run_as_user("", "true")
    assert run.summary["rusage_max_rss"] < 4 * 2**20
    assert run.info["headline"]["peak_memory_bytes"]["value"] < 4 * 2**20


def test_sampled_rss_follows_what_is_held(run_as_user):
    started = run_as_user.start("--sample-interval 0.1 --report-interval 0.1",
                                [run_as_user.workload("spike"), str(SPIKE), "-", "-"], stdin=subprocess.PIPE)
    await_record(started, lambda values: values.get("proc_rss_total", 0) > 0.98 * SPIKE, "all that it holds")
    go_on(started)
    await_records(started, 2 + len(records(started)))  # at least as many records after the release
    run = started.finish()
    assert run.summary["proc_peak_rss_total"] == pytest.approx(SPIKE, rel=0.02)
    assert run.summary["proc_ave_rss_total"] < 0.9 * SPIKE
    assert run.summary["proc_peak_vsz_total"] >= SPIKE


def test_rss_of_the_tree_is_the_peak_of_sums(run_as_user):
    """Two spikes one after the other: the peak of the sum is one spike, not two."""
    spike = f"{run_as_user.workload('spike')} {SPIKE // 3} -"
    started = run_as_user.start("--sample-interval 0.1 --report-interval 0.1", ["sh", "-c", f"{spike}; {spike}; true"],
                                stdin=subprocess.PIPE)
    for count in (1, 2):
        wait_until(lambda count=count: count == sum(max(values) > 0.9 * SPIKE / 3 for values in
                                                    per_pid(records(started), "proc_rss").values()), 60, "a spike")
        go_on(started)
    run = started.finish()
    assert run.summary["proc_peak_rss_total"] == pytest.approx(SPIKE / 3, rel=0.1)
    peaks = sorted(max(values) for values in per_pid(run.usage, "proc_rss").values())
    assert len(peaks) >= 3 and peaks[-2] == pytest.approx(SPIKE / 3, rel=0.1)


def test_headline_names_its_method(run_as_user):
    run = run_as_user("--sample-interval 0.1", [run_as_user.workload("spike"), str(SPIKE), "300"])
    headline = run.info["headline"]
    for question in ("cpu_seconds", "peak_memory_bytes", "processes"):
        assert isinstance(headline[question]["source"], str) and headline[question]["source"]
    assert headline["cpu_seconds"]["source"] in run.summary
    assert headline["cpu_seconds"]["value"] == run.summary[headline["cpu_seconds"]["source"]]
