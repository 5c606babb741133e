"""Whose the daemon's socket is: who gets in, who may have the path, and how a server leaves it."""

import grp
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from support.rpc_server import HEALTH, Client, client, error_of, find_program, path, server, start, still_alive
from support.users import ANOTHER_USER, AS_ANOTHER_USER, STRANGER


# ---- Who gets in ----

as_root = pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None,
                             reason="needs root and setpriv (util-linux) to become another user")
TALK = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
except PermissionError:
    sys.exit(13)
try:
    s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"peer"}\\n')
except OSError:
    pass
print(s.makefile().readline(), end="")
"""


def talk_as(path, uid, gid, groups=()):
    membership = [f"--groups={','.join(map(str, groups))}"] if groups else ["--clear-groups"]
    done = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={gid}", *membership, "--", sys.executable, "-c", TALK,
                           str(path)], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.stdout else done.returncode


@pytest.fixture
def open_path():
    """A path that everybody can get to."""
    folder = pathlib.Path(f"/tmp/metron-test-socket-{os.getpid()}")
    folder.mkdir()
    folder.chmod(0o755)
    yield folder / "s"
    shutil.rmtree(folder)


def end(process):
    process.terminate()
    assert process.wait(60) == 0


def test_the_socket_is_closed_to_others(server, path):
    mode = path.stat()
    assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600 and mode.st_uid == os.geteuid()
    assert stat.S_IMODE(os.stat(f"{path}.lock").st_mode) == 0o600


@as_root
def test_another_user_does_not_get_in(open_path):
    server = start(open_path)
    assert talk_as(open_path, ANOTHER_USER, ANOTHER_USER) == 13
    open_path.chmod(0o666)  # even if the file let it pass
    answer = talk_as(open_path, ANOTHER_USER, ANOTHER_USER)
    assert answer["id"] is None
    error_of(answer, -32010)
    still_alive(open_path)
    end(server)


@as_root
def test_members_of_the_group_get_in(open_path):
    group = next(entry for entry in grp.getgrall() if entry.gr_gid != 0)
    server = start(open_path, group.gr_name)
    mode = open_path.stat()
    assert stat.S_IMODE(mode.st_mode) == 0o660 and mode.st_gid == group.gr_gid and mode.st_uid == 0
    assert talk_as(open_path, ANOTHER_USER, group.gr_gid)["result"]["uid"] == ANOTHER_USER
    assert talk_as(open_path, ANOTHER_USER, ANOTHER_USER, [4711, group.gr_gid])["result"]["uid"] == ANOTHER_USER
    assert talk_as(open_path, ANOTHER_USER, ANOTHER_USER) == 13
    open_path.chmod(0o666)
    error_of(talk_as(open_path, ANOTHER_USER, ANOTHER_USER, [4711]), -32010)
    end(server)


@as_root
def test_root_gets_into_a_users_server_and_other_users_do_not(open_path):
    os.chown(open_path.parent, ANOTHER_USER, ANOTHER_USER)
    shutil.copy(find_program(), open_path.parent / "rpc_server")
    server = subprocess.Popen([*AS_ANOTHER_USER, open_path.parent / "rpc_server", open_path], stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    still_alive(open_path)
    assert talk_as(open_path, ANOTHER_USER, 1)["result"]["uid"] == ANOTHER_USER
    open_path.chmod(0o666)
    error_of(talk_as(open_path, STRANGER, STRANGER), -32010)
    end(server)


def test_a_group_that_does_not_exist_is_an_error(path):
    server = start(path, "no-such-group")
    assert server.wait(60) == 1 and "'no-such-group'" in server.stderr.read()
    assert not path.exists()


def test_who_asks_is_told_to_methods(client):
    assert client.call("peer") == {"pid": os.getpid(), "uid": os.geteuid()}


# ---- One daemon a path ----

def test_a_second_server_refuses_and_names_the_first(server, path):
    second = start(path)
    assert second.wait(60) == 1
    assert f"pid {server.pid} " in second.stderr.read()
    still_alive(path)


def test_a_stale_socket_is_replaced(path):
    first = start(path)
    first.kill()
    first.wait()
    assert path.exists()
    second = start(path)
    assert second.said == "ready\n"
    still_alive(path)
    end(second)
    assert not path.exists()


def test_a_socket_of_somebody_without_a_lock_is_left_alone(path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        second = start(path)
        assert second.wait(60) == 1
        assert f"pid {os.getpid()} " in second.stderr.read()
    assert path.exists()


@pytest.mark.parametrize("make", [lambda p: p.write_text("x"), lambda p: p.mkdir(), lambda p: os.mkfifo(p)])
def test_what_is_no_socket_is_never_removed(path, make):
    make(path)
    second = start(path)
    assert second.wait(60) == 1 and "no socket" in second.stderr.read()
    assert path.exists()


def test_only_its_own_socket_is_removed_at_the_end(path):
    server = start(path)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        end(server)
        assert path.exists()


def test_of_many_that_start_at_once_one_gets_the_path(path):
    stale = start(path)
    stale.kill()
    stale.wait()
    for _ in range(5):
        program = find_program()
        crowd = [subprocess.Popen([program, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                 for _ in range(12)]
        first = [process.stdout.readline() for process in crowd]
        assert first.count(b"ready\n") == 1
        still_alive(path)
        for process, said in zip(crowd, first):
            if said:
                end(process)
            else:
                assert process.wait(60) == 1
        assert not path.exists()


def test_a_path_too_long_or_in_no_folder_is_an_error(tmp_path):
    for path in (tmp_path / ("x" * 120), tmp_path / "none" / "s"):
        server = start(path)
        assert server.wait(60) == 1 and str(path)[:40] in server.stderr.read()


# ---- The end ----

def test_shutting_down_answers_what_is_on_its_way(server, path):
    slow, deaf, other, stopper = Client(path), Client(path), Client(path), Client(path)
    # As long as a client has an answer to read, the server lives on.
    deaf.send({"jsonrpc": "2.0", "id": "deaf", "method": "big", "params": {"bytes": 5_000_000}})
    assert select.select([deaf.socket], [], [], 60)[0]
    slow.send({"jsonrpc": "2.0", "id": "slow", "method": "later", "params": {"text": "x", "ms": 300}})
    assert slow.ask(HEALTH)["id"] == 1
    other.subscribe()
    assert stopper.call("shutdown", linger_ms=60_000) is True
    assert other.read() == {"jsonrpc": "2.0", "id": "stream", "result": {"status": "ended"}}
    error_of(other.ask(HEALTH), -32003)
    assert other.call("peer")["uid"] == os.getuid(), "a method that is answered as long as anybody can ask"
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        Client(path)
    second = start(path)  # until it has really ended, nobody takes its place
    assert second.wait(60) == 1 and f"pid {server.pid} " in second.stderr.read()
    assert slow.read()["result"] == "x"
    assert len(deaf.read()["result"]) == 5_000_000
    assert server.wait(60) == 0
    assert slow.read() is None


def test_shutting_down_does_not_wait_for_those_who_do_not_read(server, path):
    deaf = Client(path)
    deaf.send({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 5_000_000}})
    stopper = Client(path)
    begin = time.monotonic()
    assert stopper.call("shutdown", linger_ms=500) is True
    assert server.wait(60) == 0
    assert time.monotonic() - begin > 0.3, "it gave them that long, and did not wait for ever"
    deaf.close()


def test_a_deferred_answer_may_come_after_the_end(server, path):
    client = Client(path)
    client.send({"jsonrpc": "2.0", "id": 1, "method": "later", "params": {"text": "x", "ms": 300}})
    client.call("echo", value=1)
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0
    assert client.read() is None
