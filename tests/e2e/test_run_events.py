"""How a run hears from the kernel: what is chosen, what is refused and how that is said, who keeps which privilege."""

import collections
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from support import kernel_events, processes
from support.held import await_record
from support.kernel_events import of_kind
from support.processes import file_lines, wait_until

CAPABILITIES = "grep -h Cap /proc/self/status"


def cap_lines(text):
    return dict(line.split(":\t") for line in text.decode().splitlines() if line.startswith("Cap"))


def exit_reasons(run):
    source = run.info["provenance"]["collectors"]["exit"]
    return source.get("absent", {}) or {"exit_cpu_seconds_total": source.get("reason")}


# ---- asked for ----

@pytest.mark.parametrize("choice, seen_by", [("bpf", "bpf"), ("connector", "connector"), ("off", "listings")])
def test_what_is_asked_for_is_in_force(with_bpf, choice, seen_by):
    with_bpf.need_events(choice)
    run = with_bpf(f"--events {choice}", ["sh", "-c", "sleep 0.1; exit 3"])
    assert run.returncode == 3
    provenance = run.info["provenance"]
    assert provenance["processes_seen_by"] == seen_by
    assert (provenance["tier"] == "kernel events") == (choice == "bpf")
    if choice == "bpf":
        assert "tier_reason" not in provenance, "from the start, with nothing to add"
        assert run.summary["exit_processes"] == 2
    else:
        assert "exit_processes" not in run.summary


def test_commands_of_short_processes_are_told(with_bpf):
    """Nobody would have been in time to read them from /proc."""
    run = with_bpf("--events bpf --sample-interval 5", ["sh", "-c", "for i in 1 2 3; do /bin/true word $i; done"])
    commands = [event["command"] for event in of_kind(run.events, "exit")]
    assert [command for command in commands if command.startswith("/bin/true")] == [
        "/bin/true word 1", "/bin/true word 2", "/bin/true word 3"]


@pytest.mark.parametrize("length", [12000, 40000])
@pytest.mark.parametrize("choice", ["bpf", "connector", "off"])
def test_a_command_that_is_cut_says_so(with_bpf, choice, length):
    """A long one is whole; of a longer one the recorded beginning ends with an ellipsis."""
    with_bpf.need_events(choice)
    started = with_bpf.start(f"-q --events {choice} --sample-interval 0.05 --report-interval 0.1",
                             ["sh", "-c", "read line", "w" * length], stdin=subprocess.PIPE)
    await_record(started, lambda record: any(text.startswith("sh -c") for text in record.get("proc_cmd", {}).values()),
                 "a record of the shell")
    run = started.finish()
    last = of_kind(run.events, "exit")[-1]
    is_cut = length > 16383
    assert last.get("command_truncated", False) == is_cut
    assert last["command"].endswith("w…" if is_cut else "www")
    assert len(last["command"]) > 12000
    assert run.info["command"].endswith("www"), "the command's own arguments are known from the start"


def test_secrets_in_told_commands_are_masked(with_bpf):
    run = with_bpf("--events bpf --sample-interval 5", ["sh", "-c", "/bin/true --password=hunter2; exit 0"])
    told = [event.get("command", "") for event in run.events if event["pid"] != int(run.root)]
    assert told and not [command for command in told if "hunter2" in command], told


@pytest.mark.parametrize("broken, seen_by", [("bpf", "connector"), ("bpf,connector", "listings")])
def test_forced_fallbacks_say_why(with_bpf, broken, seen_by):
    if "connector" not in broken:
        with_bpf.need_events("connector")
    run = with_bpf(f"-q --break-readers {broken}", ["sh", "-c", "sleep 3; exit 3"])
    assert run.returncode == 3 and run.message == ""
    provenance = run.info["provenance"]
    assert provenance["processes_seen_by"] == seen_by
    assert "break-readers" in exit_reasons(run)["exit_cpu_seconds_total"]
    assert "exit_cpu_seconds_total" not in run.summary


