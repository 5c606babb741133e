"""metron report: the page of each kind of run as it is seen, its numbers against the files themselves, bad input."""

import collections
import fnmatch
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess

import pytest

from support import made_runs
from support.users import AS_ANOTHER_USER

TESTS = pathlib.Path(__file__).resolve().parent.parent
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "report"
NAMES = ["metron-ended", "metron-killed", "metron-oom", "metron-lost", "metron-running", "metron-syscalls",
         "metron-short", "metron-one-point", "duct-0.2.2", "duct-jsonl"]
SCREENS = {"80": (80, "never"), "200": (200, "never"), "80-color": (80, "always"), "200-color": (200, "always")}


def alive_recorder():
    """Who could have recorded a run that is still going on: this very process."""
    stat = pathlib.Path("/proc/self/stat").read_text()
    return {"pid": os.getpid(), "start_ticks": int(stat.rsplit(")", 1)[1].split()[19]),
            "boot_id": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()}


@pytest.fixture
def recording(tmp_path):
    """recording(name) -> the prefix of a copy; that of a running one is recorded by this process."""

    def make(name):
        folder = tmp_path / name
        shutil.copytree(RECORDINGS / name, folder)
        info = next(folder.glob("*info.json"))
        if name == "metron-running":
            content = json.loads(info.read_text())
            content["recorder"] = alive_recorder()
            info.write_text(json.dumps(content))
        return str(info)[:-len("info.json")]

    return make


@pytest.fixture
def report(run_metron):
    """report(*args, width=, code=) -> stdout; report.messages is what was said on stderr."""

    def run(*args, width=80, code=0, wrapper=()):
        done = subprocess.run([*wrapper, run_metron.binary, "report", *args], cwd=run_metron.cwd, check=False,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                              env=run_metron.environment({"COLUMNS": str(width)}))
        run.messages = done.stderr.decode()
        assert done.returncode == code, run.messages
        return done.stdout.decode()

    return run


@pytest.fixture
def report_json(report):
    return lambda prefix: json.loads(report("--json", prefix))


@pytest.fixture
def short(run_metron):
    """The same prefix from where the command runs: a page names files, and folders of tests have long names."""
    return lambda prefix: os.path.relpath(prefix, run_metron.cwd) + ("/" if prefix.endswith("/") else "")


def files_of(prefix):
    info = json.loads(pathlib.Path(prefix + "info.json").read_text())
    usage = [json.loads(line) for line in pathlib.Path(prefix + "usage.jsonl").read_text().splitlines()]
    events = [json.loads(line) for line in pathlib.Path(prefix + "events.jsonl").read_text().splitlines()]
    return info, usage, events


# Screens


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", NAMES)
def test_the_page_looks_as_it_did_when_it_was_looked_at(report, recording, short, name, screen):
    width, colors = SCREENS[screen]
    text = report("--colors", colors, short(recording(name)), width=width)
    golden = GOLDEN / f"{name}-{screen}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_no_line_is_wider_than_the_screen(report, recording, short, name):
    for line in report(short(recording(name)), width=80).splitlines():
        assert len(line) <= 80


@pytest.mark.parametrize("name,most", [("metron-ended", 56), ("metron-oom", 56), ("metron-syscalls", 66),
                                       ("metron-lost", 66), ("metron-short", 56), ("metron-killed", 70)])
def test_it_is_one_page(report, recording, name, most):
    assert len(report(recording(name), width=80).splitlines()) <= most


# Numbers


def close(a, b):
    return a == pytest.approx(b, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["metron-ended", "metron-killed", "metron-oom", "metron-syscalls", "metron-short"])
def test_what_processes_used_is_what_the_exit_events_say(report_json, recording, name):
    prefix = recording(name)
    _, _, events = files_of(prefix)
    ends = [event for event in events if event["event_type"] == "exit" and "cpu_seconds" in event]
    page = report_json(prefix)["processes"]
    for table, key in (("by_cpu", lambda end: end["cpu_seconds"]), ("by_memory", lambda end: end.get("max_rss", 0)),
                       ("by_io", lambda end: end["read_bytes"] + end["write_bytes"])):
        expected = sorted((end for end in ends if key(end) > 0), key=key, reverse=True)[:5]
        rows = page.get(table, {"rows": []})["rows"]
        assert [key(row) for row in rows] == [key(end) for end in expected]
        if len({key(end) for end in expected}) == len(expected):
            for row, end in zip(rows, expected):
                assert {name: end[name] for name in row if name in end} == row


