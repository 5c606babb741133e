"""The daemon's settings: what SIGHUP changes and what it names, which files are not read; and an end without grace."""

import signal
import time

from support import daemon_client as dc
from test_daemon_enabled import write_settings


def test_sighup_applies_what_can_be_applied_and_names_the_rest(run_metron, start_daemon):
    first = "[daemon]\nwatch = {}\nretention-hours = {}\ngpu-enabled = {}\n"
    write_settings(run_metron, first.format("all", 24, "no"))
    daemon = start_daemon(interval=0.2, log_file="off")
    shell = dc.Shell(run_metron)
    daemon.top_when(lambda snapshot: dc.process_in(snapshot, shell.pid), what="a process of no job")
    before = daemon.call("daemon.config")
    assert before["gpu_enabled"]["value"] is False and "with_next_start" not in str(before)
    write_settings(run_metron, first.format("jobs", 48, "yes"))
    lines = len(daemon.said().splitlines())
    daemon.process.send_signal(signal.SIGHUP)
    daemon.top_when(lambda snapshot: not snapshot["processes"], what="only processes of jobs")
    config = daemon.call("daemon.config")
    assert config["watch"]["value"] == "jobs" and "with_next_start" not in config["watch"]
    assert (config["retention_hours"]["value"], config["retention_hours"]["with_next_start"]) == (24, 48)
    assert (config["gpu_enabled"]["value"], config["gpu_enabled"]["with_next_start"]) == (False, True)
    (line,) = daemon.said().splitlines()[lines:]
    assert "watch" not in line.split("next start")[1] and "interval" not in line.split("next start")[1], line
    assert "retention-hours" in line and "gpu-enabled" in line and "socket" not in line, line
    write_settings(run_metron, first.format("all", 24, "no"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.top_when(lambda snapshot: dc.process_in(snapshot, shell.pid), what="everybody again")
    assert daemon.call("daemon.config") == before
    shell.end()


def test_a_settings_file_of_the_folder_is_not_the_daemons(run_metron, start_daemon):
    folder = run_metron.cwd / ".metron"
    folder.mkdir(mode=0o700)
    (folder / "metron.conf").write_text("[daemon]\nwatch = jobs\nno-such-setting = 1\n", encoding="utf-8")
    daemon = start_daemon(interval=60, log_file="off", database="off")
    assert daemon.call("daemon.config")["watch"]["value"] == "all"
    assert "metron.conf" not in daemon.said()


def test_an_end_without_grace_takes_no_snapshot_and_keeps_what_was_acknowledged(start_either):
    daemon = start_either(interval=60, log_file="off")
    daemon.call("job.start", job_id="done")
    with daemon.client() as idle, daemon.client() as client:
        idle.subscribe()
        # The last of them are not committed yet when the end is asked for.
        many = [client.request("job.start", job_id=f"quick-{number}", wait=False) for number in range(20)]
        many.append(client.request("job.finish", job_id="done", outcome="failed", exit_code=4, wait=False))
        asked = time.time()
        end = client.request("daemon.shutdown", graceful=False)
        for number in many:
            client.answer(number)
        assert client.answer(end)["graceful"] is False
        assert daemon.wait() == 0
    assert not daemon.socket.exists()
    assert daemon.rows("SELECT max(timestamp) AS last FROM snapshots")[0]["last"] < asked
    daemon = start_either(interval=60, log_file="off")
    names = {job["job_id"] for job in daemon.call("job.list")}
    assert {f"quick-{number}" for number in range(20)} <= names
    assert daemon.call("job.profile", job_id="done")["exit_code"] == 4
    asked = time.time()
    assert daemon.stop() == 0
    assert daemon.rows("SELECT max(timestamp) AS last FROM snapshots")[0]["last"] > asked, "with grace there is one"
