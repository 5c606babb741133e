"""The daemon's snapshots as another program sees them: the machine, its processes, who is watched, the log.

The client shares no code with metron. Numbers are held against the kernel's own, read here.
"""

import os
import pathlib
import signal
import time

import pytest

from support import daemon_client as dc
from support import processes
from support.daemon_client import Shell, check_fields, job_shell, need_another_user, process_in, start_child
from support.processes import wait_until

INTERVAL = 0.2


# ---- a fresh one, out of turn ----

def test_a_fresh_snapshot_is_taken_for_its_answer(start_daemon):
    daemon = dc.without_snapshots(start_daemon, watch=None)
    with daemon.client() as client:
        before = client.call("daemon.top", fresh=True)
        child = start_child(daemon.runner, "sleep", "600")
        wait_until(lambda: process_in(client.call("daemon.top", fresh=True), child.pid), what="it in a fresh snapshot")
        assert client.call("daemon.top")["timestamp"] > before["timestamp"]
        dc.expect_error(client, -32602, "daemon.top", fresh="now")


def test_who_asks_for_fresh_snapshots_all_the_time_gets_one_a_second(start_daemon):
    """Each is stored and published: the history would hold nothing else, and rates over a few milliseconds."""
    daemon = dc.without_snapshots(start_daemon)
    asked, status = 0, {"ticks": 0}
    with daemon.client() as client:
        first = client.call("daemon.top", fresh=True)["timestamp"]
        while asked < 300 or status["ticks"] < 2 or status["uptime_seconds"] < 3:
            last = client.call("daemon.top", fresh=True)["timestamp"]
            status = client.call("daemon.status")
            asked += 1
    daemon.wait_for_stored(last)
    assert status["ticks"] <= status["uptime_seconds"] + 2
    (stored,) = daemon.rows("SELECT count(*) AS count FROM snapshots WHERE timestamp > ?", first - 0.001)
    assert 2 <= stored["count"] <= status["uptime_seconds"] + 2


# ---- the snapshot: the machine ----

def test_every_field_of_a_snapshot_has_its_name_and_type(either):
    snapshot = either.top_when()
    assert snapshot["daemon_pid"] == either.pid
    own = process_in(either.top_when(lambda snapshot: process_in(snapshot, either.pid)), either.pid)
    check_fields(own, dc.PROCESS_FIELDS, dc.PROCESS_OPTIONAL, "the daemon's own process")
    assert "job_id" not in own and "sheet_num" not in own, "it belongs to no job"


def test_snapshots_come_at_the_interval_and_are_stamped_in_unix_seconds(daemon):
    def skipped():
        """Ticks without a snapshot, and snapshots that are not in the log."""
        status = daemon.call("daemon.status")
        return status["missed_ticks"] + status["store"]["snapshots_dropped"]
    skipped_before = skipped()
    first, last = (top["conductor_uptime_seconds"] for top in (daemon.top_when(), daemon.tops(6)[-1]))
    wait_until(lambda: daemon.logged()[-1]["conductor_uptime_seconds"] >= last, what="the last one in the log")
    stamps = [snapshot["conductor_uptime_seconds"] for snapshot in daemon.logged()]
    assert stamps == sorted(set(stamps))
    count = sum(first < stamp <= last for stamp in stamps)
    # A tick may be late by less than an interval; one that is later is missed, and counted.
    assert count - 1 <= (last - first) / INTERVAL <= count + skipped() - skipped_before + 1
    assert abs(daemon.logged()[-1]["timestamp"] - time.time()) < 3600, "the time of day, in UTC"


def test_memory_of_the_machine_is_the_kernels_in_mib(either):
    total = dc.meminfo_mb()["MemTotal"]

    def same(snapshot):
        # Other processes take and free memory between the two readings.
        return abs(snapshot["system_memory_available_mb"] - dc.meminfo_mb()["MemAvailable"]) < 0.01 * total
    snapshot = either.top_when(same, what="the memory that is available")
    assert snapshot["system_memory_total_mb"] == pytest.approx(total, abs=0.1)
    assert snapshot["system_memory_used_mb"] == pytest.approx(
        snapshot["system_memory_total_mb"] - snapshot["system_memory_available_mb"], abs=1)