def program_of(event):
    return os.path.basename(shlex.split(event["command"])[0])


@pytest.mark.parametrize("name", ["metron-ended", "metron-killed", "metron-syscalls"])
def test_programs_are_summed_up_as_the_exit_events_say(report_json, recording, name):
    prefix = recording(name)
    _, _, events = files_of(prefix)
    sums = collections.defaultdict(lambda: [0, 0.0, 0, 0])
    for event in events:
        if event["event_type"] == "exit":
            entry = sums[program_of(event)]
            entry[0] += 1
            entry[1] += event["cpu_seconds"]
            entry[2] = max(entry[2], event["max_rss"])
            entry[3] += event.get("exit_code", 1) != 0
    rows = report_json(prefix)["processes"]["programs"]["rows"]
    assert {row["program"] for row in rows} == set(sums)
    for row in rows:
        ended, cpu, largest, failed = sums[row["program"]]
        assert (row["processes"], row["max_rss"], row["failed"]) == (ended, largest, failed)
        assert close(row["cpu_seconds"], cpu)
        assert close(row["cpu_share"], 100 * cpu / sum(entry[1] for entry in sums.values()))
    assert [row["cpu_seconds"] for row in rows] == sorted((row["cpu_seconds"] for row in rows), reverse=True)


@pytest.mark.parametrize("name", ["metron-ended", "metron-killed", "metron-oom", "metron-syscalls", "metron-one-point"])
def test_the_sections_have_what_info_json_has(report_json, recording, name):
    prefix = recording(name)
    info, _, _ = files_of(prefix)
    page, summary = report_json(prefix), info["execution_summary"]
    assert page["outcome"]["cause"] == summary["cause"]
    assert page["outcome"]["exit_code"] == summary["exit_code"]
    assert page["outcome"].get("signal") == summary.get("signal")
    assert page["cpu"]["wall"]["value"] == summary["wall_clock_time"]
    assert {name: page["cpu"]["cpu_seconds"].get(name) for name in ("value", "source", "note")} == {
        name: info["headline"]["cpu_seconds"].get(name) for name in ("value", "source", "note")}
    assert close(page["cpu"]["cores_average"]["value"],
                 info["headline"]["cpu_seconds"]["value"] / summary["wall_clock_time"])
    for row in page["cpu"]["methods"]["rows"]:
        assert row["value"] == summary[row["key"]]
    totals = {row["key"]: row for row in page["cpu"]["totals"]["rows"]}
    for key, row in totals.items():
        total = sum(value for part, value in summary.items() if fnmatch.fnmatch(part, key))
        assert close(row["value"], total)
        if key != info["headline"]["cpu_seconds"]["source"]:
            headline = info["headline"]["cpu_seconds"]["value"]
            assert row["difference"] == pytest.approx(100 * (total - headline) / headline, abs=1e-7)
    assert {"cgroup_cpu_seconds", "proc_cpu_seconds", "rusage_cpu_*_seconds", "exit_cpu_seconds_total"} == set(totals)
    seconds = {key for key, about in info["provenance"]["measurements"].items()
               if about["unit"] == "seconds" and about["scope"] == "single" and about["type"] != "categorical"
               and about["source"] != "self"}
    assert {row["key"] for row in page["cpu"]["methods"]["rows"]} == seconds & set(summary)
    assert page["memory"]["peak_memory"]["value"] == info["headline"]["peak_memory_bytes"]["value"]
    rows = page["memory"]["methods"]["rows"]
    assert {row["source"]: row for row in rows} == {method["source"]: method for method in info["peak_memory"]}
    assert rows[0]["source"] == info["headline"]["peak_memory_bytes"]["source"]
    for what, stall in info["stall"].items():
        assert close(page["stall"][what]["value"], 100 * stall["share"])
    for row in page["io"]["moved"]["rows"]:
        assert row["value"] == summary[row["key"]]
    for name, cost in page["metron"].items():
        assert cost["value"] == summary[name]


# A build on 4 of 8 cores: configure alone, the compilers, the linker alone.
BUILD = [(1, 0.9)] * 12 + [(1, 0.2)] * 4 + [(1, 3.8)] * 20 + [(4, 1.1)]


