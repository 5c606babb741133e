"""A client of the daemon's socket, database and log, written from the text of the format alone.

Plain Python: socket, json, sqlite3. Every answer is read strictly (UTF-8, no NaN, no double keys, no null inside),
so each test checks that for nothing. The tests have from here what the modules beside it know, too: the format's
names, the kernel's own values, processes of a known kind.
"""

import contextlib
import itertools
import json
import os
import pathlib
import select
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from support import kernel_events
from support.daemon_format import *
from support.kernel_values import *
from support.known_processes import *
from support.processes import wait_until
from support.records import check_no_null, strict_json

# ---- the socket ----

class RpcError(Exception):
    """The daemon answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')} ({error.get('data')})")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


@contextlib.contextmanager
def acting_as(uid, gid=None):
    """With another effective user (root only) and group; None changes nothing. The kernel notes who connects."""
    if uid is None or uid == os.geteuid():
        yield
        return
    os.setegid(uid if gid is None else gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Client:
    """One connection: call() for an answer, send() and receive() for what is no ordinary request."""

    def __init__(self, path, uid=None, gid=None, timeout=60.0, receive_buffer=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            with acting_as(uid, gid):
                self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.timeout = timeout
        self.buffer = b""
        self.next_id = 0
        self.notifications = []
        self.stream = None  # the id of its request
        self.early = {}  # answers by id that came before those to earlier requests

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        """Bytes as they are; anything else as one line of JSON."""
        if not isinstance(data, bytes):
            data = json.dumps(data).encode() + b"\n"
        self.socket.sendall(data)

    def receive(self, timeout=None):
        """The next message, or None if the daemon hung up; TimeoutError if nothing came."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while b"\n" not in self.buffer:
            if not select.select([self.socket], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no message came; so far {self.buffer[:200]!r}")
            data = self.socket.recv(1 << 18)
            if not data:
                assert self.buffer == b"", f"the daemon hung up within a line: {self.buffer[:200]!r}"
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        message = strict_json(line)
        assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", message
        return message

    def request(self, method, **params):
        """Sends a request and returns its id."""
        self.next_id += 1
        request = {"jsonrpc": "2.0", "id": self.next_id, "method": method}
        if params:
            request["params"] = params
        self.send(request)
        return self.next_id

    def answer(self, wanted):
        """The result of the request with this id. Notifications that come before it are kept, and so are answers to later
        requests: one that waits for a slow disk comes after them."""
        while wanted not in self.early:
            message = self.receive()
            assert message is not None, "the daemon hung up without an answer"
            if "method" in message and "id" not in message:
                self.notifications.append(message)
                continue
            number = message.get("id")
            if number is not None and number == self.stream:
                result_of(message, number)  # raises what refused it
            later = isinstance(number, int) and wanted < number <= self.next_id
            assert number == wanted or later, f"the answer to {wanted!r} is {message}"
            self.early[number] = message
        return result_of(self.early.pop(wanted), wanted)

    def call(self, method, **params):
        return self.answer(self.request(method, **params))

    def call_many(self, method, many):
        """Many requests on the way at once; the answers in the order of the requests."""
        numbers = [self.request(method, **params) for params in many]
        return [self.answer(number) for number in numbers]

    # ---- daemon.monitor.stream ----

    def subscribe(self, **params):
        """From now on every event that fits is sent; the request is answered when the stream ends."""
        self.stream = self.request("daemon.monitor.stream", **{"snapshots": False, **params})
        self.call("daemon.health")
        return self

    def next_event(self, timeout=None):
        """The params of the next `monitor.event`; of a `monitor.dropped`, how many were lost."""
        message = self.notifications.pop(0) if self.notifications else self.receive(timeout)
        assert message is not None, "the daemon hung up on a subscriber"
        if message.get("method") == "monitor.dropped":
            return {"dropped": message["params"]["count"]}
        assert message.get("method") == "monitor.event" and "id" not in message, message
        check_no_null(message["params"], "monitor.event")
        return message["params"]

    def events_until(self, last, timeout=60.0):
        """The events up to the first for which `last(params)` is true, that one included."""
        found, end = [], time.monotonic() + timeout
        while not found or not last(found[-1]):
            found.append(self.next_event(max(0.01, end - time.monotonic())))
        return found


def result_of(message, wanted):
    """Checks an answer's form. Returns the result or raises RpcError."""
    assert message.get("id") == wanted, f"the answer to {wanted!r} is {message}"
    assert ("result" in message) != ("error" in message), f"either a result or an error: {message}"
    if "error" in message:
        error = message["error"]
        assert isinstance(error.get("code"), int) and error.get("message"), error
        raise RpcError(error)
    if message["result"] is not None:
        check_no_null(message["result"], "an answer")
    return message["result"]


def expect_error(client, code, method, **params):
    """The request is refused with this code, and the error says what to do."""
    with pytest.raises(RpcError) as caught:
        client.call(method, **params)
    check_error(caught.value, code)
    return caught.value


def check_error(error, code):
    assert error.code == code, error
    assert error.data["hint"] and isinstance(error.data["hint"], str), f"no hint that says what to do: {error}"


def publish(client, event, job_id, sheet_num, pid=None, **data):
    """Tells the daemon of a sheet; returns the event as it comes back."""
    if pid is not None:
        data[SHEET_PID] = pid
    return client.call("event.publish", event=event, job_id=job_id, sheet_num=sheet_num, data=data)


# ---- the daemon itself ----

def need_daemon(runner):
    """Skips where metron has no daemon."""
    told = runner.metron("daemon --help")
    if told.returncode == 2 and "no command is called" in told.message:
        pytest.skip("this metron has no `daemon` command")


class Daemon:
    """One daemon in the foreground, all its paths in one folder."""

    def __init__(self, runner, folder, uid=None):
        self.runner = runner
        self.uid = uid
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "d.sock"
        self.database = self.folder / "monitor.db"
        self.log_file = self.folder / "monitor.jsonl"
        self.messages = self.folder / "messages"
        self.process = None
        self.log_lines, self.log_inode, self.log_bytes = [], None, 0  # what logged() has read

    @property
    def pid(self):
        return self.process.pid

    def settings(self, **changes):
        """{setting: value}, with this daemon's paths."""
        chosen = {"interval": 0.2, "socket": self.socket, "database": self.database, "log_file": self.log_file}
        chosen.update(changes)
        return {SETTINGS[name]: str(value) for name, value in chosen.items() if value is not None}

    def launch(self, by_environment=False, env=None, **changes):
        """Starts it without waiting for anything."""
        line, extra = [*self.runner.wrapper, self.runner.binary, "daemon"], dict(env or {})
        for name, value in self.settings(**changes).items():
            if by_environment:
                extra["METRON_" + name.upper().replace("-", "_")] = value
            else:
                line += [f"--{name}", value]
        with open(self.messages, "ab") as messages:
            self.process = subprocess.Popen(line, cwd=self.runner.cwd, env=self.runner.environment(extra), umask=0,
                                            stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
        # A run waits 0.2 s for its answer, and 2 s at its end: on a busy machine it goes before others, if we may.
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, self.pid, -15)
        return self

    def start(self, **how):
        """Starts it and waits until it accepts work."""
        self.launch(**how)
        wait_until(self.is_ready, what="daemon.ready")
        return self

    def said(self):
        return self.messages.read_text(encoding="utf-8", errors="replace")

    def is_ready(self):
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}: {self.said()}"
        try:
            with self.client() as client:
                answer = client.call("daemon.ready")
        except (OSError, RpcError):
            return False
        return answer["status"] == "ready"

    def client(self, **how):
        return Client(self.socket, uid=self.uid, **how)

    def call(self, method, **params):
        """One request on a connection of its own."""
        with self.client() as client:
            return client.call(method, **params)

    def wait(self, timeout=60):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the daemon did not end within {timeout} s: {self.said()}") from None

    def stop(self, number=signal.SIGTERM):
        """Ends it and returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def end(self):
        """At the end of a test, whatever happened."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # ---- snapshots ----

    def top(self, **params):
        return check_snapshot(self.call("daemon.top", **params))

    def top_when(self, condition=lambda snapshot: True, timeout=60.0, what="the snapshot", **params):
        """The first snapshot that is begun from now on and for which the condition holds."""
        with self.client() as client:
            ticks = client.call("daemon.status")["ticks"]  # while it answers, none is under way
            for snapshot in self.new_snapshots(client, timeout, ticks, **params):
                if condition(snapshot):
                    return snapshot
        raise AssertionError(f"{what} did not come within {timeout} s")

    def new_snapshots(self, client, timeout, ticks=0, **params):
        """The last snapshot, if there were more than so many, and those after it, until the time is over. A snapshot is
        long: how many there were is asked first."""
        end, last = time.monotonic() + timeout, None
        while time.monotonic() < end:
            if (now := client.call("daemon.status")["ticks"]) != ticks:
                ticks, snapshot = now, client.call("daemon.top", **params)
                if snapshot["timestamp"] != last:
                    last = snapshot["timestamp"]
                    yield check_snapshot(snapshot)
            time.sleep(0.02)

    def tops(self, count):
        """The next so many different snapshots."""
        with self.client() as client:
            found = list(itertools.islice(self.new_snapshots(client, 60 + count), count))
        assert len(found) == count, f"{len(found)} of {count} snapshots came"
        return found

    def logged(self):
        """The whole lines of the log so far, while it is written. Each is parsed once, however often it is asked for."""
        if not os.path.exists(self.log_file):
            return []  # before the first snapshot
        with open(self.log_file, "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_ino != self.log_inode or status.st_size < self.log_bytes:
                self.log_lines, self.log_inode, self.log_bytes = [], status.st_ino, 0
            file.seek(self.log_bytes)
            data = file.read()
        data = data[:data.rfind(b"\n") + 1]
        self.log_bytes += len(data)
        self.log_lines += [strict_json(line) for line in data.splitlines()]
        return list(self.log_lines)

    # ---- events ----

    def events_when(self, condition, timeout=60.0, what="the events"):
        """daemon.events as soon as condition(events) holds."""
        seen = []

        def look():
            seen[:] = self.call("daemon.events", limit=200)["events"]
            return condition(seen)
        wait_until(look, timeout, f"{what} among {seen}")
        return list(seen)

    # ---- the database ----

    def read_database(self):
        return contextlib.closing(open_database(self.database))

    def rows(self, statement, *values):
        with self.read_database() as database:
            return [dict(row) for row in database.execute(statement, values)]

    def wait_for_stored(self, timestamp):
        """Until a snapshot of this moment or a later one is in the database; its row. Snapshots are stored in order, but
        beside thousands of processes the daemon's queue may have had no room for this one."""
        return wait_until(lambda: self.stored_since(timestamp), what=f"a snapshot since {timestamp} in the database")

    def stored_since(self, timestamp):
        """The first of them, if there is one."""
        rows = self.rows(f"SELECT {', '.join(SNAPSHOT_COLUMNS)} FROM snapshots WHERE timestamp > ? - 0.001"
                         " ORDER BY id LIMIT 1", timestamp)
        return rows[0] if rows else None

    def stored(self, timestamp):
        """The row of the very snapshot: of a daemon that keeps all (watch=jobs), or one of stored_tops()."""
        found = self.rows(f"SELECT {', '.join(SNAPSHOT_COLUMNS)} FROM snapshots WHERE abs(timestamp - ?) < 0.001",
                          timestamp)
        assert len(found) < 2, f"snapshot {timestamp} is stored twice"
        return found[0] if found else None

    def stored_tops(self, count):
        """So many new snapshots that the database has, too."""
        found = []
        with self.client() as client:
            for snapshot in self.new_snapshots(client, 60 + 10 * count):
                self.wait_for_stored(snapshot["timestamp"])
                if self.stored(snapshot["timestamp"]):
                    found.append(snapshot)
                if len(found) == count:
                    return found
        raise AssertionError(f"{len(found)} of {count} snapshots were stored")


@pytest.fixture
def own_daemon(run_metron):
    """A daemon for one test, which starts it. In a module, `daemon = dc.own_daemon` gives this to its tests."""
    need_daemon(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made
    made.end()


def open_database(path):
    """Read-only, as any other program would."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    database.row_factory = sqlite3.Row
    return database


def read_log(path):
    """The whole lines of a log that somebody is writing."""
    data = pathlib.Path(path).read_bytes()
    return [strict_json(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]


def answers(daemon):
    """Whether it answers, be it that its first snapshot is still to come."""
    with contextlib.suppress(OSError):
        return daemon.call("daemon.health")["status"] == "ok"
    return False


# ---- what many tests begin with, and look for ----

def without_snapshots(start, watch="jobs"):
    """A daemon that takes no snapshot while a test lasts: its first is due after the interval. Only those of jobs are
    watched: beside many others' events one is taken sooner."""
    made = start()
    assert made.stop() == 0
    made.launch(interval=3600, watch=watch)
    wait_until(lambda: answers(made), what="an answer")
    return made



def job_shell(daemon, job_id, env=None, **params):
    """A shell that is the root of a new job: what it starts belongs to the job."""
    shell = Shell(daemon.runner, env)
    daemon.call("job.start", job_id=job_id, pid=shell.pid, **params)
    daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid), what="the job's root")
    return shell


