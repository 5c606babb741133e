"""Do no harm: the same witness (tests/workloads/witness.c) with and without metron, under the same fault.

A cell of the matrix in docs/reliability.md is one test. It runs the witness twice, takes it through the same procedure
both times, and compares its effects: exit code, output bytes, and files.

    reference = procedure(stage.bare(column, steps))
    expect_same(procedure(stage.start(column, steps)), reference)

A procedure may send signals to metron or kill it. Without metron the witness gets what metron should pass on, and
nothing is killed.
"""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import typing

import pytest

from support import processes
from support.processes import wait_until
from support.run import words

RUN, PTY, ATTACH, JOB = COLUMNS = "run", "run-pty", "attach", "job-exec"
JOB_NAME = f"harm-{os.getpid()}"
# Nothing that the witness prints looks like this.
MESSAGE = re.compile(rb"metron: [^\n]*\n")
# How test and witness talk to each other.
NOT_COMPARED = {"go", "ready", "family"}
sheets = itertools.count(1)


def cells(values_by_column, name="{}"):
    """Parameters (column, value) of the cells of one row."""
    return [pytest.param(column, value, id=f"{column}-{name.format(value)}")
            for column, values in values_by_column.items() for value in values]


class Effects(typing.NamedTuple):
    """What the witness did: its exit code as a shell shows it, its output, and {name: bytes} of its files."""

    code: int
    out: bytes
    err: bytes
    files: dict

    def without(self, *names):
        return self._replace(files={name: data for name, data in self.files.items() if name not in names})


def first_difference(name, data, reference):
    at = len(os.path.commonprefix([data, reference]))
    return (f"{name} has {len(data)} bytes instead of {len(reference)}; from byte {at} on {data[at:at + 60]!r} instead"
            f" of {reference[at:at + 60]!r}")


def expect_same(effects, reference):
    """The command's own effects are those without metron."""
    parts = {"stdout": (effects.out, reference.out), "stderr": (effects.err, reference.err)}
    parts.update({name: (effects.files[name], reference.files[name])
                  for name in sorted(effects.files.keys() & reference.files.keys())})
    found = [first_difference(name, *pair) for name, pair in parts.items() if pair[0] != pair[1]]
    if effects.files.keys() != reference.files.keys():
        found.insert(0, f"files {sorted(effects.files)} instead of {sorted(reference.files)}")
    if effects.code != reference.code:
        found.insert(0, f"exit code {effects.code} instead of {reference.code}")
    assert not found, "with metron: " + "\n".join(found)


def shown(returncode):
    """An exit code as a shell shows it."""
    return returncode if returncode >= 0 else 128 - returncode


