"""Recordings of con-duct: what its users meet when they come to metron. Made by hand, with times of hours."""

import csv
import io
import json
import pathlib
import shutil
import subprocess

import pytest

from support.held import await_records
from support.records import strict_json

RECORDINGS = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
START = 1_800_000_000
MEMORY = 8 << 30


def etime(seconds):
    """As ps has it."""
    days, rest = divmod(int(seconds), 86400)
    hours, rest = divmod(rest, 3600)
    text = f"{rest // 60:02}:{rest % 60:02}"
    if days or hours:
        text = f"{hours:02}:{text}"
    return f"{days}-{text}" if days else text


def stamp(seconds):
    minutes, rest = divmod(START - 1_799_971_200 + seconds, 60)
    return f"2027-01-15T{minutes // 60:02}:{minutes % 60:02}:{rest:02}+00:00"


def record(at, processes):
    """`processes`: {pid: (command, age, CPU seconds)}."""
    told = {pid: {"pcpu": round(100 * cpu / age, 1) if age else 0.0, "pmem": 1.0, "rss": 50 << 20, "vsz": 90 << 20,
                  "timestamp": stamp(at), "etime": etime(age), "stat": {"S": 60}, "cmd": command}
            for pid, (command, age, cpu) in processes.items()}
    total = {"pmem": 1.0, "pcpu": sum(process["pcpu"] for process in told.values()), "rss": 60 << 20, "vsz": 99 << 20}
    return {"timestamp": stamp(at), "num_samples": 60, "processes": told, "totals": total,
            "averages": {**total, "num_samples": 60}}


def write_run(prefix, records, info=True, usage="usage.jsonl"):
    prefix.parent.mkdir(parents=True, exist_ok=True)
    wall = records[-1][0]
    summary = {"exit_code": 0, "command": "pipeline", "logs_prefix": str(prefix), "wall_clock_time": float(wall),
               "start_time": float(START), "end_time": float(START + wall), "num_samples": 60 * len(records),
               "num_reports": len(records), "peak_rss": 60 << 20, "working_directory": "/w"}
    (prefix.parent / f"{prefix.name}{usage}").write_text(
        "".join(json.dumps(record(*one)) + "\n" for one in records))
    if info:
        (prefix.parent / f"{prefix.name}info.json").write_text(json.dumps(
            {"command": "pipeline", "system": {"cpu_total": 4, "memory_total": MEMORY, "hostname": "node17", "uid": 1,
                                               "user": "ada"},
             "env": {}, "gpu": None, "duct_version": "0.23.0", "schema_version": "0.2.2",
             "execution_summary": summary, "output_paths": {}, "message": ""}))
    return prefix


def hours(steady, late, wall):
    """A record a minute: one process at a steady share of a core, and one that is busy for the last three minutes."""
    records = []
    for at in range(60, wall + 1, 60):
        processes = {"10": ("downloader", at, steady * at)}
        if at > wall - 180:
            processes["20"] = ("packer", at - (wall - 180), 0.99 * (at - (wall - 180)))
        records.append((at, processes))
    return records


