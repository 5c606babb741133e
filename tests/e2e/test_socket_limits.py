"""Streams of the daemon's socket, and its limits: clients that behave badly in every way that could be thought of."""

import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import time

import pytest

from support.health import LIMIT_MS, answer_times_ms, best_round
from support.rpc_server import HEALTH, Client, client, error_of, path, server, start, still_alive, until
from support.run import SANITIZED

HOSTILE = pathlib.Path(__file__).resolve().parent.parent / "support" / "hostile_clients.py"


# ---- Streams ----

def test_a_stream_brings_what_was_asked_for_between_answers(server, path):
    with contextlib.closing(Client(path)) as listener, contextlib.closing(Client(path)) as publisher:
        assert listener.call("stream", events=["sheet.*"], job_id="night") == "streaming"
        publisher.call("publish", event="sheet.started", job_id="night")
        publisher.call("publish", event="sheet.started", job_id="day")
        publisher.call("publish", event="spawn", job_id="night")
        publisher.call("publish", event="sheet.completed", job_id="night")
        for event in ("sheet.started", "sheet.completed"):
            assert listener.read() == {"jsonrpc": "2.0", "method": "monitor.event",
                                       "params": {"event": event, "number": 0}}
        assert listener.call("echo", value=1) == 1
        error_of(listener.ask({"jsonrpc": "2.0", "id": 1, "method": "stream", "params": {"events": ["a*b"]}}), -32602)
        assert listener.call("stream") == "streaming"  # takes the place of the first
        publisher.call("publish", event="other")
        assert listener.read()["params"]["event"] == "other"
        assert publisher.call("counts")["streams"] == 1


def test_a_client_may_publish_what_it_hears_itself(client):
    client.call("stream")
    client.send({"jsonrpc": "2.0", "id": 1, "method": "publish", "params": {"count": 300}})
    assert client.read()["id"] == 1
    assert [client.read()["params"]["number"] for _ in range(300)] == list(range(300))


def test_a_slow_stream_loses_its_oldest_and_is_told_how_many(server, path):
    total = 50_000
    with contextlib.closing(Client(path)) as listener, contextlib.closing(Client(path)) as publisher:
        listener.call("stream")
        for _ in range(total // 1000):
            publisher.call("publish", count=1000)
        assert publisher.call("counts")["held_bytes"] < 1 << 20
        publisher.call("publish", event="the.last")
        seen = dropped = 0
        while True:
            message = listener.read()
            if message["method"] == "monitor.dropped":
                assert message["params"]["count"] > 0
                dropped += message["params"]["count"]
            else:
                seen += 1
                if message["params"]["event"] == "the.last":
                    break
        assert dropped > 0 and seen + dropped == total + 1
        assert listener.call("echo", value=1) == 1


def test_a_stream_ends_with_its_client(server, path):
    with contextlib.closing(Client(path)) as client:
        listeners = [Client(path) for _ in range(10)]
        for listener in listeners:
            listener.call("stream")
        assert client.call("counts")["subscribers"] == 10
        listeners[0].socket.shutdown(socket.SHUT_WR)  # done with sending only: it still listens
        time.sleep(1.5)
        client.call("publish")
        assert listeners[0].read()["method"] == "monitor.event"
        for listener in listeners:
            listener.close()
        until(lambda: client.call("counts")["subscribers"] == 0 and client.call("counts")["clients"] == 1)


# ---- Limits ----

def rss_kb(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_client_that_never_reads_is_held_back_and_costs_little(server, path):
    with contextlib.closing(Client(path)) as good, contextlib.closing(Client(path)) as deaf:
        before = rss_kb(server)
        deaf.socket.setblocking(False)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 100_000}}).encode() + b"\n"
        sent = 0
        end_at = time.monotonic() + 1
        while time.monotonic() < end_at:
            with contextlib.suppress(BlockingIOError):
                sent += deaf.socket.send(line * 1000)
            time.sleep(0.01)
        assert sent < 2 << 20  # its requests are not read any more
        counts = good.call("counts")
        assert counts["held_bytes"] < 1 << 20, counts
        used = cpu_seconds(server)
        time.sleep(1)
        assert cpu_seconds(server) - used < 0.2  # and it waits without turning
        if not SANITIZED:
            assert rss_kb(server) - before < 8 << 10
        deaf.socket.settimeout(60)
        for _ in range(100):  # it goes on once it reads
            assert deaf.read()["result"] == "x" * 100_000


@pytest.mark.slow
def test_a_client_that_does_not_read_for_half_a_minute_is_closed(server, path):
    with contextlib.closing(Client(path)) as good, contextlib.closing(Client(path)) as deaf, \
            contextlib.closing(Client(path)) as idle:
        deaf.send({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 2_000_000}})
        time.sleep(27)
        assert good.call("counts")["clients"] == 3
        until(lambda: good.call("counts")["clients"] == 2)
        assert good.call("counts")["closed"] == 1
        assert idle.ask(HEALTH)["result"] == {"alive": True}


