"""A spike between two samples is in the peak, whoever had it and whatever we may read."""

import pytest

SPIKE = 300_000_000
TOLERANCE = 0.03
MARGIN = 8 << 20  # what a small program has besides: its libraries, page tables and kernel memory


def spike(runner, args, *options):
    """Allocated, touched, held for 20 ms and given back between the samples at 0.1 s and at 2 s."""
    script = f"sleep 0.4; exec {runner.workload('spike')} {' '.join(options)} {SPIKE} 20 2.1"
    run = runner(f"--sample-interval 2 --report-interval 2 {args}", ["sh", "-c", script])
    assert run.returncode == 0, run
    return run


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
    run = spike(run_as_user, "--cgroup off", *options)
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["value"] == pytest.approx(SPIKE, rel=TOLERANCE)
    assert methods(run)[headline["source"]] == headline["value"]
    assert run.summary["proc_peak_rss_total"] < SPIKE / 5, "no sample saw it: else this proves nothing"


def test_spike_is_in_the_headline_and_in_the_charge_of_an_own_leaf(own_leaf):
    run = spike(own_leaf, "--cgroup own")
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
    """The spike comes 1.3 s after the start and goes: it is in the second of the reports, and in no other."""
    command = f"sleep 1.3; {own_leaf.workload('spike')} {SPIKE} 20 1.5"
    run = own_leaf("--cgroup own --sample-interval 0.5 --report-interval 1", ["sh", "-c", command])
    assert run.returncode == 0
    peaks = [record["measurements"].get("cgroup_mem_interval_peak") for record in run.usage]
    if peaks[0] is None:
        absent = run.info["provenance"]["collectors"]["cgroup"].get("absent", {})
        pytest.skip(f"the peak cannot be reset here: {absent.get('cgroup_mem_interval_peak')}")
    assert len(peaks) >= 3
    assert SPIKE <= peaks[1] <= SPIKE * (1 + TOLERANCE) + MARGIN
    for peak in (peaks[0], *peaks[2:]):
        assert peak is None or peak < SPIKE / 5
    assert run.summary["cgroup_peak_mem_interval_peak"] == peaks[1]
    assert run.summary["cgroup_mem_peak"] == peaks[1], "kept across the resets"
