"""What the readers find in a recording against what Python's json finds in the same files: every field of every
info.json through `metron ls`, every single value of every record through `metron export --format csv`."""

import csv
import datetime
import io
import json
import pathlib

import pytest

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "recordings"
INFOS = sorted(RECORDINGS.glob("*/*info.json"))
TABLES = {"syscalls.by_call"}
ALIASES = {"status", "prefix", "wall", "cpu_seconds", "peak_memory", "processes"}


def name_of(path):
    return f"{path.parent.name}/{path.name}"


def flatten(info):
    """The fields as docs/schema.md has them."""
    fields = {}

    def walk(value, path):
        if isinstance(value, dict) and path not in TABLES:
            for key, inner in value.items():
                walk(inner, f"{path}.{key}")
        elif value is not None:
            fields[path] = value

    for key, value in info.items():
        if key == "provenance":
            value = {name: inner for name, inner in value.items() if name != "measurements"}
        if key == "execution_summary":
            fields.update({name: inner for name, inner in value.items() if inner is not None})
        else:
            walk(value, "peak_memory_methods" if key == "peak_memory" else key)
    return {name: value for name, value in fields.items() if name not in ALIASES}


@pytest.mark.parametrize("path", INFOS, ids=name_of)
def test_every_field_is_found(run_metron, path):
    expected = flatten(json.loads(path.read_text(encoding="utf-8")))
    listed = run_metron.metron(["ls", "-f", "json", "-F", ",".join(expected), str(path)])
    assert listed.returncode == 0, listed.stderr
    (found,) = json.loads(listed.stdout)
    notes = {key for key in found if key.endswith("_note") and key not in expected}
    assert {key: value for key, value in found.items() if key not in notes} == expected
    assert not notes or "duct_version" in expected, "only con-duct's fields have something to be known about them"


def unix_seconds(stamp):
    return datetime.datetime.fromisoformat(stamp).timestamp()


def singles_of_metron(line, scopes):
    return {key: value for key, value in line["measurements"].items()
            if scopes.get(key, "single") == "single"}


def singles_of_duct(line):
    return {f"{group}_{key}": value for word, group in (("totals", "total"), ("averages", "average"))
            for key, value in line[word].items() if key != "num_samples"}


@pytest.mark.parametrize("path", INFOS, ids=name_of)
def test_every_single_value_is_found(run_metron, path):
    info = json.loads(path.read_text(encoding="utf-8"))
    prefix = str(path)[:-len("info.json")]
    usage = next(file for file in (pathlib.Path(prefix + "usage.jsonl"), pathlib.Path(prefix + "usage.json"))
                 if file.exists())
    lines = [json.loads(line) for line in usage.read_text(encoding="utf-8").splitlines()]
    scopes = {key: entry["scope"] for key, entry in info.get("provenance", {}).get("measurements", {}).items()}

    exported = run_metron.metron(["export", "--format", "csv", str(path)])
    assert exported.returncode == 0, exported.stderr
    rows = list(csv.DictReader(io.StringIO(exported.stdout.decode())))
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines):
        is_duct = "duct_version" in info
        singles = singles_of_duct(line) if is_duct else singles_of_metron(line, scopes)
        found = {key: cell if isinstance(singles.get(key), str) else json.loads(cell) for key, cell in row.items()
                 if cell and key not in ("elapsed", "timestamp", "num_samples", "total_pcpu_rate")}
        assert found == singles
        assert int(row["num_samples"]) == line["num_samples"]
        assert unix_seconds(row["timestamp"]) == pytest.approx(unix_seconds(line["timestamp"]), abs=2e-6)
        start = info["execution_summary"]["start_time"] if is_duct else None
        elapsed = unix_seconds(line["timestamp"]) - start if is_duct else line["elapsed"]
        assert float(row["elapsed"]) == pytest.approx(elapsed, abs=2e-6)


@pytest.mark.parametrize("name", ["info.json", "usage.jsonl", "events.jsonl", "stdout", "stderr", ""])
def test_a_moved_run_is_read_where_it_lies_now(run_metron, tmp_path, name):
    """output_paths still names the folder it was recorded in."""
    for file in (RECORDINGS / "metron-ranks").glob("rank1_*"):
        (tmp_path / f"moved_{file.name}").write_bytes(file.read_bytes())
    prefix = tmp_path / "moved_rank1_"
    listed = run_metron.metron(["ls", "-f", "json", "-F", "prefix,output_paths.prefix", f"{prefix}{name}"])
    assert listed.returncode == 0, listed.stderr
    (found,) = json.loads(listed.stdout)
    assert found["prefix"] == str(prefix)
    assert found["output_paths.prefix"] == "metron-ranks/rank1_"
    assert len(run_metron.metron(["export", str(prefix)]).stdout.splitlines()) == 4


def test_a_run_of_somebody_else_is_named(run_as_user):
    path = run_as_user.cwd / "info.json"
    path.write_bytes((RECORDINGS / "metron-short" / "info.json").read_bytes())
    path.chmod(0)
    exported = run_as_user.metron(["export", str(path)])
    assert exported.returncode == 1
    assert exported.stdout == b""
    assert f"{path}: Permission denied" in exported.stderr.decode()
