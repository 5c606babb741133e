"""The daemon from the shell: metron daemon status and stop, metron job, metron events; and its units.

Most tests run once for the caller and once for an ordinary user, each with a daemon that all of them share. A test has
a daemon of its own where it ends it, or where it tells of all jobs and clients of a daemon.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from support import daemon_client as dc
from support.processes import stat_fields, state, wait_until
from support.records import strict_json, strict_lines

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Shell:
    """metron COMMAND, as whoever the daemon is of."""

    def __init__(self, runner, daemon):
        self.runner, self.daemon = runner, daemon

    def line(self, *words):
        return [*self.runner.wrapper, self.runner.binary, *words, "--socket", str(self.daemon.socket)]

    def __call__(self, *words, rc=0, **env):
        done = subprocess.run(self.line(*words), cwd=self.runner.cwd, env=self.runner.environment(env),
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == rc, done
        return done.stdout.decode()

    def refused(self, *words, rc=1):
        """What it says on stderr: one line."""
        done = subprocess.run(self.line(*words), cwd=self.runner.cwd, env=self.runner.environment(),
                              capture_output=True, timeout=60, check=False)
        assert done.returncode == rc and not done.stdout, done
        message = done.stderr.decode()
        assert message.count("\n") == 1 and "\x1b" not in message, message
        return message

    def json(self, *words):
        return strict_json(self(*words, "--json").encode())

    def start(self, *words, **env):
        # SIGINT as a terminal gives it, whatever the tests were started with.
        return subprocess.Popen(self.line(*words), cwd=self.runner.cwd, env=self.runner.environment(env),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def jobs(self, name):
        """The jobs of this name: at most one that runs, and those that have ended."""
        return [job for job in self.json("job", "list") if job["job_id"] == name]

    def child(self, *command):
        return subprocess.Popen([*self.runner.wrapper, *command], stdin=subprocess.DEVNULL)


@pytest.fixture
def shell(either):
    """The shell of a daemon that tests share."""
    return Shell(either.runner, either)


@pytest.fixture
def own_shell(start_either):
    """The shell of a daemon that is this test's alone."""
    return Shell(start_either.runner, start_either())


def rows(text):
    """The rows of a table by their first word."""
    return {line.split()[0]: line for line in text.splitlines()[1:] if line.strip()}


# ---- status and stop ----

def test_status_tells_what_the_socket_tells(own_shell):
    status = own_shell.json("daemon", "status")
    dc.check_fields(status, dc.STATUS_FIELDS)
    text = own_shell("daemon", "status", COLUMNS="80")
    assert f"pid {own_shell.daemon.pid}, up " in text
    assert "a snapshot every 0.2 s; 0 running jobs" in text
    assert re.search(r"  cost      .* CPU \(.* % of a core\), [0-9.]+ MiB", text)
    assert max(map(len, text.splitlines())) <= 80


def test_stop_returns_once_the_daemon_has_ended(own_shell):
    own_shell("daemon", "stop")
    # It is our child, and nobody has waited for it: what is left of it is a zombie.
    assert stat_fields(own_shell.daemon.pid)[0] == "Z"
    assert own_shell.daemon.process.wait(60) == 0
    assert not own_shell.daemon.socket.exists()
    assert "no daemon listens on" in own_shell.refused("daemon", "stop")


@pytest.mark.parametrize("words", [["daemon", "status"], ["daemon", "stop"], ["job", "list"], ["events"], ["events", "-f"],
                                   ["job", "start", "x"]])
