"""What the steps of scripts/bench share: tables, verdicts, workloads, packages of others."""
import contextlib
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
VENV = ROOT / "build" / "bench-venv"
CON_DUCT = "con-duct==0.23.0"  # as in scripts/deps


def table(header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())


def verdict(value, target):
    return "" if target is None else "ok" if value <= target else "over"


def as_part(ratio):
    """0.05 as 1/20, 2.5 as 2.5."""
    return f"1/{1 / ratio:.1f}".removesuffix(".0") if 0 < ratio < 1 else f"{ratio:.1f}"


def spread(values):
    return f"{min(values):.2f}-{max(values):.2f}"


def fail(message):
    sys.exit(f"scripts/bench: {message}")


def wait_until(holds, what, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            fail(f"waited {seconds} seconds for {what}")
        time.sleep(0.05)


@functools.lru_cache
def from_pypi(package, program):
    """The path of `program` in an environment that has a Python package, installed if need be; or None and why."""
    python = VENV / "bin" / "python"
    has_it = [python, "-c", f"import importlib.metadata as m; m.version('{package.split('==')[0]}')"]
    if not python.exists() or subprocess.run(has_it, capture_output=True, check=False).returncode != 0:
        steps = [] if python.exists() else [["/usr/bin/python3", "-m", "venv", VENV]]
        for command in (*steps, [VENV / "bin" / "pip", "install", "-q", package]):
            done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
            if done.returncode != 0:
                if steps:
                    shutil.rmtree(VENV, ignore_errors=True)
                last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
                return None, f"{' '.join(map(str, command[:3]))} failed: {last[0]}"
    return str(VENV / "bin" / program), ""


@functools.lru_cache
def workload(name):
    """The path of a program of tests/workloads, compiled into build/bench."""
    program = ROOT / "build" / "bench" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", "-pthread", ROOT / "tests" / "workloads" / f"{name}.c",
                    "-o", program], check=True)
    return str(program)


def floor_ms(processes, interval, rounds=None):
    """CPU ms to read stat and clock of `processes` processes."""
    done = subprocess.run([workload("samplefloor"), str(processes), str(interval),
                           str(rounds or max(8, int(3 / interval)))], check=True, capture_output=True, text=True)
    return float(done.stdout)


@contextlib.contextmanager
def crowd(count):
    """`count` sleeping processes below the one that is yielded; none for 0."""
    if count == 0:
        yield None
        return
    with subprocess.Popen([workload("manyprocs"), str(count), "3600"], stdout=subprocess.PIPE, text=True) as process:
        try:
            if "ready" not in process.stdout.readline():
                fail(f"cannot start {count} processes")
            yield process
        finally:
            # The others leave when their root's end of a pipe closes.
            process.kill()


def spawn(command):
    """Runs a command, its output thrown away; returns its wall time in seconds and its rusage."""
    actions = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], [str(word) for word in command], os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    elapsed = time.perf_counter() - start
    if status != 0:
        fail(f"{' '.join(map(str, command))} failed with wait status {status}")
    return elapsed, usage


def has_kernel_events(metron, folder):
    return subprocess.run([metron, "run", "-q", "-p", f"{folder}/probe_", "--events", "bpf", "true"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