def test_load_averages_are_the_kernels(either):
    def same(snapshot):
        told = [snapshot[f"load_avg_{minutes}"] for minutes in (1, 5, 15)]
        return told == pytest.approx(dc.load_averages(), abs=0.006)
    either.top_when(same, what="the kernel's load averages")


def test_the_daemon_tells_its_own_size_and_age(either):
    # It may grow between the two readings.
    either.top_when(lambda snapshot: snapshot["daemon_rss_mb"] == pytest.approx(dc.rss_mb(either.pid), rel=0.2, abs=2),
                    what="its size")
    begin = time.monotonic()
    first = either.top_when()["conductor_uptime_seconds"]
    between = time.monotonic()
    time.sleep(0.3)  # so that it grows by more than it is rounded by
    least = time.monotonic() - between
    last = either.top_when()["conductor_uptime_seconds"]
    assert 0 < first < last <= dc.age(either.pid)
    assert least - 0.001 <= last - first <= time.monotonic() - begin + 0.001


def test_a_machine_without_a_gpu_tells_of_none(daemon):
    if list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        pytest.skip("there is a GPU")
    assert not daemon.top_when().get("gpus")


# ---- the snapshot: processes ----

def test_a_known_child_is_told_as_the_kernel_tells_it(either):
    """Memory to 0.5 MiB (the kernel itself counts it in batches), everything else exactly."""
    child = dc.start_known_child(either.runner)
    youngest = dc.age(child.pid)
    # It sleeps for good once its threads have all begun.
    snapshot = either.top_when(lambda snapshot: "open_fds" in (told := process_in(snapshot, child.pid))
                               and told["state"] == "S", what="a snapshot in which the child sleeps")
    told = process_in(snapshot, child.pid)
    check_fields(told, dc.PROCESS_FIELDS, dc.PROCESS_OPTIONAL, "the child")
    assert told["ppid"] == os.getpid()
    assert told["state"] == processes.state(child.pid)
    assert told["threads"] == int(dc.status_of(child.pid)["Threads"]) == 4
    assert told["open_fds"] == dc.open_fds(child.pid) >= 10
    assert told["rss_mb"] == pytest.approx(dc.rss_mb(child.pid), abs=0.5)
    assert told["rss_mb"] > 64
    assert told["vms_mb"] == pytest.approx(dc.vms_mb(child.pid), abs=0.1)
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert youngest - 2 * tick <= told["age_seconds"] <= dc.age(child.pid) + tick, "rounded to 0.01 s"
    assert "job_id" not in told and "sheet_num" not in told and "syscall_counts" not in told


def test_a_command_is_the_whole_command_line(either):
    child = start_child(either.runner, "sleep", "600.25", "0.5")
    snapshot = either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    assert process_in(snapshot, child.pid)["command"] == dc.command_line(child.pid) == "sleep 600.25 0.5"


def test_a_command_that_is_cut_says_so(either):
    """The daemon keeps 4,096 bytes of each, a run more."""
    cut, whole = (start_child(either.runner, "sh", "-c", "sleep 600; exit 0", "w" * length)
                  for length in (9000, 3000))
    snapshot = either.top_when(lambda snapshot: all(
        process_in(snapshot, child.pid).get("command", "").startswith("sh") for child in (cut, whole)))
    row = process_in(snapshot, cut.pid)
    assert row["command_truncated"] is True
    assert row["command"].endswith("w…") and 4096 - 10 < len(row["command"]) < 4096 + 10
    row = process_in(snapshot, whole.pid)
    assert row["command"].endswith("www") and "command_truncated" not in row


