"""The daemon's first moments: signals as soon as clients can connect."""

import copy
import shutil
import signal

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon

pytestmark = pytest.mark.threads


@pytest.fixture
def daemon(run_metron):
    dc.need_daemon(run_metron)
    made = Daemon(run_metron, run_metron.cwd)
    yield made
    made.end()


# ---- signals ----

def signalled_at_listen(daemon, number):
    """Sends itself the signal with listen(2): nobody can be faster."""
    if shutil.which("strace") is None:
        pytest.skip("strace is missing")
    daemon.runner = copy.copy(daemon.runner)
    daemon.runner.wrapper = ["strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=listen", "-e",
                             f"inject=listen:signal={number.name}"]
    return daemon


@pytest.mark.plain  # the leak check cannot run under strace
def test_sighup_at_listen_does_not_end_it(daemon):
    signalled_at_listen(daemon, signal.SIGHUP).start()
    assert daemon.stop() == 0


@pytest.mark.plain
def test_sigterm_at_listen_ends_it_in_order(daemon):
    signalled_at_listen(daemon, signal.SIGTERM).launch()
    assert daemon.wait() == 0, daemon.said()
    assert "ending" in daemon.said() and not daemon.socket.exists()
