"""metron export: every format, of every kind of recording, as the tool of that format reads it.

promtool and con-duct come from `scripts/deps test` (build/test-tools); without them what asks them is skipped."""

import collections
import csv
import datetime
import io
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest

from support.run import words

TESTS = pathlib.Path(__file__).resolve().parents[1]
RECORDINGS = TESTS / "fixtures" / "recordings"
TOOLS = TESTS.parent / "build" / "test-tools"
METRON = ["metron-ended", "metron-killed", "metron-oom", "metron-lost", "metron-syscalls", "metron-short",
          "metron-one-point", "metron-ranks/rank1_"]
DUCT = ["duct-0.2.0", "duct-0.2.1", "duct-0.2.2", "duct-0.2.3", "duct-jsonl", "duct-failed"]
FORMATS = ["csv", "prometheus", "nextflow", "snakemake", "perfetto"]
NEXTFLOW = ("name exit start complete realtime %cpu %mem rss vmem peak_rss peak_vmem rchar wchar syscr syscw read_bytes "
            "write_bytes vol_ctxt inv_ctxt hostname cpu_model").split()
SNAKEMAKE = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split()


def path_of(name, file="info.json"):
    """A file of a recording, whatever its prefix."""
    if name.endswith("_"):
        return RECORDINGS / f"{name}{file}"
    return next(iter(RECORDINGS.joinpath(name).glob(f"*{file}")))


def info_of(name):
    return json.loads(path_of(name).read_bytes())


def lines_of(name, file="usage.jsonl"):
    return [json.loads(line) for line in path_of(name, file).read_text().splitlines()]


@pytest.fixture
def export(run_metron):
    """export(format, run, *more) -> the text on stdout of an export that went well and had nothing to say."""

    def call(form, run, *more):
        done = run_metron.metron(["export", "--format", form, *more, run])
        assert (done.returncode, done.stderr) == (0, b""), done
        return done.stdout.decode()

    return call


@pytest.fixture(scope="session")
def promtool():
    """promtool(text): fails unless it has nothing at all to say against it."""
    program = shutil.which("promtool") or TOOLS / "bin" / "promtool"
    if not os.access(program, os.X_OK):
        pytest.skip("no promtool: scripts/deps test gets it")

    def check(text):
        done = subprocess.run([program, "check", "metrics"], input=text.encode(), capture_output=True, timeout=60,
                              check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, b""), done

    return check


@pytest.fixture(scope="session")
def con_duct():
    """con_duct(args) -> what con-duct itself prints."""
    programs = TOOLS / "con-duct" / "bin"
    if not (programs / "con-duct").exists():
        pytest.skip("no con-duct: scripts/deps test installs it")

    def call(*args, program="con-duct", data=""):
        done = subprocess.run([programs / program, *args], input=data.encode(), capture_output=True, timeout=60,
                              check=False, env={**os.environ, "MPLBACKEND": "Agg"})
        assert done.returncode == 0 and b"WARNING" not in done.stderr and b"ERROR" not in done.stderr, done
        return done.stdout.decode()

    return call


def samples_of(text):
    """{(name, labels without run, metron_job, host, command): value} of a Prometheus text, and the type of each name."""
    samples, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name not in types, f"{name} twice"
            types[name] = kind
        elif not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line).groups()
            labels = {key: text for key, text in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)
                      if key not in ("run", "metron_job", "host", "command")}
            key = (name, frozenset(labels.items()))
            assert key not in samples, f"{line} twice"
            samples[key] = float(value)
    return samples, types


# csv


