"""The library as another program has it: installed, found by pkg-config, compiled against, and run.

METRON must be in its build folder: what is installed comes from there.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from support import daemon_client as dc
from support.processes import wait_until
from support.run import SANITIZED
from support.users import others_are_hidden

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ["run", "attach", "client"]
STRICT = ["-Wall", "-Wextra", "-Werror", "-O1", "-g"]


class Installed:
    """metron below a folder of its own, and programs that were made with it."""

    def __init__(self, build):
        self.build = build
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="metron-installed-"))
        self.folder.chmod(0o755)
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", self.folder],
                       check=True, stdout=subprocess.DEVNULL)
        self.pc_file, = self.folder.rglob("metron.pc")
        self.library, = self.folder.rglob("libmetron.so")
        self.header, = self.folder.rglob("metron.h")
        self.metron, = self.folder.rglob("bin/metron")

    def pkg_config(self, *words):
        env = {**os.environ, "PKG_CONFIG_PATH": str(self.pc_file.parent), "PKG_CONFIG_SYSROOT_DIR": str(self.folder)}
        return subprocess.run(["pkg-config", *words, "metron"], env=env, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.split()

    def compile(self, source, name, compiler="cc", options=()):
        subprocess.run([compiler, *STRICT, *options, str(source), "-o", str(self.folder / name),
                        *self.pkg_config("--cflags", "--libs")], check=True)
        return self.folder / name

    def program(self, name):
        """An example, compiled as a stranger would; with sanitizers the one of the build, which has their flags."""
        path = self.folder / name
        if not path.exists():
            if SANITIZED:
                shutil.copy(self.build / "examples" / f"{name}_example", path)
            else:
                self.compile(ROOT / "examples" / f"{name}.c", name)
        return path

    def host(self):
        path = self.folder / "library_host"
        if not path.exists():
            shutil.copy(self.build / "tests" / "library" / "library_host", path)
        return path


@pytest.fixture(scope="module")
def installed():
    binary = os.environ.get("METRON")
    build = pathlib.Path(binary).resolve().parent if binary else None
    if build is None or not (build / "build.ninja").exists():
        pytest.skip("METRON is not in the folder it was built in: nothing to install from")
    made = Installed(build)
    yield made
    shutil.rmtree(made.folder)


@pytest.fixture(params=["caller", "ordinary-user"])
def runner(request):
    return request.getfixturevalue("run_metron" if request.param == "caller" else "run_as_user")


def start(installed, runner, program, *arguments, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    env = runner.environment({"LD_LIBRARY_PATH": str(installed.library.parent)})
    # setpriv keeps it: it has no privilege of its own to lose
    return subprocess.Popen([*runner.wrapper, str(program), *map(str, arguments)], cwd=runner.cwd, env=env, text=True,
                            **how)


def run(installed, runner, program, *arguments, **how):
    """(exit status, what it printed, what it said), within a minute."""
    process = start(installed, runner, program, *arguments, **how)
    printed, said = process.communicate(timeout=60)
    return process.returncode, printed, said


def number(printed, word):
    return float(re.search(rf"^{word} ([-0-9.e+]+)", printed, re.M).group(1))


# ---- what is installed ----

@pytest.mark.plain  # a library with sanitizers needs their libraries
def test_only_names_of_the_header_are_exported_and_all_of_them(installed):
    exported = subprocess.run(["nm", "-D", "--defined-only", installed.library], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.split()[2::3]
    declared = re.findall(r"METRON_API [^;]*?\b(metron_\w+)\(", installed.header.read_text())
    assert sorted(exported) == sorted(declared) and len(declared) > 25


@pytest.mark.plain  # a library with sanitizers needs their libraries
def test_it_needs_the_c_library_and_no_other(installed):
    needed = subprocess.run(["readelf", "-d", installed.library], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    libraries = [name for name in re.findall(r"NEEDED.*\[(.*)\]", needed) if not name.startswith("ld-linux")]
    assert libraries == ["libc.so.6"]
    assert re.findall(r"SONAME.*\[(.*)\]", needed) == ["libmetron.so.0"]
    metron = subprocess.run(["readelf", "-d", installed.metron], check=True, text=True, stdout=subprocess.PIPE).stdout
    assert "libmetron" not in metron


@pytest.mark.plain  # a library with sanitizers needs their libraries
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_cpp_program_can_use_the_header_and_versions_agree(installed, run_metron, compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    source = tmp_path / "version.cpp"
    source.write_text("#include <metron.h>\n#include <cstdio>\nint main() {\n"
                      "    struct metron_result *result = nullptr;\n"
                      "    const char *argv[] = {\"true\", nullptr};\n"
                      "    if (metron_run(nullptr, const_cast<char **>(argv), &result, nullptr) < 0) return 1;\n"
                      "    metron_result_free(result);\n"
                      "    std::printf(\"%s %d.%d.%d\\n\", metron_version(), METRON_VERSION_MAJOR,\n"
                      "                METRON_VERSION_MINOR, METRON_VERSION_PATCH);\n}\n")
    program = installed.compile(source, f"version-{compiler}", compiler, ["-pedantic", "-x", "c++"])
    status, printed, said = run(installed, run_metron, program)
    version, = installed.pkg_config("--modversion")
    assert (status, said) == (0, "") and printed.split() == [version, version]
    assert run_metron.metron("--version").stdout.decode().startswith(f"metron {version}\n")


# ---- running a command ----

def test_a_run_knows_what_the_command_used(installed, runner):
    program = installed.program("run")
    process = start(installed, runner, program, runner.workload("burn"), "0.6")
    printed, said = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    # Truth: burn stops by its own CPU clock; and the kernel's count of the whole tree, metron's own part included.
    seconds, tree = number(printed, "cpu_seconds"), usage.ru_utime + usage.ru_stime
    assert 0.6 <= seconds < 0.7 and seconds <= tree + 0.01
    assert number(printed, "wall_seconds") >= 0.6 and number(printed, "processes") == 1
    assert 200_000 < number(printed, "peak_memory_bytes") < 50_000_000
    assert said.count("record: ") >= 2 and number(printed, "events") == 2
    assert os.listdir(runner.cwd) == []  # no prefix, no files


def test_with_a_prefix_the_files_say_the_same(installed, runner):
    status, printed, said = run(installed, runner, installed.program("run"), "-p", "x_", "sh", "-c",
                                "echo hello; sleep 0.7; exit 3", stdin=subprocess.DEVNULL)
    # it failed within the fail-time of 3 seconds: as with the command, nothing is kept
    assert status == 3 and "hello" in printed and "recorded in" not in printed and os.listdir(runner.cwd) == []
    status, printed, said = run(installed, runner, installed.program("run"), "-p", "x_", "sh", "-c",
                                "echo hello; sleep 0.7; (:)")
    assert status == 0 and "recorded in x_info.json" in printed and said.replace("record: ", "") != said
    info = json.loads((runner.cwd / "x_info.json").read_text())
    assert number(printed, "cpu_seconds") == pytest.approx(info["headline"]["cpu_seconds"]["value"])
    assert f"({info['headline']['cpu_seconds']['source']})" in printed
    assert (runner.cwd / "x_stdout").read_text() == "hello\n"
    assert len((runner.cwd / "x_events.jsonl").read_text().splitlines()) == number(printed, "events")
    assert len((runner.cwd / "x_usage.jsonl").read_text().splitlines()) >= said.count("record: ") > 0


def test_how_the_command_ended_is_the_result_and_no_failure(installed, run_metron):
    status, printed, _ = run(installed, run_metron, installed.program("run"), "sh", "-c", "kill -9 $$")
    assert status == 137 and "ended by signal 9" in printed
    status, printed, said = run(installed, run_metron, installed.program("run"), "no-such-command")
    assert (status, printed, said) == (1, "", "run: 'no-such-command': command not found\n")


def test_without_the_program_metron_it_says_so(installed, run_metron):
    away = installed.metron.with_name("away")
    installed.metron.rename(away)
    try:
        status, printed, said = run(installed, run_metron, installed.program("run"), "true")
    finally:
        away.rename(installed.metron)
    if status == 0:
        pytest.skip("another metron is installed where this one is meant to be")
    assert (status, printed) == (1, "") and re.fullmatch(r"run: the program metron is not installed: .*metron'\n", said)


# ---- attaching ----

def cpu_seconds(pid):
    """The kernel's count, in nanoseconds."""
    text = pathlib.Path(f"/proc/{pid}/schedstat").read_text()
    return int(text.split()[0]) / 1e9


