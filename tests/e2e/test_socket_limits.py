"""Streams of the daemon's socket, and its limits: clients that behave badly in every way that could be thought of."""

import contextlib
import json
import pathlib
import resource
import signal
import socket
import subprocess
import sys

import pytest

from support.rpc_server import (HEALTH, Client, client, error_of, path, server, start, still_alive, until,
                                wait_for_ticks)

HOSTILE = pathlib.Path(__file__).resolve().parent.parent / "support" / "hostile_clients.py"


# ---- Streams ----

def test_a_stream_brings_what_was_asked_for_between_answers(server, path):
    with contextlib.closing(Client(path)) as listener, contextlib.closing(Client(path)) as publisher:
        listener.subscribe(events=["sheet.*"], job_id="night")
        publisher.call("publish", event="sheet.started", job_id="night")
        publisher.call("publish", event="sheet.started", job_id="day")
        publisher.call("publish", event="spawn", job_id="night")
        publisher.call("publish", event="sheet.completed", job_id="night")
        for event in ("sheet.started", "sheet.completed"):
            assert listener.read() == {"jsonrpc": "2.0", "method": "monitor.event",
                                       "params": {"event": event, "number": 0}}
        assert listener.call("echo", value=1) == 1
        error_of(listener.ask({"jsonrpc": "2.0", "id": 1, "method": "stream", "params": {"events": ["a*b"]}}), -32602)
        publisher.call("publish", event="sheet.failed", job_id="night", count=100)
        listener.send({"jsonrpc": "2.0", "id": "second", "method": "stream"})
        assert [listener.read()["params"]["number"] for _ in range(100)] == list(range(100))
        assert listener.read() == {"jsonrpc": "2.0", "id": "stream", "result": {"status": "ended"}}
        listener.call("echo", value=1)
        publisher.call("publish", event="other")
        assert listener.read()["params"]["event"] == "other"
        assert publisher.call("counts")["streams"] == 1


def test_a_client_may_publish_what_it_hears_itself(client):
    client.subscribe()
    client.send({"jsonrpc": "2.0", "id": 1, "method": "publish", "params": {"count": 300}})
    assert client.read()["id"] == 1
    assert [client.read()["params"]["number"] for _ in range(300)] == list(range(300))


def test_a_slow_stream_loses_its_oldest_and_is_told_how_many(server, path):
    total = 50_000
    with contextlib.closing(Client(path)) as listener, contextlib.closing(Client(path)) as publisher:
        listener.subscribe()
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
            listener.subscribe()
        assert client.call("counts")["subscribers"] == 10
        listeners[0].socket.shutdown(socket.SHUT_WR)  # done with sending only: it still listens
        wait_for_ticks(client, 300)  # of 5 ms: clients that have done with sending are checked once a second
        client.call("publish")
        assert listeners[0].read()["method"] == "monitor.event"
        for listener in listeners:
            listener.close()
        until(lambda: client.call("counts")["subscribers"] == 0 and client.call("counts")["clients"] == 1)


def test_the_request_for_a_stream_is_answered_when_the_server_closes(server, path):
    """What was published before that comes before the answer, also to one that reads slowly."""
    listener, publisher = Client(path), Client(path)
    listener.subscribe()
    publisher.call("publish", count=900)
    publisher.call("shutdown", linger_ms=60_000)
    assert [listener.read()["params"]["number"] for _ in range(900)] == list(range(900))
    assert listener.read() == {"jsonrpc": "2.0", "id": "stream", "result": {"status": "ended"}}
    assert listener.read() is None
    assert server.wait(60) == 0


def test_a_stream_in_a_batch_is_refused(client):
    answers = client.ask([HEALTH, {"jsonrpc": "2.0", "id": 2, "method": "stream"}, {"jsonrpc": "2.0", "method": "stream"}])
    assert answers[0]["result"] == {"alive": True}
    error_of(answers[1], -32600)
    assert len(answers) == 2 and client.call("counts")["streams"] == 0


