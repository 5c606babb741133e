"""A client of the daemon that was written from the format's table alone: Python, a socket, JSON.

It shares nothing with metron, nor with the other tests' client. It is strict: each answer has the fields of the table
with their types, nothing is null, and what is not of the table is not used. All tests share one daemon.
"""

import contextlib
import json
import os
import select
import socket
import sqlite3
import subprocess
import time

import pytest

NUMBER = (int, float)
JOB_STATES = {"running", "completed", "failed", "cancelled", "lost"}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(str(error))
        self.code, self.error = error["code"], error


def no_double_keys(pairs):
    assert len(pairs) == len(dict(pairs)), f"a key is there twice: {pairs}"
    return dict(pairs)


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def walk(value):
    yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(child)


class Peer:
    """One connection. A message with the id of a request is the end of that request."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.buffer, self.last, self.answers, self.events = b"", 0, {}, []

    def close(self):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self, timeout=60):
        """The next message; None at the end of the connection."""
        while b"\n" not in self.buffer:
            assert select.select([self.socket], [], [], timeout)[0], f"nothing came within {timeout} s"
            data = self.socket.recv(1 << 20)
            if not data:
                assert not self.buffer, "the connection ended within a message"
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        message = json.loads(line.decode("utf-8"), object_pairs_hook=no_double_keys, parse_constant=no_constant)
        for one in message if isinstance(message, list) else [message]:
            self.check(one)
        return message

    @staticmethod
    def check(message):
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            assert set(message) == {"jsonrpc", "method", "params"} and isinstance(message["params"], dict)
        elif "error" in message:
            assert set(message) == {"jsonrpc", "id", "error"}
            error = message["error"]
            assert type(error["code"]) is int and error["message"] and isinstance(error["message"], str)
            assert isinstance(error["data"], dict), f"data is no object: {error}"
            assert error["data"]["hint"] and isinstance(error["data"]["hint"], str)
        else:
            assert set(message) == {"jsonrpc", "id", "result"}
            # A whole answer may be null where the table says so; nothing inside one is.
            assert message["result"] is None or all(part is not None for part in walk(message["result"])), message

    def request(self, method, params=None):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, **({} if params is None else {"params": params})})
        return self.last

    def answer(self, number):
        while number not in self.answers:
            message = self.read()
            assert message is not None, f"the connection ended before the answer to {number}"
            if "method" in message:
                self.events.append(message)
            else:
                assert message["id"] not in self.answers, f"two answers to {message['id']}"
                self.answers[message["id"]] = message
        message = self.answers.pop(number)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def ask(self, method, **params):
        return self.answer(self.request(method, params or None))

    def stream(self, **params):
        """The stream has begun once the request behind it is answered."""
        number = self.request("daemon.monitor.stream", params or None)
        assert self.ask("daemon.health")["status"] == "ok"
        assert number not in self.answers, f"the stream ended at once: {self.answers[number]}"
        return number

    def event(self, wanted, timeout=60):
        """The params of the first notification for which `wanted` is true; those before it are passed over."""
        while True:
            message = self.events.pop(0) if self.events else self.read(timeout)
            assert message is not None and "method" in message, f"the stream ended: {message}"
            if message["method"] == "monitor.event" and wanted(message["params"]):
                return message["params"]


def fields(thing, **kinds):
    """Each field is there and of its type; `pid=int`, `status={"ok"}` for one of these words."""
    for name, kind in kinds.items():
        assert name in thing, f"{name} is missing in {thing}"
        value = thing[name]
        if isinstance(kind, set):
            assert value in kind, f"{name} is {value!r}, none of {kind}"
        elif kind is bool:
            assert isinstance(value, bool), f"{name} is {value!r}"
        else:
            assert isinstance(value, kind) and not isinstance(value, bool), f"{name} is {value!r}"
    return thing


def until(holds, what, seconds=60):
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.02)
    return found


@pytest.fixture
def daemon(shared, either_runner):
    return shared.get(either_runner, watch="jobs")


@pytest.fixture
def path(daemon):
    return daemon.socket


@pytest.fixture
def peer(path):
    with contextlib.closing(Peer(path)) as made:
        yield made


@pytest.fixture
def other(path):
    with contextlib.closing(Peer(path)) as made:
        yield made


@pytest.fixture
def child(daemon):
    """A process of the daemon's user that exits with 7 once its input ends."""
    user = os.stat(daemon.folder).st_uid
    other = {"user": user, "group": user, "extra_groups": []} if user != os.getuid() else {}
    process = subprocess.Popen(["/bin/sh", "-c", "read line; exit 7"], stdin=subprocess.PIPE, **other)
    yield process
    process.stdin.close()
    process.wait()


