"""The files of a run are what docs/schema/*.schema.json say: of every kind of run, checked by jsonschema."""

import copy
import json
import pathlib
import signal
import subprocess

import pytest

from support.processes import wait_until

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema (python3-jsonschema) is missing")

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema"


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


INFO, USAGE, EVENTS = validator("info"), validator("usage"), validator("events")


def check(run):
    INFO.validate(run.info)
    for record in run.usage:
        USAGE.validate(record)
    for event in run.events:
        EVENTS.validate(event)
    return run


def test_ordinary_run(run_metron):
    run = check(run_metron("--sample-interval 0.1 --report-interval 0.2 --job train --sheet 3 -m 'a note'",
                           ["sh", "-c", "sleep 0.3; ls / > /dev/null; exit 0"]))
    assert run.usage and run.events and run.info["sheet"] == 3


def test_everything_measured(run_metron):
    check(run_metron("--sample-interval 0.1 --report-interval 0.2 --measurements all",
                     ["sh", "-c", "sleep 0.3; true"]))


def test_ordinary_user(run_as_user):
    check(run_as_user("--sample-interval 0.1 --report-interval 0.2", ["sh", "-c", "sleep 0.3; true"]))


@pytest.mark.parametrize("events", ["bpf", "connector", "off"])
def test_each_source_of_events(run_metron, events):
    if events != "off":
        run_metron.need_events(events)
    check(run_metron(f"--events {events} --fail-time 0", ["sh", "-c", "sh -c 'kill -TERM $$'; kill -USR1 $$"]))


def test_system_calls(run_metron):
    run = check(run_metron("--syscalls summary", ["ls", "/"]))
    if "method" not in run.info.get("syscalls", {}):
        pytest.skip("system calls cannot be counted here")


@pytest.mark.parametrize("args", ["--duration 0.4", "--duration 0.4 --no-children --measurements all", ""])
def test_attached(run_metron, args):
    target = subprocess.Popen(["sh", "-c", "sleep 0.7; exit 0"], stdin=subprocess.DEVNULL)
    started = run_metron.attach(f"--sample-interval 0.1 --report-interval 0.2 {args}", target.pid)
    INFO.validate(json.loads(started.path("info.json").read_text(encoding="utf-8")))
    run = check(started.finish())
    assert target.wait() == 0
    assert run.usage and run.info["attached"]["roots"][0]["pid"] == target.pid


def test_attached_to_several(run_metron):
    targets = [subprocess.Popen(["sleep", "0.6"], stdin=subprocess.DEVNULL) for _ in range(2)]
    run = check(run_metron.attach("--duration 0.3", [target.pid for target in targets]).finish())
    assert len(run.info["attached"]["roots"]) == 2
    for target in targets:
        target.wait()


def test_survivors(run_metron):
    run = check(run_metron("", ["sh", "-c", "sleep 5 & exit 0"]))
    assert run.info["survivors"]["count"] == 1


def test_running_run(run_metron):
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.2", ["sleep", "60"])
    wait_until(lambda: started.path("usage.jsonl").exists() and started.path("usage.jsonl").stat().st_size,
               what="a record")
    info = json.loads(started.path("info.json").read_text(encoding="utf-8"))
    INFO.validate(info)
    assert info["status"] == "running" and "execution_summary" not in info
    started.signal(signal.SIGTERM)
    check(started.finish())


def test_schemas_refuse_what_is_wrong(run_metron):
    """Else they would prove nothing."""
    run = run_metron("--sample-interval 0.1 --report-interval 0.2", ["sleep", "0.3"])

    def refused(schema, value, change):
        wrong = copy.deepcopy(value)
        change(wrong)
        return not schema.is_valid(wrong)

    assert refused(INFO, run.info, lambda info: info.update(surprise=1))
    assert refused(INFO, run.info, lambda info: info.pop("headline"))
    assert refused(INFO, run.info, lambda info: info["execution_summary"].update(exit_code=None))
    assert refused(INFO, run.info, lambda info: info["execution_summary"].pop("exit_code"))  # only if attached
    assert refused(INFO, run.info, lambda info: info["provenance"].update(mode="attach"))
    assert refused(INFO, run.info, lambda info: info.pop("arguments"))
    assert refused(INFO, run.info, lambda info: info["provenance"]["measurements"]["proc_rss"].update(unit="furlongs"))
    assert refused(INFO, run.info, lambda info: info.update(schema_version="2.0"))
    assert refused(USAGE, run.usage[0], lambda record: record["measurements"].update(proc_rss_total=None))
    assert refused(USAGE, run.usage[0], lambda record: record["measurements"].update(proc_rss={"4711": None}))
    assert refused(USAGE, run.usage[0], lambda record: record.pop("elapsed"))
    assert refused(EVENTS, run.events[0], lambda event: event.update(event_type="birth"))
    assert refused(EVENTS, run.events[0], lambda event: event.update(timestamp="yesterday"))