def test_a_stream_asked_for_without_an_id_ends_without_an_answer(client):
    client.send({"jsonrpc": "2.0", "method": "stream"})
    assert client.call("counts")["streams"] == 1
    client.subscribe()
    assert client.call("counts")["streams"] == 1


def test_of_the_latest_a_slow_client_gets_the_newest_and_loses_nothing_for_it(server, path):
    """Each is larger than all that a queue holds."""
    with contextlib.closing(Client(path)) as listener, contextlib.closing(Client(path)) as publisher:
        listener.subscribe()
        publisher.call("publish", count=500)
        for size in (3 << 20, (3 << 20) + 1, (3 << 20) + 2):
            assert publisher.call("latest", bytes=size) == 1
        publisher.call("publish", event="the.last")
        seen = []
        while not seen or seen[-1].get("event") != "the.last":
            message = listener.read()
            assert message["method"] == "monitor.event"
            seen.append(message["params"])
        assert [event["number"] for event in seen if event["event"] == "test.event"] == list(range(500))
        sizes = [len(event["bytes"]) for event in seen if event["event"] == "latest"]
        assert sizes == sorted(set(sizes)) and sizes[-1] == (3 << 20) + 2


def test_the_latest_is_written_once_for_each_job_that_is_asked_for(server, path):
    listeners = [Client(path) for _ in range(7)]
    with contextlib.closing(Client(path)) as publisher:
        assert publisher.call("latest") == 0
        for listener, job_id in zip(listeners, ("night", None, "day", "night", None, "night")):
            listener.subscribe(events=["la.*", "latest"], job_id=job_id)
        listeners[6].subscribe(events=["other"])
        assert publisher.call("latest") == 3
        publisher.call("publish", event="other")
    told = [listener.read()["params"]["job_id"] for listener in listeners[:6]]
    assert told == ["night", "", "day", "night", "", "night"]
    assert listeners[6].read()["params"]["event"] == "other"
    for listener in listeners:
        listener.close()


# ---- Limits ----

def rss_kb(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def expect_waiting(client):
    """The loop of the server turns when its timer ticks or somebody asks, and not again and again without a reason."""
    before = client.call("counts")
    asked = wait_for_ticks(client, 40)
    after = client.call("counts")
    assert after["turns"] - before["turns"] <= 2 * (after["ticks"] - before["ticks"]) + 4 * asked + 50


@pytest.mark.plain
def test_a_client_that_never_reads_is_held_back_and_costs_little(server, path):
    with contextlib.closing(Client(path)) as good, contextlib.closing(Client(path)) as deaf:
        before = rss_kb(server)
        deaf.socket.setblocking(False)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 100_000}}).encode() + b"\n"
        sent = refused = 0
        while refused < 10 and sent < 2 << 20:
            try:
                sent += deaf.socket.send(line * 1000)
                refused = 0
            except BlockingIOError:
                refused += 1
                wait_for_ticks(good, 2)
        assert sent < 2 << 20  # its requests are not read any more
        counts = good.call("counts")
        assert counts["held_bytes"] < 1 << 20, counts
        expect_waiting(good)
        assert rss_kb(server) - before < 8 << 10
        deaf.socket.settimeout(60)
        for _ in range(100):  # it goes on once it reads
            assert deaf.read()["result"] == "x" * 100_000


def test_an_answer_may_be_large_but_not_without_end(client):
    assert len(client.call("big", bytes=15 << 20)) == 15 << 20
    error_of(client.ask({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 17 << 20}}), -32001)


def test_a_method_is_told_when_nobody_would_read_more(client):
    error = error_of(client.ask({"jsonrpc": "2.0", "id": 1, "method": "endless"}), -32001)
    assert "16 MiB" in error["message"]


