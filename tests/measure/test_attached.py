"""What metron attach counts is what the kernel counts, from the moment it attached."""

import datetime
import os
import pathlib
import subprocess
import sys
import time

import pytest

from support.held import await_records
from support.processes import descendants, stat_fields, wait_until

# Burns until it has used argv[1] CPU seconds; with "-", then waits for a line and burns 0.5 s more.
BURN = """
import sys, time
def burn(end):
    while time.process_time() < end: pass
end = float(sys.argv[1])
burn(end)
if len(sys.argv) > 2:
    sys.stdin.readline()
    burn(end + 0.5)
"""


def cpu_clock(pid):
    """CPU seconds of a process, all its threads, in nanoseconds: the kernel's own clock of it."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def input_output(pid):
    lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}


def burner(wrapper=(), seconds=600, *more, stdin=subprocess.DEVNULL):
    return subprocess.Popen([*wrapper, sys.executable, "-S", "-c", BURN, str(seconds), *more], stdin=stdin)


def cpu_at_end(process):
    """CPU seconds of a child that ends well, in all."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def await_asleep(pid):
    """Waits until it sleeps, so that its counters no longer change."""
    wait_until(lambda: stat_fields(pid)[0] == "S", 60, "a process that waits")


@pytest.fixture(params=["root", "user"])
def runner(request, run_metron, run_as_user):
    return run_metron if request.param == "root" else run_as_user


@pytest.mark.parametrize("events", ["off", "connector", "bpf"])
def test_what_it_burnt_before_is_not_counted(runner, events):
    if events == "bpf" and runner.wrapper:
        pytest.skip("an ordinary user loads no programs")
    if events != "off":
        runner.need_events(events)
    target = burner(runner.wrapper)
    try:
        wait_until(lambda: cpu_clock(target.pid) > 0.5, 60, "half a second of CPU")
        first = cpu_clock(target.pid)
        started = runner.attach(f"--events {events} --sample-interval 0.1 --report-interval 0.3 --duration 0.6",
                                target.pid)
        attached = cpu_clock(target.pid)
        run = started.finish()
        last, now = cpu_clock(target.pid), time.time()
    finally:
        target.kill()
        target.wait()
    # The baseline lies between the first two, the end as long before the last as its time stamp says.
    counted = run.summary["proc_cpu_seconds"]
    late = now - datetime.datetime.fromisoformat(run.summary["end_time"]).timestamp()
    assert last - attached - late - 0.02 <= counted <= last - first + 1e-9, "but for the last digit of a difference"
    assert sum(record["measurements"]["proc_cpu_seconds"] for record in run.usage) == pytest.approx(counted, abs=1e-6)


def test_the_last_second_of_one_that_ends_is_counted_where_the_kernel_tells(with_bpf):
    target = burner((), 0.2, "-", stdin=subprocess.PIPE)
    wait_until(lambda: cpu_clock(target.pid) >= 0.2, 60, "its first CPU")
    await_asleep(target.pid)
    before = cpu_clock(target.pid)
    started = with_bpf.attach("--events bpf --sample-interval 1", target.pid)
    target.stdin.close()
    used = cpu_at_end(target)  # gone at once: nobody can look at what it used last
    run = started.finish()
    assert run.summary["exit_code"] == 0 and run.info["attached"]["ended_by"] == "target"
    assert run.summary["proc_cpu_seconds"] == pytest.approx(used - before, abs=0.001)
    assert run.info["provenance"]["cpu_is_conserved"] is True


