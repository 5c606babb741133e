"""Running metron: one call, one object with all that came of it."""

import contextlib
import os
import pathlib
import select
import shlex
import signal
import subprocess
import time

import pytest

from support import kernel_events, records

SANITIZED = os.environ.get("METRON_SANITIZED") == "1"


def words(value):
    """A list as it is; a string split as a shell would."""
    return shlex.split(value) if isinstance(value, str) else [str(word) for word in value]


class Run:
    """A finished run: returncode, stdout, stderr (bytes), wall, and the files by name, parsed."""

    def __init__(self, returncode, stdout, stderr, wall, cwd, prefix):
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        self.wall = wall
        self.cwd = pathlib.Path(cwd)
        self.prefix = prefix

    def __repr__(self):
        return f"<run rc={self.returncode} stdout={self.stdout[:300]!r} stderr={self.stderr[:2000]!r}>"

    def path(self, name):
        return self.cwd / f"{self.prefix}{name}"

    def has(self, name):
        return self.path(name).exists()

    def bytes(self, name):
        return self.path(name).read_bytes()

    @property
    def info(self):
        return records.strict_json(self.bytes("info.json"))

    @property
    def summary(self):
        return self.info["execution_summary"]

    @property
    def usage(self):
        return records.strict_lines(self.bytes("usage.jsonl"))

    @property
    def events(self):
        return records.strict_lines(self.bytes("events.jsonl"))

    @property
    def root(self):
        """The pid of the command itself, as keys of a record have it: it is the first to be born."""
        return str(self.events[0]["pid"])

    @property
    def message(self):
        """What metron (and the command) said on stderr, as text."""
        return self.stderr.decode("utf-8", "replace")

    def files(self):
        """Names of all files below the working folder, relative to it."""
        return sorted(str(path.relative_to(self.cwd)) for path in self.cwd.rglob("*") if path.is_file())

    def check(self):
        """Every rule that holds for whatever was written."""
        usage = None
        if self.has("usage.jsonl"):
            usage = self.usage
            records.check_usage(usage)
        if self.has("events.jsonl"):
            records.check_events(self.events, self.has("info.json") and "attached" in self.info)
        if self.has("info.json"):
            records.check_info(self.info, usage)
        return self


def output_until_end(process, data=None, timeout=60):
    """What a process writes until it ends. Others may hold its pipes for longer: their end is not waited for."""
    taken = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe}
    reading = list(taken)
    end = time.monotonic() + timeout
    if process.stdin:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(data or b"")
            process.stdin.close()
    for pipe in taken:
        os.set_blocking(pipe.fileno(), False)
    while process.poll() is None:
        if time.monotonic() > end:
            raise subprocess.TimeoutExpired(process.args, timeout)
        for pipe in select.select(reading, [], [], 0.01)[0]:
            part = pipe.read()
            taken[pipe] += part or b""
            if part == b"":
                reading.remove(pipe)
    for pipe, text in taken.items():
        text += pipe.read() or b""
        pipe.close()
    return tuple(bytes(taken[pipe]) if pipe else None for pipe in (process.stdout, process.stderr))


