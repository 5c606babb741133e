"""The command finds itself where it would be without metron: limits, signals, descriptors, identity."""

import os
import resource
import signal
import subprocess

import pytest


def bare_and_wrapped(runner, command, args="-q", **how):
    bare = subprocess.run(command, cwd=runner.cwd, env=runner.environment(), stdin=subprocess.DEVNULL,
                          capture_output=True, check=True, **how).stdout
    run = runner(args, command, **how)
    assert run.returncode == 0
    return bare, run.stdout


@pytest.mark.parametrize("args", ["-q", "-q --pty", "-q -c none", "-q --mode current-session"])
def test_signal_mask_and_dispositions_are_the_callers(run_metron, args):
    command = ["grep", "-E", "^(SigBlk|SigIgn|SigCgt)", "/proc/self/status"]
    bare, wrapped = bare_and_wrapped(run_metron, command, args)
    assert wrapped.replace(b"\r", b"") == bare


def test_ignored_signals_stay_ignored(run_metron):
    """As under nohup: a disposition the caller chose is inherited."""
    bare, wrapped = bare_and_wrapped(
        run_metron, ["sh", "-c", "grep SigIgn /proc/self/status"],
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert wrapped == bare


def test_nohup_protects_the_run_too(run_metron):
    run = run_metron.start("-q", "sleep 1", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    run.signal(signal.SIGHUP)
    assert run.finish().returncode == 0


def test_limits_are_the_callers(run_metron):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 900))
    bare, wrapped = bare_and_wrapped(run_metron, ["sh", "-c", "ulimit -Sa; ulimit -Ha"], preexec_fn=lower)
    assert wrapped == bare


def test_no_descriptor_leaks_into_the_command(run_metron):
    bare, wrapped = bare_and_wrapped(run_metron, ["sh", "-c", "ls /proc/self/fd"])
    assert wrapped == bare


def test_descriptors_of_the_caller_reach_the_command(run_metron):
    read, write = os.pipe()
    run = run_metron("-q", ["sh", "-c", f"echo through > /proc/self/fd/{write}"], pass_fds=[write])
    os.close(write)
    assert run.returncode == 0
    assert os.read(read, 100) == b"through\n"
    os.close(read)


def test_identity_umask_folder_and_niceness_are_the_callers(run_metron):
    command = ["sh", "-c", "umask; pwd; nice; id; grep Cap /proc/self/status; cat /proc/self/oom_score_adj"]
    bare, wrapped = bare_and_wrapped(run_metron, command, umask=0o027)
    assert wrapped == bare


def test_environment_is_the_callers(run_metron):
    bare, wrapped = bare_and_wrapped(run_metron, ["env"])
    assert sorted(wrapped.splitlines()) == sorted(bare.splitlines())


def test_job_and_sheet_are_exported(run_metron):
    run = run_metron("-q --job nightly --sheet 4", ["sh", "-c", "echo $METRON_JOB/$METRON_SHEET"])
    assert run.stdout == b"nightly/4\n"
    text = run.bytes("info.json").decode()
    assert "nightly" in text


def test_job_is_taken_from_the_environment(run_metron):
    run = run_metron("-q", ["sh", "-c", "echo $METRON_JOB"], env={"METRON_JOB": "outer"}, prefix="{job}_")
    assert run.stdout == b"outer\n"
    assert (run.cwd / "outer_info.json").exists()


def test_config_hash_is_recorded(run_metron):
    run = run_metron("--job j --config-hash abc123", "true")
    assert "abc123" in run.bytes("info.json").decode()


def test_batch_environment_is_recorded_and_the_rest_is_not(run_metron):
    run = run_metron("", "true", env={"SLURM_JOB_ID": "4242", "PBS_QUEUE": "long", "OTHER_THING": "private"})
    text = run.bytes("info.json").decode()
    assert "4242" in text and "PBS_QUEUE" in text
    assert "OTHER_THING" not in text and "private" not in text


def test_works_without_home_path_or_environment(run_metron):
    run = subprocess.run(["env", "-i", run_metron.binary, "run", "-q", "-p", "run_", "--", "/bin/echo", "hi"],
                         cwd=run_metron.cwd, capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (0, b"hi\n"), run


def test_works_with_closed_standard_descriptors(run_metron):
    """Started by a careless daemon: 0, 1 and 2 are closed; no log file may land on them."""
    line = run_metron.command_line("-q", ["sh", "-c", "echo x; echo y >&2; exit 3"])
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *line], cwd=run_metron.cwd,
                          env=run_metron.environment(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 3
    assert b"x" not in (run_metron.cwd / "run_usage.jsonl").read_bytes()[:1]
    assert (run_metron.cwd / "run_info.json").read_bytes().startswith(b"{")
