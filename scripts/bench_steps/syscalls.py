"""What counting system calls costs, as a ratio to the same command without metron.

getppid  the worst case: a loop of a million calls that do nothing, by its own clock.
build    a small C project with make, by wall time; CPU time beside it, metron's own included.

Each command is run bare and counted in turn; the medians are compared. `over` marks what misses its target. Another
metron that counts at the same time slows down the bare runs too.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from bench_steps.common import table, verdict, workload

LOOP = 1_000_000
LOOP_RATIO, LOOP_PAIRS = 4.0, 7
BUILD_RATIO, BUILD_PAIRS = 1.10, 5
BUILD_FILES, FILE_FUNCTIONS = 12, 100
HEADERS = ["stdio", "stdlib", "string", "unistd", "pthread", "signal", "sys/socket", "netinet/in", "time", "math"]
MAKEFILE = """
OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))
program: $(OBJECTS)
\tcc -o $@ $^
%.o: %.c
\tcc -O2 -c -o $@ $<
"""


def counted(metron, folder, command):
    return [metron, "run", "-q", "--clobber", "-p", f"{folder}/run_", "--events", "bpf", "--syscalls", "summary", "--",
            *command]


def why_not(metron, folder):
    """Why nothing can be measured here; None if it can."""
    done = subprocess.run(counted(metron, folder, ["true"]), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    method = json.loads((folder / "run_info.json").read_text())["syscalls"]["method"]
    return None if method == "bpf" else f"calls are counted by {method}"


def loop_seconds(command):
    """Seconds of the loop, as it reports them."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return float(done.stdout.split()[2])


def run_seconds(command):
    """(wall time, CPU time) of a command."""
    before, begin = os.times(), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - begin, os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def in_turn(measure, bare, with_metron, pairs):
    """(results bare, results counted)"""
    return zip(*[(measure(bare), measure(with_metron)) for _ in range(pairs)])


def write_project(folder):
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    includes = "\n".join(f"#include <{header}.h>" for header in HEADERS)
    for i in range(BUILD_FILES):
        bodies = "\n".join(f'int f{i}_{j}(int n) {{ char b[64]; return snprintf(b, sizeof b, "%d", n) + {j}; }}'
                           for j in range(FILE_FUNCTIONS))
        main = "int main(void) { return 0; }\n" if i == 0 else ""
        (folder / f"part{i}.c").write_text(f"{includes}\n{bodies}\n{main}", encoding="utf-8")


def loop_row(metron, folder):
    bare = [workload("getppids"), str(LOOP)]
    plain, slow = map(statistics.median, in_turn(loop_seconds, bare, counted(metron, folder, bare), LOOP_PAIRS))
    each = [f"{seconds * 1e9 / LOOP:.0f}" for seconds in (plain, slow)]
    return ("getppid, ns a call", *each, slow / plain, None, LOOP_RATIO)


def build_row(metron, folder):
    write_project(folder / "project")
    bare = ["make", "-s", "-B", "-C", str(folder / "project")]
    run_seconds(bare)
    plain, slow = ([statistics.median(values) for values in zip(*results)]
                   for results in in_turn(run_seconds, bare, counted(metron, folder, bare), BUILD_PAIRS))
    return ("build, wall seconds", f"{plain[0]:.2f}", f"{slow[0]:.2f}", slow[0] / plain[0], slow[1] / plain[1],
            BUILD_RATIO)


def bench(metron):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        reason = why_not(metron, folder)
        if reason is not None:
            print(f"SKIPPED syscalls: {reason}")
            return
        rows = [loop_row(metron, folder)]
        if shutil.which("make"):
            rows.append(build_row(metron, folder))
        else:
            print("SKIPPED build: make is not installed")
    print("Counting system calls: the command bare and counted in turn, medians")
    table(("command", "bare", "counted", "ratio", "CPU", "target", ""),
          [(what, plain, slow, f"{ratio:.3f}", "" if cpu is None else f"{cpu:.3f}", f"<= {target:g}",
            verdict(ratio, target)) for what, plain, slow, ratio, cpu, target in rows])
