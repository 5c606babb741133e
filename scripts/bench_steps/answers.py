"""How long the daemon takes to answer.

Every figure is measured in this run, and given as a multiple of its peer's in the same run:

health   daemon.health among 148 idle and 50 hostile clients; the peer: the same daemon with no other client
top      daemon.top with 2,000 processes; the peer: Python's json.dumps of the same answer
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from bench_steps.common import ROOT, crowd, fail, wait_until

TESTS = ROOT / "tests"
sys.path.insert(0, str(TESTS))
from support.hostile_clients import REAL_METHODS  # noqa: E402
from support.rpc_client import Client  # noqa: E402

IDLE, HOSTILE, ASKED, CROWD = 148, 50, 1000, 2000


def waited_for_cpu_ms(pid):
    """How long it was ready to run and had no CPU, as the kernel counts it: caused by load."""
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[1]) / 1e6


def is_ready(path):
    with contextlib.suppress(OSError), contextlib.closing(Client(path)) as client:
        return "result" in client.ask({"jsonrpc": "2.0", "id": 1, "method": "daemon.top"})
    return False


@contextlib.contextmanager
def daemon(metron, folder, *options):
    path = folder / "socket"
    process = subprocess.Popen([metron, "daemon", "--socket", path, "--database", folder / "db", "--log-file", "off",
                                "--interval", "0.5", *options], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "HOME": str(folder)})
    try:
        wait_until(lambda: process.poll() is not None or is_ready(path), "the daemon to start")
        if process.poll() is not None:
            fail("the daemon did not start")
        yield process, path, Client(path)
    finally:
        process.terminate()
        process.wait()


def answer_times_ms(client, method, count, pid):
    """Each without what the daemon waited for a CPU."""
    times = []
    for _ in range(count):
        waited, begin = waited_for_cpu_ms(pid), time.monotonic()
        client.call(method)
        times.append(max(0.0, (time.monotonic() - begin) * 1e3 - (waited_for_cpu_ms(pid) - waited)))
        time.sleep(0.002)
    return times


def show(name, times):
    ordered = sorted(times)
    slow = ordered[-1 - len(ordered) // 100]
    print(f"{name:28} median {statistics.median(times):8.3f} ms, 99th percentile {slow:8.3f} ms")
    return statistics.median(times), slow


def bench_health(metron):
    with tempfile.TemporaryDirectory() as folder, daemon(metron, pathlib.Path(folder)) as (process, path, client):
        alone = show("health, alone", answer_times_ms(client, "daemon.health", ASKED, process.pid))
        others = [Client(path) for _ in range(IDLE)]
        before = client.call("daemon.status")
        hostile = subprocess.Popen([sys.executable, TESTS / "support" / "hostile_clients.py", path, str(HOSTILE),
                                    *REAL_METHODS], stdin=subprocess.DEVNULL)
        try:
            wait_until(lambda: client.call("daemon.status")["clients"] >= IDLE + HOSTILE - 5, "the hostile clients")
            among = show("health, among hostile ones", answer_times_ms(client, "daemon.health", ASKED, process.pid))
        finally:
            hostile.kill()
            hostile.wait()
        after = client.call("daemon.status")
        for other in others:
            other.close()
        ratios = [with_others / by_itself for with_others, by_itself in zip(among, alone)]
        print(f"{'':28} {ratios[0]:.1f} times the median, {ratios[1]:.1f} times the 99th percentile; "
              f"{after['missed_ticks'] - before['missed_ticks']} of "
              f"{after['ticks'] + after['missed_ticks'] - before['ticks'] - before['missed_ticks']} ticks missed\n")


def bench_top(metron):
    with tempfile.TemporaryDirectory() as name, daemon(metron, pathlib.Path(name)) as (process, _, client), \
            crowd(CROWD):
        wait_until(lambda: len(client.call("daemon.top")["processes"]) >= CROWD, f"{CROWD} processes")
        times = show(f"top of {CROWD:,} processes", answer_times_ms(client, "daemon.top", 50, process.pid))
        top, peer = client.call("daemon.top"), []
        for _ in range(50):
            begin = time.thread_time()
            json.dumps(top)
            peer.append((time.thread_time() - begin) * 1e3)
        print(f"{'':28} {times[0] / statistics.median(peer):.1f} times as long as json.dumps of it\n")


def bench(metron):
    bench_health(metron)
    bench_top(metron)
