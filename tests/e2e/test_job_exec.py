"""metron job exec: a sheet of a running job, in a control group of its own where one can be made."""

import os
import signal
import subprocess

import pytest

from support import cgroups
from support.daemon_client import Daemon, RpcError, ended_pid, need_daemon
from support.leaves import ESCAPE, PYTHON, cpu_of_leaf, only_the_shell_is_in, own_leaf
from support.processes import send_signal, wait_until
from support.users import ANOTHER_USER

# Whoever inherits a job's name is of that job: tests that run beside this one have another.
JOB = f"night-{os.getpid()}"


@pytest.fixture
def night(run_metron, tmp_path):
    """A daemon without kernel events, in which JOB runs."""
    need_daemon(run_metron)
    folder = tmp_path / "daemon"
    folder.mkdir(mode=0o700)
    started = Daemon(run_metron, folder).start(env={"METRON_EVENTS": "off"})
    started.call("job.start", job_id=JOB)
    yield started
    started.end()


def line(runner, daemon, job, sheet, command):
    return [*runner.wrapper, runner.binary, "job", "exec", "--socket", str(getattr(daemon, "socket", daemon)), job,
            str(sheet), "--", *(str(word) for word in command)]


def start(runner, daemon, sheet, command, job=JOB, **how):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.Popen(line(runner, daemon, job, sheet, command), cwd=runner.cwd, env=runner.environment(),
                            **pipes)


def execute(runner, daemon, sheet, command, job=JOB, data=None):
    process = start(runner, daemon, sheet, command, job, stdin=subprocess.PIPE)
    process.out, process.err = process.communicate(input=data, timeout=60)
    return process


def sheet_of(daemon, number, job=JOB):
    return next(each for each in daemon.call("job.status", job_id=job)["sheets"] if each["sheet_num"] == number)


def members(daemon, number):
    return [each for each in daemon.call("daemon.top")["processes"]
            if each.get("job_id") == JOB and each.get("sheet_num") == number]


# ---- the command ----

