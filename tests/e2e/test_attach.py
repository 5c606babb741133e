"""metron attach: processes that run already are followed, never touched, and recorded from a baseline of now."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from support.held import await_record, await_records
from support.kernel_events import need_program
from support.processes import alive, file_lines, state, wait_until
from support.records import whole_lines
from support.users import ANOTHER_USER, AS_ANOTHER_USER, others_are_hidden


def program(code, stdin=subprocess.DEVNULL, **how):
    return subprocess.Popen([sys.executable, "-c", code], stdin=stdin, **how)


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
    wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", what="exec")
    yield process
    process.kill()
    process.wait()


def roots(run):
    return run.info["attached"]["roots"]


def test_a_running_process_is_recorded(run_metron, sleeper):
    run = run_metron.attach("--sample-interval 0.1 --report-interval 0.2 --duration 0.7 -m note --job j --sheet 4",
                            sleeper.pid).finish()
    assert run.returncode == 0
    info = run.info
    assert info["command"] == "sleep 60" and info["arguments"] == ["sleep", "60"]
    assert info["provenance"]["mode"] == "attach" and "wait" not in info["provenance"]
    assert info["message"] == "note" and info["job"] == "j" and info["sheet"] == 4
    assert info["attached"]["ended_by"] == "duration" and info["attached"]["duration"] == 0.7
    assert info["attached"]["children"] is True and info["attached"]["processes"] == 1
    fields = pathlib.Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()
    assert roots(run)[0]["pid"] == sleeper.pid and roots(run)[0]["start_ticks"] == int(fields[19])
    assert roots(run)[0]["working_directory"] == os.getcwd() and roots(run)[0]["uid"] == os.getuid()
    assert run.summary["wall_clock_time"] >= 0.7
    assert "exit_code" not in run.summary and "cause" not in run.summary and "survivors" not in info
    assert 1 <= run.summary["num_samples"] <= run.summary["wall_clock_time"] / 0.1 + 2
    assert len(run.usage) >= 2
    assert str(sleeper.pid) in run.usage[0]["measurements"]["proc_rss"]
    assert run.events == []
    assert alive(sleeper.pid)
    assert f"attached to process {sleeper.pid} (sleep 60) for " in run.message and "; it goes on" in run.message


def test_only_what_run_writes_of_it_is_written(run_metron, sleeper):
    run = run_metron.attach("--duration 0.2", sleeper.pid).finish()
    assert run.files() == ["run_events.jsonl", "run_info.json", "run_usage.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in run.cwd.iterdir()} == {0o600}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_the_recording_and_nothing_else(run_metron, sleeper, number):
    started = run_metron.attach("--sample-interval 0.1", sleeper.pid)
    started.signal(number)
    run = started.finish()
    assert run.returncode == 0 and run.info["status"] == "ended"
    assert run.info["attached"]["ended_by"] == "signal"
    assert alive(sleeper.pid) and sleeper.poll() is None


def test_no_signal_reaches_the_target(run_metron):
    """It would tell: every signal that can be caught is caught."""
    target = program("import signal, sys\n"
                     "seen = []\n"
                     "for n in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGALRM}:\n"
                     "    try: signal.signal(n, lambda number, frame: seen.append(number))\n"
                     "    except (OSError, ValueError): pass\n"
                     "print('ready', flush=True)\n"
                     "sys.stdin.readline()\n"
                     "sys.exit(len(seen))\n", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert target.stdout.readline() == b"ready\n"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        started = run_metron.attach("--sample-interval 0.05", target.pid, prefix=f"{number}_")
        started.signal(number)
        assert started.finish().returncode == 0
    status = pathlib.Path(f"/proc/{target.pid}/status").read_text()
    assert "TracerPid:\t0\n" in status
    target.stdin.close()
    assert target.wait(60) == 0


@pytest.mark.parametrize("events", ["bpf", "connector", "off"])
def test_it_ends_when_the_last_has_ended(run_metron, events):
    if events != "off":
        run_metron.need_events(events)
    target = subprocess.Popen(["sh", "-c", "exec 3<&0; (read line <&3; sleep 0.3) & read line; exit 3"],
                              stdin=subprocess.PIPE)
    started = run_metron.attach(f"--events {events} --sample-interval 0.1", target.pid)
    target.stdin.write(b"\n\n")
    target.stdin.close()
    run = started.finish()
    assert run.returncode == 0 and run.info["attached"]["ended_by"] == "target"
    assert run.summary["wall_clock_time"] > 0.3  # the child that outlived it was waited for
    told = events != "off"
    assert run.summary.get("exit_code") == (3 if told else None)
    assert run.summary.get("cause") == ("exited with code 3" if told else None)
    assert sum(event["event_type"] == "exit" and event["pid"] == target.pid for event in run.events) == 1
    assert target.wait() == 3  # it was the test's to wait for, and still is


@pytest.mark.parametrize("events", ["bpf", "connector"])
def test_how_it_was_killed_is_told(run_metron, events):
    run_metron.need_events(events)
    target = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
    started = run_metron.attach(f"--events {events}", target.pid)
    target.send_signal(signal.SIGTERM)
    run = started.finish()
    assert run.returncode == 0
    assert run.summary["signal"] == 15 and run.summary["exit_code"] == 143
    assert run.summary["cause"].startswith("killed by SIGTERM")
    assert target.wait() == -15


def test_of_several_how_they_ended_is_in_the_events_alone(run_metron):
    run_metron.need_events("connector")
    targets = [subprocess.Popen(["sh", "-c", f"read line; exit {code}"], stdin=subprocess.PIPE) for code in (3, 4)]
    started = run_metron.attach("--events connector --sample-interval 0.1", [target.pid for target in targets])
    for target in targets:
        target.stdin.close()
    run = started.finish()
    assert run.returncode == 0 and "exit_code" not in run.summary and "arguments" not in run.info
    assert run.info["command"] == "sh -c 'read line; exit 3' & sh -c 'read line; exit 4'"
    codes = {event["pid"]: event["exit_code"] for event in run.events if event["event_type"] == "exit"}
    assert codes[targets[0].pid] == 3 and codes[targets[1].pid] == 4
    assert f"attached to 2 processes ({targets[0].pid}, {targets[1].pid})" in run.message


def ends_of(started):
    return sum('"event_type":"exit"' in line for line in file_lines(started.path("events.jsonl")))


def test_without_children_only_the_process_itself_is_followed(run_metron):
    burn = run_metron.workload("burn")
    target = subprocess.Popen(["sh", "-c", f"while :; do {burn} 0.03; sleep 0.03; done"], stdin=subprocess.DEVNULL)
    intervals = "--sample-interval 0.1 --report-interval 0.1"
    try:
        whole = run_metron.attach(intervals, target.pid, prefix="w_")
        alone = run_metron.attach(f"--no-children {intervals}", target.pid)
        await_record(whole, lambda values: values.get("proc_processes") == 2, "the shell and its child")
        await_records(alone, 2)
        before = ends_of(whole)
        wait_until(lambda: ends_of(whole) > before + 1, what="ends of children")
        for started in (alone, whole):
            started.signal(signal.SIGTERM)
        alone, whole = alone.finish(), whole.finish()
    finally:
        target.kill()
        target.wait()
    assert alone.info["attached"]["children"] is False
    assert alone.summary["proc_peak_processes"] == 1 and alone.summary["proc_spawned"] == 0
    assert alone.events == []
    assert whole.summary["proc_peak_processes"] == 2
    assert whole.summary["proc_cpu_seconds"] > alone.summary["proc_cpu_seconds"], "all the time that one was, and more"


def test_its_own_shell_is_a_target_and_metron_no_part_of_it(run_metron):
    shell = f"sleep 60 & exec 3>&1; {run_metron.binary} attach -p run_ --duration 0.4 --sample-interval 0.1 $$; kill %1"
    done = subprocess.run(["bash", "-c", shell], cwd=run_metron.cwd, env=run_metron.environment(),
                          capture_output=True, timeout=60, check=False)
    info = json.loads((run_metron.cwd / "run_info.json").read_text())
    assert info["attached"]["ended_by"] == "duration", done.stderr
    assert info["attached"]["processes"] == 2  # bash and sleep
    usage = (run_metron.cwd / "run_usage.jsonl").read_text()
    assert f'"{info["recorder"]["pid"]}"' not in usage


def test_the_same_process_twice_is_one(run_metron, sleeper):
    run = run_metron.attach("--duration 0.2", [sleeper.pid, sleeper.pid]).finish()
    assert len(roots(run)) == 1


@pytest.mark.parametrize("operands, code, words", [
    ("", 2, "no process is given"),
    ("abc", 2, "'abc' is not the number of a process"),
    ("-- -5", 2, "is not the number of a process"),
    ("4194304", 1, "there is no process 4194304"),
    ("--capture-outputs none 1", 2, "capture-outputs"),
    ("--duration -1 1", 2, "duration"),
])
def test_wrong_usage_says_so(run_metron, operands, code, words):
    done = run_metron.metron(f"attach -p run_ {operands}")
    assert done.returncode == code and words in done.message and done.message.count("\n") == 1
    assert done.files() == []


def test_a_process_that_has_ended_is_an_error(run_metron):
    target = subprocess.Popen(["true"], stdin=subprocess.DEVNULL)
    wait_until(lambda: not alive(target.pid), what="its end")
    done = run_metron.metron(f"attach -p run_ {target.pid}")
    target.wait()
    assert done.returncode == 1 and f"process {target.pid} has ended" in done.message and done.files() == []


def test_a_thread_is_an_error_that_names_its_process(run_metron):
    target = program("import threading, time\n"
                     "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
                     "print('ready', flush=True)\ntime.sleep(30)\n", stdout=subprocess.PIPE)
    target.stdout.readline()
    threads = [int(name) for name in os.listdir(f"/proc/{target.pid}/task")]
    thread = next(number for number in threads if number != target.pid)
    done = run_metron.metron(f"attach {thread}")
    target.kill()
    target.wait()
    assert done.returncode == 1 and f"{thread} is a thread of process {target.pid}" in done.message


def test_a_thread_of_the_kernel_is_an_error(run_metron):
    if not pathlib.Path("/proc/2/comm").exists() or pathlib.Path("/proc/2/comm").read_text() != "kthreadd\n":
        pytest.skip("no threads of the kernel are to be seen here")
    done = run_metron.metron("attach 2")
    assert done.returncode == 1 and "kthreadd) is a thread of the kernel" in done.message


def test_another_users_process_is_an_error_that_names_the_owner(run_as_user):
    if os.getuid() != 0:
        pytest.skip("only root has processes of two users")
    target = subprocess.Popen(["sleep", "30"], stdin=subprocess.DEVNULL)
    done = run_as_user.metron(f"attach -p run_ {target.pid}")
    target.kill()
    target.wait()
    whose = "is another user's, and hidden" if others_are_hidden() else "belongs to root (uid 0)"
    assert done.returncode == 1 and f"process {target.pid} {whose}" in done.message
    assert done.files() == []


def test_root_may_attach_to_anybodys(run_metron):
    if os.getuid() != 0:
        pytest.skip("only root may")
    target = subprocess.Popen([*AS_ANOTHER_USER, "sleep", "30"], stdin=subprocess.DEVNULL)
    wait_until(lambda: pathlib.Path(f"/proc/{target.pid}/comm").read_text() == "sleep\n", what="exec")
    run = run_metron.attach("--duration 0.3 --sample-interval 0.1", target.pid).finish()
    target.kill()
    target.wait()
    assert run.returncode == 0 and roots(run)[0]["uid"] == ANOTHER_USER


def test_an_ordinary_user_attaches_to_his_own(run_as_user):
    wrapper = run_as_user.wrapper
    target = subprocess.Popen([*wrapper, "sleep", "30"], stdin=subprocess.DEVNULL)
    wait_until(lambda: pathlib.Path(f"/proc/{target.pid}/comm").read_text() == "sleep\n", what="exec")
    run = run_as_user.attach("--duration 0.5 --sample-interval 0.1", target.pid).finish()
    target.kill()
    target.wait()
    assert run.returncode == 0, run
    assert run.summary["proc_peak_processes"] == 1 and "smaps_peak_pss_total" in run.summary


def test_limits_and_environment_are_the_targets(run_metron):
    target = subprocess.Popen(["taskset", "-c", "0", "sleep", "30"], stdin=subprocess.DEVNULL,
                              env={**os.environ, "SLURM_JOB_ID": "77", "SLURM_SECRET_TOKEN": "hush"})
    wait_until(lambda: pathlib.Path(f"/proc/{target.pid}/comm").read_text() == "sleep\n", what="exec")
    run = run_metron.attach("--duration 0.2", target.pid, env={"SLURM_JOB_ID": "1"}).finish()
    target.kill()
    target.wait()
    assert run.info["system"]["may_use"]["cpus"] <= 1 and run.info["system"]["cpu_usable"] == 1
    assert run.info["env"]["SLURM_JOB_ID"] == "77" and run.info["env"]["SLURM_SECRET_TOKEN"] == "***"


def test_nothing_is_reaped_and_that_is_told(run_metron, sleeper):
    run = run_metron.attach("--duration 0.2 --measurements all", sleeper.pid).finish()
    rusage = run.info["provenance"]["collectors"]["rusage"]
    assert not rusage["available"] and "not metron's to wait for" in rusage["reason"]
    assert not any(key.startswith("rusage_") for key in run.summary)
    assert run.info["provenance"]["cgroup_scope"] in ("inherited", "none")
    assert "stay in the group they are in" in run.info["provenance"]["cgroup_reason"]


def test_system_calls_are_counted_inside_the_kernel(with_bpf):
    target = program("import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n"
                     "for _ in range(77): os.getppid()\nprint('done', flush=True)\nsys.stdin.readline()\n",
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    started = with_bpf.attach("--syscalls summary", target.pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    assert target.stdout.readline() == b"done\n"
    target.stdin.close()
    run = started.finish()
    target.wait()
    assert run.returncode == 0, run
    assert run.info["syscalls"]["method"] == "bpf"
    assert run.info["syscalls"]["by_call"]["getppid"]["count"] == 77


# Forty threads that run already, each of which ends after its calls; then one more, and a child.
CALLS = """
import os, sys, threading
go = threading.Event()
def work(count):
    go.wait()
    for _ in range(count): os.getppid()
