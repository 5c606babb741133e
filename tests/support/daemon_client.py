"""A client of the daemon's socket, database and log, written from the text of the format alone.

Plain Python: socket, json, sqlite3. Every answer is read strictly (UTF-8, no NaN, no double keys, no null inside),
so each test checks that for nothing. What the format leaves open is decided in the tables below and nowhere else.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import select
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from support.processes import stat_fields, wait_until
from support.records import check_no_null, is_number, strict_json

# ---- names that the format's text does not fix: correct them here ----

# What the tests call it: the setting. `--NAME` on the command line, METRON_NAME in the environment.
SETTINGS = {
    "interval": "interval",
    "socket": "socket",
    "database": "database",
    "log_file": "log-file",
    "watch": "watch",
    "retention_hours": "retention-hours",
    "retention_days": "retention-days",
    "events_days": "events-days",
    "database_cap": "database-cap",
}

# Fields of job.profile: the first of these names that is there. A value may be {"value": …, "source": …}.
PROFILE = {
    "cpu_seconds": ("cpu_seconds", "total_cpu_seconds"),
    "peak_memory_mb": ("peak_memory_mb", "peak_rss_mb", "peak_rss_sum_mb"),
    "spawns": ("spawned", "spawns", "spawn_count", "process_spawn_count", "processes_spawned"),
    "unique_processes": ("unique_processes", "unique_process_count", "processes"),
}

# The name of an event in a notification: a process event has event_type, a published one has event.
EVENT_NAME = ("event", "event_type")

# How a notification tells a slow subscriber what it lost.
LOST = ("dropped", "lost", "missed", "dropped_events", "events_lost", "lost_events")

# Where event.publish says which process a sheet is.
SHEET_PID = "pid"

# ---- names that the format fixes ----

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
NO_SUCH_JOB, NOT_PERMITTED = -32000, -32010
REQUEST_LIMIT = 1 << 20
MIB = 1 << 20

NUMBER, INTEGER, TEXT, LIST, OBJECT = "number", "integer", "text", "list", "object"

# Always measured on Linux.
SNAPSHOT_FIELDS = {
    "timestamp": NUMBER, "daemon_pid": INTEGER, "system_memory_total_mb": NUMBER, "system_memory_available_mb": NUMBER,
    "system_memory_used_mb": NUMBER, "daemon_rss_mb": NUMBER, "load_avg_1": NUMBER, "load_avg_5": NUMBER,
    "load_avg_15": NUMBER, "processes": LIST, "running_jobs": INTEGER, "active_sheets": INTEGER,
    "zombie_count": INTEGER, "zombie_pids": LIST, "conductor_uptime_seconds": NUMBER,
}
# There if there is something to tell.
SNAPSHOT_OPTIONAL = {"gpus": LIST, "pressure_level": TEXT, "job_progress": LIST}
PROCESS_FIELDS = {
    "pid": INTEGER, "ppid": INTEGER, "command": TEXT, "state": TEXT, "rss_mb": NUMBER, "vms_mb": NUMBER,
    "threads": INTEGER, "open_fds": INTEGER, "age_seconds": NUMBER,
}
PROCESS_OPTIONAL = {"cpu_percent": NUMBER, "job_id": TEXT, "sheet_num": INTEGER, "syscall_counts": OBJECT,
                    "syscall_time_pct": OBJECT}
GPU_FIELDS = {"index": INTEGER, "utilization_pct": NUMBER, "memory_used_mb": NUMBER, "memory_total_mb": NUMBER,
              "temperature_c": NUMBER}
PROGRESS_FIELDS = {"job_id": TEXT, "total_sheets": INTEGER, "last_completed_sheet": INTEGER, "current_sheet": INTEGER,
                   "status": TEXT}
STATUS_FIELDS = {"pid": INTEGER, "uptime_seconds": NUMBER, "running_jobs": INTEGER, "total_jobs_active": INTEGER,
                 "memory_usage_mb": NUMBER, "version": TEXT}
PRESSURE_LEVELS = ("none", "low", "medium", "high", "critical")

SNAPSHOT_COLUMNS = ("id", "timestamp", "daemon_pid", "system_memory_total_mb", "system_memory_available_mb",
                    "system_memory_used_mb", "daemon_rss_mb", "child_count", "zombie_count", "load_avg_1", "load_avg_5",
                    "load_avg_15", "gpu_count", "gpu_utilization_pct", "gpu_memory_used_mb", "gpu_temperature",
                    "pressure_level", "running_jobs", "active_sheets")
PROCESS_COLUMNS = ("id", "snapshot_id", "pid", "ppid", "command", "state", "cpu_percent", "rss_mb", "vms_mb", "threads",
                   "open_fds", "age_seconds", "job_id", "sheet_num", "syscall_counts", "syscall_time_pct")
EVENT_COLUMNS = ("id", "timestamp", "pid", "event_type", "exit_code", "signal_num", "job_id", "sheet_num", "details")


# ---- the socket ----

class RpcError(Exception):
    """The daemon answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')} ({error.get('data')})")
        self.code = error.get("code")
        self.message = error.get("message")
        self.data = error.get("data")


