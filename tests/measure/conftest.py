"""Fixtures of the tests that compare metron's numbers with the kernel's own."""

import os

import pytest

from support import cgroups, processes
from support.users import ANOTHER_USER


@pytest.fixture
def groups(programs):
    """groups.memory(limit=...), groups.cpu(quota, period): groups around metron, removed however the test ends."""
    made = cgroups.Groups(programs)
    yield made
    processes.end_leftovers()
    made.remove()


@pytest.fixture
def user_memory(groups):
    """A memory group that the command of an ordinary user may join."""
    if os.getuid() != 0:
        pytest.skip("only root may make a memory group")
    return cgroups.UserMemory(groups, ANOTHER_USER)


@pytest.fixture
def own_leaf(run_metron):
    """metron, in a place where it can give the command a group of its own."""
    cgroups.need_own_leaf(run_metron)
    return run_metron


@pytest.fixture
def leaf_truth(programs, cpu_truth, tmp_path):
    """The kernel's count of a command that metron has in a group of its own.

    Where cpuacct of v1 is mounted, a group there: another hierarchy than the unified one, so the command is in
    both. Else a group below metron's.
    """
    if cgroups.own_group("cgroup", "cpuacct") is not None and cgroups.own_group("cgroup2", "") is not None:
        return cpu_truth(as_user=False, version="v1")
    return cgroups.WithinTruth(programs, tmp_path)


@pytest.fixture
def within_truth(programs, tmp_path):
    return cgroups.WithinTruth(programs, tmp_path)