def test_broken_bpf_that_is_demanded_is_an_error(with_bpf, marker):
    command, path = marker
    run = with_bpf("--events bpf --break-readers bpf", command, check=False)
    assert run.returncode == 1 and not path.exists()
    assert run.message.count("\n") == 1 and "--events bpf" in run.message and "break-readers" in run.message


def test_a_command_that_cannot_be_run_leaves_nothing_behind(with_bpf):
    run = with_bpf("-q --events bpf", ["/nonexistent/program"], check=False)
    assert run.returncode == 127


# ---- by default ----

def test_by_default_a_short_command_starts_at_once_and_loads_nothing(with_bpf):
    """metron itself is watched by strace: it starts no other program than the command."""
    kernel_events.need_program("strace")
    log = with_bpf.cwd / "calls"
    # Stops at these calls alone: a command that takes a second is no short one.
    line = ["strace", "--seccomp-bpf", "-f", "-o", str(log), "-e", "trace=execve,bpf"]
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    for attempt in range(20):
        run = with_bpf("-q", ["true"], outer=line, env=environment, prefix=f"run{attempt}_")
        assert run.returncode == 0
        if run.summary["wall_clock_time"] < 1:
            break
    started = re.findall(r'execve\("([^"]+)".* = 0$', log.read_text(encoding="utf-8"), re.M)
    assert [pathlib.Path(path).name for path in started] == ["metron", "true"]
    assert "bpf(" not in log.read_text(encoding="utf-8")
    assert run.info["provenance"]["tier"] != "kernel events"
    assert "ended before" in run.info["provenance"].get("tier_reason", "ended before")


def test_by_default_kernel_events_come_into_force_behind_the_command(with_bpf):
    started = with_bpf.start("-q", ["sh", "-c", "read line; sleep 60 & sleep 0.2; kill -9 $!; wait $!; exit 3"],
                             stdin=subprocess.PIPE)
    kernel_events.await_all_open(started.pid)
    run = started.finish(data=b"\n")
    assert run.returncode == 3 and run.message.replace("Killed\n", "") == ""
    provenance = run.info["provenance"]
    assert provenance["tier"] == "kernel events" and provenance["processes_seen_by"] == "bpf"
    assert "--events bpf" in provenance["tier_reason"]
    assert not [key for key in run.summary if key.startswith("exit_") and key.endswith("_total")]
    assert "exit_processes" not in run.summary
    assert "--events bpf" in exit_reasons(run)["exit_cpu_seconds_total"]
    assert run.info["headline"]["cpu_seconds"]["source"] != "exit_cpu_seconds_total"
    (kill,) = of_kind(run.events, "kill")
    assert kill["sender_pid"] == int(run.root) and kill["sender"] == "sh"
    ends = {event["command"]: event for event in of_kind(run.events, "exit")}
    assert "cpu_seconds" in ends["sleep 60"], "it came after the take-over"


@pytest.mark.parametrize("how", ["", "--break-readers connector"], ids=["from-the-connector", "from-listings"])
def test_nobody_is_lost_or_told_twice_across_the_take_over(with_bpf, how):
    if not how:
        with_bpf.need_events("connector")
    path, leave = with_bpf.cwd / "count", with_bpf.cwd / "leave"
    # The loader needs a CPU too, and so do the tests beside this one.
    bomb = [with_bpf.workload("forkbomb"), "-c", "2", "-p", "0.001", "-u", leave, "600", path, "0"]
    started = with_bpf.start(f"-q --wait tree {how}", bomb)
    kernel_events.await_all_open(started.pid)
    leave.touch()
    run = started.finish()
    assert run.returncode == 0 and run.message == "", run
    provenance = run.info["provenance"]
    assert provenance["processes_seen_by"] == "bpf"
    count = 1 + int(path.read_text(encoding="utf-8"))
    births = collections.Counter(event["pid"] for event in of_kind(run.events, "spawn"))
    deaths = collections.Counter(event["pid"] for event in of_kind(run.events, "exit"))
    assert deaths == births
    if not how and "events_lost" not in provenance:
        assert provenance["spawned_is_exact"] is True
        assert run.summary["proc_spawned"] == run.summary["proc_exited"] == count
        assert sum(births.values()) == count
    else:
        assert provenance["spawned_is_exact"] is False
        assert sum(births.values()) == run.summary["proc_spawned"] <= count