@contextlib.contextmanager
def acting_as(uid):
    """With another effective user (root only); None changes nothing. The kernel notes who connects."""
    if uid is None or uid == os.geteuid():
        yield
        return
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


class Client:
    """One connection: call() for an answer, send() and receive() for what is no ordinary request."""

    def __init__(self, path, uid=None, timeout=10.0, receive_buffer=None):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            with acting_as(uid):
                self.socket.connect(str(path))
        except OSError:
            self.socket.close()
            raise
        self.timeout = timeout
        self.buffer = b""
        self.next_id = 0
        self.notifications = []

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
        """The result of the request with this id. Notifications that come before it are kept."""
        while True:
            message = self.receive()
            assert message is not None, "the daemon hung up without an answer"
            if "method" in message and "id" not in message:
                self.notifications.append(message)
                continue
            return result_of(message, wanted)

    def call(self, method, **params):
        return self.answer(self.request(method, **params))

    def call_many(self, method, many):
        """Many requests on the way at once; the answers in the order of the requests."""
        numbers = [self.request(method, **params) for params in many]
        return [self.answer(number) for number in numbers]

    # ---- daemon.monitor.stream ----

    def subscribe(self, **params):
        """From the answer on, every event that fits is sent."""
        self.call("daemon.monitor.stream", **params)
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

    def events_until(self, last, timeout=10.0):
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
    assert error.data, f"no data that says what to do: {error}"


def event_name(event):
    for name in EVENT_NAME:
        if isinstance(event.get(name), str):
            return event[name]
    return None


def lost_count(event):
    """How many events a notification says were lost; 0 if it says nothing of the kind."""
    for holder in (event, event.get("data")):
        for name in LOST:
            if isinstance(holder, dict) and is_number(holder.get(name)):
                return holder[name]
    return 0


def publish(client, event, job_id, sheet_num, pid=None, **data):
    """Tells the daemon of a sheet; returns the event as it comes back."""
    if pid is not None:
        data[SHEET_PID] = pid
    return client.call("event.publish", event=event, job_id=job_id, sheet_num=sheet_num, data=data)


def jobs_of(result):
    """job.list's answer: a list, or an object with the list as `jobs`."""
    return result["jobs"] if isinstance(result, dict) else result


def text_of(result):
    """job.report's answer: the text, or an object with it."""
    if isinstance(result, dict):
        (result,) = [value for value in result.values() if isinstance(value, str) and "\n" in value]
    assert isinstance(result, str), result
    return result


def profile_value(profile, what):
    for name in PROFILE[what]:
        if name in profile:
            value = profile[name]
            return value["value"] if isinstance(value, dict) and "value" in value else value
    raise AssertionError(f"job.profile has none of {PROFILE[what]}: {sorted(profile)}")


