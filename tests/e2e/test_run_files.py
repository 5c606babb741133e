"""What a run writes: which files, where, with which content, and what is left when things go wrong."""

import datetime
import json
import os
import re
import signal
import socket
import stat
import subprocess

import pytest

from support import records
from support.namespaces import OWN_PIDS, through
from support.processes import alive, descendants, wait_until

ALL_FILES = ["run_events.jsonl", "run_info.json", "run_stderr", "run_stdout", "run_usage.jsonl"]


def test_a_run_leaves_five_files(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.3",
                     ["sh", "-c", "echo out; echo err >&2; sleep 0.5"])
    assert run.returncode == 0
    assert run.files() == ALL_FILES
    assert run.bytes("stdout") == b"out\n"
    assert run.bytes("stderr") == b"err\n"


def test_records_come_at_the_report_interval_and_one_for_the_rest(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.3", "sleep 0.8")
    ends = [record["elapsed"] for record in run.usage]
    # A record ends with the first sample at or after a multiple of the interval: one that is late shortens the next.
    assert len(ends) >= 2 and ends[-1] >= 0.75
    for number, end in enumerate(ends[:-1], 1):
        assert end > number * 0.3 - 0.1
    # Never more than there is time for; within the first interval, a few early ones more, so that a short command is
    # seen at all.
    assert 1 <= run.usage[0]["num_samples"] <= ends[0] / 0.1 + 7
    for before, record in zip(ends, run.usage[1:-1]):
        assert 1 <= record["num_samples"] <= min(0.3, record["elapsed"] - before) / 0.1 + 2


def test_single_keys_reduced_by_max_have_their_mean_beside_them(run_metron):
    run = run_metron("--sample-interval 0.1 --report-interval 0.2", "sleep 0.4")
    first = run.usage[0]["measurements"]
    assert 0 < first["proc_ave_rss_total"] <= first["proc_rss_total"]
    assert 0 < run.summary["proc_ave_rss_total"] <= run.summary["proc_peak_rss_total"]
    assert "proc_rss_total" not in run.summary and "proc_rss" not in run.summary


def test_record_is_usable_for_a_command_that_ends_at_once(run_metron):
    run = run_metron("", "true")
    assert run.returncode == 0
    assert len(run.usage) == 1
    assert run.summary["proc_cpu_seconds"] >= 0
    assert run.summary["rusage_cpu_user_seconds"] >= 0


def test_timestamps_agree_with_the_clock(run_metron):
    before = datetime.datetime.now(datetime.timezone.utc)
    run = run_metron("--sample-interval 0.1", "sleep 0.5")
    after = datetime.datetime.now(datetime.timezone.utc)
    for text in [record["timestamp"] for record in run.usage]:
        assert before <= datetime.datetime.fromisoformat(text) <= after
    assert 0.5 <= run.summary["wall_clock_time"] <= run.wall
    assert 0.5 <= run.usage[-1]["elapsed"] <= run.wall


def test_info_holds_what_was_run_where_by_whom(run_metron):
    run = run_metron(["--message", "a message, 100 % \u00fc", "--job", "the-job"],
                     ["sh", "-c", "exit 0", "an argument"])
    info, summary = run.info, run.summary
    found = list(records.leaves(info))
    assert "a message, 100 % \u00fc" in found and "the-job" in found
    assert "an argument" in info["command"] or "an argument" in found
    assert info["working_directory"] == str(run.cwd) == summary["working_directory"]
    assert socket.gethostname() in found
    assert os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") in found
    assert summary["exit_code"] == 0 and "signal" not in summary
    assert summary["logs_prefix"].endswith("run_")


def test_info_holds_the_provenance(run_metron):
    run = run_metron("--measurements proc_rss,proc_cpu_seconds", "true")
    text = run.bytes("info.json").decode()
    for word in ("proc_rss", "proc_cpu_seconds", "bytes", "seconds", "tier"):
        assert word in text
    assert "proc_fds" not in text


def test_absent_options_leave_no_fields(run_metron):
    info = run_metron("", "true").info
    assert "message" not in info
    assert "job" not in info


def test_info_is_there_from_the_start_and_says_running(run_metron):
    run = run_metron.start("", ["sh", "-c", "read line"], stdin=subprocess.PIPE)
    info = wait_until(lambda: run.path("info.json").exists() and run.path("info.json").read_bytes(),
                      what="info.json")
    info = records.strict_json(info)
    assert run.process.poll() is None
    assert info["status"] == "running"
    assert "execution_summary" not in info
    records.check_no_null(info, "info.json")
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        boot = file.read().strip()
    found = list(records.leaves(info))
    assert run.pid in found
    assert any(boot in str(leaf) or boot.replace("-", "") in str(leaf) for leaf in found)
    done = run.finish(data=b"\n")
    assert done.info["status"] != "running"


def test_info_is_replaced_atomically(run_metron):
    """A reader never finds half a file: every read of it, all the way through the end, is whole."""
    run = run_metron.start("--sample-interval 0.01 --report-interval 0.01", 
                           ["sh", "-c", "read line; sleep 0.2"], stdin=subprocess.PIPE)
    wait_until(lambda: run.path("info.json").exists(), what="info.json")
    assert records.strict_json(run.path("info.json").read_bytes())["status"] == "running"
    run.process.stdin.write(b"\n")
    run.process.stdin.flush()
    while run.process.poll() is None:
        records.strict_json(run.path("info.json").read_bytes())
    done = run.finish()
    assert done.info["status"] not in ("running", "")
    assert done.files() == ALL_FILES, "no temporary file is left"


def test_kill_9_leaves_valid_records_and_status_running(run_metron):
    run = run_metron.start("--sample-interval 0.05 --report-interval 0.1", "sleep 600")
    wait_until(lambda: run.path("usage.jsonl").exists()
               and run.path("usage.jsonl").read_bytes().count(b"\n") >= 3, what="three records")
    run.signal(signal.SIGKILL)
    done = run.finish(check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(done.usage) >= 3
    records.check_usage(done.usage)
    records.check_events(done.events)
    assert done.info["status"] == "running"


def test_files_are_private(run_metron):
    run = run_metron("", "true", prefix="deep/er/run_", umask=0)
    for name in ("stdout", "stderr", "usage.jsonl", "events.jsonl", "info.json"):
        assert stat.S_IMODE(run.path(name).stat().st_mode) == 0o600, name
    for folder in ("deep", "deep/er"):
        assert stat.S_IMODE((run.cwd / folder).stat().st_mode) == 0o700, folder


def test_default_prefix_has_date_and_pid(run_metron):
    run = run_metron.start("", "true", prefix=None)
    pid = run.pid
    done = run.finish(check=False)
    assert done.returncode == 0
    names = done.files()
    assert len(names) == 5
    for name in names:
        assert re.fullmatch(rf"\.metron/logs/\d{{4}}\.\d\d\.\d\dT\d\d\.\d\d\.\d\d-{pid}_"
                            r"(stdout|stderr|usage\.jsonl|events\.jsonl|info\.json)", name), name
    assert stat.S_IMODE((done.cwd / ".metron").stat().st_mode) == 0o700


@pytest.mark.parametrize("files", ["", "--capture-outputs none --record-types system-summary"], ids=["all", "info"])
@pytest.mark.parametrize("clobber", ["", "--clobber"], ids=["", "clobber"])
def test_runs_with_the_same_time_and_pid_get_names_of_their_own(run_metron, files, clobber):
    """metron is pid 1 in every container, and several may write to one folder."""
    outer = through(OWN_PIDS)
    numbers = range(6)
    runs = [run_metron.start(f"-q {files} {clobber}", ["sh", "-c", f"touch ran{number}; echo {number}"], prefix=None,
                             outer=outer) for number in numbers]
    for number, run in zip(numbers, runs):
        done = run.finish(check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"%d\n" % number, b"")
        assert (run_metron.cwd / f"ran{number}").exists()
    listed = run_metron.metron("ls -f jsonl -F prefix,command")
    rows = records.strict_lines(listed.stdout)
    assert sorted(row["command"][-2] for row in rows) == [str(number) for number in numbers], "each has its info.json"
    assert len({row["prefix"] for row in rows}) == len(numbers)
    for row in rows:
        assert re.fullmatch(r"\.metron/logs/[0-9.T]+-1(-\d+)?_", row["prefix"])
        if not files:
            assert (run_metron.cwd / f"{row['prefix']}stdout").read_text() == row["command"][-2] + "\n"


def test_prefix_placeholders_are_filled_in(run_metron):
    run = run_metron.start("--job J7", "true", prefix="{host}/{job}-{env:RANK}-{pid}-{datetime}.",
                           env={"RANK": "3"})
    pid = run.pid
    done = run.finish(check=False)
    assert done.returncode == 0, done
    info = [name for name in done.files() if name.endswith("info.json")]
    assert len(info) == 1
    moment = r"\d{4}\.\d\d\.\d\dT[\d.]{8}"
    assert re.fullmatch(rf"{re.escape(socket.gethostname())}/J7-3-{pid}-{moment}\.info\.json", info[0])


def test_unknown_placeholder_is_an_error_before_the_start(run_metron, marker):
    command, path = marker
    run = run_metron("", command, prefix="x{nonsense}_", check=False)
    assert run.returncode == 2
    assert "nonsense" in run.message
    assert not path.exists()


def test_prefix_that_ends_in_a_slash_is_a_folder(run_metron):
    run = run_metron("", "true", prefix="folder/")
    assert run.files() == ["folder/" + name[4:] for name in ALL_FILES]


def test_existing_file_is_an_error_unless_clobber(run_metron, marker):
    command, path = marker
    assert run_metron("", ["sh", "-c", "echo first"]).returncode == 0
    run = run_metron("", command, check=False)
    assert run.returncode in (1, 2)
    assert "run_" in run.message and "--clobber" in run.message
    assert not path.exists()
    assert run.bytes("stdout") == b"first\n"
    again = run_metron("--clobber --report-interval 60", ["sh", "-c", "echo second; sleep 0.2"])
    assert again.returncode == 0
    assert again.bytes("stdout") == b"second\n"
    assert len(again.usage) == 1


def test_clobber_leaves_nothing_of_the_older_run(run_metron):
    run_metron("", ["sh", "-c", "echo first"])
    run = run_metron("--clobber --capture-outputs none --record-types system-summary", "true")
    assert run.files() == ["run_info.json"]


@pytest.mark.parametrize("kind, expected", [
    ("all", {"usage.jsonl", "events.jsonl", "info.json"}),
    ("system-summary", {"info.json"}),
    ("processes-samples", {"usage.jsonl", "events.jsonl"}),
])
def test_record_types_choose_the_files(run_metron, kind, expected):
    run = run_metron(f"--record-types {kind} --sample-interval 0.1", "sleep 0.3", check=False)
    assert run.returncode == 0
    present = {name[4:] for name in run.files()} - {"stdout", "stderr"}
    assert present == expected


@pytest.mark.parametrize("fail_time, command, kept", [
    (None, "false", False),
    (None, "true", True),
    (0, "false", True),
    (5, "sh -c 'sleep 0.3; exit 4'", False),
    (0.2, "sh -c 'sleep 0.6; exit 4'", True),
    (-1, "sh -c 'sleep 0.6; exit 4'", False),
    (-1, "true", True),
    (5, "sh -c 'kill -9 $$'", False),
])
def test_logs_of_a_command_that_fails_soon_are_removed(run_metron, fail_time, command, kept):
    run = run_metron("--sample-interval 0.1", command, fail_time=fail_time)
    assert run.returncode in (0, 1, 4, 137)
    assert bool(run.files()) == kept, run.files()


def test_events_tell_spawn_and_exit(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "sleep 0.3; (exit 5); sleep 0.3; exit 3"])
    assert run.returncode == 3
    kinds = [event["event_type"] for event in run.events]
    assert kinds.count("spawn") >= 3 and kinds.count("exit") >= 3
    root = run.events[0]["pid"]
    (last,) = [event for event in run.events if event["pid"] == root and event["event_type"] == "exit"]
    assert last["exit_code"] == 3
    for event in run.events:
        records.check_timestamp(str(event["timestamp"]), "event")


def test_fatal_signal_is_a_kill_beside_the_exit(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "sleep 0.3; kill -KILL $$"])
    assert run.returncode == 137
    kills = [event for event in run.events if event["event_type"] == "kill"]
    assert [event["signal_num"] for event in kills] == [9]
    exits = [event["pid"] for event in run.events if event["event_type"] == "exit"]
    assert exits.count(kills[0]["pid"]) == 1


