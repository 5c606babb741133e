"""A step of the wall clock in the middle of a run changes its labels and no number; the daemon follows it, and
forgets nothing because of it.

The machine's clock is everybody's and stays as it is: a small library before libc's own (tests/preload) lets metron
alone see a step by an hour.
"""

import os
import pathlib
import subprocess
import time

import pytest

from support import daemon_client as dc
from support import rates
from support.held import await_records
from support.processes import wait_until
from support.records import per_pid
from test_cpu_rate import INTERVAL, RATES, held_burner, rate_of_busiest

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
    command, path = held_burner(run_metron)
    when = run_metron.cwd / "step"
    started = run_metron.start(RATES, ["env", "-u", "LD_PRELOAD", *command], stdin=subprocess.PIPE,
                               env={"LD_PRELOAD": str(clockstep), "CLOCKSTEP_WHEN": str(when), "CLOCKSTEP_BY": str(by)})
    await_records(started, 5)
    when.touch()
    await_records(started, 5)
    run = started.finish()
    assert run.returncode == 0, run
    after = rates.stepped(run, by)
    assert 4 <= len(after) <= len(run.usage) - 5 and after == run.usage[-len(after):], "metron saw the step"

    truth = rates.Truth(path)
    for rate_of in (rate_of_busiest(run), lambda record: record["measurements"].get("proc_pdcpu_total")):
        assert rates.check_rates(run, truth, INTERVAL, rate_of, by) >= 5
    rates.check_sum(run, truth, INTERVAL, by)
    assert run.usage[-2]["elapsed"] <= run.summary["wall_clock_time"] <= run.wall
    ages = [age for ages in per_pid(run.usage, "proc_etime").values() for age in ages]
    assert 0 <= max(ages) <= run.wall + 0.1


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["forwards", "backwards"])
def test_the_daemon_tells_of_what_happens_after_a_step_by_the_new_time(run_metron, clockstep, by):
    dc.need_daemon(run_metron)
    daemon, when = dc.Daemon(run_metron, run_metron.cwd), run_metron.cwd / "step"
    try:
        daemon.start(env={"LD_PRELOAD": str(clockstep), "CLOCKSTEP_WHEN": str(when), "CLOCKSTEP_BY": str(by)})
        assert daemon.call("daemon.top")["timestamp"] == pytest.approx(time.time(), abs=HOUR / 2)
        daemon.call("job.start", job_id="across")
        when.touch()
        wait_until(lambda: abs(daemon.call("daemon.top")["timestamp"] - time.time()) > HOUR / 2, 60, "the step")
        shell = dc.Shell(run_metron)
        daemon.call("job.start", job_id="later", pid=shell.pid)
        pid = shell.start("sleep 1")
        assert shell.reap(pid) == 0
        # As the history has them: since the job began.
        events = wait_until(lambda: (lambda events: events if "exit" in dc.types_of(events, pid) else None)(
            daemon.call("daemon.events", job_id="later", limit=200)["events"]), 60, "the job's events")
        assert dc.types_of(events, pid) == ["spawn", "exit"]
        for event in dc.of_pid(events, pid):
            assert dc.unix_seconds(event["timestamp"]) - time.time() == pytest.approx(by, abs=HOUR / 2)
        shell.end()
        across = daemon.call("job.finish", job_id="across", outcome="completed")
        assert 0 < across["wall_seconds"] < HOUR / 2, "no step is part of it"
        assert daemon.stop() == 0
    finally:
        daemon.end()


def stored_ids(daemon):
    return {table: {row["id"] for row in daemon.rows(f"SELECT id FROM {table}")}
            for table in ("snapshots", "snapshots_1m", "process_events")}


def test_a_step_by_forty_days_and_back_takes_nothing_from_the_history(run_metron, clockstep):
    dc.need_daemon(run_metron)
    daemon, when = dc.Daemon(run_metron, run_metron.cwd), run_metron.cwd / "step"
    days = 40 * 24 * HOUR

    def count_stepped():
        # The upkeep follows each snapshot: after some of them it has seen the step.
        return daemon.rows("SELECT count(*) AS n FROM snapshots WHERE timestamp > ?", time.time() + days / 2)[0]["n"]

    try:
        daemon.start(watch="jobs", interval=0.1, env={"LD_PRELOAD": str(clockstep), "CLOCKSTEP_WHEN": str(when),
                                                      "CLOCKSTEP_BY": str(days)})
        shell = dc.job_shell(daemon, "before")
        dc.seen_and_gone(daemon, shell, 3)
        daemon.wait_for_stored(daemon.tops(3)[-1]["timestamp"])
        before = stored_ids(daemon)
        assert len(before["snapshots"]) > 3 and len(before["process_events"]) >= 3
        when.touch()
        wait_until(lambda: count_stepped() >= 10, 60, "snapshots after the step")
        when.unlink()
        last = daemon.tops(3)[-1]["timestamp"]  # before those of the step
        wait_until(lambda: daemon.stored(last), what="snapshots after the step back")
        after = stored_ids(daemon)
        assert all(before[table] <= after[table] for table in before)
        assert daemon.stop() == 0
    finally:
        daemon.end()
