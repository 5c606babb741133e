"""scripts/bench sample and peers: the CPU time of one sample.

The figure is that of one record of one run: the first that begins when all processes live. Spawning thousands of
processes and seeing them end costs a hundred times as much as a sample of them, so the difference of two runs would
drown in it; and with kernel events it is from then on that all are read in one go. A record is of as many samples as it
takes for writing the one before it to count little: metron itself writes one for 60.
"""
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import tempfile

from bench_steps.common import (CON_DUCT, ROOT, as_part, crowd, fail, floor_ms, from_pypi, has_kernel_events, spawn,
                                spread, table, verdict, wait_until, workload)

# (processes, bystanders, sample interval, samples in a record)
TREES = [
    (10, 0, 0.02, 100),
    (100, 0, 0.05, 60),
    (1000, 0, 0.1, 40),
    (4000, 0, 0.25, 40),
    (10, 4000, 0.02, 100),
]
# (--measurements, --events, meaning, what a sample may cost at most in floors, in the order of TREES)
SELECTIONS = [
    ("minimal", "connector", "stat-level keys", [2.5, 1.7, 1.9, 1.4, 5]),
    ("default", "connector", "all keys", [7.5, 6.3, 7.6, 4.1, 10]),
    # The iterator returns what is in stat, statm, io and status. Trees below ITERATOR_MIN are read from files.
    ("minimal", "bpf", "stat-level keys, kernel events", [5, 1, 0.4, 0.2, 10]),
    ("proc_*,io_*", "bpf", "every proc and io key, kernel events", [None] * 5),
]
ITERATOR_MIN = 32  # MEMBERS_MIN in src/tree/tasks.c
# The iterator returns more than 200 bytes of every process; files of a process that sleeps are not read again.
ITERATOR_BYTES = 100


def bytes_read(pid):
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split()[1])


class Sampled:
    """A run of metron, in its steady state: `cpu_ms` of one sample, `samples`, `missed` ticks; `read_by` is iterator or
    procfs."""

    def __init__(self, metron, processes, interval, samples, selection, how=(), events="connector"):
        with tempfile.TemporaryDirectory() as folder:
            self.usage = pathlib.Path(folder) / "usage.jsonl"
            keys = f"{selection},self_cpu_seconds,self_samples,self_missed_ticks"
            command = [metron, "run", "-q", "-p", f"{folder}/", "--sample-interval", str(interval), "--report-interval",
                       str(interval * samples), "--events", events, "--measurements", keys, "--",
                       workload("manyprocs"), *how, str(processes), "3600"]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
                if "ready" not in run.stdout.readline():
                    fail(f"{' '.join(command)} did not start")
                number = len(self.records())  # of the record that is being made
                self.wait_for_records(number + 1, run)
                before = bytes_read(run.pid)
                self.wait_for_records(number + 2, run)
                read = bytes_read(run.pid) - before
                run.send_signal(signal.SIGTERM)
                run.wait()
            record = json.loads(self.records()[number + 1])["measurements"]
        self.samples, self.missed = record["self_samples"], record.get("self_missed_ticks", 0)
        self.cpu_ms = 1000 * record["self_cpu_seconds"] / max(1, self.samples)
        is_iterated = events == "bpf" and read > ITERATOR_BYTES * processes * self.samples
        self.read_by = "iterator" if is_iterated else "procfs"

    def wait_for_records(self, count, run):
        wait_until(lambda: run.poll() is not None or len(self.records()) >= count, f"record {count}", 600)
        if run.poll() is not None:
            fail(f"{' '.join(run.args)} ended with {run.returncode}")

    def records(self):
        """Whole lines."""
        return self.usage.read_text().split("\n")[:-1] if self.usage.exists() else []


def bench(metron):
    with tempfile.TemporaryDirectory() as folder:
        kernel_events = has_kernel_events(metron, folder)
    if not kernel_events:
        print("SKIPPED kernel events: they are not available here")
    rows = []
    for index, (processes, others, interval, samples) in enumerate(TREES):
        with crowd(others):
            floor = floor_ms(processes, interval)
            for selection, events, meaning, targets in SELECTIONS:
                if events == "bpf" and not kernel_events:
                    continue
                run = Sampled(metron, processes, interval, samples, selection, events=events)
                ratio, target = run.cpu_ms / floor, targets[index]
                judged = verdict(ratio, target)
                if events == "bpf" and processes >= ITERATOR_MIN and run.read_by != "iterator":
                    judged = "SKIPPED: the iterator is not in force"
                rows.append((f"{processes} processes" + (f" among {others}" if others else ""),
                             f"{selection} ({meaning})", run.read_by, f"{run.cpu_ms:.3f}", f"{floor:.3f}",
                             as_part(ratio), f"<= {as_part(target)}" if target else "", judged,
                             run.samples, run.missed))
    print("One sample of sleeping processes: CPU ms (`floor`: stat and clock of each read in C, in the same minute)")
    table(("tree", "--measurements", "read by", "cost", "floor", "x floor", "target", "", "samples", "missed"), rows)


# ---- peers ----

