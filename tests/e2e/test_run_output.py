"""The command's output: captured byte for byte, shown live, each stream in order."""

import itertools
import os
import pathlib
import signal
import subprocess

import pytest

from support.kernel_events import capture_processes
from support.processes import alive, file_lines, send_signal, wait_until

WHAT = ("all", "none", "stdout", "stderr")


@pytest.mark.parametrize("capture, shown", itertools.product(WHAT, WHAT))
def test_capture_and_outputs_are_chosen_apart(run_metron, capture, shown):
    run = run_metron(f"-q --capture-outputs {capture} --outputs {shown}",
                     ["sh", "-c", "echo to-out; echo to-err >&2"])
    assert run.returncode == 0
    for name, text, seen in (("stdout", b"to-out\n", run.stdout), ("stderr", b"to-err\n", run.stderr)):
        assert run.has(name) == (capture in ("all", name)), name
        if run.has(name):
            assert run.bytes(name) == text
        assert seen == (text if shown in ("all", name) else b""), name


def test_short_options_are_the_same(run_metron):
    run = run_metron("-q -c stderr -o stdout -t system-summary -m hello", ["sh", "-c", "echo a; echo b >&2"])
    assert run.stdout == b"a\n" and run.stderr == b""
    assert run.files() == ["run_info.json", "run_stderr"]
    assert run.info["message"] == "hello"


def test_output_is_kept_byte_for_byte(run_metron):
    data = bytes(range(256)) * 300 + b"no newline at the end \xff\x00"
    run = run_metron("-q", "cat", data=data)
    assert run.returncode == 0
    assert run.stdout == data
    assert run.bytes("stdout") == data


def test_a_quarter_of_a_gibibyte_through_cat_loses_nothing(run_metron):
    size = str(256 << 20)
    pattern = run_metron.workload("pattern")
    source = subprocess.Popen([pattern, "make", size], stdout=subprocess.PIPE)
    run = run_metron.start("-q", "cat", stdin=source.stdout, stdout=subprocess.PIPE)
    source.stdout.close()
    check = subprocess.Popen([pattern, "check", size], stdin=run.process.stdout, stderr=subprocess.PIPE)
    run.process.stdout.close()
    _, complaint = check.communicate(timeout=120)
    assert check.returncode == 0, complaint
    assert run.process.wait(timeout=60) == 0
    assert source.wait() == 0
    recorded = run.path("stdout")
    with open(recorded, "rb") as file:
        done = subprocess.run([pattern, "check", size], stdin=file, capture_output=True, check=False)
    recorded.unlink()
    assert done.returncode == 0, done.stderr


def test_output_is_shown_while_the_command_runs(run_metron):
    run = run_metron.start("-q", ["sh", "-c", "echo early; sleep 600"])
    assert run.process.stdout.readline() == b"early\n"
    wait_until(lambda: run.path("stdout").read_bytes() == b"early\n", what="the line in the file")
    run.signal(signal.SIGTERM)
    run.finish()


def test_each_stream_keeps_its_order(run_metron):
    command = 'i=0; while [ $i -lt 3000 ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); done'
    run = run_metron("-q", ["sh", "-c", command])
    assert run.stdout == run.bytes("stdout") == b"".join(b"out %d\n" % i for i in range(3000))
    assert run.stderr == run.bytes("stderr") == b"".join(b"err %d\n" % i for i in range(3000))


def test_both_to_one_place_keep_their_bytes(run_metron):
    """2>&1 outside: each stream's lines are whole and in order, though the two may mix."""
    run = run_metron("-q", ["sh", "-c", "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done"],
                     stderr=subprocess.STDOUT)
    lines = run.stdout.split()
    assert [line for line in lines if line.startswith(b"o")] == [b"o1", b"o2", b"o3", b"o4", b"o5"]
    assert [line for line in lines if line.startswith(b"e")] == [b"e1", b"e2", b"e3", b"e4", b"e5"]


def test_held_pipe_does_not_delay_the_end(run_metron):
    run = run_metron("-q", [run_metron.workload("holder"), "600", "6"])
    assert run.returncode == 6
    assert run.stdout == run.bytes("stdout") == b"before\n"


# ---- when metron has gone ----

LATE = "read line <&3; echo late; echo late >&2; touch went_on"


def start_with_gate(runner, args, script):
    """Starts a command that reads its descriptor 3; returns it and the other end."""
    os.mkfifo(runner.cwd / "gate")
    run = runner.start(f"-q {args}", ["sh", "-c", f"exec 3<gate; echo before; {script}"], stderr=subprocess.STDOUT)
    return run, open(runner.cwd / "gate", "wb", buffering=0)


