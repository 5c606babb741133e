"""scripts/bench daemon: one tick with 4,000 processes in 50 jobs."""
import contextlib
import json
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

from bench_steps.common import as_part, crowd, fail, floor_ms, has_kernel_events, table, verdict, wait_until

JOBS, PROCESSES_EACH = 50, 80
INTERVAL, WINDOWS, WINDOW_SECONDS = 1, 3, 5
# What a tick may cost at most, in floors.
TARGETS = {"bpf": 1.2, "off": 5.5}


class Daemon:
    """A dedicated daemon in a temporary folder."""

    def __init__(self, metron, folder, events):
        self.socket = f"{folder}/socket"
        command = [metron, "daemon", "--interval", str(INTERVAL), "--socket", self.socket, "--database",
                   f"{folder}/monitor.db", "--log-file", "off", "--events", events]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        wait_until(lambda: self.process.poll() is not None or self.answers(), "the daemon to start")
        if self.process.poll() is not None:
            fail(f"{' '.join(command)} did not start")

    def answers(self):
        try:
            return bool(self.call("daemon.top"))  # an error before the first tick
        except (OSError, ValueError):
            return False

    def call(self, method, **params):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            client.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            with client.makefile("rb") as answers:
                answer = json.loads(answers.readline())
        if "error" in answer:
            raise ValueError(f"{method}: {answer['error']}")
        return answer["result"]

    def cpu_seconds(self):
        return sum(int((task / "schedstat").read_text().split()[0]) / 1e9
                   for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir())

    def tick_ms(self):
        """CPU ms of one tick, over some of them."""
        cpu, ticks = self.cpu_seconds(), self.call("daemon.status")["ticks"]
        time.sleep(WINDOW_SECONDS)
        return 1000 * (self.cpu_seconds() - cpu) / max(1, self.call("daemon.status")["ticks"] - ticks)

    def end(self):
        self.process.kill()
        self.process.wait()


def bench(metron):
    count, rows = JOBS * PROCESSES_EACH, []
    for events, target in TARGETS.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as jobs:
            if events == "bpf" and not has_kernel_events(metron, folder):
                print("SKIPPED kernel events: they are not available here")
                continue
            daemon = Daemon(metron, folder, events)
            jobs.callback(daemon.end)
            for number in range(JOBS):
                root = jobs.enter_context(crowd(PROCESSES_EACH))
                daemon.call("job.start", job_id=f"job-{number}", pid=root.pid)
            wait_until(lambda: sum("job_id" in each for each in daemon.call("daemon.top")["processes"]) == count,
                       f"{count} processes in jobs")
            if events == "bpf":  # the kernel takes seconds to check the programs: until then ticks are of files
                wait_until(lambda: daemon.call("daemon.status")["processes_seen_by"] == "bpf", "kernel events in force")
            daemon.tick_ms()  # names and groups have been read
            cost = statistics.median(daemon.tick_ms() for _ in range(WINDOWS))
            status = daemon.call("daemon.status")
        if events == "bpf" and status["processes_seen_by"] != "bpf":
            fail(f"the daemon follows processes by {status['processes_seen_by']}, not by kernel events")
        floor = floor_ms(count, INTERVAL, WINDOW_SECONDS)
        rows.append((events, f"{cost:.1f}", f"{floor:.1f}", as_part(cost / floor), f"<= {as_part(target)}",
                     verdict(cost / floor, target), f"{status['longest_tick_seconds'] * 1e3:.0f}",
                     status["missed_ticks"]))
    print(f"One tick of the daemon with {count} processes in {JOBS} jobs: CPU ms, median of {WINDOWS} windows")
    table(("--events", "cost", "floor", "x floor", "target", "", "longest tick ms", "missed"), rows)