def seen_and_gone(daemon, shell, count=1):
    """So many children of the shell, alive in a snapshot, ended with 0 and reaped: pids."""
    gate = daemon.runner.cwd / "gate"
    os.mkfifo(gate)
    gate.chmod(0o666)
    held = os.open(gate, os.O_RDWR)  # they read to its end
    pids = [shell.start(f"cat < {gate}") for _ in range(count)]  # the shell opens it before it becomes cat
    daemon.top_when(lambda snapshot: all(process_in(snapshot, pid).get("command", "").startswith("cat")
                                         for pid in pids), what="all of them")
    os.close(held)
    for pid in pids:
        assert shell.reap(pid) == 0
    gate.unlink()
    return pids


def need_exit_codes(daemon):
    """Only where the kernel tells of every exit are codes and signals always known."""
    reason = kernel_events.why_none(daemon.runner.binary)
    if reason is not None:
        pytest.skip(f"exit codes and signals need kernel events: {reason}")
    # They come into force some time after the daemon has begun to answer.
    wait_until(lambda: daemon.call("daemon.status")["processes_seen_by"] == "bpf", what="kernel events")


def await_method(daemon):
    """Waits until the daemon has the kernel events that it gets, or says why it gets none: until then it may be busy for
    seconds. How processes are seen."""
    def settled():
        status = daemon.call("daemon.status")
        seen_by = status["processes_seen_by"]
        return seen_by if seen_by == "bpf" or "why_no_kernel_events" in status else None
    return wait_until(settled, what="kernel events, or why not")


