"""Signals and terminals: what a user of a shell expects, with metron in between."""

import fcntl
import os
import signal
import subprocess
import termios
import time

import pytest

from support import records
from support.kernel_values import cpu_seconds
from support.processes import alive, file_lines, named_descendants, send_signal, state, wait_until


def start_noting(runner, args, *options, seconds="30", code=None, **how):
    """Starts the `signals` workload under metron and waits until it is ready; returns run and its notes."""
    notes = runner.cwd / "notes"
    command = [runner.workload("signals"), *options, str(notes), seconds]
    run = runner.start(args, command + ([str(code)] if code is not None else []), **how)
    wait_until(lambda: file_lines(notes), what="the command being ready")
    return run, notes


def terminal_with_notes(runner, open_terminal, args, *options, seconds="30", code=None, env=None):
    notes = runner.cwd / "notes"
    command = [runner.workload("signals"), *options, str(notes), seconds]
    line = runner.command_line(args, command + ([str(code)] if code is not None else []))
    screen = open_terminal(line, runner.cwd, runner.environment(env))
    wait_until(lambda: file_lines(notes), what="the command being ready")
    return screen, notes


def wait_for_command(metron, name):
    """Until metron has a descendant of this name: the command has been executed. Returns {pid: name} of all."""
    return wait_until(lambda: (found := named_descendants(metron)) and name in found.values() and found, what=name)


def pid_of_command(metron, name):
    return next(pid for pid, found in wait_for_command(metron, name).items() if found == name)


def info_of(runner):
    return records.strict_json((runner.cwd / "run_info.json").read_bytes())


@pytest.mark.parametrize("args", ["", "--pty"])
def test_ctrl_c_goes_to_the_command(run_metron, open_terminal, args):
    screen, notes = terminal_with_notes(run_metron, open_terminal, args, "-x", "INT", code=7)
    screen.type("\x03")
    assert screen.finish() == 7
    assert file_lines(notes) == ["ready", "INT"]
    assert info_of(run_metron)["execution_summary"]["exit_code"] == 7


@pytest.mark.parametrize("args", ["", "--pty"])
def test_one_ctrl_c_ends_nothing_by_itself(run_metron, open_terminal, args):
    screen, notes = terminal_with_notes(run_metron, open_terminal, args, "-x", "USR1", code=7)
    screen.type("\x03")
    wait_until(lambda: "INT" in file_lines(notes), what="the SIGINT")
    send_signal(pid_of_command(screen.pid, "signals"), signal.SIGUSR1)
    assert screen.finish() == 7, "a command that handles SIGINT goes on"
    assert file_lines(notes) == ["ready", "INT", "USR1"]


def interrupt_until_it_ends(command, interrupt):
    """Once more is enough within a second. On a busy machine the first may be longer ago by now, and two are needed
    again."""
    def has_ended():
        if alive(command):
            interrupt()
            time.sleep(0.1)  # nothing shows that it was the first of two again
        return not alive(command)

    wait_until(has_ended, what="the end of the command")


@pytest.mark.parametrize("args", ["", "--pty"])
def test_second_ctrl_c_ends_the_tree(run_metron, open_terminal, args):
    screen, notes = terminal_with_notes(run_metron, open_terminal, args, "-d", "TERM")
    command = pid_of_command(screen.pid, "signals")
    screen.type("\x03")
    wait_until(lambda: "INT" in file_lines(notes), what="the first SIGINT")
    interrupt_until_it_ends(command, lambda: screen.type("\x03"))
    code = screen.finish()
    assert code == 128 + signal.SIGTERM
    assert info_of(run_metron)["execution_summary"]["exit_code"] == code


def test_ctrl_c_of_a_plain_command_is_130(run_metron, open_terminal):
    line = run_metron.command_line("", "sleep 30")
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    wait_for_command(screen.pid, "sleep")
    screen.type("\x03")
    assert screen.finish() == 130
    assert info_of(run_metron)["execution_summary"]["exit_code"] == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_sighup_to_metron_end_the_whole_tree(run_metron, number):
    """A child that left the session included; the record is still written."""
    orphan = run_metron.cwd / "orphan"
    command = f"{run_metron.workload('escape')} -o {orphan} 600 0; exec sleep 600"
    run = run_metron.start("--sample-interval 0.1 --report-interval 0.2", ["sh", "-c", command])
    pid = wait_until(lambda: file_lines(orphan), what="the orphan")[0]
    wait_until(lambda: any(f'"{pid}"' in line for line in file_lines(run.path("usage.jsonl"))), what="a record of it")
    tree = wait_for_command(run.pid, "sleep")
    assert int(pid) in tree
    run.signal(number)
    done = run.finish()
    assert done.returncode == 128 + number, "nobody had to be killed"
    wait_until(lambda: not any(alive(pid) for pid in tree), what="the end of the capture process")
    assert done.info["status"] != "running" and done.usage
    assert done.summary["exit_code"] == 128 + number


