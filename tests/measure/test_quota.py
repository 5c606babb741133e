"""A CPU quota: what the target may use is the quota, and the time it was held back is the kernel's figure."""

import pytest

# A quarter of a core; short periods, so that the last one weighs little.
QUOTA_US, PERIOD_US = 5_000, 20_000
CPUS = QUOTA_US / PERIOD_US


def favour(group):
    """Before all others on this machine: on a busy one it would get less than the quota, which then never bites."""
    if group.version == 1:
        group.write("cpu.shares", 262144)
    else:
        group.write("cpu.weight", 10000)


@pytest.mark.parametrize("choice", ["auto", "inherited"])
def test_throttled_time_and_allowance_are_those_of_the_group(run_metron, groups, choice):
    group = groups.cpu(QUOTA_US, PERIOD_US)
    favour(group)
    before, stat = group.throttled_seconds(), group.path / "cpu.stat"
    # metron is in the group too, and held back before the command and after it: so the command reads the file as well.
    run = run_metron(f"--cgroup {choice} --sample-interval 0.1 --report-interval 0.5",
                     ["sh", "-c", f"cat {stat}; {run_metron.workload('burn')} 0.2 2; cat {stat}"], outer=group.inside)
    assert run.returncode == 0, run
    throttled = group.throttled_seconds() - before
    first, last = group.throttled_in(run.stdout.decode())
    assert last - first > 0.3, "the quota does bite: else this proves nothing"
    assert last - first - 1e-6 <= run.summary["cgroup_cpu_throttled_seconds"] <= throttled + 1e-6
    assert run.info["system"]["may_use"]["cpus"] == pytest.approx(CPUS)
    assert run.summary["proc_cpu_seconds"] == pytest.approx(0.4, abs=0.05)  # with three small programs beside it


def test_quota_of_an_ancestor_bounds_too(run_metron, groups):
    group = groups.cpu(QUOTA_US, PERIOD_US)
    below = groups.below(group)
    run = run_metron("", "true", outer=below.inside)
    assert run.returncode == 0, run
    assert run.info["system"]["may_use"]["cpus"] == pytest.approx(CPUS)
