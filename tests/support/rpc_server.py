"""The server of the tests of the socket (tests/unit/rpc_server.c: a few methods that do nothing), and a client of it.

Nothing here shares code with the server: requests are bytes, answers are read with Python's json.
"""

import contextlib
import json
import pathlib
import socket
import subprocess
import time

import pytest

from support.built import unit_program

HEALTH = {"jsonrpc": "2.0", "id": 1, "method": "health"}


def find_program():
    return unit_program("rpc_server")


def start(path, *arguments, **how):
    process = subprocess.Popen([find_program(), str(path), *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **how)
    process.said = process.stdout.readline()
    return process


class Client:
    """One connection; `timeout` is how long anything may take."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")

    def send(self, data):
        if not isinstance(data, bytes):
            data = json.dumps(data).encode() + b"\n"
        self.socket.sendall(data)

    def read(self):
        """The next message; None at the end."""
        line = self.file.readline()
        assert line == b"" or line.endswith(b"\n")
        return json.loads(line.decode("utf-8")) if line else None

    def ask(self, data):
        self.send(data)
        return self.read()

    def call(self, method, **params):
        answer = self.ask({"jsonrpc": "2.0", "id": "call", "method": method, "params": params})
        assert answer["id"] == "call" and "error" not in answer, answer
        return answer["result"]

    def close(self):
        self.file.close()
        self.socket.close()


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
    assert answer["error"]["data"] and isinstance(answer["error"]["data"], str)
    return answer["error"]