# ---- the daemon itself ----

def test_health(peer, daemon):
    health = fields(peer.ask("daemon.health"), status={"ok"}, pid=int, uptime_seconds=NUMBER, shutting_down=bool)
    assert health["pid"] == daemon.pid and health["uptime_seconds"] > 0 and health["shutting_down"] is False
    assert peer.ask("daemon.health")["uptime_seconds"] >= health["uptime_seconds"]


def test_ready(peer):
    ready = until(lambda: (told := peer.ask("daemon.ready"))["status"] == "ready" and told, "ready")
    fields(ready, status={"ready", "not_ready"}, running_jobs=int, memory_mb=NUMBER, child_processes=int,
           accepting_work=bool, shutting_down=bool, failure_rate_elevated=bool, uptime_seconds=NUMBER)
    assert ready["accepting_work"] is True and ready["shutting_down"] is False and ready["memory_mb"] > 1


def test_ready_reports_a_failure_rate(peer):
    for number in range(5):
        peer.ask("job.start", job_id=f"fails-{number}")
        peer.ask("job.finish", job_id=f"fails-{number}", outcome="failed")
    assert peer.ask("daemon.ready")["failure_rate_elevated"] is True
    for number in range(12):
        peer.ask("job.start", job_id=f"works-{number}")
        peer.ask("job.finish", job_id=f"works-{number}", outcome="completed")
    assert peer.ask("daemon.ready")["failure_rate_elevated"] is False


def test_status(peer, daemon):
    status = fields(peer.ask("daemon.status"), pid=int, uptime_seconds=NUMBER, running_jobs=int, total_jobs_active=int,
                    memory_usage_mb=NUMBER, version=str)
    assert status["pid"] == daemon.pid


def test_config(peer, path):
    assert str(path) in json.dumps(peer.ask("daemon.config"))


def test_top_and_its_log(peer, child):
    peer.ask("job.start", job_id="top", pid=child.pid, total_sheets=3)
    peer.ask("event.publish", event="sheet.started", job_id="top", sheet_num=2, data={"pid": child.pid})

    def processes():
        return [one for one in peer.ask("daemon.top")["processes"] if one["pid"] == child.pid and "sheet_num" in one]
    (process,) = until(processes, "the process of the sheet in the snapshot")
    fields(process, pid=int, ppid=int, command=str, state=str, rss_mb=NUMBER, vms_mb=NUMBER, threads=int, open_fds=int,
           age_seconds=NUMBER, job_id={"top"}, sheet_num=int)
    snapshot = check_snapshot(peer.ask("daemon.top", job_id="top"))
    assert {one["job_id"] for one in snapshot["processes"]} == {"top"}
    (progress,) = [one for one in snapshot["job_progress"] if one["job_id"] == "top"]
    fields(progress, total_sheets=int, current_sheet=int, status=JOB_STATES)
    with open(fields(peer.ask("daemon.top.stream"), jsonl_path=str)["jsonl_path"], encoding="utf-8") as log:
        check_snapshot(json.loads(log.readline(), object_pairs_hook=no_double_keys))
    peer.ask("job.finish", job_id="top", outcome="cancelled")


def check_snapshot(snapshot):
    fields(snapshot, timestamp=NUMBER, daemon_pid=int, system_memory_total_mb=NUMBER, system_memory_available_mb=NUMBER,
           system_memory_used_mb=NUMBER, daemon_rss_mb=NUMBER, load_avg_1=NUMBER, load_avg_5=NUMBER,
           load_avg_15=NUMBER, processes=list, running_jobs=int, active_sheets=int, zombie_count=int, zombie_pids=list,
           job_progress=list, conductor_uptime_seconds=NUMBER)
    return snapshot


# ---- the history ----

def test_the_history_has_the_snapshots_of_a_span(peer, child):
    peer.ask("job.start", job_id="history", pid=child.pid)
    first = until(lambda: (top := peer.ask("daemon.top", job_id="history"))["processes"] and top, "the job in a snapshot")

    def span(**params):
        return peer.ask("daemon.snapshots", **{"since": first["timestamp"], "until": time.time(), **params})["snapshots"]
    found = until(lambda: len(found := span(limit=3, job_id="history")) == 3 and found, "three snapshots in the history")
    times = [snapshot["timestamp"] for snapshot in found]
    assert times == sorted(times) and times[0] >= first["timestamp"] - 1e-6
    for snapshot in found:
        fields(snapshot, timestamp=NUMBER, daemon_pid=int, system_memory_total_mb=NUMBER, processes=list)
        assert [(one["pid"], one["job_id"]) for one in snapshot["processes"]] == [(child.pid, "history")]
    assert len(span(until=times[1] - 1e-3)) == 1 and len(span(until=time.time() + 9, limit=2)) == 2
    peer.ask("job.finish", job_id="history", outcome="completed")


