"""Machines that show less than usual: namespaces, hidden processes, few rights. Less is known, nothing breaks."""

import os

import pytest

from support.namespaces import OWN_PIDS, through
from support.records import per_pid


def children_and_burn(runner):
    return ["sh", "-c", f"{runner.workload('forkstorm')} 100 3; {runner.workload('escape')} 0.3 0; sleep 0.5"]


@pytest.mark.parametrize("prefix", [
    OWN_PIDS,
    ["unshare", "--net"],
    ["unshare", "--user", "--map-root-user"],
    ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"],
], ids=["pid", "net", "user", "user-and-pid"])
def test_in_a_namespace(run_metron, prefix):
    """The process connector speaks only to the first namespaces: without it the tree is still followed."""
    run = run_metron("--sample-interval 0.1 --wait tree", children_and_burn(run_metron), outer=through(prefix))
    assert run.returncode == 0
    assert 0.6 <= run.summary["proc_cpu_seconds"] < 1.2, "counted, and not twice"
    assert len(per_pid(run.usage, "proc_rss")) >= 3


def test_connector_asked_for_where_it_does_not_answer_is_an_error(run_metron, marker):
    command, path = marker
    run = run_metron("--events connector", command, outer=through(OWN_PIDS), check=False)
    assert run.returncode in (1, 2)
    assert "connector" in run.message
    assert not path.exists()


def test_processes_of_others_are_hidden(run_as_user):
    """/proc mounted with hidepid=2, as on many login nodes: our own are still seen."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a /proc with hidepid")
    outer = through(["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"])
    run = run_as_user("--sample-interval 0.1 --wait tree", children_and_burn(run_as_user), outer=outer)
    assert run.returncode == 0
    assert run.summary["proc_cpu_seconds"] >= 0.6
    assert len(per_pid(run.usage, "proc_rss")) >= 3


@pytest.mark.plain  # the sanitizers themselves need /proc
def test_without_any_proc(run_metron):
    """No /proc at all: the command runs, alone or with a record that says which sources could not be read."""
    if os.getuid() != 0:
        pytest.skip("only root can take /proc away")
    prefix = through(["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"])
    run = run_metron("", ["sh", "-c", "echo out; exit 3"], outer=prefix, check=False)
    assert (run.returncode, run.stdout) == (3, b"out\n")
    if "running the command alone" in run.message:
        assert "/proc" in run.message
        return
    collectors = run.check().info["provenance"]["collectors"]
    assert collectors["proc"]["available"] is False and "/proc" in collectors["proc"]["reason"]


def test_no_new_privileges_and_no_capabilities(run_metron):
    prefix = through(["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"])
    run = run_metron("--sample-interval 0.1", children_and_burn(run_metron), outer=prefix)
    assert run.returncode == 0
    assert run.summary["proc_cpu_seconds"] >= 0.3


def test_one_cpu_only(run_metron):
    """The affinity says how many cores the target may use."""
    prefix = through(["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))])
    run = run_metron("--sample-interval 0.1 --report-interval 0.2", [run_metron.workload("burn"), "0.3", "3"],
                     outer=prefix)
    assert run.returncode == 0
    assert run.summary["proc_cpu_seconds"] <= run.summary["wall_clock_time"] + 0.02, "one second a second"
    assert run.info["system"]["cpu_usable"] == 1


def test_clocks_of_another_time_namespace_change_nothing(run_metron):
    """A time namespace shifts our clocks against those of the kernel's messages: nobody is lost for it."""
    prefix = through(["unshare", "--time", "--fork", "--boottime", "100000", "--monotonic", "5000"])
    run = run_metron("--sample-interval 0.1 --report-interval 0.3", [run_metron.workload("burn"), "0.7"],
                     outer=prefix)
    assert run.returncode == 0
    (shares,) = per_pid(run.usage, "proc_pdcpu").values()
    assert max(shares) < 1000, "a late sample makes it somewhat more than 100; a shifted clock makes nonsense"
    (ages,) = per_pid(run.usage, "proc_etime").values()
    assert 0 <= ages[-1] < 60