@pytest.mark.parametrize("name", METRON)
def test_csv_has_every_single_value_of_every_record(export, name):
    rows = list(csv.DictReader(io.StringIO(export("csv", path_of(name)))))
    records = lines_of(name)
    singles = [key for key, told in info_of(name)["provenance"]["measurements"].items() if told["scope"] == "single"]
    assert len(rows) == len(records) and set(singles) <= set(rows[0])
    for row, record in zip(rows, records):
        assert float(row.pop("elapsed")) == record["elapsed"]
        assert int(row.pop("num_samples")) == record["num_samples"]
        stamp = datetime.datetime.fromisoformat(row.pop("timestamp"))
        assert stamp == datetime.datetime.fromisoformat(record["timestamp"])
        measured = record["measurements"]
        for key, cell in row.items():
            if key not in measured:
                assert cell == "", key
            elif isinstance(measured[key], str):
                assert cell == measured[key]
            else:
                assert json.loads(cell) == measured[key], key
        per_process = {key for key, value in measured.items() if key not in row}
        assert all(isinstance(measured[key], dict) for key in per_process)


@pytest.mark.parametrize("name", DUCT)
def test_csv_of_con_duct_has_its_totals_and_averages(export, name):
    rows = list(csv.DictReader(io.StringIO(export("csv", path_of(name)))))
    records = [json.loads(line) for line in path_of(name, "usage.json*").read_text().splitlines()]
    assert len(rows) == len(records)
    for row, record in zip(rows, records):
        for group, word in (("totals", "total"), ("averages", "average")):
            for key in ("rss", "vsz", "pmem", "pcpu"):
                assert float(row[f"{word}_{key}"]) == record[group][key]


# Prometheus


@pytest.mark.parametrize("name", METRON + DUCT)
def test_promtool_has_nothing_against_it(export, promtool, name):
    promtool(export("prometheus", path_of(name)))