def test_an_answer_may_be_large_but_not_without_end(client):
    assert len(client.call("big", bytes=15 << 20)) == 15 << 20
    error_of(client.ask({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 17 << 20}}), -32001)


def test_a_method_is_told_when_nobody_would_read_more(client):
    error = error_of(client.ask({"jsonrpc": "2.0", "id": 1, "method": "endless"}), -32001)
    assert "16 MiB" in error["message"]


def test_those_that_stand_still_make_room(server, path):
    """A hundred that ask for a megabyte each and never read cannot keep others from asking."""
    deaf = [Client(path) for _ in range(100)]
    for connection in deaf:
        connection.send({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 1_000_000}})
    with contextlib.closing(Client(path)) as good:
        time.sleep(1.2)
        assert good.call("counts")["held_bytes"] <= 64 << 20
        assert len(good.call("big", bytes=4_000_000)) == 4_000_000
        assert rss_kb(server) < (96 << 10) * (4 if SANITIZED else 1)
    for connection in deaf:
        connection.close()


def test_half_requests_make_room_too(server, path):
    halves = []
    for _ in range(150):
        halves.append(Client(path))
        with contextlib.suppress(BrokenPipeError):
            halves[-1].send(b'{"x":"' + b"x" * 900_000)
    with contextlib.closing(Client(path)) as good:
        assert good.call("counts")["held_bytes"] <= 64 << 20
        time.sleep(1.2)
        assert good.call("echo", value="x" * 900_000) == "x" * 900_000
    for connection in halves:
        connection.close()


def test_idle_clients_cost_next_to_nothing(server, path):
    with contextlib.closing(Client(path)) as good:
        good.call("echo", value="x" * 60_000)
        before = rss_kb(server)
        clients = [Client(path) for _ in range(500)]
        for connection in clients:
            connection.send(HEALTH)
        for connection in clients:
            assert connection.read()["id"] == 1
        counts = good.call("counts")
        assert counts["clients"] == 501 and counts["held_bytes"] < 10_000
        if not SANITIZED:
            assert (rss_kb(server) - before) / 500 < 4
        used = cpu_seconds(server)
        time.sleep(1)
        assert cpu_seconds(server) - used < 0.1
        for connection in clients:
            connection.close()


def test_one_client_too_many_is_told_so(server, path):
    clients = [Client(path) for _ in range(512)]
    assert clients[-1].ask(HEALTH)["id"] == 1
    with contextlib.closing(Client(path)) as late:
        answer = late.read()
        assert answer["id"] is None and "512" in error_of(answer, -32001)["message"]
        assert late.read() is None
    clients.pop().close()
    until(lambda: clients[0].call("counts")["clients"] == 511)
    still_alive(path)
    for connection in clients:
        connection.close()


def test_without_descriptors_clients_are_told_and_the_loop_does_not_turn(path):
    server = start(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
    clients = [Client(path) for _ in range(10)]
    while clients[-1].ask(HEALTH) and len(clients) < 60:
        clients.append(Client(path))
        clients[-1].send(HEALTH)
        answer = clients[-1].read()
        if "error" in answer:
            error_of(answer, -32001)
            break
    else:
        pytest.fail("descriptors never ran out")
    waiting = [Client(path) for _ in range(30)]
    used = cpu_seconds(server)
    time.sleep(1)
    assert cpu_seconds(server) - used < 0.2
    for connection in waiting:
        error_of(connection.read(), -32001)
    clients.pop().close()
    clients.pop().close()
    time.sleep(0.3)
    still_alive(path)
    server.terminate()
    assert server.wait(60) == 0
    assert server.stderr.read().count("\n") == 1  # said once


# ---- Hostile crowds ----

class Crowd:
    """Hostile clients, in a process of their own."""

    def __init__(self, path, count):
        self.process = subprocess.Popen([sys.executable, HOSTILE, str(path), str(count)], stdin=subprocess.DEVNULL)

    def end(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.alone
@pytest.mark.hostile
def test_a_good_client_is_answered_among_fifty_hostile_ones(server, path):
    idle = [Client(path) for _ in range(148)]
    good, watcher = Client(path), Client(path)

    def ask():
        assert good.ask(HEALTH)["result"] == {"alive": True}

    def measure():
        crowd = Crowd(path, 50)
        try:
            until(lambda: watcher.call("counts")["clients"] >= 195)
            watcher.call("counts")
            return answer_times_ms(ask, server.pid, 4)
        finally:
            crowd.end()

    own = best_round(measure)
    counts = watcher.call("counts")
    print(f"the timer was at most {counts['worst_ms']:.1f} ms late; {counts['requests']} requests; {rss_kb(server)} kB")
    assert max(own) < LIMIT_MS
    assert counts["held_bytes"] <= 66 << 20
    for connection in idle:
        assert connection.ask(HEALTH)["id"] == 1
        connection.close()
    good.close()
    watcher.close()
