"""Clients of the daemon's socket that flood, babble, send halves, never read or leave in the middle, as fast as one
process can.

    hostile_clients.py PATH COUNT [METHOD=REAL ...]

Runs until it is killed. For e2e/test_socket.py and its server; where methods have other names (the real daemon), those
are given.
"""
import random
import select
import socket
import sys
import time


# What its methods are called in the real daemon, or what is most like them there.
REAL_METHODS = ["health=daemon.health", "big=daemon.top", "stream=daemon.monitor.stream", "publish=job.list",
                "later=daemon.events", "busy=daemon.top"]


def hostile(path, count, names=()):
    health = b'{"jsonrpc":"2.0","id":1,"method":"health"}\n'
    request = b'{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s}}\n'
    ways = [
        (health * 500, True), (health * 500, False), (request % (b"big", b'"bytes":500000'), False),
        (b"\xff\0{[" * 1000 + b"\n", True), (b"[" * 100_000 + b"\n", True), (b"x" * 1_000_000, False),
        (b'{"x":"' + b"y" * 1_000_000 + b'"}\n', True), (b"[" + b",".join([health[:-1]] * 100) + b"]\n", True),
        (request % (b"stream", b""), False), (request % (b"publish", b'"count":50'), True),
        (request % (b"later", b'"ms":50,"text":"x"'), True), (request % (b"busy", b'"us":2000') * 20, True),
        (b"[" + b",".join([b"1"] * 300_000) + b"]\n", True), (b'{"a":' * 30 + b"1" + b"}" * 30 + b"\n", True),
        (request % (b"big", b'"bytes":300000'), True),
    ]
    for name in names:
        method, real = (f'"{part}"'.encode() for part in name.split("="))
        ways = [(data.replace(method, real), reads) for data, reads in ways]
    random.seed(3)
    sockets = {}
    while True:
        while len(sockets) < count:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            connection.setblocking(False)
            sockets[connection] = [*ways[random.randrange(len(ways))], 0]
        readable, writable, _ = select.select(list(sockets), list(sockets), [], 0.1)
        for connection in set(readable) | set(writable):
            data, reads, at = sockets[connection]
            try:
                if connection in writable:
                    at += connection.send(data[at:at + 200_000])
                    sockets[connection][2] = 0 if at >= len(data) else at
                if reads and connection in readable and not connection.recv(1 << 16):
                    raise ConnectionResetError
                if random.random() < 0.001:
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                connection.close()
                del sockets[connection]
        if not writable:
            time.sleep(0.001)


if __name__ == "__main__":
    hostile(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
