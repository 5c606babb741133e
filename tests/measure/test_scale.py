"""Large trees and large machines: nobody missing, no tick missed, and bystanders cost nothing."""

import collections
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import time

import pytest

from support.processes import wait_until
from support.records import per_pid
from support.run import SANITIZED

pytestmark = pytest.mark.alone

PROCESSES = 4000


def room_for_processes(count):
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit != resource.RLIM_INFINITY and limit < count + 500:
        pytest.skip(f"only {limit} processes are allowed here")


@pytest.mark.parametrize("fanout", ["8", "4000"], ids=["deep", "flat"])
def test_4000_processes_are_all_in_the_record(run_metron, fanout):
    room_for_processes(PROCESSES)
    path = run_metron.cwd / "pids"
    run = run_metron("--sample-interval 1 --report-interval 2",
                     [run_metron.workload("manyprocs"), "-f", fanout, "-o", str(path), str(PROCESSES), "2.5"])
    assert run.returncode == 0
    pids = set(path.read_text().split())
    assert len(pids) == PROCESSES
    for key in ("proc_rss", "proc_cmd", "proc_stat"):
        assert pids <= set(per_pid(run.usage, key)), key
    assert run.summary["proc_peak_processes"] >= PROCESSES
    if not SANITIZED:
        assert run.summary["self_missed_ticks"] == 0


def no_leak_check():
    """The leak checker cannot work in a traced process."""
    return ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))


WAITING = re.compile(r"^(epoll_|p?poll|p?select|recv|clock_nanosleep|nanosleep|futex|restart_syscall)")


def calls_per_sample(runner, args):
    """The median number of system calls metron makes in one sample of ten processes.

    Samples show in a trace as bursts with quiet between. What waits or takes in events is left out: with the
    process connector the rest of the machine is heard, though not looked at.
    """
    path = runner.cwd / "trace"
    run = runner.start(f"--sample-interval 0.2 --report-interval 60 --clobber {args}",
                       [runner.workload("manyprocs"), "10", "3"],
                       env={"ASAN_OPTIONS": no_leak_check()}, stdout=subprocess.PIPE)
    assert run.process.stdout.readline() == b"ready\n", run.process.stderr.read()
    time.sleep(0.3)
    tracer = subprocess.Popen(["strace", "-f", "-ttt", "-qq", "-o", str(path), "-p", str(run.pid)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(2)
    tracer.send_signal(signal.SIGINT)
    _, error = tracer.communicate(timeout=10)
    if b"Operation not permitted" in error:
        pytest.skip("strace may not attach here")
    run.finish()
    bursts, before, names = [], None, collections.Counter()
    for line in path.read_text(errors="replace").splitlines():
        match = re.match(r"\d+\s+(\d+\.\d+) (\w+)\(", line)
        if match is None or WAITING.match(match[2]):
            continue
        moment = float(match[1])
        if before is None or moment - before > 0.05:
            bursts.append(0)
        before = moment
        bursts[-1] += 1
        names[match[2]] += 1
    bursts = bursts[1:-1]  # the first and the last may be cut
    assert len(bursts) >= 5, f"{len(bursts)} samples in the trace: {names}"
    return statistics.median(bursts), names


@pytest.mark.slow
@pytest.mark.parametrize("events", ["connector", "off"])
def test_bystanders_cost_no_system_calls(run_metron, events):
    room_for_processes(PROCESSES)
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    run_metron.need_events(events)
    alone, names_alone = calls_per_sample(run_metron, f"--events {events}")
    crowd = subprocess.Popen([run_metron.workload("manyprocs"), str(PROCESSES), "30"],
                             stdout=subprocess.PIPE)
    assert crowd.stdout.readline() == b"ready\n"
    crowded, names_crowded = calls_per_sample(run_metron, f"--events {events}")
    assert crowded == pytest.approx(alone, abs=2), (names_alone, names_crowded)


def test_a_crowd_that_ends_at_once_is_no_crowd_for_long(run_metron):
    """Sampling goes on at its rate after thousands have come and gone."""
    command = f"{run_metron.workload('manyprocs')} 1500 0.3 > /dev/null; sleep 1.5"
    run = run_metron("--sample-interval 0.1 --report-interval 0.5", ["sh", "-c", command])
    assert run.returncode == 0
    assert run.usage[-2]["measurements"]["proc_processes"] <= 3
    assert run.usage[-2]["num_samples"] >= 3


def test_sampling_keeps_its_pace(run_metron, not_sanitized):
    run = run_metron("--sample-interval 0.01 --report-interval 0.5", "sleep 2")
    assert run.summary["num_samples"] >= 170
    assert run.summary["num_samples"] + run.summary["self_missed_ticks"] == pytest.approx(200, abs=6)


def test_waiting_metron_is_idle(run_metron, not_sanitized):
    """Following one sleeping process at 1 s costs next to nothing (but for loading programs into the kernel, once)."""
    started = time.monotonic()
    run = run_metron.start("--events connector", "sleep 2.5")
    wait_until(lambda: run.path("info.json").exists(), what="info.json")
    done = run.finish()
    assert time.monotonic() - started < 4
    assert done.summary["self_cpu_seconds"] < 0.05
