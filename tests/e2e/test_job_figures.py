"""What a job's runner reports of it at the end: how it ended, what it used, and what the daemon makes of that; and what
is known of a job from its start."""

import pytest

from support import daemon_client as dc
from support.daemon_client import expect_error, publish, run_job
from support.processes import wait_until


def listed(daemon, *words):
    return daemon.runner.metron(["job", "--socket", str(daemon.socket), *words]).stdout.decode()


def status(daemon, job):
    return daemon.call("job.status", job_id=job)


# ---- how it ended ----

def test_the_exit_code_of_a_job_is_shown_and_published(either):
    with either.client() as stream:
        stream.subscribe(events=["job.finished"], job_id="fails")
        assert run_job(either, "--job fails", ["sh", "-c", "exit 2"]).returncode == 2
        (finished,) = stream.events_until(lambda event: event["event"] == "job.finished")
    assert (finished["data"]["outcome"], finished["data"]["exit_code"]) == ("failed", 2)
    job = status(either, "fails")
    assert (job["status"], job["exit_code"]) == ("failed", 2)
    assert "failed (exit code 2)" in listed(either, "list")
    assert "failed (exit code 2)" in listed(either, "show", "fails")


def test_a_job_that_a_signal_ended_has_its_number(either):
    assert run_job(either, "--job killed --sheet 1", ["sh", "-c", "kill -TERM $$"]).returncode == 128 + 15
    job = status(either, "killed")
    assert job["signal_num"] == job["sheets"][0]["signal_num"] == 15
    assert "exit_code" not in job
    assert "failed (signal 15)" in listed(either, "list")


def test_the_end_of_a_sheet_carries_its_outcome(either):
    with either.client() as stream, either.client() as client:
        client.call("job.start", job_id="steps")
        stream.subscribe(events=["sheet.*"], job_id="steps")
        for number, command in enumerate((["true"], ["sh", "-c", "exit 7"]), start=1):
            either.runner.metron(["job", "exec", "--socket", str(either.socket), "steps", str(number), "--", *command])
        ends = [stream.events_until(lambda event: event["event"] != "sheet.started")[-1] for _ in range(2)]
    assert [(end["event"], end["data"]["exit_code"]) for end in ends] == [("sheet.completed", 0), ("sheet.failed", 7)]
    assert ends[0]["data"]["usage"]["cpu_source"] == "rusage_cpu_seconds"


def test_where_the_kernel_reports_exits_a_job_without_a_runner_has_its_exit_code(daemon):
    dc.need_exit_codes(daemon)
    shell = dc.Shell(daemon.runner)
    daemon.call("job.start", job_id="bare", pid=shell.pid)
    shell.process.stdin.close()
    shell.process.wait()
    wait_until(lambda: status(daemon, "bare").get("exit_code") == 0, what="its exit code")
    daemon.call("job.finish", job_id="bare", outcome="completed")
    assert status(daemon, "bare")["exit_code"] == 0


# ---- what it used ----

def test_a_job_between_two_snapshots_reports_no_zero_that_nobody_measured(start_either):
    daemon = start_either(interval=60, database="off", log_file="off")
    daemon.call("job.start", job_id="empty")
    daemon.call("job.finish", job_id="empty", outcome="completed")
    usage = status(daemon, "empty")["usage"]
    assert usage["spawned_is_exact"] is False
    assert not {"cpu_seconds", "cpu_source", "read_bytes", "peak_processes", "peak_rss_mb"} & set(usage), usage
    run = run_job(daemon, "--job short", ["sh", "-c", "for i in 1 2 3 4; do /bin/true; done; exit 3"])
    assert run.returncode == 3
    usage = status(daemon, "short")["usage"]
    assert usage["cpu_seconds"] > 0 and usage["unique_processes"] == usage["spawned"] + 1, usage
    if run.info["provenance"]["processes_seen_by"] == "listings":
        assert usage["spawned"] <= 4 and usage["spawned_is_exact"] is False, usage
    else:
        assert usage["spawned"] == 4, usage
    assert daemon.stop() == 0


def test_what_a_client_reports_replaces_a_lower_bound_and_is_named(either):
    with either.client() as client:
        client.call("job.start", job_id="told")
        publish(client, "sheet.started", "told", 1)
        publish(client, "sheet.completed", "told", 1,
                usage={"rusage_cpu_seconds": 2.5, "peak_rss_mb": 7, "spawned": 3, "spawned_is_exact": True})
        job = client.call("job.finish", job_id="told", outcome="failed", exit_code=9,
                          usage={"cpu_seconds": 3.5, "cpu_source": "proc_cpu_seconds"})
        sheet = job["sheets"][0]["usage"]
        assert (sheet["cpu_seconds"], sheet["cpu_source"]) == (2.5, "rusage_cpu_seconds")
        assert sheet["cpu_is_exact"] is False, "who was not waited for is not in it"
        assert (sheet["peak_rss_mb"], sheet["spawned"], sheet["spawned_is_exact"]) == (7, 3, True)
        assert (job["usage"]["cpu_seconds"], job["usage"]["cpu_source"]) == (3.5, "proc_cpu_seconds")
        assert "cpu_is_exact" not in job["usage"] and job["exit_code"] == 9