def test_metron_is_never_part_of_the_target(run_metron):
    run = run_metron.start("--sample-interval 0.05 --report-interval 0.2", ["sh", "-c", "sleep 0.6 | sleep 0.6"])
    pid = run.pid
    done = run.finish()
    for record in done.usage:
        for key, value in record["measurements"].items():
            if isinstance(value, dict):
                assert str(pid) not in value, key
    assert max(record["measurements"].get("proc_processes", 0) for record in done.usage) == 3


def test_nothing_is_left_running(run_metron):
    run = run_metron.start("--sample-interval 0.1", ["head", "-n1"], stdin=subprocess.PIPE)
    below = wait_until(lambda: descendants(run.pid), what="a child")
    run.finish()
    assert not any(alive(pid) for pid in below)


def test_command_that_cannot_start_leaves_an_ended_record(run_metron):
    run = run_metron("", "/no/such/command", check=False)
    assert run.returncode == 127
    assert run.info["status"] == "ended"
    assert run.info["execution_summary"]["exit_code"] == 127
    assert "could not be started" in run.info["execution_summary"]["cause"]


def test_folder_that_was_there_is_not_removed(run_metron):
    (run_metron.cwd / "there").mkdir()
    run_metron("-q", "false", prefix="there/", fail_time=3, check=False)
    run_metron("-q", "false", prefix="made/", fail_time=3, check=False)
    assert (run_metron.cwd / "there").is_dir() and not (run_metron.cwd / "made").exists()