def test_secrets_on_a_command_line_are_masked(either):
    child = start_child(either.runner, "sh", "-c", "sleep 600; exit 0", "--password=hunter2")
    snapshot = either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    assert "hunter2" not in process_in(snapshot, child.pid)["command"]


def test_open_files_are_counted_anew_when_they_grow(daemon):
    shell = Shell(daemon.runner)
    before = dc.open_fds(shell.pid)
    assert shell.ask("exec 7< /dev/null 8< /dev/null; echo done") == "done"
    assert dc.open_fds(shell.pid) == before + 2
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid).get("open_fds") == before + 2,
                    what="two more files")


def test_a_stopped_process_is_told_as_stopped(daemon):
    child = start_child(daemon.runner, "sleep", "600")
    child.send_signal(signal.SIGSTOP)
    daemon.top_when(lambda snapshot: process_in(snapshot, child.pid).get("state") == "T", what="state T")


def check_cpu_percent(daemon, pid):
    least, used, most, told = dc.with_a_steady_clock(lambda: used_in_five_intervals(daemon, pid))
    assert least <= used <= most, told


def used_in_five_intervals(daemon, pid):
    """100 is one core. Five intervals of the log together are what the kernel counted between the first snapshot and
    the last, read here all the while: from before a snapshot's time to after it was logged, whenever that was."""
    begin = daemon.top_when(lambda snapshot: "cpu_percent" in process_in(snapshot, pid))["timestamp"]
    readings, after = [(dc.cpu_seconds(pid), time.time())], {}

    def logged_since():
        return [snapshot for snapshot in daemon.logged() if snapshot["timestamp"] > begin]
    while len(after) < 6:
        for snapshot in logged_since():
            if snapshot["timestamp"] not in after:
                after[snapshot["timestamp"]] = dc.cpu_seconds(pid)
        readings.append((dc.cpu_seconds(pid), time.time()))
        time.sleep(0.01)
    logged = logged_since()[:6]
    stamps = [snapshot["timestamp"] for snapshot in logged]
    told = [process_in(snapshot, pid)["cpu_percent"] for snapshot in logged[1:]]
    used = sum(rate / 100 * (end - begin) for rate, begin, end in zip(told, stamps, stamps[1:]))
    first, last = ([cpu for cpu, moment in readings if moment < stamp][-1:] or [0] for stamp in (stamps[0], stamps[-1]))
    tick = 2 / os.sysconf("SC_CLK_TCK")
    return last[0] - after[stamps[0]] - tick, used, after[stamps[-1]] - first[0] + tick, told


def test_cpu_percent_of_a_burner_is_what_the_kernel_counted(either):
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    check_cpu_percent(either, child.pid)


def test_cpu_percent_counts_every_core_a_process_uses(daemon):
    child = start_child(daemon.runner, daemon.runner.workload("burn"), "600", "3")
    check_cpu_percent(daemon, child.pid)


def test_cpu_percent_of_a_fresh_burner_is_there_from_the_second_snapshot_on(either):
    child = start_child(either.runner, either.runner.workload("burn"), "600")

    def logged():
        found = [process_in(snapshot, child.pid) for snapshot in either.logged()]
        # Before exec it may not have run at all.
        return [process for process in found if process and "burn" in process["command"].split()[0]]
    wait_until(lambda: len(logged()) >= 4 and any(process.get("cpu_percent") for process in logged()),
               what="four snapshots of it, and a CPU for it")
    seen = logged()
    assert "cpu_percent" not in seen[0] or seen[0]["cpu_percent"] > 0, "before a second reading: known, or absent"
    assert all("cpu_percent" in process for process in seen[1:])


def test_cpu_percent_of_a_sleeper_is_near_0_and_there(either):
    child = start_child(either.runner, "sleep", "600")
    either.top_when(lambda snapshot: process_in(snapshot, child.pid).get("state") == "S")
    for snapshot in either.tops(4)[2:]:
        assert 0 <= process_in(snapshot, child.pid)["cpu_percent"] < 1


