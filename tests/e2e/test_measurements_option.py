"""--measurements: keys, globs, groups; what is not selected is not in the record, but for metron's own cost."""

import re
import subprocess

import pytest

from support.run import SANITIZED


OWN_COST = {"self_cpu_seconds", "self_samples", "self_missed_ticks", "self_rss", "self_sample_seconds"}


def all_keys_of(run):
    return {key for record in run.usage for key in record["measurements"]}


def keys_of(run):
    return {key for key in all_keys_of(run) if not key.startswith("self_")}


def selected(runner, selection, command="sleep 0.4"):
    run = runner(["--measurements", selection, "--sample-interval", "0.1"], command)
    assert run.returncode == 0
    return run, keys_of(run)


def test_only_named_keys_are_recorded(run_metron):
    run, keys = selected(run_metron, "proc_rss,proc_cpu_seconds")
    assert keys == {"proc_rss", "proc_cpu_seconds"}
    assert "proc_peak_rss_total" not in run.summary


def test_total_has_its_mean_beside_it(run_metron):
    _, keys = selected(run_metron, "proc_rss_total")
    assert keys == {"proc_rss_total", "proc_ave_rss_total"}


def test_globs_select(run_metron):
    _, keys = selected(run_metron, "proc_minor_*,sys_load*")
    assert {"proc_minor_faults", "proc_minor_faults_total", "sys_load1", "sys_load15"} <= keys
    assert all(key.startswith(("proc_minor_", "sys_load", "sys_ave_load")) for key in keys)


def test_groups_select(run_metron):
    _, minimal = selected(run_metron, "minimal")
    assert {"proc_cpu_seconds", "proc_pdcpu", "proc_stat"} <= minimal
    assert not minimal & {"proc_fds", "proc_hwm", "proc_ctx_voluntary", "proc_cmd"}


def test_default_is_the_group_default(run_metron):
    _, named = selected(run_metron, "default")
    run = run_metron("--sample-interval 0.1 --clobber", "sleep 0.4")
    # A high-water mark that is not above metron's own size at the fork says nothing and is left out.
    assert keys_of(run) ^ named <= ({"rusage_max_rss"} if SANITIZED else set())
    for key in ("proc_rss", "proc_hwm", "proc_cmd", "ledger_live_seconds", "rusage_in_bytes", "sys_mem_total"):
        assert key in named, key


def test_all_takes_what_is_available(run_metron):
    run, everything = selected(run_metron, "all")
    assert {"proc_rss", "proc_cpu_seconds"} <= everything
    assert OWN_COST <= all_keys_of(run)


@pytest.mark.parametrize("selection", ["proc_rss", "sys_*", "minimal", "self_rss"])
def test_what_metron_costs_is_always_there(run_metron, selection):
    run, _ = selected(run_metron, selection)
    assert OWN_COST <= all_keys_of(run)
    assert run.summary["self_cpu_seconds"] > 0 and run.summary["self_peak_rss"] > 0
    assert re.search(r"^  metron +\S+ \S+ CPU ", run.message, re.M), run.message
    shown = run_metron.metron("report run_").stdout.decode()
    assert "metron's cost" in shown


def test_metron_measurements_lists_what_it_is_asked_for(run_metron):
    listed = run_metron.metron("measurements proc_rss").stdout.decode()
    assert "proc_rss" in listed and "self_" not in listed


def test_selection_without_any_process_key_still_yields_records(run_metron):
    run, keys = selected(run_metron, "sys_mem_used")
    assert keys == {"sys_mem_used", "sys_ave_mem_used"}
    assert run.usage and run.summary["num_samples"] >= 2


def test_cpu_is_conserved_when_only_it_is_selected(run_metron):
    run, _ = selected(run_metron, "proc_cpu_seconds", [run_metron.workload("forkstorm"), "100", "3"])
    assert run.summary["proc_cpu_seconds"] >= 0.3


@pytest.mark.parametrize("wrong, near", [("proc_rs", "proc_rss"), ("proc_cpu_second", "proc_cpu_seconds"),
                                         ("rusage_maxrss", "rusage_max_rss"),
                                         ("self_cpu_sec", "self_cpu_seconds")])
def test_unknown_key_is_an_error_with_the_nearest_names(run_metron, marker, wrong, near):
    command, path = marker
    run = run_metron(["--measurements", f"proc_rss,{wrong}"], command, check=False)
    assert run.returncode == 2
    assert wrong in run.message and near in run.message
    assert len(run.message.strip().splitlines()) == 1
    assert not path.exists(), "the command has not been started"
    assert run.files() == []


def hidden(path):
    """Runs a command where the kernel's `path` reads as nothing: a source that has failed."""
    prefix = ["unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {path} && exec "$@"', "sh"]
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no mount namespace here: {done.stderr.decode().strip()}")
    return prefix


def test_unavailable_key_named_in_full_is_an_error_with_its_reason(run_metron, marker):
    command, path = marker
    run = run_metron("--measurements sys_mem_total", command, check=False, outer=hidden("/proc/meminfo"))
    assert run.returncode == 2
    assert "sys_mem_total" in run.message and "meminfo cannot be read" in run.message
    assert not path.exists()


def test_globs_and_groups_take_what_is_available(run_metron):
    run = run_metron("--measurements default,sys_*", "sleep 0.3", outer=hidden("/proc/meminfo"))
    assert not [key for key in run.summary if key.startswith("sys_") and "_mem_" in key], "absent, not 0"
    assert run.summary["sys_peak_load1"] >= 0, "what another file tells goes on"
    source = run.info["provenance"]["collectors"]["sys"]
    assert source["available"] and "sys_mem_total" in source["absent"] and "sys_load1" not in source["absent"]
    assert "meminfo cannot be read" in source["absent"]["sys_mem_total"]
    assert run.summary["proc_cpu_seconds"] > 0, "the others go on"


def test_spaces_and_repetitions_in_the_list_are_harmless(run_metron):
    _, keys = selected(run_metron, "proc_rss, proc_rss ,proc_rs?")
    assert keys == {"proc_rss"}
