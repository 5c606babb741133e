"""Large trees and large machines: nobody is missing, and bystanders cost nothing.

Cost is counted in system calls, which a busy machine does not change; `make bench` measures it in time.
"""

import resource
import signal
import statistics
import subprocess
import time

import pytest

from support import kernel_events
from support.held import await_records, go_on, paused
from support.processes import file_lines, wait_until
from support.traced import calls_per_sample, calls_without_waiting, samples_of

MANY = 4000
BYSTANDERS = 500

# One sleeping process, every key: its own files, those of its control group and of the machine.
CALLS_OF_ONE = 60


def room_for_processes(count):
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit != resource.RLIM_INFINITY and limit < count + 500:
        pytest.skip(f"only {limit} processes are allowed here")


@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("fanout, count", [(4, 500), (MANY, MANY)], ids=["deep", "flat"])
def test_thousands_of_processes_are_all_in_the_record(run_metron, fanout, count):
    room_for_processes(count)
    path = run_metron.cwd / "pids"
    run = run_metron.start("--sample-interval 0.5 --report-interval 0.5",
                           [run_metron.workload("manyprocs"), "-f", str(fanout), "-o", str(path), str(count), "300"])
    pids = set(wait_until(lambda: len(file_lines(path)) == count and file_lines(path), 60, "all processes"))
    number = len(await_records(run, 2))
    run.signal(signal.SIGTERM)
    done = run.finish()
    record = done.usage[number - 1]["measurements"]  # it began when all of them lived
    for key in ("proc_rss", "proc_cmd", "proc_stat"):
        assert pids <= set(record[key]), key
    assert record["proc_processes"] == count
    assert done.summary["proc_peak_processes"] >= count


def calls_of_ten(runner, events):
    run = runner.start(f"--sample-interval 0.1 --report-interval 60 --clobber --events {events}",
                       [runner.workload("manyprocs"), "10", "300"])
    assert run.process.stdout.readline() == b"ready\n", run.process.stderr.read()
    samples_of(run.pid, 2)  # everybody has been seen once
    calls = calls_per_sample(run.pid)
    run.signal(signal.SIGTERM)
    run.finish()
    return calls


@pytest.mark.parametrize("events", ["connector", "off"])
def test_bystanders_cost_no_system_calls(run_metron, events):
    run_metron.need_events(events)
    alone = calls_of_ten(run_metron, events)
    crowd = subprocess.Popen([run_metron.workload("manyprocs"), str(BYSTANDERS), "300"], stdout=subprocess.PIPE)
    assert crowd.stdout.readline() == b"ready\n"
    assert calls_of_ten(run_metron, events) == pytest.approx(alone, abs=2)


@pytest.mark.xdist_group("crowd")
def test_a_crowd_that_ends_at_once_is_no_crowd_for_long(run_metron):
    """A sample costs as much after thousands have come and gone as before."""
    crowd = f"{run_metron.workload('manyprocs')} -o pids 1500 300 > /dev/null"
    run = run_metron.start("--sample-interval 0.1 --report-interval 0.1 --events off",
                           ["sh", "-c", f"read go; {crowd} & read go; kill $!; wait; read end"], stdin=subprocess.PIPE)

    def processes():
        """How many the last of two new records has: it began after this call."""
        return await_records(run, 2)[-1]["measurements"]["proc_processes"]

    await_records(run, 2)
    before = calls_per_sample(run.pid)
    go_on(run)
    wait_until(lambda: len(file_lines(run_metron.cwd / "pids")) == 1500, 60, "the crowd")
    assert processes() == 1501
    go_on(run)
    wait_until(lambda: processes() == 1, 60, "the end of the crowd")
    after = calls_per_sample(run.pid)
    run.signal(signal.SIGTERM)
    run.finish()
    assert after == pytest.approx(before, abs=2)


def test_every_tick_is_a_sample_or_counted_as_missed(run_metron):
    """A tick that was due after the last sample is neither: at most a fifth of them, however late metron is then."""
    start = time.monotonic()
    started = run_metron.start("--sample-interval 0.01 --report-interval 0.5", "cat", stdin=subprocess.PIPE)
    await_records(started, 2)
    with paused(started):  # so that some are missed on an idle machine too
        time.sleep(1)
    await_records(started, 2)
    run = started.finish()
    most = (time.monotonic() - start) / 0.01  # metron may notice the end of the command late
    ticks = run.summary["wall_clock_time"] / 0.01
    assert run.summary["num_samples"] > 0 and run.summary["self_missed_ticks"] >= 90
    assert 0.8 * ticks <= run.summary["num_samples"] + run.summary["self_missed_ticks"] <= most


@pytest.mark.parametrize("events", ["bpf", "off"])
def test_waiting_metron_wakes_once_a_sample(run_metron, events):
    """Following one sleeping process: one wake-up a sample, and few system calls in it."""
    if events == "bpf":
        kernel_events.need(run_metron)
    run = run_metron.start(f"--events {events} --sample-interval 0.1 --report-interval 60", "sleep 300")
    wait_until(lambda: run.path("info.json").exists(), what="info.json")
    samples_of(run.pid, 2)
    samples = samples_of(run.pid)
    run.signal(signal.SIGTERM)
    run.finish()
    assert statistics.median(sample["epoll_wait"] + sample["epoll_pwait"] for sample in samples) == 1, samples
    assert statistics.median(map(calls_without_waiting, samples)) <= CALLS_OF_ONE, samples
