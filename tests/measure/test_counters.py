"""Faults, I/O, states, processes: counted once, and conserved where they can be."""

import collections
import os
import resource
import subprocess
import time

import pytest

from support.held import await_record, await_records, records
from support.namespaces import OWN_PIDS, through
from support.processes import wait_until
from support.records import per_pid, total


@pytest.mark.parametrize("options, pages", [(["20000"], 20000), (["-c", "4", "5000"], 20000)],
                         ids=["own", "of-children-waited-for"])
def test_minor_faults_are_conserved(run_as_user, options, pages):
    run = run_as_user("--sample-interval 0.05 --report-interval 0.1",
                      [run_as_user.workload("faults"), *options])
    assert run.returncode == 0
    assert run.summary["proc_minor_faults_total"] == pytest.approx(pages, rel=0.02)
    assert total(run.usage, "proc_minor_faults_total") == run.summary["proc_minor_faults_total"]


def test_minor_faults_of_one_process_are_its_own(run_as_user):
    run = run_as_user("--sample-interval 0.2 --report-interval 1",
                      [run_as_user.workload("faults"), "-c", "3", "7000", "1"])
    own = per_pid(run.usage, "proc_minor_faults")
    assert sum(own[run.root]) < 2000


def test_states_are_tallied(run_as_user):
    """One that burns runs, or waits for a CPU; one that reads waits for what it reads, once it has begun."""
    burn = run_as_user.workload("burn")
    started = run_as_user.start("--sample-interval 0.05 --report-interval 0.2",
                                ["sh", "-c", f"{burn} 600 & cat > /dev/null; kill $!; wait"], stdin=subprocess.PIPE)

    def settled(command, states):
        """In these states for eight samples and more, in others less often."""
        seen = records(started)
        commands = per_pid(seen, "proc_cmd")
        for pid, tallies in per_pid(seen, "proc_stat").items():
            if not commands[pid][-1].startswith(command):
                continue
            counts = collections.Counter()
            for tally in tallies:
                counts.update(tally)
            inside = sum(counts[state] for state in states)
            return inside >= 8 and inside >= 0.8 * sum(counts.values())
        return False

    wait_until(lambda: settled(burn, "R"), 60, "one that runs")
    # In D too, where a fork or an exec is held up by somebody else's work.
    wait_until(lambda: settled("cat", "SD"), 60, "one that waits")
    for record in started.finish().usage:
        for tally in record["measurements"].get("proc_stat", {}).values():
            assert all(isinstance(count, int) and count > 0 for count in tally.values())
            assert sum(tally.values()) <= record["num_samples"]


def test_every_short_child_is_seen_where_the_connector_answers(run_as_user):
    run_as_user.need_events("connector")
    run = run_as_user("--sample-interval 1 --events connector", [run_as_user.workload("forkstorm"), "500", "1"])
    assert run.info["headline"]["processes"]["value"] == 501
    assert run.summary["proc_spawned"] == 501
    assert run.summary["proc_exited"] == 501
    kinds = [event["event_type"] for event in run.events]
    assert kinds.count("spawn") == 501 and kinds.count("exit") == 501


def test_processes_without_events_are_a_lower_bound(run_as_user):
    run = run_as_user("--sample-interval 0.1 --events off", [run_as_user.workload("forkstorm"), "200", "2"])
    assert run.returncode == 0
    assert 1 <= run.info["headline"]["processes"]["value"] <= 201
    assert "lower bound" in run.bytes("info.json").decode() or "at least" in run.message


def test_orphans_are_followed_to_their_end(run_as_user):
    path = run_as_user.cwd / "orphan"
    run = run_as_user("--sample-interval 0.1 --report-interval 0.3 --wait tree",
                      [run_as_user.workload("escape"), "-o", str(path), "0.8", "0"])
    orphan = path.read_text().strip()
    assert orphan in per_pid(run.usage, "proc_rss")
    assert sum(per_pid(run.usage, "proc_own_cpu_seconds")[orphan]) > 0.4
    exits = [event for event in run.events if event["event_type"] == "exit"]
    assert int(orphan) in {event["pid"] for event in exits}