@pytest.mark.parametrize("command, code", [
    (["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 128 + 15),
    (["no-such-command-here"], 127), (["/etc/passwd"], 126)])
def test_the_exit_code_is_the_commands_as_a_shell_has_it(run_metron, night, command, code):
    done = execute(run_metron, night, 1, command)
    assert done.returncode == code
    sheet = sheet_of(night, 1)
    assert sheet["status"] == ("completed" if code == 0 else "failed")
    assert sheet["tries"] == 1


def test_stdin_stdout_and_stderr_are_the_commands_own(run_metron, night):
    done = execute(run_metron, night, 1, ["sh", "-c", "cat; echo aside >&2"], data=bytes(range(256)) * 100)
    assert done.out == bytes(range(256)) * 100
    assert done.err == b"aside\n", "metron adds nothing"
    assert not list(run_metron.cwd.glob("**/info.json")), "and records nothing"


def test_what_stands_behind_the_job_is_the_commands(run_metron, night):
    words = line(run_metron, night, JOB, 1, ["printf", "%s,", "--json", "-x", "--", "-l"])
    del words[words.index("--")]
    done = subprocess.run(words, cwd=run_metron.cwd, env=run_metron.environment(), capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"--json,-x,--,-l,")


def test_the_command_knows_its_job_and_sheet(run_metron, night):
    done = execute(run_metron, night, 3, ["sh", "-c", "echo $METRON_JOB $METRON_SHEET"])
    assert done.out == f"{JOB} 3\n".encode()


def test_the_end_is_told_with_its_code_or_signal(run_metron, night):
    with night.client() as client:
        client.subscribe(events=["sheet.*"])
        execute(run_metron, night, 1, ["sh", "-c", "exit 5"])
        execute(run_metron, night, 2, ["sh", "-c", "kill -KILL $$"])
        seen = [client.next_event() for _ in range(4)]
    told = [(each["event"], each["data"].get("exit_code"), each["data"].get("signal_num")) for each in seen]
    assert told == [("sheet.started", None, None), ("sheet.failed", 5, None),
                    ("sheet.started", None, None), ("sheet.failed", None, 9)]


def test_the_daemon_is_told_before_the_command_executes_anything(run_metron, night):
    ask = ["import socket, json, sys, os", "s = socket.socket(socket.AF_UNIX)", f"s.connect({str(night.socket)!r})",
           "s.sendall(b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"job.status\",\"params\":{\"job_id\":\"%s\"}}\\n')" % JOB,
           "print(json.loads(s.makefile().readline())['result']['sheets'][0]['pid'] == os.getpid())"]
    done = execute(run_metron, night, 1, [PYTHON, "-S", "-c", "\n".join(ask)])
    assert done.out == b"True\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT])
def test_signals_are_handed_on_to_the_command(run_metron, night, number):
    name = number.name[3:]
    process = start(run_metron, night, 1, ["sh", "-c", f"trap 'exit 42' {name}; echo ready; while :; do sleep 0.05; done"],
                    start_new_session=True)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 42
    assert sheet_of(night, 1)["status"] == "failed"


# ---- no such job, no daemon ----

def test_a_job_that_is_not_there_is_an_error_before_anything_runs(run_metron, night, tmp_path):
    mark = tmp_path / "ran"
    done = execute(run_metron, night, 1, ["touch", mark], job="a day")
    assert done.returncode == 1
    assert done.err == b"metron: error: there is no job 'a day'; 'metron job start 'a day'' begins one\n"
    assert not mark.exists()


def test_a_job_that_has_ended_is_an_error_too(run_metron, night, tmp_path):
    night.call("job.finish", job_id=JOB, outcome="completed")
    mark = tmp_path / "ran"
    done = execute(run_metron, night, 1, ["touch", mark])
    assert done.returncode == 1
    assert f"job '{JOB}' has ended".encode() in done.err
    assert not mark.exists()


def test_without_a_daemon_the_command_runs_all_the_same(run_metron, tmp_path):
    need_daemon(run_metron)
    done = execute(run_metron, tmp_path / "none.sock", 1, ["sh", "-c", "echo $METRON_SHEET; exit 4"])
    assert (done.returncode, done.out) == (4, b"1\n")
    assert done.err.startswith(b"metron: warning: the daemon is not told of this sheet") and done.err.count(b"\n") == 1


def test_a_daemon_that_dies_does_not_disturb_the_command(run_metron, night):
    process = start(run_metron, night, 1, ["sh", "-c", "echo ready; read line; echo done; exit 6"],
                    stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    night.process.kill()
    night.process.wait()
    out, err = process.communicate(input=b"\n", timeout=60)
    assert (process.returncode, out) == (6, b"done\n")
    assert err.startswith(b"metron: warning: the daemon is not told of this sheet") and err.count(b"\n") == 1


def test_wrong_usage_is_told(run_metron):
    for words in ([JOB], [JOB, "1"], [JOB, "x", "true"], [JOB, "-1", "true"], [JOB, "1", "--"]):
        done = run_metron.metron(["job", "exec", *words])
        assert done.returncode == 2, words
        assert "metron job --help" in done.message or "option" in done.message, words


# ---- the control group ----

def test_the_cpu_of_the_sheet_is_the_kernels_count_of_its_leaf(run_metron, night):
    burn = run_metron.workload("burn")
    process = start(run_metron, night, 1,
                    ["sh", "-c", f"{burn} 0.4; ({burn} 0.2 &) ; {burn} 0.3; echo burnt; read line; exit 0"],
                    stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"burnt\n"
    leaf = own_leaf(sheet_of(night, 1)["pid"])
    wait_until(lambda: only_the_shell_is_in(leaf), what="the end of the one in the background")
    before = cpu_of_leaf(leaf)
    assert before > 0.85
    process.communicate(input=b"\n", timeout=60)
    usage, sheet = sheet_of(night, 1)["usage"], sheet_of(night, 1)
    assert sheet["own_cgroup"] is True
    assert usage["cpu_source"] == "cgroup_cpu_seconds"
    assert usage["cpu_seconds"] == usage["cgroup_cpu_seconds"]
    assert before <= usage["cpu_seconds"] < before + 0.02, "and what the shell needed to end"
    assert not leaf.exists(), "it goes with its sheet"


def test_a_sheet_within_a_sheet_counts_once_for_the_job(run_metron, night):
    """The control group of the outer one has all that the inner one uses, and so has what its runner waits for. The next
    daemon knows it too."""
    inner = " ".join(line(run_metron, night, JOB, 2, [run_metron.workload("burn"), "0.3"]))
    done = execute(run_metron, night, 1, ["sh", "-c", f"{inner}; true"])
    assert (done.returncode, done.err) == (0, b"")
    outer, within = (sheet_of(night, number)["usage"]["cpu_seconds"] for number in (1, 2))
    assert outer >= within >= 0.2
    assert night.call("job.status", job_id=JOB)["usage"]["sheets_cpu_seconds"] == outer
    night.process.send_signal(signal.SIGTERM)
    assert night.wait() == 0
    night.start(env={"METRON_EVENTS": "off"})
    execute(run_metron, night, 3, ["true"])
    usage = night.call("job.finish", job_id=JOB, outcome="completed") and night.call("job.status", job_id=JOB)["usage"]
    assert usage["sheets_cpu_seconds"] == pytest.approx(outer + sheet_of(night, 3)["usage"]["cpu_seconds"], abs=2e-6)


def test_an_escapee_between_two_ticks_is_still_a_member(run_metron, tmp_path):
    need_daemon(run_metron)
    folder = tmp_path / "slow"
    folder.mkdir(mode=0o700)
    daemon = Daemon(run_metron, folder).start(interval=1.5, env={"METRON_EVENTS": "off"})
    try:
        daemon.call("job.start", job_id=JOB)
        process = start(run_metron, daemon, 1, ["sh", "-c", f'{PYTHON} -S -c "$0" 31.25; echo gone; read line', ESCAPE],
                        stdin=subprocess.PIPE)
        assert process.stdout.readline() == b"gone\n"
        own_leaf(sheet_of(daemon, 1)["pid"])
        [escapee] = wait_until(lambda: [each for each in members(daemon, 1) if each["command"] == "sleep 31.25"],
                               what="the escapee in a snapshot")
        assert escapee["membership"] == "cgroup"
        send_signal(escapee["pid"], signal.SIGKILL)
        process.communicate(input=b"\n", timeout=60)
    finally:
        daemon.end()


def test_a_process_moved_in_from_outside_is_a_member(run_metron, night):
    process = start(run_metron, night, 1, ["sh", "-c", "echo ready; read line"], stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    leaf = own_leaf(sheet_of(night, 1)["pid"])
    stranger = subprocess.Popen(["sleep", "30"])
    try:
        (leaf / "cgroup.procs").write_text(str(stranger.pid), encoding="utf-8")
        [found] = wait_until(lambda: [each for each in members(night, 1) if each["pid"] == stranger.pid],
                             what="the stranger in a snapshot")
        assert found["membership"] == "cgroup"
    finally:
        stranger.kill()
        stranger.wait()
        process.communicate(input=b"\n", timeout=60)


def test_a_leaf_and_its_count_survive_a_restart_of_the_daemon(run_metron, night):
    burn = run_metron.workload("burn")
    process = start(run_metron, night, 1, ["sh", "-c", f"{burn} 0.3; echo one; read line; {burn} 0.3; echo two; read line"],
                    stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"one\n"
    leaf = own_leaf(sheet_of(night, 1)["pid"])
    wait_until(lambda: sheet_of(night, 1)["usage"].get("cgroup_cpu_seconds", 0) > 0.25, what="the first count")
    night.process.send_signal(signal.SIGTERM)
    assert night.wait() == 0
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"two\n"
    night.start(env={"METRON_EVENTS": "off"})
    assert sheet_of(night, 1)["own_cgroup"] is True
    wait_until(lambda: sheet_of(night, 1)["usage"].get("cgroup_cpu_seconds", 0) > 0.55, what="what it did meanwhile")
    before = cpu_of_leaf(leaf)
    process.communicate(input=b"\n", timeout=60)
    assert before <= sheet_of(night, 1)["usage"]["cpu_seconds"] < before + 0.02


def test_all_that_is_known_of_a_sheet_outlives_the_daemon(run_metron, night):
    """Its own group and what that counted; where it counts memory, whom the OOM killer took there as well."""
    why = cgroups.why_no_leaf()
    if why:
        pytest.skip(f"no control group of its own: {why}")
    assert execute(run_metron, night, 1, [run_metron.workload("burn"), "0.1"]).returncode == 0
    assert execute(run_metron, night, 2, ["sh", "-c", "exit 3"]).returncode == 3
    before = night.call("job.profile", job_id=JOB)["sheets"]
    assert [each["own_cgroup"] for each in before] == [True, True]
    night.call("job.finish", job_id=JOB, outcome="completed")
    assert night.stop() == 0
    night.start()
    assert night.call("job.profile", job_id=JOB)["sheets"] == before


def test_a_second_try_adds_to_the_first(run_metron, night):
    why = cgroups.why_no_leaf()
    if why:
        pytest.skip(f"no control group of its own: {why}")
    burn = run_metron.workload("burn")
    seconds = []
    for code in (1, 0):
        assert execute(run_metron, night, 1, ["sh", "-c", f"{burn} 0.3; exit {code}"]).returncode == code
        seconds.append(sheet_of(night, 1)["usage"]["cpu_seconds"])
    assert sheet_of(night, 1)["tries"] == 2
    assert 0.3 <= seconds[0] < 0.6 <= seconds[1] < 0.9, "each of them once"


def test_the_group_of_somebody_else_is_not_taken(run_metron, night):
    """The pid is that of this test, which shares its group with the daemon."""
    told = night.call("event.publish", event="sheet.started", job_id=JOB, sheet_num=1,
                      data={"pid": os.getpid(), "own_cgroup": True})
    assert told["event"] == "sheet.started", "no error of the call"
    assert sheet_of(night, 1)["own_cgroup"] is False
    assert "the control group" in night.said() and "is not its own" in night.said()
    assert "cgroup_cpu_seconds" not in sheet_of(night, 1)["usage"]
    assert {each["membership"] for each in members(night, 1)} <= {"descent", "events"}


def test_an_ordinary_user_has_no_leaf_and_a_sheet_all_the_same(run_as_user):
    need_daemon(run_as_user)
    uid = ANOTHER_USER if os.getuid() == 0 else None
    if uid is not None:
        os.chown(run_as_user.cwd, uid, uid)
    daemon = Daemon(run_as_user, run_as_user.cwd, uid).start()
    try:
        daemon.call("job.start", job_id=JOB)
        done = execute(run_as_user, daemon, 1, ["sh", "-c", f"{run_as_user.workload('burn')} 0.4; exit 3"])
        assert (done.returncode, done.err) == (3, b"")
        sheet = sheet_of(daemon, 1)
        assert sheet["status"] == "failed"
        if "own_cgroup" not in sheet:
            assert sheet["usage"]["cpu_source"] == "rusage_cpu_seconds"
        assert sheet["usage"]["cpu_seconds"] == pytest.approx(0.4, abs=0.1)
    finally:
        daemon.end()


# ---- a process that is not there ----

def test_a_job_of_a_process_that_is_not_there_is_refused(run_metron, night):
    pid = ended_pid()
    with pytest.raises(RpcError) as refused:
        night.call("job.start", job_id="day", pid=pid)
    assert refused.value.code == -32602
    assert f"there is no process {pid}" in refused.value.message and refused.value.data["hint"]
    assert "day" not in {each["job_id"] for each in night.call("job.list")}
    done = run_metron.metron(["job", "start", "--socket", night.socket, "day", pid])
    assert done.returncode == 1 and f"there is no process {pid}" in done.message


def test_a_sheet_of_a_process_that_is_not_there_begins_with_a_hint(night):
    pid = ended_pid()
    told = night.call("event.publish", event="sheet.started", job_id=JOB, sheet_num=9, data={"pid": pid})
    assert f"there is no process {pid}" in told["data"]["hint"]
    assert sheet_of(night, 9)["status"] == "running"
    told = night.call("event.publish", event="sheet.started", job_id=JOB, sheet_num=8, data={"pid": os.getpid()})
    assert "hint" not in told["data"]
