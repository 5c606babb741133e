"""The other commands of the program: measurements, doctor, version, help."""

import re
import shutil
import subprocess

import pytest

from support.records import check_no_null, strict_json

COMMANDS = ["run", "ls", "report", "plot", "diff", "suggest", "pp", "export", "trace", "measurements", "doctor", "daemon",
            "job", "events", "rm", "gc"]
PROMISED = """
    proc_rss proc_rss_total proc_vsz proc_vsz_total proc_hwm proc_hwm_max proc_pdcpu proc_pdcpu_total
    proc_cpu_seconds proc_etime proc_stat proc_cmd proc_ppid proc_start_time proc_threads proc_threads_total
    proc_fds proc_fds_total proc_fd_limit proc_minor_faults proc_minor_faults_total proc_major_faults
    proc_major_faults_total proc_ctx_voluntary proc_ctx_voluntary_total proc_ctx_involuntary
    proc_ctx_involuntary_total proc_processes proc_zombies proc_spawned proc_exited
    ledger_live_seconds ledger_reaped_seconds
    rusage_cpu_user_seconds rusage_cpu_system_seconds rusage_ctx_voluntary rusage_ctx_involuntary
    rusage_in_bytes rusage_out_bytes rusage_max_rss
    sys_mem_total sys_mem_used sys_swap_used sys_load1 sys_load5 sys_load15 sys_mem_available sys_cpu_pct
    sys_iowait_pct
    self_cpu_seconds self_samples self_missed_ticks self_rss self_sample_seconds
"""


def listing(runner):
    run = runner.metron("measurements --json")
    assert run.returncode == 0
    value = strict_json(run.stdout)
    check_no_null(value, "measurements --json")
    return value if isinstance(value, list) else value["measurements"]


def test_measurements_lists_every_key_with_its_properties(run_metron):
    entries = listing(run_metron)
    keys = [entry["key"] for entry in entries]
    assert len(keys) == len(set(keys))
    assert set(PROMISED.split()) <= set(keys)
    for entry in entries:
        for field in ("key", "source", "scope", "type", "unit", "reduce", "meaning"):
            assert entry[field] or entry[field] == 0, (entry["key"], field)
        assert entry["key"].startswith(entry["source"] + "_")
        assert entry["scope"] in ("single", "per_pid", "per_device")
        assert entry["type"] in ("gauge", "counter", "label", "categorical")
        assert entry["reduce"] in ("max", "min", "last", "delta", "tally")


@pytest.mark.parametrize("key, properties", [
    ("proc_rss", ("per_pid", "gauge", "bytes", "max")),
    ("proc_rss_total", ("single", "gauge", "bytes", "max")),
    ("proc_hwm_max", ("single", "gauge", "bytes", "last")),
    ("proc_pdcpu", ("per_pid", "counter", "percent", "max")),
    ("proc_cpu_seconds", ("single", "counter", "seconds", "delta")),
    ("proc_stat", ("per_pid", "categorical", "none", "tally")),
    ("proc_cmd", ("per_pid", "label", "none", "last")),
    ("proc_minor_faults_total", ("single", "counter", "count", "delta")),
    ("ledger_reaped_seconds", ("single", "counter", "seconds", "delta")),
    ("rusage_max_rss", ("single", "gauge", "bytes", "last")),
    ("sys_mem_available", ("single", "gauge", "bytes", "min")),
    ("self_missed_ticks", ("single", "counter", "count", "delta")),
])
def test_measurements_are_those_of_the_specification(run_metron, key, properties):
    (entry,) = [entry for entry in listing(run_metron) if entry["key"] == key]
    assert (entry["scope"], entry["type"], entry["unit"], entry["reduce"]) == properties


def test_records_hold_only_listed_keys(run_metron):
    entries = {entry["key"]: entry for entry in listing(run_metron)}
    run = run_metron("--sample-interval 0.1", "sleep 0.4")
    for record in run.usage:
        for key in record["measurements"]:
            plain = re.sub(r"^([a-z]+)_ave_", r"\1_", key)
            assert key in entries or plain in entries, key
    for key in run.summary:
        source = key.split("_")[0]
        if source in ("proc", "ledger", "rusage", "sys", "self"):
            plain = re.sub(r"^([a-z]+)_(peak|ave|low)_", r"\1_", key)
            assert key in entries or plain in entries, key


def test_measurements_fit_a_narrow_screen(run_metron):
    done = subprocess.run([run_metron.binary, "measurements"], check=True, capture_output=True, text=True,
                          cwd=run_metron.cwd, env=run_metron.environment({"COLUMNS": "80"}))
    lines = done.stdout.splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert [line for line in lines if line.startswith("      ") and len(line) > 80] == []


def test_measurements_table_is_for_people(run_metron):
    run = run_metron.metron("measurements")
    assert run.returncode == 0
    assert b"proc_rss_total" in run.stdout and b"\x1b" not in run.stdout


def test_doctor_tells_what_works_and_why_not(run_metron):
    run = run_metron.metron("doctor")
    assert run.returncode == 0
    text = run.stdout.decode().lower()
    for word in ("tier", "connector", "proc"):
        assert word in text, word


