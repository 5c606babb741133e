"""The daemon as another program sees it: how it answers, whom it lets in, how it ends and how the next one goes on.

The client (support/daemon_client.py) is written from the text of the format and shares no code with metron. Most tests
run for the caller (root: the whole machine is watched) and for an ordinary user. What it tells is in the other
test_daemon_*.py.
"""

import json
import os
import signal
import stat
import tempfile
import time

import pytest

from support import daemon_client as dc
from support.daemon_client import (Daemon, RpcError, check_fields, expect_error, job_shell, need_another_user,
                                   process_in, publish)
from support.processes import wait_until
from support.users import ANOTHER_USER

INTERVAL = 0.2


# ---- the daemon itself ----

def test_health_ready_and_status_answer(either):
    with either.client() as client:
        client.call("daemon.health")
        client.call("daemon.ready")
        status = client.call("daemon.status")
    check_fields(status, dc.STATUS_FIELDS, where="daemon.status")
    assert status["pid"] == either.pid
    assert 0 < status["uptime_seconds"] <= dc.age(either.pid)
    # It may grow between the two readings.
    wait_until(lambda: either.call("daemon.status")["memory_usage_mb"]
               == pytest.approx(dc.rss_mb(either.pid), rel=0.2, abs=2), what="its size")
    assert status["version"] in either.runner.metron("--version").stdout.decode()


@pytest.mark.parametrize("by_environment", [False, True], ids=["options", "environment"])
def test_the_settings_in_force_are_told(start_daemon, by_environment):
    given = {"watch": "jobs", "retention_hours": 3, "retention_days": 5, "events_days": 7}
    daemon = start_daemon(by_environment=by_environment, **given)
    told = daemon.call("daemon.config")
    assert float(dc.find_value(told, dc.SETTINGS["interval"])) == INTERVAL
    for name, value in {"socket": daemon.socket, "database": daemon.database, "log_file": daemon.log_file,
                        **given}.items():
        assert str(dc.find_value(told, dc.SETTINGS[name])) == str(value), name


def test_an_interval_below_a_tenth_of_a_second_is_refused(start_daemon, run_metron):
    daemon = Daemon(run_metron, run_metron.cwd)
    start_daemon.daemons.append(daemon)
    assert daemon.launch(interval=0.01).wait() == 2
    assert daemon.said().count("\n") == 1 and dc.SETTINGS["interval"] in daemon.said()


def test_sigterm_ends_it_with_0_and_takes_the_socket_away(either):
    either.top_when()
    assert either.stop(signal.SIGTERM) == 0
    assert not either.socket.exists()
    assert either.database.exists() and either.log_file.exists()


@pytest.mark.parametrize("graceful", [True, False])
def test_it_can_be_shut_down_over_the_socket(either, graceful):
    either.call("daemon.shutdown", graceful=graceful)
    assert either.wait() == 0
    assert not either.socket.exists()


@pytest.mark.parametrize("graceful", [True, False])
def test_a_signal_does_not_kill_it_while_it_shuts_down(either, graceful):
    """systemd, or an impatient user: what is queued is still being written, and memory freed."""
    either.top_when()
    either.call("daemon.snapshots")  # by a thread that reads the history, and takes no signals either
    either.call("daemon.shutdown", graceful=graceful)
    while either.process.poll() is None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            either.process.send_signal(number)
    assert either.wait() == 0, either.said()


@pytest.mark.threads
def test_everything_told_is_in_the_database_after_an_orderly_end(jobs_daemon):
    last = jobs_daemon.tops(3)[-1]
    assert jobs_daemon.stop() == 0
    assert jobs_daemon.stored(last["timestamp"])


# ---- requests that are wrong ----

def test_many_requests_on_one_connection_in_one_write(either):
    with either.client() as client:
        client.send(b"".join(json.dumps({"jsonrpc": "2.0", "id": name, "method": "daemon.status"}).encode() + b"\n"
                             for name in ("one", "two", 3)))
        answers = {}
        for _ in range(3):
            message = client.receive()
            answers[message["id"]] = message["result"]["pid"]
    assert answers == {"one": either.pid, "two": either.pid, 3: either.pid}


def test_a_request_that_comes_in_pieces_is_answered_once_it_is_whole(daemon):
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "daemon.status"}).encode() + b"\n"
    with daemon.client() as client:
        for piece in (line[:9], line[9:-1], line[-1:]):
            client.send(piece)
            time.sleep(0.1)
        assert client.answer(1)["pid"] == daemon.pid


def test_a_request_without_an_id_gets_no_answer(daemon):
    with daemon.client() as client:
        client.send({"jsonrpc": "2.0", "method": "daemon.status"})
        assert client.call("daemon.status")["pid"] == daemon.pid, "the first answer is that of the second request"


