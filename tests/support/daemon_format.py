"""The format of the daemon's socket, database and log as its text has it: names, types, forms.

What the text leaves open is decided in the first tables and nowhere else. Nothing of metron's is used.
"""

import datetime
import re

from support.records import check_no_null, is_number

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


# ---- what answers and events say ----

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
