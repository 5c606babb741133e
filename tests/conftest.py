"""Fixtures of the tests that run the program.

METRON           the binary (default: the newest build/*/metron)
METRON_WORKLOADS the folder with the compiled tests/workloads (default: of the same build; else they are compiled here)
METRON_SANITIZED 1: the binary is built with sanitizers: tests marked `plain` are skipped

What a machine cannot give is a skip. But where kernel events can be had, the tests of MAY_NOT_SKIP are there to be
run: a skip of one of them is a failure.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from support import cputruth, kernel_events, processes, terminal
from support.run import SANITIZED, Runner
from support.users import ANOTHER_USER, AS_ANOTHER_USER

TESTS = pathlib.Path(__file__).resolve().parent

# Compiled tests are kept in build/: to compile them takes each worker 2 CPU seconds. Only for this process: a Python
# that a test starts would find nothing compiled there, not even its own library.
sys.pycache_prefix, sys.dont_write_bytecode = str(TESTS.parent / "build" / "pycache"), False

# Tests that may not skip as root on a kernel with BTF and beside a metron-bpf (file, test; * is every one of the file).
MAY_NOT_SKIP = {
    "measure/test_kernel_events.py": "*",
    "measure/test_syscalls.py": "*",
    "measure/test_iterator.py": "*",
    "faults/test_broken_kernel_events.py": "*",
    "e2e/test_run_events.py": "*",
}

# Tests of something other than kernel events. Root's metron loads no programs into the kernel in them, which takes more
# CPU than most of these tests do: it learns of births and deaths from the process connector. Files about events, jobs'
# CPU, membership and restarts are not among them, nor are those about a metron as it is by default.
WITHOUT_PROGRAMS = {
    "e2e/test_daemon_acknowledged.py",
    "e2e/test_daemon_client.py",
    "e2e/test_daemon_crash.py",
    "e2e/test_daemon_files.py",
    "e2e/test_daemon_gpu.py",
    "e2e/test_daemon_shell.py",
    "e2e/test_export_history.py",
    "e2e/test_run_gpu.py",
}


def pytest_configure(config):
    # scripts/suite/selection.py finds the files of `plain` and `threads` by `mark.NAME` in their text.
    config.addinivalue_line("markers", "plain: needs a metron without sanitizers: measures, limits memory, loads libmetron")
    config.addinivalue_line("markers", "threads: several of the daemon's threads are at work; under ThreadSanitizer too")
    config.addinivalue_line("markers", "once: takes long, and the tests beside it use the same threads; not under ThreadSanitizer")
    processes.become_subreaper()
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.setsid()  # some tests watch the whole session: it is nobody else's
    # Whoever starts the tests in the background (nohup, a shell's &) has some of these ignored, and metron would
    # leave them so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(TESTS / "measure"):
            item.add_marker("plain")
        if SANITIZED and item.get_closest_marker("plain"):
            item.add_marker(pytest.mark.skip(reason="needs a metron without sanitizers"))


def _may_not_skip(item):
    if SANITIZED and item.get_closest_marker("plain"):
        return False
    tests = MAY_NOT_SKIP.get(item.path.relative_to(TESTS).as_posix(), ())
    return (tests == "*" or item.originalname in tests) and kernel_events.why_none(_find_binary()) is None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.skipped and not hasattr(report, "wasxfail") and _may_not_skip(item):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if kernel_events.NO_CONNECTOR in reason:
            return
        report.outcome = "failed"
        report.longrepr = f"may not skip where kernel events can be had (MAY_NOT_SKIP in conftest.py): {reason}"


def _find_binary():
    named = os.environ.get("METRON")
    if named:
        return pathlib.Path(named).resolve()
    built = [path for path in TESTS.parent.glob("build/*/metron") if os.access(path, os.X_OK)]
    if not built:
        pytest.exit("no metron to test: set METRON or run `make build`", returncode=2)
    return max(built, key=lambda path: path.stat().st_mtime)


def _compile_workloads(folder):
    compiler = os.environ.get("CC", "cc").split()
    for source in sorted((TESTS / "workloads").glob("*.c")):
        subprocess.run([*compiler, "-std=gnu17", "-O1", "-D_GNU_SOURCE", "-pthread", str(source), "-o",
                        str(folder / source.stem)], check=True)


@pytest.fixture(scope="session")
def programs():
    """A folder that any user may enter, with metron and the workloads in it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="metron-programs-"))
    folder.chmod(0o755)
    built = pathlib.Path(os.environ.get("METRON_WORKLOADS") or _find_binary().parent / "tests" / "workloads")
    names = sorted(source.stem for source in (TESTS / "workloads").glob("*.c"))
    if all((built / name).exists() for name in names):
        for name in names:
            shutil.copy(built / name, folder)
    else:
        _compile_workloads(folder)
    shutil.copy(_find_binary(), folder / "metron")
    for name in ("metron-bpf", "metron-plot", "metron-daemon", "metron-history"):
        companion = _find_binary().parent / name
        if companion.exists():
            shutil.copy(companion, folder / name)
    for program in folder.iterdir():
        program.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def no_leftovers():
    """Whatever a test has started, and whatever that started, is gone before the next one."""
    yield
    processes.end_leftovers()


