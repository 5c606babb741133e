"""With a group of its own the command's CPU is the kernel's count, to 0.1 %; without one the ledger's, to 0.5 %."""

import signal
import subprocess

import pytest

from support import processes
from support.cputruth import JOINING_SECONDS
from test_cpu_conserved import measured

WITH_LEAF = 0.001
WITHOUT = 0.005


def assert_counted_by_the_leaf(run, seconds):
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "cgroup_cpu_seconds"
    assert headline["value"] == pytest.approx(seconds, rel=WITH_LEAF, abs=JOINING_SECONDS)
    assert run.summary["cgroup_cpu_seconds"] == headline["value"]
    assert run.info["provenance"]["cgroup_scope"] == "own"
    deltas = [record["measurements"]["cgroup_cpu_seconds"] for record in run.usage]
    assert min(deltas) >= 0
    assert sum(deltas) == pytest.approx(headline["value"], rel=1e-6, abs=1e-6)
    parts = run.summary["cgroup_cpu_user_seconds"] + run.summary["cgroup_cpu_system_seconds"]
    assert parts == pytest.approx(headline["value"], rel=WITH_LEAF)


def assert_two_methods_agree(run, seconds):
    """Where no time is dropped, the ledger has it all, and nothing is left unaccounted."""
    assert run.summary["proc_cpu_seconds"] == pytest.approx(seconds, rel=WITHOUT)
    assert abs(run.summary["ledger_unaccounted_seconds"]) <= WITHOUT * seconds


def test_350_children_of_3_ms_with_an_own_leaf(own_leaf, leaf_truth):
    run, seconds = measured(own_leaf, leaf_truth, "--cgroup own", "forkstorm", "350", "3")
    assert seconds > 1
    assert_counted_by_the_leaf(run, seconds)
    assert_two_methods_agree(run, seconds)


def test_350_children_of_3_ms_without_a_leaf(run_as_user, cpu_truth):
    """test_cpu_conserved.py has thousands of them."""
    run, seconds = measured(run_as_user, cpu_truth(), "--cgroup off", "forkstorm", "350", "3")
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "proc_cpu_seconds"
    assert headline["value"] == pytest.approx(seconds, rel=WITHOUT)
    assert run.info["provenance"]["cpu_is_conserved"] is True
    assert run.info["provenance"]["tier"] == "plain"
    assert not any(key.startswith("cgroup_") for key in run.summary)
    assert "ledger_unaccounted_seconds" not in run.summary


def test_daemon_that_escapes_by_setsid_is_in_the_leaf(own_leaf, leaf_truth):
    run, seconds = measured(own_leaf, leaf_truth, "--cgroup own --wait tree", "escape", "1", "0")
    assert_counted_by_the_leaf(run, seconds)
    assert_two_methods_agree(run, seconds)


def test_a_group_below_the_leaf_is_counted_in_it(own_leaf, within_truth):
    """The other truth, on any host with v2: the command makes a group of its own inside metron's."""
    run, seconds = measured(own_leaf, within_truth, "--cgroup own", "burn", "0.6", "2")
    assert_counted_by_the_leaf(run, seconds)
    assert_two_methods_agree(run, seconds)


@pytest.mark.parametrize("args, command, code", [
    ("", "true", 0), ("", "sh -c 'kill -9 $$'", 137), ("--wait tree", "sh -c 'sleep 0.3 & exit 4'", 4),
], ids=["ended", "killed", "outlived"])
def test_no_group_is_left_behind(own_leaf, groups, args, command, code):
    place = groups.everywhere()
    run = own_leaf(f"--cgroup own {args}", command, outer=place.inside)
    assert run.returncode == code
    assert run.info["provenance"]["cgroup_scope"] == "own"
    assert not place.subgroups()


def test_leaf_that_others_still_live_in_is_swept_by_the_next_run(own_leaf, groups):
    place = groups.everywhere()
    run = own_leaf("--cgroup own", ["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], outer=place.inside)
    assert run.returncode == 0
    survivor = int(run.stdout)
    assert processes.alive(survivor) and place.subgroups(), "nobody is thrown out of it"
    processes.send_signal(survivor, signal.SIGKILL)
    processes.wait_until(lambda: not processes.alive(survivor), what="the survivor's end")
    processes.end_leftovers()
    assert own_leaf("--cgroup own --clobber", "true", outer=place.inside).returncode == 0
    assert not place.subgroups()


def test_leaf_of_a_killed_metron_is_swept_by_the_next_run(own_leaf, groups):
    place = groups.everywhere()
    started = own_leaf.start("--cgroup own", ["sh", "-c", "echo up; exec sleep 600"], outer=place.inside)
    assert started.process.stdout.readline() == b"up\n"
    started.process.kill()
    started.process.wait()  # its capture process holds the pipes as long as the command writes
    processes.end_leftovers()
    assert place.subgroups(), "a killed metron cleans up nothing: else this proves nothing"
    assert own_leaf("--cgroup own --clobber", "true", outer=place.inside).returncode == 0
    assert not place.subgroups()


@pytest.mark.parametrize("choice", ["off", "inherited"])
def test_no_leaf_is_made_where_none_is_wanted(run_metron, groups, choice):
    place = groups.everywhere()
    started = run_metron.start(f"--cgroup {choice}", ["sh", "-c", "echo up; exec cat"], outer=place.inside,
                               stdin=subprocess.PIPE)
    assert started.process.stdout.readline() == b"up\n"
    assert not place.subgroups()
    assert started.finish().returncode == 0