def test_the_history_of_a_process(peer, child):
    peer.ask("job.start", job_id="sampled", pid=child.pid)
    (now,) = until(lambda: [one for one in peer.ask("daemon.top")["processes"] if one["pid"] == child.pid],
                   "the process in a snapshot")

    def samples(**params):
        return peer.ask("process.history", pid=child.pid, since=time.time() - 600, until=time.time() + 9, **params)["samples"]
    found = until(lambda: len(found := samples()) > 1 and found, "the process in the history")
    for sample in found:
        fields(sample, timestamp=NUMBER, pid={child.pid}, command=str, state=str, rss_mb=NUMBER)
    assert len(samples(start_ticks=now["start_ticks"])) >= len(found)
    assert samples(start_ticks=now["start_ticks"] + 1) == []
    peer.ask("job.finish", job_id="sampled", outcome="completed")


# ---- jobs ----

def test_a_job_from_its_start_to_its_report(peer, child):
    started = peer.ask("job.start", job_id="life", pid=child.pid, workspace="/srv", config_hash="c1", total_sheets=1)
    assert started.get("durable", True) is not None
    assert peer.ask("job.status", job_id="life")["status"] == "running"
    jobs = peer.ask("job.list")
    assert isinstance(jobs, list), f"job.list is no array: {jobs}"
    (job,) = [job for job in jobs if job["job_id"] == "life"]
    fields(job, job_id=str, status={"running"}, workspace={"/srv"}, config_hash={"c1"}, total_sheets=int)
    context = peer.ask("context.get", pid=child.pid)
    told = peer.ask("event.publish", event="sheet.started", job_id="life", sheet_num=1,
                    data={"pid": child.pid, "note": "ours"})
    fields(told, event={"sheet.started"}, job_id={"life"}, sheet_num=int, data=dict)
    assert told["data"]["note"] == "ours"
    context = until(lambda: {"rss_mb", "cpu_pct"} <= (now := peer.ask("context.get", pid=child.pid)).keys() and now,
                    "its context")
    fields(context, rss_mb=NUMBER, cpu_pct=NUMBER, daemon_rss_mb=NUMBER)
    again = peer.ask("event.publish", event="sheet.retrying", job_id="life", sheet_num=1, data={})
    fields(again["data"]["resource_context"], daemon_rss_mb=NUMBER)
    done = peer.ask("event.publish", event="sheet.completed", job_id="life", sheet_num=1, data={})
    fields(done["data"]["resource_context"], daemon_rss_mb=NUMBER)
    peer.ask("job.finish", job_id="life", outcome="completed", usage={})
    assert peer.ask("job.status", job_id="life")["status"] == "completed"
    fields(peer.ask("job.profile", job_id="life"), job_id={"life"}, status={"completed"})
    report = peer.ask("job.report", job_id="life")
    assert any(isinstance(part, str) and "life" in part and "\n" in part for part in walk(report))


def test_the_context_of_the_machine(peer):
    fields(peer.ask("context.get"), daemon_rss_mb=NUMBER, running_jobs=int, active_sheets=int)


# ---- events ----

def check_event(event):
    fields(event, timestamp=NUMBER, event_type=str)
    assert "details" in event and isinstance(event["details"], (str, dict)), event
    for name in ("pid", "exit_code", "signal_num", "sheet_num"):
        if name in event:
            fields(event, **{name: int})
    return event


def run_one_sheet(peer, child, job_id):
    """Begins a job and its sheet, lets its process exit with 7, reports both ends."""
    peer.ask("job.start", job_id=job_id, pid=child.pid)
    peer.ask("event.publish", event="sheet.started", job_id=job_id, sheet_num=1, data={"pid": child.pid})
    until(lambda: [one for one in peer.ask("daemon.top", job_id=job_id)["processes"] if one["pid"] == child.pid],
          "the process in a snapshot")
    child.stdin.close()
    child.wait()
    peer.ask("event.publish", event="sheet.failed", job_id=job_id, sheet_num=1, data={"exit_code": 7})
    peer.ask("job.finish", job_id=job_id, outcome="failed")


ENDS = ["job.started", "sheet.started", "sheet.failed", "job.finished"]


