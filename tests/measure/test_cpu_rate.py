"""Rates: what a process burns is what is shown, at fine sampling too, and never more than the machine has."""

import os
import subprocess

import pytest

from support import rates
from support.held import await_records, go_on
from support.records import per_pid

INTERVAL = 0.1
RATES = f"--sample-interval {INTERVAL} --report-interval {INTERVAL}"


def burner(runner, seconds, threads=1):
    """A command that burns for so many seconds and notes what it got, and the file it notes it in."""
    path = runner.cwd / "truth"
    return [runner.workload("bursts"), str(path), str(threads), "1", str(seconds), "0"], path


def held_burner(runner, meanwhile=""):
    """The same, but it burns until standard input ends, and a shell runs `meanwhile`."""
    command, path = burner(runner, 600)
    return ["sh", "-c", f"{' '.join(command)} & {meanwhile} read end; kill $!; wait"], path


def rate_of_busiest(run):
    """rate_of(record) of the process that has burnt most."""
    own = per_pid(run.usage, "proc_own_cpu_seconds")
    pid = max(own, key=lambda each: sum(own[each]))
    return lambda record: record["measurements"].get("proc_pdcpu", {}).get(pid)


def test_steady_burner_reads_what_it_burns(run_metron):
    command, path = held_burner(run_metron)
    started = run_metron.start(RATES, command, stdin=subprocess.PIPE)
    await_records(started, 12)
    run = started.finish()
    assert run.returncode == 0, run
    truth = rates.Truth(path)
    assert rates.check_rates(run, truth, INTERVAL, rate_of_busiest(run)) >= 5
    rates.check_sum(run, truth, INTERVAL)


def test_total_rate_agrees_with_cpu_over_wall(run_metron):
    command, path = burner(run_metron, 1, threads=2)
    run = run_metron(RATES, command)
    wall, cpu = run.summary["wall_clock_time"], run.summary["proc_cpu_seconds"]
    truth, cores = rates.Truth(path), len(os.sched_getaffinity(0))
    assert cpu == pytest.approx(truth.until(float("inf")), abs=truth.tolerance)
    assert run.summary["proc_ave_pdcpu_total"] == pytest.approx(100 * min(cpu / wall, cores), rel=0.01)


def test_the_rest_of_a_run_sets_no_peak(run_metron):
    """The one sample is taken after 2 s, and a peak spans at least 10 s: this run is its own interval, whatever it did
    in a part of it."""
    command, _ = burner(run_metron, 0.2)
    run = run_metron("--sample-interval 20 --report-interval 20", ["sh", "-c", f"sleep 2.1; {' '.join(command)}"])
    assert run.summary["num_samples"] <= 1
    assert 0 < run.summary["proc_peak_pdcpu_total"] == pytest.approx(run.summary["proc_ave_pdcpu_total"])
    assert run.summary["sys_peak_cpu_pct"] == pytest.approx(run.summary["sys_ave_cpu_pct"])


def test_newborn_has_a_rate_from_its_first_sample(run_metron):
    """A process that is first seen after it has burnt for a while shows its rate: not 0, not absent."""
    command, path = burner(run_metron, 0.8)
    run = run_metron("--sample-interval 0.5 --report-interval 0.5",
                     ["sh", "-c", f"sleep 0.7; {' '.join(command)}; true"])
    truth, rate_of = rates.Truth(path), rate_of_busiest(run)
    first = next(moment for moment in rates.moments(run, 0.5) if rate_of(moment.record) is not None)
    rate = rate_of(first.record) / 100
    # It was started after the sleep and before its first note.
    assert rate * (first.stamp - first.begin - 0.7) >= truth.until(first.tick) - truth.tolerance
    if first.record["num_samples"] == 1:
        assert rate * (first.tick - truth.begin) <= truth.until(first.stamp) + truth.tolerance


def test_idle_process_reads_zero(run_metron):
    run = run_metron(RATES, "sleep 1.2")
    idle = [each.record["measurements"] for each in rates.moments(run, INTERVAL)[1:]
            if each.record["measurements"]["proc_cpu_seconds"] == 0
            and "proc_pdcpu" in each.record["measurements"]]  # a record may be too short for a rate
    assert idle and all(share == 0 for each in idle for share in each["proc_pdcpu"].values())
    assert run.summary["proc_cpu_seconds"] < 0.05


def test_stopped_then_waking_burner_never_exceeds_a_core(run_metron):
    command, path = held_burner(run_metron, "read stop; kill -STOP $!; read go; kill -CONT $!;")
    started = run_metron.start(RATES, command, stdin=subprocess.PIPE)
    await_records(started, 4)
    go_on(started)
    await_records(started, 4)
    go_on(started)
    await_records(started, 4)
    run = started.finish()
    assert run.returncode == 0, run
    truth, rate_of = rates.Truth(path), rate_of_busiest(run)
    assert rates.check_rates(run, truth, INTERVAL, rate_of) >= 5
    assert 0 in map(rate_of, run.usage), "it was stopped: else this proves nothing"
