"""Rates: a steady 100 % reads as 100 %, at fine sampling too, and never more than the machine has."""

import os
import shutil
import statistics
import subprocess

import pytest

from support.records import per_pid

pytestmark = pytest.mark.alone


def undisturbed(command):
    """Before the machine's other work where we may: a starved burner is not a steady one."""
    first = ["chrt", "--fifo", "1"]
    if shutil.which("chrt") and subprocess.run([*first, "true"], capture_output=True, check=False).returncode == 0:
        return [*first, *command]
    return command


def test_steady_burner_reads_100_percent(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.1",
                     undisturbed([run_metron.workload("burn"), "1.3"]))
    assert run.returncode == 0
    shares = per_pid(run.usage, "proc_pdcpu")
    (values,) = shares.values()
    assert len(values) >= 10
    assert statistics.median(values) == pytest.approx(100, rel=0.05)
    assert max(values) <= 105
    assert run.summary["proc_ave_pdcpu_total"] == pytest.approx(100, rel=0.05)


def test_total_rate_agrees_with_cpu_over_wall(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.5",
                     undisturbed([run_metron.workload("burn"), "1", "2"]))
    wall, cpu = run.summary["wall_clock_time"], run.summary["proc_cpu_seconds"]
    assert run.summary["proc_ave_pdcpu_total"] == pytest.approx(100 * cpu / wall, rel=0.07)
    cores = len(os.sched_getaffinity(0))
    for record in run.usage:
        for value in record["measurements"].get("proc_pdcpu", {}).values():
            assert value <= 100 * cores * 1.05
        # The total is resolved to one tick (10 ms) of each process per interval of 100 ms.
        assert record["measurements"].get("proc_pdcpu_total", 0) <= 100 * cores * 1.1


def test_newborn_has_a_rate_from_its_first_sample(run_metron):
    """A process that is seen once, after 0.5 s of burning, shows its rate: not 0, not absent."""
    run = run_metron("--sample-interval 0.5 --report-interval 0.5",
                     undisturbed(["sh", "-c", f"{run_metron.workload('burn')} 0.8; true"]))
    values = [value for values in per_pid(run.usage, "proc_pdcpu").values() for value in values]
    assert max(values) == pytest.approx(100, rel=0.1)


def test_idle_process_reads_zero(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.5", "sleep 1.2")
    values = [value for values in per_pid(run.usage[1:], "proc_pdcpu").values() for value in values]
    assert values and max(values) <= 5
    assert run.summary["proc_cpu_seconds"] < 0.05


def test_stopped_then_waking_burner_never_exceeds_a_core(run_metron):
    command = (f"{run_metron.workload('burn')} 1 & sleep 0.3; kill -STOP $!; sleep 0.5; kill -CONT $!; wait")
    run = run_metron("--sample-interval 0.1 --report-interval 0.1", undisturbed(["sh", "-c", command]))
    assert run.returncode == 0
    burner = max(per_pid(run.usage, "proc_pdcpu").values(), key=max)
    assert max(burner) <= 110
    assert min(burner) <= 5
