"""Rates held against what the workload `bursts` noted of itself, however busy the machine is.

The workload notes each thread's own CPU clock as it burns, so its CPU between any two moments is known to a
millisecond per thread, however little of the machine it gets. metron reads the clocks after its tick and before the
timestamp of the record: on an idle machine these are a millisecond apart, on a busy one they are as far apart as metron
was late. A rate is right if there is a moment between the two, at both ends of the interval, for which it is true.

The kernel brings a running thread's time up to date for others at its tick, and the threads are kept on two CPUs: what
it shows is behind by two ticks at most, and a difference of two such readings is wrong by two at most.
"""

import bisect
import datetime
import itertools
import math
import time


class Truth:
    """CPU seconds that the process had used at any moment of the monotonic clock."""

    def __init__(self, path):
        self.threads = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            thread, moment, cpu = (int(word) for word in line.split())
            self.threads.setdefault(thread, []).append((moment / 1e9, cpu / 1e9))
        self.begin = min(marks[0][0] for marks in self.threads.values())
        self.tolerance = 2 * tick_seconds() + 0.001 * len(self.threads)

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


def tick_seconds():
    """The kernel's tick: what the coarse clock advances by."""
    return time.clock_getres(getattr(time, "CLOCK_MONOTONIC_COARSE", 6))


def label(record):
    """The wall clock when a record was made."""
    return datetime.datetime.fromisoformat(record["timestamp"]).timestamp()


class Moment:
    """When a record's last sample was taken: between `tick` and `stamp`, both on the monotonic clock."""

    def __init__(self, record, before, ahead, interval):
        elapsed = record["elapsed"]
        self.record = record
        self.stamp = label(record) - ahead
        self.begin = self.stamp - elapsed  # when the command was started
        sampled = elapsed - record["measurements"].get("self_sample_seconds", 0)
        self.tick = self.begin + math.floor(sampled / interval) * interval
        # Late by so much that this may be another tick's record: it was taken after the one before, at any rate.
        if before and not 0.5 * interval < self.stamp - before.stamp < 1.5 * interval:
            self.tick = before.stamp
        self.tick = min(self.tick, self.stamp)


def stepped(run, step):
    """The records that were made after the wall clock had stepped by so many seconds."""
    first = run.usage[0]
    return [record for record in run.usage
            if abs(label(record) - label(first) - record["elapsed"] + first["elapsed"] - step) < abs(step) / 2]


def moments(run, interval, step=0):
    """Of each record that was made while the command ran: the last is not, nor is one without a sample. `step` is what
    the wall clock, as metron saw it, was set by after the first of them."""
    ahead, found, after = time.time() - time.monotonic(), [], stepped(run, step)
    for record in itertools.takewhile(lambda each: each["num_samples"] > 0, run.usage[:-1]):
        found.append(Moment(record, found[-1] if found else None, ahead + step * (record in after), interval))
    return found


def check_rates(run, truth, interval, rate_of, step=0):
    """Every rate of an interval that is a sample long, rate_of(record) in percent or None, against the truth. Returns
    how many there were. A record that is too short for a rate is joined to the next one."""
    found, checked = moments(run, interval, step), 0
    for before, after in zip(found, found[1:]):
        rate = rate_of(after.record)
        if rate is None or rate_of(before.record) is None or after.record["num_samples"] != 1:
            continue
        least = max(0.0, truth.until(after.tick) - truth.until(before.stamp))
        most = truth.until(after.stamp) - truth.until(before.tick)
        where = (f"{rate} %, {least} to {most} CPU seconds from {before.tick - before.begin} or "
                 f"{before.stamp - before.begin} to {after.tick - before.begin} or {after.stamp - before.begin}")
        assert rate / 100 * (after.stamp - before.tick) >= least - truth.tolerance, where
        assert rate / 100 * (after.tick - before.stamp) <= most + truth.tolerance, where
        checked += 1
    return checked


def check_sum(run, truth, interval, step=0):
    """The CPU of all records so far, at every record: errors do not add up."""
    used = None
    for moment in moments(run, interval, step):
        if used is None:  # what the program used before it began to note is in the first
            first, used = moment, 0.0
            continue
        used += moment.record["measurements"]["proc_cpu_seconds"]
        least = truth.until(moment.tick) - truth.until(first.stamp)
        most = truth.until(moment.stamp) - truth.until(first.tick)
        assert least - truth.tolerance <= used <= most + truth.tolerance, (moment.stamp - moment.begin, least, most)
