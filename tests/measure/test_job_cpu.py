"""A job's CPU is the kernel's own count, or is marked as a lower bound: however short it was, whoever ran the daemon,
and however its processes came to it.

Truth is a cgroup that only the job's command joins. Tolerance 1 %, or a kernel tick for short ones: `join` and the
shell before it use about a millisecond that one of both has not counted.
"""

import os
import pathlib
import subprocess

import pytest

from support import daemon_client as dc
from support.cgroups import why_no_leaf
from support.daemon_client import Daemon
from support.processes import wait_until
from support.users import ANOTHER_USER

TICK = 0.01
# Begins a command once it has been told to.
GATE = ["sh", "-c", 'echo; read go; exec "$@"', "sh"]
INTERVAL = 0.4
# By name: a workload, its arguments, and whether it lives until several snapshots have been taken.
LENGTHS = {
    "nothing": ("burn", ["0"], False),
    "50 ms": ("burn", ["0.05"], False),
    "children that nobody waits for": ("forkstorm", ["-n", "10", "8"], False),
    "children that are waited for": ("forkstorm", ["10", "8"], False),
    "several ticks": ("burn", ["0.15", "1", "-"], True),
}


class Bench:
    """Runs jobs of one daemon, each by one way, and compares."""

    def __init__(self, runner, daemon, cpu_truth, uid):
        self.runner, self.daemon, self.cpu_truth, self.uid = runner, daemon, cpu_truth, uid
        self.count, self.said = 0, pathlib.Path(runner.cwd) / "said"

    def metron(self, *words):
        return [*self.runner.wrapper, self.runner.binary, *words, "--socket", str(self.daemon.socket)]

    def run(self, line, is_held, env=None, begun=None):
        """Starts it and waits for its end; `begun` is called once it has said something, before it may go on."""
        with open(self.said, "wb") as said:
            process = subprocess.Popen(line, cwd=self.runner.cwd, env=self.runner.environment(env or {}),
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        if begun:
            process.stdout.readline()
            begun(process.pid)
            process.stdin.write(b"go\n")
            process.stdin.flush()
        if is_held:
            self.daemon.tops(3)
        process.stdin.close()
        process.stdout.close()
        assert process.wait(60) == 0, (line, self.said.read_text(encoding="utf-8"))

    def await_known(self, job):
        """A busy daemon may come to it when its command has gone, and then there is no such process."""
        def parts():
            return [part for each in self.daemon.call("job.list") if each["job_id"] == job
                    for part in (each, *each["sheets"])]
        wait_until(lambda: any("pid" in part for part in parts()), what="the job in the daemon")

    # ---- the ways in which processes come to a job ----

    def by_run(self, job, command, is_held, truth, *options):
        self.run([*truth.outer, *self.metron("run", "--job", job, "-q", "-p", f"{job}_", *options, "--fail-time", "0"),
                  "--", *GATE, *command], is_held, begun=lambda _: self.await_known(job))

    def by_inherited_run(self, job, command, is_held, truth):
        self.by_run(job, command, is_held, truth, "--cgroup", "inherited")

    def by_exec(self, job, command, is_held, truth):
        self.daemon.call("job.start", job_id=job)
        self.run([*truth.outer, *self.metron("job", "exec"), job, "1", "--", *GATE, *command], is_held,
                 begun=lambda _: self.await_known(job))
        self.daemon.call("job.finish", job_id=job, outcome="completed")

    def by_pid(self, job, command, is_held, truth):
        self.run([*truth.outer, *self.runner.wrapper, *GATE, *command], is_held,
                 begun=lambda pid: self.daemon.call("job.start", job_id=job, pid=pid))
        self.daemon.call("job.finish", job_id=job, outcome="completed")

    def by_variable(self, job, command, is_held, truth):
        self.daemon.call("job.start", job_id=job)
        self.run([*truth.outer, *self.runner.wrapper, *command], is_held, env={"METRON_JOB": job})
        self.daemon.call("job.finish", job_id=job, outcome="completed")

    def usage_by(self, way, length, version=None):
        """(what the job used as the daemon has it, what the kernel counted)."""
        workload, arguments, is_held = LENGTHS[length]
        truth = self.cpu_truth(as_user=self.uid is not None, version=version)
        self.count += 1
        job = f"cpu-{os.getpid()}-{self.count}"
        way(job, [*truth.join, self.runner.workload(workload), *arguments], is_held, truth)
        assert b"not told" not in self.said.read_bytes(), self.said.read_bytes()
        return self.daemon.call("job.status", job_id=job), truth.seconds()


def differences(job, truth, must_know):
    """What is wrong with the CPU of a job and of its sheets."""
    for usage in [job["usage"], *(sheet["usage"] for sheet in job["sheets"])]:
        allowed = max(TICK, 0.01 * truth)
        if "cpu_seconds" not in usage:
            assert "cpu_source" not in usage
            if must_know:
                yield f"nothing, not {truth}: {usage}"
            continue
        assert usage[usage["cpu_source"]] == usage["cpu_seconds"], "its source has the same number"
        is_low = usage.get("cpu_is_exact") is False
        if usage["cpu_seconds"] > truth + allowed:
            yield f"more than {truth}: {usage}"
        elif usage["cpu_seconds"] < truth - allowed and (must_know or not is_low):
            yield f"less than {truth}: {usage}"
        elif must_know == "exactly" and is_low:
            yield f"marked though it is known: {usage}"


@pytest.fixture(params=["root", "root, no events", "user", "user, no events"])
def bench(request, cpu_truth):
    is_root = request.param.startswith("root")
    if is_root and os.getuid() != 0:
        pytest.skip("not root")
    runner = request.getfixturevalue("run_metron" if is_root else "run_as_user")
    dc.need_daemon(runner)
    uid = ANOTHER_USER if not is_root and os.getuid() == 0 else None
    daemon = Daemon(runner, runner.cwd, uid)
    daemon.start(interval=INTERVAL, log_file="off", database="off",
                 env={"METRON_EVENTS": "off"} if "no events" in request.param else None)
    dc.await_method(daemon)  # else it may change within a job, and the daemon be too busy to answer a run
    yield Bench(runner, daemon, cpu_truth, uid)
    daemon.end()


@pytest.mark.parametrize("length", LENGTHS)
def test_a_jobs_cpu_is_the_kernels_count_or_is_marked(bench, length):
    hears_of_all = dc.hears_of_all(bench.daemon)
    sees_all = hears_of_all and bench.daemon.call("daemon.status")["processes_seen_by"] == "bpf"
    # An orphan that is found by its variable alone may have come from elsewhere, as far as the daemon knows.
    is_orphan_sure = hears_of_all or "nobody" not in length
    ways = [(bench.by_inherited_run, "exactly" if is_orphan_sure else "nearly"),
            # Who leaves and is waited for by nobody is not in what wait4 reports.
            (bench.by_exec, "nearly" if "nobody" not in length else None),
            (bench.by_pid, "exactly" if sees_all else None),
            (bench.by_variable, None)]
    wrong = []
    for way, must_know in ways:
        job, truth = bench.usage_by(way, length)
        wrong += [f"{way.__name__}: {what}" for what in differences(job, truth, must_know)]
    if not wrong and bench.uid is None and why_no_leaf() is None:
        job, truth = bench.usage_by(bench.by_run, length, version="v1")
        assert job["usage"]["cpu_source"] == "cgroup_cpu_seconds", job
        wrong += [f"own group: {what}" for what in differences(job, truth, "exactly")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_count_of_a_group_that_the_command_left_is_a_lower_bound(bench, length):
    """The command moves itself to another group of v2, whether or not a snapshot sees it there."""
    job, truth = bench.usage_by(bench.by_exec, length, version="v2")
    assert not list(differences(job, truth, "nearly" if "nobody" not in length else None))
