"""The daemon's socket, seen from outside: JSON-RPC, bytes in every portion, answers that come later."""

import contextlib
import json
import random
import signal
import socket
import threading

import pytest

from support.rpc_server import HEALTH, Client, client, error_of, path, server, still_alive, until, wait_for_ticks


# ---- JSON-RPC 2.0 ----

@pytest.mark.parametrize("text", ["1", "-7", "0", "12345678901234567890123", "1.50", "1e2", "null", '"x"', '""',
                                  '"\\u00e9\\n\\"é🙂"', '"' + "i" * 1000 + '"'])
def test_an_id_comes_back_as_it_was_written(client, text):
    client.send(b'{"jsonrpc":"2.0","method":"health","id":  %s  }\n' % text.encode())
    line = client.file.readline().decode()
    assert f'"id":{text},' in line or f'"id":{text}}}' in line


@pytest.mark.parametrize("text", ["true", "[1]", "{}", '"' + "i" * 1100 + '"'], ids=["true", "array", "object", "long"])
def test_an_id_of_another_kind_is_refused(client, text):
    answer = client.ask(b'{"jsonrpc":"2.0","method":"health","id":%s}\n' % text.encode())
    error_of(answer, -32600)
    assert answer["id"] is None


@pytest.mark.parametrize("request_object,code,identity", [
    ({"jsonrpc": "2.0", "id": 5, "method": "no.such"}, -32601, 5),
    ({"jsonrpc": "1.0", "id": 5, "method": "health"}, -32600, 5),
    ({"id": 5, "method": "health"}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": 7}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "m" * 200}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "health", "params": 7}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "health", "params": "x"}, -32600, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "echo", "params": [1]}, -32602, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "job"}, -32602, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "job", "params": {"job_id": 3}}, -32602, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "job", "params": {"job_id": "a\tb"}}, -32000, 5),
    ({"jsonrpc": "2.0", "id": 5, "method": "broken"}, -32603, 5),
    ({"foo": "bar"}, -32600, None), (7, -32600, None), ("x", -32600, None), (None, -32600, None),
])
def test_a_wrong_request_gets_its_code_and_what_to_do(client, request_object, code, identity):
    answer = client.ask(request_object)
    error_of(answer, code)
    assert answer["id"] == identity
    assert client.ask(HEALTH)["result"] == {"alive": True}


@pytest.mark.parametrize("line", [
    b"{", b"}", b"nonsense", b'{"jsonrpc":"2.0","id":1,"method":"health"', b'{"a":1,}', b"[1,]", b'{"a" 1}', b"{'a':1}",
    b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"value":[1 2]}}', b"\0", b'{"a":"\0"}', b'"\x01"', b'"\\x"',
    b'{"jsonrpc":"2.0","id":1,"method":"health"} x', b'{"a":nul}', b"01", b"+1", b"NaN", b"1e999", b"\xef\xbb\xbf{}",
    b'{"jsonrpc":"2.0","id":"\xff","method":"health"}', b'{"\xc3\x28":1}', b'"\xed\xa0\x80"', b'"\xf5\x80\x80\x80"',
    b"[" * 100_000, b'{"a":' * 100_000, b"[" * 65 + b"]" * 65, b"[" * 500 + b"]" * 500, b'"' + b"x" * 70_000,
], ids=lambda line: repr(line[:40]))  # a test's name stands in the environment of what it starts
def test_what_is_no_json_is_a_parse_error(client, line):
    answer = client.ask(line + b"\n")
    error_of(answer, -32700)
    assert answer["id"] is None
    assert client.ask(HEALTH)["result"] == {"alive": True}


def test_nesting_within_the_limit_is_taken(client):
    value = json.loads("[" * 60 + "]" * 60)
    assert client.call("echo", value=value) == value


