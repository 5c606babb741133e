"""System calls of jobs (strace-enabled): the known number of them, strace's own table, and who is not counted."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from support import kernel_events, processes
from support.daemon_client import Shell, job_shell, process_in, publish
from support.kernel_events import need_program
from support.processes import wait_until

COUNT = {"METRON_STRACE_ENABLED": "yes"}


@pytest.fixture
def counting(start_daemon):
    """Counts inside the kernel."""
    kernel_events.need(start_daemon.runner)
    daemon = start_daemon(env=COUNT)
    assert daemon.call("daemon.status")["syscalls_counted_by"] == "bpf", daemon.said()
    return daemon


@pytest.fixture
def straced(start_daemon):
    """Counts with strace, as root."""
    need_program("strace")
    daemon = start_daemon(env={**COUNT, "METRON_EVENTS": "off"})
    assert daemon.call("daemon.status")["syscalls_counted_by"] == "strace", daemon.said()
    return daemon


@pytest.fixture
def user_straced(start_user_daemon):
    """Counts with strace, as an ordinary user."""
    need_program("strace")
    daemon = start_user_daemon(env=COUNT)
    assert daemon.call("daemon.status")["syscalls_counted_by"] == "strace", daemon.said()
    return daemon


@pytest.fixture(params=["counting", "straced", "user_straced"])
def any_method(request):
    return request.getfixturevalue(request.param)


def tracer_of(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"TracerPid:\t(\d+)", status.read())[1])


def begin_sheet(daemon, client, job_id, sheet_num, pid):
    """The sheet has begun, and whoever counts does so; the strace of the sheet before may still be about to leave."""
    before = tracer_of(pid)
    told = publish(client, "sheet.started", job_id, sheet_num, pid=pid)
    if daemon.call("daemon.status")["syscalls_counted_by"] == "strace":
        wait_until(lambda: tracer_of(pid) not in (0, before), what="strace")
    return told


def counts(profile):
    return {name: call["count"] for name, call in profile.get("syscall_hotspots", {}).items()}


def sheet_counts(profile, sheet_num):
    (found,) = [sheet for sheet in profile["sheets"] if sheet["sheet_num"] == sheet_num]
    return counts(found)


def profile_with(client, job_id, wanted):
    """The job's profile once its sheets have {sheet: amount} of getppid: strace reports the last calls a bit late."""
    return profile_when(client, job_id, lambda told: all(sheet_counts(told, sheet).get("getppid") == amount
                                                         for sheet, amount in wanted.items()))


def profile_when(client, job_id, condition):
    return wait_until(lambda: (lambda told: told if condition(told) else None)(
        client.call("job.profile", job_id=job_id)), what="the job's profile")


def process_counts(daemon, pid, name, wanted):
    """The process as soon as a snapshot has so many of its calls."""
    return process_in(daemon.top_when(
        lambda snapshot: process_in(snapshot, pid).get("syscall_counts", {}).get(name, 0) >= wanted,
        what=f"{wanted} {name} of {pid}"), pid)


# ---- how many ----

def test_the_calls_of_a_sheet_are_counted_to_the_last(any_method):
    shell = Shell(any_method.runner)
    getppids = any_method.runner.workload("getppids")
    with any_method.client() as client:
        client.call("job.start", job_id="known")
        shell.run(f"{getppids} 11")  # before its time
        begin_sheet(any_method, client, "known", 1, shell.pid)
        for _ in range(3):  # they come and go between two ticks
            assert shell.run(f"{getppids} 1000 20 3") == 0
        publish(client, "sheet.completed", "known", 1)
        told = profile_with(client, "known", {1: 3 * 1023})
        assert counts(told)["getppid"] == 3 * 1023
        assert sheet_counts(told, 1)["execve"] == 3
        client.call("job.finish", job_id="known", outcome="completed")
        shell.run(f"{getppids} 100")  # after it
        assert counts(client.call("job.profile", job_id="known"))["getppid"] == 3 * 1023
        assert counts(client.call("job.status", job_id="known"))["getppid"] == 3 * 1023
        assert re.search(r"getppid +3069 calls", client.call("job.report", job_id="known")["report"])


