"""A command that reads a large file is charged with the page cache it fills; that is not memory it needs."""

import os

import pytest

from support.cgroups import MIB

FILE_BYTES = 256 * MIB
SMALL = 24 * MIB


@pytest.fixture
def large_file(programs):
    """A file that anyone may read and of which nothing is in the page cache."""
    path = programs / "large"
    with open(path, "wb") as file:
        for _ in range(FILE_BYTES // MIB):
            file.write(os.urandom(4096) * (MIB // 4096))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.fchmod(file.fileno(), 0o644)
    yield path
    path.unlink()


def test_page_cache_is_in_the_charge_and_not_in_the_headline(own_leaf, groups, large_file):
    around = groups.memory()
    run = own_leaf("--cgroup own --sample-interval 0.1 --report-interval 0.5",
                   [own_leaf.workload("readfile"), str(large_file), "0.5"], outer=around.inside)
    assert run.returncode == 0, run
    if "cgroup_mem_peak" not in run.summary:
        pytest.skip(f"no memory in an own leaf here: {run.info['provenance']['collectors']['cgroup']}")
    if around.cached_bytes() < FILE_BYTES / 2:
        pytest.skip("this file system keeps its pages in nobody's charge")
    assert run.summary["cgroup_mem_peak"] >= 0.95 * FILE_BYTES
    assert run.summary["cgroup_peak_mem_file"] >= 0.95 * FILE_BYTES
    assert run.summary["cgroup_peak_mem_anon_shmem"] <= SMALL
    headline = run.info["headline"]["peak_memory_bytes"]
    assert headline["value"] <= SMALL
    assert headline["source"] != "cgroup_mem_peak"
    assert headline["upper_bound"]["value"] == run.summary["cgroup_mem_peak"]


def test_page_cache_is_no_memory_of_a_process(run_as_user, large_file):
    run = run_as_user("--cgroup off --sample-interval 0.1",
                      [run_as_user.workload("readfile"), str(large_file), "0.3"])
    assert run.returncode == 0, run
    assert run.info["headline"]["peak_memory_bytes"]["value"] <= SMALL