class Started:
    """A run under way."""

    pids = set()  # of all that this worker has started

    def __init__(self, process, cwd, prefix, started):
        Started.pids.add(process.pid)
        self.process = process
        self.pid = process.pid
        self.cwd = pathlib.Path(cwd)
        self.prefix = prefix
        self.started = started  # before metron was

    def path(self, name):
        return self.cwd / f"{self.prefix}{name}"

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, timeout=60, check=True, data=None):
        try:
            stdout, stderr = output_until_end(self.process, data, timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            stdout, stderr = output_until_end(self.process, None, timeout)
            raise AssertionError(
                f"metron did not end within {timeout} s; stderr so far: {stderr[-2000:]!r}") from None
        run = Run(self.process.returncode, stdout, stderr, time.monotonic() - self.started, self.cwd,
                  self.prefix)
        return run.check() if check else run


def takes(pid, number):
    """Whether a process takes a signal through a descriptor: it has blocked it."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    return bool(int(status.partition("SigBlk:\t")[2].split()[0], 16) & 1 << (number - 1))


class Runner:
    """How metron is started in one test: which binary, in which folder, as whom."""

    def __init__(self, programs, cwd, home, wrapper=(), settings=None):
        self.programs = pathlib.Path(programs)
        self.binary = str(self.programs / "metron")
        self.cwd = pathlib.Path(cwd)
        self.home = pathlib.Path(home)
        self.wrapper = list(wrapper)
        self.settings = settings or {}  # in the environment of every metron

    def workload(self, name):
        return str(self.programs / name)

    def environment(self, extra=None):
        """The caller's, without anything that would change what metron does."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("METRON", "XDG_", "SLURM_", "PBS_", "OSG", "LC_"))
                and name not in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "COLUMNS", "LINES")}
        kept["LANG"], kept["TERM"] = "C.UTF-8", "xterm"
        kept["HOME"] = str(self.home)
        kept["XDG_CONFIG_HOME"] = str(self.home / "config")
        kept.update(self.settings)
        kept.update(extra or {})
        return kept

    def command_line(self, args, cmd, prefix="run_", fail_time=0, outer=()):
        """`metron run` with the prefix and fail time that nearly every test wants; None leaves one out."""
        line = [*words(outer), *self.wrapper, self.binary, "run"]
        if prefix is not None:
            line += ["--output-prefix", prefix]
        if fail_time is not None:
            line += ["--fail-time", str(fail_time)]
        line += words(args)
        return line + ["--", *words(cmd)]

    def start(self, args, cmd, *, prefix="run_", fail_time=0, outer=(), env=None, cwd=None,
              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen):
        begin = time.monotonic()
        process = subprocess.Popen(self.command_line(args, cmd, prefix, fail_time, outer),
                                   cwd=cwd or self.cwd, env=self.environment(env), stdin=stdin,
                                   stdout=stdout, stderr=stderr, **popen)
        return Started(process, cwd or self.cwd, prefix, begin)

    def __call__(self, args, cmd, *, data=None, timeout=60, check=True, **kwargs):
        if data is not None:
            kwargs["stdin"] = subprocess.PIPE
        return self.start(args, cmd, **kwargs).finish(timeout=timeout, check=check, data=data)

    def attach(self, args, pids, *, prefix="run_", env=None, cwd=None, **popen):
        """`metron attach` to processes that run; returns once their baseline is taken."""
        line = [*self.wrapper, self.binary, "attach", "--output-prefix", prefix, *words(args),
                *(str(pid) for pid in ([pids] if isinstance(pids, int) else pids))]
        begin = time.monotonic()
        process = subprocess.Popen(line, cwd=cwd or self.cwd, env=self.environment(env),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **popen)
        started = Started(process, cwd or self.cwd, prefix, begin)
        # info.json is written when the baseline is there; a little later it is ready for signals
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            if started.path("info.json").exists() and started.path("info.json").stat().st_size and \
                    takes(process.pid, signal.SIGCONT):
                break
            time.sleep(0.002)
        return started

    def need_events(self, events):
        """Skips where these cannot be had: no programs in the kernel, no connector, or not for this user."""
        if events == "bpf":
            kernel_events.need(self)
        if events != "connector":
            return
        reason = kernel_events.why_no_connector() if os.getuid() == 0 else None
        if reason is not None:
            pytest.skip(f"{kernel_events.NO_CONNECTOR}: {reason}")
        if os.getuid() == 0 and not self.wrapper:
            return
        probe = self("-q --events connector", "true", prefix="probe_", check=False)
        if probe.returncode != 0 and "connector" in probe.message:
            pytest.skip(f"{kernel_events.NO_CONNECTOR}: {probe.message.strip()}")
        for path in self.cwd.glob("probe_*"):
            path.unlink()

    def metron(self, args, *, env=None, cwd=None, timeout=60):
        """Any other invocation: `metron doctor`, a wrong one, …"""
        started = time.monotonic()
        done = subprocess.run([*self.wrapper, self.binary, *words(args)], cwd=cwd or self.cwd,
                              env=self.environment(env), stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=timeout, check=False)
        return Run(done.returncode, done.stdout, done.stderr, time.monotonic() - started, cwd or self.cwd,
                   "")
