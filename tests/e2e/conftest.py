"""Daemons for the tests of what the daemon tells: of the caller, of an ordinary user, of both."""

import contextlib
import copy
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from support import daemon_client as dc
from support import nvml, processes
from support.daemon_client import Daemon
from support.processes import end_leftovers
from support.users import ANOTHER_USER


@pytest.fixture(scope="session")
def library():
    """The folder of a library that says it is NVIDIA's, for everybody to read: pytest's own folders are not."""
    with tempfile.TemporaryDirectory(prefix="metron-nvml-") as folder:
        pathlib.Path(folder).chmod(0o755)
        nvml.build(folder)
        yield folder


@pytest.fixture
def notified(run_metron):
    """What systemd would be told."""
    path = run_metron.cwd / "notify.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(10)
        yield path, listener


def starter(runner, uid):
    """start(name=…, **settings) -> a ready Daemon; start.daemons are all of them."""
    dc.need_daemon(runner)
    made = []

    def start(name=None, **settings):
        folder = runner.cwd / name if name else runner.cwd
        folder.mkdir(exist_ok=True)
        if uid is not None:
            os.chown(folder, uid, uid)
        made.append(Daemon(runner, folder, uid))
        return made[-1].start(**settings)
    start.daemons = made
    start.runner = runner
    return start


@pytest.fixture
def start_daemon(run_metron):
    """A daemon of the caller's: of root, it watches the whole machine."""
    start = starter(run_metron, None)
    yield start
    for daemon in start.daemons:
        daemon.end()


@pytest.fixture
def start_user_daemon(run_as_user):
    """A daemon of an ordinary user's."""
    start = starter(run_as_user, ANOTHER_USER if os.getuid() == 0 else None)
    yield start
    for daemon in start.daemons:
        daemon.end()


@pytest.fixture(params=["caller", "ordinary-user"])
def start_either(request):
    return request.getfixturevalue("start_daemon" if request.param == "caller" else "start_user_daemon")


# ---- a daemon for all tests of a module ----

class Shared:
    """Daemons that the tests of a module share, one for each user and choice of settings; a new one where a test has
    ended it. Each test has its own jobs, and its own folder to run things in."""

    def __init__(self, folder):
        self.folder, self.daemons, self.count = folder, {}, 0

    def get(self, runner, **settings):
        uid = os.stat(runner.cwd).st_uid
        key = uid, tuple(sorted(settings.items()))
        daemon = self.daemons.get(key)
        if daemon is None or daemon.process.poll() is not None:
            dc.need_daemon(runner)
            daemon = self.daemons[key] = self.start(runner, uid, settings)
        view = copy.copy(daemon)
        view.runner = runner
        return view

    def start(self, runner, uid, settings):
        self.count += 1
        own = copy.copy(runner)
        own.cwd = own.home = pathlib.Path(tempfile.mkdtemp(prefix=f"d{self.count}-", dir=self.folder))
        os.chown(own.cwd, uid, uid)
        daemon = Daemon(own, own.cwd, uid if uid != os.getuid() else None).start(**settings)
        processes.SPARED.add(daemon.pid)
        return daemon

    def tidy(self, daemon):
        """Jobs that a test has left running are not the next one's."""
        if daemon.process.poll() is None:
            for job in daemon.call("job.list"):
                if job["status"] == "running":
                    daemon.call("job.finish", job_id=job["job_id"], outcome="completed")

    def end(self):
        """Each of them, also where one does not stop."""
        processes.SPARED.clear()
        with contextlib.ExitStack() as stack:
            for daemon in self.daemons.values():
                stack.callback(daemon.end)
            for daemon in self.daemons.values():
                assert daemon.stop() in (0, -signal.SIGKILL), daemon.said()


@pytest.fixture(scope="module")
def shared():
    with tempfile.TemporaryDirectory(prefix="metron-shared-") as folder:
        os.chmod(folder, 0o755)
        made = Shared(folder)
        yield made
        made.end()


@pytest.fixture(params=["caller", "ordinary-user"])
def either_runner(request):
    return request.getfixturevalue("run_metron" if request.param == "caller" else "run_as_user")


@pytest.fixture
def daemon(shared, run_metron):
    yield (made := shared.get(run_metron))
    shared.tidy(made)


@pytest.fixture
def either(shared, either_runner):
    yield (made := shared.get(either_runner))
    shared.tidy(made)


@pytest.fixture
def jobs_daemon(shared, run_metron):
    """Only jobs are watched: what other tests do at the same time is not seen."""
    yield (made := shared.get(run_metron, watch="jobs"))
    shared.tidy(made)


@pytest.fixture
def either_jobs(shared, either_runner):
    yield (made := shared.get(either_runner, watch="jobs"))
    shared.tidy(made)


# ---- other users ----

@pytest.fixture
def asroot(run_as_user):
    """A setuid program that becomes root, as sudo does. No one but the user of this test may start it."""
    if os.getuid() != 0:
        pytest.skip("only root can make a program setuid root")
    with tempfile.TemporaryDirectory(prefix="metron-setuid-") as folder:
        os.chown(folder, 0, ANOTHER_USER)
        os.chmod(folder, 0o750)
        path = shutil.copy(run_as_user.workload("asroot"), folder)
        os.chmod(path, 0o4755)
        if subprocess.run([*run_as_user.wrapper, path], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode != 4:
            pytest.skip("setuid programs are not honoured here (nosuid, no_new_privs)")
        yield path
        end_leftovers()