def test_attached_it_measures_what_they_use_from_then_on(installed, runner):
    burning = dc.start_child(runner, runner.workload("burn"), "60")
    wait_until(lambda: cpu_seconds(burning.pid) > 0.2, what="a past that is not to be counted")
    before, began = cpu_seconds(burning.pid), time.monotonic()
    process = start(installed, runner, installed.program("attach"), "-d", "0.8", burning.pid, stdin=subprocess.PIPE)
    process.wait(60)  # its input stays open meanwhile
    used, elapsed = cpu_seconds(burning.pid) - before, time.monotonic() - began
    printed, said = process.stdout.read(), process.stderr.read()
    assert process.returncode == 0, said
    # It can have used no more outside the time that was measured than that time is long.
    wall = number(printed, "wall_seconds")
    assert used - (elapsed - wall) - 0.05 <= number(printed, "cpu_seconds") <= used + 0.02
    assert wall > 0.75 and said.count("record: ") >= 1
    assert burning.poll() is None


def test_it_can_be_stopped_and_the_target_goes_on(installed, runner):
    sleeping = dc.start_child(runner, "/bin/sleep", "60")
    process = start(installed, runner, installed.program("attach"), sleeping.pid, stdin=subprocess.PIPE)
    assert "record: " in process.stderr.readline()
    printed, said = process.communicate("\n", timeout=60)
    assert process.returncode == 0 and number(printed, "wall_seconds") > 0.4, said
    assert sleeping.poll() is None


