"""Four threads that burn in bursts, sampled every 100 ms: each interval's rate is the truth within two ticks.

The workload notes each thread's own CPU clock as it burns, so its CPU between any two moments is known to a
millisecond per thread. The kernel brings a running thread's time up to date for others at its tick, and the
threads are kept on two CPUs: what it shows is behind by two ticks at most, and so is a difference of two such
readings wrong by two at most.
"""

import bisect
import datetime
import time

import pytest

pytestmark = pytest.mark.alone

THREADS = 4
BURST = 0.35
GAP = 0.65
BURSTS = 4


class Truth:
    """CPU seconds that the process had used at any moment of the monotonic clock."""

    def __init__(self, path):
        self.threads = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            thread, moment, cpu = (int(word) for word in line.split())
            self.threads.setdefault(thread, []).append((moment / 1e9, cpu / 1e9))

    def until(self, moment):
        total = 0.0
        for marks in self.threads.values():
            index = bisect.bisect(marks, (moment,))
            if index == 0:
                total += marks[0][1]
            elif index == len(marks):
                total += marks[-1][1]
            else:
                (left, cpu), (right, more) = marks[index - 1], marks[index]
                total += cpu + (more - cpu) * (moment - left) / (right - left)
        return total

    def between(self, begin, end):
        return self.until(end) - self.until(begin)


def tick_seconds():
    """The kernel's tick: what the coarse clock advances by."""
    return time.clock_getres(getattr(time, "CLOCK_MONOTONIC_COARSE", 6))


def intervals(run):
    """(begin, end, record) of each record of one sample, on the monotonic clock."""
    ahead = time.time() - time.monotonic()
    before, found = None, []
    for record in run.usage:
        end = datetime.datetime.fromisoformat(record["timestamp"]).timestamp() - ahead
        if before is not None and record["num_samples"] == 1:
            found.append((before, end, record))
        before = end
    return found


def test_rates_are_within_two_ticks_and_bursts_in_the_right_second(run_metron):
    path = run_metron.cwd / "truth"
    run = run_metron("--sample-interval 0.1 --report-interval 0.1",
                     [run_metron.workload("bursts"), str(path), str(THREADS), str(BURSTS), str(BURST), str(GAP)])
    assert run.returncode == 0, run
    truth, found = Truth(path), intervals(run)
    assert len(truth.threads) == THREADS
    assert len(found) >= 0.8 * BURSTS * (BURST + GAP) / 0.1
    tolerance = 2 * tick_seconds() + 0.001 * THREADS
    start, true_by_second, told_by_second = found[0][0], {}, {}
    for begin, end, record in found:
        true = truth.between(begin, end)
        told = record["measurements"]["proc_pdcpu_total"] / 100 * (end - begin)
        assert told == pytest.approx(true, abs=tolerance), (begin - start, end - start)
        second = int((begin + end) / 2 - start)
        true_by_second[second] = true_by_second.get(second, 0) + true
        told_by_second[second] = told_by_second.get(second, 0) + record["measurements"]["proc_cpu_seconds"]
    assert sum(1 for seconds in true_by_second.values() if seconds > 0.05) >= BURSTS - 1, "the workload does burst"
    for second, seconds in true_by_second.items():
        assert told_by_second[second] == pytest.approx(seconds, abs=tolerance), (second, true_by_second)
