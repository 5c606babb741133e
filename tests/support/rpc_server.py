"""The server of the tests of the socket (tests/unit/rpc_server.c: a few methods that do nothing)."""

import contextlib
import pathlib
import subprocess
import time

import pytest

from support.built import unit_program
from support.rpc_client import Client

HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "health"}


def find_program():
    return unit_program("rpc_server")


def start(path, *arguments, **how):
    process = subprocess.Popen([find_program(), str(path), *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **how)
    process.said = process.stdout.readline()
    return process


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s"


@pytest.fixture
def server(path):
    process = start(path)
    assert process.said == "ready\n", process.stderr.read()
    yield process
    if process.poll() is None:
        process.terminate()
    assert process.wait(60) == 0, process.stderr.read()
    assert process.stderr.read() == ""
    assert not path.exists() and not pathlib.Path(f"{path}.lock").exists()


@pytest.fixture
def client(server, path):
    connection = Client(path)
    yield connection
    connection.close()
    still_alive(path)


def still_alive(path):
    with contextlib.closing(Client(path)) as good:
        assert good.ask(HEALTH) == {"jsonrpc": "2.0", "id": 1, "result": {"alive": True}}


def until(holds, seconds=60):
    """Waits for what the server does after it has answered."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for_ticks(client, count):
    """Until the timer of the server has ticked so many times more, every 5 ms at most. Returns how often it asked."""
    asked, begin = 1, client.call("counts")["ticks"]
    while client.call("counts")["ticks"] < begin + count:
        asked += 1
        time.sleep(0.01)
    return asked + 1


def error_of(answer, code):
    """The error of an answer, which has this code and says what to do."""
    assert answer["jsonrpc"] == "2.0" and "result" not in answer, answer
    assert answer["error"]["code"] == code, answer
    assert answer["error"]["message"] and isinstance(answer["error"]["message"], str)
    hint = answer["error"]["data"]["hint"]
    assert hint and isinstance(hint, str)
    return answer["error"]