def test_a_pid_used_again_is_another_process(run_metron):
    if os.getuid() != 0:
        pytest.skip("a pid can be asked for only as root (clone3)")
    path = run_metron.cwd / "pid"
    run = run_metron("--sample-interval 0.05 --report-interval 30",
                     [run_metron.workload("pidreuse"), str(path), "300"],
                     outer=through(OWN_PIDS))  # nobody else takes the number there
    assert run.returncode == 0
    pid = path.read_text().strip()
    own = per_pid(run.usage, "proc_own_cpu_seconds")
    assert pid in own and f"{pid}#2" in own
    assert sum(own[f"{pid}#2"]) <= 0.35
    starts = per_pid(run.usage, "proc_start_time")
    assert starts[pid] != starts[f"{pid}#2"]


def test_written_bytes_are_in_rusage(run_metron):
    path = run_metron.cwd / "data"
    run = run_metron("", [run_metron.workload("writer"), "-d", str(32 << 20), str(path)], check=False)
    if run.returncode != 0:
        pytest.skip(f"no O_DIRECT in {run_metron.cwd}: {run.message.strip().splitlines()[:1]}")
    run.check()
    assert run.summary["rusage_out_bytes"] == pytest.approx(32 << 20, rel=0.05)


def test_threads_and_descriptors_are_counted(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 5", [run_metron.workload("burn"), "0.25", "4"])
    (threads,) = per_pid(run.usage, "proc_threads").values()
    assert max(threads) == 4
    assert run.summary["proc_peak_threads_total"] == 4
    # A record has the highest of its window: the last one knows nothing of the limit before.
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.2 --clobber",
                               ["sh", "-c", "exec 7</dev/null 8</dev/null; ulimit -Sn 100; exec cat"],
                               stdin=subprocess.PIPE)
    await_record(started, lambda values: list(values.get("proc_fd_limit", {}).values()) == [100] and
                 list(values["proc_fds"].values()) == [5], "the limit, and the descriptors")
    run = started.finish()
    (descriptors,) = per_pid(run.usage, "proc_fds").values()
    assert descriptors[-1] == 5, "before that its shell may have had one more for a moment"
    (limits,) = per_pid(run.usage, "proc_fd_limit").values()
    assert limits[-1] == 100


def test_context_switches_include_every_thread(run_metron):
    command = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.02; done"
    run = run_metron("--sample-interval 0.1", ["sh", "-c", command])
    assert run.summary["rusage_ctx_voluntary"] >= 40


def test_elapsed_time_of_a_process_is_its_age(run_metron):
    def now():
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    started = run_metron.start("--sample-interval 0.1 --report-interval 0.1", "cat", stdin=subprocess.PIPE)
    await_record(started, lambda values: "cat" in values.get("proc_cmd", {}).values(), "cat")
    (pid,) = [int(pid) for pid in per_pid(records(started), "proc_cmd")]
    tick = 1 / os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        born = int(file.read().rpartition(")")[2].split()[19]) * tick  # cut down to a tick
    before = now()
    (age,) = await_records(started, 3)[-1]["measurements"]["proc_etime"].values()
    assert before - born - tick <= age <= now() - born + tick
    (ages,) = per_pid(started.finish().usage, "proc_etime").values()
    assert ages == sorted(ages)


def cpu_of_ended_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_metron_reports_its_own_cost(run_metron):
    before = cpu_of_ended_children()
    started = run_metron.start("--sample-interval 0.01 --report-interval 0.1", "cat", stdin=subprocess.PIPE)
    await_records(started, 8)
    run = started.finish()
    used = cpu_of_ended_children() - before - run.summary["proc_cpu_seconds"]
    assert run.summary["self_samples"] >= run.summary["num_samples"] >= 8
    # All that the kernel counted but for its end: when it has written that number, and takes everything down.
    assert used / 2 <= run.summary["self_cpu_seconds"] <= used + 0.001
    assert run.summary["self_peak_rss"] > 100_000
    assert 0 <= run.summary["self_missed_ticks"] <= run.wall / 0.01
    assert 0 < run.summary["self_peak_sample_seconds"] < run.wall


def test_machine_wide_numbers_are_the_machines(run_metron):
    """On a machine kept busy: no more than it has, but for the kernel's tick (10 ms) per interval (100 ms)."""
    cores = os.cpu_count()
    with subprocess.Popen([run_metron.workload("burn"), "0.7", str(min(cores, 64))]) as busy:
        run = run_metron("--sample-interval 0.1 --report-interval 0.5", "sleep 0.6")
        busy.wait()
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    assert run.summary["sys_peak_mem_total"] == memory["MemTotal"]
    assert 0 < run.summary["sys_low_mem_available"] <= memory["MemTotal"]
    for key in ("sys_peak_cpu_pct", "sys_peak_iowait_pct"):
        assert 0 <= run.summary[key] <= 100 * cores * 1.1