def test_events_have_details_and_the_exit_comes_before_the_ends(peer, other, child, daemon):
    other.stream(events=["exit", "sheet.*", "job.*"], job_id="ends")
    run_one_sheet(peer, child, "ends")
    streamed = []
    while not streamed or streamed[-1] != "job.finished":
        event = other.event(lambda _: True)
        fields(event, event=str, timestamp=NUMBER, job_id={"ends"})
        streamed.append(event["event"])
    assert streamed == ["job.started", "sheet.started", "exit", "sheet.failed", "job.finished"]
    for params in ({"limit": 200}, {"limit": 200, "job_id": "ends"}):
        def told(params=params):
            return [check_event(event) for event in peer.ask("daemon.events", **params)["events"]
                    if event.get("job_id") == "ends" and event["event_type"] not in ("spawn", "signal")]
        events = until(lambda: told() if len(told()) >= 5 else None, "all of them")
        assert [event["event_type"] for event in events] == streamed, params
        times = [event["timestamp"] for event in events]
        assert times == sorted(times)
        (ended,) = [event for event in events if event["event_type"] == "exit"]
        assert ended["pid"] == child.pid and ended.get("exit_code", 7) == 7
        assert [event.get("sheet_num") for event in events if event["event_type"].startswith("sheet")] == [1, 1]
    with contextlib.closing(sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True)) as database:
        def stored():
            return [row[0] for row in database.execute(
                "SELECT event_type FROM process_events WHERE job_id = 'ends' AND event_type NOT IN ('spawn', 'signal')"
                " ORDER BY id")]
        until(lambda: len(stored()) >= 5, "the events in the database")
        assert stored() == streamed
        for pid, details in database.execute("SELECT pid, details FROM process_events WHERE event_type LIKE 'job%'"):
            assert pid is None and (details is None or isinstance(json.loads(details), dict))


TABLES = {
    "snapshots": """id timestamp daemon_pid system_memory_total_mb system_memory_available_mb system_memory_used_mb
        daemon_rss_mb child_count zombie_count load_avg_1 load_avg_5 load_avg_15 gpu_count gpu_utilization_pct
        gpu_memory_used_mb gpu_temperature pressure_level running_jobs active_sheets""",
    "process_metrics": """id snapshot_id pid ppid command state cpu_percent rss_mb vms_mb threads open_fds age_seconds
        job_id sheet_num syscall_counts syscall_time_pct""",
    "process_events": "id timestamp pid event_type exit_code signal_num job_id sheet_num details",
}


def test_an_exported_history_has_plain_tables(peer, child, daemon):
    """Exactly the columns of the format, the rows of the live history, and indexes can be made."""
    run_one_sheet(peer, child, "exported")
    with contextlib.closing(sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True, timeout=30)) as live:
        until(lambda: live.execute("SELECT 1 FROM process_events WHERE event_type = 'job.finished' AND job_id = 'exported'"
                                   ).fetchone(), "the job's end in the database")
        run = daemon.runner.metron(["export", "--history", "history.db", "--database", daemon.database])
        assert run.returncode == 0, run
        with contextlib.closing(sqlite3.connect(daemon.runner.cwd / "history.db")) as exported:
            for table, columns in TABLES.items():
                assert [row[1] for row in exported.execute(f"PRAGMA table_info({table})")] == columns.split()
                found = exported.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
                assert found and found == live.execute(f"SELECT {', '.join(columns.split())} FROM {table} WHERE id <= ?"
                                                       " ORDER BY id", (found[-1][0],)).fetchall(), table
                exported.execute(f"CREATE INDEX IF NOT EXISTS idx_{table} ON {table}({columns.split()[1]})")
            kinds = exported.execute("SELECT DISTINCT type FROM sqlite_master WHERE name IN (?, ?, ?)", list(TABLES))
            assert kinds.fetchall() == [("table",)]


def test_events_are_limited_and_newest_last(peer, other, child):
    run_one_sheet(peer, child, "limited")
    (last,) = peer.ask("daemon.events", limit=1)["events"]
    assert check_event(last)["event_type"] == "job.finished"
    assert len(peer.ask("daemon.events")["events"]) <= 50
    assert peer.ask("daemon.events", limit=0) == {"events": []}


# ---- the stream ----

def test_a_stream_brings_snapshots_and_is_answered_by_the_next_one(peer, other):
    first = peer.stream()
    snapshots = [peer.event(lambda event: event["event"] == "monitor.snapshot") for _ in range(2)]
    for snapshot in snapshots:
        check_snapshot(snapshot)
    assert snapshots[0]["timestamp"] < snapshots[1]["timestamp"]
    second = peer.stream(events=["job.*"])
    assert first in peer.answers, "the first stream has ended, and its request is answered"
    assert peer.answer(first) is not None
    peer.events.clear()
    other.ask("job.start", job_id="streamed")
    assert peer.event(lambda event: True)["event"] == "job.started"
    other.ask("job.finish", job_id="streamed", outcome="completed")
    assert peer.event(lambda event: True)["event"] == "job.finished"
    assert second not in peer.answers


