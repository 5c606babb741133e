"""Text of others never acts on a terminal: in no output for people does a control character, a mark that turns the
direction of text around or a separator of lines stand as it is.

Every text of a recording, the names of its keys and the name of its folder have all of them in it.
"""

import csv
import io
import json
import pathlib
import re
import socket
import threading

import pytest

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
HOSTILE = "\u202e\u2066\u200f\u061c\u2028\u2029\u009b31m\u0085\x1b[2J\x07\x7f"
COLORS = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# What a reader needs as it is to take the file for a recording.
KEPT = {"schema_version", "metron_version", "duct_version", "status", "start_time", "end_time", "timestamp", "type",
        "scope", "reduce", "unit", "event_type", "boot_id"}


def hostile(value, name=""):
    if isinstance(value, dict):
        made = {key: hostile(inner, key) for key, inner in value.items()}
        for key, inner in list(made.items()):
            if key in ("proc_rss_total", "proc_pdcpu_total", "proc_peak_rss_total", "proc_rss"):
                made[key + HOSTILE] = inner
        return made
    if isinstance(value, list):
        return [hostile(inner, name) for inner in value]
    return value[:20] + HOSTILE + value[20:] if isinstance(value, str) and name not in KEPT else value


def make_recording(folder, like):
    folder.mkdir(parents=True)
    for source in (RECORDINGS / like).iterdir():
        if source.suffix == ".jsonl":
            lines = [hostile(json.loads(line)) for line in source.read_text().splitlines()]
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        elif source.suffix == ".json":
            info = hostile(json.loads(source.read_text()))
            info["job"] = "night" + HOSTILE
            text = json.dumps(info, ensure_ascii=False)
        else:
            continue
        (folder / source.name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three recordings in a folder with such a name, which no test changes."""
    folder = tmp_path_factory.mktemp("hostile") / ("runs" + HOSTILE)
    return [make_recording(folder / like, like) for like in ("metron-ended", "metron-oom", "metron-syscalls")]


def check(text, *what):
    text = COLORS.sub("", text).replace("\r\n", "\n")
    found = CONTROL.search(text)
    assert not found, (what, found[0], text[max(0, found.start() - 60):found.end() + 60])
    return text


FOR_PEOPLE = ["ls {all}", "ls -f summaries {all}", "ls --group-by job {all}", "ls --group-by command {all}",
              "ls -F command,prefix,arguments,system.hostname,output_paths {all}", "report {0}", "report {1}", "report {2}",
              "report --json {1}", "plot {0}", "plot --keys proc_rss_total* {0}", "plot --keys proc_rss* {1}", "plot --keys * {2}",
              "diff {0} {1}", "diff --against {0} {1}", "diff --json {0} {1}", "suggest {all}", "suggest --for slurm {all}",
              "suggest --json {all}", "ls -f json {all}", "ls -f jsonl {all}", "ls -f yaml {all}", "pp {0}", "pp -H {1}",
              "pp {0}/usage.jsonl", "pp -H {0}/events.jsonl", "report {all}", "export --format nothing {0}",
              "ls --filter {all}", "ls {all}/nothing", "report {all}/nothing"]
FOR_PROGRAMS = ["ls -f csv {all}", "ls -f csv -F command,arguments {all}", "export --format csv {1}",
                "export --format perfetto {1}", "export --format prometheus {1}", "export --format nextflow {1}",
                "export --format snakemake {1}"]


def filled(line, runs):
    paths = {"{all}": runs[0].parent, **{"{%d}" % i: run for i, run in enumerate(runs)}}
    words = line.split()
    for name, path in paths.items():
        words = [word.replace(name, str(path)) for word in words]
    return words


@pytest.mark.parametrize("line", FOR_PEOPLE)
def test_no_control_character_goes_to_people(run_metron, runs, line):
    run = run_metron.metron(filled(line, runs), env={"COLUMNS": "150"})
    assert run.stdout or run.stderr
    check(run.stdout.decode(), line, "stdout")
    check(run.stderr.decode(), line, "stderr")


@pytest.mark.parametrize("line", FOR_PEOPLE + FOR_PROGRAMS)
def test_no_control_character_goes_to_a_terminal(run_metron, runs, open_terminal, line):
    screen = open_terminal([run_metron.binary, *filled(line, runs)], run_metron.cwd, run_metron.environment(), columns=150)
    screen.finish()
    assert check(screen.seen.decode(), line).strip()


def test_csv_in_a_pipe_is_as_it_is_recorded(run_metron, runs):
    run = run_metron.metron(["ls", "-f", "csv", "-F", "job", str(runs[0])])
    rows = list(csv.reader(io.StringIO(run.stdout.decode(), newline="")))
    assert rows == [["job"], ["night" + HOSTILE]], run


def test_json_has_the_same_text_as_the_recording(run_metron, runs):
    run = run_metron.metron(["ls", "--json", str(runs[0])])
    assert json.loads(run.stdout)[0]["job"] == "night" + HOSTILE


def test_no_control_character_is_in_a_picture(run_metron, runs):
    run = run_metron.metron(["plot", "-o", "plot.svg", str(runs[0])])
    if run.returncode and b"metron-plot" in run.stderr:
        pytest.skip("this build draws no pictures")
    assert run.returncode == 0, run
    check((run_metron.cwd / "plot.svg").read_text(), "svg")


# ---- a daemon whose answers have such texts ----

PART = {"job_id": "night" + HOSTILE, "name": "night" + HOSTILE, "status": "running" + HOSTILE, "started_at": 1.0,
        "workspace": HOSTILE, "config_hash": HOSTILE, "sheets": [{"sheet_num": 1, "status": "x" + HOSTILE}]}
EVENT = {"timestamp": 1.0, "event_type": "exit" + HOSTILE, "event": "exit" + HOSTILE, "pid": 7, "job_id": "night" + HOSTILE,
         "command": "sh" + HOSTILE, "sender": HOSTILE}
ANSWERS = {"job.report": {"report": "Job night" + HOSTILE + "\n\tsecond line\n"}, "job.profile": PART,
           "job.list": [PART], "daemon.events": {"events": [EVENT]},
           "daemon.status": {"version": HOSTILE, "status": HOSTILE, "processes_seen_by": HOSTILE, "seen_by": HOSTILE}}


@pytest.fixture
def daemon(run_metron):
    """Its socket. It answers all that is asked, in JSON with every character that JSON lets stand."""
    path = run_metron.cwd / "s"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def answer(connection):
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                request = json.loads(line)
                message = {"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS[request["method"]]}
                stream.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
                stream.flush()

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            answer(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield path
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(60)


FROM_DAEMON = ["report --job night", "job list", "job show night", "events", "daemon status"]


@pytest.mark.parametrize("line", FROM_DAEMON)
def test_no_control_character_of_a_daemon_goes_to_people(run_metron, daemon, line):
    run = run_metron.metron([*line.split(), "--socket", str(daemon)])
    assert run.returncode == 0 and run.stdout, run
    text = check(run.stdout.decode(), line)
    if line.startswith("report"):
        assert text.splitlines()[1] == "\tsecond line"


@pytest.mark.parametrize("line", [*FROM_DAEMON, *(f"{line} --json" for line in FROM_DAEMON)])
def test_no_control_character_of_a_daemon_goes_to_a_terminal(run_metron, daemon, open_terminal, line):
    screen = open_terminal([run_metron.binary, *line.split(), "--socket", str(daemon)], run_metron.cwd,
                           run_metron.environment(), columns=150)
    assert screen.finish() == 0, screen.seen
    assert check(screen.seen.decode(), line).strip()


def test_json_of_a_daemon_in_a_pipe_is_as_it_came(run_metron, daemon):
    run = run_metron.metron(["job", "show", "night", "--json", "--socket", str(daemon)])
    assert json.loads(run.stdout) == PART