def test_values_come_back_as_they_were(client):
    random.seed(7)
    for _ in range(200):
        value = {"t": "".join(chr(random.choice([9, 34, 92, 65, 233, 8364, 128578, 0x2028])) for _ in range(20)),
                 "n": [random.random(), random.randrange(-2 ** 63, 2 ** 63), True, None, {}]}
        assert client.call("echo", value=value) == value


def test_blank_lines_and_carriage_returns_are_passed_over(client):
    client.send(b"\n\n  \t\n\r\n" + json.dumps(HEALTH).encode() + b"\r\n\n")
    assert client.read()["result"] == {"alive": True}
    assert client.ask(HEALTH)["id"] == 1


def test_notifications_act_and_get_no_answer(client):
    for request in ({"method": "note"}, {"method": "no.such"}, {"method": "broken"}, {"method": "echo", "params": [1]}):
        client.send({"jsonrpc": "2.0", **request})
    assert client.call("counts")["notes"] == 1


def test_params_are_taken_by_kind(client):
    assert client.call("kinds") == {}
    assert client.call("kinds", text=None, integer=None, number=None, boolean=None, texts=None, more=1) == {}
    good = {"text": "aé\n\"🙂", "integer": -5, "number": 2.5, "boolean": False, "texts": ["a", "", "\\"]}
    assert client.call("kinds", **good) == good
    wrong = {"text": 1, "integer": 2.5, "number": "2", "boolean": 0, "texts": ["a", 1]}
    assert client.call("kinds", **wrong) == {name: "wrong" for name in wrong}
    assert client.call("kinds", texts=[]) == {"texts": []}
    assert client.call("kinds", texts="a", integer="1") == {"texts": "wrong", "integer": "wrong"}


@pytest.mark.parametrize("text,expected", [
    ("3.0", 3), ("3e2", 300), ("-0", 0), ("9007199254740993", 9007199254740993), (str(2 ** 63 - 1), 2 ** 63 - 1),
    (str(-2 ** 63), -2 ** 63), (str(2 ** 63), "wrong"), ("1e30", "wrong"), ("0.5", "wrong"), ("9" * 400, None),
])
def test_whole_numbers_are_exact_or_refused(client, text, expected):
    answer = client.ask(b'{"jsonrpc":"2.0","id":1,"method":"kinds","params":{"integer":%s}}\n' % text.encode())
    if expected is None:
        error_of(answer, -32700)  # no double holds it
    else:
        assert answer["result"] == {"integer": expected}


def test_of_two_equal_names_the_last_counts(client):
    line = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x","m\\u0065thod":"ech\\u006f","params":{"value":1,"value":2}}\n'
    assert client.ask(line) == {"jsonrpc": "2.0", "id": 2, "result": 2}


def test_a_method_that_writes_nothing_answers_null(client):
    assert client.ask({"jsonrpc": "2.0", "id": 1, "method": "nothing"}) == {"jsonrpc": "2.0", "id": 1, "result": None}


def test_a_batch_is_answered_in_one_array(client):
    batch = [HEALTH, {"jsonrpc": "2.0", "method": "note"}, {"jsonrpc": "2.0", "id": "b", "method": "no.such"}, 1,
             {"jsonrpc": "2.0", "id": 3, "method": "echo", "params": {"value": [1, 2]}}, []]
    answer = client.ask(batch)
    assert [item["id"] for item in answer] == [1, "b", None, 3, None]
    assert answer[0]["result"] == {"alive": True} and answer[3]["result"] == [1, 2]
    error_of(answer[1], -32601)
    error_of(answer[2], -32600)
    error_of(answer[4], -32600)
    assert client.call("counts")["notes"] == 1


def test_a_batch_of_notifications_gets_no_answer(client):
    client.send([{"jsonrpc": "2.0", "method": "note"}] * 3)
    assert client.call("counts")["notes"] == 3


def test_an_empty_batch_and_one_of_too_many_are_refused_whole(client):
    error_of(client.ask([]), -32600)
    error_of(client.ask([{"jsonrpc": "2.0", "method": "note"}] * 101), -32600)
    assert len(client.ask([HEALTH] * 100)) == 100
    assert client.call("counts")["notes"] == 0


