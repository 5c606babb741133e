"""Too few descriptors or processes for metron: it becomes the command, which runs as if metron had never been there."""

import os
import resource
import shutil
import signal
import subprocess

import pytest

SPEAKS = ["sh", "-c", "echo out; ls /no/such/file; exit 3"]  # without redirection: sh needs descriptor 10 for that
STATE = ["sh", "-c", "ulimit -n; ulimit -Hn; grep '^Sig[BIC]' /proc/self/status; env | grep -v ^_="]
TOO_FEW = 16


def few_descriptors(count=TOO_FEW):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def alone(run):
    assert run.message.count("cannot measure") == 1 and "running the command alone" in run.message, run.message
    assert not [name for name in run.files() if "_" in name], "nothing is left of a record"


@pytest.mark.parametrize("options", ["", "--pty", "--outputs none", "--mode current-session"])
def test_however_few_descriptors_there_are_the_command_runs(run_metron, options):
    """libuv aborts where it gets none. Metron says no far from the limit as it does close to it: few counts are tried
    there, and every one about the limit, until ten in a row are enough."""
    enough = 0
    for count in (8, 12, 16, *range(20, 64)):
        run = run_metron(options, SPEAKS, prefix=None, check=False, preexec_fn=few_descriptors(count))
        assert run.returncode == 3, (count, run)
        if "cannot measure" in run.message:
            alone(run)
        if "cannot measure" in run.message or "none" not in options:
            output = run.stdout + run.stderr
            assert b"out" in output and b"/no/such/file" in output, (count, run)
        for path in (run_metron.cwd / ".metron").glob("**/*_*"):
            path.unlink()
        enough = enough + 1 if "cannot measure" not in run.message else 0
        if enough == 10:
            break
    assert enough == 10


def test_forty_descriptors_are_enough_for_a_record(run_metron):
    """Collectors do without, but not the loop and the files."""
    run = run_metron("", SPEAKS, preexec_fn=few_descriptors(40))
    assert run.returncode == 3 and "warning" not in run.message
    assert run.bytes("stdout") == b"out\n" and b"/no/such/file" in run.bytes("stderr")


def test_the_command_finds_what_it_would_find_without_metron(run_metron):
    """Limits, signals, environment."""
    def before():
        resource.setrlimit(resource.RLIMIT_NOFILE, (TOO_FEW - 2, TOO_FEW))
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    expected = subprocess.run(STATE, cwd=run_metron.cwd, env=run_metron.environment(), preexec_fn=before,
                              capture_output=True, check=True)
    run = run_metron("", STATE, preexec_fn=before, check=False)
    alone(run)
    assert run.stdout == expected.stdout


def test_its_job_is_in_the_environment(run_metron):
    run = run_metron("--job night --sheet 7", ["sh", "-c", "echo $METRON_JOB $METRON_SHEET"], check=False,
                     preexec_fn=few_descriptors())
    alone(run)
    assert run.stdout == b"night 7\n"


@pytest.mark.parametrize("command, code, reason", [("no-such-command-here", 127, "command not found"),
                                                   ("/etc/passwd", 126, "ermission denied")])
def test_a_command_that_cannot_be_run(run_metron, command, code, reason):
    run = run_metron("", [command], check=False, preexec_fn=few_descriptors())
    assert run.returncode == code and reason in run.message


def test_wrong_usage_is_still_refused(run_metron, marker):
    command, path = marker
    run = run_metron("", command, prefix="x{nonsense}_", check=False)
    assert run.returncode == 2 and not path.exists()


def test_no_process_is_left_for_the_command(run_as_user):
    if os.getuid() != 0 or shutil.which("prlimit") is None:
        pytest.skip("needs prlimit, and a user who has no process")
    run = run_as_user("", ["sh", "-c", "echo out; exit 3"], outer=["prlimit", "--nproc=1"], check=False)
    alone(run)
    assert (run.returncode, run.stdout) == (3, b"out\n")


def test_no_process_is_left_for_a_sheet(run_as_user):
    if os.getuid() != 0 or shutil.which("prlimit") is None:
        pytest.skip("needs prlimit, and a user who has no process")
    done = subprocess.run(["prlimit", "--nproc=1", *run_as_user.wrapper, run_as_user.binary, "job", "exec", "--socket",
                           "none.sock", "night", "1", "--", "sh", "-c", "echo $METRON_JOB $METRON_SHEET; exit 3"],
                          cwd=run_as_user.cwd, env=run_as_user.environment(), capture_output=True, timeout=60,
                          check=False)
    assert (done.returncode, done.stdout) == (3, b"night 1\n"), done
    assert b"running the command alone" in done.stderr


def test_an_attached_run_is_refused(run_metron):
    line = [run_metron.binary, "attach", str(os.getpid())]
    done = subprocess.run(line, cwd=run_metron.cwd, env=run_metron.environment(), preexec_fn=few_descriptors(),
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 1 and b"descriptors are needed" in done.stderr
