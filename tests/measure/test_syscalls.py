"""System calls counted: the known number to the last one, and strace's own table row by row.

What counting costs in time is measured by `make bench` (step `syscalls`).
"""

import collections
import json
import re
import subprocess
import sys

import pytest

from support import records
from support.held import await_record, await_records, paused
from support.kernel_events import held_objects, need_program, table_of_calls
from support.processes import wait_until

LOOP = 1_000_000
INSTRUCTION_BYTES = 8
INSTRUCTIONS_MAX = 220  # from the entry of a call to its return; 159 on Linux 6.18


def counts_of(run):
    return {name: call["count"] for name, call in run.info["syscalls"]["by_call"].items()}


def errors_of(run):
    return {name: call["errors"] for name, call in run.info["syscalls"]["by_call"].items() if call["errors"]}


def error_names_of(run):
    """{"openat ENOENT": how often}; each call's most frequent error is checked against it."""
    names = run.summary["syscall_error_names_total"]
    for call, failed in run.info["syscalls"]["by_call"].items():
        own = {name.partition(" ")[2]: count for name, count in names.items() if name.partition(" ")[0] == call}
        assert sum(own.values()) == failed["errors"]
        assert own.get(failed.get("most_frequent_error")) == max(own.values(), default=None)
    return names


def loops(text):
    """[(pid, count, seconds)] as getppids prints them."""
    lines = [line.split() for line in text.decode().splitlines()]
    return [(pid, int(count), float(seconds)) for pid, count, seconds in lines]


@pytest.fixture
def with_strace():
    need_program("strace")


def strace_table(command, **how):
    """{name: (calls, errors)} by `strace -c -f` itself."""
    done = subprocess.run(["strace", "-c", "-f", "-o", "/dev/stderr", *command], capture_output=True, check=True, **how)
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:(\d+) )? *([a-z_0-9]+)$", done.stderr.decode(), re.M)
    return {name: (int(calls), int(errors or 0)) for calls, errors, name in rows if name != "total"}


def strace_error_names(command, **how):
    """{"openat ENOENT": how often} by the lines of `strace -f` itself."""
    done = subprocess.run(["strace", "-f", "-o", "/dev/stderr", *command], capture_output=True, check=True, **how)
    found = re.findall(r"^(?:\d+ +)?(?:<\.\.\. )?([a-z_0-9]+)\b.* = (?:-1|\?) (E[A-Z_]+) ", done.stderr.decode(), re.M)
    return dict(collections.Counter(f"{name} {error}" for name, error in found))


def test_a_million_calls_are_counted_to_the_last(with_bpf):
    run = with_bpf("--syscalls summary", [with_bpf.workload("getppids"), str(LOOP)])
    assert run.returncode == 0, run
    assert run.info["syscalls"]["method"] == "bpf"
    assert "lost" not in run.info["syscalls"]
    assert counts_of(run)["getppid"] == LOOP
    assert run.summary["syscall_counts_total"]["getppid"] == LOOP
    assert run.info["syscalls"]["hotspot"]["name"] == "getppid"
    assert 0 < run.summary["syscall_seconds_total"]["getppid"] < loops(run.stdout)[0][2]


def calls_by_process(run, name="getppid"):
    """{pid: how often it was called}, summed over the records, and over the processes of a pid that is used again."""
    told = {}
    for record in run.usage:
        for key, calls in record["measurements"].get("syscall_counts", {}).items():
            pid = key.partition("#")[0]
            told[pid] = told.get(pid, 0) + calls.get(name, 0)
    return told


def known_calls(run):
    """The same, as the workload says it."""
    wanted = {}
    for pid, count, _ in loops(run.stdout):
        wanted[pid] = wanted.get(pid, 0) + count
    return wanted


def test_every_process_has_its_own_counts(with_bpf):
    run = with_bpf("--syscalls summary --sample-interval 0.1 --report-interval 0.2",
                   [with_bpf.workload("getppids"), "7", "1000", "20000", "3", "300000"])
    wanted = known_calls(run)
    assert sorted(wanted.values()) == [3, 7, 1000, 20000, 300000]
    assert calls_by_process(run) == wanted
    assert sum(record["measurements"].get("syscall_counts_total", {}).get("getppid", 0)
               for record in run.usage) == sum(wanted.values())
    assert counts_of(run)["getppid"] == sum(wanted.values())


def test_every_process_has_its_own_counts_by_strace(run_metron, with_strace):
    """The connector reports every process to the tree, however short it lives."""
    run_metron.need_events("connector")
    run = run_metron("--syscalls summary --events connector --sample-interval 0.1 --report-interval 0.2",
                     [run_metron.workload("getppids"), "7+11", "1000", "200+30+4", "3", *["5"] * 50], timeout=600)
    assert run.info["syscalls"]["method"] == "strace", run
    wanted = known_calls(run)
    assert sum(wanted.values()) == 18 + 1000 + 234 + 3 + 50 * 5
    assert calls_by_process(run) == wanted
    assert counts_of(run)["getppid"] == sum(wanted.values())
    assert "lost" not in run.info["syscalls"]
    names = {name for record in run.usage for name in record["measurements"].get("syscall_seconds_total", {})}
    assert names == set(counts_of(run)), "metron's helpers are not among them"