@pytest.mark.parametrize("events, comes", [(["monitor.*"], True), (["*"], True), (["monitor.snapshot"], True),
                                           (["sheet.*"], False)])
def test_snapshots_come_to_those_who_name_them(peer, other, events, comes):
    peer.stream(events=events)
    other.stream(events=["monitor.snapshot"])
    for _ in range(2):
        other.event(lambda event: event["event"] == "monitor.snapshot")
    peer.ask("daemon.health")
    assert bool(peer.events) is comes


def test_a_slow_client_loses_its_oldest_and_is_told_how_many(peer, other):
    """More than the socket and the queue of 1 MiB hold; it reads only after the last one was published."""
    peer.stream(events=["flood"])
    other.ask("job.start", job_id="slow")
    for number in range(2000):
        other.ask("event.publish", event="flood", job_id="slow", sheet_num=1, data={"number": number, "text": "x" * 2000})
    seen, lost = [], 0
    while not seen or seen[-1] != 1999:
        message = peer.events.pop(0) if peer.events else peer.read()
        if message["method"] == "monitor.event":
            seen.append(message["params"]["data"]["number"])
        else:
            (count,) = message["params"].values()
            lost += count
    assert seen == sorted(seen) and len(seen) + lost == 2000 and lost > 0
    other.ask("job.finish", job_id="slow", outcome="completed")


def test_a_stream_in_a_batch_is_refused(peer):
    peer.send([{"jsonrpc": "2.0", "id": "a", "method": "daemon.monitor.stream"},
               {"jsonrpc": "2.0", "id": "b", "method": "daemon.health"}])
    answers = {message["id"]: message for message in peer.read()}
    assert answers["a"]["error"]["code"] == -32600 and "result" in answers["b"]


def test_a_stream_with_a_wrong_filter_is_refused_at_once(peer):
    with pytest.raises(Refused) as refused:
        peer.ask("daemon.monitor.stream", events="sheet.*")
    assert refused.value.code == -32602


# ---- errors ----

@pytest.mark.parametrize("method, params, code", [
    ("no.such", {}, -32601), ("job.status", {"job_id": "nobody"}, -32000), ("job.status", {}, -32602),
    ("job.finish", {"job_id": "nobody", "outcome": "completed"}, -32000), ("job.profile", {"job_id": "nobody"}, -32000),
    ("event.publish", {"event": "sheet.started", "job_id": "nobody", "sheet_num": 1, "data": {}}, -32000),
    ("daemon.events", {"limit": "all"}, -32602), ("job.start", {"job_id": ""}, -32602),
    ("trace.start", {"pid": 0}, -32602), ("trace.stop", {"pid": 1 << 30}, -32602),
])
def test_errors_say_what_to_do(peer, method, params, code):
    with pytest.raises(Refused) as refused:
        peer.ask(method, **params)
    assert refused.value.code == code
    assert peer.ask("daemon.health")["status"] == "ok"


@pytest.mark.parametrize("line, code", [(b"{", -32700), (b"[]", -32600), (b"7", -32600), (b'"\xff"', -32700),
                                        (b"[" * 200 + b"]" * 200, -32700), (b" " * (1 << 20) + b"{}", -32600)],
                         ids=["half", "empty", "number", "bytes", "deep", "long"])
def test_what_is_no_request_gets_an_error_without_an_id(path, line, code):
    with contextlib.closing(Peer(path)) as peer:
        peer.socket.sendall(line + b"\n")
        message = peer.read()
        assert message["id"] is None and message["error"]["code"] == code


# ---- traces ----

def test_a_trace_is_a_file(peer, child):
    try:
        started = peer.ask("trace.start", pid=child.pid)
    except Refused as refused:
        pytest.skip(f"no trace here: {refused}")
    trace = [part for part in walk(started) if isinstance(part, str) and part.startswith("/")]
    child.stdin.close()
    child.wait()
    peer.ask("trace.stop", pid=child.pid)
    assert os.path.getsize(trace[0]) > 0


# ---- the end ----

def test_a_shutdown_answers_the_streams(peer, other, daemon):
    """The last test of the module: it ends the daemon."""
    number = other.stream(events=["sheet.*"])
    answer = peer.ask("daemon.shutdown", graceful=True)
    assert isinstance(answer, dict)
    assert other.answer(number) is not None
    assert other.read() is None
    assert peer.read() is None
    assert daemon.wait() == 0


