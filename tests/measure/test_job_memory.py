"""Eight workers of a job that share 200 MB hold 200 MB: so says its peak PSS, while the sum of RSS is nine times that.

Truth is what the workload maps. Tolerance 3 %.
"""

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.processes import wait_until

SHARED = 200_000_000
MIB = 1 << 20


@pytest.mark.parametrize("option", [[], ["-p"]], ids=["one-shared-mapping", "copy-on-write"])
def test_the_peak_pss_of_a_job_counts_shared_memory_once(run_as_user, option):
    dc.need_daemon(run_as_user)
    daemon = Daemon(run_as_user, run_as_user.cwd)
    try:
        daemon.start(interval=0.5, log_file="off")
        crowd = dc.start_child(run_as_user, run_as_user.workload("sharers"), *option, str(SHARED), "8", "600")
        daemon.call("job.start", job_id="sharers", pid=crowd.pid)

        def usage_of_job():
            return daemon.call("job.status", job_id="sharers")["usage"]

        wait_until(lambda: usage_of_job().get("peak_rss_mb", 0) > 1500, 60, "everybody with everything")
        # The first pass may have been while they grew; the next one comes when there is time for it.
        wait_until(lambda: usage_of_job().get("peak_pss_mb", 0) > 0.97 * SHARED / MIB, 120, "its PSS")
        usage = usage_of_job()
        crowd.kill()
        crowd.wait()
    finally:
        daemon.end()
    assert usage["peak_pss_mb"] == pytest.approx(SHARED / MIB, rel=0.03)
