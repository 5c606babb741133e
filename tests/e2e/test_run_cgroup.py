"""The control group of a run: made for the command alone, removed afterwards, never anybody else's business."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from support.processes import send_signal, wait_until
from support.run import Started

LEAF = "metron-"


def memberships(text):
    """{controllers: path} of a /proc/PID/cgroup."""
    return {line.split(":", 2)[1]: line.split(":", 2)[2] for line in text.strip().splitlines()}


def leaf_folders():
    """Every group that a metron of this worker has made, wherever it is mounted."""
    mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
              if " - cgroup" in line]
    # os.walk, because it bears that others remove their groups meanwhile.
    found = {pathlib.Path(folder) / name for mount in mounts for folder, names, _ in os.walk(mount)
             for name in names if re.match(rf"{LEAF}\d", name)}
    return {path for path in found if int(re.match(rf"{LEAF}(\d+)", path.name)[1]) in Started.pids and path.is_dir()}


@pytest.fixture
def leaves():
    """The leaves that a test has made so far: those that were there before do not count."""
    before = leaf_folders()
    return lambda: leaf_folders() - before


@pytest.fixture
def owned(run_metron):
    """run_metron, where it can make a group; skipped by name elsewhere."""
    probe = run_metron("-q --cgroup own", "true", prefix="probe_", check=False)
    if probe.returncode != 0:
        pytest.skip(f"no own group here: {probe.message.strip()}")
    return run_metron


def test_command_runs_in_a_group_of_its_own_and_metron_does_not(owned):
    started = owned.start("--sample-interval 0.1 --report-interval 0.1",
                          ["sh", "-c", "cat /proc/self/cgroup; touch begun; read line"], stdin=subprocess.PIPE)
    wait_until((started.cwd / "begun").exists, what="the command")
    wait_until(lambda: started.path("usage.jsonl").read_bytes(), what="a record")
    ours = memberships(pathlib.Path(f"/proc/{started.pid}/cgroup").read_text(encoding="utf-8"))
    run = started.finish(data=b"\n")
    theirs = memberships(run.stdout.decode())
    moved = {name for name in ours if ours[name] != theirs[name]}
    assert moved, "in at least one hierarchy"
    assert moved <= {"", "memory", "cpuacct", "cpu,cpuacct", "pids", "blkio"}, "scheduling and cpusets stay as they were"
    for name in moved:
        assert f"/{LEAF}{started.pid}" in theirs[name]
        if not ours[name].endswith("-self"):
            assert theirs[name].startswith(ours[name].rstrip("/") + "/"), "below the group metron was started in"
    assert run.info["provenance"]["cgroup_scope"] == "own" and run.info["provenance"]["tier"] == "own cgroup"
    assert {record["measurements"].get("cgroup_scope") for record in run.usage if record["num_samples"]} == {"own"}


def test_group_is_gone_when_the_run_has_ended(owned, leaves):
    owned("", "true")
    assert not leaves()


def test_group_of_a_command_that_cannot_be_started_is_gone_too(owned, leaves):
    run = owned("", "/nonexistent/program", check=False)
    assert run.returncode == 127
    assert not leaves()


def test_group_of_a_failed_start_of_the_record_is_gone_too(owned, leaves):
    run = owned("", "true", prefix="/proc/nowhere/x_", check=False)
    assert run.returncode != 0
    assert not leaves()


def test_groups_that_the_command_made_below_its_own_go_as_well(owned, leaves):
    run = owned("", ["sh", "-c", 'path=$(sed -n "s/^0:://p" /proc/self/cgroup); '
                     'mount=$(sed -n "s/.* \\([^ ]*\\) [^ ]* - cgroup2 .*/\\1/p" /proc/self/mountinfo | head -1); '
                     '[ -n "$mount" ] && mkdir -p "$mount$path/a/b"; true'])
    assert run.returncode == 0
    assert not leaves()


def test_group_that_a_killed_metron_left_is_removed_by_a_later_run_once_it_is_empty(owned, leaves):
    started = owned.start("", "sleep 60", stdout=None, stderr=None)
    pids = [int(pid) for pid in wait_until(lambda: [pid for folder in leaves() for pid in
                                                    (folder / "cgroup.procs").read_text().split()],
                                           what="the command in its group")]
    started.signal(signal.SIGKILL)
    started.process.wait()
    left = leaves()
    assert left, "nobody was there to remove it"
    owned("", "true", prefix="second_")
    assert leaves() == left, "as long as somebody lives in it, it stays"
    for pid in set(pids):
        send_signal(pid, signal.SIGKILL)
    wait_until(lambda: owned("--clobber", "true", prefix="third_") and not leaves(), what="a run that removes it")


def test_group_of_a_living_metron_is_left_alone_by_others(owned, leaves):
    started = owned.start("", ["sh", "-c", "touch begun; read line"], stdin=subprocess.PIPE)
    wait_until((started.cwd / "begun").exists, what="the command")
    mine = leaves()
    assert mine
    owned("", "true", prefix="other_")
    assert leaves() == mine
    run = started.finish(data=b"\n")
    assert run.returncode == 0 and run.summary["cgroup_cpu_seconds"] >= 0
    assert not leaves()


def test_survivor_stays_where_it_is(owned, leaves):
    run = owned("", ["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & sleep 0.1"])
    survivor = run.info["survivors"]["processes"][0]["pid"]
    assert f"/{LEAF}" in pathlib.Path(f"/proc/{survivor}/cgroup").read_text(encoding="utf-8")
    send_signal(survivor, signal.SIGKILL)
    wait_until(lambda: owned("--clobber", "true", prefix="next_") and not leaves(), what="a run that removes it")


def run_and_look(runner, args, leaves):
    """The finished run, and the leaves there were while its command ran."""
    started = runner.start(args, ["sh", "-c", "touch begun; read line"], stdin=subprocess.PIPE)
    wait_until((started.cwd / "begun").exists, what="the command")
    made = leaves()
    return started.finish(data=b"\n"), made


def test_inherited_group_is_only_read(run_metron, leaves):
    run, made = run_and_look(run_metron, "--cgroup inherited --sample-interval 0.1", leaves)
    assert not made
    provenance = run.info["provenance"]
    if provenance["cgroup_scope"] == "none":
        pytest.skip("no control group is to be seen here")
    assert provenance["cgroup_scope"] == "inherited" and provenance["tier"] == "plain"
    assert run.info["headline"]["cpu_seconds"]["source"] == "proc_cpu_seconds", "others are in that group too"


def test_switched_off_no_key_of_a_group_is_there_and_the_reason_is(run_metron, leaves):
    run, made = run_and_look(run_metron, "--cgroup off", leaves)
    assert not made
    assert not [key for key in run.summary if key.startswith("cgroup_")]
    assert run.info["provenance"]["collectors"]["cgroup"] == {"available": False, "reason": "switched off"}


def test_own_that_cannot_be_had_is_an_error_before_the_command_starts(run_as_user, tmp_path):
    if run_as_user("-q --cgroup own", "true", prefix="probe_", check=False).returncode == 0:
        pytest.skip("an ordinary user may make groups here")
    run = run_as_user("--cgroup own", ["sh", "-c", "echo ran"], check=False)
    assert run.returncode == 1
    assert "--cgroup own" in run.message and b"ran" not in run.stdout


def test_without_permission_auto_says_why_it_is_not_own(run_as_user):
    run = run_as_user("", "true")
    provenance = run.info["provenance"]
    if provenance["cgroup_scope"] == "own":
        pytest.skip("an ordinary user may make groups here")
    assert provenance["cgroup_reason"] and provenance["tier_reason"]


def test_own_group_and_somebody_elses_session_do_not_go_together(run_metron):
    run = run_metron("--cgroup own --mode current-session", "true", check=False)
    assert run.returncode == 2 and "current-session" not in run.message.split("needs")[0]


def test_metron_within_metron_makes_a_group_within_the_group(owned, leaves):
    inner = [owned.binary, "run", "-q", "-p", "inner_", "--", "sh", "-c", "cat /proc/self/cgroup"]
    run = owned("", inner)
    assert run.returncode == 0
    assert run.stdout.count(f"/{LEAF}".encode()) >= 2
    assert not leaves()


def test_two_methods_that_disagree_give_one_warning_that_says_by_how_much(owned):
    run = owned("--events off", [owned.workload("forkstorm"), "-i", "100", "5"])
    warnings = [line for line in run.message.splitlines() if "warning" in line]
    assert len(warnings) == 1 and "control group counts" in warnings[0] and "/proc readings" in warnings[0]
    assert run.info["headline"]["cpu_seconds"]["source"] == "cgroup_cpu_seconds"
    assert run.summary["ledger_unaccounted_seconds"] == pytest.approx(
        run.summary["cgroup_cpu_seconds"] - run.summary["proc_cpu_seconds"], abs=0.01)
    assert run.summary["ledger_unaccounted_seconds"] > 0.3


def test_every_method_of_peak_memory_is_told_with_its_bias(owned):
    run = owned("--sample-interval 0.1", [owned.workload("spike"), "50000000", "400"])
    methods = {method["source"]: method for method in run.info["peak_memory"]}
    assert {"smaps_peak_pss_total", "proc_peak_rss_total", "proc_hwm_max"} <= set(methods)
    for method in methods.values():
        assert method["method"] and method["bias"]
        assert run.summary[method["source"]] == method["value"]
    headline = run.info["headline"]["peak_memory_bytes"]
    if "cgroup_mem_peak" in methods:
        bound = headline.get("upper_bound", {"value": None})["value"]
        charged = run.summary["cgroup_mem_peak"]
        assert bound == (charged if charged >= headline["value"] else None), "a bound is never below what it bounds"


def test_stall_budget_is_a_share_of_the_wall_time(owned):
    run = owned("--sample-interval 0.1", [owned.workload("burn"), "0.6", "4"])
    for share in run.info["stall"].values():
        assert 0 <= share["share"] <= 1
        assert share["source"] in run.summary
    if os.cpu_count() < 4 and run.info["stall"]["cpu"]["source"].startswith("cgroup_"):
        assert run.info["stall"]["cpu"]["share"] > 0.3, "four threads on fewer cores wait for each other"