@pytest.mark.parametrize("value", ["..", ".", ""])
@pytest.mark.parametrize("prefix", ["jd/{job}/", "jd/{env:PLACE}/", "jd/.{env:PLACE}/"])
def test_value_in_the_prefix_never_leaves_its_folder(run_metron, prefix, value):
    job = ["--job", value] if value else ["--job", "night"]
    run = run_metron(job, "true", prefix=prefix, env={"PLACE": value}, check=False)
    assert run.returncode == 0, run
    folders = {path.relative_to(run_metron.cwd).parts[:-1] for path in run_metron.cwd.rglob("*info.json")}
    assert len(folders) == 1 and len(folders.pop()) == 2, run.files()


def link_to_stdout(path):
    path.symlink_to("/proc/self/fd/1")  # as /dev/stdout is


@pytest.mark.parametrize("name", ["stdout", "usage.jsonl", "info.json"])
@pytest.mark.parametrize("make", [link_to_stdout, os.mkfifo, os.mkdir])
@pytest.mark.parametrize("options", ["", "--clobber", "--clobber --capture-outputs stderr"])
def test_what_is_no_regular_file_is_neither_removed_nor_written(run_metron, marker, options, make, name):
    """As with --clobber -p /dev/, where stdout is a link."""
    command, marked = marker
    older, other = run_metron.cwd / "run_stderr", run_metron.cwd / f"run_{name}"
    make(other)
    before = other.lstat()
    if options:
        older.write_text("older")
    run = run_metron(options, command, check=False)
    assert run.returncode == 1 and not marked.exists(), run
    assert f"'run_{name}' is " in run.message and run.message.count("\n") == 1, run
    assert "not a regular file" in run.message and "--clobber" not in run.message, run
    assert (other.lstat().st_ino, other.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not options or older.read_text() == "older", "nothing is removed before each name is checked"


def test_file_that_cannot_be_removed_is_named(run_as_user, marker):
    command, path = marker
    folder = run_as_user.cwd / "closed"
    folder.mkdir()
    (folder / "run_stdout").write_text("older")
    folder.chmod(0o555)
    run = run_as_user("--clobber", command, prefix="closed/run_", check=False)
    folder.chmod(0o755)
    assert run.returncode == 1 and not path.exists(), run
    assert "cannot remove 'closed/run_stdout': Permission denied" in run.message, run


def test_folder_exchanged_during_the_run_leads_no_file_elsewhere(run_metron):
    """In a folder that a group can write, a colleague can put a link where .metron was."""
    private = run_metron.home / "private"
    (private / "logs").mkdir(parents=True)
    run_metron("-q", ["sh", "-c", f"mv .metron moved && ln -s {private} .metron"], prefix=None)
    assert not list((private / "logs").iterdir())
    names = {path.name.rpartition("_")[2]: path for path in (run_metron.cwd / "moved" / "logs").iterdir()}
    assert names.keys() == {"stdout", "stderr", "usage.jsonl", "events.jsonl", "info.json"}
    assert json.loads(names["info.json"].read_text())["status"] == "ended"


def test_planted_link_in_a_shared_folder_is_not_followed(run_metron, marker):
    """As /tmp: anybody can put a link there by the name of the folder that metron makes."""
    if os.getuid() != 0:
        pytest.skip("only root can make a link of another user's")
    command, path = marker
    private = run_metron.home / "private"
    private.mkdir()
    run_metron.cwd.chmod(0o1777)
    (run_metron.cwd / ".metron").symlink_to(private)
    os.chown(run_metron.cwd / ".metron", 12345, 12345, follow_symlinks=False)
    run = run_metron("", command, prefix=".metron/logs/", check=False)
    assert run.returncode == 1 and not path.exists(), run
    assert "cannot write through .metron: it is a link of another user" in run.message, run
    assert not list(private.iterdir())


@pytest.mark.parametrize("mode", [0o1777, 0o2770], ids=["everybody", "group"])
@pytest.mark.parametrize("planted", ["link", "folder"])
def test_default_folder_of_another_user_is_not_used(run_metron, marker, mode, planted):
    """Its owner could lead what is written there anywhere, by a link inside it."""
    if os.getuid() != 0:
        pytest.skip("only root can make a folder of another user's")
    command, path = marker
    private, folder = run_metron.home / "private", run_metron.cwd / ".metron"
    private.mkdir()
    run_metron.cwd.chmod(mode)
    if planted == "link":
        folder.symlink_to(private)
    else:
        folder.mkdir()
        (folder / "logs").symlink_to(private)
        os.chown(folder / "logs", 12345, 12345, follow_symlinks=False)
    os.chown(folder, 12345, 12345, follow_symlinks=False)
    run = run_metron("", command, prefix=None, check=False)
    assert run.returncode == 0 and path.exists(), run
    assert "cannot record" in run.message and "another user" in run.message, run
    assert not any(path.is_file() for path in private.rglob("*")), "no file was written there"