def is_ready_for_signals(pid):
    """Whether metron, which takes its baseline first, has installed its handlers or blocked what it takes otherwise."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    masks = [int(mask, 16) for mask in re.findall(r"^Sig(?:Cgt|Blk):\t(\w+)$", status, re.M)]
    return any(mask >> (signal.SIGCONT - 1) & 1 for mask in masks)


class Pipes:
    """A command in its own process group whose output is read until its last writer has closed it."""

    def __init__(self, line, cwd, env):
        self.process = subprocess.Popen(line, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, preexec_fn=os.setpgrp)
        self.seen, self.errors = b"", b""
        self.readers = [threading.Thread(target=self.read, args=each, daemon=True)
                        for each in ((self.process.stdout, "seen"), (self.process.stderr, "errors"))]
        for reader in self.readers:
            reader.start()

    def read(self, stream, name):
        with stream:
            while data := os.read(stream.fileno(), 1 << 16):
                setattr(self, name, getattr(self, name) + data)

    def drain(self):
        for reader in self.readers:
            reader.join(60)
            assert not reader.is_alive(), f"the output has no end; so far {self.seen[-500:]!r} {self.errors[-500:]!r}"


class Screen:
    """A command on a terminal, with the attributes of Pipes."""

    def __init__(self, terminal):
        self.terminal, self.process, self.errors = terminal, terminal.process, b""

    @property
    def seen(self):
        # The user's terminal adds a second \r where it is not in raw mode: after metron has ended. It shows nothing.
        return re.sub(rb"\r+\n", b"\r\n", self.terminal.seen)

    def drain(self):
        self.terminal.finish()


class Case:
    """The witness at work, with metron (`metron` is its pid) or without (None)."""

    def __init__(self, column, streams, folder, cwd, under_metron):
        self.column, self.streams, self.folder, self.cwd = column, streams, folder, cwd
        self.process = streams.process
        self.metron = self.process.pid if under_metron else None
        self.attach = None  # starts the metron that attaches to a pid
        self.attached = None  # its Pipes
        self.killed = False
        self.said = b""

    @property
    def witness(self):
        return int(self.read("ready"))

    def read(self, name):
        path = self.folder / name
        return path.read_bytes() if path.exists() else b""

    def files(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name not in NOT_COMPARED}

    # ---- what a procedure is made of ----

    def wait_ready(self):
        """Until the witness is ready, and attached to; or until all has ended."""
        wait_until(lambda: self.read("ready").endswith(b"\n") or self.process.poll() is not None,
                   what="a witness that is ready")
        if self.attach:
            self.attached = self.attach(self.witness)
            self.metron = self.attached.process.pid
            wait_until(lambda: self.attached.process.poll() is not None or is_ready_for_signals(self.metron),
                       what="metron being attached")

    def wait_seen(self, size):
        """Until so much of its output has arrived, or all has ended."""
        wait_until(lambda: len(self.streams.seen) >= size or self.process.poll() is not None,
                   what=f"{size} bytes of output")

    def go(self):
        (self.folder / "go").touch()

    def send(self, number):
        """Sends a signal to metron; without metron, to the processes that metron should pass it on to."""
        if self.attached:
            self.end_attached(number)
        elif self.metron:
            processes.send_signal(self.metron, number)
        elif self.column == JOB:
            processes.send_signal(self.witness, number)
        elif self.column != ATTACH:
            assert processes.is_below(self.witness), "its group may be another's by now"
            os.killpg(self.witness, number)
            if number in (signal.SIGTERM, signal.SIGHUP) and (away := self.member("away")):
                processes.send_signal(away, number)

    def end_attached(self, number):
        """Once it has ended, metron cannot pass the signal on any more."""
        self.attached.process.send_signal(number)
        self.attached.process.send_signal(signal.SIGTERM)
        self.attached.process.send_signal(signal.SIGCONT)  # it may have been stopped
        wait_until(lambda: self.attached.process.poll() is not None, what="the end of metron attach")

    def kill_metron(self):
        if self.metron:
            killed = (self.attached or self.streams).process
            killed.kill()
            killed.wait()
            self.killed = not self.attached

    def metron_ended(self):
        return (self.attached or self.streams).process.poll() is not None

    def wait_end(self, continuing=False):
        """Until the process that was started has ended. `continuing`: SIGCONT is sent again and again, to metron or to
        the group of the witness."""
        def ended():
            if continuing and self.process.poll() is None:
                (processes.send_signal if self.metron else os.killpg)(self.process.pid, signal.SIGCONT)
            return self.process.poll() is not None
        wait_until(ended, what="the end")
        died = self.metron == self.process.pid and self.process.returncode < 0 and not self.killed
        assert not died, f"metron itself died of signal {-self.process.returncode}"

    def finish(self, continuing=False):
        """Waits until every process has ended; returns the effects of the witness."""
        self.wait_end(continuing)
        code = shown(self.reap_witness() if self.killed else self.process.returncode)
        processes.expect_none_left()
        self.streams.drain()
        if self.attached:
            self.attached.drain()
            self.said = self.attached.errors
            return Effects(code, self.streams.seen, self.streams.errors, self.files())
        self.said = b"".join(MESSAGE.findall(self.streams.seen + self.streams.errors))
        out, err = MESSAGE.sub(b"", self.streams.seen), MESSAGE.sub(b"", self.streams.errors)
        return Effects(code, out, err, self.files())

    def reap_witness(self):
        """The witness of a metron that was killed has become a child of this process."""
        _, status = wait_until(lambda: (ended := os.waitpid(self.witness, os.WNOHANG))[0] and ended,
                               what="the end of the witness")
        return os.waitstatus_to_exitcode(status)

    # ---- the family of the witness ----

    def member(self, name):
        """The pid of a child; None if it has no family."""
        found = re.search(rb"^%s (\d+)$" % name.encode(), self.read("family"), re.M)
        return int(found[1]) if found else None

    def reacted_as(self, reference):
        """Whether the signal has reached every process that it reached in the reference."""
        if any(self.read(name) != reference.files.get(name, b"") for name in ("signals", "away")):
            return False
        survives = b"plain 0\n" in reference.files["ended"]
        return survives == processes.alive(self.member("plain"))

    # ---- what metron has recorded ----

    def record(self):
        """The info.json of the run; None if there is none."""
        found = sorted((self.cwd / ".metron" / "logs").glob("*info.json"))
        assert len(found) < 2, found
        return json.loads(data) if found and (data := found[0].read_bytes()) else None

    def has_recorded(self, code):
        """Whether the record is complete and has this exit code. metron may not know how an attached process ended."""
        info = self.record() or {}
        if self.column == ATTACH:
            return info.get("status") == "ended"
        return info.get("execution_summary", {}).get("exit_code") == code


class Stage:
    """Where the cases of one test run: as whom, in which folder. `jobs()` is a daemon in which JOB_NAME runs."""

    def __init__(self, runner, open_terminal, jobs):
        self.runner, self.open_terminal, self.jobs = runner, open_terminal, jobs

    def folder(self, name):
        """A new folder that the user of the runner may write into."""
        made = self.runner.cwd.parent / name
        made.mkdir()
        status = self.runner.cwd.stat()
        os.chown(made, status.st_uid, status.st_gid)
        return made

    def bare(self, column, steps, outer=(), cwd=None):
        """The witness without metron. A fault that surrounds `metron attach` does not surround it."""
        folder = self.folder("without")
        line = [*(() if column == ATTACH else outer), *self.runner.wrapper, *self.witness_line(folder, steps)]
        cwd = cwd or self.runner.cwd
        return Case(column, self.streams(column, line, cwd), folder, cwd, False)

    def start(self, column, steps, args="", outer=(), cwd=None):
        """The witness under metron, in `cwd` and with the default prefix; or with metron attaching to it."""
        folder = self.folder("with")
        line = self.witness_line(folder, steps)
        cwd = cwd or self.runner.cwd
        if column != ATTACH:
            line = [*outer, *self.runner.wrapper, self.runner.binary, *self.options(column, args), "--", *line]
            return Case(column, self.streams(column, line, cwd), folder, cwd, True)
        case = Case(column, self.streams(column, [*self.runner.wrapper, *line], cwd), folder, cwd, False)
        case.attach = lambda pid: Pipes([*outer, *self.runner.wrapper, self.runner.binary, *self.options(column, args),
                                         str(pid)], cwd, self.environment())
        return case

    def options(self, column, args):
        if column == JOB:
            return ["job", "exec", "--socket", str(self.jobs().socket), JOB_NAME, str(next(sheets))]
        if column == ATTACH:
            return ["attach", "--quiet", *words(args)]
        # metron kills a command that ignores SIGTERM, but not during the test.
        command = ["run", "--quiet", "--fail-time", "0", "--kill-after", "600", *words(args)]
        return command + ["--pty"] if column == PTY else command

    def witness_line(self, folder, steps):
        return [self.runner.workload("witness"), str(folder), *words(steps)]

    def environment(self):
        # Searching for leaks takes a process and descriptors, which some limits do not leave; a sanitizer changes
        # RLIMIT_CORE.
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:disable_coredump=0"
        return self.runner.environment({"ASAN_OPTIONS": sanitizer, "NO_COLOR": "1"})

    def streams(self, column, line, cwd):
        if column == PTY:
            return Screen(self.open_terminal(line, cwd, self.environment()))
        return Pipes(line, cwd, self.environment())


def run_to_end(case):
    """The shortest procedure."""
    case.wait_ready()
    case.go()
    return case.finish()