def find_value(tree, name):
    """The value under a key anywhere in a JSON value (with - or _); None if it is not there."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if key.replace("_", "-") == name:
                return value["value"] if isinstance(value, dict) and "value" in value else value
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        found = find_value(child, name)
        if found is not None:
            return found
    return None


# ---- forms ----

def is_of(value, kind):
    if kind == NUMBER:
        return is_number(value)
    if kind == INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {TEXT: str, LIST: list, OBJECT: dict}[kind])


def check_fields(thing, needed, optional=(), where="an object"):
    """Each needed field is there, and each field that is known has its type. More fields may follow."""
    missing = set(needed) - set(thing)
    assert not missing, f"{where} lacks {sorted(missing)}: {thing}"
    for name, kind in {**needed, **dict(optional)}.items():
        if name in thing:
            assert is_of(thing[name], kind), f"{where}: {name} is {thing[name]!r}, not a {kind}"


def check_snapshot(snapshot):
    """Every rule of one snapshot's form."""
    check_no_null(snapshot, "a snapshot")
    check_fields(snapshot, SNAPSHOT_FIELDS, SNAPSHOT_OPTIONAL, "the snapshot")
    assert snapshot["zombie_count"] == len(snapshot["zombie_pids"])
    assert snapshot.get("pressure_level", "none") in PRESSURE_LEVELS
    pids = [process["pid"] for process in snapshot["processes"]]
    assert len(pids) == len(set(pids)), "a process is told twice"
    for process in snapshot["processes"]:
        check_fields(process, {"pid": INTEGER, "state": TEXT}, {**PROCESS_FIELDS, **PROCESS_OPTIONAL},
                     f"process {process.get('pid')}")
        assert re.fullmatch("[A-Za-z]", process["state"]), process
        assert process.get("cpu_percent", 0) >= 0 and process.get("age_seconds", 0) >= 0, process
        for share in process.get("syscall_time_pct", {}).values():
            assert 0 <= share <= 100
    for gpu in snapshot.get("gpus", []):
        check_fields(gpu, {"index": INTEGER}, GPU_FIELDS, "a GPU")
    for progress in snapshot.get("job_progress", []):
        check_fields(progress, {"job_id": TEXT, "status": TEXT}, PROGRESS_FIELDS, "job_progress")
    return snapshot


def process_in(snapshot, pid):
    """The entry of a process; {} if there is none."""
    for process in snapshot["processes"]:
        if process["pid"] == pid:
            return process
    return {}


def progress_in(snapshot, job_id):
    """The progress of a job; {} if there is none."""
    for progress in snapshot.get("job_progress", []):
        if progress["job_id"] == job_id:
            return progress
    return {}


def unix_seconds(value):
    """A moment as the socket and the database tell it: unix seconds, or ISO 8601 with an offset."""
    if is_number(value):
        return float(value)
    moment = datetime.datetime.fromisoformat(value)
    assert moment.tzinfo is not None, f"{value} has no offset"
    return moment.timestamp()


# ---- the kernel's own values ----

def status_of(pid):
    """/proc/PID/status as {name: text}."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def rss_mb(pid):
    return int(status_of(pid)["VmRSS"].split()[0]) / 1024


def vms_mb(pid):
    return int(status_of(pid)["VmSize"].split()[0]) / 1024


def command_line(pid):
    data = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return " ".join(data.decode("utf-8", "replace").rstrip("\0").split("\0"))


def open_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def age_at(pid, moment):
    """How old a process is (was) at a moment in unix seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    born = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - born - (time.time() - moment)


def cpu_seconds(pid):
    """What the threads of a process have used, to the nanosecond (or the clock tick, where that is all there is)."""
    try:
        return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def between(readings, moment):
    """The value at a moment, from (moment, value) pairs around it."""
    for (before, low), (after, high) in zip(readings, readings[1:]):
        if before <= moment <= after:
            return low + (high - low) * (moment - before) / (after - before)
    raise AssertionError(f"no readings around {moment}")