def hears_of_all(daemon):
    """Whether nobody can have come and gone unseen since its start. Kernel events come into force later than that, and in a
    storm of processes the connector loses some."""
    status = daemon.call("daemon.status")
    return (kernel_events.why_no_connector() is None and status["processes_seen_by"] in ("bpf", "connector")
            and status["events_lost"] == 0)


def run_job(daemon, options, command):
    """A finished `metron run` with these options, of which --job is one. The command begins once the daemon has the job, or
    its sheet: of one that has gone by the time that it comes to it, a busy daemon wants to know nothing."""
    def announced():
        return any("pid" in part for job in daemon.call("job.list") for part in (job, *job["sheets"])
                   if part["status"] == "running")
    started = daemon.runner.start(f"-q --socket {daemon.socket} {options}", ["sh", "-c", 'read go; exec "$@"', "sh", *command],
                                  stdin=subprocess.PIPE)
    wait_until(lambda: announced() or started.process.poll() is not None, what="the job in the daemon")
    return started.finish(data=b"go\n")


def need_another_user():
    if os.getuid() != 0:
        pytest.skip("only root can become another user")


def of_pid(events, pid):
    return [event for event in events if event.get("pid") == pid]


def types_of(events, pid):
    return [event["event_type"] for event in of_pid(events, pid)]