def test_stubborn_command_is_killed_in_the_end(run_metron):
    run, _ = start_noting(run_metron, "", "-i", "TERM", seconds="60", env={"METRON_KILL_AFTER": "0.5"})
    started = time.monotonic()
    run.signal(signal.SIGTERM)
    done = run.finish()
    assert done.returncode == 137
    assert time.monotonic() - started >= 0.4
    assert done.summary["exit_code"] == 137


# ---- a command that may not be signalled ----

@pytest.fixture
def open_pipe():
    """The read end of a pipe that does not end before the test."""
    ends = os.pipe()
    yield ends[0]
    for end in ends:
        os.close(end)


def refused_sigterm(runner, command, stdin, **how):
    """SIGTERM to metron, whose command may not be signalled; the run, and the line that says so."""
    run = runner.start("--cgroup off", command, stdin=stdin, **how)
    assert run.process.stdout.readline() == b"ready\n"
    run.signal(signal.SIGTERM)
    lines = iter(run.process.stderr.readline, b"")
    return run, next(line.decode() for line in lines if b"cannot be ended" in line)


def test_a_command_that_may_not_be_signalled_was_not_ended_by_metron(run_as_user, asroot):
    run, warning = refused_sigterm(run_as_user, [asroot], subprocess.PIPE)
    assert f"process {pid_of_command(run.pid, 'asroot')} (asroot) cannot be ended" in warning
    done = run.finish(data=b"\n")
    assert (done.returncode, done.summary["exit_code"]) == (4, 4)
    assert done.summary["cause"] == "exited with code 4; metron was not permitted to end it"
    assert "cannot be ended" not in done.message, "it is said once"


def test_a_command_that_may_not_be_signalled_is_not_waited_for_in_the_end(run_as_user, asroot, open_pipe):
    run, _ = refused_sigterm(run_as_user, [asroot], open_pipe, env={"METRON_KILL_AFTER": "0"})
    done = run.finish()
    assert "cannot be killed: not waiting" in done.message and "SIGKILL" not in done.message
    assert done.summary["cause"] == "still runs: metron was not permitted to end it"
    assert done.info["outcome"]["received"]["pid"] == os.getpid()
    assert [each["command"] for each in done.info["survivors"]["processes"]] == [asroot]


def test_what_may_be_signalled_is_ended_and_the_rest_named(run_as_user, asroot, open_pipe):
    run, warning = refused_sigterm(run_as_user, ["sh", "-c", f"exec 3<&0; {asroot} <&3 & wait"], open_pipe,
                                   env={"METRON_KILL_AFTER": "0"})
    assert "(asroot)" in warning
    done = run.finish()
    assert done.returncode == 143
    assert done.info["outcome"]["ended_by_metron"] is True
    assert [each["command"] for each in done.info["survivors"]["processes"]] == [asroot]


def test_command_may_answer_sigterm_with_its_own_code(run_metron):
    run, notes = start_noting(run_metron, "", "-x", "TERM", code=5)
    run.signal(signal.SIGTERM)
    assert run.finish().returncode == 5
    assert "TERM" in file_lines(notes)


def test_sigint_to_metron_alone_is_passed_on(run_metron):
    run, notes = start_noting(run_metron, "", "-x", "INT", code=6)
    run.signal(signal.SIGINT)
    assert run.finish().returncode == 6
    assert file_lines(notes) == ["ready", "INT"]


def test_two_sigints_to_metron_end_the_tree(run_metron):
    run, notes = start_noting(run_metron, "", "-d", "TERM")
    command = pid_of_command(run.pid, "signals")
    run.signal(signal.SIGINT)
    wait_until(lambda: "INT" in file_lines(notes), what="the first SIGINT")
    interrupt_until_it_ends(command, lambda: run.signal(signal.SIGINT))
    assert run.finish().returncode == 143


def test_stopped_metron_goes_on_where_it_was(run_metron):
    """SIGSTOP cannot be passed on: the command runs meanwhile, nothing is counted twice or as missed samples."""
    run = run_metron.start("--sample-interval 0.05 --report-interval 0.1", [run_metron.workload("burn"), "1.1"])
    wait_until(lambda: file_lines(run.path("usage.jsonl")), what="a record")
    command = pid_of_command(run.pid, "burn")
    run.signal(signal.SIGSTOP)
    used = cpu_seconds(command)
    wait_until(lambda: not alive(command) or cpu_seconds(command) > used + 0.6, what="CPU of the command")
    run.signal(signal.SIGCONT)
    done = run.finish()
    assert done.returncode == 0
    assert done.summary["proc_cpu_seconds"] == pytest.approx(1.1, abs=0.03)
    assert done.summary["proc_peak_pdcpu_total"] < 1000, "0.6 s of CPU within one interval would be 1200 %"


