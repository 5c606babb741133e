"""scripts/bench wrap: what `metron run` adds to a command that does nothing."""
import os
import shutil
import statistics
import tempfile

from bench_steps.common import CON_DUCT, ROOT, as_part, from_pypi, spawn, table, verdict

RUNS = 50
# What metron may add at most, as a part of what con-duct adds: 5 ms where that adds 75.
TARGET = 1 / 15


def bench(metron):
    true = shutil.which("true")
    commands = {"true": [true], "metron run true": [metron, "run", true]}
    if os.access("/usr/bin/time", os.X_OK):
        commands["GNU time true"] = ["/usr/bin/time", true]
    else:
        print("SKIPPED GNU time: there is no /usr/bin/time")
    duct, reason = from_pypi(CON_DUCT, "con-duct")
    if duct is not None:
        commands["con-duct run true"] = [duct, "run", true]
    else:
        print(f"SKIPPED con-duct: {reason}")

    times = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for _ in range(RUNS):
            for name, command in commands.items():
                times[name].append(1000 * spawn(command)[0])
        os.chdir(ROOT)
    added = {name: statistics.median(values) - statistics.median(times["true"]) for name, values in times.items()}
    rows = []
    for name, values in times.items():
        quartiles = statistics.quantiles(values)
        judged = name.startswith("metron") and duct is not None
        ratio = added[name] / added["con-duct run true"] if judged else None
        rows.append((name, f"{statistics.median(values):.2f}", f"{quartiles[0]:.2f}-{quartiles[2]:.2f}",
                     f"{added[name]:+.2f}", as_part(ratio) if judged else "",
                     f"<= {as_part(TARGET)}" if judged else "", verdict(ratio, TARGET) if judged else ""))
    print(f"Wrapping `true`: wall ms, median of {RUNS} interleaved runs")
    table(("command", "median", "middle half", "over bare", "of con-duct", "target", ""), rows)