def test_without_events_what_is_missing_is_told(run_metron):
    target = burner((), 1, "-", stdin=subprocess.PIPE)
    wait_until(lambda: cpu_clock(target.pid) > 0.5, 60, "half a second of CPU")
    first = cpu_clock(target.pid)
    started = run_metron.attach("--events off --sample-interval 0.2 --report-interval 0.2", target.pid)
    before = cpu_clock(target.pid)
    wait_until(lambda: cpu_clock(target.pid) >= 1, 60, "a second of CPU")
    await_asleep(target.pid)
    seen = cpu_clock(target.pid)
    await_records(started, 2)
    target.stdin.close()
    used = cpu_at_end(target)
    run = started.finish()
    # What it used after the last sample is missing, and nothing else; never too much.
    assert seen - before - 0.001 <= run.summary["proc_cpu_seconds"] <= used - first + 0.001
    assert run.info["provenance"]["cpu_is_conserved"] is False
    assert "not conserved" in run.info["headline"]["cpu_seconds"]["note"]


@pytest.mark.parametrize("events", ["off", "connector", "bpf"])
def test_a_tree_of_200(run_metron, events):
    """Everybody is followed from the attach on, and their CPU is that of the kernel's clocks."""
    if events != "off":
        run_metron.need_events(events)
    target = subprocess.Popen([run_metron.workload("manyprocs"), "-w", "0.05", "200", "600"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(descendants(target.pid)) >= 199, 60, "200 processes")
        pids = [target.pid, *descendants(target.pid)]

        def used():
            return sum(map(cpu_clock, pids))

        first = used()
        started = run_metron.attach(f"--events {events} --sample-interval 0.2 --report-interval 0.2", target.pid)
        attached = used()
        await_records(started, 3)
        seen = used()
        await_records(started, 2)
        started.signal(2)
        run = started.finish()
        last = used()
    finally:
        target.kill()
        target.wait()
    assert run.info["attached"]["processes"] == len(pids)
    assert run.summary["proc_peak_processes"] == len(pids)
    assert run.summary["proc_spawned"] == 0
    assert 0 < seen - attached <= run.summary["proc_cpu_seconds"] <= last - first


def test_a_past_that_is_inherited_is_not_counted(runner):
    """The child burns 0.5 s before and 0.5 s after; its parent waits for it, and inherits both."""
    code = ("import os, sys, time\n"
            "def burn(s):\n"
            "    e = time.process_time() + s\n"
            "    while time.process_time() < e: pass\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    burn(0.5)\n"
            "    open(sys.argv[1], 'w').close()\n"
            "    while not os.path.exists(sys.argv[2]): time.sleep(0.01)\n"
            "    burn(0.5)\n"
            "    os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
            "open(sys.argv[3], 'w').close()\n"
            "sys.stdin.readline()\n")
    burnt, go, waited = runner.cwd / "burnt", runner.cwd / "go", runner.cwd / "waited"
    target = subprocess.Popen([*runner.wrapper, sys.executable, "-c", code, str(burnt), str(go), str(waited)],
                              stdin=subprocess.PIPE)
    wait_until(burnt.exists, 60, "its first half")
    started = runner.attach("--sample-interval 0.2 --report-interval 0.2", target.pid)
    go.touch()
    wait_until(waited.exists, 60, "the end of the child")
    await_records(started, 3)
    target.stdin.close()
    run = started.finish()
    target.wait()
    assert run.summary["proc_cpu_seconds"] == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("events", ["connector", "bpf"])
def test_one_that_escapes_after_the_attach_is_counted(run_metron, events):
    """setsid, two forks, and the parent gone: its CPU is the target's."""
    run_metron.need_events(events)
    code = ("import os, sys, time\n"
            "print('ready', flush=True)\n"
            "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork() == 0:\n"
            "        while time.process_time() < 0.5: pass\n"
            "        print('burnt', flush=True)\n"
            "        sys.stdin.readline()\n"
            "    os._exit(0)\n"
            "os.wait()\n")
    go = run_metron.cwd / "go"
    target = subprocess.Popen([sys.executable, "-c", code, str(go)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    started = run_metron.attach(f"--events {events} --sample-interval 0.2 --report-interval 0.2", target.pid)
    go.touch()
    assert target.stdout.readline() == b"burnt\n"
    await_records(started, 3)
    target.stdin.close()
    run = started.finish()
    assert run.info["attached"]["ended_by"] == "target"
    assert run.summary["proc_cpu_seconds"] == pytest.approx(0.5, abs=0.1)
    assert run.summary["proc_spawned"] == 2
    assert target.wait() == 0


def test_a_peak_of_before_is_not_reported(run_metron):
    code = ("import sys, time\n"
            "x = bytearray(100_000_000)\n"
            "del x\n"
            "print('ready', flush=True)\n"
            "sys.stdin.readline()\n"
            "x = bytearray(int(sys.argv[1]))\n"
            "del x\n"
            "print('done', flush=True)\n"
            "sys.stdin.readline()\n")

    def peak(size):
        target = subprocess.Popen([sys.executable, "-c", code, str(size)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        target.stdout.readline()
        started = run_metron.attach("--sample-interval 0.2 --report-interval 0.2", target.pid, prefix=f"{size}_")
        target.stdin.write(b"\n")
        target.stdin.flush()
        target.stdout.readline()
        await_records(started, 3)
        started.signal(2)
        run = started.finish()
        target.kill()
        target.wait()
        return run

    low = peak(1000)
    assert low.summary["proc_hwm_max"] < 50_000_000  # not the 100 MB of before
    assert not any("proc_hwm" in record["measurements"] for record in low.usage)
    high = peak(150_000_000)
    assert high.summary["proc_hwm_max"] > 150_000_000  # above the mark of before: of our time


def test_input_and_output_of_before_is_not_counted(runner):
    code = ("import os, sys\n"
            "f = os.open('/dev/null', os.O_WRONLY)\n"
            "for _ in range(1000): os.write(f, b'x' * 1000)\n"
            "print('ready', flush=True)\n"
            "sys.stdin.readline()\n"
            "for _ in range(500): os.write(f, b'x' * 1000)\n"
            "print('done', flush=True)\n"
            "sys.stdin.readline()\n")
    target = subprocess.Popen([*runner.wrapper, sys.executable, "-c", code], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    target.stdout.readline()
    await_asleep(target.pid)
    before = input_output(target.pid)
    started = runner.attach("--sample-interval 0.1", target.pid)
    target.stdin.write(b"\n")
    target.stdin.flush()
    target.stdout.readline()
    await_asleep(target.pid)
    after = input_output(target.pid)
    started.signal(2)
    run = started.finish()
    assert run.summary["io_wchar_total"] == 500_000 + len("done\n")
    for key in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"):
        assert run.summary[f"io_{key}_total"] == after[key] - before[key], key
    target.stdin.write(b"\n")
    target.stdin.close()
    assert target.wait() == 0


def test_bystanders_cost_nothing_per_sample(run_metron):
    """The machine is scanned when it attaches, and not again."""
    target = subprocess.Popen([run_metron.workload("manyprocs"), "10", "600"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    wait_until(lambda: len(descendants(target.pid)) >= 9, 60, "10 processes")

    def reads_per_sample(prefix):
        started = run_metron.attach("--events off --sample-interval 0.05 --report-interval 0.05", target.pid,
                                    prefix=prefix)
        first, before = len(await_records(started, 5)), input_output(started.pid)["syscr"]
        last, after = len(await_records(started, 20)), input_output(started.pid)["syscr"]
        started.signal(2)
        run = started.finish()
        assert run.summary["proc_peak_processes"] == 1 + len(descendants(target.pid))
        return (after - before) / (last - first)

    few = reads_per_sample("few_")
    crowd = subprocess.Popen([run_metron.workload("manyprocs"), "1000", "600"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    wait_until(lambda: len(descendants(crowd.pid)) >= 999, 60, "1,000 bystanders")
    many = reads_per_sample("many_")
    for process in (target, crowd):
        process.kill()
        process.wait()
    # A scan would read a file of each. (Some samples may come between the count of records and that of reads.)
    assert many < few + 250