def test_two_sheets_of_one_process_are_told_apart(any_method):
    shell = Shell(any_method.runner)
    getppids = any_method.runner.workload("getppids")
    with any_method.client() as client:
        client.call("job.start", job_id="two")
        for sheet, amount in (1, 100), (2, 2000):
            begin_sheet(any_method, client, "two", sheet, shell.pid)
            shell.run(f"{getppids} {amount}")
            publish(client, "sheet.completed", "two", sheet)
        told = profile_with(client, "two", {1: 100, 2: 2000})
        assert counts(told)["getppid"] == 2100


def test_a_process_begins_anew_with_its_second_sheet(counting):
    shell = Shell(counting.runner)
    with counting.client() as client:
        client.call("job.start", job_id="anew")
        begin_sheet(counting, client, "anew", 1, shell.pid)
        for _ in range(5):
            shell.run("/bin/true")
        process_counts(counting, shell.pid, "wait4", 5)
        publish(client, "sheet.completed", "anew", 1)
        begin_sheet(counting, client, "anew", 2, shell.pid)
        told = process_in(counting.top_when(lambda snapshot: process_in(snapshot, shell.pid)["sheet_num"] == 2),
                          shell.pid)
        assert "wait4" not in told["syscall_counts"]


def test_a_second_try_of_a_sheet_adds_to_the_first(any_method):
    shell = Shell(any_method.runner)
    getppids = any_method.runner.workload("getppids")
    with any_method.client() as client:
        client.call("job.start", job_id="tries")
        for wanted in 50, 100:
            begin_sheet(any_method, client, "tries", 1, shell.pid)
            shell.run(f"{getppids} 50")
            publish(client, "sheet.failed", "tries", 1)
            profile_when(client, "tries", lambda told: sheet_counts(told, 1).get("getppid") == wanted)  # noqa: B023


def test_the_table_is_that_of_strace(counting):
    need_program("strace")
    calls = counting.runner.workload("calls")
    done = subprocess.run(["strace", "-c", "-f", "-o", "/dev/stderr", calls], capture_output=True, check=True)
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ )? *([a-z_0-9]+)$", done.stderr.decode(), re.M)
    shell = Shell(counting.runner)
    gate = counting.runner.cwd / "gate"
    os.mkfifo(gate)
    ready = counting.runner.cwd / "ready"
    pid = shell.start(f"sh -c ': > {ready}; read go; exec {calls}' < {gate}")
    with open(gate, "w", encoding="utf-8") as go, counting.client() as client:
        wait_until(ready.exists, what="the shell, past its own beginning")
        client.call("job.start", job_id="table")
        begin_sheet(counting, client, "table", 1, pid)
        go.write("go\n")
        go.flush()
        shell.reap(pid)
        publish(client, "sheet.completed", "table", 1)
        told = sheet_counts(client.call("job.profile", job_id="table"), 1)
    for number, name in rows:
        # exit_group never returns; the shell has read its line, and closes what it has open.
        if name not in ("total", "exit_group", "read", "fcntl", "close", "openat"):
            assert told.get(name) == int(number), (name, told)


# Threads that ran before the sheet began, of which each ends after its calls, and a later one.
THREADS = """
import os, sys, threading
go = threading.Event()
def work(count):
    go.wait()
    for _ in range(count): os.getppid()
threads = [threading.Thread(target=work, args=(1 + each,)) for each in range(40)]
for thread in threads: thread.start()
open(sys.argv[1], 'w').close()
sys.stdin.readline()
go.set()
threads.append(threading.Thread(target=work, args=(1000,)))
threads[-1].start()
for thread in threads: thread.join()
work(77)
sys.stdin.readline()
"""


