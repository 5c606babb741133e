"""Commands that misbehave: valid JSON and the right exit code every time."""

import os
import resource
import shutil
import signal
import subprocess

import pytest

from support import held, kernel_events, records
from support.processes import wait_until
from support.records import per_pid
from support.users import others_are_hidden


@pytest.mark.parametrize("args", ["", "--pty"])
def test_command_that_closes_its_stdio(run_metron, args):
    run = run_metron(f"--sample-interval 0.1 --report-interval 0.3 {args}",
                     [run_metron.workload("closestdio"), "0.7", "5"])
    assert run.returncode == 5
    assert run.bytes("stdout") == b""
    assert run.summary["proc_cpu_seconds"] >= 0.69
    assert run.wall >= 0.7, "a closed pipe is not the end of the command"
    assert len(run.usage) >= 2


def test_a_closed_pipe_is_not_polled_for_ever(run_metron):
    kernel_events.need_program("strace")
    trace = run_metron.cwd.parent / "waits"
    run = run_metron("--sample-interval 0.1 --events off", [run_metron.workload("closestdio"), "0.5", "5"],
                     outer=["strace", "-qq", "-o", str(trace), "-e", "trace=poll,ppoll,epoll_wait,epoll_pwait"],
                     env={"ASAN_OPTIONS": "detect_leaks=0"})  # the search for leaks cannot be traced
    assert run.returncode == 5
    waits = len(trace.read_text(encoding="utf-8").splitlines())
    assert 0 < waits < 100 + 20 * run.summary["num_samples"], "a loop that turns waits thousands of times"


@pytest.mark.plain
def test_hundred_megabytes_in_one_line(run_metron):
    run = run_metron("-q --sample-interval 0.1", [run_metron.workload("bigline"), "100"])
    assert run.returncode == 0
    assert len(run.stdout) == 100_000_001
    assert run.stdout == b"x" * 100_000_000 + b"\n"
    assert run.bytes("stdout") == run.stdout
    run.path("stdout").unlink()
    assert run.summary["self_peak_rss"] < 64 << 20, "the line is not held in memory"


def test_hundred_megabytes_in_one_line_through_a_pty(run_metron):
    run = run_metron("-q --pty", [run_metron.workload("bigline"), "20"])
    assert run.returncode == 0
    assert run.bytes("stdout") == b"x" * 20_000_000 + b"\r\n"


@pytest.mark.parametrize("events", ["auto", "off"])
def test_names_that_no_reader_should_trust(run_metron, events):
    started = run_metron.start(f"--sample-interval 0.05 --report-interval 0.1 --events {events}",
                               [run_metron.workload("nasty_name"), "600"])
    held.await_record(started, lambda values: values.get("proc_processes") == 2, "both of them")
    wait_until(lambda: records.total(held.records(started), "proc_cpu_seconds") >= 0.05, what="what the child burns")
    started.signal(signal.SIGTERM)
    run = started.finish()
    assert run.returncode == 143
    commands = per_pid(run.usage, "proc_cmd")
    text = "".join(value for values in commands.values() for value in values)
    for part in ("nasty", '"', "[31m", ") R 1 1 "):
        assert part in text, "what is valid text is kept"
    for part in ("\\xff", "\\xc0\\xaf", "\\xed\\xa0\\x80"):
        assert part in text, "what is not is written as \\xNN"
    for part in ("\n", "\t", "\x1b"):
        assert part in text or f"\\x{ord(part):02x}" in text
    assert run.summary["proc_peak_processes"] == 2
    assert run.summary["proc_cpu_seconds"] == pytest.approx(0.05, abs=0.04)
    parents = per_pid(run.usage, "proc_ppid")
    assert len(parents) == 2
    assert "\x1b" not in run.message and "\xff" not in run.message