threads = [threading.Thread(target=work, args=(1 + each,)) for each in range(40)]
for thread in threads: thread.start()
print('ready', flush=True)
sys.stdin.readline()
go.set()
late = threading.Thread(target=work, args=(1000,))
late.start()
for thread in [*threads, late]: thread.join()
if os.fork() == 0:
    work(33)
    os._exit(0)
os.wait()
work(77)
print('done', flush=True)
sys.stdin.readline()
"""
OWN_CALLS, CHILD_CALLS = sum(range(1, 41)) + 1000 + 77, 33


def attach_and_count(runner, args, target):
    """A finished attachment, in which the target has made its calls."""
    assert target.stdout.readline() == b"ready\n"
    started = runner.attach(f"--syscalls summary {args}", target.pid)
    while b"attached to" not in (line := started.process.stderr.readline()):
        assert line, "metron has ended"
    target.stdin.write(b"\n")
    target.stdin.flush()
    assert target.stdout.readline() == b"done\n"
    target.stdin.close()
    run = started.finish()
    target.wait()
    target.stdout.close()
    assert run.returncode == 0, run
    return run


def getppids_of(run, pid):
    return sum(record["measurements"].get("syscall_counts", {}).get(str(pid), {}).get("getppid", 0)
               for record in run.usage)


def tracer_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"TracerPid:\t(\d+)", status)[1])


@pytest.fixture
def with_strace():
    need_program("strace")


@pytest.mark.parametrize("children", [True, False])
def test_system_calls_are_counted_by_strace_threads_included(run_metron, with_strace, children):
    target = program(CALLS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    run = attach_and_count(run_metron, "--events off" if children else "--events off --no-children", target)
    assert run.info["syscalls"]["method"] == "strace"
    assert getppids_of(run, target.pid) == OWN_CALLS
    assert run.info["syscalls"]["by_call"]["getppid"]["count"] == OWN_CALLS + (CHILD_CALLS if children else 0)


def test_an_ordinary_user_counts_system_calls_of_his_own(run_as_user, with_strace):
    target = subprocess.Popen([*run_as_user.wrapper, sys.executable, "-c", CALLS], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    run = attach_and_count(run_as_user, "", target)
    assert run.info["syscalls"]["method"] == "strace"
    assert getppids_of(run, target.pid) == OWN_CALLS


def test_strace_leaves_with_metron(run_metron, with_strace, sleeper):
    for number in signal.SIGINT, signal.SIGKILL:
        started = run_metron.attach("--syscalls summary --events off", sleeper.pid, prefix=f"{number}_")
        wait_until(lambda: tracer_of(sleeper.pid), what="strace")
        started.signal(number)
        started.finish(check=False)
        wait_until(lambda: tracer_of(sleeper.pid) == 0, what="no tracer")
        wait_until(lambda: state(sleeper.pid) == "S", what="the target asleep again")


def test_why_system_calls_are_not_counted_is_said_at_once(run_metron, with_strace, sleeper):
    with subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(sleeper.pid)], stderr=subprocess.DEVNULL) as other:
        wait_until(lambda: tracer_of(sleeper.pid), what="the other tracer")
        run = run_metron.attach("--syscalls summary --events off --duration 0.2", sleeper.pid).finish()
        assert tracer_of(sleeper.pid) == other.pid
        other.terminate()
    wanted = f"process {sleeper.pid} is traced already, by process {other.pid} (strace)"
    assert run.returncode == 0 and run.message.count(f"system calls are not counted: {wanted}") == 1, run.message
    assert wanted in run.info["syscalls"]["reason"] and "method" not in run.info["syscalls"]
    assert not [key for record in run.usage for key in record["measurements"] if key.startswith("syscall")]


def test_without_strace_that_is_said(run_metron, sleeper):
    run = run_metron.attach("--syscalls summary --events off --duration 0.2", sleeper.pid,
                            env={"PATH": "/nonexistent"}).finish()
    assert run.returncode == 0, run
    assert run.message.count("system calls are not counted: strace is not installed") == 1, run.message


def test_an_exec_is_noticed(run_metron):
    target = subprocess.Popen(["sh", "-c", "read line; exec sleep 600"], stdin=subprocess.PIPE)
    started = run_metron.attach("--sample-interval 0.1 --report-interval 0.1 --measurements default,proc_cmd",
                                target.pid)
    usage = started.path("usage.jsonl")
    wait_until(lambda: whole_lines(usage), what="a record of the shell")
    target.stdin.close()
    wait_until(lambda: '"sleep 600"' in str(file_lines(usage)), what="a record of what it executed")
    started.signal(signal.SIGTERM)
    run = started.finish()
    target.kill()
    target.wait()
    commands = [record["measurements"]["proc_cmd"][str(target.pid)] for record in run.usage if record["num_samples"]]
    assert commands[0].startswith("sh -c") and commands[-1] == "sleep 600"


def test_a_settings_file_with_settings_of_run_is_no_trouble(run_metron, sleeper):
    folder = run_metron.home / "config" / "metron"
    folder.mkdir(parents=True)
    (folder / "metron.conf").write_text("cgroup = own\nmode = new-session\nsample_interval = 0.05\n[attach]\nmessage = hi\n")
    run = run_metron.attach("--duration 0.3", sleeper.pid).finish()
    assert run.returncode == 0 and run.info["message"] == "hi"
    assert run.info["provenance"]["sample_interval"] == 0.05


def test_help_and_man_page_name_every_option(run_metron):
    text = run_metron.metron("attach --help").stdout.decode()
    page = run_metron.metron("help --man attach").stdout.decode()
    for option in ("--no-children", "--duration S", "--sample-interval", "--events", "--summary-format"):
        assert option in text and option.split()[0].replace("-", "\\-") in page
    for option in ("--pty", "--capture-outputs", "--kill-after", "--fail-time", "--wait", "--mode", "--cgroup"):
        assert option not in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_readers_show_it(run_metron, sleeper):
    run_metron.attach("--duration 0.6 --sample-interval 0.1 --report-interval 0.2", sleeper.pid, prefix="logs/a_").finish()
    said = {command: run_metron.metron(f"{command} logs/a_info.json")
            for command in ("ls", "report", "plot", "suggest", "pp", "export --format csv", "export --format prometheus",
                            "export --format nextflow", "export --format snakemake", "export --format perfetto")}
    for command, done in said.items():
        assert done.returncode == 0, (command, done)
    assert "sleep 60" in said["ls"].stdout.decode()
    assert "attached to what ran already; it goes on" in said["report"].stdout.decode()
    assert "attached to what ran already" in said["plot"].stdout.decode()
    assert "all numbers are lower bounds" in " ".join(said["suggest"].stdout.decode().split())
    assert "metron_run_exit_code" not in said["export --format prometheus"].stdout.decode()
    duct = run_metron.metron("export --format duct -o duct_ logs/a_info.json")
    assert duct.returncode == 0, duct


def test_a_summary_format_may_ask_for_what_is_absent(run_metron, sleeper):
    run = run_metron.attach(["--duration", "0.2", "--summary-format",
                             "[{exit_code}] {wall_clock_time:.1f} {command}"], sleeper.pid).finish()
    assert re.search(r"\b\d+\.\d sleep 60", run.message)
