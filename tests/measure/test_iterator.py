"""Reading all processes in one call of a task iterator: the same values as /proc has.

Each recording, by the iterator and by procfs, is compared with what this test reads from /proc at the same time, of a
tree that stands still: whatever both have in common must be equal.
"""

import ctypes
import os
import pathlib
import signal
import subprocess

import pytest

from support import daemon_client as dc
from support import processes, records
from support.burner import own_cpu_seconds
from support.cputruth import JOINING_SECONDS
from support.held import await_records
from support.processes import file_lines, stat_fields, wait_until

PAGE = os.sysconf("SC_PAGESIZE")
TICK = 1 / os.sysconf("SC_CLK_TCK")
# The counters of resident pages are kept per CPU, with a slack that only some of the files sum up.
RSS_SLACK = 64 * PAGE * (os.cpu_count() or 1)


def crowd_size(threads):
    """Processes enough that a quarter of the machine's threads is not more: below that, files are cheaper. No other
    test of the group "crowd" starts or ends thousands meanwhile."""
    others = int(pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[3].split("/")[1])
    return max(200, others // (4 - threads) + 100)


def is_asleep(pid):
    """Whether each thread of a process sleeps."""
    return all(stat_fields(f"{pid}/task/{thread}")[0] == "S" for thread in os.listdir(f"/proc/{pid}/task"))


def status_fields(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return dict(line.split(":", 1) for line in text.splitlines())


class Truth:
    """One process, as /proc has it."""

    def __init__(self, pid):
        folder = pathlib.Path(f"/proc/{pid}")
        fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        status = status_fields(pid)
        self.state, self.ppid = fields[0], fields[1]
        self.minor_faults, self.major_faults = int(fields[7]), int(fields[9])
        self.cpu_seconds = own_cpu_seconds(int(pid))
        self.threads, self.vsz = int(fields[17]), int(fields[20])
        self.rss = int((folder / "statm").read_text(encoding="utf-8").split()[1]) * PAGE
        self.hwm = int(status["VmHWM"].split()[0]) * 1024
        self.fds = len(os.listdir(folder / "fd"))
        self.io = dict((name, int(value)) for name, value in
                       (line.split(": ") for line in (folder / "io").read_text(encoding="utf-8").splitlines()))


class Recording:
    """A run of a still tree, and what /proc said of it in the middle."""

    def __init__(self, runner, args, command, count, still_seconds=2.0):
        path = runner.cwd / "pids"
        started = runner.start(f"--sample-interval 0.2 --report-interval {still_seconds} --no-smaps {args}",
                               [*command(path)], prefix="r_")
        self.pids = wait_until(lambda: len(file_lines(path)) >= count and file_lines(path), 60, "all processes")
        wait_until(lambda: all(map(is_asleep, self.pids)), 60, "a tree that is asleep")
        # The first record may be of a sample that was taken before.
        quiet = len(await_records(started, 2))
        self.truth = {pid: Truth(pid) for pid in self.pids}
        await_records(started, 1)
        again = {pid: Truth(pid) for pid in self.pids}
        assert {pid: vars(one) for pid, one in again.items()} == {pid: vars(one) for pid, one in self.truth.items()}, (
            "the tree does not stand still")
        started.signal(signal.SIGTERM)
        self.run = started.finish()
        assert self.run.returncode == 143, self.run
        self.before = self.run.usage[:quiet]
        self.still = self.run.usage[quiet]["measurements"]  # all of it between the two looks

    def check(self):
        """Everything that /proc and the record both have."""
        assert self.still["proc_processes"] == len(self.pids)
        faults = {key: records.per_pid(self.before, f"proc_{key}") for key in ("minor_faults", "major_faults")}
        for pid, truth in self.truth.items():
            for key, wanted, slack in (("proc_vsz", truth.vsz, 0), ("proc_threads", truth.threads, 0),
                                       ("proc_fds", truth.fds, 0), ("proc_ppid", truth.ppid, None),
                                       ("proc_rss", truth.rss, RSS_SLACK), ("proc_hwm", truth.hwm, RSS_SLACK)):
                told = self.still[key][pid]
                if slack is None:
                    assert str(told) == wanted, (key, pid)
                else:
                    assert abs(told - wanted) <= slack, (key, pid, told, wanted)
            assert set(self.still["proc_stat"][pid]) == {truth.state}, pid
            for key, told in faults.items():
                assert sum(told[pid]) == getattr(truth, key), (key, pid)
        self.check_totals()

    def check_totals(self):
        def summed(value):
            return sum(value(truth) for truth in self.truth.values())

        assert self.still["proc_vsz_total"] == summed(lambda one: one.vsz)
        assert self.still["proc_threads_total"] == summed(lambda one: one.threads)
        assert self.still["proc_fds_total"] == summed(lambda one: one.fds)
        assert self.still["proc_rss_total"] == pytest.approx(summed(lambda one: one.rss), rel=0.02)
        assert self.still["proc_hwm_max"] == pytest.approx(max(one.hwm for one in self.truth.values()), abs=RSS_SLACK)
        assert records.total(self.before, "proc_minor_faults_total") == summed(lambda one: one.minor_faults)
        for key in ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes"):
            assert records.total(self.before, f"io_{key}_total") == summed(lambda one: one.io[key]), key
        used = summed(lambda one: one.cpu_seconds)
        assert records.total(self.before, "proc_cpu_seconds") == pytest.approx(used, abs=TICK)
        assert self.still["proc_cpu_seconds"] <= TICK, "nobody ran"
        assert self.still["io_rchar_total"] == 0


def still_tree(runner, count):
    return lambda path: [runner.workload("manyprocs"), "-f", "6", "-o", str(path), str(count), "600"]


@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("events", ["bpf", "connector"])
def test_a_still_tree_is_as_proc_has_it(with_bpf, events):
    with_bpf.need_events(events)
    count = crowd_size(1)
    recording = Recording(with_bpf, f"--events {events}", still_tree(with_bpf, count), count)
    read_by = recording.run.info["provenance"]["processes_read_by"]
    assert ("iterator" in read_by) == (events == "bpf"), read_by
    recording.check()


def test_a_small_tree_is_read_from_files(with_bpf):
    recording = Recording(with_bpf, "--events bpf", still_tree(with_bpf, 5), 5, still_seconds=0.6)
    assert recording.run.info["provenance"]["processes_read_by"] == "procfs"
    recording.check()


CROWD = """
import os, sys, threading, time
count, threads, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
lines = [str(os.getpid())]
read, write = os.pipe()
for i in range(count - 1):
    pid = os.fork()
    if pid == 0:
        block = bytearray((i % 10) << 16)
        def burn():
            end = time.thread_time() + 0.001
            while time.thread_time() < end:
                pass
            os.write(write, b"x")
            threading.Event().wait()
        for _ in range(threads - 1):
            threading.Thread(target=burn, daemon=True).start()
        burn()
    lines.append(str(pid))
left = (count - 1) * threads
while left:
    left -= len(os.read(read, 4096))
open(path, "w").write("\\n".join(lines) + "\\n")
time.sleep(600)
"""


@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("events", ["bpf", "connector"])
def test_threads_and_memory_are_summed_as_proc_sums_them(with_bpf, events):
    """A leader's runtime is not its process's; a process that has used much has much."""
    with_bpf.need_events(events)
    script = with_bpf.cwd / "crowd.py"
    script.write_text(CROWD, encoding="utf-8")
    count = crowd_size(2)
    recording = Recording(with_bpf, f"--events {events}",
                          lambda path: ["/usr/bin/python3", str(script), str(count), "2", str(path)], count)
    read_by = recording.run.info["provenance"]["processes_read_by"]
    assert ("iterator" in read_by) == (events == "bpf"), read_by
    assert max(one.threads for one in recording.truth.values()) == 2
    recording.check()


@pytest.mark.xdist_group("crowd")
def test_cpu_of_a_busy_crowd_is_conserved_by_the_iterator(with_bpf, cpu_truth):
    """Many that wake and run between samples: the ledger read by the iterator against the kernel's own count."""
    truth = cpu_truth(as_user=False)
    run = with_bpf("--events bpf --cgroup off --sample-interval 0.2 --no-smaps",
                   [*truth.join, with_bpf.workload("manyprocs"), "-w", "0.005", str(crowd_size(1)), "3"],
                   outer=truth.outer)
    assert run.returncode == 0, run
    assert "iterator" in run.info["provenance"]["processes_read_by"]
    seconds = truth.seconds()
    assert run.summary["proc_cpu_seconds"] == pytest.approx(seconds, rel=0.01, abs=TICK)
    assert run.summary["exit_cpu_seconds_total"] == pytest.approx(seconds, rel=0.001, abs=JOINING_SECONDS)


# ---- swap ----

MADV_PAGEOUT, SYS_PROCESS_MADVISE = 21, 440
SLEEPER = """
import ctypes, mmap, os, sys, time
size = 16 << 20
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at:at + 8] = os.urandom(8)
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
open(sys.argv[1] + ".new", "w").write(f"{os.getpid()} {place} {size}\\n")
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


@pytest.fixture
def swap(run_metron):
    """64 MiB of swap on the machine."""
    path = run_metron.cwd / "swap"
    path.write_bytes(bytes(64 << 20))
    path.chmod(0o600)
    for command in (["mkswap", path], ["swapon", path]):
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} is not installed")
        if done.returncode != 0:
            pytest.skip(f"there can be no swap here: {done.stderr.decode().strip()}")
    yield
    processes.end_leftovers()
    subprocess.run(["swapoff", path], check=True)


class Sleeper:
    """A process that never runs again, while others write its memory to swap."""

    def __init__(self, path):
        self.pid, self.place, self.size = map(int, wait_until(lambda: file_lines(path), 60, "the sleeper")[0].split())

    def page_out(self):
        """Returns what the kernel counts of it in swap then."""
        wait_until(lambda: is_asleep(self.pid), what="sleep")
        part = (ctypes.c_size_t * 2)(self.place, self.size)
        fd = os.pidfd_open(self.pid)
        result = ctypes.CDLL(None, use_errno=True).syscall(SYS_PROCESS_MADVISE, fd, part, 1, MADV_PAGEOUT, 0)
        os.close(fd)
        if result < 0:
            pytest.skip(f"the memory of others cannot be written to swap: {os.strerror(ctypes.get_errno())}")
        swapped = int(status_fields(self.pid)["VmSwap"].split()[0]) * 1024
        assert swapped > self.size / 2
        return swapped


@pytest.mark.xdist_group("crowd")
@pytest.mark.parametrize("events", ["bpf", "off"])
def test_swap_is_as_the_kernel_counts_it_of_one_that_sleeps(with_bpf, swap, events):
    with_bpf.need_events(events)
    path, script = with_bpf.cwd / "sleeper", with_bpf.cwd / "sleeper.py"
    script.write_text(SLEEPER, encoding="utf-8")
    crowd = f"{with_bpf.workload('manyprocs')} {crowd_size(1)} 600 &" if events == "bpf" else ""
    run = with_bpf.start(f"--sample-interval 0.2 --report-interval 1 --no-smaps --events {events}",
                         ["sh", "-c", f"{crowd} exec /usr/bin/python3 {script} {path}"], prefix="r_")
    sleeper = Sleeper(path)
    before = await_records(run, 2)[-1]["measurements"]
    assert before["proc_swap"][str(sleeper.pid)] == 0
    swapped = sleeper.page_out()
    after = await_records(run, 2)[-1]["measurements"]
    # From Linux 6.17 on the file has what each CPU has counted, too; the iterator always has.
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    slack = RSS_SLACK if events == "bpf" and release < (6, 17) else 0
    assert abs(after["proc_swap"][str(sleeper.pid)] - swapped) <= slack
    assert after["proc_swap_total"] >= swapped - slack
    run.signal(signal.SIGTERM)
    read_by = run.finish().info["provenance"]["processes_read_by"]
    assert ("iterator" in read_by) == (events == "bpf"), read_by


def test_swap_reaches_snapshots_the_history_and_its_views(run_metron, swap):
    dc.need_daemon(run_metron)
    path, script = run_metron.cwd / "sleeper", run_metron.cwd / "sleeper.py"
    script.write_text(SLEEPER, encoding="utf-8")
    daemon = dc.Daemon(run_metron, run_metron.cwd)
    daemon.start(interval=0.2)
    try:
        subprocess.Popen(["/usr/bin/python3", script, path])
        sleeper = Sleeper(path)
        megabytes = sleeper.page_out() / (1 << 20)
        daemon.tops(2)
        top = daemon.tops(1)[-1]
        assert dc.process_in(top, sleeper.pid)["swap_mb"] == pytest.approx(megabytes, abs=0.001)
        daemon.wait_for_stored(top["timestamp"])
        stored = daemon.rows("SELECT swap_mb FROM process_metrics WHERE pid = ? ORDER BY id DESC LIMIT 1", sleeper.pid)
        assert stored[0]["swap_mb"] == pytest.approx(megabytes, abs=0.001)
    finally:
        daemon.end()