def test_a_zombie_is_counted_named_and_has_its_parent(either):
    parent = start_child(either.runner, either.runner.workload("zombies"), "1", "0", "600")
    (zombie,) = wait_until(lambda: processes.descendants(parent.pid), what="the zombie")
    wait_until(lambda: processes.state(zombie) == "Z")
    snapshot = either.top_when(lambda snapshot: zombie in snapshot["zombie_pids"])
    told = process_in(snapshot, zombie)
    assert told["state"] == "Z" and told["ppid"] == parent.pid
    assert snapshot["zombie_count"] == len(snapshot["zombie_pids"]) >= 1
    parent.kill()
    parent.wait()
    os.waitpid(zombie, 0)  # it has come to us
    either.top_when(lambda snapshot: zombie not in snapshot["zombie_pids"], what="the end of the zombie")


def test_a_process_that_has_ended_is_told_no_more(either):
    child = start_child(either.runner, "sleep", "600")
    either.top_when(lambda snapshot: process_in(snapshot, child.pid))
    child.kill()
    child.wait()
    either.top_when(lambda snapshot: not process_in(snapshot, child.pid), what="the end of the process")


# ---- who is watched ----

def test_a_users_daemon_tells_of_that_users_processes_only(start_user_daemon):
    daemon = start_user_daemon()
    uid = daemon.uid if daemon.uid is not None else os.getuid()
    child = start_child(daemon.runner, "sleep", "600")
    snapshot = daemon.top_when(lambda snapshot: process_in(snapshot, child.pid))
    owners = {dc.owner(process["pid"]) for process in snapshot["processes"]} - {None}
    assert owners == {uid}


def test_roots_daemon_tells_of_everybody_but_kernel_threads(daemon, run_as_user):
    need_another_user()
    child = start_child(run_as_user, "sleep", "600")
    snapshot = daemon.top_when(lambda snapshot: process_in(snapshot, child.pid))
    told = {process["pid"] for process in snapshot["processes"]}
    assert {os.getpid(), daemon.pid, child.pid, 1} <= told
    assert not [pid for pid in told if dc.is_kernel_thread(pid)]


def test_watching_jobs_only_leaves_everybody_else_out(either_jobs):
    outside = start_child(either_jobs.runner, "sleep", "600")
    shell = job_shell(either_jobs, "narrow")
    inside = shell.start("sleep 600")
    snapshot = either_jobs.top_when(lambda snapshot: process_in(snapshot, inside))
    assert {process["pid"] for process in snapshot["processes"]} == {shell.pid, inside}
    assert not process_in(snapshot, outside.pid)


# ---- the log ----

def test_the_log_has_every_snapshot_as_it_was_told_while_it_is_written(either):
    assert either.call("daemon.top.stream") == {"jsonl_path": str(either.log_file)}
    child = start_child(either.runner, either.runner.workload("burn"), "600")
    told = either.tops(5)
    wait_until(lambda: either.logged()[-1]["timestamp"] >= told[-1]["timestamp"], what="the last one in the log")
    logged = {snapshot["timestamp"]: dc.check_snapshot(snapshot) for snapshot in either.logged()}
    assert list(logged) == sorted(logged)
    # On a machine that hardly runs at all the queue to the disk may be full; what it drops is counted.
    missing = [snapshot for snapshot in told if snapshot["timestamp"] not in logged]
    assert len(missing) <= either.call("daemon.status")["store"]["snapshots_dropped"]
    told = [snapshot for snapshot in told if snapshot not in missing]
    for snapshot in told:
        for name in set(dc.SNAPSHOT_FIELDS) - {"conductor_uptime_seconds"}:
            assert logged[snapshot["timestamp"]][name] == snapshot[name], name
    assert process_in(logged[told[-1]["timestamp"]], child.pid)