def test_what_cannot_be_attached_to_is_told(installed, run_metron, run_as_user):
    status, printed, said = run(installed, run_metron, installed.program("attach"), "4194304")
    assert (status, printed) == (1, "") and said == "attach: there is no process 4194304\n"
    if os.getuid() == 0:
        mine = dc.start_child(run_metron, "/bin/sleep", "60")
        status, printed, said = run(installed, run_as_user, installed.program("attach"), mine.pid)
        whose = "is another user's, and hidden" if others_are_hidden() else "belongs to root"
        assert (status, printed) == (1, "") and f"process {mine.pid} {whose}" in said


# ---- the daemon's client ----

def test_the_client_asks_tells_and_streams(installed, start_either):
    daemon = start_either()
    runner = daemon.runner
    # A shell that starts a child for each line it is given.
    shell = dc.start_child(runner, "/bin/sh", "-c", "while read line; do /bin/sleep 0.4; done; :", stdin=subprocess.PIPE)
    process = start(installed, runner, installed.program("client"), "-s", daemon.socket, "library", shell.pid)
    answers = {}
    while (line := process.stdout.readline()) != "streaming\n":
        assert line, process.stderr.read()
        method, answer = line.split(" ", 1)
        answers[method] = json.loads(answer)
    assert list(answers) == ["daemon.health", "job.start", "daemon.top"]
    assert daemon.call("job.status", job_id="library")
    shell.stdin.write(b"\n")
    shell.stdin.flush()
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    events = [json.loads(line.split(" ", 1)[1]) for line in printed.splitlines() if line.startswith("monitor.event ")]
    spawned = [event for event in events if "sleep" in json.dumps(event)]
    assert spawned and all(event.get("job_id") == "library" for event in events), printed


def test_a_client_without_a_daemon_is_told(installed, runner, tmp_path):
    status, printed, said = run(installed, runner, installed.program("client"), "-s", "/tmp/no-such/socket", "job", "1")
    assert (status, printed) == (1, "")
    assert said == "client: no daemon listens on '/tmp/no-such/socket'; start one with: metron daemon\n"


# ---- the program that uses it ----

@pytest.mark.parametrize("topic", ["children", "stopping", "killed", "waiting", "settings"])
def test_the_host_is_left_as_it_was(installed, runner, topic):
    status, printed, said = run(installed, runner, installed.host(), topic)
    assert status == 0 and printed.endswith("ok\n") and said == ""


def test_many_runs_leave_nothing_behind(installed, runner):
    status, printed, said = run(installed, runner, installed.host(), "over-and-over", 30)
    assert (status, printed, said) == (0, "ok\n", "")


def test_runs_of_several_threads_do_not_mix(installed, runner):
    status, printed, said = run(installed, runner, installed.host(), "at-once", runner.workload("burn"))
    assert (status, said) == (0, "") and printed.endswith("ok\n")
    assert all(0.2 <= float(seconds) < 0.3 for seconds in printed.split()[:-1])


def test_a_command_does_not_outlive_a_host_that_left(installed, runner):
    status, printed, _ = run(installed, runner, installed.host(), "leaving", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert status == 0
    wait_until(lambda: not pathlib.Path(f"/proc/{int(printed)}").exists(), what="the end of the command")


def test_errors_read_as_those_of_the_command(installed, run_metron):
    _, printed, _ = run(installed, run_metron, installed.host(), "settings")
    lines = printed.splitlines()
    assert lines[0] == "unknown setting 'sample-intervall' (did you mean 'sample-interval'?)"
    assert lines[1] == "sample-interval: 'soon' is neither a number nor auto"
    assert lines[2] == "'database' is a setting of neither run nor attach"
    for line, options in ((lines[4], "--sample-interval 2 --report-interval 1"), (lines[5], "--measurements no_such_key")):
        assert run_metron(options, "true", check=False).message == f"metron: error: {line}\n"


# ---- --feed, for programs in other languages ----

def test_a_feed_tells_what_the_files_have(run_metron):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = run_metron.start(f"--feed {theirs.fileno()} --sample-interval 0.05 --report-interval 0.1",
                                   "sh -c 'sleep 0.35; (:)'", pass_fds=[theirs.fileno()])
        theirs.close()
        lines = [json.loads(line) for line in ours.makefile("rb")]
        done = process.finish()
    assert all(len(line) == 1 for line in lines)
    told = {kind: [line[kind] for line in lines if kind in line] for kind in ("started", "record", "event", "end", "log")}
    assert told["started"] == [{"pid": int(done.root)}]
    assert told["record"] == done.usage and told["event"] == done.events
    assert told["end"] == [{"dropped": 0, "discarded": False, "info": done.info}] and lines[-1].keys() == {"end"}
    assert done.stderr == b""


@pytest.mark.parametrize("value,reason", [("77", "descriptor 77 is no stream socket"),
                                          ("1", "descriptor 1 is no stream socket"), ("-1", "out of range")])
def test_a_feed_that_is_no_socket_is_refused(run_metron, value, reason):
    done = run_metron(f"--feed {value}", "true", check=False)
    assert done.returncode == 2 and reason in done.message and done.files() == []
