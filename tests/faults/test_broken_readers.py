"""A reader that fails costs its own measurements and nothing else: its keys are absent, never 0 or null, the reason is
in info.json and in metron doctor, and everything else goes on."""

import json
import re

import pytest

# What each reader alone provides: keys of records (or their beginnings) that must be absent without it.
READERS = {
    "statm": ["proc_rss", "proc_pmem"],
    "status": ["proc_hwm", "proc_swap", "proc_ctx_"],
    "fd": ["proc_fds"],
    "limits": ["proc_fd_limit"],
    "cmdline": ["proc_cmd"],
    "io": ["io_read", "io_write", "io_rchar", "io_wchar", "io_sysc"],
    "smaps_rollup": ["smaps_"],
    "meminfo": ["sys_mem", "sys_swap"],
    "loadavg": ["sys_load"],
    "cpu": ["sys_cpu_pct", "sys_iowait_pct"],
    "pressure": ["psi_"],
    "cgroup": ["cgroup_", "ledger_unaccounted_seconds"],
    "ps": ["ps_"],
    "gpu": ["gpu_"],
}
# Readers whose failure takes no key away: there is another way.
REPLACED = ["clock", "connector", "children", "task"]


def keys_of(run):
    """Every key that a record or the summary has, without the statistic in its name."""
    keys = {key for record in run.usage for key in record["measurements"]}
    keys |= {key for key in run.summary if "_" in key}
    return {re.sub("^([a-z]+)_(peak|ave|low)_", r"\1_", key) for key in keys}


def belongs(key, beginnings):
    return any(key.startswith(beginning) for beginning in beginnings)


def reasons_of(run):
    """key -> reason, of all that could not be measured."""
    found = {}
    for name, source in run.info["provenance"]["collectors"].items():
        if not source["available"]:
            found[f"{name}_"] = source["reason"]
        found.update(source.get("absent", {}))
    return found


@pytest.fixture(scope="module")
def whole():
    """Keys of a run with all readers, by user: what there is to lose here."""
    return {}


def measure(run_metron, broken=None):
    switch = f"--break-readers {broken}" if broken else ""
    return run_metron(f"--sample-interval 0.1 --report-interval 0.3 --measurements all {switch}",
                      ["sh", "-c", "sleep 0.5; cat /proc/self/stat >/dev/null; sleep 0.5; exit 3"])


def check_lost(run, whole_keys, beginnings):
    keys = keys_of(run)
    assert run.returncode == 3, "the command is not affected"
    lost = {key for key in whole_keys if belongs(key, beginnings)}
    assert not {key for key in keys if belongs(key, beginnings)}, "absent, never 0 or null"
    # What a small command inherits from a large metron may hide its own size.
    missing = {key for key in whole_keys - lost - keys
               if not key.startswith(("self_missed", "proc_ctx", "rusage_max_rss"))}
    assert not missing, "everything else goes on"
    reasons = reasons_of(run)
    told = {key for key in lost if belongs(key, reasons)}
    assert told or not lost, f"the reason is in info.json: {reasons}"


@pytest.mark.parametrize("reader", READERS)
def test_reader_that_fails_costs_its_own_keys(run_metron, whole, reader):
    if "root" not in whole:
        whole["root"] = keys_of(measure(run_metron))
        for path in run_metron.cwd.iterdir():
            path.unlink()
    beginnings = READERS[reader]
    if not [key for key in whole["root"] if belongs(key, beginnings)]:
        pytest.skip(f"{beginnings} cannot be measured here at all")
    check_lost(measure(run_metron, reader), whole["root"], beginnings)


def test_without_stat_no_process_has_an_identity_but_the_run_goes_on(run_metron):
    run = measure(run_metron, "stat")
    assert run.returncode == 3
    keys = keys_of(run)
    assert not [key for key in keys if belongs(key, ["proc_vsz", "proc_pdcpu", "proc_cpu_seconds", "proc_processes",
                                                     "proc_minor", "proc_rss", "ledger_live"])]
    assert run.summary["rusage_cpu_user_seconds"] >= 0
    assert "stat cannot be read" in reasons_of(run)["proc_cpu_seconds"]


def findings_of_doctor(run_metron, args=""):
    return json.loads(run_metron.metron(f"doctor --json {args}").stdout)


@pytest.fixture(scope="module")
def healthy():
    """What metron doctor finds with all readers, in a list: the first test that needs it asks."""
    return []


@pytest.mark.parametrize("reader", READERS)
def test_doctor_says_which_reader_fails(run_metron, healthy, reader):
    if not healthy:
        healthy.extend(findings_of_doctor(run_metron))
    findings = findings_of_doctor(run_metron, f"--break-readers {reader}")
    failing = {(finding["name"], finding["detail"]) for finding in findings if finding.get("works") is False}
    assert failing - {(finding["name"], finding["detail"]) for finding in healthy}, \
        "one more thing that fails, and why"


@pytest.mark.parametrize("reader", REPLACED)
def test_reader_that_has_a_substitute_costs_nothing_but_precision(run_metron, reader):
    run = measure(run_metron, reader)
    assert run.returncode == 3
    assert run.summary["proc_cpu_seconds"] > 0
    assert run.summary["proc_peak_processes"] >= 1


def test_several_readers_may_fail_at_once(run_metron):
    run = measure(run_metron, "statm,io,pressure,smaps_rollup,cgroup")
    keys = keys_of(run)
    assert run.returncode == 3
    assert not [key for key in keys if belongs(key, ["proc_rss", "io_r", "psi_", "smaps_", "cgroup_"])]
    assert run.info["headline"]["peak_memory_bytes"]["source"] in ("proc_hwm_max", "rusage_max_rss")
    assert run.info["headline"]["cpu_seconds"]["source"] == "proc_cpu_seconds"


def test_unknown_reader_is_an_error_that_names_it(run_metron):
    done = run_metron.metron("run --break-readers statm,nonsense -- true")
    assert done.returncode == 2
    assert "nonsense" in done.message and "break-readers" in done.message
