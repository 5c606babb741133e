"""Disks that are full or closed to us: told clearly, and never the command's problem."""

import itertools
import json
import os
import resource
import signal
import socket
import subprocess

import pytest

from support import records
from support.processes import file_lines, wait_until


def refused(run, path):
    """The prefix cannot be written: an error before the start, in one line, and nothing was run."""
    assert run.returncode in (1, 2), run
    assert len(run.message.strip().splitlines()) == 1, run.message
    assert not path.exists(), "the command has not been started"


def test_unwritable_folder_is_an_error_before_the_start(run_as_user):
    if os.getuid() != 0:
        pytest.skip("needs a folder of somebody else's")
    closed = run_as_user.cwd / "closed"
    closed.mkdir(mode=0o755)
    ran = run_as_user.cwd / "ran"
    run = run_as_user("", ["touch", str(ran)], prefix="closed/run_", check=False)
    refused(run, ran)
    assert "closed/run_" in run.message and "ermission denied" in run.message


def test_file_in_the_place_of_a_folder_is_an_error_before_the_start(run_metron, marker):
    command, path = marker
    (run_metron.cwd / "file").write_text("")
    run = run_metron("", command, prefix="file/run_", check=False)
    refused(run, path)
    assert "file" in run.message and "ot a directory" in run.message


def test_prefix_too_long_is_an_error_before_the_start(run_metron, marker):
    command, path = marker
    refused(run_metron("", command, prefix="x" * 300, check=False), path)


def fill(disk):
    with open(disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError):
            while True:
                filler.write(b"x" * 4096)


def runs_unrecorded(run, reason):
    """The command ran, with its output and its exit code; one warning says that there is no record, and why."""
    assert (run.returncode, run.stdout) == (5, b"out\n"), run
    lines = [line for line in run.message.splitlines() if "runs unrecorded" in line]
    assert len(lines) == 1 and "warning: cannot record" in lines[0] and reason in lines[0], run.message
    assert b"err\n" in run.stderr
    assert "record    none" in run.message
    assert not [name for name in run.files() if name.endswith(("stdout", "stderr", ".jsonl", ".json", ".tmp"))]


SPEAKS = ["sh", "-c", "echo out; echo err >&2; exit 5"]
PREFIXES = pytest.mark.parametrize("prefix", [None, "run_"], ids=["default", "chosen"])


@PREFIXES
@pytest.mark.parametrize("fail_time", [0, 3])
def test_disk_that_is_full_from_the_start(run_metron, full_disk, prefix, fail_time):
    disk = full_disk("64k")
    fill(disk)
    runs_unrecorded(run_metron("", SPEAKS, prefix=prefix, cwd=disk, fail_time=fail_time, check=False), "o space left")


def test_disk_that_is_full_under_a_terminal(run_metron, full_disk):
    disk = full_disk("64k")
    fill(disk)
    run = run_metron("--pty", SPEAKS, cwd=disk, check=False)
    assert (run.returncode, run.stdout) == (5, b"out\r\nerr\r\n")
    assert "runs unrecorded" in run.message


@PREFIXES
def test_read_only_disk(run_metron, full_disk, prefix):
    disk = full_disk("64k")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    runs_unrecorded(run_metron("", SPEAKS, prefix=prefix, cwd=disk, check=False), "ead-only file system")


