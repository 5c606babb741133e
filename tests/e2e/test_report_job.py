"""metron report JOB: what names no run may be a job that the daemon knows."""

import re
import subprocess

from support import daemon_client as dc
from support.processes import wait_until
from support.records import strict_json


def report(daemon, *words, env=None, socket=None):
    runner = daemon.runner
    line = [*runner.wrapper, runner.binary, "report", *words, "--socket", str(socket or daemon.socket)]
    return subprocess.run(line, cwd=runner.cwd, env=runner.environment(env), capture_output=True, timeout=60,
                          check=False)


def finished_job(daemon, name):
    child = dc.start_child(daemon.runner, "sleep", "600")
    daemon.call("job.start", job_id=name, pid=child.pid)
    daemon.top_when(lambda top: dc.process_in(top, child.pid), what="the job's process")
    child.kill()
    child.wait()

    def has_ended():
        return "exit" in dc.types_of(daemon.call("daemon.events", job_id=name)["events"], child.pid)
    wait_until(has_ended, what="its end")
    daemon.call("job.finish", job_id=name, outcome="failed")
    daemon.wait_for_stored(daemon.tops(2)[-1]["timestamp"])  # a report counts the events that are stored


def test_the_report_of_a_job_is_that_of_the_socket(either):
    finished_job(either, "night")
    for words in (["night"], ["--job", "night"]):
        done = report(either, *words)
        assert done.returncode == 0 and not done.stderr, done
        assert done.stdout.decode() == either.call("job.report", job_id="night")["report"]
    assert "night" in done.stdout.decode() and "failed" in done.stdout.decode()
    narrow = report(either, "night", env={"COLUMNS": "80"}).stdout.decode()
    assert max(map(len, narrow.splitlines())) <= 80 and narrow.split() == done.stdout.decode().split()
    told = strict_json(report(either, "night", "--json").stdout)
    assert told["job_id"] == "night" and told["status"] == "failed"


def test_a_second_run_of_a_name_has_nothing_of_the_first(daemon):
    dc.need_exit_codes(daemon)
    finished_job(daemon, "night")
    assert re.search(r"killed +1 ", daemon.call("job.report", job_id="night")["report"])
    child = dc.start_child(daemon.runner, "sleep", "600")
    daemon.call("job.start", job_id="night", pid=child.pid)
    for _ in range(2):  # before it is stored, and after
        assert re.search(r"killed +0 ", daemon.call("job.report", job_id="night")["report"])
        daemon.tops(3)
    child.kill()
    child.wait()


def test_files_come_first_unless_the_job_is_asked_for(either):
    runner = either.runner
    finished_job(either, "night")
    done = subprocess.run([*runner.wrapper, runner.binary, "run", "--output-prefix", "night/", "--", "true"],
                          cwd=runner.cwd, env=runner.environment({"METRON_FAIL_TIME": "0"}), capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done
    job = either.call("job.report", job_id="night")["report"]
    of_files = report(either, "night/")
    assert of_files.returncode == 0 and of_files.stdout.decode() != job
    assert report(either, "--job", "night").stdout.decode() == job


def test_a_variable_in_the_environment_is_no_question(either):
    finished_job(either, "night")
    done = report(either, "nothing", env={"METRON_JOB": "night"})
    assert done.returncode == 1 and not done.stdout, done


def test_neither_a_run_nor_a_job_is_two_short_lines(either):
    for socket, reason in ((None, "there is no job 'nothing'"), (either.folder / "none.sock", "no daemon listens on")):
        done = report(either, "nothing", socket=socket)
        message = done.stderr.decode()
        assert done.returncode == 1 and not done.stdout, done
        no_run, no_job = message.splitlines()
        assert "there is no such run" in no_run and "daemon" not in no_run and reason in no_job, message
    both = report(either, "--job", "night", "nothing")
    assert both.returncode == 2 and b"one too many" in both.stderr
