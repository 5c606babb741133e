"""A client of the daemon's socket and of the test server's. It shares no code with either: requests are bytes, answers
are read with Python's json."""

import json
import socket


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

    def subscribe(self, **params):
        """The stream has begun once the request behind it is answered: its own is answered when it ends."""
        self.send({"jsonrpc": "2.0", "id": "stream", "method": "stream", "params": params})
        assert self.call("echo", value="begun") == "begun"

    def close(self):
        self.file.close()
        self.socket.close()