@PREFIXES
def test_size_limit_that_no_file_fits(run_metron, prefix):
    run = run_metron("", SPEAKS, prefix=prefix, check=False,
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    runs_unrecorded(run, "ile too large")


def test_working_folder_that_cannot_be_written(run_as_user):
    if os.getuid() != 0:
        pytest.skip("needs a folder of somebody else's")
    closed = run_as_user.cwd / "closed"
    closed.mkdir(mode=0o755)
    runs_unrecorded(run_as_user("", SPEAKS, prefix=None, cwd=closed, check=False), "ermission denied")


def test_working_folder_with_a_file_in_the_place_of_a_folder(run_metron):
    (run_metron.cwd / ".metron").write_text("")
    runs_unrecorded(run_metron("", SPEAKS, prefix=None, check=False), "ot a directory")


def test_disk_that_is_full_when_metron_attaches_is_an_error(run_metron, full_disk):
    disk = full_disk("64k")
    fill(disk)
    run = run_metron.metron(["attach", os.getpid()], cwd=disk)
    assert run.returncode == 1 and "error" in run.message and "o space left" in run.message


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_disk_that_fills_up_under_the_output(run_metron, full_disk, stream):
    """The command goes on, all of its output is shown, the record is valid, and one warning tells it."""
    disk = full_disk("512k")
    to = "" if stream == "stdout" else " >&2"
    run = run_metron("--sample-interval 0.1 --report-interval 0.2",
                     ["sh", "-c", f"{run_metron.workload('bigline')} 3{to}; sleep 0.5; exit 5"],
                     prefix=f"{disk}/run_", check=False)
    assert run.returncode == 5
    shown = run.stdout if stream == "stdout" else run.stderr
    assert shown.count(b"x") >= 3_000_000
    warnings = [line for line in run.message.splitlines() if "warning" in line and "o space left" in line]
    assert 1 <= len(warnings) <= 5
    records.check_usage(run.usage)
    records.check_events(run.events)
    assert run.info["status"]


def test_disk_that_the_command_fills_keeps_its_result(run_metron, full_disk):
    """There is no room for a record or an event, but for the last info.json."""
    disk = full_disk("96k")
    run = run_metron("", ["sh", "-c", "head -c 300000 /dev/zero; exit 5"], prefix=f"{disk}/run_", check=False)
    assert (run.returncode, len(run.stdout)) == (5, 300_000)
    assert not [line for line in run.message.splitlines() if "cannot write" in line and "info.json" in line]
    assert run.info["status"] == "ended" and run.summary["exit_code"] == 5
    assert {path.name for path in disk.iterdir()} == {f"run_{name}" for name in (
        "stdout", "stderr", "usage.jsonl", "events.jsonl", "info.json")}, "no temporary file is left"


def test_disk_that_fills_up_under_the_records(run_metron, full_disk):
    disk = full_disk("256k")
    run = run_metron("--sample-interval 0.01 --report-interval 0.01",
                     [run_metron.workload("manyprocs"), "60", "1.5"], prefix=f"{disk}/run_", check=False)
    assert run.returncode == 0
    assert "o space left" in run.message
    assert len([line for line in run.message.splitlines() if "o space left" in line]) <= 5
    assert run.usage, "the first records are there, every line whole"
    records.check_usage(run.usage)
    records.check_events(run.events, attached=True)  # there may have been no space for a spawn
    assert not [line for line in run.message.splitlines() if "info.json" in line], "reports took none of its space"
    assert run.info["status"] == "ended" and not list(disk.glob(".*")), "no temporary file is left"


def test_limit_on_the_size_of_files_does_not_kill_metron(run_metron):
    """RLIMIT_FSIZE sends SIGXFSZ: a warning, as for a full disk, not metron's death."""
    run = run_metron("--sample-interval 0.1", ["sh", "-c", f"{run_metron.workload('bigline')} 2; exit 4"],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
                     check=False)
    assert run.returncode == 4
    assert len(run.stdout) == 2_000_001
    assert "warning" in run.message
    records.check_usage(run.usage)


WAITS = ["sh", "-c", "until [ -e go ]; do sleep 0.05; done; echo out; touch done; exit 4"]


def reach_file_limit(run):
    """metron may not make any file larger from here on; returns what it says about that first."""
    wait_until(lambda: file_lines(run.path("usage.jsonl")), what="a record")
    _, hard = resource.prlimit(run.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (0, hard))
    return run.process.stderr.readline().decode()


def test_size_limit_that_is_reached_under_the_records(run_metron):
    """SIGXFSZ must not kill metron, since its end would close the command's stdout."""
    run = run_metron.start("--sample-interval 0.05 --report-interval 0.05", WAITS)
    assert "warning: cannot write" in reach_file_limit(run)
    (run_metron.cwd / "go").touch()
    done = run.finish(check=False)
    assert (done.returncode, done.stdout) == (4, b"out\n")
    assert (run_metron.cwd / "done").exists()
    assert done.message.count("cannot write") <= 4, "each file once"
    records.check_usage(done.usage)


def test_size_limit_that_is_reached_while_attached(run_metron):
    command = subprocess.Popen(WAITS, cwd=run_metron.cwd, stdout=subprocess.PIPE)
    run = run_metron.attach("-q --sample-interval 0.05 --report-interval 0.05", command.pid)
    assert "warning: cannot write" in reach_file_limit(run)
    (run_metron.cwd / "go").touch()
    assert command.communicate(timeout=60)[0] == b"out\n" and command.returncode == 4
    assert run.finish(check=False).returncode == 0


def test_size_limit_on_the_messages_of_job_exec(run_metron):
    """There is no daemon, and the warning about that does not fit: the command runs."""
    with open(run_metron.cwd / "said", "wb") as said:
        done = subprocess.run([run_metron.binary, "job", "exec", "--socket", "none.sock", "night", "1", "--", "sh", "-c",
                               "grep SigIgn /proc/self/status; exit 4"], cwd=run_metron.cwd, stderr=said,
                              stdout=subprocess.PIPE, env=run_metron.environment(), timeout=60, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    alone = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, check=True)
    assert (done.returncode, done.stdout) == (4, alone.stdout), "and ignores what it would ignore without metron"


def test_command_learns_that_its_screen_is_full(run_metron):
    """stdout is /dev/full: reported once. A command that did not notice would end as if all had been written."""
    with open("/dev/full", "wb") as full:
        run = run_metron.start("", ["sh", "-c", "seq 1 50000; exit 3"], stdout=full)
        _, stderr = run.process.communicate(timeout=60)
    assert run.process.returncode == 3
    recorded = run.path("stdout").read_bytes()
    assert recorded.startswith(b"1\n2\n") and not recorded.endswith(b"50000\n")
    assert stderr.count(b"o space left") == 1


@pytest.fixture
def real_disk(run_metron):
    """A file system that can be frozen, in the file `image`; its folder."""
    image, folder = run_metron.cwd / "image", run_metron.cwd / "disk"
    image.write_bytes(b"")
    os.truncate(image, 8 << 20)
    folder.mkdir()
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["fsfreeze", "-u", folder], capture_output=True, check=False)
    subprocess.run(["umount", "-l", folder], check=True)