@pytest.mark.plain
def test_those_that_stand_still_make_room(server, path):
    """A hundred that ask for a megabyte each and never read cannot keep others from asking."""
    deaf = [Client(path) for _ in range(100)]
    for connection in deaf:
        connection.send({"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 1_000_000}})
    with contextlib.closing(Client(path)) as good:
        large = {"jsonrpc": "2.0", "id": 1, "method": "big", "params": {"bytes": 4_000_000}}
        until(lambda: "result" in good.ask(large))
        assert good.call("counts")["held_bytes"] <= 64 << 20
        assert rss_kb(server) < 96 << 10
    for connection in deaf:
        connection.close()


def echoes(path, text):
    """Whether there is room for a request of this size: who has none is sent away."""
    with contextlib.closing(Client(path)) as client, contextlib.suppress(OSError):
        answer = client.ask({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"value": text}})
        return answer is not None and answer.get("result") == text
    return False


def test_half_requests_make_room_too(server, path):
    halves = []
    for _ in range(150):
        halves.append(Client(path))
        with contextlib.suppress(BrokenPipeError):
            halves[-1].send(b'{"x":"' + b"x" * 900_000)
    with contextlib.closing(Client(path)) as good:
        assert good.call("counts")["held_bytes"] <= 64 << 20
        until(lambda: echoes(path, "x" * 900_000))
    for connection in halves:
        connection.close()


@pytest.mark.plain
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
        assert (rss_kb(server) - before) / 500 < 4
        expect_waiting(good)
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


def is_served(path):
    with contextlib.closing(Client(path)) as client:
        return "result" in client.ask(HEALTH)


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
    expect_waiting(clients[0])
    for connection in waiting:
        error_of(connection.read(), -32001)
    clients.pop().close()
    clients.pop().close()
    until(lambda: is_served(path))
    server.terminate()
    assert server.wait(60) == 0
    assert server.stderr.read().count("\n") == 1  # said once


# ---- Hostile crowds ----

FLOODING, REQUESTS, A_TURN = 50, 500, 32


def test_a_good_client_waits_for_a_turn_of_each_of_those_before_it_and_no_longer(server, path):
    """All have asked before the server looks: of a flood, so many requests are answered at a time."""
    flooding, good = [Client(path) for _ in range(FLOODING)], Client(path)
    for connection in (*flooding, good):
        assert connection.ask(HEALTH)["id"] == 1
    before = good.call("counts")["requests"]
    server.send_signal(signal.SIGSTOP)
    for connection in flooding:
        connection.send((json.dumps(HEALTH).encode() + b"\n") * REQUESTS)
    good.send({"jsonrpc": "2.0", "id": "good", "method": "counts"})
    server.send_signal(signal.SIGCONT)
    answered = good.read()["result"]["requests"] - before
    # A turn that takes long ends early, and some have their second one in the next.
    assert answered <= 3 * FLOODING * A_TURN < FLOODING * REQUESTS / 4
    for connection in flooding:
        assert [connection.read()["id"] for _ in range(REQUESTS)] == [1] * REQUESTS
        connection.close()
    good.close()


def test_a_good_client_is_answered_among_fifty_hostile_ones(server, path):
    idle = [Client(path) for _ in range(148)]
    good, watcher = Client(path), Client(path)
    crowd = subprocess.Popen([sys.executable, HOSTILE, str(path), "50"], stdin=subprocess.DEVNULL)
    try:
        until(lambda: watcher.call("counts")["clients"] >= 195)
        for number in range(50):
            answer = good.ask(HEALTH | {"id": number})
            assert answer == {"jsonrpc": "2.0", "id": number, "result": {"alive": True}}
            if number % 10 == 0:
                assert watcher.call("counts")["held_bytes"] <= 66 << 20
    finally:
        crowd.kill()
        crowd.wait()
    for connection in idle:
        assert connection.ask(HEALTH)["id"] == 1
        connection.close()
    good.close()
    watcher.close()
