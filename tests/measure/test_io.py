"""Bytes read and written by children that have ended are kept: exactly what was asked for.

Truth is arithmetic: COUNT children move BYTES each and nothing else. wchar and rchar may be larger by the few
bytes that starting a program takes (`few`); storage bytes by a page per file, for what the file system notes.
Not every file system counts storage bytes (tmpfs has no storage, overlay no pages of its own): there they are
not judged.
"""

import os
import subprocess

import pytest

from support.held import records
from support.processes import wait_until
from support.rates import moments
from support.records import total
from test_cpu_rate import INTERVAL, RATES

COUNT = 12
BYTES = 2 << 20
MOVED = COUNT * BYTES
FEW = 64 << 10  # the loader reads some headers; metron's own start-up of the command writes a few bytes
PAGE = 4096

# What keeps no count of bytes that reach storage; whose names statfs gives.
WITHOUT_STORAGE = {"tmpfs", "ramfs", "overlay", "9p", "virtiofs", "fuse", "nfs", "nfs4"}


def file_system(path):
    """The type of the file system that a path is on: of the longest mount point that leads to it."""
    best = ("", "unknown")
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, kind = line.split()[:3]
            if (str(path) + "/").startswith(point.rstrip("/") + "/"):
                best = max(best, (point, kind), key=lambda mount: len(mount[0]))
    return best[1]


@pytest.fixture
def disk(run_metron):
    """A folder on a file system that counts."""
    folder = run_metron.cwd / "data"
    folder.mkdir()
    kind = file_system(folder.resolve())
    if kind.split(".")[0] in WITHOUT_STORAGE:
        pytest.skip(f"{folder} is on {kind}, which does not count bytes of storage")
    return folder


def io_run(runner, folder, *options):
    tree = "--wait tree" if "-n" in options else ""
    run = runner(f"--sample-interval 0.01 --report-interval 0.02 {tree}",
                 [runner.workload("iochildren"), *options, str(COUNT), str(BYTES), str(folder)], check=False)
    if run.returncode == 77:
        pytest.skip(f"no O_DIRECT in {folder}")
    assert run.returncode == 0, run
    run.check()
    for key in ("io_wchar_total", "io_rchar_total", "io_write_bytes_total", "io_read_bytes_total"):
        deltas = [record["measurements"][key] for record in run.usage if key in record["measurements"]]
        assert deltas and min(deltas) >= 0, f"{key} fell"
        assert total(run.usage, key) == run.summary[key]
    return run


WAYS = pytest.mark.parametrize("orphans", [[], ["-n"]], ids=["waited-for", "orphans"])


@WAYS
@pytest.mark.parametrize("how", [[], ["-d"]], ids=["buffered", "direct"])
def test_writes_of_children_that_exit_are_kept(run_metron, disk, how, orphans):
    run = io_run(run_metron, disk, *how, *orphans)
    assert MOVED <= run.summary["io_wchar_total"] <= MOVED + FEW
    assert MOVED <= run.summary["io_write_bytes_total"] <= MOVED + (COUNT + 4) * PAGE
    assert run.summary["io_syscw_total"] >= MOVED // (64 << 10)
    assert run.summary["io_rchar_total"] <= FEW


@WAYS
def test_reads_of_children_that_exit_are_kept(run_metron, disk, orphans):
    for number in range(COUNT):
        with open(disk / str(number), "wb") as file:
            file.write(b"r" * BYTES)
            file.flush()
            os.fsync(file.fileno())
    run = io_run(run_metron, disk, "-r", *orphans)
    assert MOVED <= run.summary["io_rchar_total"] <= MOVED + FEW
    # The children ask for the cache to be dropped; pages that somebody else is just looking at may stay.
    assert run.summary["io_read_bytes_total"] == pytest.approx(MOVED, rel=0.02)
    assert run.summary["io_wchar_total"] <= FEW


def test_rates_of_one_writer_are_what_it_wrote(run_metron, disk):
    """dd writes 4 MiB every tenth of a second or so: the mean rate is bytes over seconds."""
    script = f"for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of={disk}/$i bs=4096k count=1 2>/dev/null; sleep 0.1; done"
    started = run_metron.start(RATES, ["sh", "-c", f"{script}; read end; true"], stdin=subprocess.PIPE)
    written = 8 * (4 << 20)
    wait_until(lambda: total(records(started), "io_wchar_total") >= written, 120, "all that is written")
    run = started.finish()
    assert run.returncode == 0
    assert written <= run.summary["io_wchar_total"] <= written + FEW
    # The seconds until the last sample, which came after the last one that was taken while the command ran.
    last, wrote = moments(run, INTERVAL)[-1], run.summary["io_write_bytes_total"]
    least, most = wrote / run.usage[-1]["elapsed"], wrote / (last.tick - last.begin)
    assert 0.9 * least <= run.summary["io_ave_write_rate_total"] <= 1.1 * most
    assert run.summary["io_peak_write_rate_total"] >= run.summary["io_ave_write_rate_total"]
