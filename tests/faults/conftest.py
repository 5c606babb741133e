"""Where the cells of docs/reliability.md run."""

import os
import tempfile

import pytest

from support import processes
from support.daemon_client import Daemon, need_daemon
from support.harm import JOB_NAME, Stage
from support.run import Runner


@pytest.fixture(scope="module")
def jobs(programs):
    """A daemon in which JOB_NAME runs, for all `metron job exec` of a module."""
    with tempfile.TemporaryDirectory(prefix="metron-jobs-") as folder:
        runner = Runner(programs, folder, folder)
        need_daemon(runner)
        daemon = Daemon(runner, folder).start(watch="jobs", env={"METRON_EVENTS": "off"})
        processes.SPARED.add(daemon.pid)
        daemon.call("job.start", job_id=JOB_NAME)
        yield daemon
        processes.SPARED.discard(daemon.pid)
        daemon.end()


@pytest.fixture
def stage(run_metron, open_terminal, request):
    """The caller's own: root's, where the tests run as root."""
    return Stage(run_metron, open_terminal, lambda: request.getfixturevalue("jobs"))


@pytest.fixture
def user_stage(run_as_user, open_terminal, request):
    """An ordinary user's, who has no other process."""
    if os.getuid() != 0:
        pytest.skip("only root can become a user who has no other process")
    return Stage(run_as_user, open_terminal, lambda: request.getfixturevalue("jobs"))