def quiet_build(tmp_path, waited=0.05, spans=BUILD, note=None, attached=None):
    stall = {"cpu": {"share": waited, "source": "cgroup_ave_psi_cpu_some_pct", **({"note": note} if note else {})}}
    top = {"stall": stall, **({"attached": attached} if attached else {})}
    path = made_runs.make_run(tmp_path / "a_", spans=spans, top=top)
    info = json.loads(path.read_text())
    info["system"]["may_use"]["cpus"] = 8
    path.write_text(json.dumps(info))
    return str(path)


def test_busy_cores_over_time_and_the_serial_part(report, report_json, tmp_path):
    prefix = quiet_build(tmp_path)
    assert """
Busy cores over time
  BUSY CORES  TIME   SHARE
  0            4 s  10.0 %
  1           16 s  40.0 %
  3-4         20 s  50.0 %
  serial part  16 s, 40.0 % of the time (at about one busy core)
  each tenth   0.9 0.9 0.9 0.2 3.8 3.8 3.8 3.8 3.8 1.1 (busy cores on average)
  enough       4 CPUs; with 3 it would take 13.3 % longer
  resolution   records of up to 4 s; what is shorter is averaged

""" in report(prefix)
    made = report_json(prefix)
    part = made["parallelism"]
    assert close(part["serial_seconds"]["value"], 16) and close(part["serial_share"]["value"], 40)
    assert part["cpus_enough"] == 4 and part["longest_record"]["value"] == 4
    assert [(row["cores"], row["seconds"]) for row in part["busy_cores"]["rows"]] == [
        (0, pytest.approx(4)), (1, pytest.approx(16)), (4, pytest.approx(20))]
    assert [row["cores"] for row in part["tenths"]["rows"]] == pytest.approx(
        [0.9, 0.9, 0.9, 0.2, 3.8, 3.8, 3.8, 3.8, 3.8, 1.1])
    # Of 40 s, 20 s take as often as long as there are fewer CPUs than 3.8.
    for row in part["with_cpus"]["rows"]:
        longer = 4 * (max(1, 1.1 / row["cpus"]) - 1) + 20 * (max(1, 3.8 / row["cpus"]) - 1)
        assert row["longer"] == pytest.approx(100 * longer / 40, abs=1e-6)
    assert "With 4 it would take no longer: request 4." in " ".join(report(prefix).split())


def test_a_run_that_waited_for_a_cpu_is_not_called_serial(report, report_json, tmp_path):
    prefix = quiet_build(tmp_path, waited=0.73)
    text = " ".join(report(prefix).split())
    assert "73.0 % of the time it waited for a CPU" in text and "are a lower bound" in text and "request 4" not in text
    remark = "It waited for a CPU, or a quota held it back"
    assert remark in text and report_json(prefix)["parallelism"]["remarks"][0].startswith(remark)


def test_no_fewer_cpus_are_advised_of_a_run_that_may_have_waited(report, report_json, tmp_path):
    prefix = quiet_build(tmp_path, waited=0.966, note="of the whole machine")
    text = " ".join(report(prefix).split())
    assert "It ran on busy CPUs and may have waited for one" in text and "no reason to request fewer" in text
    assert "request 4" not in text
    assert report_json(prefix)["parallelism"]["remarks"][0].startswith("It ran on busy CPUs")


@pytest.mark.parametrize("kind", [{"spans": [(1, 0.01)] * 20}, {"attached": {"pids": [7], "children": True}}],
                         ids=["idle", "attached"])
def test_nothing_is_advised_of_the_cpus_of_what_shows_no_need(report, tmp_path, kind):
    assert ": request " not in " ".join(report(quiet_build(tmp_path, **kind)).split())


@pytest.mark.parametrize("written", ["", "no such file\n"])
def test_a_captured_stderr_is_named_where_something_is_in_it(report, tmp_path, written):
    shutil.copytree(RECORDINGS / "metron-killed", tmp_path / "killed")
    (tmp_path / "killed" / "stderr").write_text(written)
    assert ("killed/stderr, where its stderr was captured" in report(str(tmp_path / "killed"), width=300)) == bool(written)


def test_long_records_are_said_to_hide_bursts(report, tmp_path):
    stall = {"cpu": {"share": 0.05, "source": "cgroup_ave_psi_cpu_some_pct"}}
    for spans, said in ([(60, 0.8)], True), ([(2, 0.8)] * 30, False):
        path = made_runs.make_run(tmp_path / "a_", spans=spans, top={"stall": stall},
                                  summary={"proc_peak_pdcpu_total": 390})
        text = " ".join(report(str(path)).split())
        assert "3.90 at most. With 1 it would take no longer: request 1." in text
        assert ("its records, of up to 1 min 00 s, average bursts: record it with --report-interval 1" in text) == said


