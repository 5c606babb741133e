"""Facts are data: the texts `note` and `cause` are for people, and no reader decides anything by them. Recordings whose
texts are all reworded are shown as before, but for those texts."""

import codecs
import json
import pathlib

import pytest

from support.made_runs import MIB, RECORDINGS, make_run

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema" / "info.schema.json"

LARGEST = {"bound": "lower", "note": "largest single process; several may have held more at once"}
SHARED = {"bound": "upper", "note": "upper bound of what was sampled: shared pages are counted once per process"}
UNSEEN = {"bound": "lower", "note": "not conserved: what ended unseen and was not inherited is missing"}
OWN_LIMIT = {"limit_of": "own", "limit_bytes": 64 * MIB, "oom_kills": 1}

# name: exit code, signal, outcome, cause, what to know about the peak, what to know about the CPU
RUNS = {
    "ended": (0, None, {"kind": "exited"}, "exited with code 0", {"bound": "exact"}, {"bound": "exact"}),
    "largest": (0, None, {"kind": "exited"}, "exited with code 0", LARGEST, UNSEEN),
    "shared": (0, None, {"kind": "exited"}, "exited with code 0", SHARED, {"bound": "exact"}),
    "failed": (3, None, {"kind": "exited"}, "exited with code 3", {"bound": "exact"}, {"bound": "exact"}),
    "killed": (137, 9, {"kind": "signaled", "sender": {"pid": 7104, "command": "kill"}},
               "killed by SIGKILL, sent by kill (pid 7104)", {"bound": "exact"}, {"bound": "exact"}),
    "too-late": (3, None, {"kind": "exited", "ended_by_metron": True}, "exited with code 3, ended through metron",
                 {"bound": "exact"}, {"bound": "exact"}),
    "oom": (137, 9, {"kind": "oom", "oom_victim": "command", **OWN_LIMIT},
            "killed by the OOM killer at its own limit of 64 MiB", LARGEST, {"bound": "exact"}),
    "oom-child": (1, None, {"kind": "exited", "oom_victim": "processes", **OWN_LIMIT},
                  "exited with code 1; the OOM killer killed 1 of its processes at its own limit of 64 MiB",
                  {"bound": "exact"}, {"bound": "exact"}),
    "oom-group": (0, None, {"kind": "exited", "oom_victim": "group", "oom_kills": 1},
                  "exited with code 0; the OOM killer killed 1 in its group; whose limit it was cannot be seen from here",
                  {"bound": "exact"}, {"bound": "exact"}),
    "oom-host": (137, 9, {"kind": "oom", "oom_victim": "command", "oom_kills": 1, "limit_of": "host"},
                 "killed by the OOM killer: the host was out of memory", {"bound": "exact"}, {"bound": "exact"}),
    "refused": (137, None, {"kind": "still_running", "not_permitted": True},
                "still runs: metron was not permitted to end it", {"bound": "exact"}, {"bound": "exact"}),
}

COMMANDS = [
    ["ls", "."], ["ls", "-f", "json", "."], ["ls", "-f", "summaries", "."],
    ["ls", "-f", "json", "-F", "prefix,cause,exit_code,cpu_seconds,peak_memory,processes,outcome.kind", "."],
    ["suggest", "."], ["suggest", "--json", "."],
] + [command for name in RUNS for command in (["report", f"{name}_"], ["report", "--json", f"{name}_"],
                                              ["diff", "--json", "ended_", f"{name}_"])]


def make_runs(folder):
    for i, (name, (code, signal, outcome, cause, peak, cpu)) in enumerate(RUNS.items()):
        summary = {"exit_code": code, "cause": cause, "wall_clock_time": 3590 if name == "too-late" else 10 + i}
        if signal:
            summary["signal"] = signal
            outcome = {**outcome, "signal": signal}
        stall = {"share": 0.5, "source": "psi_ave_cpu_some_pct", "of": "machine", "note": "of the whole machine"}
        path = make_run(folder / f"{name}_", summary=summary, env={"SLURM_TIMELIMIT": "60"} if name == "too-late" else None,
                        top={"schema_version": "1.1", "outcome": {**outcome, "exit_code": code},
                             **({"stall": {"cpu": stall}} if i % 2 else {})})
        info = json.loads(path.read_text())
        info["peak_memory"] = [{**method, "bound": "exact"} for method in info["peak_memory"]]
        for stalled in info["stall"].values():
            stalled.setdefault("of", "run")
        head = info["headline"]
        head["cpu_seconds"] = {"value": 20 + i, "source": "proc_cpu_seconds", **cpu}
        head["peak_memory_bytes"] = {"value": (50 + i) * MIB, "source": "proc_peak_rss_total" if peak is SHARED
                                     else "proc_hwm_max", **peak}
        head["processes"] = {"value": 3, "source": "proc_spawned", "bound": "lower", "note": "lower bound"}
        path.write_text(json.dumps(info))


