"""Signals to metron because of which the command ended: who sent them, and whether the time of a batch job was up."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from support import kernel_events
from support.namespaces import OWN_PIDS, through
from support.processes import named_descendants, send_signal, wait_until
from support.users import AS_ANOTHER_USER, others_are_hidden

THIS = {"from": "process", "pid": os.getpid(), "uid": os.getuid(),
        "command": pathlib.Path("/proc/self/comm").read_text(encoding="ascii").strip()}
SENT_BY_THIS = f"sent to metron by {THIS['command']} (pid {THIS['pid']})"
SLEEP = "echo ready; exec sleep 600"
END_WITH = "trap 'exit {}' TERM; echo ready; while :; do sleep 0.1; done"


def started(runner, script=SLEEP, args="", **how):
    run = runner.start(f"-q {args}", ["sh", "-c", script], **how)
    assert run.process.stdout.readline() == b"ready\n"
    return run


def ended_by(runner, number, script=SLEEP, args="", **how):
    run = started(runner, script, args, **how)
    run.signal(number)
    return run.finish()


def received(run):
    found = dict(run.info["outcome"]["received"])
    assert run.info["start_time"] <= found.pop("time") <= run.summary["end_time"]
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
                                    signal.SIGUSR2, signal.SIGRTMIN])
def test_the_sender_is_named(run_metron, number):
    run = ended_by(run_metron, number)
    assert run.returncode == 128 + number
    assert received(run) == {"signal": number, **THIS}
    assert run.info["outcome"]["kind"] == "signaled"
    name = f"signal {int(number)}" if number == signal.SIGRTMIN else number.name
    assert run.summary["cause"].replace(", core dumped", "") == f"killed by {name}, {SENT_BY_THIS}"


def test_of_a_user_too(run_as_user):
    assert received(ended_by(run_as_user, signal.SIGTERM)) == {"signal": signal.SIGTERM, **THIS}


def test_one_that_has_ended_has_no_name(run_metron):
    run = started(run_metron)
    run.signal(signal.SIGSTOP)
    sender = subprocess.Popen(["/bin/sh", "-c", f"kill -TERM {run.pid}"])
    assert sender.wait() == 0
    run.signal(signal.SIGCONT)
    done = run.finish()
    assert received(done) == {"signal": signal.SIGTERM, "from": "process", "pid": sender.pid, "uid": os.getuid()}
    assert done.summary["cause"] == f"killed by SIGTERM, sent to metron by a process (pid {sender.pid})"


def test_a_command_may_answer_with_a_code(run_metron):
    run = ended_by(run_metron, signal.SIGTERM, END_WITH.format(3))
    assert received(run) == {"signal": signal.SIGTERM, **THIS}
    assert run.summary["cause"] == f"exited with code 3 after SIGTERM, {SENT_BY_THIS}"


def test_one_that_is_killed_in_the_end(run_metron):
    run = ended_by(run_metron, signal.SIGTERM, "trap '' TERM; " + SLEEP, env={"METRON_KILL_AFTER": "0"})
    assert run.summary["cause"] == f"killed by SIGKILL after SIGTERM, {SENT_BY_THIS}"


def test_what_a_command_left_running_is_not_the_command(run_metron):
    run = started(run_metron, "sleep 600 & echo ready; read line; exit 3", "--wait tree", stdin=subprocess.PIPE)
    command = next(pid for pid, name in named_descendants(run.pid).items() if name == "sh")
    run.process.stdin.write(b"\n")
    run.process.stdin.flush()
    wait_until(lambda: not pathlib.Path(f"/proc/{command}").exists(), what="metron having reaped the command")
    run.signal(signal.SIGTERM)
    done = run.finish()
    assert done.returncode == 3
    assert received(done) == {"signal": signal.SIGTERM, **THIS, "after_exit": True}
    assert "ended_by_metron" not in done.info["outcome"]
    assert done.summary["cause"] == \
        f"exited with code 3; what it had left running ended after SIGTERM, {SENT_BY_THIS}"


def test_a_signal_that_was_handled_is_no_reason(run_metron):
    run = started(run_metron, "trap 'echo taken' USR1; echo ready; read line; exit 3", stdin=subprocess.PIPE)
    run.signal(signal.SIGUSR1)
    assert run.process.stdout.readline() == b"taken\n"
    done = run.finish(data=b"\n")
    assert done.returncode == 3
    assert "received" not in done.info["outcome"]
    assert done.summary["cause"] == "exited with code 3"


def test_a_key_is_of_the_terminal(run_metron, open_terminal):
    screen = open_terminal(run_metron.command_line("-q", ["sh", "-c", SLEEP]), run_metron.cwd,
                           run_metron.environment())
    screen.expect("ready")
    screen.type("\x03")
    assert screen.finish() == 130
    info = json.loads((run_metron.cwd / "run_info.json").read_text())
    assert info["outcome"]["received"]["from"] == "terminal" and info["outcome"]["received"]["signal"] == 2
    assert info["execution_summary"]["cause"] == "killed by SIGINT from the terminal"


def test_one_outside_the_container_is_not_guessed(run_metron):
    run = started(run_metron, outer=through(OWN_PIDS))
    metron = next(pid for pid, name in named_descendants(run.pid).items() if name == "metron")
    send_signal(metron, signal.SIGTERM)
    done = run.finish()
    assert received(done) == {"signal": signal.SIGTERM, "from": "outside"}
    assert done.summary["cause"] == "killed by SIGTERM, sent to metron from outside its container"


def test_a_program_that_uses_libmetron_asks_without_a_signal(run_metron):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        run = started(run_metron, args=f"--feed {theirs.fileno()}", pass_fds=[theirs.fileno()])
        ours.shutdown(socket.SHUT_WR)
        done = run.finish()
    assert received(done) == {"from": "library"}
    assert done.summary["cause"] == "killed by SIGTERM on request of the program that started it"


def test_who_kills_the_command_itself_is_the_sender(run_metron):
    """Also where metron had a signal to pass on before, which the command handled."""
    kernel_events.need(run_metron)
    run = started(run_metron, "trap : USR1; echo ready; while :; do sleep 0.1; done", "--events bpf")
    run.signal(signal.SIGUSR1)
    command = next(pid for pid, name in named_descendants(run.pid).items() if name == "sh")
    send_signal(command, signal.SIGTERM)
    done = run.finish()
    assert done.info["outcome"]["sender"] == {"pid": os.getpid(), "command": THIS["command"]}
    assert "received" not in done.info["outcome"]


def test_a_report_does_not_blame_metron(run_metron):
    kernel_events.need(run_metron)
    ended_by(run_metron, signal.SIGTERM, args="--events bpf")
    shown = run_metron.metron("report run_").stdout.decode()
    assert "sent by" not in shown.replace("\n", " ").replace("sent to metron by", ""), shown
    page = json.loads(run_metron.metron("report --json run_").stdout)
    assert page["outcome"]["signal_sender"] == f"{THIS['command']} (pid {THIS['pid']})"


# ---- the time of a batch job ----

def slurm(seconds_left):
    return {"SLURM_JOB_END_TIME": str(int(time.time()) + seconds_left)}


@pytest.mark.parametrize("number, script", [(signal.SIGTERM, SLEEP), (signal.SIGUSR2, SLEEP),
                                            (signal.SIGTERM, END_WITH.format(3))])
def test_the_time_limit_was_reached(run_metron, number, script):
    env = slurm(0)
    run = ended_by(run_metron, number, script, env=env)
    outcome = run.info["outcome"]
    assert outcome["kind"] == "time_limit"
    assert outcome["time_limit"]["source"] == "SLURM_JOB_END_TIME"
    assert received(run) == {"signal": number, **THIS}
    assert run.returncode == (3 if script != SLEEP else 128 + number), "as without metron"
    assert run.summary["cause"].startswith("time limit reached: "), run.summary["cause"]
    assert " time  " in run_metron.metron("ls .").stdout.decode()
    report = run_metron.metron("report run_").stdout.decode()
    assert "time limit reached" in report and "(SLURM_JOB_END_TIME): request more" in " ".join(report.split())
    assert 'outcome="time_limit"' in run_metron.metron("export --format prometheus run_").stdout.decode()


def test_a_record_that_ends_early_at_its_time_limit_stays(run_metron):
    """Without kernel events nobody knows who signals the command alone."""
    run = started(run_metron, args="--events off", env=slurm(0), fail_time=1000)
    command = wait_until(lambda: next((pid for pid, name in named_descendants(run.pid).items() if name == "sleep"), None),
                         what="the command")
    send_signal(command, signal.SIGTERM)
    assert run.finish().info["outcome"]["kind"] == "time_limit"


def test_a_command_that_ends_well_at_its_time_limit_has_exited(run_metron):
    run = ended_by(run_metron, signal.SIGTERM, END_WITH.format(0), env=slurm(0))
    assert run.returncode == 0
    assert run.info["outcome"]["kind"] == "exited" and "time_limit" in run.info["outcome"]
    assert run.summary["cause"].endswith("; the time limit of its job was reached")


@pytest.mark.parametrize("env", [slurm(864000), slurm(-86400), {"SLURM_JOB_END_TIME": "tomorrow"},
                                 {"PBS_WALLTIME": "864000"}])
def test_a_signal_at_another_time_is_no_time_limit(run_metron, env):
    run = ended_by(run_metron, signal.SIGTERM, env=env)
    assert run.info["outcome"]["kind"] == "signaled" and "time_limit" not in run.info["outcome"]


def test_a_fault_at_the_time_limit_is_a_fault(run_metron):
    run = run_metron("-q", ["sh", "-c", "kill -SEGV $$"], env=slurm(0))
    assert run.info["outcome"]["kind"] == "signaled" and "time_limit" not in run.info["outcome"]


def command_killed_by_this(runner, args, number=signal.SIGTERM):
    run = started(runner, SLEEP, args, env=slurm(-120))
    send_signal(next(pid for pid, name in named_descendants(run.pid).items() if name in ("sh", "sleep")), number)
    return run.finish().info["outcome"]


def test_a_scheduler_may_signal_the_command_alone(run_metron):
    outcome = command_killed_by_this(run_metron, "--events off")
    assert outcome["kind"] == "time_limit" and "sender" not in outcome and "received" not in outcome


def test_another_user_may_be_the_scheduler(run_as_user):
    kernel_events.need(run_as_user)
    if others_are_hidden():
        pytest.skip("/proc shows nobody else's processes to a user")
    run_as_user.wrapper = [*AS_ANOTHER_USER[:-1], "--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon", "--"]
    outcome = command_killed_by_this(run_as_user, "--events bpf")
    assert outcome["kind"] == "time_limit" and outcome["sender"]["pid"] == os.getpid()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_kill_by_its_own_user_is_no_time_limit(run_metron, number):
    kernel_events.need(run_metron)
    outcome = command_killed_by_this(run_metron, "--events bpf", number)
    assert outcome["kind"] == "signaled" and "time_limit" not in outcome
    assert outcome["sender"]["pid"] == os.getpid()


@pytest.mark.parametrize("command", [["sh", "-c", "kill -TERM $$"], ["timeout", "-s", "KILL", "0.2", "sleep", "600"],
                                     ["sh", "-c", "sh -c 'kill -KILL $PPID'; :"]])
def test_a_command_that_kills_itself_is_at_no_time_limit(run_metron, command):
    kernel_events.need(run_metron)
    run = run_metron("-q --events bpf", command, env=slurm(-120))
    assert run.info["outcome"]["kind"] == "signaled" and "time_limit" not in run.info["outcome"]


@pytest.mark.parametrize("name", ["PBS_WALLTIME", "OAR_JOB_WALLTIME_SECONDS"])
def test_a_duration_counts_from_the_start_of_the_session(run_metron, name):
    run = ended_by(run_metron, signal.SIGTERM, env={name: "1"}, start_new_session=True)
    assert run.info["outcome"]["kind"] == "time_limit"
    assert run.info["outcome"]["time_limit"]["source"] == name
