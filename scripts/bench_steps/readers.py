"""scripts/bench ls and plot: reading many runs, and a long one."""
import os
import pathlib
import statistics
import sys
import tempfile

from bench_steps.common import ROOT, as_part, spawn, spread, table, verdict

sys.path.insert(0, str(ROOT / "tests"))
from support import made_recording, made_runs  # noqa: E402

ROUNDS = 3
RUNS = 10_000
LISTINGS = [[], ["--json"], ["-f", "csv"], ["--sort", "wall"], ["--group-by", "job"],
            ["-F", "command,proc_peak_rss_total"], ["--filter", "proc_peak_rss_total > 1MiB or command =~ seed"]]
# What metron may take at most, as a part of what Python takes to parse the same files.
LS_TARGET, PLOT_TARGET = 1, 1 / 2

PARSE_FILES = """
import json, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            json.load(file)
"""
PARSE_LINES = """
import json, sys
with open(sys.argv[1], "rb") as file:
    for line in file:
        json.loads(line)
"""


def compare(ways, peer, target, title):
    """A table of {name: command line}: CPU seconds, median of some rounds in turn, and the ratio to the peer's."""
    seconds = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, command in ways.items():
            _, usage = spawn(command)
            seconds[name].append(usage.ru_utime + usage.ru_stime)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    rows = []
    for name, median in medians.items():
        ratio = median / medians[peer]
        judged = name.startswith("metron")
        rows.append((name, f"{median:.2f}", spread(seconds[name]), as_part(ratio),
                     f"<= {as_part(target)}" if judged else "", verdict(ratio, target) if judged else ""))
    print(f"{title}: CPU seconds, median of {ROUNDS} interleaved rounds")
    table(("command", "seconds", "of the rounds", f"of {peer}", "target", ""), rows)


def bench_ls(metron):
    with tempfile.TemporaryDirectory() as folder:
        made_runs.make_many(pathlib.Path(folder), RUNS)
        ways = {f"metron ls {' '.join(args)}".strip(): [metron, "ls", *args, folder] for args in LISTINGS}
        ways["json in Python"] = ["/usr/bin/python3", "-c", PARSE_FILES, folder]
        ways["cat"] = ["/bin/sh", "-c", 'cat "$0"/*/*', folder]
        compare(ways, "json in Python", LS_TARGET, f"Listing {RUNS} runs")


def bench_plot(metron):
    with tempfile.TemporaryDirectory() as folder:
        week = made_recording.make_long(folder, peak_at=400_000)
        ways = {"metron plot": [metron, "plot", week]}
        if os.access(pathlib.Path(metron).parent / "metron-plot", os.X_OK):
            ways.update({f"metron plot -o {form}": [metron, "plot", "-o", f"{folder}/week.{form}", week]
                         for form in ("svg", "png")})
        else:
            print("SKIPPED pictures: this build draws none (cairo is missing)")
        ways["json in Python"] = ["/usr/bin/python3", "-c", PARSE_LINES, f"{week}/usage.jsonl"]
        ways["cat"] = ["/bin/cat", f"{week}/usage.jsonl"]
        compare(ways, "json in Python", PLOT_TARGET, "Plotting a week in 600,000 records")
