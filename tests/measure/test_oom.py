"""Why it died: the OOM killer is named when it came, with whose limit it was, and not when it did not.

metron is started inside a group with a limit (the limit is then metron's and the command's alike); the command
offers itself to the OOM killer, so that it is the one who goes.
"""

import subprocess

import pytest

from support.cgroups import MIB
from support.held import await_records

LIMIT = 64 * MIB
HOG = 200 * MIB


@pytest.fixture(params=["own", "inherited"])
def choice(request):
    """Where the counters are read: in a leaf below the group metron is in, or in that group itself."""
    if request.param == "own":
        request.getfixturevalue("own_leaf")
    return request.param


def test_own_limit_is_named(run_metron, groups, choice):
    group = groups.memory(limit=LIMIT)
    run = run_metron(f"--cgroup {choice}", [run_metron.workload("hog"), str(HOG)], outer=group.inside)
    assert run.returncode == 137, run
    cause = run.summary["cause"]
    assert cause.startswith("killed by the OOM killer at its own limit of 64"), cause
    assert "MiB" in cause
    assert group.limit_hits() > 0, "the kernel says so too"
    if choice == "inherited":
        assert group.oom_kills() in (1, None)
    assert run.summary["cgroup_oom_kills"] == 1


def test_record_of_one_that_ran_out_of_memory_soon_is_kept(run_metron, groups, choice):
    """What it needs is the next question."""
    group = groups.memory(limit=LIMIT)
    run = run_metron(f"--cgroup {choice}", [run_metron.workload("hog"), str(HOG)], outer=group.inside, fail_time=600)
    assert run.returncode == 137 and run.summary["wall_clock_time"] < 600
    assert run.usage


def test_own_limit_of_memory_and_swap_is_named(run_metron, groups, choice):
    """Batch systems limit both to the same. In v1 it is then memory.memsw that is full, and memory.failcnt stays at
    0; on Linux 6.18 memory.memsw.failcnt does as well."""
    group = groups.memory(limit=LIMIT, with_swap=True)
    run = run_metron(f"--cgroup {choice}", [run_metron.workload("hog"), str(HOG)], outer=group.inside)
    assert run.returncode == 137, run
    if group.version == 1:
        assert int(group.read("memory.memsw.max_usage_in_bytes")) >= LIMIT - MIB, "the kernel says so too"
    cause = run.summary["cause"]
    assert cause.startswith("killed by the OOM killer at its own limit of 64"), cause


def test_limit_of_the_parent_group_is_named(run_metron, groups, choice):
    top = groups.memory(limit=LIMIT)
    group = groups.memory(below=top)
    run = run_metron(f"--cgroup {choice}", [run_metron.workload("hog"), str(HOG)], outer=group.inside)
    assert run.returncode == 137, run
    cause = run.summary["cause"]
    assert cause.startswith("killed by the OOM killer at the limit of its parent group"), cause
    assert top.limit_hits() > 0 and group.limit_hits() == 0, "the kernel says so too"
    if choice == "inherited":
        assert group.oom_kills() in (1, None)


def test_plain_sigkill_is_no_oom(run_metron, groups, choice):
    group = groups.memory(limit=LIMIT)
    run = run_metron(f"--cgroup {choice}", ["sh", "-c", "kill -9 $$"], outer=group.inside)
    assert run.returncode == 137
    assert group.oom_kills() in (0, None)
    cause = run.summary["cause"]
    assert "SIGKILL" in cause
    assert "OOM" not in cause and "oom" not in cause


def test_sigkill_in_a_group_where_others_were_killed_before_is_no_oom(run_metron, groups):
    """The counters are not at 0 when metron comes: only what rose since counts."""
    group = groups.memory(limit=LIMIT)
    first = run_metron("--cgroup inherited", [run_metron.workload("hog"), str(HOG)], outer=group.inside, prefix="a_")
    assert first.returncode == 137 and group.oom_kills() in (1, None)
    run = run_metron("--cgroup inherited", ["sh", "-c", "kill -9 $$"], outer=group.inside)
    assert run.returncode == 137
    assert "OOM" not in run.summary["cause"]
    assert run.summary.get("cgroup_oom_kills", 0) == 0


def test_sigkill_after_somebody_else_in_the_group_was_killed_is_no_oom(run_metron, groups):
    """The OOM killer takes another member of the inherited group; samples later the command is killed by hand."""
    group = groups.memory(limit=LIMIT)
    started = run_metron.start("--cgroup inherited --sample-interval 0.1 --report-interval 0.1",
                               ["sh", "-c", "read go; kill -9 $$"], outer=group.inside, stdin=subprocess.PIPE)
    await_records(started, 2)
    subprocess.run([*group.inside, run_metron.workload("hog"), str(HOG)], check=False)
    await_records(started, 10)  # a second: metron takes a kill within half a second for the command's own
    run = started.finish()
    assert run.returncode == 137
    assert group.oom_kills() in (1, None), "somebody was killed"
    assert run.summary["cause"].startswith("killed by SIGKILL"), run.summary["cause"]


def test_child_killed_while_the_command_goes_on_is_named_beside_its_exit_code(run_metron, groups, choice):
    group = groups.memory(limit=LIMIT)
    run = run_metron(f"--cgroup {choice}", [run_metron.workload("hog"), "-c", "3", str(HOG)], outer=group.inside)
    assert run.returncode == 3, run
    cause = run.summary["cause"]
    assert "exited with code 3" in cause, cause
    assert "OOM killer" in cause, cause
    assert run.summary["cgroup_oom_kills"] == 1


def test_137_of_a_command_that_says_so_itself_is_no_kill(run_metron, groups):
    group = groups.memory(limit=LIMIT)
    run = run_metron("", ["sh", "-c", "exit 137"], outer=group.inside)
    assert run.returncode == 137
    assert "exited with code 137" in run.summary["cause"]
    assert "OOM" not in run.summary["cause"]