def reword(value):
    """Every note and cause in other letters, of the same length: what is laid out in columns stays in its place."""
    for key, inner in value.items():
        if key in ("note", "cause") and isinstance(inner, str):
            value[key] = codecs.encode(inner, "rot13")
        elif isinstance(inner, dict):
            reword(inner)


def reword_all(folder):
    for path in folder.glob("*info.json"):
        info = json.loads(path.read_text())
        reword(info)
        path.write_text(json.dumps(info))


def outputs(run_metron, folder, commands):
    found = {}
    for command in commands:
        done = run_metron.metron(command, cwd=folder, env={"COLUMNS": "200"})
        found[" ".join(command)] = (done.returncode, done.stdout.decode(), done.stderr.decode())
        assert done.returncode == 0, done.stderr
    return found


def first_difference(before, after):
    """Where they differ by more than the letters of a text that was reworded; None: nowhere."""
    for i, (old, new) in enumerate(zip(before, after)):
        if new not in (old, codecs.encode(old, "rot13")):
            return before[max(0, i - 80):i + 40], after[max(0, i - 80):i + 40]
    return None if len(before) == len(after) else (before[len(after) - 40:], after[len(before) - 40:])


def assert_same_but_for_the_texts(before, after):
    for command, (code, text, errors) in before.items():
        assert after[command][0] == code and after[command][2] == errors
        assert first_difference(text, after[command][1]) is None, command
    assert any(text != after[command][1] for command, (_, text, _) in before.items()), "something was reworded"


def test_no_reader_goes_by_a_note_or_a_cause(run_metron, tmp_path):
    make_runs(tmp_path)
    before = outputs(run_metron, tmp_path, COMMANDS)
    listed = {pathlib.Path(row["prefix"]).name[:-1]: row for row in json.loads(before[" ".join(COMMANDS[3])][1])}
    assert {name: row["outcome.kind"] for name, row in listed.items()} == {
        name: run[2]["kind"] for name, run in RUNS.items()}
    reword_all(tmp_path)
    assert_same_but_for_the_texts(before, outputs(run_metron, tmp_path, COMMANDS))


def test_the_made_runs_are_of_the_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (python3-jsonschema) is missing")
    schema = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    make_runs(tmp_path)
    for path in tmp_path.glob("*info.json"):
        schema.validate(json.loads(path.read_text()))


def test_what_metron_records_is_read_without_its_texts(run_metron):
    runs = [run_metron(f"--fail-time 0 --cgroup {group}", ["sh", "-c", command], prefix=f"run{i}_")
            for i, (group, command) in enumerate([("auto", "exit 0"), ("off", "sleep 0.2 & sleep 0.2; exit 3"),
                                                  ("off", "kill -9 $$")])]
    assert [run.info["outcome"]["kind"] for run in runs] == ["exited", "exited", "signaled"]
    assert [run.info["outcome"]["exit_code"] for run in runs] == [0, 3, 137]
    assert runs[2].info["outcome"]["signal"] == 9
    assert all("bound" in answer for run in runs for answer in run.info["headline"].values())
    commands = [["ls", "."], ["ls", "-f", "json", "."], ["ls", "-f", "summaries", "."], ["suggest", "."],
                ["report", "run1_"], ["report", "run2_"], ["diff", "--json", "run0_", "run1_"]]
    folder = runs[0].path("info.json").parent
    before = outputs(run_metron, folder, commands)
    reword_all(folder)
    assert_same_but_for_the_texts(before, outputs(run_metron, folder, commands))


@pytest.mark.parametrize("name, facts", [
    ("metron-ended", {"outcome.kind": "exited"}),
    ("metron-killed", {"outcome.kind": "signaled", "outcome.sender.command": "kill"}),
    ("metron-oom", {"outcome.kind": "exited", "outcome.oom_victim": "processes", "outcome.limit_of": "own"}),
])
def test_a_recording_of_schema_1_0_has_the_same_facts(run_metron, name, facts):
    """It has none of its own: they are made of its texts, once, when it is read."""
    listed = run_metron.metron(["ls", "-f", "json", "-F", "outcome.kind,outcome.oom_victim,outcome.limit_of,"
                                "outcome.sender.command", str(RECORDINGS / name)])
    (row,) = json.loads(listed.stdout)
    assert row == facts
