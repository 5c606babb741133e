"""A step of the wall clock in the middle of a run changes its labels and no number; the daemon follows it.

The machine's clock is everybody's and stays as it is: a small library before libc's own (tests/preload) lets metron
alone see a step by an hour.
"""

import datetime
import os
import pathlib
import subprocess
import time

import pytest

from support import daemon_client as dc
from support.processes import wait_until
from support.records import per_pid

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "preload" / "clockstep.c"
HOUR = 3600


@pytest.fixture(scope="module")
def clockstep(tmp_path_factory):
    library = tmp_path_factory.mktemp("preload") / "clockstep.so"
    compiler = os.environ.get("CC", "cc").split()
    try:
        subprocess.run([*compiler, "-std=gnu17", "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", str(SOURCE), "-o",
                        str(library)], check=True)
    except FileNotFoundError:
        pytest.skip(f"no compiler ({compiler[0]}) for {SOURCE.name}")
    return library


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["forwards", "backwards"])
def test_step_of_the_wall_clock_changes_no_rate(run_metron, clockstep, by):
    run = run_metron("--sample-interval 0.1 --report-interval 0.2",
                     ["env", "-u", "LD_PRELOAD", run_metron.workload("burn"), "1.2"],
                     env={"LD_PRELOAD": str(clockstep), "CLOCKSTEP_AFTER": "0.6", "CLOCKSTEP_BY": str(by)})
    assert run.returncode == 0, run
    stamps = [datetime.datetime.fromisoformat(record["timestamp"]) for record in run.usage]
    steps = [(after - before).total_seconds() for before, after in zip(stamps, stamps[1:])]
    stepped = [step for step in steps if abs(step) > HOUR / 2]
    assert len(stepped) == 1 and stepped[0] == pytest.approx(by, abs=1), "metron saw the step"

    spans = [record["elapsed"] for record in run.usage]
    assert [0 < after - before < 1 for before, after in zip(spans, spans[1:])].count(False) == 0
    assert 1.2 <= run.summary["wall_clock_time"] <= run.wall
    assert run.summary["num_samples"] >= 8
    assert run.summary["self_missed_ticks"] <= 2
    deltas = [record["measurements"]["proc_cpu_seconds"] for record in run.usage]
    assert min(deltas) >= 0
    assert run.summary["proc_cpu_seconds"] == pytest.approx(1.2, rel=0.02)
    rates = [rate for rates in per_pid(run.usage, "proc_pdcpu").values() for rate in rates]
    assert max(rates) <= 110
    assert run.summary["proc_ave_pdcpu_total"] == pytest.approx(
        100 * run.summary["proc_cpu_seconds"] / run.summary["wall_clock_time"], rel=0.1)
    ages = [age for ages in per_pid(run.usage, "proc_etime").values() for age in ages]
    assert 0 <= max(ages) <= run.wall + 0.1


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["forwards", "backwards"])
def test_the_daemon_tells_of_what_happens_after_a_step_by_the_new_time(run_metron, clockstep, by):
    dc.need_daemon(run_metron)
    daemon = dc.Daemon(run_metron, run_metron.cwd)
    try:
        daemon.start(env={"LD_PRELOAD": str(clockstep), "CLOCKSTEP_AFTER": "2", "CLOCKSTEP_BY": str(by)})
        wait_until(lambda: abs(daemon.call("daemon.top")["timestamp"] - time.time()) > HOUR / 2, 20, "the step")
        shell = dc.Shell(run_metron)
        daemon.call("job.start", job_id="later", pid=shell.pid)
        pid = shell.start("sleep 1")
        assert shell.reap(pid) == 0
        # As the history has them: since the job began.
        events = wait_until(lambda: (lambda events: events if "exit" in dc.types_of(events, pid) else None)(
            daemon.call("daemon.events", job_id="later", limit=200)["events"]), 20, "the job's events")
        assert dc.types_of(events, pid) == ["spawn", "exit"]
        for event in dc.of_pid(events, pid):
            assert dc.unix_seconds(event["timestamp"]) - time.time() == pytest.approx(by, abs=20)
        shell.end()
        assert daemon.stop() == 0
    finally:
        daemon.end()