def test_a_job_used_at_least_what_its_sheets_did(either):
    with either.client() as client:
        client.call("job.start", job_id="sum")
        for number in (1, 2):
            publish(client, "sheet.started", "sum", number)
            publish(client, "sheet.completed", "sum", number, usage={"rusage_cpu_seconds": 2})
        publish(client, "sheet.started", "sum", 2)  # another try: its runner knows of that one alone
        publish(client, "sheet.completed", "sum", 2, usage={"rusage_cpu_seconds": 1})
        job = client.call("job.finish", job_id="sum", outcome="completed")
    assert [sheet["usage"]["cpu_seconds"] for sheet in job["sheets"]] == [2, 3]
    assert (job["usage"]["cpu_seconds"], job["usage"]["cpu_source"]) == (5, "sheets_cpu_seconds")
    assert job["usage"]["cpu_is_exact"] is False


def test_at_least_is_said_of_the_number_that_is_shown_first(either):
    with either.client() as client:
        client.call("job.start", job_id="low")
        publish(client, "sheet.started", "low", 1)
        publish(client, "sheet.completed", "low", 1, usage={"rusage_cpu_seconds": 0.03})
        job = client.call("job.finish", job_id="low", outcome="completed",
                          usage={"proc_cpu_seconds": 0.02, "cpu_is_exact": False})
    assert (job["usage"]["cpu_source"], job["usage"]["cpu_is_exact"]) == ("sheets_cpu_seconds", False)
    shown = [row.strip() for row in listed(either, "show", "low").splitlines()]
    assert "cpu        20 ms of all its processes (proc_cpu_seconds)" in shown
    assert "at least 30 ms of all its sheets (sheets_cpu_seconds)" in shown


def test_a_runner_does_not_speak_for_those_it_did_not_start(either):
    with either.client() as client:
        shell = dc.job_shell(either, "shared")
        other = dc.Shell(either.runner, {"METRON_JOB": "shared"})
        either.top_when(lambda snapshot: dc.process_in(snapshot, other.pid).get("job_id") == "shared",
                        what="the other one in the job")
        usage = client.call("job.finish", job_id="shared", outcome="completed",
                            usage={"proc_cpu_seconds": 5, "spawned": 7, "spawned_is_exact": True})["usage"]
    assert (usage["cpu_seconds"], usage["cpu_is_exact"], usage["spawned_is_exact"]) == (5, False, False)
    shell.end()
    other.end()


def test_a_report_is_not_added_to_what_was_seen_before_a_restart(start_daemon):
    daemon = start_daemon(interval=0.3, log_file="off")
    shell = dc.job_shell(daemon, "again")
    publish(daemon, "sheet.started", "again", 1, pid=shell.pid)
    shell.run(f"{daemon.runner.workload('burn')} 0.1")
    daemon.top_when(lambda snapshot: status(daemon, "again")["usage"].get("cpu_seconds", 0) > 0.09, what="its CPU")
    assert daemon.stop() == 0
    daemon = start_daemon(interval=0.3, log_file="off")
    publish(daemon, "sheet.completed", "again", 1, usage={"proc_cpu_seconds": 0.9})
    job = status(daemon, "again")
    assert job["sheets"][0]["usage"]["cpu_seconds"] == 0.9
    assert job["usage"]["cpu_seconds"] == 0.9, "at least what its sheet used"
    shell.end()
    assert daemon.stop() == 0


@pytest.mark.parametrize("usage", [
    [], 3, {"proc_cpu_seconds": -1}, {"proc_cpu_seconds": "1"}, {"spawned": 1.5}, {"spawned_is_exact": 1},
    {"cpu_seconds": 1}, {"cpu_seconds": 1, "cpu_source": "a guess"}, {"peak_rss_mb": 1e300}], ids=str)
def test_what_cannot_have_been_measured_is_refused(daemon, usage):
    with daemon.client() as client:
        client.call("job.start", job_id="refused")
        publish(client, "sheet.started", "refused", 1)
        expect_error(client, -32602, "job.finish", job_id="refused", outcome="completed", usage=usage)
        expect_error(client, -32602, "event.publish", event="sheet.completed", job_id="refused", sheet_num=1,
                     data={"usage": usage})
        expect_error(client, -32602, "job.finish", job_id="refused", outcome="failed", exit_code=256)
        job = client.call("job.status", job_id="refused")
        assert job["status"] == job["sheets"][0]["status"] == "running"
        client.call("job.finish", job_id="refused", outcome="completed")