def _settings(path):
    """Of every metron that root starts in the tests of a file."""
    listed = path.relative_to(TESTS).as_posix() in WITHOUT_PROGRAMS
    if listed and os.getuid() == 0 and kernel_events.why_no_connector() is None:
        return {"METRON_EVENTS": "connector"}
    return {}


@pytest.fixture
def run_metron(programs, tmp_path, request):
    """run_metron(args, cmd, **how) -> Run; run_metron.start(...) -> Started; run_metron.metron(args)."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    return Runner(programs, work, home, settings=_settings(request.path))


@pytest.fixture
def run_as_user(programs, tmp_path):
    """The same, as an ordinary user: with no privilege, in a folder of its own."""
    if os.getuid() != 0:
        work, home = tmp_path / "work", tmp_path / "home"
        work.mkdir()
        home.mkdir()
        yield Runner(programs, work, home)
        return
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv (util-linux) is missing: cannot become an ordinary user")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="metron-user-"))
    for path in (folder, folder / "work", folder / "home"):
        path.mkdir(exist_ok=True)
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    yield Runner(programs, folder / "work", folder / "home", AS_ANOTHER_USER)
    processes.end_leftovers()
    shutil.rmtree(folder)


@pytest.fixture
def cpu_truth(programs):
    """cpu_truth(as_user) -> CpuTruth: the kernel's own count of a target's CPU."""
    made = []

    def make(as_user=True, version=None):
        uid = ANOTHER_USER if as_user and os.getuid() == 0 else None
        try:
            made.append(cputruth.CpuTruth(str(programs / "join"), uid, version))
        except cputruth.NoTruth as reason:
            pytest.skip(str(reason))
        return made[-1]

    yield make
    processes.end_leftovers()
    for truth in made:
        truth.remove()


@pytest.fixture
def open_terminal():
    """open_terminal(line, cwd, env) -> Terminal, closed at the end."""
    opened = []

    def make(*args, **kwargs):
        opened.append(terminal.Terminal(*args, **kwargs))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def with_bpf(run_metron):
    """metron, where it may load programs into the kernel."""
    kernel_events.need(run_metron)
    return run_metron


@pytest.fixture
def marker(run_metron):
    """A command that leaves a file behind if it ever runs: (command line, path of the file)."""
    path = run_metron.cwd / "the-command-ran"
    return ["touch", str(path)], path


@pytest.fixture
def full_disk(tmp_path):
    """full_disk(bytes) -> a folder on a file system of that size (root only)."""
    mounted = []

    def make(size):
        folder = tmp_path / "small-disk"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", folder],
                              capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"cannot mount a small tmpfs: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return folder

    yield make
    processes.end_leftovers()
    for folder in mounted:
        subprocess.run(["umount", "-l", folder], check=True)