def test_nasty_survivor_is_named_safely(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", f"{run_metron.workload('nasty_name')} 5 & sleep 0.6"])
    assert run.returncode == 0
    assert "\x1b" not in run.message
    assert all(ord(letter) >= 32 or letter in "\n\t" for letter in run.message)


def test_nasty_arguments_prefix_and_message(run_metron):
    nasty = b'--x=\xff\xfe"\\\n\x1b[2J\x01'
    line = [part.encode() for part in run_metron.command_line("", "true")]
    position = line.index(b"--")
    line = line[:position] + [b"--message", nasty, b"--job", b'job "\n\xff', *line[position:], nasty]
    done = subprocess.run(line, cwd=run_metron.cwd, env=run_metron.environment(), capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done
    info = records.strict_json((run_metron.cwd / "run_info.json").read_bytes())
    assert "\\xff\\xfe\"\\\n\x1b[2J\x01" in info["message"]
    assert b"\x1b" not in done.stderr


def test_thousands_of_arguments(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "sleep 0.3", *["argument"] * 20000])
    assert run.returncode == 0
    assert run.has("info.json")


@pytest.mark.parametrize("events", ["auto", "off"])
@pytest.mark.parametrize("interval", ["0.01", "1"])
def test_fork_bomb_of_short_children(run_metron, events, interval):
    count = run_metron.cwd / "count"
    run = run_metron(f"--sample-interval {interval} --report-interval 1 --events {events}",
                     [run_metron.workload("forkbomb"), "0.4", str(count), "7"])
    assert run.returncode == 7
    started = int(count.read_text())
    assert started > 0
    assert 1 <= run.summary["proc_spawned"] <= started + 1
    assert run.summary["proc_exited"] <= started + 1
    assert run.summary["proc_cpu_seconds"] > 0.00003 * started, "each takes as much at least"


def test_fork_bomb_of_orphans(run_metron):
    """Children that metron itself must reap, as fast as they come."""
    run = run_metron("--sample-interval 0.05 --report-interval 0.5 --wait tree",
                     [run_metron.workload("forkstorm"), "-n", "800", "0.2"])
    assert run.returncode == 0
    assert run.summary["proc_cpu_seconds"] >= 0.16


def test_few_descriptors_and_many_processes(run_metron):
    path = run_metron.cwd / "pids"
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.2",
                               [run_metron.workload("manyprocs"), "-f", "20", "-o", str(path), "500", "600"],
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
    assert started.process.stdout.readline() == b"ready\n"
    pids = set(path.read_text().split())
    assert len(pids) == 500

    def all_are_in(record):
        return all(pids <= set(record["measurements"].get(key, ()))
                   for key in ("proc_rss", "proc_hwm", "proc_fds", "proc_pdcpu"))

    wait_until(lambda: any(all_are_in(record) for record in records.whole_lines(started.path("usage.jsonl"))),
               what="a record of all of them")
    started.signal(signal.SIGTERM)
    assert started.finish().returncode == 143


def test_hardly_any_descriptors(run_metron):
    started = run_metron.start("--sample-interval 0.1 --report-interval 0.1", [run_metron.workload("manyprocs"), "60", "-"],
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)),
                               stdin=subprocess.PIPE)
    held.await_record(started, lambda measured: measured.get("proc_processes") == 60, "a record of all of them")
    run = started.finish()
    assert run.returncode == 0, run
    assert run.summary["proc_peak_processes"] == 60


def test_processes_that_vanish_while_they_are_read(run_metron):
    """Fine sampling of children that live a few milliseconds: each vanishing costs its own reading only."""
    run = run_metron("--sample-interval 0.01 --report-interval 0.5 --log-level warning",
                     ["sh", "-c", f"for i in 1 2 3 4; do {run_metron.workload('forkstorm')} 100 1 & done; wait"])
    assert run.returncode == 0
    assert run.stderr == b"", "nothing to warn of"
    assert run.summary["proc_cpu_seconds"] >= 0.4


def test_command_that_is_stopped_for_a_while(run_metron):
    command = "(sleep 0.6; kill -CONT $$) & kill -STOP $$; exit 6"
    run = run_metron("--sample-interval 0.1", ["sh", "-c", command])
    assert run.returncode == 6
    tallies = [state for values in per_pid(run.usage, "proc_stat").values() for tally in values for state in tally]
    assert "T" in tallies


def test_zombie_leader_is_followed(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.3", [run_metron.workload("leaderexit"), "0.5"])
    assert run.returncode == 0
    assert run.wall >= 0.5, "a leader that is gone is not the end of its process"
    assert run.summary["proc_cpu_seconds"] >= 0.59


def test_process_of_another_user_costs_only_its_own_hidden_readings(run_as_user):
    """As an ordinary user, with a setuid program in the tree: what is hidden is absent, what is told is right."""
    if os.getuid() != 0:
        pytest.skip("only root can make a setuid program")
    program = run_as_user.cwd.parent / "setuid-burn"
    shutil.copy(run_as_user.workload("burn"), program)
    program.chmod(0o4755)
    run = run_as_user("--sample-interval 0.1 --report-interval 0.5 --log-level warning",
                      ["sh", "-c", f"{program} 0.8; true"])
    assert run.returncode == 0
    assert run.stderr == b""
    assert run.summary["proc_cpu_seconds"] >= 0.79
    commands = per_pid(run.usage, "proc_cmd")
    burners = [pid for pid, values in commands.items() if values[-1].startswith(str(program))]
    if others_are_hidden():
        assert burners == []
        return
    (burner,) = burners
    assert max(per_pid(run.usage, "proc_pdcpu")[burner]) > 0
    assert burner in per_pid(run.usage, "proc_rss")
    # The folder of its descriptors is closed to us, but newer kernels tell its size. (The loader of its libraries may be
    # seen with one more.)
    assert per_pid(run.usage, "proc_fds").get(burner, [3])[-1] == 3
    assert set(commands) - {burner} <= set(per_pid(run.usage, "proc_fds"))


def test_command_that_kills_its_own_process_group(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "sleep 0.3; kill -TERM 0; sleep 5"])
    assert run.returncode == 143, "metron is not in the command's process group"
    assert run.has("info.json")


@pytest.mark.parametrize("capture", ["all", "none"])
def test_command_that_has_ended_before_we_look(run_metron, capture):
    """Over and over, because it is a race: the end may come before the first turn of the loop."""
    for i in range(15):
        run = run_metron(f"-q --capture-outputs {capture}", "true", prefix=f"run{i}_")
        assert run.returncode == 0, run
        assert run.info["status"] != "running"
