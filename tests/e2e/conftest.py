"""Daemons for the tests of what the daemon tells: of the caller, of an ordinary user, of both."""

import os

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.users import ANOTHER_USER


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


@pytest.fixture
def daemon(start_daemon):
    return start_daemon()


@pytest.fixture
def either(start_either):
    return start_either()


@pytest.fixture
def jobs_daemon(start_daemon):
    """Only jobs are watched: what other tests do at the same time is not seen."""
    return start_daemon(watch="jobs")


@pytest.fixture
def either_jobs(start_either):
    return start_either(watch="jobs")
