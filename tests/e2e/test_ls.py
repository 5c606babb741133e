"""metron ls: recorded runs as a table and for programs, chosen by a filter.

The golden screens are made from tests/fixtures/recordings; METRON_UPDATE_GOLDEN=1 makes them anew, to be looked at.
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from support.made_runs import make_run
from support.processes import state, wait_until
from support.records import check_no_null, strict_json, strict_lines, total, whole_lines
from support.users import ANOTHER_USER

TESTS = pathlib.Path(__file__).resolve().parents[1]
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "ls"
NAMES = ["metron-ended", "metron-killed", "metron-oom", "metron-lost", "metron-short", "metron-one-point",
         "metron-syscalls", "metron-ranks", "duct-0.2.2", "duct-jsonl", "duct-failed"]

TRACED = {"ASAN_OPTIONS": "detect_leaks=0"}  # the search for leaks cannot be traced


def ls(runner, *args, columns=None, **kwargs):
    env = {"TZ": "UTC", **({"COLUMNS": str(columns)} if columns else {})}
    return runner.metron(["ls", *map(str, args)], env=env, **kwargs)


def listed(runner, *args, code=0):
    run = ls(runner, "--json", *args)
    assert run.returncode == code, run
    value = strict_json(run.stdout)
    check_no_null(value, "ls --json")
    return value


@pytest.fixture
def recordings(run_metron):
    """Copies of the fixtures, in the working folder: names of files are then short and the same everywhere."""
    for name in NAMES:
        shutil.copytree(RECORDINGS / name, run_metron.cwd / "runs" / name)
    return run_metron.cwd / "runs"


def info_files(folder):
    return sorted(folder.rglob("*info.json"))


def infos(folder):
    """By their prefix, as Python reads them: (info, execution_summary)."""
    result = {}
    for path in info_files(folder):
        info = json.loads(path.read_bytes())
        result[str(path)[:-len("info.json")]] = (info, info.get("execution_summary", {}))
    return result


# -- Screens --

SCREENS = {
    "all": ["runs"],
    "metron": ["runs/metron-ended", "runs/metron-killed", "runs/metron-lost"],
    "duct": ["runs/duct-0.2.2", "runs/duct-failed", "runs/duct-jsonl"],
    "fields": ["-F", "command,peak_memory,proc_peak_rss_total,system.hostname,peak_pcpu", "--sort", "peak_memory",
               "runs"],
    "group": ["--group-by", "job", "runs"],
    "summaries": ["-f", "summaries", "runs/metron-ended", "runs/metron-lost", "runs/duct-0.2.2",
                  "runs/metron-syscalls"],
}


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("colors", ["never", "always"])
def test_screen_is_the_one_that_was_looked_at(run_metron, recordings, name, columns, colors):
    run = ls(run_metron, "--colors", colors, *SCREENS[name], columns=columns)
    assert run.returncode == 0 and run.stderr == b""
    text = run.stdout.decode()
    path = GOLDEN / f"{name}-{columns}{'-color' if colors == 'always' else ''}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("columns", [30, 50, 80, 100, 110, 140, 200])
@pytest.mark.parametrize("args", [[], ["--group-by", "job"], ["--group-by", "command"],
                                  ["-F", "command,peak_memory,peak_memory_source,start_time"]])
def test_table_fits_the_screen(run_metron, recordings, columns, args):
    text = ls(run_metron, *args, "runs", columns=columns).stdout.decode()
    assert max(map(len, text.splitlines())) <= columns
    assert not re.search(r" +$", text, re.M)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_command_keeps_its_script_and_a_run_its_prefix(run_metron, columns):
    for i, command in enumerate(["python3 train.py --epochs 3 --learning-rate 0.001 --batch-size 64",
                                 "sh -c 'for i in 1 2 3; do sleep 1; done; echo this is done'"]):
        info = json.loads((RECORDINGS / "metron-ended" / "info.json").read_bytes())
        info["command"] = info["execution_summary"]["command"] = command
        folder = run_metron.cwd / ".metron" / "logs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"2026.11.15T18.10.59-{i}6222_info.json").write_text(json.dumps(info))
    text = ls(run_metron, columns=columns).stdout.decode()
    assert "python3 train.py --epoc" in text
    assert (".metron/logs/2026.11.15T18.10.59-16222_ " in text) == (columns == 120)
    assert bool(re.search(r"^no room for .*\bRUN$", text, re.M)) == (columns == 80)
    pasted = re.search(r"\.metron/logs/\S+_ ", ls(run_metron).stdout.decode())[0].strip()
    assert run_metron.metron(["report", pasted]).returncode == 0


def test_an_oom_kill_is_seen(run_metron, recordings):
    assert re.search(r" 137 oom  ", ls(run_metron, "runs/metron-oom").stdout.decode())
    assert " oom" not in ls(run_metron, "runs/metron-killed").stdout.decode()
    assert "137 ×3, oom ×1" in ls(run_metron, "--group-by", "job", "runs").stdout.decode()
    colored = ls(run_metron, "--colors", "always", "runs/metron-oom").stdout.decode()
    assert "\x1b[31m137 oom\x1b[0m" in colored


def test_an_option_that_would_hide_the_first_is_refused(run_metron, recordings):
    run = ls(run_metron, "--filter", "wall > 1", "--filter", "wall < 2", "runs")
    assert run.returncode == 2 and "--filter was given twice; join them with 'and'" in run.message


def test_a_file_that_is_no_recording_is_called_so(run_metron):
    run = ls(run_metron, "/etc/passwd")
    assert run.returncode == 1 and "no recording of metron or con-duct" in run.message


@pytest.mark.parametrize("command", ["report", "plot", "export"])
def test_without_a_run_the_newest_is_taken_and_named(run_metron, command):
    folder = run_metron.cwd / ".metron" / "logs"
    none = run_metron.metron([command])
    assert none.returncode == 1 and none.stdout == b"" and "which run?" in none.message
    for name, source in (("z_", "metron-short"), ("m_", "metron-killed"), ("a_", "metron-ended")):
        folder.mkdir(parents=True, exist_ok=True)
        for path in (RECORDINGS / source).iterdir():
            shutil.copy(path, folder / f"{name}{path.name}")
    (folder / "bad_info.json").write_text("{")
    run = run_metron.metron([command])
    assert run.returncode == 0
    assert "the newest run is taken: .metron/logs/m_\n" in run.stderr.decode()
    assert "1 of 4 runs" in run.message, "what could not be read is told"
    named = run_metron.metron([command, ".metron/logs/m_"])
    assert named.stdout == run.stdout and named.stderr == b""
    assert run_metron.metron([command, "a", "b"]).returncode == 2


def test_a_pipe_gets_whole_commands(run_metron, recordings):
    text = ls(run_metron, "runs").stdout.decode()
    assert "python3 -c 'x = bytearray(1 << 25); import time; time.sleep(0.2)'" in text
    assert "…" not in text and "\x1b" not in text


def test_on_a_terminal_it_is_as_wide_as_that_and_coloured(run_metron, recordings, open_terminal):
    terminal = open_terminal([run_metron.binary, "ls", "runs"], run_metron.cwd,
                             run_metron.environment({"TZ": "UTC", "TERM": "xterm"}), columns=90)
    assert terminal.finish() == 0
    terminal.expect("no room for PROCS")
    lines = re.sub(rb"\x1b\[[0-9;]*m", b"", terminal.seen).decode().splitlines()
    assert max(map(len, lines)) <= 90 and any(len(line) > 80 for line in lines)
    assert b"\x1b[32m0\x1b[0m" in terminal.seen and b"\x1b[35mlost\x1b[0m" in terminal.seen


# -- For programs --

FIELDS = ("exit_code", "wall_clock_time", "proc_peak_rss_total", "proc_ave_rss_total", "peak_rss", "average_rss",
          "peak_pcpu", "start_time", "end_time", "num_samples", "command", "cause", "job", "system.hostname",
          "system.memory_total", "provenance.cpu_is_conserved", "arguments", "env.SLURM_JOB_ID", "stall.cpu.share")


def expected_field(info, summary, name):
    """The field as Python finds it in info.json; None: it is not there."""
    if name in summary:
        return summary[name]
    value = info
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def expected_rows(folder):
    rows = {}
    for prefix, (info, summary) in infos(folder).items():
        row = {name: expected_field(info, summary, name) for name in FIELDS}
        rows[prefix] = {name: value for name, value in row.items() if value is not None}
    return rows


def without_methods(row):
    return {key: value for key, value in row.items() if not key.endswith(("_source", "_note", "_bound"))}


def test_json_has_every_field_exactly(run_metron, recordings):
    rows = listed(run_metron, "-F", ",".join(("prefix",) + FIELDS), recordings)
    assert {row.pop("prefix"): without_methods(row) for row in rows} == expected_rows(recordings)


def test_jsonl_and_yaml_are_the_same_rows(run_metron, recordings):
    fields = ",".join(("prefix",) + FIELDS)
    rows = listed(run_metron, "-F", fields, recordings)
    lines = ls(run_metron, "-f", "jsonl", "-F", fields, recordings)
    assert strict_lines(lines.stdout) == rows
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(ls(run_metron, "-f", "yaml", "-F", fields, recordings).stdout) == rows


def test_csv_is_the_same_rows(run_metron, recordings):
    fields = ",".join(("prefix",) + FIELDS)
    text = ls(run_metron, "-f", "csv", "-F", fields, recordings).stdout.decode()
    assert text.endswith("\n") and "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    for row, expected in zip(rows, listed(run_metron, "-F", fields, recordings), strict=True):
        for name, value in row.items():
            want = expected.get(name)
            if want is None:
                assert value == "", name
            elif isinstance(want, (bool, list, dict)):
                assert json.loads(value) == want
            elif isinstance(want, (int, float)):
                assert float(value) == want
            else:
                assert value == want


def test_usual_fields_have_their_sources(run_metron, recordings):
    rows = {row["prefix"]: row for row in listed(run_metron, recordings)}
    for prefix, (info, summary) in infos(recordings).items():
        row = rows[prefix]
        assert row["command"] == info["command"]
        assert row["status"] == ("lost" if info.get("status") == "running" else "ended")
        if "headline" in info:
            for name, key in (("cpu_seconds", "cpu_seconds"), ("peak_memory", "peak_memory_bytes"),
                              ("processes", "processes")):
                answer = info["headline"][key]
                assert row[name] == answer["value"] and row[f"{name}_source"] == answer["source"]
                assert row.get(f"{name}_note") == answer.get("note")
        elif "duct_version" in info:
            assert row["peak_memory"] == summary["peak_rss"] and row["peak_memory_source"] == "peak_rss"
            assert row["peak_memory_note"] and row["peak_memory_bound"] in ("upper", "estimate")
            assert "cpu_seconds" not in row and "processes" not in row
        assert row.get("wall") == summary.get("wall_clock_time")


HOSTILE = "a\u0000b\n\t\"'\\ : - # é 日本 \U0001f600 \u007f\u0085\u2028\ufeff\u001b[31m" + "x" * 100000


def test_any_text_comes_through_every_format(run_metron):
    source = json.loads((RECORDINGS / "metron-ended" / "info.json").read_bytes())
    source["command"] = source["execution_summary"]["command"] = HOSTILE
    (run_metron.cwd / "h_info.json").write_text(json.dumps(source))
    expected = HOSTILE.replace("\0", "\ufffd")
    assert listed(run_metron, "h_")[0]["command"] == expected
    text = ls(run_metron, "-f", "csv", "h_").stdout.decode()
    assert next(csv.DictReader(io.StringIO(text, newline="")))["command"] == expected
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load(ls(run_metron, "-f", "yaml", "h_").stdout)[0]["command"] == expected
    for style in ("table", "summaries"):
        shown = ls(run_metron, "-f", style, "h_", columns=80).stdout
        assert len(shown) < 5000 and not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", shown)


# -- Order, groups, filters --

def test_order_is_by_start_or_by_a_field_with_the_absent_last(run_metron, recordings):
    def walls(*args):
        return [row.get("wall") for row in listed(run_metron, "-F", "wall,prefix", *args, recordings)]

    assert [row["start_time"] for row in listed(run_metron, "-F", "start_time", recordings / "metron-ranks")] == sorted(
        row["start_time"] for row in listed(run_metron, "-F", "start_time", recordings / "metron-ranks"))
    known = sorted(wall for wall in walls() if wall is not None)
    assert walls("--sort", "wall") == known + [None]
    assert walls("--sort", "wall", "--reverse") == known[::-1] + [None]


def test_numbers_come_before_texts_in_a_field_that_has_both(run_metron):
    for place, value in enumerate(["10", 9, "b", 100, True]):
        make_run(run_metron.cwd / f"mixed{place}_", top={"extra": value})

    def extras(*args):
        return [row["extra"] for row in listed(run_metron, "-F", "extra", "--sort", "extra", *args, ".")]

    assert extras() == [True, 9, 100, "10", "b"]
    assert extras("--reverse") == ["b", "10", 100, 9, True]


def test_groups_are_what_python_computes(run_metron, recordings):
    rows = {row.get("job"): row for row in listed(run_metron, "--group-by", "job", recordings)}
    ranks = [info for info, _ in infos(recordings).values() if info.get("job") == "train"]
    row = rows["train"]
    memory = [info["headline"]["peak_memory_bytes"]["value"] for info in ranks]
    assert row["runs"] == len(ranks) == 3 and row["failed"] == 0
    assert row["sum_cpu_seconds"] == pytest.approx(
        sum(info["headline"]["cpu_seconds"]["value"] for info in ranks), rel=1e-12)
    assert row["max_peak_memory"] == max(memory) and row["sum_peak_memory"] == sum(memory)
    assert row["max_wall"] == max(info["execution_summary"]["wall_clock_time"] for info in ranks)
    assert row["min_start_time"] == min(info["start_time"] for info in ranks)
    others = rows[None]
    assert others["runs"] == len(info_files(recordings)) - 3
    assert others["worst_exit_code"] == 137
    assert others["max_peak_memory_source"].count("+") == 2, "three methods, told"
    assert "runs" in others["sum_cpu_seconds_note"], "not all runs have it"


@pytest.mark.parametrize("text, holds", [
    ("exit_code != 0", lambda info, summary: summary.get("exit_code", 0) != 0),
    ("exit_code == 0 and wall > 2s", lambda info, summary: summary.get("exit_code") == 0
     and summary["wall_clock_time"] > 2),
    ("wall >= 3 s or job == train", lambda info, summary: summary.get("wall_clock_time", 0) >= 3
     or info.get("job") == "train"),
    ("proc_peak_rss_total > 100MiB", lambda info, summary: summary.get("proc_peak_rss_total", 0) > 100 << 20),
    ("not proc_peak_rss_total", lambda info, summary: not summary.get("proc_peak_rss_total")),
    ("command =~ 'simulate\\.py [0-9.]+$'", lambda info, summary: re.search(r"simulate\.py [0-9.]+$",
                                                                            info["command"])),
    ("status == lost", lambda info, summary: info.get("status") == "running"),
    ("duct_version and peak_pcpu > 50%", lambda info, summary: summary.get("peak_pcpu", 0) > 50),
    ("job != train", lambda info, summary: info.get("job", "train") != "train"),
    ("stall.cpu.share > 10%", lambda info, summary: info.get("stall", {}).get("cpu", {}).get("share", 0) > 0.1),
])
def test_filter_keeps_what_python_would_keep(run_metron, recordings, text, holds):
    expected = {prefix for prefix, (info, summary) in infos(recordings).items() if holds(info, summary)}
    rows = listed(run_metron, "--filter", text, recordings)
    assert {row["prefix"] for row in rows} == expected
    assert expected or "!=" in text


@pytest.mark.parametrize("text, column", [
    ("peak_memory > 2 hours", 14), ("wall > 2GiB", 7), ("(job", 0), ("job ==", 6), ("command =~ '('", 11),
    ("exit_code == foo", 13), ("status == done", 10)])
def test_a_bad_filter_is_an_error_with_a_caret_before_any_file_is_opened(run_metron, text, column):
    trace = run_metron.cwd / "trace"
    traced = shutil.which("strace")
    tracer = ["strace", "-f", "-e", "trace=openat,open", "-o", str(trace)] if traced else []
    done = subprocess.run([*tracer, run_metron.binary, "ls", "--filter", text, "no-such-folder"], cwd=run_metron.cwd,
                          env=run_metron.environment(TRACED), capture_output=True, check=False)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2 and done.stdout == b""
    assert len(lines) == 3 and lines[0].startswith("metron: error: --filter: ")
    assert lines[1] == f"  {text}" and lines[2] == " " * (2 + column) + "^"
    assert "no-such-folder" not in done.stderr.decode()
    if tracer and trace.exists():
        assert "no-such-folder" not in trace.read_text()


def test_a_unit_that_only_the_recording_tells_is_an_error_too(run_metron, recordings):
    run = ls(run_metron, "--filter", "proc_peak_rss_total > 3h", recordings)
    assert run.returncode == 2 and run.stdout == b""
    assert "in bytes" in run.message and "^" in run.message


def test_a_field_that_no_run_has_is_an_error_that_names_the_nearest(run_metron, recordings):
    run = ls(run_metron, "--filter", "proc_peak_rss_totl > 1 or proc_peak_rss_totl < 1", recordings)
    assert run.returncode == 1 and run.message.count("has the field 'proc_peak_rss_totl'") == 1
    assert "proc_peak_rss_total" in run.message
    run = ls(run_metron, "-F", "peak_memory,pek_memory", recordings)
    assert "did you mean 'peak_memory'" in run.message
    assert "field 'peak_memory'" not in run.message and run.returncode == 1 and run.stdout
    run = ls(run_metron, "--sort", "comand", recordings)
    assert run.returncode == 1 and run.message.count("'command'") == 1
    assert ls(run_metron, "--group-by", "jobb", recordings).returncode == 1


def test_a_field_of_the_schema_that_no_run_here_has_is_no_slip(run_metron, recordings):
    run = ls(run_metron, "--filter", "job == train", "runs/metron-ended")
    assert run.returncode == 0 and "no run here has the field 'job'" in run.message
    assert ls(run_metron, "-F", "wall_bound", "runs/metron-ended").returncode == 0
    # Only the numbers of the headline have such parts.
    assert ls(run_metron, "-F", "job_bound", "runs/metron-ended").returncode == 1


def test_what_goes_with_a_number_is_a_field(run_metron, recordings):
    everything = {row["prefix"]: row for row in listed(run_metron, recordings)}
    parts = [f"{name}_{part}" for name in ("peak_memory", "cpu_seconds", "wall", "processes")
             for part in ("source", "note", "bound")]
    named = {row["prefix"]: row for row in listed(run_metron, "-F", ",".join(["prefix", *parts[:4]]), recordings)}
    for prefix, row in named.items():
        assert row == {key: everything[prefix][key] for key in ["prefix", *parts[:4]] if key in everything[prefix]}
    kept = listed(run_metron, "--filter", "peak_memory_source =~ '^smaps' and not peak_memory_bound", recordings)
    assert {row["prefix"] for row in kept} == {prefix for prefix, row in everything.items()
                                               if row.get("peak_memory_source", "").startswith("smaps")
                                               and "peak_memory_bound" not in row}
    shown = ls(run_metron, "-f", "summaries", "--filter", "peak_memory_source == peak_rss", recordings)
    assert shown.stdout.decode().count("con-duct: ") == 3 and shown.stdout.decode().count("metron: ") == 0
    groups = listed(run_metron, "--group-by", "peak_memory_source", recordings)
    assert len(groups) == len({row.get("peak_memory_source") for row in everything.values()})
    assert ls(run_metron, "--filter", "peak_memory_bound == upward", recordings).returncode == 2
    both = strict_json(ls(run_metron, "--json", "-F", "peak_memory_source,peak_memory", recordings).stdout)
    assert [row.get("peak_memory_source") for row in both] == [row.get("peak_memory_source")
                                                              for row in listed(run_metron, recordings)]


def test_a_field_that_is_named_twice_is_told_once(run_metron, recordings):
    run = ls(run_metron, "-f", "jsonl", "-F", "exit_code,command,exit_code", "runs/metron-ended")
    assert run.stdout == b'{"exit_code": 0, "command": "python3 simulate.py 4.5"}\n'


# -- What is there and what is not --

def test_without_a_path_it_lists_the_standard_folder(run_metron):
    run_metron("-q", "true", prefix=None, check=False)
    run_metron("-q", ["sh", "-c", "exit 3"], prefix=None, check=False)
    rows = listed(run_metron)
    assert [row["exit_code"] for row in rows] == [0, 3]
    assert rows[0]["prefix"].startswith(".metron/logs/")


def test_no_runs_is_no_error_and_says_what_to_do(run_metron):
    run = ls(run_metron)
    assert run.returncode == 0 and run.stdout == b""
    assert "metron run" in run.message
    assert strict_json(ls(run_metron, "--json").stdout) == []


def test_a_path_that_is_not_there_is_an_error_and_the_rest_is_shown(run_metron, recordings):
    run = ls(run_metron, "--json", "nothing", recordings / "metron-ended")
    assert run.returncode == 1 and "nothing" in run.message
    assert len(strict_json(run.stdout)) == 1
    assert ls(run_metron, "nothing*").returncode == 1


@pytest.mark.parametrize("path", ["runs/metron-ended", "runs/metron-ended/", "runs/metron-ended/info.json",
                                  "runs/metron-ended/usage.jsonl", "runs/metron-en*", "runs/metron-ended/*"])
def test_a_run_is_named_by_its_folder_a_file_or_a_glob(run_metron, recordings, path):
    assert [row["command"] for row in listed(run_metron, path)] == ["python3 simulate.py 4.5"]


def test_several_paths_of_one_run_list_it_once(run_metron, recordings):
    assert len(listed(run_metron, "runs/metron-ended", "runs/metron-ended/", "runs/metron-ended/*")) == 1


BAD = {
    "empty": (b"", "empty"),
    "cut": ((RECORDINGS / "metron-ended" / "info.json").read_bytes()[:3000], "damaged"),
    "binary": (bytes(range(256)) * 20, "no recording of metron or con-duct"),
    "foreign": (b'{"name": "a", "version": 3}', "no recording"),
    "list": (b"[1, 2]", "no recording of metron or con-duct"),
    "newer": ((RECORDINGS / "metron-ended" / "info.json").read_bytes().replace(
        b'"schema_version": "1', b'"schema_version": "9'), "schema 9"),
    "deep": (b'{"a": ' * 100000, "damaged"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_and_the_rest_is_shown(run_metron, recordings, name):
    content, word = BAD[name]
    (recordings / f"{name}_info.json").write_bytes(content)
    run = ls(run_metron, "--json", "runs")
    assert run.returncode == 1
    assert len(strict_json(run.stdout)) == len(info_files(recordings)) - 1
    assert f"{name}_info.json" in run.message and word in run.message
    assert len(run.message.splitlines()) == 1


def test_what_is_no_file_is_named_and_nothing_hangs(run_metron, recordings):
    os.mkfifo(recordings / "pipe_info.json")
    (recordings / "link_info.json").symlink_to("nowhere")
    (recordings / "loop").symlink_to(recordings)
    (recordings / "huge_info.json").touch()
    os.truncate(recordings / "huge_info.json", 1 << 30)
    run = ls(run_metron, "--json", "runs")
    assert run.returncode == 1 and len(run.message.splitlines()) == 3
    for name in ("pipe", "link", "huge"):
        assert f"{name}_info.json" in run.message
    assert len(strict_json(run.stdout)) == len(infos_of(run_metron))


def infos_of(runner):
    """Files that are recordings, in the working folder."""
    return [path for path in (runner.cwd / "runs").rglob("*info.json")
            if path.is_file() and path.stat().st_size < 1 << 20]


def test_what_may_not_be_read_is_named(run_as_user):
    for name in ("a", "b", "c"):
        shutil.copytree(RECORDINGS / "metron-ended", run_as_user.cwd / name)
        for path in [run_as_user.cwd / name, *(run_as_user.cwd / name).iterdir()]:
            os.chmod(path, 0o755)
            if os.getuid() == 0:
                os.chown(path, ANOTHER_USER, ANOTHER_USER)
    (run_as_user.cwd / "b" / "info.json").chmod(0)
    (run_as_user.cwd / "c").chmod(0)
    run = ls(run_as_user, "--json", ".")
    (run_as_user.cwd / "c").chmod(0o755)
    assert run.returncode == 1 and len(strict_json(run.stdout)) == 1
    assert "'./c': Permission denied" in run.message and "./b/info.json: Permission denied" in run.message


def test_a_killed_metron_is_lost_and_a_living_one_running(run_metron):
    running = run_metron.start("-q", "sleep 30", prefix="running_")
    killed = run_metron.start("-q", "sleep 30", prefix="killed_")
    for run in (running, killed):
        wait_until(lambda run=run: run.path("info.json").exists() and run.path("info.json").stat().st_size,
                   what="info.json")
    killed.signal(signal.SIGKILL)
    killed.process.wait()
    rows = {row["prefix"]: row for row in listed(run_metron, "running_", "killed_")}
    assert rows["killed_"]["status"] == "lost" and "wall" not in rows["killed_"]
    assert rows["running_"]["status"] == "running" and 0 < rows["running_"]["wall"] < 60
    assert "exit_code" not in rows["running_"]
    text = ls(run_metron, "running_", "killed_").stdout.decode()
    assert re.search(r"\brunning +\d", text) and re.search(r"\blost +-", text)
    running.signal(signal.SIGTERM)
    running.finish(check=False)


def test_a_running_run_has_what_it_used_so_far(run_metron):
    busy = "import time\nx = bytearray(64 << 20)\nwhile time.process_time() < 1: pass\ntime.sleep(60)"
    run = run_metron.start("-q --sample-interval 0.1 --report-interval 0.2", ["/usr/bin/python3", "-c", busy],
                           prefix="running_")

    def row():
        return listed(run_metron, "running_")[0]

    wait_until(lambda: run.path("info.json").exists() and row().get("cpu_seconds", 0) >= 1, what="a second of CPU")
    seen = row()
    assert seen["status"] == "running" and "exit_code" not in seen
    assert "so far" in seen["cpu_seconds_note"] and "so far" in seen["peak_memory_note"]
    assert seen["peak_memory"] >= 64 << 20 and seen["cpu_seconds"] <= 2 * seen["wall"]
    assert "so far" in ls(run_metron, "running_").stdout.decode()
    assert len(listed(run_metron, "--filter", "peak_memory > 50MiB and cpu_seconds < 1min", "running_")) == 1
    run.signal(signal.SIGTERM)
    run.finish(check=False)
    ended = row()
    assert ended["cpu_seconds"] >= seen["cpu_seconds"] and ended["peak_memory"] >= seen["peak_memory"]
    assert "so far" not in ended.get("cpu_seconds_note", "") + ended.get("peak_memory_note", "")


def used(row):
    return {name: row[name] for name in row if re.match("cpu_seconds|peak_memory|processes", name) and
            not name.endswith("_note")}


@pytest.mark.parametrize("args", ["", "--cgroup off"])
def test_a_running_run_shows_what_its_records_say_and_a_killed_one_the_same(run_metron, args):
    """While the command sleeps, every report says the same."""
    busy = "import time\nx = bytearray(64 << 20)\nwhile time.process_time() < 0.5: pass\nprint(1)\ntime.sleep(60)"
    run = run_metron.start(f"-q --sample-interval 0.1 --report-interval 0.2 {args}", ["/usr/bin/python3", "-uc", busy],
                           prefix="run_")

    def info():
        return strict_json(run.path("info.json").read_bytes())

    def records():
        return whole_lines(run.path("usage.jsonl"))

    wait_until(lambda: len([record for record in records() if record["measurements"].get("proc_pdcpu_total") == 0]) > 2,
               what="records of a command that sleeps")
    def headline_of_records():
        """The headline, if it says what the records say: a record is written before the headline that includes it."""
        headline, kept = info()["headline"], records()
        cpu, peak = headline["cpu_seconds"], headline["peak_memory_bytes"]
        key = peak["source"].replace("_peak_", "_")
        agree = (cpu["value"] >= 0.5 and cpu["value"] == pytest.approx(total(kept, cpu["source"]), rel=0.01) and
                 peak["value"] == max(record["measurements"].get(key, 0) for record in kept))
        return headline if agree else None

    def stopped():
        """So that no further record comes between two readings."""
        run.signal(signal.SIGSTOP)
        wait_until(lambda: state(run.pid) == "T", what="metron, stopped")
        headline = headline_of_records()
        if headline is None:
            run.signal(signal.SIGCONT)
        return headline

    headline = wait_until(stopped, what="a headline of the same records")
    cpu, peak = headline["cpu_seconds"], headline["peak_memory_bytes"]
    running = listed(run_metron, "run_")[0]
    assert running["cpu_seconds"] == pytest.approx(cpu["value"], rel=0.01)
    assert running["peak_memory"] == peak["value"] and running["processes"] == headline["processes"]["value"]

    older = {name: value for name, value in info().items() if name != "headline"}
    (run_metron.cwd / "older_info.json").write_text(json.dumps(older), encoding="utf-8")
    shutil.copy(run.path("usage.jsonl"), run_metron.cwd / "older_usage.jsonl")
    made = listed(run_metron, "older_")[0]
    assert made["status"] == "running" and made["cpu_seconds"] == pytest.approx(running["cpu_seconds"], rel=0.01)
    assert (made["peak_memory"], made["peak_memory_source"]) == (peak["value"], peak["source"])

    run.signal(signal.SIGKILL)
    run.process.wait()
    killed = listed(run_metron, "run_")[0]
    assert killed["status"] == "lost" and used(killed) == {**used(running), "cpu_seconds": killed["cpu_seconds"]}
    assert killed["cpu_seconds"] == pytest.approx(running["cpu_seconds"], rel=0.01)
    assert "up to its last record" in killed["cpu_seconds_note"] and "so far" not in killed["peak_memory_note"]


@pytest.fixture
def calls(run_metron):
    """calls(*args) -> the system calls of metron ls, a line each."""
    if not shutil.which("strace"):
        pytest.skip("needs strace")

    def trace(*args):
        path = run_metron.cwd / "trace"
        subprocess.run(["strace", "-f", "-o", str(path), run_metron.binary, "ls", *args], cwd=run_metron.cwd,
                       env=run_metron.environment(TRACED), capture_output=True, check=True)
        return path.read_text().splitlines()

    return trace


def test_of_a_run_that_ended_only_its_info_is_looked_at(recordings, calls):
    named = [line for line in calls("runs/metron-ended") if "metron-ended" in line]
    assert any("info.json" in line for line in named)
    assert not [line for line in named if "usage" in line or "events" in line]


def test_records_of_a_running_run_are_read_only_for_what_it_used(run_metron, calls):
    # No record, and no headline, before it is over.
    run = run_metron.start("-q --sample-interval 60 --report-interval 60", "sleep 60", prefix="running_")
    wait_until(lambda: run.path("info.json").exists() and run.path("usage.jsonl").exists(), what="a run")

    def opened(*args):
        return any("openat" in line and "usage.jsonl" in line for line in calls(*args, "running_"))

    assert opened() and opened("--filter", "peak_memory > 1", "-F", "command")
    assert not opened("-F", "command,status,wall")
    info = strict_json(run.path("info.json").read_bytes())
    info["headline"] = {"cpu_seconds": {"value": 1, "source": "proc_cpu_seconds", "bound": "exact"}}
    run.path("info.json").write_text(json.dumps(info), encoding="utf-8")
    assert not opened(), "its info.json has what it used"
    run.signal(signal.SIGTERM)
    run.finish(check=False)


@pytest.mark.parametrize("args", [["-f", "xml"], ["--json", "-f", "csv"], ["-f", "summaries", "--group-by", "job"],
                                  ["-f", "summaries", "-F", "wall"], ["-F", ",,"], ["--filter", ""], ["--unknown"]])
def test_wrong_usage_is_2(run_metron, args):
    run = ls(run_metron, *args)
    assert run.returncode == 2 and run.stdout == b"" and run.message.startswith("metron: error: ")


def test_a_full_disk_is_an_error(run_metron, recordings):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([run_metron.binary, "ls", "runs"], cwd=run_metron.cwd, stdout=full,
                              stderr=subprocess.PIPE, check=False, env=run_metron.environment())
    assert done.returncode == 1 and b"stdout" in done.stderr


def test_run_whose_name_looks_like_a_glob_is_found_by_that_name(run_metron):
    """As RUN of the table has it, quoted for a shell."""
    for name in ("a[1]_", "a1_", "b*_", "b2_"):
        make_run(run_metron.cwd / name)
    for name in ("a[1]_", "b*_"):
        assert [row["prefix"] for row in listed(run_metron, name)] == [name]
        for words in (["report", name], ["suggest", name], ["export", "--format", "prometheus", name], ["pp", name],
                      ["diff", name, "a1_"], ["diff", "--against", name, "a1_"]):
            run = run_metron.metron(words)
            assert run.returncode == 0 and not run.stderr, (words, run)
    assert len(listed(run_metron, "b[2]_*")) == 1