def test_sigquit_goes_to_the_command(run_metron, open_terminal):
    screen, notes = terminal_with_notes(run_metron, open_terminal, "", "-x", "QUIT", code=8)
    screen.type("\x1c")
    assert screen.finish() == 8
    assert file_lines(notes) == ["ready", "QUIT"]


def test_sigusr1_to_metron_does_not_kill_the_record(run_metron):
    """Batch systems send SIGUSR1 as a warning: the command gets it, the record goes on."""
    run, notes = start_noting(run_metron, "", "-x", "USR1", code=4)
    run.signal(signal.SIGUSR1)
    done = run.finish()
    assert done.returncode == 4
    assert file_lines(notes) == ["ready", "USR1"]


@pytest.mark.parametrize("number", [signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
                                    signal.SIGPWR, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGURG, signal.SIGRTMIN,
                                    signal.SIGRTMAX])
def test_any_signal_that_is_sent_to_metron_is_the_commands(run_metron, number):
    """A batch system sends SIGXCPU to what it started, and means the program in it."""
    script = (f"import signal; signal.signal({int(number)}, lambda *_: exit(7)); print('ready', flush=True); "
              "signal.pause(); signal.pause()")
    took = run_metron.start("-q", ["/usr/bin/python3", "-c", script])
    assert took.process.stdout.readline() == b"ready\n"
    took.signal(number)
    assert took.finish().returncode == 7


def test_an_alarm_set_for_the_program_to_come_is_the_commands(run_metron):
    """`alarm 1; exec COMMAND` is how a script limits the time of a program. On a busy machine metron itself may take that
    long to begin."""
    for seconds in (1, 5, 25):
        script = f"import os, signal, sys; signal.alarm({seconds}); os.execv(sys.argv[1], sys.argv[1:])"
        run = run_metron("-q --clobber", "sleep 600", outer=["/usr/bin/python3", "-c", script], timeout=120, check=False)
        if run.returncode != -signal.SIGALRM:
            break
    assert run.check().returncode == 128 + signal.SIGALRM
    assert run.info["outcome"]["received"]["from"] == "kernel"
    assert run.summary["cause"] == "killed by SIGALRM, sent to metron by the kernel"


@pytest.mark.parametrize("args", ["", "--pty"])
def test_ctrl_z_stops_the_job_and_fg_goes_on(run_metron, open_terminal, args):
    """In a real shell with job control: metron and all of the command stop, and both go on."""
    line = " ".join(run_metron.command_line(args, [run_metron.workload("manyprocs"), "-o", "pids", "3", "-"]))
    screen = open_terminal(["bash", "--norc", "--noprofile", "-i"], run_metron.cwd,
                           run_metron.environment({"PS1": "prompt> ", "TERM": "dumb"}))
    screen.expect("prompt> ")
    screen.type(line + "; echo code=$?\r")
    screen.expect("ready")
    pids = [int(pid) for pid in file_lines(run_metron.cwd / "pids")]
    screen.type("\x1a")
    screen.expect("Stopped")
    # One that waits for a CPU stops when it gets one, before it does anything else.
    wait_until(lambda: [state(pid) for pid in pids] == ["T", "T", "T"], what="the job stopped")
    screen.type("fg\r")
    wait_until(lambda: [state(pid) for pid in pids] == ["S", "S", "S"], what="the job going on")
    screen.type("\r")
    wait_until(lambda: (run_metron.cwd / "run_info.json").exists()
               and info_of(run_metron)["status"] != "running", what="the end")
    assert info_of(run_metron)["execution_summary"]["exit_code"] == 0


def test_sigcont_to_a_running_metron_is_harmless(run_metron):
    run, notes = start_noting(run_metron, "", "-x", "USR1", code=3)
    run.signal(signal.SIGCONT)
    run.signal(signal.SIGUSR1)
    assert run.finish().returncode == 3
    assert file_lines(notes)[-1] == "USR1"


def test_new_size_of_the_terminal_reaches_the_command(run_metron, open_terminal):
    screen, notes = terminal_with_notes(run_metron, open_terminal, "--pty", "-x", "TERM")
    screen.resize(41, 123)
    wait_until(lambda: "WINCH 41x123" in file_lines(notes), what="SIGWINCH with the new size")
    send_signal(screen.pid, signal.SIGTERM)
    assert screen.finish() == 0


def test_pty_has_the_size_of_the_terminal_from_the_start(run_metron, open_terminal):
    line = run_metron.command_line("-q --pty", "stty size")
    screen = open_terminal(line, run_metron.cwd, run_metron.environment(), rows=33, columns=99)
    assert screen.finish() == 0
    assert b"33 99" in screen.seen