def test_disk_that_hangs_delays_no_sample(run_metron, real_disk):
    """Records go on while none can be written, and all of them are written in the end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(60)
    run = run_metron.start(f"--feed {theirs.fileno()} --sample-interval 0.02 --report-interval 0.02",
                           ["sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 3"], prefix="disk/run_",
                           pass_fds=[theirs.fileno()])
    theirs.close()
    wait_until(lambda: file_lines(run.path("usage.jsonl")), what="a record on the disk")
    subprocess.run(["fsfreeze", "-f", real_disk], check=True)
    before = len(file_lines(run.path("usage.jsonl")))
    lines = (json.loads(line) for line in ours.makefile("rb"))
    reported = [line["record"] for line in itertools.islice((line for line in lines if "record" in line), before + 40)]
    assert len(file_lines(run.path("usage.jsonl"))) == before, "nothing was written meanwhile"
    subprocess.run(["fsfreeze", "-u", real_disk], check=True)

    (run_metron.cwd / "go").touch()
    reported += [line["record"] for line in lines if "record" in line]
    done = run.finish(check=False)
    assert done.returncode == 3 and done.stderr == b""
    assert records.strict_lines(done.path("usage.jsonl").read_bytes()) == reported, "all of them are written"
    assert done.info["status"] == "ended"


def test_folder_that_disappears_during_the_run(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.2",
                     ["sh", "-c", "sleep 0.4; rm -rf logs; sleep 0.4; exit 5"], prefix="logs/run_", check=False)
    assert run.returncode == 5
    assert "warning" in run.message or "error" in run.message
    assert "logs/run_" in run.message


def test_closed_stderr_does_not_end_the_run(run_metron):
    read, write = os.pipe()
    os.close(read)
    run = run_metron.start("--log-level debug", "sh -c 'sleep 0.3; exit 3'", stderr=write)
    os.close(write)
    assert run.process.wait(timeout=60) == 3, "nobody reads the messages: no death by SIGPIPE"
    assert records.strict_json(run.path("info.json").read_bytes())["status"] != "running"


def test_relative_prefix_stays_where_the_run_began(run_metron):
    run = run_metron("", ["sh", "-c", "cd /; exit 0"])
    assert run.has("info.json")
    assert run.returncode != 128 + signal.SIGTERM
