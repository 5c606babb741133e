"""The system calls that a metron makes, sample by sample: a cost that a busy machine does not change.

A sample begins where the loop reads its timer. Only the thread of the loop is traced: the others copy output and write
files, whatever the target is.
"""

import collections
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from support.processes import wait_until

TIMER = re.compile(r"^read\(\d+<anon_inode:\[timerfd\]>.* = 8$", re.M)
CALL = re.compile(r"^(\w+)\(", re.M)
# The process whose file or clock a call reads.
READS = re.compile(r"^\w+\((?:.*?</proc/|MAKE_PROCESS_CPUCLOCK\()(\d+)", re.M)
# Waiting, and taking in events: with the process connector those of the whole machine are received.
WAITING = re.compile(r"epoll_|p?poll|p?select|recv|clock_nanosleep|nanosleep|futex|restart_syscall")


def traces_of(pid, count=5):
    """What strace shows of each of `count` whole samples from now on: a list of texts."""
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    with tempfile.NamedTemporaryFile("r", errors="replace") as trace:
        tracer = subprocess.Popen(["strace", "-y", "-qq", "-o", trace.name, "-p", str(pid)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

        def parts():
            time.sleep(0.2)  # the whole trace is read each time
            if tracer.poll() is not None:
                error = tracer.stderr.read()
                if "Operation not permitted" in error:
                    pytest.skip("strace may not attach here")
                raise AssertionError(f"strace ended: {error}")
            trace.seek(0)
            found = TIMER.split(trace.read())[1:-1]
            return len(found) >= count and found

        found = wait_until(parts, 60, f"{count} samples in a trace")
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=30)
    return found[:count]


def samples_of(pid, count=5):
    """Names of the system calls in each of `count` whole samples from now on: a list of Counters."""
    return [collections.Counter(CALL.findall(trace)) for trace in traces_of(pid, count)]


def calls_about(trace, pids):
    """How many calls of a sample read something of these processes; others may do what they like."""
    return sum(int(pid) in pids for pid in READS.findall(trace))


def calls_without_waiting(sample):
    return sum(number for name, number in sample.items() if not WAITING.match(name))


def calls_per_sample(pid, count=5):
    """The fewest system calls of a sample, waiting left out. (Files that are read again every few seconds are in some
    samples only: in few where they come at their time, in many on a busy machine.)"""
    return min(map(calls_without_waiting, samples_of(pid, count)))