def test_pty_gives_the_command_a_terminal(run_metron, open_terminal):
    command = "test -t 0 && test -t 1 && test -t 2 && echo all-three; exit 5"
    line = run_metron.command_line("-q --pty", ["sh", "-c", command])
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    assert screen.finish() == 5
    assert b"all-three" in screen.seen
    assert screen.modes() == screen.modes_at_start, "the terminal is as it was"
    assert (run_metron.cwd / "run_stdout").read_bytes() == b"all-three\r\n"
    assert not (run_metron.cwd / "run_stderr").exists() or not (run_metron.cwd / "run_stderr").read_bytes()


def test_pty_passes_typing_on(run_metron, open_terminal):
    line = run_metron.command_line("-q --pty", ["sh", "-c", "echo ready; read line; echo got:$line:"])
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    screen.expect("ready")
    screen.type("some words\r")
    assert screen.finish() == 0
    assert b"got:some words:" in screen.seen


def test_pty_without_any_terminal_outside_still_works(run_metron):
    run = run_metron("-q --pty", ["sh", "-c", "test -t 1 && echo yes; echo err >&2; exit 4"])
    assert run.returncode == 4
    assert run.bytes("stdout") == b"yes\r\nerr\r\n"
    assert b"yes" in run.stdout


def test_pty_captures_all_of_a_long_output(run_metron):
    run = run_metron("-q --pty", ["sh", "-c", "seq 1 20000"])
    assert run.bytes("stdout") == b"".join(b"%d\r\n" % i for i in range(1, 20001))


def test_terminal_is_whole_after_a_killed_pty_run(run_metron, open_terminal):
    line = run_metron.command_line("--pty", "sleep 30")
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    wait_for_command(screen.pid, "sleep")
    send_signal(screen.pid, signal.SIGTERM)
    assert screen.finish() == 143
    assert screen.modes() == screen.modes_at_start


def test_terminal_is_restored_when_metron_is_killed(run_metron, open_terminal):
    line = run_metron.command_line("--pty", ["sh", "-c", "read line; echo more; sleep 600"])
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    wait_for_command(screen.pid, "sh")
    wait_until(lambda: screen.modes() != screen.modes_at_start, what="the keyboard")
    send_signal(screen.pid, signal.SIGKILL)
    wait_until(lambda: screen.modes() == screen.modes_at_start, what="the terminal as it was")


def start_on_terminal(line, runner):
    """As the leader of a session on a new terminal. Returns it and the master: closing that hangs up."""
    master, slave = os.openpty()
    process = subprocess.Popen(line, cwd=runner.cwd, env=runner.environment(), stdin=slave, stdout=slave, stderr=slave,
                               start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    return process, master


def read_until(fd, text):
    seen = b""
    while text not in seen:
        seen += os.read(fd, 4096)


@pytest.mark.parametrize("args", ["", "--pty"])
def test_command_goes_on_when_its_terminal_hangs_up_and_nobody_minds(run_metron, args):
    """SIGHUP is ignored, as with nohup. Without metron a write fails with EIO, and no signal comes."""
    os.mkfifo(run_metron.cwd / "gate")
    script = "echo one; read go <gate; seq 50000; touch went_on; exit 4"  # more than a pipe holds
    line = run_metron.command_line(f"-q {args}", ["sh", "-c", script])
    process, master = start_on_terminal(["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *line], run_metron)
    read_until(master, b"one")
    os.close(master)
    (run_metron.cwd / "gate").write_text("go\n", encoding="ascii")
    assert process.wait(60) == 4
    assert (run_metron.cwd / "went_on").exists()
    assert (run_metron.cwd / "run_stdout").read_bytes().split()[-1] == b"50000"


def test_command_hangs_up_with_the_terminal_of_a_killed_metron(run_metron):
    process, master = start_on_terminal(run_metron.command_line("-q --pty", "cat"), run_metron)
    command = pid_of_command(process.pid, "cat")
    os.write(master, b"typed\n")
    read_until(master, b"typed")
    process.kill()
    process.wait()
    assert alive(command)
    os.close(master)
    wait_until(lambda: not alive(command), what="the end of the command")


def test_without_pty_the_command_in_a_terminal_reads_the_terminal(run_metron, open_terminal):
    """stdin is the caller's own: a command that asks a question gets its answer."""
    line = run_metron.command_line("-q", ["sh", "-c", "echo ready; read line; echo got:$line:"])
    screen = open_terminal(line, run_metron.cwd, run_metron.environment())
    screen.expect("ready")
    screen.type("an answer\r")
    assert screen.finish() == 0
    assert b"got:an answer:" in screen.seen