def test_an_ordinary_user_has_them_too(run_as_user, with_strace):
    """Nothing reports a process to the tree: those are there that a sample has seen, so they wait for it."""
    script = "exec 3<&0; $0 100+20 - <&3 & $0 4000+3+3 - <&3 & wait"  # what is in the background has no stdin else
    started = run_as_user.start("-q --syscalls summary --sample-interval 0.05 --report-interval 0.1",
                                ["sh", "-c", script, run_as_user.workload("getppids")], stdin=subprocess.PIPE)
    await_record(started, lambda record: record.get("proc_processes") == 3, "a record of all three")
    run = started.finish()
    assert run.info["syscalls"]["method"] == "strace", run
    wanted = known_calls(run)
    assert sorted(wanted.values()) == [120, 4006]
    told = calls_by_process(run)
    assert {pid: told.get(pid) for pid in wanted} == wanted
    assert counts_of(run)["getppid"] == sum(told.values())  # the shell makes one too


def test_calls_of_a_storm_of_processes_are_all_there(with_bpf):
    """1,000 processes of a few calls each, most of which no sample sees."""
    run = with_bpf("--syscalls summary --sample-interval 0.5 --report-interval 1",
                   [with_bpf.workload("getppids"), "5", *["11"] * 1000])
    assert counts_of(run)["getppid"] == 5 + 11 * 1000
    assert counts_of(run)["wait4"] == 1000
    assert "lost" not in run.info["syscalls"]
    # Pids may be used again on a busy machine: the next process of one has the key PID#2.
    keys = {key.partition("#")[0] for key in records.per_pid(run.usage, "syscall_counts")}
    assert keys == {pid for pid, _, _ in loops(run.stdout)}


def test_calls_of_threads_are_their_process_s(with_bpf):
    run = with_bpf("--syscalls summary", [with_bpf.workload("threads_fork"), "4", "10", "1"])
    clones = counts_of(run).get("clone3", 0) + counts_of(run).get("clone", 0)
    assert clones in (3 + 40, 4 + 40), "three or four threads and forty children"
    assert counts_of(run)["wait4"] >= 40


def test_the_table_is_strace_s_row_by_row(with_bpf, with_strace):
    command = [with_bpf.workload("calls")]
    run = with_bpf("--syscalls summary --outputs none --capture-outputs none", command)
    assert run.info["syscalls"]["method"] == "bpf"
    table = strace_table(command, env=with_bpf.environment(), cwd=with_bpf.cwd)
    assert table["getppid"] == (300, 0) and table["lseek"] == (50, 50), "the workload does what it says"
    assert counts_of(run) == {name: calls for name, (calls, _) in table.items()}
    assert errors_of(run) == {name: errors for name, (_, errors) in table.items() if errors}


@pytest.mark.parametrize("method", ["bpf", "strace"])
def test_errors_have_the_names_that_strace_gives_them(with_bpf, with_strace, method):
    events = "--events bpf" if method == "bpf" else "--events off"
    command = [with_bpf.workload("calls")]
    run = with_bpf(f"--syscalls summary {events} --outputs none --capture-outputs none", command)
    assert run.info["syscalls"]["method"] == method
    names = error_names_of(run)
    assert names == strace_error_names(command, env=with_bpf.environment(), cwd=with_bpf.cwd)
    assert (names["lseek ESPIPE"], names["close EBADF"], names["kill EINVAL"]) == (50, 20, 4)
    assert names["openat ENOENT"] >= 5, "the dynamic loader looks for libraries where there are none"
    assert run.info["syscalls"]["most_errors"] == {"name": "lseek", "errors": 50, "most_frequent_error": "ESPIPE"}
    assert sum(names.values()) == run.info["syscalls"]["errors"]


INTERRUPTED = """
import signal, sys, time
left = [5]
def on_alarm(*_):
    left[0] -= 1
    if not left[0]:
        sys.exit()
signal.signal(signal.SIGALRM, on_alarm)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
time.sleep(600)
"""


@pytest.mark.parametrize("method", ["bpf", "strace"])
def test_a_call_that_a_signal_interrupts_has_a_name_too(with_bpf, with_strace, method):
    """Five signals, all or all but the first of which find it asleep: whether the kernel begins the call anew is not
    decided yet."""
    events = "--events bpf" if method == "bpf" else "--events off"
    run = with_bpf(f"--syscalls summary {events}", ["/usr/bin/python3", "-c", INTERRUPTED], timeout=300)
    names = error_names_of(run)
    counts = [count for name, count in names.items() if name.endswith(" ERESTARTNOHAND")]
    assert len(counts) == 1 and 1 <= counts[0] <= 5, names