def metron_below(pid):
    """The metron that a wrapper has started, or become."""
    return wait_until(lambda: [each for each, name in {pid: comm(pid), **processes.named_descendants(pid)}.items()
                               if name == "metron"], what="metron")[0]


def comm(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()


def test_cpu_stays_conserved_across_the_take_over(with_bpf, cpu_truth):
    truth = cpu_truth(as_user=False)
    storm = f"while [ ! -e leave ]; do {with_bpf.workload('forkstorm')} 50 4; done"
    started = with_bpf.start("-q --cgroup off", [*truth.join, "sh", "-c", storm], outer=truth.outer)
    kernel_events.await_all_open(metron_below(started.pid))
    (started.cwd / "leave").touch()
    run = started.finish()
    assert run.info["provenance"]["processes_seen_by"] == "bpf"
    assert run.info["headline"]["cpu_seconds"]["source"] == "proc_cpu_seconds"
    assert run.info["headline"]["cpu_seconds"]["value"] == pytest.approx(truth.seconds(), rel=0.005)


def test_the_loader_is_no_part_of_the_target_and_does_not_stay(with_bpf):
    started = with_bpf.start("-q", ["cat"], stdin=subprocess.PIPE)

    def loads():
        return "metron-bpf" in processes.named_descendants(started.pid).values()

    wait_until(loads, what="the loader")
    wait_until(lambda: not loads(), what="its end")
    kernel_events.await_all_open(started.pid)
    run = started.finish()
    assert run.info["provenance"]["tier"] == "kernel events"
    assert run.summary["proc_spawned"] == 1
    assert [event["pid"] for event in run.events] == [int(run.root)] * 2
    assert run.summary["self_cpu_seconds"] > 0.01, "what loading cost is metron's"


# ---- privilege ----

@pytest.mark.parametrize("args", ["--events bpf", "", "--events connector", "--syscalls summary"],
                         ids=["bpf", "auto", "connector", "syscalls"])
def test_privilege_is_dropped_once_everything_is_open(with_bpf, args):
    with_bpf.need_events(args.removeprefix("--events "))
    started = with_bpf.start(f"-q {args}", ["sh", "-c", f"{CAPABILITIES}; read line"], stdin=subprocess.PIPE)
    kernel_events.await_all_open(started.pid)
    run = started.finish(data=b"\n")
    assert cap_lines(run.stdout)["CapEff"] == f"{kernel_events.capabilities(os.getpid()):016x}", "the caller's"
    assert cap_lines(run.stdout)["CapPrm"] == f"{kernel_events.capabilities(os.getpid(), 'Prm'):016x}"


def test_an_ordinary_user_who_demands_bpf_is_told_what_is_missing(run_as_user):
    refused = run_as_user("--events bpf", ["touch", "ran"], check=False)
    assert refused.message.count("\n") == 1, refused.message
    assert "--events bpf" in refused.message and "not permitted" in refused.message
    assert "setcap cap_bpf,cap_perfmon=ep" in refused.message
    assert not (run_as_user.cwd / "ran").exists()
    other = run_as_user("--events connector --break-readers connector", ["true"], prefix="other_", check=False)
    assert refused.returncode == other.returncode == 1


def test_an_ordinary_user_notices_nothing(run_as_user):
    run = run_as_user("-q", ["sh", "-c", f"{CAPABILITIES}; sleep 3; exit 3"])
    assert run.returncode == 3 and run.message == ""
    assert run.info["provenance"]["processes_seen_by"] in ("connector", "listings")
    assert "not permitted" in exit_reasons(run)["exit_cpu_seconds_total"]
    assert cap_lines(run.stdout)["CapEff"] == f"{0:016x}"


def test_doctor_tells_an_ordinary_user_how_to_get_them(run_as_user):
    text = run_as_user.metron("doctor").stdout.decode()
    (line,) = [line for line in text.splitlines() if line.split()[1:3] == ["kernel", "events"]]
    assert line.split()[0] == "no" and "cap_bpf,cap_perfmon" in line, line


def test_doctor_tells_root_that_they_are_there(with_bpf):
    text = with_bpf.metron("doctor").stdout.decode()
    (line,) = [line for line in text.splitlines() if line.split()[1:3] == ["kernel", "events"]]
    assert line.split()[0] == "yes", line


@pytest.fixture
def capable(with_bpf, run_as_user):
    """metron with file capabilities, started by an ordinary user."""
    setcap = kernel_events.need_program("setcap")
    folder = run_as_user.cwd.parent / "bin"
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("metron", "metron-bpf", "forkstorm"):
        shutil.copy(with_bpf.programs / name, folder / name)
    done = subprocess.run([setcap, "cap_bpf,cap_perfmon=ep", str(folder / "metron")], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"setcap: {done.stderr.decode().strip()}")
    run_as_user.programs = folder
    run_as_user.binary = str(folder / "metron")
    return run_as_user


def test_with_file_capabilities_an_ordinary_user_gets_them(capable):
    run = capable("-q --events bpf", [capable.workload("forkstorm"), "300", "1"])
    assert run.returncode == 0 and run.message == "", run
    assert run.info["provenance"]["tier"] == "kernel events"
    assert run.info["headline"]["cpu_seconds"]["source"] == "exit_cpu_seconds_total"
    assert run.summary["exit_processes"] == run.summary["proc_spawned"] == 301
    assert run.summary["exit_cpu_seconds_total"] == pytest.approx(run.summary["proc_cpu_seconds"], rel=0.01, abs=0.02)


def test_with_file_capabilities_the_command_has_none(capable):
    started = capable.start("-q --events bpf", ["sh", "-c", f"{CAPABILITIES}; sleep 1"])
    metron = started.pid
    wait_until(lambda: kernel_events.capabilities(metron) == kernel_events.capabilities(metron, "Prm") == 0,
               what="metron without capabilities")
    run = started.finish()
    assert run.returncode == 0
    told = cap_lines(run.stdout)
    assert {told[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {f"{0:016x}"}


def test_with_file_capabilities_only_a_loader_of_root_s_is_trusted(capable):
    """What anybody could have put beside metron does not get its capabilities."""
    loader = capable.programs / "metron-bpf"
    loader.chmod(0o777)
    refused = capable("--events bpf", ["true"], check=False)
    assert refused.returncode == 1 and "metron-bpf is not installed" in refused.message
    loader.chmod(0o755)
    assert capable("-q --events bpf", ["true"]).returncode == 0


def test_in_a_time_namespace_it_is_refused(with_bpf):
    """Start times there are not the kernel's."""
    run = with_bpf("--events bpf", ["true"], outer=["unshare", "-T", "--boottime", "1000"], check=False)
    assert run.returncode == 1 and "time namespace" in run.message


def test_with_file_capabilities_calls_are_counted_and_samples_taken(capable):
    run = capable("-q --syscalls summary", ["sh", "-c", "sleep 0.2; exit 3"])
    assert run.returncode == 3 and run.message == ""
    assert run.info["syscalls"]["method"] == "bpf"
    assert run.info["syscalls"]["by_call"]["clock_nanosleep"]["count"] == 1
    assert run.summary["proc_peak_rss_total"] > 0 and run.summary["io_rchar_total"] > 0


# ---- signals to the whole ----

def test_ctrl_c_is_the_command_s_also_while_programs_are_loaded(with_bpf):
    """The loader is out of the way of signals to the group."""
    path = with_bpf.cwd / "got"
    started = with_bpf.start("-q --events bpf", [with_bpf.workload("signals"), "-x", "INT", str(path), "20", "5"],
                             start_new_session=True)
    wait_until(lambda: "ready" in file_lines(path), what="ready")
    os.killpg(started.pid, signal.SIGINT)
    run = started.finish()
    assert run.returncode == 5
    assert "INT" in file_lines(path)
