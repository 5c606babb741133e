"""trace.start and trace.stop: every call in the file, nobody harmed, nothing left behind."""

import contextlib
import grp
import os
import pathlib
import re
import signal
import stat
import subprocess
import time

import pytest

from support import daemon_client as dc
from support import kernel_events, processes
from support.daemon_client import Client, RpcError, Shell, expect_error, process_in
from support.kernel_events import need_program
from support.processes import wait_until
from support.users import ANOTHER_USER, STRANGER

pytestmark = pytest.mark.threads

INVALID_PARAMS, EXHAUSTED, NOT_PERMITTED = -32602, -32001, -32010
AT_ONCE = 8
LINE = re.compile(r"^(\d+) +\d\d:\d\d:\d\d\.\d{6} ([a-z_][a-z0-9_]*)\(", re.M)


@pytest.fixture(autouse=True)
def _strace():
    need_program("strace")


def tracer_of(pid):
    return int(re.search(r"TracerPid:\t(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))[1])


def calls_in(path, name):
    return [found[0] for found in LINE.findall(pathlib.Path(path).read_text(encoding="utf-8")) if found[1] == name]


def sleeper(daemon):
    child = subprocess.Popen([*daemon.runner.wrapper, "sleep", "600"])
    wait_until(lambda: process_in(daemon.call("daemon.top"), child.pid).get("command") == "sleep 600",
               what="the sleeper")
    return child


# ---- what is in the file ----

def test_every_call_of_the_tree_is_in_the_file(either):
    shell = Shell(either.runner)
    with either.client() as client:
        begun = client.call("trace.start", pid=shell.pid)
        assert begun.keys() == {"pid", "path", "method"} and begun["method"] == "strace" and begun["pid"] == shell.pid
        assert shell.run(f"{either.runner.workload('getppids')} 500 30 7") == 0
        ended = client.call("trace.stop", pid=shell.pid)
        assert ended == {"pid": shell.pid, "path": begun["path"], "bytes": os.stat(begun["path"]).st_size}
        assert shell.run(f"{either.runner.workload('getppids')} 100") == 0
    made = calls_in(begun["path"], "getppid")
    assert len(made) == 537
    assert sorted(made.count(pid) for pid in set(made)) == [7, 30, 500]


def test_the_file_is_what_strace_itself_writes(daemon):
    calls = daemon.runner.workload("calls")
    own = daemon.runner.cwd / "own"
    subprocess.run(["strace", "-f", "-o", own, calls], check=True, stdout=subprocess.DEVNULL)
    truth = re.findall(r"^\d+ +([a-z_][a-z0-9_]*)\(", own.read_text(encoding="utf-8"), re.M)
    gate = daemon.runner.cwd / "gate"
    os.mkfifo(gate)
    shell = Shell(daemon.runner)
    pid = shell.start(f"sh -c 'read go; exec {calls}' < {gate}")
    with open(gate, "w", encoding="utf-8") as go, daemon.client() as client:
        path = client.call("trace.start", pid=pid)["path"]
        go.write("go\n")
        go.flush()
        shell.reap(pid)
        wait_until(lambda: "exited with 0" in pathlib.Path(path).read_text(encoding="utf-8"))
        client.call("trace.stop", pid=pid)
    told = [name for _, name in LINE.findall(pathlib.Path(path).read_text(encoding="utf-8"))]
    # The shell's own start may be in it too.
    last = len(told) - 1 - told[::-1].index("execve")
    assert told[last:] == truth


def test_descendants_that_live_already_are_traced(daemon):
    shell = Shell(daemon.runner)
    inner = shell.start("sh -c 'while :; do sleep 0.05; done'")
    with daemon.client() as client:
        path = client.call("trace.start", pid=shell.pid)["path"]
        wait_until(lambda: str(inner) in calls_in(path, "wait4"), what="calls of the descendant")
        client.call("trace.stop", pid=shell.pid)
    assert tracer_of(inner) == 0


# ---- the file itself ----

def test_file_and_folder_are_the_owners_alone(either):
    shell = Shell(either.runner)
    path = pathlib.Path(either.call("trace.start", pid=shell.pid)["path"])
    assert path.parent == either.database.parent / "traces"
    assert path.name.startswith(f"{shell.pid}-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.stat().st_uid == path.parent.stat().st_uid == os.stat(f"/proc/{either.pid}").st_uid


def test_two_traces_of_one_process_have_two_files(daemon):
    shell = Shell(daemon.runner)
    paths = set()
    with daemon.client() as client:
        for _ in range(3):
            paths.add(client.call("trace.start", pid=shell.pid)["path"])
            client.call("trace.stop", pid=shell.pid)
    assert len(paths) == 3 and all(os.path.exists(path) for path in paths)


@pytest.mark.parametrize("trap", ["link", "writable"])
def test_a_folder_that_others_may_change_is_not_used(start_daemon, trap):
    daemon = start_daemon()
    folder = daemon.database.parent / "traces"
    elsewhere = daemon.database.parent / "elsewhere"
    elsewhere.mkdir()
    if trap == "link":
        folder.symlink_to(elsewhere)
    else:
        folder.mkdir()
        folder.chmod(0o777)
    shell = Shell(daemon.runner)
    with daemon.client() as client, pytest.raises(RpcError):
        client.call("trace.start", pid=shell.pid)
    assert not list(elsewhere.iterdir()) and not list(folder.iterdir())
    assert tracer_of(shell.pid) == 0


# ---- what is refused ----

def test_what_cannot_be_traced_is_refused_with_advice(daemon):
    shell = Shell(daemon.runner)
    with daemon.client() as client:
        expect_error(client, INVALID_PARAMS, "trace.start")
        expect_error(client, INVALID_PARAMS, "trace.start", pid="me")
        expect_error(client, INVALID_PARAMS, "trace.start", pid=0)
        expect_error(client, INVALID_PARAMS, "trace.start", pid=4194304)
        expect_error(client, INVALID_PARAMS, "trace.start", pid=daemon.pid)
        expect_error(client, INVALID_PARAMS, "trace.stop", pid=shell.pid)
        client.call("trace.start", pid=shell.pid)
        expect_error(client, INVALID_PARAMS, "trace.start", pid=shell.pid)
    assert not list((daemon.database.parent / "traces").glob(f"{daemon.pid}-*"))


def test_one_that_has_another_tracer_is_refused(daemon):
    child = sleeper(daemon)
    with subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(child.pid)], stderr=subprocess.DEVNULL) as tracer:
        wait_until(lambda: tracer_of(child.pid), what="the other tracer")
        with daemon.client() as client:
            expect_error(client, INVALID_PARAMS, "trace.start", pid=child.pid)
        tracer.terminate()
    child.kill()
    child.wait()


def test_only_so_many_run_at_once(daemon):
    shells = [Shell(daemon.runner) for _ in range(AT_ONCE + 1)]
    with daemon.client() as client:
        for shell in shells[:AT_ONCE]:
            client.call("trace.start", pid=shell.pid)
        expect_error(client, EXHAUSTED, "trace.start", pid=shells[AT_ONCE].pid)
        client.call("trace.stop", pid=shells[0].pid)
        client.call("trace.start", pid=shells[AT_ONCE].pid)


def test_traces_that_nobody_removes_do_not_fill_the_disk(daemon):
    shell = Shell(daemon.runner)
    old = daemon.database.parent / "traces" / "old.trace"
    with daemon.client() as client:
        client.call("trace.start", pid=shell.pid)
        client.call("trace.stop", pid=shell.pid)
        with open(old, "wb") as file:
            file.truncate(2 << 30)
        error = expect_error(client, EXHAUSTED, "trace.start", pid=shell.pid)
        assert str(old.parent) in str(error)
        old.unlink()
        client.call("trace.start", pid=shell.pid)


def test_another_users_process_is_not_for_an_ordinary_user(start_user_daemon):
    dc.need_another_user()
    daemon = start_user_daemon()
    with daemon.client() as client:
        expect_error(client, NOT_PERMITTED, "trace.start", pid=os.getpid())
    assert not list(daemon.database.parent.glob("traces/*"))
    assert tracer_of(os.getpid()) == 0


def test_the_sockets_group_may_not_trace(start_user_daemon):
    dc.need_another_user()
    group = next(entry for entry in grp.getgrall() if entry.gr_gid != 0)
    wrapper = start_user_daemon.runner.wrapper
    wrapper[wrapper.index("--clear-groups")] = f"--groups={group.gr_gid}"
    daemon = start_user_daemon(env={"METRON_SOCKET_GROUP": group.gr_name})
    for folder in daemon.folder, daemon.folder.parent:
        folder.chmod(0o711)
    shell = Shell(daemon.runner)
    with Client(daemon.socket, uid=STRANGER, gid=group.gr_gid) as client:
        assert client.call("daemon.health")
        expect_error(client, NOT_PERMITTED, "trace.start", pid=shell.pid)
        expect_error(client, NOT_PERMITTED, "trace.stop", pid=shell.pid)
    assert tracer_of(shell.pid) == 0


# ---- nobody is harmed ----

def test_a_trace_ends_with_its_process_and_is_told_later(either):
    shell = Shell(either.runner)
    with either.client() as client:
        path = client.call("trace.start", pid=shell.pid)["path"]
        tracer = tracer_of(shell.pid)
        shell.end()
        wait_until(lambda: not os.path.exists(f"/proc/{tracer}"), what="strace to be waited for")
        ended = client.call("trace.stop", pid=shell.pid)
        assert ended == {"pid": shell.pid, "path": path, "bytes": os.stat(path).st_size}
        expect_error(client, INVALID_PARAMS, "trace.stop", pid=shell.pid)


def test_stopping_leaves_the_process_unharmed(either):
    child = sleeper(either)
    with either.client() as client:
        client.call("trace.start", pid=child.pid)
        assert tracer_of(child.pid)
        client.call("trace.stop", pid=child.pid)
    assert tracer_of(child.pid) == 0
    stat = pathlib.Path(f"/proc/{child.pid}/stat")
    wait_until(lambda: stat.read_text(encoding="utf-8").split()[2] == "S", what="it to sleep on")
    child.terminate()
    assert child.wait() == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_traced_process_outlives_the_daemon(daemon, number):
    shell = Shell(daemon.runner)
    path = daemon.call("trace.start", pid=shell.pid)["path"]
    assert daemon.stop(number) == (0 if number == signal.SIGTERM else -number)
    wait_until(lambda: tracer_of(shell.pid) == 0, what="no tracer")
    assert shell.run("/bin/true") == 0
    assert os.path.exists(path)


def test_the_daemon_answers_and_samples_while_a_trace_is_busy(daemon):
    shell = Shell(daemon.runner)
    busy = shell.start(f"sh -c 'while :; do {daemon.runner.workload('getppids')} 10000; done'")
    with daemon.client() as client, daemon.client() as other:
        trace = client.call("trace.start", pid=busy)["path"]
        before = daemon.call("daemon.status")["ticks"]
        wait_until(lambda: other.call("daemon.status")["ticks"] > before + 5, what="ticks")
        wait_until(lambda: os.stat(trace).st_size > 100000, what="a trace that grows")
        assert client.call("trace.stop", pid=busy)["bytes"] > 100000


def test_the_daemon_answers_and_samples_while_a_strace_does_not_attach(start_daemon):
    daemon = start_daemon(env=kernel_events.hanging_strace(start_daemon.runner.cwd))
    shell = Shell(daemon.runner)
    with daemon.client() as client, daemon.client() as other:
        client.request("trace.start", pid=shell.pid)
        strace = kernel_events.wait_for_strace(daemon.pid)
        before = other.call("daemon.status")["ticks"]
        wait_until(lambda: other.call("daemon.status")["ticks"] > before + 1, what="ticks")
        assert processes.alive(strace), "it was waited for all the while"


# ---- clients that leave ----

@contextlib.contextmanager
def stopped(daemon):
    """What is sent meanwhile is all there when it goes on, and whoever sent it has left."""
    processes.send_signal(daemon.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        processes.send_signal(daemon.pid, signal.SIGCONT)


def is_refused(daemon, method, **params):
    try:
        daemon.call(method, **params)
    except RpcError as error:
        return error.code == INVALID_PARAMS
    return False


def request_of(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.parametrize("in_batch", [False, True], ids=["alone", "batch"])
def test_who_asks_for_the_end_of_a_trace_that_has_ended_may_leave(daemon, in_batch):
    for _ in range(4):
        shell = Shell(daemon.runner)
        daemon.call("trace.start", pid=shell.pid)
        tracer = tracer_of(shell.pid)
        shell.end()
        wait_until(lambda: not os.path.exists(f"/proc/{tracer}"), what="strace to be waited for")
        time.sleep(0.05)  # nothing shows that the daemon has noticed: if not, the next client gets the answer
        stop = request_of("trace.stop", pid=shell.pid)
        with stopped(daemon), daemon.client() as client:
            client.request("daemon.health")  # its answer cannot be sent either
            client.send([stop, *[request_of("daemon.health", n) for n in range(2, 40)], stop] if in_batch else stop)
        assert daemon.call("daemon.health")
        wait_until(lambda: is_refused(daemon, "trace.stop", pid=shell.pid), what="the trace to be forgotten")


def test_who_waits_for_a_trace_and_ends_the_daemon_may_leave(daemon):
    shell = Shell(daemon.runner)
    with stopped(daemon), daemon.client() as client:
        client.request("trace.start", pid=shell.pid)
        client.request("daemon.shutdown")
        client.request("daemon.health")
    assert daemon.wait() == 0
    wait_until(lambda: tracer_of(shell.pid) == 0, what="no tracer")


def test_a_trace_that_cannot_begin_answers_who_would_end_it_too(daemon):
    with daemon.client() as client:
        for _ in range(10):
            asked = [client.request("trace.start", pid=4194304), client.request("trace.stop", pid=4194304)]
            refused = [client.receive() for _ in asked]
            assert sorted(each["id"] for each in refused) == asked
            assert {each["error"]["code"] for each in refused} == {INVALID_PARAMS}
