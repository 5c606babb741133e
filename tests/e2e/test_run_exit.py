"""Exit codes and causes: what a shell would say."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time

import pytest

from support.kernel_events import capture_processes
from support.processes import file_lines, state, wait_until


@pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
def test_exit_code_is_the_commands(run_metron, code):
    run = run_metron("", f"sh -c 'exit {code}'")
    assert run.returncode == code
    assert run.summary["exit_code"] == code
    assert "signal" not in run.summary


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE])
def test_death_by_signal_is_128_plus_n(run_metron, number):
    run = run_metron("", f"sh -c 'ulimit -c 0; kill -{int(number)} $$'")
    assert run.returncode == 128 + number
    assert run.summary["exit_code"] == 128 + number
    assert run.summary["signal"] in (int(number), number.name, number.name[3:])
    assert number.name in run.message or number.name[3:] in run.message or str(int(number)) in run.message


def test_command_not_found_is_127(run_metron):
    run = run_metron("", "no-such-command-anywhere", check=False)
    assert run.returncode == 127
    assert "no-such-command-anywhere" in run.message
    assert len(run.message.strip().splitlines()) == 1


def test_path_not_found_is_127(run_metron):
    run = run_metron("", "./nowhere/nothing", check=False)
    assert run.returncode == 127
    assert "./nowhere/nothing" in run.message


def test_not_executable_is_126(run_metron):
    path = run_metron.cwd / "text"
    path.write_text("echo no\n")
    run = run_metron("", "./text", check=False)
    assert run.returncode == 126
    assert "./text" in run.message and "ermission" in run.message


def test_folder_is_126(run_metron):
    assert run_metron("", "/tmp", check=False).returncode == 126


def test_command_that_cannot_be_run_leaves_no_logs(run_metron):
    run = run_metron("", "no-such-command-anywhere", fail_time=None, check=False)
    assert run.returncode == 127
    assert run.files() == []


def test_script_without_interpreter_line_runs_as_in_a_shell(run_metron):
    path = run_metron.cwd / "script"
    path.write_text("exit 9\n")
    path.chmod(0o755)
    direct = subprocess.run(["sh", "-c", "./script"], cwd=run_metron.cwd, check=False).returncode
    assert run_metron("", "./script", check=False).returncode == direct == 9


def test_cause_is_told(run_metron):
    causes = [run_metron("", command, prefix=f"run{i}_").summary["cause"]
              for i, command in enumerate(("true", "false", "sh -c 'kill -9 $$'"))]
    assert len(set(causes)) == 3
    assert "oom" not in causes[2].lower(), "137 alone proves nothing"


def test_double_dash_ends_the_options(run_metron):
    run = run_metron.metron("run -q -p a_ -- printenv --help")
    assert run.returncode == 0 and b"printenv" in run.stdout
    run = run_metron.metron("run -q -p b_ -- -q")
    assert run.returncode == 127 and b"-q" in run.stderr, "a command may begin with a dash"


def test_options_end_at_the_command_without_dashes(run_metron):
    run = run_metron.metron("run -q -p a_ echo -q --sample-interval -p")
    assert (run.returncode, run.stdout) == (0, b"-q --sample-interval -p\n")


@pytest.mark.parametrize("line", ["run", "run --", "run --no-such-option true", "run --sample-interval",
                                  "no-such-command", "run --wait forever true", "run --capture-outputs some true",
                                  "run --record-types some true", "run --mode old-session true",
                                  "run --colors=maybe true", "run --log-level loud true",
                                  "run --sample-interval 0.009 true", "run --sample-interval -1 true",
                                  "run --sample-interval x true", "run --sample-interval nan true",
                                  "run --report-interval 0 true", "run --fail-time soon true",
                                  "run --sample-interval '' true", "run --measurements '' true",
                                  "run --cgroup sideways true", "run --sheet many --job j true"])
def test_wrong_usage_is_exit_2_in_one_line(run_metron, line):
    run = run_metron.metron(line)
    assert run.returncode == 2, run
    assert run.stdout == b""
    assert 1 <= len(run.message.strip().splitlines()) <= 3
    assert run.files() == []


def test_report_interval_is_never_below_the_sample_interval(run_metron):
    run = run_metron("--sample-interval 0.2 --report-interval 0.05", "sleep 0.7", check=False)
    if run.returncode == 2:
        assert "report" in run.message
        return
    assert all(record["num_samples"] for record in run.usage[:-1]), "no record without a sample"


def test_abbreviated_interval_options_work(run_metron):
    run = run_metron("--s-i 0.1 --r-i 0.3 --f-t 0", "true", fail_time=None)
    assert run.returncode == 0
    provenance = run.info["provenance"]
    assert [provenance[name] for name in ("sample_interval", "report_interval")] == [0.1, 0.3]
    assert not provenance["sample_interval_auto"] and not provenance["report_interval_auto"]
    assert run.usage, "a fail time of 0 keeps the record of a short run"


def watches_a_process(pid):
    """Whether it has a pidfd."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return any(os.readlink(file) == "anon_inode:[pidfd]" for file in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return False


def is_watched(run):
    return any(map(watches_a_process, capture_processes(run.pid)))


@pytest.mark.parametrize("args", ["--events off", "--events connector --capture-outputs none --outputs all"])
def test_wall_time_ends_when_the_command_does_not_when_metron_notices(run_metron, args):
    if "connector" in args:
        run_metron.need_events("connector")
    run = run_metron.start(f"-q {args}", ["sh", "-c", "echo $$ >pid; read line; exit 3"], stdin=subprocess.PIPE)
    pid = int(wait_until(lambda: file_lines(run.cwd / "pid"), what="the command")[0])
    if "connector" not in args:
        wait_until(lambda: is_watched(run), what="who notes its end")
    run.signal(signal.SIGSTOP)
    wait_until(lambda: state(run.pid) == "T", what="a stopped metron")
    run.process.stdin.close()
    wait_until(lambda: state(pid) == "Z", what="the end of the command")
    wait_until(lambda: "connector" in args or not is_watched(run), what="its end noted")
    noted = time.monotonic() - run.started
    time.sleep(1)  # nobody but who notes it notices it
    run.signal(signal.SIGCONT)
    run.process.stdin = None
    ended = run.finish()
    assert ended.returncode == 3
    summary = ended.summary
    assert summary["wall_clock_time"] <= noted
    share = 100 * summary["proc_cpu_seconds"] / summary["wall_clock_time"]
    assert summary["proc_ave_pdcpu_total"] == pytest.approx(share, rel=0.01), "the mean ends with the command too"