def test_two_runs_of_one_command_are_two_series(export, promtool, tmp_path):
    """As node_exporter sees them: the files of one folder together."""
    texts = []
    for name in ("a_", "b_"):
        shutil.copy(path_of("metron-short"), tmp_path / f"{name}info.json")
        shutil.copy(path_of("metron-short", "usage.jsonl"), tmp_path / f"{name}usage.jsonl")
        texts.append(export("prometheus", tmp_path / name))
    series = [{line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")} for text in texts]
    assert series[0] and not series[0] & series[1]
    assert all('{run="a_",' in each for each in series[0])
    assert not re.search(r'[{,]job="', texts[0])
    promtool(texts[0])


@pytest.mark.parametrize("name", [name for name in METRON if name != "metron-lost"])
def test_prometheus_has_every_number_of_the_summary_and_no_other(export, name):
    info = info_of(name)
    samples, types = samples_of(export("prometheus", path_of(name)))
    found = {}
    for (metric, labels), value in samples.items():
        assert metric.endswith("_total") == (types[metric] == "counter")
        if metric.startswith("metron_run_"):
            continue
        labels = dict(labels)
        source = labels["source"]
        told = info["provenance"]["measurements"][source]
        word = {"peak": "peak_", "average": "ave_", "low": "low_"}.get(labels.get("statistic"), "")
        key = source.replace(f"{told['source']}_", f"{told['source']}_{word}", 1)
        value = value * 100 if told["unit"] == "percent" else value
        if "name" in labels:
            found.setdefault(key, {})[labels["name"]] = value
        else:
            found[key] = value
    registry = info["provenance"]["measurements"]
    expected = {key: value for key, value in info["execution_summary"].items()
                if key.split("_")[0] in {told["source"] for told in registry.values()}
                and isinstance(value, (int, float, dict)) and key not in ("exit_code", "start_time", "end_time")}
    assert found == {key: pytest.approx(value, rel=1e-12) for key, value in expected.items()}


def test_prometheus_has_the_names_of_process_exporter(export):
    summary = info_of("metron-ended")["execution_summary"]
    headline = info_of("metron-ended")["headline"]
    samples, _ = samples_of(export("prometheus", path_of("metron-ended")))

    def get(name, **labels):
        return samples[f"metron_run_{name}", frozenset(labels.items())]

    assert get("cpu_seconds_total", source=headline["cpu_seconds"]["source"]) == headline["cpu_seconds"]["value"]
    for name, key in (("read_bytes_total", "io_read_bytes_total"), ("write_bytes_total", "io_write_bytes_total"),
                      ("major_page_faults_total", "proc_major_faults_total"),
                      ("minor_page_faults_total", "proc_minor_faults_total")):
        assert get(name, source=key) == summary[key]
    for name, key in (("num_procs", "proc_peak_processes"), ("open_filedesc", "proc_peak_fds_total"),
                      ("num_threads", "proc_peak_threads_total")):
        assert get(name, statistic="peak", source=key) == summary[key]
    for kind, key in (("resident", "proc_peak_rss_total"), ("virtual", "proc_peak_vsz_total"),
                      ("proportionalResident", "smaps_peak_pss_total")):
        assert get("memory_bytes", memtype=kind, statistic="peak", source=key) == summary[key]
    for kind, key in (("voluntary", "rusage_ctx_voluntary"), ("nonvoluntary", "rusage_ctx_involuntary")):
        assert get("context_switches_total", ctxswitchtype=kind, source=key) == summary[key]
    records = lines_of("metron-ended")
    running = sum(tally.get("R", 0) for record in records
                  for tally in record["measurements"].get("proc_stat", {}).values())
    assert get("states", state="Running", statistic="average", source="proc_stat") == pytest.approx(
        running / sum(record["num_samples"] for record in records))


def test_prometheus_labels_survive_any_command(export, promtool, tmp_path):
    folder = shutil.copytree(RECORDINGS / "metron-short", tmp_path / "run")
    info = info_of("metron-short")
    info["job"] = 'a "job"\n\\with\\ {odd} things\x01\x7f'
    info["command"] = info["execution_summary"]["command"] = "é" * 50_000 + "\n\t\x1b[31m"
    (folder / "info.json").write_text(json.dumps(info))
    text = export("prometheus", folder)
    promtool(text)
    assert r'metron_job="a \"job\"\n\\with\\ {odd} things\\x01\\x7f"' in text
    assert f'command="{"é" * 100}..."' in text
    assert all(len(line) < 1000 for line in text.splitlines())
    json.loads(export("perfetto", folder))


# Nextflow and Snakemake


@pytest.mark.parametrize("name", METRON + DUCT)
def test_nextflow_row_is_what_the_summary_says(export, name):
    header, row = export("nextflow", path_of(name)).splitlines()
    assert header.split("\t") == NEXTFLOW
    row = dict(zip(NEXTFLOW, row.split("\t"), strict=True))
    info = info_of(name)
    summary = info.get("execution_summary", {})
    assert row["hostname"] == info["system"]["hostname"]
    assert row["cpu_model"] == "-"
    assert row["name"] == ("train (1)" if "ranks" in name else "-")
    assert row["exit"] == str(summary.get("exit_code", "-"))
    start = summary.get("start_time") or info["start_time"]
    start = start if name in DUCT else datetime.datetime.fromisoformat(start).timestamp()
    assert int(row["start"]) == round(1000 * start)
    end = start + summary["wall_clock_time"] if summary else None
    assert row["complete"] == (str(round(1000 * end)) if end else "-")
    if name == "metron-lost":
        records = lines_of(name)
        assert int(row["realtime"]) == round(1000 * records[-1]["elapsed"])
        assert int(row["rss"]) == max(record["measurements"]["proc_rss_total"] for record in records)
        assert int(row["rchar"]) == sum(record["measurements"]["io_rchar_total"] for record in records)
        return
    assert int(row["realtime"]) == round(1000 * summary["wall_clock_time"])
    rss = summary["peak_rss"] if name in DUCT else summary["proc_peak_rss_total"]
    assert int(row["rss"]) == rss
    assert float(row["%mem"]) == pytest.approx(100 * rss / info["system"]["memory_total"], abs=0.05)
    if name in DUCT:
        assert {row[key] for key in ("%cpu", "rchar", "syscw", "read_bytes", "vol_ctxt")} == {"-"}
        return
    assert int(row["peak_rss"]) == max(rss, summary["proc_hwm_max"])
    assert float(row["%cpu"]) == pytest.approx(
        100 * info["headline"]["cpu_seconds"]["value"] / summary["wall_clock_time"], abs=0.05)
    for column, key in (("vmem", "proc_peak_vsz_total"), ("rchar", "io_rchar_total"), ("wchar", "io_wchar_total"),
                        ("syscr", "io_syscr_total"), ("syscw", "io_syscw_total"),
                        ("read_bytes", "io_read_bytes_total"), ("write_bytes", "io_write_bytes_total"),
                        ("vol_ctxt", "rusage_ctx_voluntary"), ("inv_ctxt", "rusage_ctx_involuntary")):
        assert int(row[column]) == summary[key], column


@pytest.mark.parametrize("name", METRON + DUCT)
def test_snakemake_row_is_what_the_summary_says(export, name):
    header, row = export("snakemake", path_of(name)).splitlines()
    assert header.split("\t") == SNAKEMAKE
    row = dict(zip(SNAKEMAKE, row.split("\t"), strict=True))
    summary = info_of(name).get("execution_summary", {})
    wall = summary.get("wall_clock_time") or lines_of(name)[-1]["elapsed"]
    assert row["s"] == f"{wall:.2f}"
    assert row["h:m:s"] == str(datetime.timedelta(seconds=int(wall)))
    if name == "metron-lost":
        largest = max(record["measurements"].get("smaps_pss_total", 0) for record in lines_of(name))
        assert row["max_pss"] == f"{largest / 2**20:.2f}"
        return
    if name in DUCT:
        assert row["max_rss"] == f"{summary['peak_rss'] / 2**20:.2f}"
        assert {row[key] for key in SNAKEMAKE[4:]} == {"NA"}
        return
    resident = [summary[key] for key in ("proc_peak_rss_total", "proc_hwm_max") if key in summary]
    assert row["max_rss"] == f"{max(resident) / 2**20:.2f}"
    for column, key in (("max_vms", "proc_peak_vsz_total"),
                        ("max_uss", "smaps_peak_uss_total"), ("max_pss", "smaps_peak_pss_total"),
                        ("io_in", "io_read_bytes_total"), ("io_out", "io_write_bytes_total")):
        assert row[column] == (f"{summary[key] / 2**20:.2f}" if key in summary else "NA"), column
    seconds = info_of(name)["headline"]["cpu_seconds"]["value"]
    assert row["cpu_time"] == f"{seconds:.2f}" and row["mean_load"] == f"{100 * seconds / wall:.2f}"


# Perfetto


@pytest.mark.parametrize("name", METRON + DUCT)
def test_perfetto_trace_has_the_shape_of_the_format(export, name):
    trace = json.loads(export("perfetto", path_of(name)))
    named = set()
    for event in trace["traceEvents"]:
        assert event["ph"] in "MCBEXi" and event["ts"] >= 0 and event["tid"] == event["pid"] > 0
        if event["ph"] == "C":
            assert list(map(type, event["args"].values()))[0] in (int, float) and len(event["args"]) == 1
        if event["ph"] == "X":
            assert event["dur"] >= 0
        if event["ph"] == "i":
            assert event["s"] in ("p", "g")
        if event["ph"] != "E":
            assert event["name"]
        if event["ph"] == "M" and event["name"] == "process_name":
            named.add(event["pid"])
    slices = [event for event in trace["traceEvents"] if event["ph"] in "BX"]
    assert slices and 4194305 in named and len(named) > 1


@pytest.mark.parametrize("name", METRON)
def test_perfetto_slices_and_instants_are_the_events(export, name):
    trace = json.loads(export("perfetto", path_of(name)))["traceEvents"]
    start = datetime.datetime.fromisoformat(info_of(name)["start_time"])
    expected, written = collections.Counter(), collections.Counter()
    kinds = {"spawn": "B", "exit": "E"}
    for event in lines_of(name, "events.jsonl"):
        at = (datetime.datetime.fromisoformat(event["timestamp"]) - start) / datetime.timedelta(microseconds=1)
        expected[kinds.get(event["event_type"], "i"), event["pid"], max(0, round(at))] += 1
    for event in trace:
        if event["ph"] in "BEi":
            written[event["ph"], event["pid"], round(event["ts"])] += 1
    assert written == expected
    spawned = {event["pid"] for event in trace if event["ph"] == "B"}
    assert not spawned & {event["pid"] for event in trace if event["ph"] == "X"}


@pytest.mark.parametrize("name", METRON)
def test_perfetto_counters_are_the_records(export, name):
    trace = json.loads(export("perfetto", path_of(name)))["traceEvents"]
    registry = info_of(name)["provenance"]["measurements"]
    counters = collections.defaultdict(list)
    for event in trace:
        if event["ph"] == "C":
            counters[event["name"], event["pid"]].append((event["ts"], *event["args"].values()))
    records = lines_of(name)
    begins = [0] + [record["elapsed"] for record in records]
    for key, told in registry.items():
        if told["scope"] != "single" or told["type"] in ("label", "categorical"):
            continue
        grows, at_end, total, expected = told["reduce"] == "delta", told["reduce"] in ("delta", "last"), 0, []
        for begin, record in zip(begins, records):
            if key not in record["measurements"]:
                continue
            value = record["measurements"][key]
            total += value
            at = record["elapsed"] if at_end else begin
            expected.append((pytest.approx(1e6 * at, abs=0.01), pytest.approx(total if grows else value)))
        assert counters[key, 4194305] == expected, key
    for pid, peak in ((pid, max(record["measurements"]["proc_rss"][pid] for record in records
                                if pid in record["measurements"].get("proc_rss", {})))
                      for pid in {pid for record in records for pid in record["measurements"].get("proc_rss", {})}):
        assert max(value for _, value in counters["proc_rss", int(pid)]) == peak


def test_perfetto_instants_tell_who_killed_it(export):
    trace = json.loads(export("perfetto", path_of("metron-killed")))["traceEvents"]
    killed, = (event for event in trace if event["ph"] == "i" and event["name"] == "killed by SIGKILL")
    told, = (event for event in lines_of("metron-killed", "events.jsonl") if event["event_type"] == "kill")
    assert killed["pid"] == told["pid"] and killed["args"]["sender_pid"] == told["sender_pid"]
    trace = json.loads(export("perfetto", path_of("metron-oom")))["traceEvents"]
    assert any(event["ph"] == "i" and event["name"] == "OOM kill" for event in trace)


# con-duct


def test_con_duct_lists_and_prints_it(export, con_duct, tmp_path):
    for i, name in enumerate(METRON):
        assert export("duct", path_of(name), "-o", f"{tmp_path}/new/{i}_") == ""
        assert {f"{i}_info.json", f"{i}_usage.jsonl"} <= set(os.listdir(tmp_path / "new"))
    rows = json.loads(con_duct("ls", "-f", "json", "-F", "exit_code", "schema_version", "num_samples", "message",
                               "hostname", "command", "--", *(f"{tmp_path}/new/{i}_info.json"
                                                              for i in range(len(METRON)))))
    assert len(rows) == len(METRON)
    for name, listed in zip(METRON, rows):
        own = info_of(name)
        assert listed["schema_version"] == "0.2.2" and listed["command"] == own["command"]
        assert listed["hostname"] == own["system"]["hostname"] and listed["message"] == own.get("message", "")
        assert listed["num_samples"] == sum(record["num_samples"] for record in lines_of(name))
        assert str(listed["exit_code"]) == str(own.get("execution_summary", {}).get("exit_code", "-"))
    assert "simulate.py 4.5" in con_duct("pp", "--humanize", f"{tmp_path}/new/0_info.json")
    assert "totals" in con_duct("pp", f"{tmp_path}/new/0_usage.jsonl")


PLOTS = [("ps-pcpu", "metron-killed"), ("ps-pcpu", "metron-one-point"), ("ps-cpu-timepoint", "metron-syscalls"),
         ("ps-cpu-timepoint", "metron-ranks/rank1_")]
# Its program, once for each line of arguments: to load what it draws with takes longer than to draw.
EACH_LINE = """
import json, sys
from con_duct.cli import main
for line in map(json.loads, sys.stdin):
    sys.argv = ["con-duct", *line]
    try:
        status = main()
    except SystemExit as end:
        status = end.code
    if status:
        sys.exit(f"{line}: {status}")
"""


def test_con_duct_plots_it(export, con_duct, tmp_path):
    lines = []
    for number, (mode, name) in enumerate(PLOTS):
        export("duct", path_of(name), "-o", f"{tmp_path}/{number}_")
        lines.append(["plot", "--cpu", mode, "-o", f"{tmp_path}/{number}.png", f"{tmp_path}/{number}_info.json"])
    con_duct("-c", EACH_LINE, program="python3", data="\n".join(map(json.dumps, lines)))
    for number, plot in enumerate(PLOTS):
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG"), plot


@pytest.mark.parametrize("name", METRON)
def test_duct_has_the_numbers_of_the_recording(export, tmp_path, name):
    export("duct", path_of(name), "-o", f"{tmp_path}/run_")
    usage = [json.loads(line) for line in (tmp_path / "run_usage.jsonl").read_text().splitlines()]
    records = [record for record in lines_of(name) if "proc_rss_total" in record["measurements"]]
    memory = info_of(name)["system"]["memory_total"]
    cores = info_of(name)["system"]["cpu_total"]
    start = usage.pop(0)
    assert start["num_samples"] == 0 and start["processes"] == {} and set(start["totals"].values()) == {0}
    began = datetime.datetime.fromisoformat(records[0]["timestamp"]) - datetime.timedelta(seconds=records[0]["elapsed"])
    assert abs(datetime.datetime.fromisoformat(start["timestamp"]) - began) < datetime.timedelta(milliseconds=1)
    assert len(usage) == len(records)
    for written, record in zip(usage, records):
        measured = record["measurements"]
        assert set(written) == {"timestamp", "num_samples", "processes", "totals", "averages"}
        assert datetime.datetime.fromisoformat(written["timestamp"]) == datetime.datetime.fromisoformat(
            record["timestamp"])
        assert written["num_samples"] == written["averages"]["num_samples"] == record["num_samples"]
        assert set(written["processes"]) == set(measured["proc_rss"])
        for pid, process in written["processes"].items():
            assert process["rss"] == measured["proc_rss"][pid] and process["vsz"] == measured["proc_vsz"][pid]
            assert process["stat"] == measured["proc_stat"][pid] and process["cmd"] == measured["proc_cmd"][pid]
            assert process["pmem"] == pytest.approx(100 * process["rss"] / memory)
            minutes, seconds = map(int, process["etime"].split(":"))
            assert 60 * minutes + seconds == int(measured["proc_etime"][pid])
            assert 0 <= process["pcpu"] <= 100.1 * cores
        assert written["totals"]["rss"] == measured["proc_rss_total"]
        assert written["averages"]["rss"] == measured["proc_ave_rss_total"]
    summary = json.loads((tmp_path / "run_info.json").read_bytes())["execution_summary"]
    assert summary["peak_rss"] == max(written["totals"]["rss"] for written in usage)
    assert summary["peak_pcpu"] == pytest.approx(max(written["totals"]["pcpu"] for written in usage))


def test_duct_pcpu_of_a_process_is_its_cpu_over_its_age(run_metron, export, tmp_path):
    """A process that is busy, then idle: the average over its life, not its rate."""
    busy = "import time\nwhile time.process_time() < 0.5: pass\ntime.sleep(0.7)"
    run = run_metron("-q --s-i 0.1 --r-i 0.1 --events off", ["/usr/bin/python3", "-c", busy])
    export("duct", run.path("info.json"), "-o", f"{tmp_path}/run_")
    usage = [json.loads(line) for line in (tmp_path / "run_usage.jsonl").read_text().splitlines()]
    age = [record["measurements"]["proc_etime"][run.root] for record in run.usage
           if run.root in record["measurements"].get("proc_etime", {})][-1]
    assert usage[-1]["processes"][run.root]["pcpu"] == pytest.approx(100 * 0.5 / age, rel=0.15)


def test_duct_is_as_private_as_the_recording(export, tmp_path):
    export("duct", path_of("metron-ended"), "-o", f"{tmp_path}/run_")
    for name in ("run_usage.jsonl", "run_info.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("taken", ["run_usage.jsonl", "run_info.json"])
def test_duct_overwrites_neither_of_its_files(run_metron, taken):
    (run_metron.cwd / taken).write_text("old")
    done = run_metron.metron(["export", "-f", "duct", "-o", "run_", path_of("metron-ended")])
    assert done.returncode == 1 and f"{taken} exists: remove it, or choose another prefix" in done.message
    assert [path.name for path in run_metron.cwd.iterdir()] == [taken]
    assert (run_metron.cwd / taken).read_text() == "old"


@pytest.mark.parametrize("name", DUCT)
def test_what_con_duct_recorded_is_not_made_its_own_again(run_metron, name):
    done = run_metron.metron(["export", "-f", "duct", "-o", "copy_", path_of(name)])
    assert done.returncode == 1 and "con-duct's own" in done.message
    assert done.files() == []


# Where it goes


def test_file_is_replaced_whole_and_keeps_its_mode(run_metron):
    target = run_metron.cwd / "job.prom"
    target.write_text("old")
    target.chmod(0o640)
    (run_metron.cwd / "link.prom").symlink_to("job.prom")
    for name in ("job.prom", "link.prom"):
        done = run_metron.metron(["export", "-f", "prometheus", "-o", name, path_of("metron-ended")])
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (run_metron.cwd / "link.prom").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_text().startswith("# HELP metron_run_info")
    assert sorted(path.name for path in run_metron.cwd.iterdir()) == ["job.prom", "link.prom"]


def test_old_file_stays_when_the_run_cannot_be_read(run_metron):
    target = run_metron.cwd / "run.csv"
    target.write_text("old")
    folder = shutil.copytree(RECORDINGS / "metron-short", run_metron.cwd / "run")
    (folder / "usage.jsonl").unlink()
    done = run_metron.metron("export -o run.csv run")
    assert done.returncode == 1 and "usage" in done.message
    assert target.read_text() == "old"
    assert [path.name for path in run_metron.cwd.iterdir() if path.name.startswith(".")] == []


def test_device_is_written_in_place(run_metron):
    before = os.stat("/dev/null")
    assert run_metron.metron(["export", "-o", "/dev/null", path_of("metron-short")]).returncode == 0
    assert os.stat("/dev/null").st_ino == before.st_ino
    done = run_metron.metron(["export", "-o", "/dev/full", path_of("metron-short")])
    assert done.returncode == 1 and "No space left" in done.message


def test_full_stdout_is_trouble(run_metron):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([run_metron.binary, "export", path_of("metron-ended")], stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 1 and b"stdout" in done.stderr


@pytest.mark.parametrize("args, reason", [
    ("-o .", "directory"), ("-o missing/file", "No such file"), ("-f duct -o /proc/nothing/x_", "/proc/nothing"),
])
def test_output_that_cannot_be_written_is_named(run_metron, args, reason):
    done = run_metron.metron(["export", *words(args), path_of("metron-short")])
    assert done.returncode == 1 and reason in done.message, done
    assert done.files() == []


def test_recording_is_not_overwritten_by_its_export(run_metron):
    shutil.copytree(RECORDINGS / "metron-short", run_metron.cwd / "run")
    before = (run_metron.cwd / "run" / "usage.jsonl").read_bytes()
    for args in ("-o run/usage.jsonl run", "-o run/info.json run", "-f duct -o run/ run", "-o run/events.jsonl run"):
        done = run_metron.metron(["export", *words(args)])
        assert done.returncode == 1 and done.message.count("\n") == 1, args
    assert (run_metron.cwd / "run" / "usage.jsonl").read_bytes() == before
    assert len(os.listdir(run_metron.cwd / "run")) == 5


@pytest.mark.parametrize("args", [
    "a b", "-f xml a", "-f duct a", "-f duct -o - a", "--no-such-option a",
])
def test_wrong_usage_is_told_as_such(run_metron, args):
    done = run_metron.metron(["export", *words(args)])
    assert done.returncode == 2 and done.message.count("\n") == 1 and done.stdout == b""


# Bad input


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("damage", [
    b"", b"\0\1\2\xff" * 1000, b"{", b"[]", b'{"schema_version": "77.0", "metron_version": "9"}', b'{"a": 1}'])
def test_info_that_is_none_is_an_error(run_metron, form, damage):
    (run_metron.cwd / "info.json").write_bytes(damage)
    done = run_metron.metron(["export", "-f", form, "info.json"])
    assert done.returncode == 1 and done.stdout == b"" and "info.json" in done.message
    assert done.message.count("\n") == 1


def test_missing_run_is_an_error(run_metron):
    done = run_metron.metron("export nowhere")
    assert done.returncode == 1 and "nowhere" in done.message


@pytest.mark.parametrize("form", FORMATS)
def test_damaged_lines_are_passed_over_and_told(run_metron, form):
    folder = shutil.copytree(RECORDINGS / "metron-lost", run_metron.cwd / "run")
    lines = (folder / "usage.jsonl").read_bytes().splitlines(keepends=True)
    lines[1] = b"\0\xff\n"
    lines[-1] = lines[-1][:200]
    (folder / "usage.jsonl").write_bytes(b"".join(lines))
    done = run_metron.metron(["export", "-f", form, "run"])
    assert done.returncode == 1 and "2 damaged lines passed over, the first is line 2" in done.message
    assert done.stdout
    if form == "csv":
        assert done.stdout.count(b"\n") == len(lines) - 2 + 1


@pytest.mark.parametrize("form", FORMATS)
def test_usage_of_another_kind_has_no_records(run_metron, form):
    folder = shutil.copytree(RECORDINGS / "metron-lost", run_metron.cwd / "run")
    (folder / "usage.jsonl").write_bytes(os.urandom(100_000))
    done = run_metron.metron(["export", "-f", form, "run"])
    assert done.returncode == 1 and "usage.jsonl" in done.message
    if form == "snakemake":
        assert done.stdout.splitlines()[1].split(b"\t") == [b"NA"] * len(SNAKEMAKE)


def test_ordinary_user_exports_what_it_may_read(run_as_user):
    shutil.copytree(RECORDINGS / "metron-ended", run_as_user.cwd / "run")
    for path in [run_as_user.cwd / "run", *run_as_user.cwd.joinpath("run").iterdir()]:
        path.chmod(0o755)
    for form in FORMATS:
        done = run_as_user.metron(["export", "-f", form, "-o", f"out.{form}", "run"])
        assert (done.returncode, done.stderr) == (0, b""), done
        assert (run_as_user.cwd / f"out.{form}").stat().st_size > 100
    if os.getuid() != 0:
        return
    done = run_as_user.metron("export -o run/out.csv run")
    assert done.returncode == 1 and "Permission denied" in done.message
    (run_as_user.cwd / "run" / "usage.jsonl").chmod(0o600)
    done = run_as_user.metron("export run")
    assert done.returncode == 1 and "usage.jsonl" in done.message and "Permission denied" in done.message


@pytest.mark.plain
def test_long_recording_takes_little_memory(run_metron):
    folder = shutil.copytree(RECORDINGS / "metron-short", run_metron.cwd / "run")
    line = (folder / "usage.jsonl").read_bytes().splitlines(keepends=True)[0]
    with open(folder / "usage.jsonl", "wb") as usage:
        for _ in range(40):
            usage.write(line * (1_000_000 // len(line)))
    for form, suffix in (("csv", ""), ("perfetto", ""), ("duct", "_")):
        done = subprocess.run(["prlimit", f"--data={8 << 20}", run_metron.binary, "export", "-f", form, "-o",
                               f"out{suffix}", "run"], cwd=run_metron.cwd, capture_output=True, timeout=60,
                              check=False)
        assert (done.returncode, done.stderr) == (0, b""), form
