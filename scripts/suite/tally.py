"""Counting tests, and running commands that must not hold the suite up."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "log"
# Not the first python3 in PATH, which may lack pytest: the one that Debian's python3-pytest belongs to.
PYTHON = "/usr/bin/python3"
JOBS = os.cpu_count() or 1
RUNNING = set()  # the process groups of commands that run() waits for


class Tally:
    """Counts passed, failed and skipped tests, from several threads. Failures and skips are printed by name."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = 0
        self.failed = []
        self.skipped = []

    def ok(self):
        with self.lock:
            self.passed += 1

    def fail(self, name, detail=""):
        with self.lock:
            self.failed.append(name)
            print(f"FAILED {name}")
            for line in detail.strip().splitlines():
                print(f"    {line}")

    def skip(self, name, reason):
        with self.lock:
            self.skipped.append(name)
            print(f"SKIPPED {name}: {reason}")

    def check(self, name, result):
        """One check is one test: `result` is (passed, output)."""
        passed, output = result
        if passed:
            self.ok()
        else:
            self.fail(name, output)

    def add(self, name, outcome, text):
        """A test by its outcome: passed, failed or skipped."""
        if outcome == "passed":
            self.ok()
        elif outcome == "skipped":
            self.skip(name, text.splitlines()[0] if text else "no reason given")
        else:
            self.fail(name, text)

    def take(self, other):
        """Adds what another tally counted; it has printed its names already."""
        with self.lock:
            self.passed += other.passed
            self.failed += other.failed
            self.skipped += other.skipped

    def closing_line(self):
        line = f"{self.passed} passed, {len(self.failed)} failed"
        return line + (f", {len(self.skipped)} skipped" if self.skipped else "")


def run(command, timeout_seconds, log=None, environment=None, niceness=0):
    """Runs a command in its own process group; returns (exit status, output). After the timeout the group is killed
    and the status is 124. Output goes through a file, not a pipe: a process that outlives the command and keeps its
    output open must not hold the suite up."""
    with open(LOGS / f"{log}.log", "w+") if log else tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(
            [*(["nice", "-n", str(niceness)] if niceness else []), *(str(word) for word in command)],
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            RUNNING.add(process.pid)
            try:
                status = process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                status = 124
            RUNNING.discard(process.pid)
        output.seek(0)
        text = output.buffer.read().decode(errors="replace")
    if status == 124:
        text += f"\nkilled after {timeout_seconds:.0f} seconds\n"
    return status, text


def kill_running():
    """Ends the commands that run. `meson test` ends its tests, which have sessions of their own, if it is asked to."""
    for number, seconds in ((signal.SIGTERM, 3), (signal.SIGKILL, 0)):
        for group in list(RUNNING):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        end = time.monotonic() + seconds
        while RUNNING and time.monotonic() < end:
            time.sleep(0.05)


def tail(output, lines=60):
    return "\n".join(output.strip().splitlines()[-lines:])