def test_what_was_reported_is_in_the_history(start_daemon):
    daemon = start_daemon(interval=60, log_file="off")
    # Larger than metron, or its ru_maxrss may be what it inherited, and is absent.
    command = ["/usr/bin/python3", "-c", "bytearray(200 << 20); raise SystemExit(5)"]
    assert run_job(daemon, "--job kept --sheet 1", command).returncode == 5
    before = status(daemon, "kept")
    assert daemon.stop() == 0
    daemon = start_daemon(interval=60, log_file="off")
    profile = daemon.call("job.profile", job_id="kept")
    for key in ("cpu_seconds", "cpu_source", "rusage_max_rss_mb", "unique_processes"):
        assert key in profile and profile[key] == before["usage"].get(key), (key, profile, before)
    assert (profile["exit_code"], profile["wall_seconds"]) == (before["exit_code"], before["wall_seconds"])
    assert profile["sheets"][0]["exit_code"] == 5
    assert daemon.stop() == 0


def test_in_a_history_of_jobs_each_birth_that_is_counted_is_an_event(start_daemon):
    """Also of a process that was found to be the job's by its variable, after its birth had been reported."""
    daemon = start_daemon(interval=0.3, watch="jobs", log_file="off")
    dc.need_exit_codes(daemon)
    daemon.call("job.start", job_id="births")
    shell = dc.Shell(daemon.runner, {"METRON_JOB": "births"})
    pids = {shell.pid, *(shell.start("sleep 600") for _ in range(3))}
    daemon.top_when(lambda snapshot: {each["pid"] for each in snapshot["processes"]} == pids, what="all four")
    events = daemon.call("daemon.events", limit=200)["events"]
    assert status(daemon, "births")["usage"]["spawned"] == 4
    assert {event["pid"] for event in events if event["event_type"] == "spawn"} == pids
    shell.end()


# ---- what is known of it from its start ----

def test_a_run_passes_on_what_it_knows_of_its_job(either):
    assert run_job(either, "--job labelled --sheet 2 --config-hash c0ffee --total-sheets 5", ["true"]).returncode == 0
    job = status(either, "labelled")
    assert (job["config_hash"], job["total_sheets"]) == ("c0ffee", 5)
    assert job["workspace"] == str(either.runner.cwd), "where it was started"


def test_job_start_takes_what_job_list_shows(either):
    listed(either, "start", "--config-hash", "77ab", "--total-sheets", "3", "--workspace", "/data", "by-hand")
    job = status(either, "by-hand")
    assert (job["config_hash"], job["total_sheets"], job["workspace"]) == ("77ab", 3, "/data")
    listed(either, "start", "here")
    assert status(either, "here")["workspace"] == str(either.runner.cwd)
    assert "total_sheets" not in status(either, "here")


def test_there_are_never_more_sheets_than_in_all(daemon):
    with daemon.client() as client:
        client.call("job.start", job_id="more", total_sheets=1)
        publish(client, "sheet.started", "more", 1)
        publish(client, "sheet.completed", "more", 1)
        assert client.call("job.status", job_id="more")["total_sheets"] == 1
        publish(client, "sheet.started", "more", 2)
        top = daemon.top_when(lambda snapshot: dc.progress_in(snapshot, "more").get("current_sheet") == 2)
        assert dc.progress_in(top, "more")["total_sheets"] == 2


# ---- what clients report ----

def end_sheet(client, job, usage):
    client.call("event.publish", event="sheet.started", job_id=job, sheet_num=1, data={})
    client.call("event.publish", event="sheet.completed", job_id=job, sheet_num=1, data={"usage": usage})


def test_exits_of_one_try_do_not_stand_for_all_tries(either):
    with either.client() as client:
        client.call("job.start", job_id="tries")
        end_sheet(client, "tries", {"exit_cpu_seconds": 3})
        assert status(either, "tries")["sheets"][0]["usage"]["cpu_source"] == "exit_cpu_seconds"
        end_sheet(client, "tries", {"rusage_cpu_seconds": 2})
    usage = status(either, "tries")["sheets"][0]["usage"]
    assert "exit_cpu_seconds" not in usage
    assert usage["cpu_seconds"] >= 2 and usage.get("cpu_is_exact") is False


def test_sums_of_reports_stay_numbers(either):
    with either.client() as client:
        client.call("job.start", job_id="large")
        for _ in range(3):
            end_sheet(client, "large", {"read_bytes": 2**53})
    assert status(either, "large")["sheets"][0]["usage"]["read_bytes"] == 2**53


@pytest.mark.parametrize("event", ["job.started", "job.finished"])
def test_only_the_daemon_says_that_a_job_began_or_ended(either, event):
    with either.client() as client:
        client.call("job.start", job_id="mine " + event)
        with pytest.raises(dc.RpcError, match="published by the daemon itself"):
            client.call("event.publish", event=event, job_id="mine " + event)
