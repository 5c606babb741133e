"""Running or lost: of a run on another machine, seen through a shared file system, by its newest record."""

import datetime
import json
import pathlib
import shutil
import socket
import subprocess

import pytest

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "recordings" / "metron-running"


@pytest.fixture
def status_of(programs, tmp_path):
    """status_of(seconds since the newest record, seconds between the last two, host) -> as `metron ls` has it."""

    def look(age, gap=60, host="node17"):
        folder = tmp_path / f"run-{age}-{gap}-{host}"
        shutil.copytree(FIXTURE, folder)
        (info_path,) = folder.glob("*info.json")
        (usage_path,) = folder.glob("*usage.jsonl")
        info = json.loads(info_path.read_text(encoding="utf-8"))
        info["system"]["hostname"] = host
        info_path.write_text(json.dumps(info), encoding="utf-8")
        newest = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age)
        lines = [json.dumps({"timestamp": stamp.isoformat(), "elapsed": 1, "num_samples": 1, "measurements": {}},
                            separators=(",", ":"))
                 for stamp in (newest - datetime.timedelta(seconds=gap), newest)]
        usage_path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out = subprocess.run([programs / "metron", "ls", "--json", folder], check=True, capture_output=True).stdout
        return json.loads(out)[0]["status"]

    return look


def test_records_come_from_another_machine(status_of):
    assert status_of(30) == "running"


def test_no_record_for_long(status_of):
    assert status_of(1200) == "lost"


def test_a_long_interval_asks_for_patience(status_of):
    assert status_of(1200, gap=3600) == "running"
    assert status_of(11000, gap=3600) == "lost"


def test_of_this_machine_before_a_restart(status_of):
    assert status_of(5, host=socket.gethostname()) == "lost"