def is_kernel_thread(pid):
    """None if there is no such process."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return None
    return bool(int(fields.split()[6]) & 0x00200000)


def owner(pid):
    """The real uid of a process, None if there is none."""
    try:
        return int(status_of(pid)["Uid"].split()[0])
    except OSError:
        return None


def meminfo_mb():
    text = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines())
    return {name: int(value.split()[0]) / 1024 for name, _, value in lines}


def load_averages():
    return [float(word) for word in pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[:3]]


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
        return self

    def start(self, **how):
        """Starts it and waits until it accepts work."""
        self.launch(**how)
        wait_until(self.is_ready, 20, "daemon.ready")
        return self

    def said(self):
        return self.messages.read_text(encoding="utf-8", errors="replace")

    def is_ready(self):
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}: {self.said()}"
        try:
            with self.client(timeout=2.0) as client:
                answer = client.call("daemon.ready")
        except (OSError, RpcError):
            return False
        told = answer.values() if isinstance(answer, dict) else [answer]
        return not any(value is False for value in told)

    def client(self, **how):
        return Client(self.socket, uid=self.uid, **how)

    def call(self, method, **params):
        """One request on a connection of its own."""
        with self.client() as client:
            return client.call(method, **params)

    def wait(self, timeout=10):
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

    def top_when(self, condition=lambda snapshot: True, timeout=10.0, what="the snapshot", **params):
        """The first snapshot taken from now on for which the condition holds."""
        begin, last = time.time(), None
        with self.client() as client:
            end = time.monotonic() + timeout
            while time.monotonic() < end:
                snapshot = client.call("daemon.top", **params)
                if snapshot["timestamp"] >= begin and snapshot["timestamp"] != last:
                    last = snapshot["timestamp"]
                    if condition(check_snapshot(snapshot)):
                        return snapshot
                time.sleep(0.02)
        raise AssertionError(f"{what} did not come within {timeout} s")

    def tops(self, count):
        """The next so many different snapshots."""
        found = []
        with self.client() as client:
            end = time.monotonic() + 10 + count
            while len(found) < count:
                assert time.monotonic() < end, f"{len(found)} of {count} snapshots came"
                snapshot = client.call("daemon.top")
                if not found or snapshot["timestamp"] != found[-1]["timestamp"]:
                    found.append(check_snapshot(snapshot))
                time.sleep(0.03)
        return found

    def logged(self):
        """The whole lines of the log so far, while it is written."""
        return read_log(self.log_file)

    # ---- events ----

    def events_when(self, condition, timeout=10.0, what="the events"):
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
        """Until the snapshot of this moment is in the database."""
        return wait_until(lambda: self.stored(timestamp), 10, f"snapshot {timestamp} in the database")

    def stored(self, timestamp):
        found = self.rows(f"SELECT {', '.join(SNAPSHOT_COLUMNS)} FROM snapshots WHERE abs(timestamp - ?) < 0.001",
                          timestamp)
        assert len(found) < 2, f"snapshot {timestamp} is stored twice"
        return found[0] if found else None


def open_database(path):
    """Read-only, as any other program would."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
    database.row_factory = sqlite3.Row
    return database


def read_log(path):
    """The whole lines of a log that somebody is writing."""
    data = pathlib.Path(path).read_bytes()
    return [strict_json(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]


# ---- processes of known kind ----

class Shell:
    """A shell that starts processes when it is told to, so that they are its children and not ours."""

    def __init__(self, runner, env=None):
        self.process = subprocess.Popen([*runner.wrapper, "sh"], cwd=runner.cwd, env=runner.environment(env), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = int(self.ask("echo $$"))

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        """One line that the shell's command prints."""
        self.tell(line)
        return self.process.stdout.readline().strip()

    def start(self, command):
        """Starts a command in the background and returns its pid."""
        return int(self.ask(f"{command} > /dev/null & echo $!"))

    def run(self, command):
        """Runs a command to its end and returns its exit status, as a shell has it."""
        return int(self.ask(f"{command} > /dev/null; echo $?"))

    def reap(self, pid):
        """Waits for a process that it started; the exit status as a shell has it."""
        return int(self.ask(f"wait {pid} 2> /dev/null; echo $?"))

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


KNOWN_CHILD = """
import threading, time
held = [open("/dev/null") for _ in range(7)]
memory = bytearray(b"x") * (64 << 20)
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""


def start_known_child(runner):
    """A child of ours that sleeps with 64 MiB, four threads and seven files more than usual. Returns its pid."""
    child = subprocess.Popen([*runner.wrapper, "/usr/bin/python3", "-c", KNOWN_CHILD], cwd=runner.cwd,
                             env=runner.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    wait_until(lambda: stat_fields(child.pid)[0] == "S", what="a sleeping child")
    return child


def start_child(runner, *command, **how):
    """A child of ours, as the runner's user. It keeps its pid through setpriv's exec."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **how}
    child = subprocess.Popen([*runner.wrapper, *command], cwd=runner.cwd, env=runner.environment(), **how)
    name = os.path.basename(command[0])[:15]
    comm = pathlib.Path(f"/proc/{child.pid}/comm")
    wait_until(lambda: comm.read_text(encoding="utf-8").strip() == name, what=f"exec of {name}")
    return child


def in_child_as(uid, action):
    """Runs action() in a forked child that is another user for good; returns what it returned (JSON)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(writing, json.dumps(action()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return strict_json(data)
