"""metron trace: every system call of a running tree, shown, saved, and nothing left behind."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from support import processes
from support.namespaces import OWN_PIDS, through

CALL = re.compile(rb"^(\d+) +\d\d:\d\d:\d\d\.\d{6} ([a-z_][a-z0-9_]*)\(")

# Answers each line on its stdin with COUNT calls of getppid (through libc, so that none is optimised away).
TARGET = textwrap.dedent("""
    import ctypes, os, sys, threading
    libc = ctypes.CDLL(None)
    def work(line):
        for _ in range(int(line)):
            libc.getppid()
        os.write(1, b"done\\n")
    def serve():
        while True:
            line = b""
            while not line.endswith(b"\\n"):
                byte = os.read(0, 1)
                if not byte:
                    os._exit(0)
                line += byte
            if line == b"fork\\n":
                if os.fork() == 0:
                    work(b"300")
                    os._exit(0)
                os.wait()
            else:
                work(line)
    os.write(1, b"ready\\n")
    if "thread" in sys.argv:
        threading.Thread(target=serve).start()
        threading.Event().wait()
    if "child" in sys.argv and os.fork() != 0:
        os.wait()
        os._exit(0)
    serve()
""")


class Target:
    """A process that makes calls when it is told to."""

    def __init__(self, *words, wrapper=()):
        self.process = subprocess.Popen([*wrapper, sys.executable, "-c", TARGET, *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == b"ready\n"
        if "child" in words:
            processes.wait_until(lambda: processes.descendants(self.pid), what="its child")

    def ask(self, line, answers=1):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()
        for _ in range(answers):
            assert self.process.stdout.readline() == b"done\n"

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)

    def tracer(self):
        return tracer(self.pid)


def tracer(pid):
    found = re.search(r"^TracerPid:\t(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.M)
    return int(found.group(1))


@pytest.fixture
def target():
    """target(*words) -> Target, once it is known that something can be traced here."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    made = []

    def make(*words, wrapper=()):
        made.append(Target(*words, wrapper=wrapper))
        probe = subprocess.Popen([*wrapper, "strace", "-o", "/dev/null", "-p", str(made[-1].pid)],
                                 stderr=subprocess.PIPE)
        said = probe.stderr.readline().decode()
        probe.send_signal(signal.SIGINT)
        probe.communicate()
        if "attached" not in said:
            pytest.skip(f"nothing can be traced here: {said.strip()}")
        return made[-1]

    yield make
    for each in made:
        each.process.kill()
        each.process.wait()
        each.process.stdin.close()
        each.process.stdout.close()


class Trace:
    """metron trace under way, attached."""

    def __init__(self, runner, target, *args, stdout=subprocess.PIPE):
        self.process = subprocess.Popen([*runner.wrapper, runner.binary, "trace", *args, str(target.pid)],
                                        cwd=runner.cwd, env=runner.environment(), stdin=subprocess.DEVNULL,
                                        stdout=stdout, stderr=subprocess.PIPE)
        self.first_line = self.process.stderr.readline().decode()
        assert "tracing process" in self.first_line, self.first_line + self.process.stderr.read().decode()
        self.strace = target.tracer()
        assert processes.stat_fields(self.strace)[1] == self.process.pid

    def finish(self, number=signal.SIGINT):
        if number:
            self.process.send_signal(number)
        self.stdout, stderr = self.process.communicate(timeout=60)
        self.message = stderr.decode()
        return self


def names(text):
    return [match.group(2) for line in text.splitlines() if (match := CALL.match(line))]


def saved_file(runner):
    (path,) = (runner.cwd / ".metron" / "logs").glob("*_trace")
    return path


def test_every_call_is_shown_and_saved(run_metron, target):
    it = target()
    trace = Trace(run_metron, it)
    it.ask(1000)
    trace.finish()
    assert trace.process.returncode == 0
    path = saved_file(run_metron)
    assert path.read_bytes() == trace.stdout
    assert names(trace.stdout).count(b"getppid") == 1000
    assert f"{len(names(trace.stdout))} system calls traced, saved in .metron/logs/{path.name}" in trace.message
    assert path.stat().st_mode & 0o777 == 0o600
    assert re.search(rb"getppid\(\) += \d+ <0\.\d{6}>", trace.stdout)


