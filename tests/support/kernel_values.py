"""What the kernel itself says of processes and of the machine, for what metron says to be held against."""

import os
import pathlib
import re
import time


def status_of(pid):
    """/proc/PID/status as {name: text}."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def rss_mb(pid):
    return int(status_of(pid)["VmRSS"].split()[0]) / 1024


def vms_mb(pid):
    return int(status_of(pid)["VmSize"].split()[0]) / 1024


def command_line(pid):
    data = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return " ".join(data.decode("utf-8", "replace").rstrip("\0").split("\0"))


def open_fds(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def age(pid):
    """How old a process is, to the tick in which it was born."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    born = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - born


def with_a_steady_clock(measure):
    """What measure() gives where it turns times of day into spans: again, if somebody has corrected the clock meanwhile."""
    while True:
        before = time.time() - time.monotonic()
        found = measure()
        if abs(time.time() - time.monotonic() - before) < 0.005:
            return found


def cpu_seconds(pid):
    """What the threads of a process have used, to the nanosecond (or the clock tick, where that is all there is)."""
    try:
        return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_kernel_thread(pid):
    """None if there is no such process."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:
        return None
    return bool(int(fields.split()[6]) & 0x00200000)


def owner(pid):
    """The real uid of a process, None if there is none."""
    try:
        return int(status_of(pid)["Uid"].split()[0])
    except OSError:
        return None


def meminfo_mb():
    text = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")
    lines = (line.partition(":") for line in text.splitlines())
    return {name: int(value.split()[0]) / 1024 for name, _, value in lines}


def load_averages():
    return [float(word) for word in pathlib.Path("/proc/loadavg").read_text(encoding="utf-8").split()[:3]]


def forks():
    """Processes and threads that this machine has begun so far."""
    text = pathlib.Path("/proc/stat").read_text(encoding="utf-8")
    return int(re.search(r"^processes (\d+)", text, re.M).group(1))