@pytest.mark.parametrize("spans", [[(1, 0.9)] * 9, [(9, 1.8)], [(0.1, 1.8)] * 9], ids=["serial", "one record", "short"])
def test_what_has_no_parallelism_to_see_is_only_in_json(report, report_json, tmp_path, spans):
    prefix = str(made_runs.make_run(tmp_path / "a_", spans=spans))
    assert "Busy cores" not in report(prefix) and report_json(prefix)["parallelism"]["busy_cores"]


def test_calls_are_those_of_info_json_the_slowest_first(report_json, recording):
    prefix = recording("metron-syscalls")
    info, _, _ = files_of(prefix)
    page, truth = report_json(prefix)["syscalls"], info["syscalls"]
    assert (page["method"], page["count"]["value"], page["errors"]["value"]) == (
        truth["method"], truth["count"], truth["errors"])
    expected = sorted(truth["by_call"].items(), key=lambda call: -call[1]["seconds"])[:10]
    assert [row["call"] for row in page["hotspots"]["rows"]] == [name for name, _ in expected]
    for row, (_, call) in zip(page["hotspots"]["rows"], expected):
        assert (row["count"], row["errors"]) == (call["count"], call["errors"])
        assert close(row["seconds"], call["seconds"])
        assert row["time_share"] == pytest.approx(call["time_pct"], abs=0.0051)


@pytest.mark.parametrize("name", ["metron-lost", "metron-running"])
def test_a_run_without_an_end_is_summed_up_from_its_records(report_json, recording, name):
    prefix = recording(name)
    info, usage, events = files_of(prefix)
    about = info["provenance"]["measurements"]
    page = report_json(prefix)
    assert page["outcome"]["status"] == name.split("-")[1]
    assert "exit_code" not in page["outcome"]
    assert page["cpu"]["wall"]["value"] == usage[-1]["elapsed"]
    for row in page["cpu"]["methods"]["rows"] + page["io"]["moved"]["rows"]:
        values = [record["measurements"][row["key"]] for record in usage if row["key"] in record["measurements"]]
        assert close(row["value"], sum(values) if about[row["key"]]["reduce"] == "delta" else values[-1])
    for row in page["memory"]["levels"]["rows"]:
        key = row["key"].replace("_peak_", "_", 1) if row["key"] not in about else row["key"]
        values = [record["measurements"][key] for record in usage if key in record["measurements"]]
        assert row["value"] == (values[-1] if about[key]["reduce"] == "last" else max(values))
    for row in page["stall"]["pressure"]["rows"]:
        source, rest = row["key"].split("_", 1)
        lengths = [record["elapsed"] - before for record, before in
                   zip(usage, [0] + [record["elapsed"] for record in usage])]
        means = [(record["measurements"].get(f"{source}_ave_{rest}"), length)
                 for record, length in zip(usage, lengths)]
        means = [(mean, length) for mean, length in means if mean is not None]
        assert close(row["mean"], sum(mean * length for mean, length in means) / sum(length for _, length in means))
    assert page["events"]["spawned"]["value"] == sum(event["event_type"] == "spawn" for event in events)


def test_sampled_processes_are_ranked_by_what_the_records_say(report_json, recording):
    prefix = recording("metron-lost")
    _, usage, _ = files_of(prefix)
    page = report_json(prefix)["processes"]

    def over_records(key, how):
        found = collections.defaultdict(list)
        for record in usage:
            for pid, value in record["measurements"].get(key, {}).items():
                found[pid].append(value)
        return {pid: how(values) for pid, values in found.items()}

    peaks, rates = over_records("proc_hwm", max), over_records("proc_pdcpu", max)
    read, written = over_records("io_read_bytes", sum), over_records("io_write_bytes", sum)
    rows = page["by_memory_sampled"]["rows"]
    expected = sorted((value for value in peaks.values() if value), reverse=True)[:5]
    assert [row["proc_hwm"] for row in rows] == expected
    for row in rows:
        assert row["proc_hwm"] == peaks[row["process"]]
    for row in page["by_cpu_sampled"]["rows"]:
        assert row["proc_pdcpu"] == rates[row["process"]]
    moved = [row["io_read_bytes"] + row["io_write_bytes"] for row in page["by_io_sampled"]["rows"]]
    assert moved == sorted(moved, reverse=True)
    for row in page["by_io_sampled"]["rows"]:
        assert (row["io_read_bytes"], row["io_write_bytes"]) == (read[row["process"]], written[row["process"]])
    spent, before = collections.Counter(), 0
    for record in usage:
        length, keys = record["elapsed"] - before, record["measurements"]
        before = record["elapsed"]
        for pid, rate in keys.get("proc_pdcpu", {}).items():
            spent[pid] += rate / 100 * min(length, keys["proc_etime"].get(pid, length))
    for row in page["by_cpu_sampled"]["rows"]:
        assert close(row["cpu_seconds_estimate"], spent[row["process"]])
    assert "estimate" in page["by_cpu_sampled"]["columns"]["cpu_seconds_estimate"]["source"]