@pytest.mark.parametrize("method", ["bpf", "strace"])
def test_time_in_calls_that_wait_is_told_apart(with_bpf, with_strace, method):
    events = "--events bpf" if method == "bpf" else "--events off"
    calls = with_bpf(f"--syscalls summary {events}", ["sh", "-c", "sleep 0.25; exit 0"]).info["syscalls"]
    waits = {name: call["seconds"] for name, call in calls["by_call"].items() if call.get("waits")}
    assert waits["clock_nanosleep"] >= 0.25 and "wait4" in waits and "read" not in waits
    assert calls["waiting_seconds"] == pytest.approx(sum(waits.values()), abs=1e-8)
    assert calls["waiting_seconds"] + calls["working_seconds"] == pytest.approx(calls["seconds"], abs=1e-8)


def test_strace_as_the_fallback_counts_the_same(with_bpf, with_strace):
    command = [with_bpf.workload("calls")]
    args = "--syscalls summary --outputs none --capture-outputs none"
    by_bpf = with_bpf(args, command, prefix="bpf_")
    by_strace = with_bpf(f"{args} --events off", command, prefix="strace_")
    assert by_strace.info["syscalls"]["method"] == "strace"
    assert counts_of(by_strace) == counts_of(by_bpf)
    assert errors_of(by_strace) == errors_of(by_bpf)


@pytest.mark.parametrize("switch", ["--events off", "--break-readers bpf", "--break-readers bpf,connector"])
def test_strace_follows_children_in_every_fallback(run_metron, with_strace, switch):
    run = run_metron(f"--syscalls summary {switch}", [run_metron.workload("getppids"), "10", "200", "3000"])
    assert run.returncode == 0, run
    assert run.info["syscalls"]["method"] == "strace"
    assert counts_of(run)["getppid"] == 3210
    assert "absent" not in run.info["provenance"]["collectors"]["syscall"]
    wanted = known_calls(run)
    told = calls_by_process(run)  # of those that a sample has seen
    assert told and {pid: wanted[pid] for pid in told} == told


def test_an_ordinary_user_has_counts_by_strace(run_as_user, with_strace):
    run = run_as_user("-q --syscalls summary", [run_as_user.workload("getppids"), "10", "200", "3000"])
    assert run.returncode == 0, run
    assert run.message == ""
    assert run.info["syscalls"]["method"] == "strace"
    assert counts_of(run)["getppid"] == 3210


def test_off_costs_nothing_and_says_nothing(with_bpf):
    run = with_bpf("--events bpf", [with_bpf.workload("getppids"), "1000"])
    assert "syscalls" not in run.info
    assert not [key for record in run.usage for key in record["measurements"] if key.startswith("syscall")]


def test_strace_does_not_see_how_the_command_is_found(run_metron, with_strace):
    """Neither metron's preparations nor the search in PATH are the command's calls."""
    run = run_metron("--syscalls summary --events off", ["true"])
    assert run.info["syscalls"]["by_call"]["execve"]["count"] == 1
    assert run.info["syscalls"]["by_call"]["execve"]["errors"] == 0


def bpftool_json(*words):
    return json.loads(subprocess.run([need_program("bpftool"), "-j", *words], capture_output=True, check=True).stdout)


def held_object(kind, name, pid):
    """What bpftool shows of the one BPF object of this name that this metron holds, whatever others hold."""
    shown = [bpftool_json(kind, "show", "id", str(number)) for held, number in held_objects(pid) if held == kind]
    found = [each for each in shown if each.get("name") == name]
    assert len(found) == 1, shown
    return found[0]


def started_counting(runner, args):
    """A run that lasts until finish(), with its programs in the kernel."""
    started = runner.start(f"-q --syscalls summary --sample-interval 0.05 --report-interval 0.05 {args}", ["cat"],
                           stdin=subprocess.PIPE)
    await_records(started, 1)
    return started


def test_counting_a_call_takes_few_instructions(with_bpf):
    """Neither program has a loop: its length is the most that it can execute. What that costs: `make bench`."""
    need_program("bpftool")
    started = started_counting(with_bpf, "")
    programs = [held_object("prog", name, started.pid) for name in ("on_call", "on_return")]
    assert started.finish().returncode == 0
    lengths = [program["bytes_xlated"] // INSTRUCTION_BYTES for program in programs]
    assert 0 < sum(lengths) <= INSTRUCTIONS_MAX, lengths


def test_helpers_of_metron_do_not_fill_the_table(with_bpf):
    """ps is run at every sample: its calls are nobody's, and make room again."""
    need_program("bpftool")
    started = started_counting(with_bpf, "--measurements default,ps_rss")

    def processes():
        """Those in the table. Metron numbers whom it follows: 1 is the command, what is above was a ps each."""
        return {int.from_bytes(bytes(int(byte, 16) for byte in entry["key"][:4]), sys.byteorder)
                for entry in table_of_calls(started.pid)}

    wait_until(lambda: max(processes(), default=0) > 15, 120, "15 runs of ps")
    with paused(started):  # else the dump might pass through several samples
        found = processes()
    run = started.finish()
    assert run.returncode == 0, run
    assert "events_lost" not in run.info["provenance"]
    # Besides the command: the ps of this sample, one that was seen once, and one seen twice, to be taken out at the
    # next.
    assert 0 < len(found) <= 5, found