def test_doctor_json(run_metron):
    run = run_metron.metron("doctor --json")
    assert run.returncode == 0
    value = strict_json(run.stdout)
    check_no_null(value, "doctor --json")
    assert "plain" in run.stdout.decode()


def test_doctor_as_an_ordinary_user(run_as_user):
    run = run_as_user.metron("doctor")
    assert run.returncode == 0 and run.stdout


def test_version_has_number_and_features(run_metron):
    run = run_metron.metron("--version")
    assert run.returncode == 0
    assert re.match(rb"metron \d+\.\d+\.\d+", run.stdout)
    assert len(run.stdout.split()) > 2, "with the features of the build"
    info = run_metron("", "true").info
    assert info["metron_version"] in run.stdout.decode()


@pytest.fixture
def lonely(run_metron, programs, tmp_path):
    """A metron without the programs that are shipped with it."""
    folder = tmp_path / "alone"
    folder.mkdir()
    shutil.copy(programs / "metron", folder / "metron")

    def run(*line):
        return subprocess.run([folder / "metron", *line], env=run_metron.environment(), capture_output=True,
                              check=True).stdout

    return run


def test_version_and_doctor_say_whether_pictures_can_be_drawn(run_metron, programs):
    if not (programs / "metron-plot").exists():
        pytest.skip("this build has no cairo")
    (features,) = re.findall("^features: .*", run_metron.metron("--version").stdout.decode(), re.M)
    assert "pictures (cairo)" in features
    (finding,) = [each for each in strict_json(run_metron.metron("doctor --json").stdout) if each["name"] == "pictures"]
    assert finding["works"] and str(programs / "metron-plot") in finding["detail"]


def test_version_lists_what_this_build_can_do(run_metron, programs, lonely):
    (features,) = re.findall("^features: .*", run_metron.metron("--version").stdout.decode(), re.M)
    assert "GPU (NVML)" in features
    assert ("daemon with history (SQLite)" in features) == (programs / "metron-daemon").exists()
    assert ("export of the history (SQLite)" in features) == (programs / "metron-history").exists()
    (lacking,) = re.findall("^not in this build: .*", lonely("--version").decode(), re.M)
    assert "daemon with history (SQLite)" in lacking and "export of the history (SQLite)" in lacking
    assert "GPU" not in lacking


def test_doctor_says_whether_the_history_can_be_exported(run_metron, programs, lonely):
    def finding(output):
        (found,) = [each for each in strict_json(output) if each["group"] == "daemon's history"]
        return found
    assert finding(run_metron.metron("doctor --json").stdout)["works"] == (programs / "metron-history").exists()
    found = finding(lonely("doctor", "--json"))
    assert not found["works"] and "SQLite" in found["detail"]


def test_version_and_doctor_say_what_pictures_lack(lonely):
    (lacking,) = re.findall("^not in this build: .*", lonely("--version").decode(), re.M)
    assert "pictures (cairo)" in lacking
    (finding,) = [each for each in strict_json(lonely("doctor", "--json")) if each["name"] == "pictures"]
    assert not finding["works"] and "cairo" in finding["detail"] and "terminal" in finding["detail"]


@pytest.mark.parametrize("line", ["--help", *[f"{command} --help" for command in COMMANDS]])
def test_help_is_on_stdout_with_an_example(run_metron, line):
    run = run_metron.metron(line)
    assert run.returncode == 0
    assert run.stderr == b""
    text = run.stdout.decode()
    assert "metron" in text and ("xample" in text)
    assert max(len(each) for each in text.splitlines()) <= 120


def test_help_of_run_names_every_option(run_metron):
    text = run_metron.metron("run --help").stdout.decode()
    for option in ("--output-prefix", "--clobber", "--capture-outputs", "--outputs", "--record-types", "--message",
                   "--job", "--config-hash", "--sheet", "--cgroup", "--mode", "--wait", "--pty",
                   "--sample-interval", "--report-interval", "--fail-time", "--summary-format", "--colors",
                   "--log-level", "--measurements", "-q", "-p", "-c", "-o", "-t", "-m", "-l"):
        assert option in text, option


def test_top_level_help_names_every_command(run_metron):
    text = run_metron.metron("--help").stdout.decode()
    for command in COMMANDS:
        assert re.search(rf"^\s+(metron )?{command}\b", text, re.M), command


def test_without_a_command_it_is_wrong_usage(run_metron):
    run = run_metron.metron("")
    assert run.returncode == 2 and run.stderr and not run.stdout


def test_unknown_command_is_named_with_the_nearest(run_metron):
    run = run_metron.metron("docter")
    assert run.returncode == 2
    assert "docter" in run.message and "doctor" in run.message


@pytest.mark.parametrize("line", ["measurements", "doctor", "--version", "run --help"])
def test_full_output_device_is_an_error(run_metron, line):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([run_metron.binary, *line.split()], stdout=full, stderr=subprocess.PIPE,
                              check=False, env=run_metron.environment())
    assert done.returncode != 0