def test_a_batch_with_deferred_requests_waits_for_them(client):
    batch = [{"jsonrpc": "2.0", "id": n, "method": "later", "params": {"text": str(n), "ms": 20}} for n in range(5)]
    answer = client.ask([*batch, HEALTH | {"id": 9}, {"jsonrpc": "2.0", "method": "later"}])
    assert sorted(item["id"] for item in answer) == [0, 1, 2, 3, 4, 9]
    assert all(item["result"] == str(item["id"]) for item in answer if item["id"] < 9)


def test_a_batch_whose_answers_are_too_large_says_so(client):
    batch = [{"jsonrpc": "2.0", "id": n, "method": "big", "params": {"bytes": 1 << 20}} for n in range(20)]
    answer = client.ask(batch)
    assert [item["id"] for item in answer] == list(range(20))
    assert sum("result" in item for item in answer) == 3
    error_of(answer[-1], -32001)


# ---- Bytes ----

def test_a_request_that_comes_byte_by_byte_is_taken(client):
    for byte in json.dumps(HEALTH).encode() + b"\n":
        client.send(bytes([byte]))
    assert client.read()["result"] == {"alive": True}


def test_a_thousand_requests_at_once_get_a_thousand_answers_in_order(client):
    data = b"".join(json.dumps(HEALTH | {"id": n}).encode() + b"\n" for n in range(1000))
    client.send(data)
    assert [client.read()["id"] for _ in range(1000)] == list(range(1000))


def test_many_requests_while_answers_are_read_late(client, path):
    data = b"".join(json.dumps(HEALTH | {"id": n}).encode() + b"\n" for n in range(30_000))
    sender = threading.Thread(target=client.send, args=(data,))
    sender.start()
    with contextlib.closing(Client(path)) as watcher:
        wait_for_ticks(watcher, 20)
        assert watcher.call("counts")["requests"] < 30_000, "it is held back until it reads"
    assert [client.read()["id"] for _ in range(30_000)] == list(range(30_000))
    sender.join()


def test_interleaved_clients_get_their_own_answers(server, path):
    clients = [Client(path) for _ in range(20)]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "echo", "params": {"value": n}}).encode() + b"\n"
             for n in range(20)]
    for at in range(max(map(len, lines))):
        for connection, line in zip(clients, lines):
            connection.send(line[at:at + 1])
    for number, connection in enumerate(clients):
        assert connection.read() == {"jsonrpc": "2.0", "id": number, "result": number}
        connection.close()


def test_a_request_of_a_mebibyte_is_taken_and_one_byte_more_is_not(server, path):
    empty = len(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"value": ""}}))
    for extra in (0, 1):
        value = "x" * ((1 << 20) - empty + extra)
        with contextlib.closing(Client(path)) as client:
            answer = client.ask({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"value": value}})
            if extra == 0:
                assert answer["result"] == value
            else:
                error_of(answer, -32600)
                assert client.read() is None


@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_huge_line_gets_an_error_and_the_rest_is_thrown_away(server, path, end):
    with contextlib.closing(Client(path)) as client:
        client.send(b"x" * (2 << 20) + end + json.dumps(HEALTH).encode() + b"\n")
        error_of(client.read(), -32600)
        assert client.read() is None
    still_alive(path)


def test_one_that_sends_without_end_is_closed(server, path):
    with contextlib.closing(Client(path)) as client:
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(200):
                client.send(b"x" * (1 << 20))
    still_alive(path)


def test_a_last_line_needs_no_end(server, path):
    with contextlib.closing(Client(path)) as client:
        client.send(json.dumps(HEALTH).encode())
        client.socket.shutdown(socket.SHUT_WR)
        assert client.read()["result"] == {"alive": True}
        assert client.read() is None
    with contextlib.closing(Client(path)) as client:
        client.send(b'{"jsonrpc":"2.0","id"')
        client.socket.shutdown(socket.SHUT_WR)
        error_of(client.read(), -32700)
        assert client.read() is None