@pytest.mark.parametrize("args", ["", "--pty"])
def test_a_child_that_outlives_the_command_goes_on_writing(run_metron, args):
    """As without metron: what it writes arrives, and the reader sees the end when it has ended."""
    # A terminal hangs up when the leader of its session ends.
    run, gate = start_with_gate(run_metron, args, f"trap '' HUP; ({LATE}) & exit 5")
    with gate:
        assert run.process.wait(60) == 5
        gate.write(b"\n")
    assert run.process.stdout.read().split() == [b"before", b"late", b"late"]
    assert (run_metron.cwd / "went_on").exists()
    assert run.path("stdout").read_bytes().count(b"late") == (2 if args else 1)


@pytest.mark.parametrize("args", ["", "--pty"])
def test_command_goes_on_writing_when_metron_is_killed(run_metron, args):
    run, gate = start_with_gate(run_metron, args, f"{LATE}; test -t 1 && echo terminal; exit 0")
    with gate:
        assert run.process.stdout.readline().strip() == b"before"
        capture = wait_until(lambda: capture_processes(run.pid), what="the capture process")[0]
        run.signal(signal.SIGKILL)
        run.process.wait()
        gate.write(b"\n")
    assert run.process.stdout.read().split() == [b"late", b"late", *([b"terminal"] if args else [])]
    assert (run_metron.cwd / "went_on").exists()
    wait_until(lambda: not alive(capture), what="the end of the capture process")


def test_one_sigterm_ends_metron_although_nobody_reads_its_output(run_metron):
    run = run_metron.start("-q", "yes")
    wait_until(lambda: run.path("stdout").exists() and run.path("stdout").stat().st_size > 1 << 16, what="output")
    run.signal(signal.SIGTERM)
    assert run.process.wait(60) == 128 + signal.SIGTERM
    shown = run.process.stdout.read()  # who reads late loses nothing
    assert shown == run.path("stdout").read_bytes() and len(shown) > 1 << 17


def test_stdin_reaches_the_command(run_metron):
    run = run_metron("-q", ["sh", "-c", "read a; read b; echo $b$a"], data=b"1\n2\n")
    assert run.stdout == b"21\n"


@pytest.mark.parametrize("args, number", [("", signal.SIGPIPE), ("--pty", signal.SIGHUP)])
def test_reader_that_goes_away_ends_the_command_as_a_pipe_or_terminal_would(run_metron, args, number):
    run = run_metron.start(f"-q {args}", "yes")
    assert run.process.stdout.readline().strip() == b"y"
    run.process.stdout.close()
    assert run.process.wait(timeout=60) == 128 + number


def test_a_killed_capture_process_is_reported(run_metron):
    run = run_metron.start("-q", ["sh", "-c", "trap '' PIPE; echo begun; read line; echo lost; exit 4"], stdin=subprocess.PIPE)
    assert run.process.stdout.readline() == b"begun\n"
    (capture,) = capture_processes(run.pid)
    send_signal(capture, signal.SIGKILL)
    wait_until(lambda: not pathlib.Path(f"/proc/{capture}").exists(), what="metron having reaped it")
    ended = run.finish(data=b"\n")
    assert ended.returncode == 4 and b"capture process was killed" in ended.stderr


def test_slow_reader_loses_nothing(run_metron):
    """A reader that pauses holds the command back as a pipe would, and gets every byte."""
    pattern = run_metron.workload("pattern")
    run = run_metron.start("-q --sample-interval 0.1 --report-interval 0.1", [pattern, "make", "3000000"])
    records = run.path("usage.jsonl")
    wait_until(lambda: len(file_lines(records)) >= 3, what="samples that go on while nobody reads")
    assert run.process.poll() is None
    check = subprocess.run([pattern, "check", "3000000"], stdin=run.process.stdout, capture_output=True,
                           timeout=60, check=False)
    assert check.returncode == 0, check.stderr
    assert run.process.wait(timeout=60) == 0


def test_command_that_reads_no_stdin_does_not_take_it(run_metron):
    """What the command leaves unread stays for whoever comes next, as without metron."""
    read, write = os.pipe()
    os.write(write, b"for the next\n")
    os.close(write)
    run = run_metron("-q", "true", stdin=read)
    assert run.returncode == 0
    assert os.read(read, 100) == b"for the next\n"
    os.close(read)


def test_uncaptured_and_shown_output_is_the_callers_own(run_metron):
    """Nothing to capture: the command writes to our descriptor itself."""
    run = run_metron("-q -c none -o all", ["readlink", "/proc/self/fd/1"], stdout=subprocess.PIPE)
    assert run.stdout.startswith(b"pipe:")
    assert run.files() and not run.has("stdout")