def test_threads_of_a_sheet_are_their_process_s(any_method):
    runner = any_method.runner
    ready = runner.cwd / "ready"
    target = subprocess.Popen([*runner.wrapper, sys.executable, "-c", THREADS, ready], stdin=subprocess.PIPE)
    wait_until(ready.exists, what="its threads")
    wanted = sum(range(1, 41)) + 1000 + 77
    with any_method.client() as client:
        client.call("job.start", job_id="threads")
        begin_sheet(any_method, client, "threads", 1, target.pid)
        target.stdin.write(b"\n")
        target.stdin.flush()
        told = process_counts(any_method, target.pid, "getppid", wanted)
        assert told["syscall_counts"]["getppid"] == wanted
        publish(client, "sheet.completed", "threads", 1)
        profile_with(client, "threads", {1: wanted})
    target.communicate()


# ---- where it goes ----

def test_a_process_tells_its_calls_and_where_their_time_went(any_method):
    counting, shell = any_method, Shell(any_method.runner)
    with counting.client() as client:
        client.call("job.start", job_id="places")
        begin_sheet(counting, client, "places", 1, shell.pid)
        shell.run("sleep 0.3")
        told = process_counts(counting, shell.pid, "wait4", 1)
        assert told["syscall_counts"].keys() == told["syscall_time_pct"].keys()
        assert 99 < sum(told["syscall_time_pct"].values()) < 101
        hotspot = max(told["syscall_time_pct"], key=told["syscall_time_pct"].get)
        context = client.call("context.get", pid=shell.pid)
        assert re.fullmatch(hotspot + r" \d+%", context["syscall_hotspot"])
        back = publish(client, "sheet.completed", "places", 1, pid=shell.pid)
        assert back["data"]["resource_context"]["syscall_hotspot"].split()[0] == hotspot
    snapshot = counting.top()
    counting.wait_for_stored(snapshot["timestamp"])
    rows = counting.rows("SELECT syscall_counts, syscall_time_pct FROM process_metrics WHERE pid = ? AND"
                         " syscall_counts IS NOT NULL", shell.pid)
    assert json.loads(rows[-1]["syscall_counts"])["wait4"] >= 1
    assert 99 < sum(json.loads(rows[-1]["syscall_time_pct"]).values()) < 101


def test_the_profile_of_a_job_outlives_the_daemon(counting):
    shell = Shell(counting.runner)
    getppids = counting.runner.workload("getppids")
    with counting.client() as client:
        client.call("job.start", job_id="long", pid=shell.pid)
        shell.run(f"{getppids} 500")
    assert counting.stop() == 0
    counting.start(env=COUNT)
    with counting.client() as client:
        shell.run(f"{getppids} 30")
        client.call("job.finish", job_id="long", outcome="completed")
        assert counts(client.call("job.profile", job_id="long"))["getppid"] == 530
    assert counting.stop() == 0
    counting.start()
    assert counts(counting.call("job.profile", job_id="long"))["getppid"] == 530


def test_the_calls_of_a_sheet_outlive_the_daemon(any_method):
    shell = Shell(any_method.runner)
    getppids = any_method.runner.workload("getppids")
    with any_method.client() as client:
        client.call("job.start", job_id="kept", pid=shell.pid)
        begin_sheet(any_method, client, "kept", 1, shell.pid)
        shell.run(f"{getppids} 500")
        publish(client, "sheet.completed", "kept", 1)
        profile_with(client, "kept", {1: 500})
        wait_until(lambda: tracer_of(shell.pid) == 0, what="no tracer")
        any_method.tops(2)  # strace has ended, and its last counts are taken
        before = client.call("job.profile", job_id="kept")["sheets"]
    assert any_method.stop() == 0
    any_method.start(env=COUNT)
    assert any_method.call("job.profile", job_id="kept")["sheets"] == before, "of a job that goes on"
    any_method.call("job.finish", job_id="kept", outcome="completed")
    assert any_method.stop() == 0
    any_method.start()
    assert any_method.call("job.profile", job_id="kept")["sheets"] == before, "of one that has ended"