@pytest.mark.parametrize("line, code", [
    (b"{nonsense\n", dc.PARSE_ERROR),
    (b"\xff\xfe\n", dc.PARSE_ERROR),
    (b'"text"\n', dc.INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": null}\n', dc.INVALID_REQUEST),
    (b'{"jsonrpc": "2.0", "id": null, "method": 5}\n', dc.INVALID_REQUEST),
], ids=["not-json", "not-utf8", "no-object", "no-method", "method-no-text"])
def test_a_malformed_request_gets_an_error_and_the_connection_goes_on(daemon, line, code):
    with daemon.client() as client:
        client.send(line)
        with pytest.raises(RpcError) as caught:
            dc.result_of(client.receive(), None)
        dc.check_error(caught.value, code)
        assert client.call("daemon.status")["pid"] == daemon.pid


@pytest.mark.parametrize("request_line", [
    b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (2 * dc.REQUEST_LIMIT) + b'"}\n',
    b'{"jsonrpc": "2.0", "id": 1, "method": "daemon.top", "params": ' + b"[" * 200000 + b"]" * 200000 + b"}\n",
], ids=["over-1-MiB", "deep"])
def test_a_huge_or_deep_request_gets_an_error_and_the_daemon_lives_on(daemon, request_line):
    with daemon.client() as client:
        try:
            client.send(request_line)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it need not be heard to the end
        message = client.receive()
    assert message["error"]["code"] in (dc.PARSE_ERROR, dc.INVALID_REQUEST) and message["error"]["data"]["hint"]
    assert daemon.call("daemon.status")["pid"] == daemon.pid


def test_a_request_just_below_1_mib_is_answered(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="big")
        told = publish(client, "sheet.retrying", "big", 1, pad="x" * (dc.REQUEST_LIMIT - 4096))
    assert len(told["data"]["pad"]) == dc.REQUEST_LIMIT - 4096


@pytest.mark.parametrize("code, method, params", [
    (dc.NO_METHOD, "daemon.nonsense", {}),
    (dc.BAD_PARAMS, "job.status", {}),
    (dc.BAD_PARAMS, "job.start", {"job_id": 5}),
    (dc.BAD_PARAMS, "daemon.events", {"limit": "many"}),
    (dc.BAD_PARAMS, "context.get", {"pid": "self"}),
    (dc.NO_SUCH_JOB, "job.status", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "job.finish", {"job_id": "never-started", "outcome": "completed"}),
    (dc.NO_SUCH_JOB, "job.profile", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "job.report", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "daemon.top", {"job_id": "never-started"}),
    (dc.NO_SUCH_JOB, "event.publish", {"event": "sheet.started", "job_id": "never-started", "sheet_num": 1,
                                       "data": {}}),
])
def test_an_error_has_its_code_and_says_what_to_do(daemon, code, method, params):
    with daemon.client() as client:
        expect_error(client, code, method, **params)
        assert client.call("daemon.status")["pid"] == daemon.pid


# ---- who gets in ----

def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_files_are_the_owners_only_even_without_a_umask(either):
    either.wait_for_stored(either.top_when()["timestamp"])
    files = [either.socket, either.log_file, *either.folder.glob("monitor.db*")]
    assert len(files) >= 3
    assert {path.name: mode(path) for path in files} == {path.name: 0o600 for path in files}


def test_without_settings_everything_is_in_the_users_own_folders(start_user_daemon, run_as_user):
    daemon = Daemon(run_as_user, run_as_user.cwd, ANOTHER_USER if os.getuid() == 0 else None)
    start_user_daemon.daemons.append(daemon)
    runtime, state = daemon.folder / "runtime", daemon.folder / "state"
    runtime.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(runtime, ANOTHER_USER, ANOTHER_USER)
    daemon.socket = runtime / "metron.sock"
    daemon.launch(socket=None, database=None, log_file=None,
                  env={"XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(state)})
    wait_until(daemon.is_ready, what="daemon.ready")
    daemon.database, daemon.log_file = state / "metron" / "monitor.db", state / "metron" / "monitor.jsonl"
    assert daemon.call("daemon.top.stream") == {"jsonl_path": str(daemon.log_file)}
    daemon.wait_for_stored(daemon.top_when()["timestamp"])
    assert mode(state / "metron") == 0o700
    assert {mode(path) for path in (daemon.socket, daemon.database, daemon.log_file)} == {0o600}


@pytest.fixture
def open_daemon(run_metron):
    """Root's daemon with its files in a folder that everybody may enter."""
    need_another_user()
    dc.need_daemon(run_metron)
    with tempfile.TemporaryDirectory(prefix="metron-daemon-") as folder:
        os.chmod(folder, 0o755)
        daemon = Daemon(run_metron, folder)
        yield daemon.start()
        daemon.end()


def ask_for_everything(path):
    """What a stranger gets: the name of the error, or the lines of the answers."""
    lines = []
    try:
        with dc.Client(path, timeout=30) as client:
            client.send({"jsonrpc": "2.0", "id": 1, "method": "daemon.top"})
            while (message := client.receive()) is not None:
                lines.append(message)
                if "result" in message:
                    break
    except OSError as error:
        return {"failed": type(error).__name__, "answers": lines}
    return {"answers": lines}


def test_another_user_cannot_connect(open_daemon):
    got = dc.in_child_as(ANOTHER_USER, lambda: ask_for_everything(open_daemon.socket))
    assert got == {"failed": "PermissionError", "answers": []}


def test_another_user_is_refused_even_if_the_file_lets_him_in(open_daemon):
    """The peer's uid is checked: there is no answer but "not permitted", and no command line."""
    open_daemon.socket.chmod(0o666)
    got = dc.in_child_as(ANOTHER_USER, lambda: ask_for_everything(open_daemon.socket))
    for answer in got["answers"]:
        assert answer["error"]["code"] == dc.NOT_PERMITTED and answer["error"]["data"]["hint"], got
    assert open_daemon.call("daemon.status")["pid"] == open_daemon.pid


def test_another_user_cannot_read_the_files(open_daemon):
    open_daemon.wait_for_stored(open_daemon.top_when()["timestamp"])

    def readable():
        return [path.name for path in open_daemon.folder.glob("monitor*") if os.access(path, os.R_OK)]
    assert dc.in_child_as(ANOTHER_USER, readable) == []


# ---- one daemon, and the next ----

def test_a_second_daemon_on_the_same_socket_refuses_and_the_first_goes_on(either):
    second = Daemon(either.runner, either.folder, either.uid)
    second.database, second.log_file = either.folder / "second.db", either.folder / "second.jsonl"
    second.messages = either.folder / "second-messages"
    try:
        assert second.launch().wait() not in (0, None)
    finally:
        second.end()
    assert second.said().count("\n") == 1 and str(either.socket) in second.said(), second.said()
    assert either.call("daemon.status")["pid"] == either.pid
    either.tops(2)


def test_a_socket_that_a_killed_daemon_left_behind_is_replaced(either):
    first = either.pid
    either.stop(signal.SIGKILL)
    assert either.socket.exists()
    either.start()
    assert either.call("daemon.status")["pid"] == either.pid != first


@pytest.mark.threads
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["after-TERM", "after-KILL"])
def test_the_next_daemon_continues_the_history_and_the_running_jobs(start_either, number):
    daemon = start_either(watch="jobs")
    shell = job_shell(daemon, "goes-on", total_sheets=2)
    with daemon.client() as client:
        publish(client, "sheet.started", "goes-on", 1, pid=shell.pid)
    last = daemon.tops(3)[-1]
    old = daemon.wait_for_stored(last["timestamp"])
    daemon.stop(number)
    daemon.start(watch="jobs")
    fresh = daemon.top_when(lambda snapshot: process_in(snapshot, shell.pid), what="the job's process")
    assert daemon.wait_for_stored(fresh["timestamp"])["id"] > old["id"]
    assert daemon.stored(old["timestamp"]) == old, "what was there stands"
    told = process_in(fresh, shell.pid)
    assert (told["job_id"], told["sheet_num"]) == ("goes-on", 1)
    assert daemon.call("job.status", job_id="goes-on")["status"] == "running"
    assert (fresh["running_jobs"], fresh["active_sheets"]) == (1, 1)
    child = shell.start("sleep 600")
    fresh = daemon.top_when(lambda snapshot: process_in(snapshot, child), what="a new process of the job")
    assert process_in(fresh, child)["job_id"] == "goes-on"


@pytest.mark.threads
def test_cpu_of_a_running_job_is_not_counted_twice_by_the_next_daemon(start_daemon):
    daemon = start_daemon(watch="jobs")
    shell = job_shell(daemon, "twice")
    assert shell.run(f"{daemon.runner.workload('burn')} 1") == 0
    daemon.tops(3)
    daemon.stop()
    daemon.start(watch="jobs")
    daemon.tops(2)
    daemon.call("job.finish", job_id="twice", outcome="completed")
    profile = daemon.call("job.profile", job_id="twice")
    assert dc.profile_value(profile, "cpu_seconds") == pytest.approx(1.0, rel=0.05)


def test_ids_of_events_grow_across_a_restart(start_either):
    daemon = start_either(watch="jobs")
    shell = job_shell(daemon, "numbered")
    highest = []
    for _ in range(2):
        (pid,) = dc.seen_and_gone(daemon, shell)
        rows = wait_until(lambda pid=pid: daemon.rows(
            "SELECT id FROM process_events WHERE pid = ? AND event_type = 'exit'", pid), what="the exit, stored")
        assert len(rows) == 1
        highest.append(rows[0]["id"])
        assert daemon.stop() == 0
        daemon.start(watch="jobs")
    assert highest[1] > highest[0]