def test_the_killer_and_the_survivors_are_named(report_json, recording):
    prefix = recording("metron-killed")
    info, _, events = files_of(prefix)
    page = report_json(prefix)
    kill = next(event for event in events if event["event_type"] == "kill" and event["pid"] == events[0]["pid"])
    assert page["outcome"]["signal_sender"] == f"{kill['sender']} (pid {kill['sender_pid']})"
    assert page["outcome"]["surviving_processes"]["rows"] == info["survivors"]["processes"]
    assert page["events"]["kills"]["rows"][0]["sender"] == kill["sender"]


def test_an_oom_kill_has_its_victim_its_limit_and_a_way_out(report_json, recording):
    prefix = recording("metron-oom")
    _, _, events = files_of(prefix)
    page = report_json(prefix)
    victim = next(event for event in events if event["event_type"] == "oom")
    assert [row["pid"] for row in page["events"]["ooms"]["rows"]] == [victim["pid"]]
    assert page["outcome"]["oom_kills"]["value"] == 1
    advice = [row["text"] for row in page["next"]["advice"]["rows"] if row["about"] == "memory"]
    assert "limit of 64 MiB" in advice[0]
    assert "begin with 128 MiB" in advice[0]


def test_failures_of_one_program_are_one_line_the_most_first(report, report_json, recording):
    prefix = recording("metron-ended")
    ends = [(f"/usr/bin/grep -q word{i} file", 1 if i < 48 else 2) for i in range(50)]
    ends = [("/bin/ls /nowhere", 2), *ends, ("cc -c a.c", 1), ("cc -c b.c", 1), ("cat x", 1)]
    with open(prefix + "events.jsonl", "a", encoding="utf-8") as events:
        for i, (command, code) in enumerate(ends):
            events.write(json.dumps({"timestamp": "2026-11-15T18:21:42+00:00", "event_type": "exit", "pid": 50_000 + i,
                                     "exit_code": code, "command": command, "seen": "event"}) + "\n")
    lines = [line.strip() for line in report(prefix).split("What happened\n")[1].split("\n\n")[0].splitlines()]
    assert lines[:4] == ["failed  50 of grep with code 1 (48), 2 (2), first: /usr/bin/grep -q word0 file",
                         "2 of cc with code 1, first: cc -c a.c", "1 of ls with code 2: /bin/ls /nowhere",
                         "and 1 other"]
    rows = report_json(prefix)["events"]["failures"]["rows"]
    assert [(row["count"], row["exit_code"], row["program"]) for row in rows] == [
        (48, 1, "grep"), (2, 2, "grep"), (2, 1, "cc"), (1, 2, "ls"), (1, 1, "cat")]
    assert rows[1]["command"] == "/usr/bin/grep -q word48 file"


@pytest.mark.parametrize("name", ["duct-0.2.0", "duct-0.2.1", "duct-0.2.2", "duct-0.2.3", "duct-jsonl", "duct-failed"])
def test_con_duct_is_told_in_its_own_words(report_json, report, recording, name):
    prefix = recording(name)
    summary = json.loads(pathlib.Path(prefix + "info.json").read_text())["execution_summary"]
    page = report_json(prefix)
    assert page["outcome"]["exit_code"] == summary["exit_code"]
    for key in ("peak_pcpu", "average_pcpu"):
        if summary.get(key) is not None:
            assert close(page["cpu"][key]["value"], summary[key])
            assert "life" in page["cpu"][key]["note"]
    for key in ("peak_rss", "average_rss", "peak_vsz", "average_vsz", "peak_pmem", "average_pmem"):
        if summary.get(key) is not None:
            assert close(page["memory"][key]["value"], summary[key])
    assert "cpu_seconds" not in page["cpu"]
    assert "con-duct does not count them" in report(prefix, width=200)