def test_a_second_job_of_a_name_has_no_calls_of_the_first(counting):
    shell = Shell(counting.runner)
    with counting.client() as client:
        client.call("job.start", job_id="again", pid=shell.pid)
        shell.run(f"{counting.runner.workload('getppids')} 500")
        client.call("job.finish", job_id="again", outcome="completed")
        assert counts(client.call("job.profile", job_id="again"))["getppid"] == 500
        counting.tops(3)  # it is stored
        client.call("job.start", job_id="again")
        assert counts(client.call("job.profile", job_id="again")) == {}


# ---- who is not counted ----

def test_bystanders_are_not_counted(counting):
    shell, other = job_shell(counting, "mine"), Shell(counting.runner)
    other.run("/bin/true")
    shell.run("/bin/true")
    process_counts(counting, shell.pid, "wait4", 1)
    snapshot = counting.top()
    for process in snapshot["processes"]:
        assert ("syscall_counts" in process) == (process.get("job_id") == "mine"), process


def test_a_process_is_not_counted_once_its_job_has_ended(counting):
    shell = job_shell(counting, "short")
    getppids = counting.runner.workload("getppids")
    shell.run(f"{getppids} 10")
    process_counts(counting, shell.pid, "wait4", 1)
    counting.call("job.finish", job_id="short", outcome="completed")
    shell.run(f"{getppids} 10")
    counting.top_when(lambda snapshot: "syscall_counts" not in process_in(snapshot, shell.pid))
    # The same process in another job begins anew.
    with counting.client() as client:
        client.call("job.start", job_id="next", pid=shell.pid)
        shell.run(f"{getppids} 7")
        client.call("job.finish", job_id="next", outcome="completed")
        assert counts(client.call("job.profile", job_id="next"))["getppid"] == 7
        assert counts(client.call("job.profile", job_id="short"))["getppid"] == 10


def test_without_the_setting_nothing_is_counted_and_no_program_attached(start_daemon):
    kernel_events.need(start_daemon.runner)
    daemon = start_daemon(env={"METRON_EVENTS": "bpf"})
    assert "syscalls_counted_by" not in daemon.call("daemon.status")
    shell = job_shell(daemon, "plain")
    shell.run("true")
    assert "syscall_counts" not in process_in(daemon.top_when(), shell.pid)
    bpftool = need_program("bpftool")
    names = [subprocess.run([bpftool, "prog", "show", "id", str(number)], capture_output=True, check=False).stdout
             for kind, number in kernel_events.held_objects(daemon.pid) if kind == "prog"]
    assert not any(b"on_call" in name or b"on_return" in name for name in names)


def kernel_counts(daemon):
    """What the kernel's table has by now: {(process, number, error): count}, asked through bpftool."""
    entries = [entry["formatted"] for entry in kernel_events.table_of_calls(daemon.pid)]
    return {tuple(entry["key"].values()): entry["value"]["count"] for entry in entries}


def test_the_kernel_forgets_who_has_ended_and_stops_when_the_job_does(counting):
    shell = job_shell(counting, "leaves")
    for _ in range(30):
        shell.run("/bin/true")
    process_counts(counting, shell.pid, "wait4", 30)
    wait_until(lambda: len({process for process, *_ in kernel_counts(counting)}) == 1, what="the shell alone")
    counting.call("job.finish", job_id="leaves", outcome="completed")
    shell.run("/bin/true")  # the read that it was in may still count
    before = kernel_counts(counting)
    shell.run("/bin/true")
    assert kernel_counts(counting) == before


# ---- strace does no harm ----

