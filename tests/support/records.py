"""Reading what metron wrote, strictly, and the rules that every record must keep.

A test that runs metron gets these checks for nothing: `check_run_files` is called after each run.
"""

import collections
import datetime
import json
import math
import re


class BrokenRecord(AssertionError):
    """A file is not what docs/schema.md promises."""


def _refuse_constant(name):
    raise BrokenRecord(f"{name} is no JSON")


def _refuse_doubles(pairs):
    result = {}
    for key, value in pairs:
        if key in result:
            raise BrokenRecord(f"the key {key!r} occurs twice in one object")
        result[key] = value
    return result


def strict_json(data):
    """Parses bytes as JSON the way the strictest reader would: UTF-8, no NaN, no double keys."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant,
                          object_pairs_hook=_refuse_doubles)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BrokenRecord(f"not JSON: {error}: {data[:200]!r}") from error


def strict_lines(data):
    """Parses JSON Lines: every line whole, the last one ended too."""
    if data and not data.endswith(b"\n"):
        raise BrokenRecord(f"the last line is cut off: {data[-200:]!r}")
    return [strict_json(line) for line in data.splitlines()]


def leaves(value):
    """Every number, string and boolean inside a JSON value."""
    if isinstance(value, dict):
        for child in value.values():
            yield from leaves(child)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child)
    else:
        yield value


def check_no_null(value, where):
    for leaf in leaves(value):
        if leaf is None:
            raise BrokenRecord(f"null in {where}: what was not measured is absent")
        if isinstance(leaf, float) and not math.isfinite(leaf):
            raise BrokenRecord(f"{leaf} in {where}")


def check_timestamp(text, where):
    try:
        moment = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise BrokenRecord(f"{where}: {text!r} is not ISO 8601") from error
    if moment.tzinfo is None:
        raise BrokenRecord(f"{where}: {text!r} has no offset")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_value(key, value):
    if is_number(value) or isinstance(value, str):
        return
    if not isinstance(value, dict):
        raise BrokenRecord(f"{key} is {value!r}")
    for inner in value.values():
        _check_value(key, inner)


KEY_PATTERN = re.compile(r"[a-z]+_[a-z0-9_]+\Z")


def check_usage(records):
    elapsed_before = -1.0
    for record in records:
        if set(record) != {"timestamp", "elapsed", "num_samples", "measurements"}:
            raise BrokenRecord(f"a usage record has the fields {sorted(record)}")
        check_no_null(record, "usage.jsonl")
        check_timestamp(record["timestamp"], "usage.jsonl timestamp")
        if not is_number(record["elapsed"]) or record["elapsed"] <= elapsed_before:
            raise BrokenRecord(f"elapsed {record['elapsed']} after {elapsed_before}")
        elapsed_before = record["elapsed"]
        if not isinstance(record["num_samples"], int) or record["num_samples"] < 0:
            raise BrokenRecord(f"num_samples is {record['num_samples']!r}")
        for key, value in record["measurements"].items():
            if not KEY_PATTERN.match(key):
                raise BrokenRecord(f"odd key {key!r}")
            _check_value(key, value)


EVENT_TYPES = {"spawn", "exit", "signal", "kill", "oom", "monitor.anomaly"}


def check_events(events, attached=False):
    """start_time may be absent (the process was gone before it was looked at), but ends never outnumber births;
    of what ran already (attached) one end more."""
    births, exits, starts, ended = (collections.Counter() for _ in range(4))
    for event in events:
        check_no_null(event, "events.jsonl")
        for field in ("timestamp", "event_type", "pid", "seen"):
            if field not in event:
                raise BrokenRecord(f"an event without {field}: {event}")
        check_timestamp(event["timestamp"], "events.jsonl timestamp")
        if event["event_type"] not in EVENT_TYPES:
            raise BrokenRecord(f"unknown event_type in {event}")
        if event["seen"] not in ("sampled", "reaped", "event"):
            raise BrokenRecord(f"unknown seen in {event}")
        identity = (event["pid"], event.get("start_time"))
        if event["event_type"] == "spawn":
            births[event["pid"]] += 1
            starts[identity] += 1
        elif event["event_type"] == "exit":
            exits[event["pid"]] += 1
            ended[identity] += 1
    for (pid, start), count in ended.items():
        # Two processes with one pid may begin within one tick of the kernel's clock; tests ask for a pid again.
        if start is not None and count > max(1, starts[pid, start] + starts[pid, None]):
            raise BrokenRecord(f"process {pid}, started {start}, has {count} exits")
    for pid, count in exits.items():
        if count > births[pid] + attached:
            raise BrokenRecord(f"pid {pid} was born {births[pid]} times and ended {count} times")


SUMMARY_FIELDS = {"command", "logs_prefix", "wall_clock_time", "start_time", "end_time", "num_samples",
                  "num_reports", "working_directory"}


def check_info(info, usage):
    """What must hold of the info.json of a run that has ended."""
    check_no_null(info, "info.json")
    for field in ("schema_version", "metron_version", "status", "command", "working_directory",
                  "execution_summary", "headline"):
        if field not in info:
            raise BrokenRecord(f"info.json has no {field}: {sorted(info)}")
    summary = info["execution_summary"]
    missing = SUMMARY_FIELDS - set(summary)
    if "attached" not in info:
        missing |= {"exit_code", "cause"} - set(summary)
    if missing:
        raise BrokenRecord(f"execution_summary lacks {sorted(missing)}")
    if usage is not None:
        if summary["num_reports"] != len(usage):
            raise BrokenRecord(f"num_reports {summary['num_reports']}, but {len(usage)} records")
        samples = sum(record["num_samples"] for record in usage)
        if summary["num_samples"] != samples:
            raise BrokenRecord(f"num_samples {summary['num_samples']}, but {samples} in the records")
    for question, answer in info["headline"].items():
        if set(answer) < {"value", "source"}:
            raise BrokenRecord(f"headline {question} is {answer}")


def whole_lines(path):
    """The records of a file that is still written, without a last line that is not whole; [] if it is not there yet."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return strict_lines(data[:data.rfind(b"\n") + 1])


def per_pid(records, key):
    """{pid text: [value per record it is in]} of a per-process key."""
    values = {}
    for record in records:
        for pid, value in record["measurements"].get(key, {}).items():
            values.setdefault(pid, []).append(value)
    return values


def total(records, key):
    """The sum of a key reduced by delta over all records."""
    return sum(record["measurements"].get(key, 0) for record in records)
