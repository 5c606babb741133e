"""A spike between two samples is in the peak, whoever had it and whatever we may read."""

import subprocess

import pytest

from support.held import await_records, go_on, paused
from support.processes import wait_until

SPIKE = 300_000_000
TOLERANCE = 0.03
MARGIN = 8 << 20  # what a small program has besides: its libraries, page tables and kernel memory


def spike(runner, args, *options):
    """Allocated, touched and given back while metron is stopped. Returns the run, and how many records there were
    before."""
    path = runner.cwd / "given-back"
    script = f"read go; exec {runner.workload('spike')} {' '.join(options)} -o {path} {SPIKE} 0 -"
    started = runner.start(f"--sample-interval 0.5 --report-interval 1 {args}", ["sh", "-c", script],
                           stdin=subprocess.PIPE)
    before = len(await_records(started, 1))
    with paused(started):
        go_on(started)
        wait_until(path.exists, 120, "the end of the spike")
    await_records(started, 2)
    run = started.finish()
    assert run.returncode == 0, run
    return run, before


def methods(run):
    """{source: value} of all the peaks side by side."""
    listed = run.info["peak_memory"]
    for entry in listed:
        assert set(entry) >= {"source", "value", "method", "bias"}, entry
        assert entry["method"] and entry["bias"]
    values = {entry["source"]: entry["value"] for entry in listed}
    assert len(values) == len(listed), "each method once"
    return values


@pytest.mark.parametrize("options", [[], ["-c"]], ids=["own", "of-a-child-that-has-ended"])
def test_spike_is_in_the_headline_without_a_leaf(run_as_user, options):
    run, _ = spike(run_as_user, "--cgroup off", *options)
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["value"] == pytest.approx(SPIKE, rel=TOLERANCE)
    assert methods(run)[headline["source"]] == headline["value"]
    assert run.summary["proc_peak_rss_total"] < SPIKE / 5, "no sample saw it: else this proves nothing"


def test_spike_is_in_the_headline_and_in_the_charge_of_an_own_leaf(own_leaf):
    run, _ = spike(own_leaf, "--cgroup own")
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["value"] == pytest.approx(SPIKE, rel=TOLERANCE)
    if "cgroup_mem_peak" not in run.summary:
        pytest.skip(f"no memory in an own leaf here: {run.info['provenance']['collectors']['cgroup']}")
    assert SPIKE <= run.summary["cgroup_mem_peak"] <= SPIKE * (1 + TOLERANCE) + MARGIN
    if "upper_bound" in headline:
        assert headline["upper_bound"] == {"value": run.summary["cgroup_mem_peak"], "source": "cgroup_mem_peak"}
    else:
        assert run.summary["cgroup_mem_peak"] < headline["value"], "libraries may be charged to somebody else"
    assert methods(run)["cgroup_mem_peak"] == run.summary["cgroup_mem_peak"]


def test_peak_of_each_report_interval_is_its_own(own_leaf):
    """The spike comes after a report and goes: it is in the next one, and in no other."""
    run, before = spike(own_leaf, "--cgroup own")
    peaks = [record["measurements"].get("cgroup_mem_interval_peak") for record in run.usage]
    if peaks[0] is None:
        absent = run.info["provenance"]["collectors"]["cgroup"].get("absent", {})
        pytest.skip(f"the peak cannot be reset here: {absent.get('cgroup_mem_interval_peak')}")
    spiked = max(peak for peak in peaks if peak is not None)
    assert peaks.index(spiked) >= before
    peaks.remove(spiked)
    assert SPIKE <= spiked <= SPIKE * (1 + TOLERANCE) + MARGIN
    assert all(peak is None or peak < SPIKE / 5 for peak in peaks)
    assert run.summary["cgroup_peak_mem_interval_peak"] == spiked
    assert run.summary["cgroup_mem_peak"] == spiked, "kept across the resets"