PEER_PROCESSES = 1000
PEER_ROUNDS = 3
PEER_INTERVAL = 0.25
PEER_SAMPLES = 16
PEER_SECONDS = (1, 4)  # of con-duct's short and long run
# What metron may cost at most, as a part of each peer.
PEER_SELECTIONS = {
    "proc_*,io_*": ("every proc and io key", {"psutil loop": 1 / 10, "con-duct": 1 / 5}),
    "minimal": ("stat-level keys", {"psutil loop": 1 / 20, "con-duct": 1 / 20}),
}
# metron does not read a process again that has not run, so the most expensive tree, where all have run, is measured as
# well. The peers always read every process.
PEER_TREES = {"asleep": (), "all awake": ("-w", "0.2")}
CROWD, CROWD_DESCRIPTORS = 4000, 1024


def con_duct_sample_ms(duct):
    """Its CPU and that of the `ps` it starts, by wait4, long run less short run: the tree's own falls out."""
    results = []
    for seconds in PEER_SECONDS:
        with tempfile.TemporaryDirectory() as folder:
            _, usage = spawn([duct, "run", "-q", "-p", f"{folder}/", "--sample-interval", PEER_INTERVAL,
                              "--report-interval", "60", "--", workload("manyprocs"), PEER_PROCESSES, seconds])
            summary = json.loads((pathlib.Path(folder) / "info.json").read_text())["execution_summary"]
            results.append((usage.ru_utime + usage.ru_stime, summary["num_samples"]))
    (few_seconds, few), (many_seconds, many) = results
    return 1000 * (many_seconds - few_seconds) / max(1, many - few)


def psutil_sample_ms(python):
    with crowd(PEER_PROCESSES) as tree:
        done = subprocess.run([python, ROOT / "scripts" / "psutil-loop", str(tree.pid), str(PEER_INTERVAL), "6"],
                              check=True, capture_output=True, text=True)
    cost, seen = done.stdout.split()
    if int(seen) != PEER_PROCESSES:
        fail(f"the psutil loop saw {seen} of {PEER_PROCESSES} processes")
    return float(cost)


def bench_crowd(metron):
    """More processes than descriptors, and no right to more descriptors: every process must still be recorded."""
    limit = ["setpriv", "--bounding-set=-sys_resource", "--"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        command = [*limit, metron, "run", "-q", "-p", f"{folder}/", "--sample-interval", "1", "--report-interval",
                   "3600", "--", workload("manyprocs"), "-o", f"{folder}/pids", str(CROWD), "3.5"]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (CROWD_DESCRIPTORS, CROWD_DESCRIPTORS)))
        if done.returncode != 0:
            fail(f"{' '.join(command)} failed:\n{done.stderr}")
        pids = set((pathlib.Path(folder) / "pids").read_text().split())
        record = json.loads((pathlib.Path(folder) / "usage.jsonl").read_text().splitlines()[0])["measurements"]
        summary = json.loads((pathlib.Path(folder) / "info.json").read_text())["execution_summary"]
    print(f"{CROWD} processes, {CROWD_DESCRIPTORS} descriptors:", end=" ")
    seen = {key: len(pids & set(record.get(key, {}))) for key in ("proc_rss", "proc_pdcpu", "proc_fds")}
    print(", ".join(f"{key} of {count}" for key, count in seen.items()) + f"; {summary['self_samples']} samples,",
          f"{summary['self_missed_ticks']} ticks missed:", "ok" if min(seen.values()) == CROWD else "NOT ALL")


def bench_peers(metron):
    ways = {(selection, tree): lambda keys=selection, how=how: Sampled(metron, PEER_PROCESSES, PEER_INTERVAL,
                                                                       PEER_SAMPLES, keys, how).cpu_ms
            for selection in PEER_SELECTIONS for tree, how in PEER_TREES.items()}
    peers = []
    duct, reason = from_pypi(CON_DUCT, "con-duct")
    if duct is not None:
        peers.append("con-duct")
        ways["con-duct"] = lambda: con_duct_sample_ms(duct)
    else:
        print(f"SKIPPED con-duct: {reason}")
    python, reason = from_pypi("psutil", "python")
    if python is not None:
        peers.append("psutil loop")
        ways["psutil loop"] = lambda: psutil_sample_ms(python)
    else:
        print(f"SKIPPED the psutil loop: {reason}")
    ways["floor"] = lambda: floor_ms(PEER_PROCESSES, PEER_INTERVAL)

    costs = {name: [] for name in ways}
    for _ in range(PEER_ROUNDS):
        for name, measure in ways.items():
            costs[name].append(measure())
    medians = {name: statistics.median(values) for name, values in costs.items()}

    print(f"One sample of {PEER_PROCESSES} processes: CPU ms, median of {PEER_ROUNDS} interleaved rounds.\n"
          "The psutil loop reads USS (smaps) as well, which metron's proc and io keys leave out. `floor`: stat and\n"
          "clock of each process read in C and nothing else.")
    rows = [(name, "", f"{medians[name]:.1f}", spread(costs[name]), "", "", "") for name in (*peers, "floor")]
    for selection, tree in ((selection, tree) for tree in PEER_TREES for selection in PEER_SELECTIONS):
        meaning, parts = PEER_SELECTIONS[selection]
        cost = medians[selection, tree]
        for peer in peers:
            ratio, part = cost / medians[peer], parts[peer]
            rows.append((f"metron, {meaning}, {tree}", f"of {peer}", f"{cost:.2f}", spread(costs[selection, tree]),
                         as_part(ratio), f"<= {as_part(part)}", verdict(ratio, part)))
    table(("what", "", "CPU ms", "of the rounds", "ratio", "target", ""), rows)
    bench_crowd(metron)