def test_one_that_is_done_sending_still_gets_what_is_owed(server, path):
    with contextlib.closing(Client(path)) as client:
        for number in range(5):
            client.send({"jsonrpc": "2.0", "id": number, "method": "later", "params": {"text": "x", "ms": 50}})
        client.socket.shutdown(socket.SHUT_WR)
        assert sorted(client.read()["id"] for _ in range(5)) == [0, 1, 2, 3, 4]
        assert client.read() is None


def test_random_bytes_never_harm(server, path):
    random.seed(11)
    good = json.dumps([HEALTH, {"jsonrpc": "2.0", "id": "é", "method": "echo", "params": {"value": {"a": [1, 2.5]}}}],
                      ensure_ascii=False).encode()
    for _ in range(300):
        data = bytearray(good * random.randrange(1, 4))
        for _ in range(random.randrange(1, 12)):
            data[random.randrange(len(data))] = random.randrange(256)
        with contextlib.closing(Client(path)) as client:
            client.send(bytes(data) + b"\n")
            client.socket.shutdown(socket.SHUT_WR)
            while client.read() is not None:
                pass
    still_alive(path)


# ---- Deferred answers ----

def test_deferred_requests_do_not_hold_up_others(client):
    slow = {"jsonrpc": "2.0", "id": "slow", "method": "later", "params": {"text": "x", "ms": 200}}
    client.send(b"".join(json.dumps(request).encode() + b"\n" for request in (slow, HEALTH)))
    assert client.read()["id"] == 1
    assert client.read() == {"jsonrpc": "2.0", "id": "slow", "result": "x"}
    error_of(client.ask({"jsonrpc": "2.0", "id": 2, "method": "later"}), -32000)


def test_more_deferred_requests_than_allowed_wait_and_are_all_answered(client):
    for number in range(100):
        client.send({"jsonrpc": "2.0", "id": number, "method": "later", "params": {"text": "x", "ms": 1}})
    assert sorted(client.read()["id"] for _ in range(100)) == list(range(100))


def test_a_client_that_left_before_its_deferred_answer_is_forgotten(server, path):
    for _ in range(20):
        with contextlib.closing(Client(path)) as client:
            client.send([{"jsonrpc": "2.0", "id": n, "method": "later", "params": {"text": "x", "ms": 30}}
                         for n in range(3)])
    with contextlib.closing(Client(path)) as client:
        until(lambda: client.call("counts")["resumed"] == 60 and client.call("counts")["clients"] == 1)


AT_ONCE = {"jsonrpc": "2.0", "id": 7, "method": "at_once"}


def test_a_method_may_resume_its_own_call(client):
    assert client.ask(AT_ONCE) == {"jsonrpc": "2.0", "id": 7, "result": True}
    answer = client.ask([AT_ONCE, HEALTH, AT_ONCE, {"jsonrpc": "2.0", "method": "at_once"}, AT_ONCE])
    assert sorted(item["id"] for item in answer) == [1, 7, 7, 7]
    assert all(item["result"] in (True, {"alive": True}) for item in answer)


@pytest.mark.parametrize("sent", [[AT_ONCE], [HEALTH, [AT_ONCE, *[HEALTH] * 50, AT_ONCE]],
                                  [AT_ONCE, HEALTH, AT_ONCE, HEALTH]], ids=["alone", "batch", "lines"])
def test_a_method_may_resume_the_call_of_one_that_has_left(server, path, sent):
    for _ in range(20):
        server.send_signal(signal.SIGSTOP)
        with contextlib.closing(Client(path)) as client:
            for line in sent:
                client.send(line)
        server.send_signal(signal.SIGCONT)
        still_alive(path)
    with contextlib.closing(Client(path)) as client:
        until(lambda: client.call("counts")["clients"] == 1)