def test_a_metric_that_was_not_measured_is_absent_and_its_reason_is_told(report_json, recording):
    page = report_json(recording("metron-lost"))
    assert "syscalls" not in page
    assert page["not_measured"]["source_exit"]
    assert "--syscalls summary" in page["not_measured"]["syscalls"]


def test_anomalies_are_listed(report_json, report, recording):
    prefix = recording("metron-ended")
    with open(prefix + "events.jsonl", "a", encoding="utf-8") as events:
        events.write('{"timestamp":"2026-11-15T18:21:42+00:00","event_type":"monitor.anomaly","pid":31822,'
                     '"anomaly_type":"memory_spike","severity":"high","description":"RSS x 2 in 30 s","seen":"event"}\n')
    row = report_json(prefix)["anomalies"]["found"]["rows"][0]
    assert (row["pid"], row["anomaly_type"], row["severity"]) == (31822, "memory_spike", "high")
    assert row["description"] == "RSS x 2 in 30 s"
    assert "high      memory_spike  31822  RSS x 2 in 30 s" in report(prefix)
    assert "anomalies" not in report_json(recording("metron-short"))


# Bad input


def test_damaged_lines_are_passed_over_and_told(report, report_json, recording):
    prefix = recording("metron-ended")
    usage = pathlib.Path(prefix + "usage.jsonl")
    events = pathlib.Path(prefix + "events.jsonl")
    usage.write_bytes(b"\x00\xff binary\n" + usage.read_bytes()[:-40])
    events.write_text("no json\n" + events.read_text() + '{"event_type":"exit","pid"')
    page = report_json(prefix)
    assert page["metron"]["damaged_usage_lines"]["value"] == 2
    assert page["metron"]["damaged_event_lines"]["value"] == 2
    assert "line 1" in page["metron"]["damaged_event_lines"]["note"]
    assert "damaged lines" in report(prefix)
    assert report.messages.count(" damaged line") == 2


def test_events_that_the_kernel_had_no_room_for_are_on_the_page(report, report_json, recording):
    prefix = recording("metron-ended")
    info = pathlib.Path(prefix + "info.json")
    content = json.loads(info.read_text())
    assert "events_lost" not in report_json(prefix)["metron"] and "events lost" not in report(prefix)
    content["provenance"]["events_lost"] = 3
    info.write_text(json.dumps(content))
    lost = report_json(prefix)["metron"]["events_lost"]
    assert (lost["value"], lost["note"]) == (3, "the kernel had no room for them")
    assert re.search(r"^ +events lost +3 \(the kernel had no room for them\)$", report(prefix), re.MULTILINE)


@pytest.mark.parametrize("content,expected", [
    (b"", "empty"), (b"\x7fELF\x00\x01", "no recording"), (b'{"schema_version": "1.0", "met', "damaged"),
    (b'{"a": 1}', "metron"), (b'{"schema_version": "9.0", "metron_version": "9"}', "schema"),
    (b'{"schema_version": "0.3.0", "duct_version": "9"}', "0.3.0"), (b"[" * 100000, "deep"),
])
def test_what_is_no_recording_is_an_error_of_one_line(report, tmp_path, content, expected):
    path = tmp_path / "info.json"
    path.write_bytes(content)
    assert report(str(path), code=1) == ""
    assert len(report.messages.splitlines()) == 1
    assert str(path) in report.messages
    assert expected in report.messages or expected == "deep"


def test_a_missing_run_and_wrong_usage(report, tmp_path):
    assert report(str(tmp_path / "nothing_"), code=1) == ""
    assert "nothing_" in report.messages
    assert report(code=1) == ""
    assert "which run?" in report.messages
    assert report("a", "b", code=2) == ""
    assert "one run at a time" in report.messages


def test_files_that_are_missing_are_told(report, recording):
    prefix = recording("metron-ended")
    os.remove(prefix + "usage.jsonl")
    os.remove(prefix + "events.jsonl")
    text = report(prefix)
    assert "there is no events.jsonl" in text
    assert "there is no usage file" in text
    assert "exited with code 0" in text