def test_a_file_of_the_users_choice_has_what_is_shown(run_metron, target):
    it = target()
    trace = Trace(run_metron, it, "-o", "calls")
    it.ask(1000)
    trace.finish()
    assert (run_metron.cwd / "calls").read_bytes() == trace.stdout
    assert names(trace.stdout).count(b"getppid") == 1000


def test_a_quiet_one_only_saves(run_metron, target):
    it = target()
    for args in ["-q"], ["-q", "-o", "calls"]:
        trace = subprocess.Popen([run_metron.binary, "trace", *args, str(it.pid)], cwd=run_metron.cwd,
                                 env=run_metron.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        saved = (lambda: saved_file(run_metron)) if len(args) == 1 else (lambda: run_metron.cwd / "calls")
        processes.wait_until(it.tracer, what="strace")
        # Its announcement is kept back; once a call is saved, all are.
        def has_one():
            it.ask(1)
            return names(saved().read_bytes())
        processes.wait_until(has_one, what="a call that was saved")
        it.ask(1000)
        trace.send_signal(signal.SIGINT)
        assert trace.communicate(timeout=60) == (b"", b"") and trace.returncode == 0
        assert names(saved().read_bytes()).count(b"getppid") >= 1000


def test_traces_with_the_same_time_and_pid_get_names_of_their_own(run_metron, target):
    """metron is pid 1 in every container, and several may write to one folder."""
    target()
    script = "sleep 1 & exec \"$0\" trace $! >/dev/null"
    traces = [subprocess.Popen([*through(OWN_PIDS), "sh", "-c", script, run_metron.binary], cwd=run_metron.cwd,
                               env=run_metron.environment(), stderr=subprocess.PIPE) for _ in range(4)]
    for trace in traces:
        _, message = trace.communicate(timeout=60)
        assert trace.returncode == 0, message
    assert len(list((run_metron.cwd / ".metron" / "logs").glob("*-1*_trace"))) == len(traces)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_detaches_and_the_target_goes_on(run_metron, target, number):
    it = target()
    trace = Trace(run_metron, it, "-o", "calls")
    it.ask(10)
    trace.finish(number)
    assert trace.process.returncode == 0
    assert it.tracer() == 0 and not processes.alive(trace.strace)
    assert names((run_metron.cwd / "calls").read_bytes()).count(b"getppid") == 10
    it.ask(10)
    assert names((run_metron.cwd / "calls").read_bytes()).count(b"getppid") == 10


def test_threads_children_and_what_they_start_are_followed(run_metron, target):
    for words in (["thread"], ["child"]):
        it = target(*words)
        trace = Trace(run_metron, it, "-o", words[0])
        it.ask(100)
        it.ask("fork")
        trace.finish()
        text = (run_metron.cwd / words[0]).read_bytes()
        assert names(text).count(b"getppid") == 400, words
        assert len({line.split()[0] for line in text.splitlines() if b"getppid(" in line}) == 2


def test_it_ends_with_the_target(run_metron, target):
    it = target()
    trace = Trace(run_metron, it)
    it.ask(5)
    it.end()
    trace.finish(None)
    assert trace.process.returncode == 0
    assert trace.stdout.splitlines()[-1].endswith(b"+++ exited with 0 +++")
    assert names(trace.stdout).count(b"getppid") == 5


def test_metron_killed_leaves_no_strace_and_the_target_runs_on(run_metron, target):
    it = target("child")
    (child,) = processes.descendants(it.pid)
    trace = Trace(run_metron, it)
    it.ask(10)
    trace.process.kill()
    trace.process.wait()
    processes.wait_until(lambda: not processes.alive(trace.strace), what="the end of strace")
    assert it.tracer() == 0 and tracer(child) == 0
    processes.wait_until(lambda: processes.state(it.pid) == "S", what="the target to sleep on")
    assert processes.alive(child)
    it.ask(10)
    trace.process.stdout.close()
    trace.process.stderr.close()


def test_strace_killed_ends_the_trace_and_the_target_runs_on(run_metron, target):
    it = target()
    trace = Trace(run_metron, it)
    it.ask(10)
    processes.send_signal(trace.strace, signal.SIGKILL)
    trace.finish(None)
    assert "strace was ended by signal 9: the trace may lack its end" in trace.message
    assert it.tracer() == 0
    it.ask(10)


@pytest.mark.parametrize("busy", [True, False])
def test_a_reader_that_goes_away_ends_it(run_metron, target, busy):
    it = target()
    trace = Trace(run_metron, it)
    it.ask(10)
    assert trace.process.stdout.readline()
    trace.process.stdout.close()
    if busy:
        it.ask(1000)
    trace.process.wait(60)
    assert trace.process.returncode == 0
    assert it.tracer() == 0 and not processes.alive(trace.strace)
    trace.process.stderr.close()


def test_a_screen_that_stands_still_does_not_keep_it_from_detaching(run_metron, target):
    it = target()
    trace = Trace(run_metron, it)
    it.process.stdin.write(b"200000\n")  # far more than all pipes on the way hold; nobody reads them
    it.process.stdin.flush()
    file = saved_file(run_metron)

    def stands():
        size = file.stat().st_size
        time.sleep(0.3)
        return size > 0 and file.stat().st_size == size

    processes.wait_until(stands, what="a standstill")
    trace.process.send_signal(signal.SIGINT)
    trace.process.wait(60)
    assert trace.process.returncode == 0
    assert it.tracer() == 0 and not processes.alive(trace.strace)
    assert it.process.stdout.readline() == b"done\n"
    shown = trace.process.stdout.read()
    assert shown and file.read_bytes().startswith(shown)
    trace.finish(None)


def test_wrong_usage_is_told(run_metron):
    for args in ("trace", "trace x", "trace 0", "trace -5", "trace 1 2", "trace --nonsense 1", "trace 99999999999"):
        run = run_metron.metron(args)
        assert run.returncode == 2, args
        assert run.message.count("\n") == 1 and run.stdout == b"", args
    assert run.files() == []


def one_line(runner, args, wanted, **how):
    before = sorted(runner.cwd.rglob("*"))
    run = runner.metron(args, **how)
    assert run.returncode == 1 and run.stdout == b""
    assert wanted in run.message and run.message.count("\n") == 1, run.message
    assert [path for path in sorted(runner.cwd.rglob("*")) if path.is_file() and path not in before] == []


def test_what_cannot_be_traced_is_told_in_one_line(run_metron, target):
    it = target()
    one_line(run_metron, "trace 4194304", "there is no process 4194304")
    one_line(run_metron, f"trace {it.pid}", "strace is not installed", env={"PATH": "/nonexistent"})
    trace = Trace(run_metron, it, "-o", "first")
    one_line(run_metron, f"trace {it.pid} -o calls", f"traced already, by process {trace.strace} (strace)")
    trace.finish()
    assert trace.process.returncode == 0
    one_line(run_metron, f"trace {it.pid} -o first", "'first' is there already")


def test_a_link_with_the_name_of_the_trace_is_not_followed(run_metron, target):
    """metron chose that name, so somebody planted the link. One that the user names is followed."""
    it = target()
    precious = run_metron.cwd / "precious"
    precious.write_text("precious")
    (run_metron.cwd / "x_trace").symlink_to(precious)
    one_line(run_metron, f"trace --clobber -p x_ {it.pid}", "'x_trace' is not a regular file")
    assert precious.read_text() == "precious"
    Trace(run_metron, it, "--clobber", "-o", "x_trace").finish()
    assert precious.read_text() != "precious"


def test_an_ordinary_user_may_trace_his_own_and_no_others(run_as_user, target):
    one = target(wrapper=run_as_user.wrapper)
    trace = Trace(run_as_user, one)
    one.ask(50)
    trace.finish()
    assert names(trace.stdout).count(b"getppid") == 50
    if os.getuid() != 0:
        pytest.skip("the tests are not root's: there is no process of another user to ask for")
    roots = target()
    one_line(run_as_user, f"trace -o calls {roots.pid}", "it is another user's")


def test_the_help_names_an_example(run_metron):
    run = run_metron.metron("trace --help")
    assert run.returncode == 0 and b"metron trace 4711" in run.stdout


def test_a_prefix_of_the_users_choice_may_be_in_another_users_folder(run_metron, target):
    """Only the default folder must be the caller's: the user did not choose that."""
    if os.getuid() != 0:
        pytest.skip("only root can make a folder of another user's")
    shared = run_metron.cwd / "shared"
    shared.mkdir()
    os.chown(shared, 12345, 12345)
    trace = Trace(run_metron, target(), "-p", "shared/x_").finish()
    assert trace.process.returncode == 0 and (shared / "x_trace").exists(), trace.message
