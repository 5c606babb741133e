"""A CPU quota: what the target may use is the quota, and the time it was held back is the kernel's figure."""

import pytest

pytestmark = pytest.mark.alone

# A quarter of a core, which bites on a busy machine too; short periods, so that the last one weighs little.
QUOTA_US, PERIOD_US = 5_000, 20_000
CPUS = QUOTA_US / PERIOD_US


@pytest.mark.parametrize("choice", ["auto", "inherited"])
def test_throttled_time_and_allowance_are_those_of_the_group(run_metron, groups, choice):
    group = groups.cpu(QUOTA_US, PERIOD_US)
    before = group.throttled_seconds()
    run = run_metron(f"--cgroup {choice} --sample-interval 0.1 --report-interval 0.5",
                     [run_metron.workload("burn"), "0.2", "2"], outer=group.inside)
    assert run.returncode == 0, run
    throttled = group.throttled_seconds() - before
    assert throttled > 0.5, "the quota does bite: else this proves nothing"
    assert run.summary["cgroup_cpu_throttled_seconds"] == pytest.approx(throttled, rel=0.05)
    assert run.info["system"]["may_use"]["cpus"] == pytest.approx(CPUS)
    assert run.summary["proc_cpu_seconds"] == pytest.approx(0.4, rel=0.02)


def test_quota_of_an_ancestor_bounds_too(run_metron, groups):
    group = groups.cpu(QUOTA_US, PERIOD_US)
    below = groups.below(group)
    run = run_metron("", "true", outer=below.inside)
    assert run.returncode == 0, run
    assert run.info["system"]["may_use"]["cpus"] == pytest.approx(CPUS)