def test_a_file_that_may_not_be_read_is_an_error(report, recording, run_metron, tmp_path):
    prefix = recording("metron-ended")
    wrapper = ()
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv (util-linux) is missing: cannot become an ordinary user")
        wrapper = AS_ANOTHER_USER
        for folder in [tmp_path, *list(tmp_path.parents)[:-2], run_metron.cwd, pathlib.Path(prefix)]:
            if folder.is_dir() and not folder.stat().st_mode & 0o005 == 0o005 and folder.stat().st_uid == 0:
                folder.chmod(folder.stat().st_mode | 0o055)
    for name in ("events.jsonl", "usage.jsonl", "info.json"):
        os.chmod(prefix + name, 0)
        assert report(prefix, code=1, wrapper=wrapper) == ""
        assert f"{name}: " in report.messages
        assert "ermission" in report.messages


def test_a_long_command_is_whole_and_a_cut_one_is_marked(report_json, recording):
    prefix = recording("metron-ended")
    path = pathlib.Path(prefix + "events.jsonl")
    events = [json.loads(line) for line in path.read_text().splitlines()]
    largest = max((event for event in events if event["event_type"] == "exit"), key=lambda event: event["cpu_seconds"])
    for event in events:
        if event["pid"] == largest["pid"]:
            event["command"] = "cc1 " + "-D " * 3000 + "a.c…"
            event["command_truncated"] = True
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    page = report_json(prefix)
    first, *rest = page["processes"]["by_cpu"]["rows"]
    assert first["pid"] == largest["pid"]
    assert first["command"] == "cc1 " + "-D " * 3000 + "a.c…"
    assert first["command_truncated"] is True
    assert rest and not [row for row in rest if "command_truncated" in row]


def test_a_command_that_was_cut_is_marked_in_samples_too(report_json, recording):
    prefix = recording("metron-lost")
    path = pathlib.Path(prefix + "usage.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    pids = sorted({pid for record in records for pid in record["measurements"].get("proc_cmd", {})})
    commands = {pids[0]: "w" * 16383 + "…", pids[1]: "echo …"}
    for record in records:
        record["measurements"].get("proc_cmd", {}).update(
            {pid: text for pid, text in commands.items() if pid in record["measurements"].get("proc_cmd", {})})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = [row for name in ("by_cpu_sampled", "by_memory_sampled")
            for row in report_json(prefix)["processes"][name]["rows"]]
    assert {row["process"] for row in rows} >= set(commands)
    for row in rows:
        assert row.get("command") == commands.get(row["process"], row.get("command"))
        assert row.get("command_truncated", False) == (row["process"] == pids[0])


def test_a_hostile_command_cannot_paint_the_screen(report, report_json, recording):
    prefix = recording("metron-ended")
    info = json.loads(pathlib.Path(prefix + "info.json").read_text())
    evil = "x\033[2J\r\n" + "y" * 100_000
    info["command"] = info["execution_summary"]["command"] = evil
    pathlib.Path(prefix + "info.json").write_text(json.dumps(info))
    text = report(prefix)
    assert "\033" not in text and "\r" not in text
    assert len(text) < 20_000
    assert report_json(prefix)["run"]["command"] == evil


# Size


@pytest.mark.plain
def test_100_000_processes_take_100_mb_at_most(recording, run_metron):
    prefix, count = recording("metron-ended"), 100_000
    made_runs.write_ended_processes(prefix + "events.jsonl", count)
    limit = 100 << 20
    done = subprocess.run([run_metron.binary, "report", "--json", prefix], capture_output=True, check=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    page = json.loads(done.stdout)
    assert page["events"]["ended"]["value"] == count
    assert page["processes"]["by_cpu"]["rows"][0]["pid"] == 1000 + count - 1
    assert page["events"]["spawned_in_busiest_second"]["value"] == 100
    programs = {row["program"]: row for row in page["processes"]["programs"]["rows"]}
    assert programs["cc1"]["processes"] == count * 3 // 4
    assert programs["sh"]["failed"] == count // 100
    assert any(f"{count * 3 // 4:,} processes of cc1" in row["text"] for row in page["next"]["advice"]["rows"])


def test_a_real_run_can_be_reported(run_metron, report):
    run = run_metron("", ["sh", "-c", "true; true; exit 3"])
    text = report(str(run.path("")))
    assert "exited with code 3" in text
    assert "Time and CPU" in text