def test_without_a_daemon_it_is_said_how_to_start_one(run_metron, words):
    line = [run_metron.binary, *words, "--socket", str(run_metron.cwd / "none.sock")]
    done = subprocess.run(line, env=run_metron.environment(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr.decode() == (f"metron: error: no daemon listens on '{run_metron.cwd}/none.sock'; start one with: "
                                    "metron daemon\n")


def test_check_config_is_a_settings_file_and_says_whence(run_metron):
    text = run_metron.metron("daemon --check-config --interval 2", env={"METRON_EVENTS_DAYS": "3"}).stdout.decode()
    assert text.startswith("[daemon]\n")
    assert re.search(r"^interval += 2 +; command line$", text, re.M), text
    assert re.search(r"^events_days += 3 +; .*METRON_EVENTS_DAYS", text, re.M), text
    assert re.search(r"^; database ", text, re.M), text
    folder = run_metron.home / "config" / "metron"
    folder.mkdir(parents=True)
    (folder / "metron.conf").write_text(text, encoding="utf-8")
    done = run_metron.metron("daemon --check-config --json")
    assert done.returncode == 0 and not done.stderr, done
    values = strict_json(done.stdout)
    assert values["interval"]["value"] == 2 and "metron.conf" in values["interval"]["origin"]
    assert values["events_days"]["value"] == 3


def test_check_config_refuses_a_wrong_value(run_metron):
    done = run_metron.metron("daemon --check-config --interval 0")
    assert done.returncode == 2 and not done.stdout
    assert b"interval" in done.stderr


# ---- jobs ----

def test_a_job_from_start_to_finish(shell):
    child = shell.child("/usr/bin/python3", "-c",
                        "import time; x = bytearray(60 << 20); print(len(x)); time.sleep(60)")
    assert shell("job", "start", "whole", str(child.pid)) == ""
    assert shell("job", "sheet", "whole", "1", "started", str(child.pid)) == ""
    wait_until(lambda: shell.jobs("whole")[0]["usage"].get("peak_rss_mb", 0) > 60, what="its memory")
    table = shell("job", "list", COLUMNS="80")
    assert re.search(r"^whole +running +\d\d:\d\d:\d\d +", rows(table)["whole"])
    # The method that tells most: a sum of this instant, or what the largest process had between two of them.
    assert re.search(r"^MEMORY [abc]: (sum of PSS|sum of RSS|of the largest)", table, re.MULTILINE)
    assert max(map(len, table.splitlines())) <= 80
    page = shell("job", "show", "whole", COLUMNS="80")
    assert page.startswith("job whole: running") and "\nSHEET" in page
    assert "(peak_rss_mb)" in page
    child.kill()
    child.wait()
    shell("job", "sheet", "whole", "1", "failed")
    shell("job", "finish", "whole", "failed")
    (job,) = shell.jobs("whole")
    assert job["status"] == "failed" and job["sheets"][0]["status"] == "failed"
    assert "whole" in shell("job", "show", "whole")


def test_json_is_the_answer_of_the_socket(shell):
    shell("job", "start", "one")
    shell("job", "finish", "one", "completed")
    assert shell.json("job", "list") == shell.daemon.call("job.list")
    shell("job", "start", "one")
    told = shell.json("job", "sheet", "one", "4", "started")
    assert told["event"] == "sheet.started" and told["sheet_num"] == 4 and "resource_context" in told["data"]


@pytest.mark.parametrize("name", ["ü" * 127, "日本語のジョブ", "a b\tc".replace("\t", " "), "x" * 255, "-", "{\"}",
                                  "é'; DROP TABLE jobs; --"], ids=lambda name: ascii(name[:9]))
def test_names_that_are_odd_but_allowed(shell, name):
    shell("job", "start", name)
    assert len(shell.jobs(name)) == 1
    # No other job here begins with the same letter.
    (line,) = [line for line in shell("job", "list", COLUMNS="80").splitlines() if line.startswith(name[0])]
    whole = shell("job", "list")
    assert name in whole
    assert name in line or "…" in line
    assert f"job {name}: running" in shell("job", "show", name)


def names_of_jobs(shell):
    return [job["job_id"] for job in shell.json("job", "list")]


@pytest.mark.parametrize("name", ["", "a\x1b[31mb", "two\nlines", "x" * 256, "\x7f", b"\xff\xfe"],
                         ids=lambda name: ascii(name[:9]))
def test_names_that_are_refused(shell, name):
    before = names_of_jobs(shell)
    message = shell.refused("job", "start", name, rc=2 if isinstance(name, bytes) else 1)
    assert "name" in message and message.startswith("metron: error: "), message
    assert names_of_jobs(shell) == before


@pytest.mark.parametrize("words, rc, says", [
    (["start"], 2, "start takes the name of a job"),
    (["start", "x", "zero"], 2, "a process is a number"),
    (["start", "x", "0"], 2, "a process is a number"),
    (["sheet", "x", "1"], 2, "sheet takes a job"),
    (["sheet", "x", "-1.5", "started"], 2, None),
    (["sheet", "x", "1", "exploded"], 2, "one of started, completed, failed, retrying"),
    (["sheet", "x", "1", "started"], 1, "there is no job 'x'; 'metron job start x' begins one\n"),
    (["sheet", "x; y", "1", "started"], 1,
     "metron: error: the daemon refused: there is no job 'x; y'; 'metron job start 'x; y'' begins one\n"),
    (["finish", "x", "completed"], 1, "no job 'x'"),
    (["finish", "x", "well"], 1, "completed, failed, cancelled"),
    (["show", "x"], 1, "there is no job 'x'"),
    (["start", "x", "1", "2"], 2, "start takes the name of a job"),
    (["sheet", "x", "1", "started", "2", "3"], 2, "sheet takes a job"),
    (["finish", "x"], 2, "finish takes a job and its outcome"),
    (["finish", "x", "y", "completed"], 2, "finish takes a job and its outcome"),
    (["list", "x"], 2, "list takes nothing"),
    (["show"], 2, "show takes the name of a job"),
    (["show", "x", "y"], 2, "show takes the name of a job"),
    (["lists"], 2, "start, sheet, exec, finish, list or show"),
    ([], 2, "start, sheet, exec, finish, list or show"),
])
def test_what_is_wrong_is_said(shell, words, rc, says):
    message = shell.refused("job", *words, rc=rc)
    assert says is None or says in message


def test_no_jobs_say_how_to_begin_one(own_shell):
    assert own_shell("job", "list") == "no jobs; 'metron job start NAME' begins one\n"


# ---- events ----

def test_events_of_a_job_oldest_first(shell):
    child = shell.child("sleep", "60")
    shell("job", "start", "watched", str(child.pid))
    shell.daemon.top_when(lambda top: dc.process_in(top, child.pid).get("job_id") == "watched")
    child.terminate()
    child.wait()

    def exits():
        done = strict_lines(shell("events", "--json", "--job", "watched").encode())
        return [event for event in done if event["event_type"] == "exit" and event["pid"] == child.pid]
    wait_until(exits, what="its exit")
    events = strict_lines(shell("events", "--json").encode())
    stamps = [event["timestamp"] for event in events]
    assert events and all(after - before > -2 for before, after in zip(stamps, stamps[1:]))
    assert all(event.get("job_id") == "watched" for event in strict_lines(shell("events", "--json", "--job", "watched").encode()))
    text = shell("events", "--job", "watched", COLUMNS="80")
    assert text.splitlines()[0].split() == ["TIME", "WHAT", "PID", "JOB/SHEET", "HOW", "COMMAND"]
    (line,) = [line for line in text.splitlines() if re.search(rf" exit +{child.pid} ", line)]
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3}  exit ", line) and " watched " in line and "sleep 60" in line
    assert "SIGTERM" in line or exits()[0].get("signal_num") is None
    assert shell("events", "--job", "another") == ""


def follow(shell, *words):
    # A client of the test before may not have been missed yet: then there is nobody but who asks.
    wait_until(lambda: shell.json("daemon", "status")["clients"] == 1, what="the end of all other clients")
    process = shell.start("events", "--follow", *words, COLUMNS="80")
    # Once it sleeps, its request has been sent.
    wait_until(lambda: shell.json("daemon", "status")["clients"] >= 2 and state(process.pid) == "S",
               what="the subscription")
    return process


def test_follow_ends_well_on_an_interrupt(shell):
    process = follow(shell, "--job", "night")
    shell("job", "start", "night")
    shell("job", "start", "other")
    shell("job", "sheet", "night", "3", "started")
    shell("job", "finish", "night", "completed")
    lines = [process.stdout.readline().decode().split() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and not out and not err
    assert [line[1] for line in lines[1:]] == ["started", "started", "finished"]
    assert [line[3] for line in lines[1:]] == ["night", "night/3", "night"]


def test_follow_as_json_is_what_the_socket_sends(shell):
    process = follow(shell, "--json")
    shell.daemon.tops(3)  # their snapshots are not asked for
    shell("job", "start", "night")
    line = process.stdout.readline()
    while json.loads(line)["event"] != "job.started":
        assert json.loads(line)["event"] != "monitor.snapshot"
        line = process.stdout.readline()
    event = strict_json(line)
    assert event["job_id"] == "night" and abs(event["timestamp"] - time.time()) < 60
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_follow_says_that_the_daemon_has_gone(own_shell, number):
    process = follow(own_shell)
    own_shell.daemon.process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.fullmatch(r"metron: error: the daemon \(pid \d+\) closed the connection; .*\n", err.decode()), err


def test_follow_tells_how_many_were_lost(own_shell):
    """Nobody reads our end of the pipe, until more has happened than all queues hold."""
    process = follow(own_shell)
    with own_shell.daemon.client() as client:
        client.call("job.start", job_id="busy")
        data = {"note": "x" * 3000}
        for _ in range(300):
            client.call_many("event.publish", [{"event": "a.b", "job_id": "busy", "data": data}] * 20)
    seen = b""
    end = time.monotonic() + 60
    while b" lost here" not in seen and time.monotonic() < end:
        seen += os.read(process.stdout.fileno(), 1 << 16)
    process.send_signal(signal.SIGINT)
    process.stdout.close()
    process.wait(60)
    assert re.search(rb"^\xe2\x80\xa6 \d+ events? (was|were) lost here", seen, re.M)


def test_the_filter_of_the_environment_is_told(shell):
    done = subprocess.run(shell.line("events"), env=shell.runner.environment({"METRON_JOB": "night"}),
                          capture_output=True, check=True, timeout=60)
    assert b"only events of job 'night'" in done.stderr


# ---- the schema of a snapshot ----

def test_snapshots_are_what_the_schema_says(own_shell):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (python3-jsonschema) is missing")
    schema = json.loads((ROOT / "docs" / "schema" / "snapshot.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    child = own_shell.child("sleep", "60")
    own_shell("job", "start", "night", str(child.pid))
    own_shell("job", "sheet", "night", "2", "started", str(child.pid))
    top = own_shell.daemon.top_when(lambda top: dc.process_in(top, child.pid).get("sheet_num") == 2)
    validator.validate(top)
    # Every name is one that the schema has: it says all there is.
    assert set(top) <= set(schema["properties"])
    for process in top["processes"]:
        assert set(process) <= set(schema["$defs"]["process"]["properties"])
    assert dc.process_in(top, child.pid)["membership"] in ("descent", "events")
    lines = strict_lines(own_shell.daemon.log_file.read_bytes().rpartition(b"\n")[0] + b"\n")
    assert lines
    for line in lines:
        validator.validate(line)
    for change in ({"timestamp": None}, {"running_jobs": -1}, {"processes": [{"pid": 1}]},
                   {"processes": [{"pid": 1, "ppid": 0, "job_id": "x"}]}, {"pressure_level": "awful"}):
        assert not validator.is_valid({**top, **change}), change
    child.kill()
    child.wait()


# ---- units ----

@pytest.mark.parametrize("unit, words", [("metron.service", []), ("metron-user.service", ["--user"])])
def test_units_are_right(run_metron, tmp_path, unit, words):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    text = (ROOT / "packaging" / "systemd" / f"{unit}.in").read_text(encoding="utf-8")
    assert "Type=notify" in text
    (tmp_path / unit).write_text(text.replace("@bindir@", str(run_metron.programs)), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", *words, "verify", "--man=no", str(tmp_path / unit)], check=False,
                          capture_output=True, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 0 and unit.encode() not in done.stderr, done.stderr