def test_strace_leaves_when_the_sheet_ends_and_its_processes_go_on(any_method):
    shell = Shell(any_method.runner)
    with any_method.client() as client:
        client.call("job.start", job_id="go on")
        begin_sheet(any_method, client, "go on", 1, shell.pid)
        publish(client, "sheet.completed", "go on", 1)
    wait_until(lambda: tracer_of(shell.pid) == 0, what="no tracer")
    assert shell.run("true") == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_traced_sheet_outlives_the_daemon(straced, number):
    shell = Shell(straced.runner)
    with straced.client() as client:
        client.call("job.start", job_id="outlives")
        begin_sheet(straced, client, "outlives", 1, shell.pid)
    straced.stop(number)
    wait_until(lambda: tracer_of(shell.pid) == 0, what="no tracer")
    assert shell.run("true") == 0


def test_a_sheet_whose_process_has_ended_is_told_and_leaves_no_zombie(straced):
    shell = Shell(straced.runner)
    with straced.client() as client:
        client.call("job.start", job_id="gone")
        begin_sheet(straced, client, "gone", 1, shell.pid)
        tracer = tracer_of(shell.pid)
        shell.run(f"{straced.runner.workload('getppids')} 77")
        shell.end()
        profile_with(client, "gone", {1: 77})
    wait_until(lambda: not os.path.exists(f"/proc/{tracer}"), what="the end of strace")


def test_where_strace_may_not_attach_it_is_said_once_and_the_values_are_absent(user_straced):
    """A process that is traced already stands for whatever else the kernel refuses."""
    strace = need_program("strace")
    with user_straced.client() as client:
        client.call("job.start", job_id="refused")
        for sheet in 1, 2:
            child = subprocess.Popen([*user_straced.runner.wrapper, "sleep", "600"])
            wait_until(lambda: "sleep" in open(f"/proc/{child.pid}/comm", encoding="utf-8").read())  # noqa: B023
            with subprocess.Popen([*user_straced.runner.wrapper, strace, "-o", "/dev/null", "-p", str(child.pid)],
                                  stderr=subprocess.DEVNULL) as tracer:
                wait_until(lambda: tracer_of(child.pid), what="the other tracer")  # noqa: B023
                publish(client, "sheet.started", "refused", sheet, pid=child.pid)
                if sheet == 1:
                    wait_until(lambda: "traced already" in user_straced.said(), what="the reason")
                else:
                    time.sleep(2.5)  # nothing shows that it was tried, and not said again
                tracer.terminate()
            child.kill()
            child.wait()
        told = client.call("job.profile", job_id="refused")
    assert "syscall_hotspots" not in told
    assert user_straced.said().count("traced already") == 1


def test_many_straces_attach_and_detach_at_once(straced):
    shells = [Shell(straced.runner) for _ in range(8)]
    with straced.client() as client:
        client.call("job.start", job_id="many")
        for number, shell in enumerate(shells):
            begin_sheet(straced, client, "many", number, shell.pid)
            shell.run("true")
        for number, shell in enumerate(shells):
            publish(client, "sheet.completed", "many", number)
        profile_when(client, "many", lambda told: all(sheet_counts(told, n) for n in range(len(shells))))


def test_a_strace_that_does_not_attach_holds_up_no_tick(start_daemon):
    hanging = kernel_events.hanging_strace(start_daemon.runner.cwd)
    daemon = start_daemon(env={**COUNT, "METRON_EVENTS": "off", **hanging})
    shell = Shell(daemon.runner)
    with daemon.client() as client:
        client.call("job.start", job_id="held")
        publish(client, "sheet.started", "held", 1, pid=shell.pid)
        strace = kernel_events.wait_for_strace(daemon.pid)
        before = client.call("daemon.status")["ticks"]
        wait_until(lambda: client.call("daemon.status")["ticks"] > before + 1, what="ticks")
        assert processes.alive(strace), "it was waited for all the while"