@pytest.fixture
def long_run(run_metron):
    return write_run(run_metron.cwd / "run_", hours(0.555, 180, 26657 // 60 * 60))


def rows_of(csv_text):
    return list(csv.DictReader(io.StringIO(csv_text.decode())))


def test_cpu_of_a_process_is_of_its_whole_life(run_metron, long_run):
    """It is judged over many records at once, because its pcpu is rounded: all of that time counts."""
    done = run_metron.metron(["report", "--json", str(long_run)])
    tops = strict_json(done.stdout)["processes"]["by_cpu_sampled"]["rows"]
    assert [row["command"] for row in tops[:2]] == ["downloader", "packer"]
    assert tops[0]["pcpu_seconds"] == pytest.approx(0.555 * 26640)
    assert tops[1]["pcpu_seconds"] == pytest.approx(0.99 * 180)


def test_the_total_is_a_line_and_not_dots(run_metron, long_run):
    """Its times follow each other without a gap, whatever the interval of the records is."""
    done = run_metron.metron(["export", "-f", "perfetto", str(long_run)])
    totals = [event for event in json.loads(done.stdout)["traceEvents"]
              if event["ph"] == "C" and event["name"] == "total_pcpu_rate"]
    assert totals[0]["ts"] == 0 and len(totals) > 100
    values = [next(iter(event["args"].values())) for event in totals]
    assert all(value == pytest.approx(55.5, abs=5) for value in values[:-1])
    rates = [row["total_pcpu_rate"] for row in rows_of(run_metron.metron(["export", str(long_run)]).stdout)]
    assert "" in rates and "0" not in rates


def test_the_first_record_has_a_total(run_metron):
    """A process that began in the record has used its pcpu x etime in it."""
    records = [(60, {"10": ("a", 60, 30.0)}), (120, {"10": ("a", 120, 60.0)})]
    run = write_run(run_metron.cwd / "run_", records)
    rates = [float(row["total_pcpu_rate"]) for row in rows_of(run_metron.metron(["export", str(run)]).stdout)]
    assert rates == [50, 50]


# Without an info.json: con-duct writes it at the end, and `-t processes-samples` of both leaves it out


def no_info(prefix):
    pass


def empty_info(prefix):
    (prefix.parent / f"{prefix.name}info.json").write_bytes(b"")


@pytest.fixture(params=[no_info, empty_info])
def usage_only(request, run_metron):
    """con-duct's, of four minutes: half a core; the second process came later."""
    records = [(60, {"10": ("a", 60, 30.0)}), (120, {"10": ("a", 120, 60.0)}),
               (180, {"10": ("a", 180, 90.0), "11": ("b", 30, 15.0)})]
    prefix = write_run(run_metron.cwd / "logs" / "run_", records, info=False)
    request.param(prefix)
    return prefix


def listed(run_metron, *args):
    done = run_metron.metron(["ls", "--json", *map(str, args)])
    assert (done.returncode, done.stderr) == (0, b""), done
    return strict_json(done.stdout)


def test_a_run_without_info_is_listed(run_metron, usage_only):
    for where in (usage_only.parent, usage_only, f"{usage_only}usage.jsonl"):
        run, = listed(run_metron, where)
        assert run["status"] == "unknown" and run["peak_memory"] == 60 << 20 and "wall" not in run
        assert run["peak_memory_source"] == "peak_rss" and run["prefix"].endswith("logs/run_")
    assert listed(run_metron, "--filter", "status == unknown", usage_only.parent)
    run, = listed(run_metron, "-F", "start_time,num_reports,peak_pmem,average_rss", usage_only.parent)
    told = {"start_time": START + 60, "num_reports": 3, "peak_pmem": 1, "average_rss": 60 << 20}
    assert {key: run[key] for key in told} == told


def test_a_run_of_an_older_con_duct_without_info_is_listed(run_metron, usage_only):
    """An older con-duct calls the file usage.json."""
    usage = pathlib.Path(f"{usage_only}usage.jsonl").rename(f"{usage_only}usage.json")
    for where in (usage_only.parent, usage_only, usage):
        run, = listed(run_metron, where)
        assert run["peak_memory"] == 60 << 20 and run["prefix"].endswith("logs/run_")


def test_a_run_without_info_is_drawn_and_reported(run_metron, usage_only):
    for where in (usage_only.parent, usage_only, f"{usage_only}usage.jsonl"):
        plot = run_metron.metron(["plot", str(where)])
        assert plot.returncode == 0 and b"no info.json" in plot.stdout and b"no values" not in plot.stdout
    page = strict_json(run_metron.metron(["report", "--json", str(usage_only)]).stdout)
    assert page["outcome"]["status"] == "unknown"
    assert [row["pcpu_seconds"] for row in page["processes"]["by_cpu_sampled"]["rows"]] == [90, 15]


def test_a_run_without_info_is_exported(run_metron, usage_only):
    rows = rows_of(run_metron.metron(["export", str(usage_only)]).stdout)
    assert [row["total_rss"] for row in rows] == [str(60 << 20)] * 3
    row = run_metron.metron(["export", "-f", "snakemake", str(usage_only)]).stdout.decode().splitlines()[1].split("\t")
    assert row[:3] == ["120.00", "0:02:00", "60.00"]
    for form in ("nextflow", "prometheus", "perfetto"):
        assert run_metron.metron(["export", "-f", form, str(usage_only)]).returncode == 0


def test_a_run_without_info_becomes_a_picture(run_metron, usage_only, programs):
    if not (programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures")
    assert run_metron.metron(["plot", "-o", "run.svg", str(usage_only)]).returncode == 0
    assert b"no info.json" in (run_metron.cwd / "run.svg").read_bytes()


def test_pp_shows_the_usage_of_a_run_without_info(run_metron, usage_only):
    assert b'"totals"' in run_metron.metron(["pp", str(usage_only)]).stdout
    assert b"60 MiB" in run_metron.metron(["pp", "-H", str(usage_only)]).stdout


@pytest.mark.parametrize("told", [
    {"measurements": {"proc_rss_total": 5}}, {"totals": {"rss": 5}, "averages": {"rss": 9}}])
def test_numbers_beyond_all_sums_are_left_out(run_metron, told):
    line = {"timestamp": stamp(0), "num_samples": 1e308, **told}
    (run_metron.cwd / "a_usage.jsonl").write_text(2 * (json.dumps(line) + "\n"))
    run, = listed(run_metron, "-F", "num_reports,status", "a_")
    assert (run["num_reports"], run["status"]) == (2, "unknown")
    for field in ("num_samples", "average_rss"):
        assert run_metron.metron(["ls", "-F", field, "a_"]).returncode == 1


def test_an_empty_usage_file_is_no_run(run_metron):
    write_run(run_metron.cwd / "a_", [(60, {})], info=False)
    (run_metron.cwd / "a_usage.jsonl").write_text("")
    empty_info(run_metron.cwd / "a_")
    for command in ("ls", "plot", "report", "export"):
        done = run_metron.metron([command, "a_"])
        assert done.returncode == 1 and "a_info.json: empty" in done.message


def test_samples_of_metron_alone_have_their_units(run_metron):
    """The keys of the records are known to the metron that reads them."""
    started = run_metron.start("-q -t processes-samples --s-i 0.05 --r-i 0.1 --events off", "/bin/cat",
                               stdin=subprocess.PIPE)
    await_records(started, 3)
    run = started.finish()
    assert "info.json" not in run.files()
    prefix = str(run.path("usage.jsonl")).removesuffix("usage.jsonl")
    told, = listed(run_metron, prefix)
    assert told["status"] == "unknown" and told["peak_memory"] > 0 and told["cpu_seconds"] >= 0
    peak = max(record["measurements"]["proc_rss_total"] for record in run.usage
               if "proc_rss_total" in record["measurements"])
    rows = rows_of(run_metron.metron(["export", prefix]).stdout)
    assert max(int(row["proc_rss_total"]) for row in rows if row["proc_rss_total"]) == peak
    row = run_metron.metron(["export", "-f", "snakemake", prefix]).stdout.decode().splitlines()[1].split("\t")
    assert float(row[2]) >= round(peak / 2**20, 2)
    page = strict_json(run_metron.metron(["report", "--json", prefix]).stdout)
    assert page["outcome"]["status"] == "unknown"
    plot = run_metron.metron(["plot", prefix])
    assert plot.returncode == 0 and b"proc_pdcpu_total" in plot.stdout and b"(MiB)" in plot.stdout
    assert run_metron.metron(["export", "-f", "duct", "-o", "as_duct_", prefix]).returncode == 0


# Habits


@pytest.mark.parametrize("level, code", [("WARNING", 0), ("Error", 0), ("NONE", 0), ("CRITICAL", 0), ("LOUD", 2)])
def test_log_levels_in_any_case(run_metron, level, code):
    done = run_metron.metron(["run", "-l", level, "-p", "run_", "/bin/true"])
    assert done.returncode == code
    assert ("not one of" in done.message) == (code == 2)


def test_colors_needs_no_word(run_metron):
    done = run_metron.metron(["run", "--colors", "-p", "run_", "/bin/echo", "-n", "x"])
    assert done.returncode == 0 and done.stdout == b"x" and b"\x1b[" in done.stderr
    for words in (["--colors", "never"], ["--colors=never"], ["--no-clobber", "--colors=auto"]):
        done = run_metron.metron(["run", *words, "--clobber", "-p", "run_", "/bin/echo", "x"])
        assert done.returncode == 0 and done.stdout == b"x\n" and b"\x1b[" not in done.stderr
    for words in (["ls", "--colors", "."], ["ls", ".", "--colors"]):
        done = run_metron.metron(words)
        assert done.returncode == 0 and b"\x1b[" in done.stdout
    assert run_metron.metron(["ls", "--colors=purple", "."]).returncode == 2


@pytest.fixture
def three(run_metron):
    for name, folder in (("a", "duct-0.2.2"), ("b", "duct-0.2.3"), ("c", "duct-failed")):
        shutil.copytree(RECORDINGS / folder, run_metron.cwd / "logs" / name)
    return run_metron.cwd / "logs"


def test_fields_may_be_words(run_metron, three):
    for line in ("ls -f csv -F exit_code message schema_version -- logs",
                 "ls logs -f csv -F exit_code message schema_version",
                 "ls -f csv --fields exit_code message schema_version logs",
                 "ls -f csv -F exit_code,message schema_version logs"):
        done = run_metron.metron(line.split())
        assert done.returncode == 0, done
        assert done.stdout.decode().splitlines()[0] == "exit_code,message,schema_version", line
    # What follows -Fa is no field, nor is a file or a run by any name that no field has.
    rows = strict_json(run_metron.metron("ls --json -F id,prefix logs".split()).stdout)
    for row in rows:
        for id in (row["id"], row["id"][:5].upper()):
            for option in ("-F", "--sort-by"):
                one, = strict_json(run_metron.metron(
                    ["ls", "--json", option, "exit_code", "id", id], env={"METRON_OUTPUT_PREFIX": "logs/"}).stdout)
                assert one["id"] == row["id"], (option, id)
    for word in ("last", "-1", "-3"):
        done = run_metron.metron(["ls", "-f", "csv", "-F", "exit_code", "schema_version", word],
                                 env={"METRON_OUTPUT_PREFIX": "logs/"})
        assert done.stdout.count(b"\n") == 2 and done.stdout.startswith(b"exit_code,schema_version\n"), done
    done = run_metron.metron("ls -F exit_code 2026".split(), env={"METRON_OUTPUT_PREFIX": "logs/"})
    assert "2026 may be any of 3 runs" in done.message
    (run_metron.cwd / "message").mkdir()
    assert run_metron.metron("ls -f csv -F exit_code message".split()).stdout == b"exit_code\n"
    assert run_metron.metron("ls -f csv -Fexit_code schema_version".split()).returncode == 1


def test_sort_by_several_fields(run_metron, three):
    def order(*words):
        done = run_metron.metron(["ls", "-f", "csv", "-F", "message,exit_code,schema_version", *words, "logs"])
        assert done.returncode == 0, done
        return [row["schema_version"] for row in rows_of(done.stdout)]

    assert order("--sort-by", "exit_code", "schema_version") == ["0.2.2", "0.2.3", "0.2.2"]
    assert order("--sort", "exit_code,schema_version", "--reverse") == ["0.2.2", "0.2.3", "0.2.2"]
    assert order("--sort-by", "schema_version", "exit_code") == ["0.2.2", "0.2.2", "0.2.3"]
    failed = [row["exit_code"] for row in rows_of(run_metron.metron(
        "ls -f csv -F exit_code --sort-by schema_version exit_code --reverse -- logs".split()).stdout)]
    assert failed == ["0", "137", "0"]


@pytest.mark.parametrize("theirs, ours", [("auto", "table"), ("pyout", "table"), ("json_pp", "json"), ("YAML", "yaml")])
def test_formats_by_their_names(run_metron, three, theirs, ours):
    done = run_metron.metron(["ls", "-f", theirs, "logs"])
    assert done.returncode == 0 and done.stdout == run_metron.metron(["ls", "-f", ours, "logs"]).stdout


def test_an_expression_by_their_option(run_metron, three):
    for option in ("-e", "--eval-filter"):
        done = run_metron.metron(["ls", "--json", option, "exit_code == 0 and schema_version == '0.2.3'", "logs"])
        assert [run["prefix"].split("/")[-2] for run in strict_json(done.stdout)] == ["b"]
    done = run_metron.metron(["ls", "-e", "re.search('2025.*', prefix)", "logs"])
    assert done.returncode == 2 and "FIELD =~ 'PATTERN'" in done.message


def test_the_cpu_of_their_plot(run_metron):
    run = str(RECORDINGS / "duct-jsonl")
    assert b"total_pcpu (" in run_metron.metron(["plot", "--cpu", "ps-pcpu", run]).stdout
    for word in ("ps-cpu-timepoint", "total_pcpu_rate"):
        assert b"total_pcpu_rate (" in run_metron.metron(["plot", "--cpu", word, run]).stdout
    own = str(RECORDINGS / "metron-ended")
    done = run_metron.metron(["plot", "--cpu", "ps-cpu-timepoint", own])
    assert done.returncode == 0 and done.stdout == run_metron.metron(["plot", own]).stdout
    assert run_metron.metron(["plot", "--cpu", "ps-pcpu", own]).returncode == 2


def test_their_keys_in_a_summary(run_metron):
    """Their own summary, as con-duct 0.23 has it."""
    names = ["peak_rss", "average_rss", "peak_vsz", "average_vsz", "peak_pmem", "average_pmem", "peak_pcpu",
             "average_pcpu"]
    ours = [f"proc_{'peak' if name[0] == 'p' else 'ave'}_{name.split('_')[1].replace('pcpu', 'pdcpu')}_total"
            for name in names]
    started = run_metron.start("--s-i 0.05 --r-i 0.1 --summary-format " + "|".join(f"{{{name}}}" for name in names + ours),
                               "/bin/cat", stdin=subprocess.PIPE)
    await_records(started, 3)
    run = started.finish()
    line = next(line for line in run.message.splitlines() if "|" in line)
    values = line.split("|")
    assert values[:8] == values[8:] and float(values[0]) == run.summary["proc_peak_rss_total"]


def test_their_variables_are_hinted_at(run_metron):
    theirs = {"DUCT_SAMPLE_INTERVAL": "0.5", "DUCT_MESSAGE": "hi", "DUCT_UNKNOWN": "1"}
    done = run_metron.metron(["run", "-p", "a_", "/bin/true"], env=theirs)
    hint, = [line for line in done.message.splitlines() if "DUCT_" in line]
    assert "METRON_SAMPLE_INTERVAL instead of DUCT_SAMPLE_INTERVAL" in hint
    assert "METRON_MESSAGE instead of DUCT_MESSAGE" in hint and "UNKNOWN" not in hint
    done = run_metron.metron(["run", "-p", "b_", "/bin/true"], env={"DUCT_MESSAGE": "hi", "METRON_MESSAGE": "hi"})
    assert "DUCT_" not in done.message
    assert "DUCT_" not in run_metron.metron(["run", "-q", "-p", "c_", "/bin/true"], env=theirs).message
    assert "DUCT_" not in run_metron.metron(["ls", "a_"], env=theirs).message


def test_their_settings_file_is_hinted_at(run_metron):
    (run_metron.cwd / ".duct").mkdir()
    (run_metron.cwd / ".duct" / ".env").write_text("DUCT_MESSAGE=hi\n")
    assert ".metron/metron.conf" in run_metron.metron(["run", "-p", "a_", "/bin/true"]).message


def test_their_folder_is_named_where_ours_is_empty(run_metron):
    shutil.copytree(RECORDINGS / "duct-0.2.3", run_metron.cwd / ".duct" / "logs")
    done = run_metron.metron(["ls"])
    assert done.returncode == 0 and "metron ls .duct/logs" in done.message
    assert run_metron.metron(["ls", ".duct/logs"]).returncode == 0
    shutil.copytree(RECORDINGS / "metron-ended", run_metron.cwd / ".metron" / "logs")
    assert ".duct" not in run_metron.metron(["ls"]).message


def test_their_times_are_dates_for_people(run_metron):
    done = run_metron.metron(["pp", "-H", str(RECORDINGS / "duct-0.2.3")], env={"TZ": "UTC"})
    assert b'"start_time": 2026-11-15 18:24:16 UTC' in done.stdout
    assert b'"end_time": 2026-11-15 18:24:19 UTC' in done.stdout
    assert b'"start_time": 1794767' in run_metron.metron(["pp", str(RECORDINGS / "duct-0.2.3")]).stdout
