"""Kernel events and counts of system calls when something goes wrong: metron is killed, its helpers are, a tool is
missing, somebody else is in the way. Nothing is left behind, the command is never harmed, and what could not be had is
told in one line."""

import datetime
import os
import pathlib
import re
import signal
import stat
import subprocess
import time

import pytest

from support import cgroups, kernel_events, processes, records
from support.kernel_events import of_kind
from support.kernel_values import forks
from support.processes import file_lines, wait_until

UNSEEN = "--capture-outputs none"  # the command's output is not metron's: it goes on without metron


def tracer(pid):
    found = re.search(r"^TracerPid:\t(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.M)
    return int(found.group(1))


def helpers_of(pid, own):
    """Descendants of metron that are none of the command's: {pid: name}."""
    return {child: name for child, name in processes.named_descendants(pid).items() if name not in own}


class Ticking:
    """A command that writes a line every 50 ms to a file of its own and, asked to end, one more, unless harmed."""

    def __init__(self, runner, args, **how):
        self.file = runner.cwd / "ticks"
        self.file.touch()
        self.leave = runner.cwd / "leave"
        script = (f"exec 3>>{self.file}; echo $$ >&3; while [ ! -e {self.leave} ]; do echo tick; echo tick >&3;"
                  " sleep 0.05; done; echo end >&3")
        self.started = runner.start(f"-q {UNSEEN} {args}", ["sh", "-c", script], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, **how)
        wait_until(lambda: len(file_lines(self.file)) > 4, what="the command at work")
        self.pid = int(file_lines(self.file)[0])

    def kill_metron(self):
        self.started.process.kill()
        self.started.process.wait()

    def expect_end(self):
        self.leave.touch()
        wait_until(lambda: file_lines(self.file)[-1:] == ["end"], what="the command's own end")


# ---- metron is killed ----

def all_kinds(objects):
    """Them, if there are some of every kind."""
    return objects if {kind for kind, _ in objects} == {"prog", "link", "map"} else None


@pytest.mark.parametrize("args", ["--events bpf", "--syscalls summary", ""],
                         ids=["bpf", "calls-by-bpf", "loaded-behind"])
def test_metron_killed_leaves_nothing_in_the_kernel(with_bpf, args):
    command = Ticking(with_bpf, args)
    objects = wait_until(lambda: all_kinds(kernel_events.held_objects(command.started.pid)),
                         what="programs, links and maps")
    assert kernel_events.living_objects(objects) == objects
    command.kill_metron()
    kernel_events.expect_gone(objects)  # so none was pinned either
    assert processes.alive(command.pid)
    command.expect_end()


def test_metron_killed_while_programs_are_loaded_takes_the_loader_along(with_bpf):
    """From the start of metron-bpf to its end, at moments that are not chosen."""
    for delay in (0.0, 0.004, 0.01, 0.02, 0.03):
        started = with_bpf.start("-q --events bpf --clobber", ["sleep", "600"], stdout=subprocess.DEVNULL)
        wait_until(lambda: helpers_of(started.pid, {"sleep", "metron"}) or started.path("info.json").exists(),
                   what="the loader")
        time.sleep(delay)  # any moment will do
        objects = kernel_events.held_objects(started.pid)
        helpers = helpers_of(started.pid, {"sleep", "metron"})
        for helper in helpers:
            try:
                objects |= kernel_events.held_objects(helper)
            except OSError:
                pass
        started.process.kill()
        started.finish(check=False)
        wait_until(lambda: not [pid for pid in helpers if processes.alive(pid)], what="the end of the loader")
        kernel_events.expect_gone(objects)
        processes.end_leftovers()


def test_metron_killed_leaves_no_strace(run_metron):
    kernel_events.need_program("strace")
    command = Ticking(run_metron, "--syscalls summary --events off")
    strace = tracer(command.pid)
    assert strace != 0
    # All that there is of strace below metron, not only the one that traces.
    helpers = {pid for pid, name in processes.named_descendants(command.started.pid).items() if "strace" in name}
    assert strace in helpers
    command.kill_metron()
    wait_until(lambda: not [pid for pid in helpers if processes.alive(pid)], what="the end of strace")
    assert tracer(command.pid) == 0 and processes.state(command.pid) not in ("T", "t")
    command.expect_end()


def test_metron_killed_frees_a_command_that_starts_programs_all_the_time(run_metron):
    """Whoever spawns waits until that has executed: strace that detaches just then stands still with both."""
    kernel_events.need_program("strace")
    for attempt in range(6):
        file = run_metron.cwd / f"count{attempt}"
        started = run_metron.start(f"-q {UNSEEN} --cgroup off --syscalls summary --events off",
                                   [run_metron.workload("spawner"), file, "60"], prefix=f"r{attempt}_")
        wait_until(lambda: file.exists() and file.read_bytes(), what="the command at work")
        time.sleep(0.006 * attempt)  # any moment will do
        started.process.kill()
        started.process.wait()
        before = file.read_bytes()
        wait_until(lambda: file.read_bytes() != before, what="the command going on")
        assert processes.end_leftovers() > 0


@pytest.mark.parametrize("args", ["--events bpf", "--syscalls summary --events off"], ids=["bpf", "strace"])
def test_the_next_run_sweeps_the_group_of_one_that_was_killed(with_bpf, args):
    cgroups.need_own_leaf(with_bpf)
    made = cgroups.Groups(with_bpf.programs)
    try:
        place = made.everywhere()
        command = Ticking(with_bpf, args, outer=place.inside)
        assert place.subgroups() != []
        left = set(place.subgroups())
        command.kill_metron()
        command.expect_end()
        wait_until(lambda: not processes.alive(command.pid), what="the command's end")
        assert left & set(place.subgroups()), "nobody was there to remove it"
        run = with_bpf("-q", ["true"], outer=place.inside, prefix="next_")
        assert run.returncode == 0
        assert not left & set(place.subgroups())
    finally:
        processes.end_leftovers()
        made.remove()


# ---- metron ends in an orderly way ----

@pytest.mark.parametrize("args", ["--events bpf", "--syscalls summary", "--syscalls summary --events off"])
def test_after_the_run_nothing_is_left(with_bpf, args):
    if "off" in args:
        kernel_events.need_program("strace")
    command = Ticking(with_bpf, args)
    objects = kernel_events.held_objects(command.started.pid)
    helpers = helpers_of(command.started.pid, {"sh", "sleep"})
    command.expect_end()
    run = command.started.finish()
    assert run.returncode == 0
    assert not [pid for pid in helpers if processes.alive(pid)]
    if objects:
        kernel_events.expect_gone(objects)


@pytest.mark.parametrize("events", ["bpf", "off"])
def test_a_survivor_of_a_counted_command_is_let_go(with_bpf, events):
    """The run ends with the command; what it leaves behind runs on, with no tracer."""
    if events == "off":
        kernel_events.need_program("strace")
    path = with_bpf.cwd / "pid"
    run = with_bpf(f"-q {UNSEEN} --syscalls summary --events {events}",
                   ["sh", "-c", f"sleep 600 & echo $! >{path}; exit 3"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    assert run.returncode == 3
    pid = int(path.read_text(encoding="utf-8"))
    assert processes.alive(pid) and tracer(pid) == 0 and processes.state(pid) == "S"
    assert run.info["syscalls"]["count"] > 0


def test_sigterm_to_metron_ends_a_counted_tree_with_counts(run_metron):
    kernel_events.need_program("strace")
    command = Ticking(run_metron, "--syscalls summary --events off")
    strace = tracer(command.pid)
    command.started.signal(signal.SIGTERM)
    run = command.started.finish()
    assert run.returncode == 143
    assert run.info["syscalls"]["method"] == "strace" and run.info["syscalls"]["count"] > 100
    assert not processes.alive(strace) and not processes.alive(command.pid)


# ---- what is in the way of counting ----

def not_counted(run, reason):
    """One line that says so, the run went on, and info.json has it."""
    assert run.returncode == 3, run
    assert re.search(reason, run.info["syscalls"]["reason"]), run.info["syscalls"]
    assert "method" not in run.info["syscalls"] and "count" not in run.info["syscalls"]
    assert "syscall_counts_total" not in run.summary
    lines = [line for line in run.message.splitlines() if "metron:" in line]
    assert len(lines) == 1 and "warning" in lines[0] and re.search(reason, lines[0]), run.message


ENDS = ["sh", "-c", "sleep 0.1; exit 3"]


def test_strace_missing_is_told(run_metron):
    """PATH has the command, and no strace."""
    folder = run_metron.cwd / "bin"
    folder.mkdir()
    for name in ("sh", "sleep"):
        (folder / name).symlink_to(f"/bin/{name}")
    run = run_metron("-q --syscalls summary --events off", ENDS, env={"PATH": str(folder)})
    not_counted(run, "strace is not installed")


def test_strace_broken_on_purpose_is_told(run_metron):
    not_counted(run_metron("-q --syscalls summary --break-readers bpf,strace", ENDS), "break-readers")


def test_strace_that_fails_is_told(run_metron):
    folder = run_metron.cwd / "bin"
    folder.mkdir()
    program = folder / "strace"
    program.write_text("#!/bin/sh\necho 'strace: no ptrace today' >&2\nexit 1\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    run = run_metron("-q --syscalls summary --events off", ENDS,
                     env={"PATH": f"{folder}:{os.environ['PATH']}"})
    not_counted(run, "strace")


@pytest.mark.parametrize("user", ["root", "ordinary"])
def test_a_command_that_is_traced_already_is_told(run_metron, run_as_user, user):
    """metron itself runs under strace -f: so does its child."""
    kernel_events.need_program("strace")
    runner = run_metron if user == "root" else run_as_user
    runner.wrapper += ["strace", "-f", "-qq", "-o", "/dev/null"]
    run = runner("-q --syscalls summary --events off", ENDS, env={"ASAN_OPTIONS": "detect_leaks=0"})
    not_counted(run, r"traced already, by process \d+ \(strace\)")


def test_ptrace_that_is_not_permitted_is_told(run_as_user):
    """metron has privileges from its file, and with it its child before it executes the command: a strace that has none
    may not trace it."""
    kernel_events.need_program("strace")
    setcap = kernel_events.need_program("setcap")
    if os.getuid() != 0:
        pytest.skip("only root may give a file capabilities")
    binary = run_as_user.cwd.parent / "metron"
    binary.write_bytes(pathlib.Path(run_as_user.binary).read_bytes())
    binary.chmod(0o755)
    subprocess.run([setcap, "cap_bpf,cap_perfmon=ep", str(binary)], check=True)
    run_as_user.binary = str(binary)
    not_counted(run_as_user("-q --syscalls summary --events off", ENDS), "may not be traced: the kernel refused")


def test_strace_killed_in_the_middle_leaves_what_it_had_counted_and_the_command_goes_on(run_metron):
    kernel_events.need_program("strace")
    started = run_metron.start("-q --syscalls summary --events off", ["sh", "-c", "echo $$; read line; sh -c :; exit 3"],
                               stdin=subprocess.PIPE)
    child = int(started.process.stdout.readline())
    strace = tracer(child)
    processes.send_signal(strace, signal.SIGKILL)
    wait_until(lambda: tracer(child) != strace, what="a shell without its tracer")
    run = started.finish(data=b"\n")
    assert run.returncode == 3, run
    calls, note = run.info["syscalls"], "strace was ended by signal 9: the calls after that are missing"
    assert (calls["method"], calls["bound"], calls["note"]) == ("strace", "lower", note) and "reason" not in calls
    assert calls["by_call"]["execve"]["count"] == run.summary["syscall_counts_total"]["execve"] == 1
    assert run.message == f"metron: warning: system calls: {note}\n"


# ---- what is in the way of the programs ----

def test_a_loader_that_fails_is_told(with_bpf, tmp_path):
    """--events bpf is refused in one line; by default nobody notices."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for name, text in (("metron", None), ("metron-bpf", "#!/bin/sh\nexit 1\n")):
        data = pathlib.Path(with_bpf.binary).read_bytes() if text is None else text.encode()
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o755)
    with_bpf.binary = str(folder / "metron")
    refused = with_bpf("--events bpf", ["true"], check=False, prefix="a_")
    assert refused.returncode == 1 and refused.message.count("\n") == 1 and "metron-bpf" in refused.message
    run = with_bpf("-q", ["sh", "-c", "sleep 3; exit 3"], prefix="b_")
    assert run.returncode == 3 and run.message == ""
    assert run.info["provenance"]["processes_seen_by"] in ("connector", "listings")
    assert run.summary["proc_spawned"] == 2


def test_a_loader_that_hangs_does_not_keep_the_run_from_ending(with_bpf, tmp_path):
    folder = tmp_path / "hanging"
    folder.mkdir()
    (folder / "metron").write_bytes(pathlib.Path(with_bpf.binary).read_bytes())
    (folder / "metron-bpf").write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o755)
    with_bpf.binary = str(folder / "metron")
    started = with_bpf.start("-q", ["sh", "-c", "read line; exit 3"], stdin=subprocess.PIPE)
    helpers = wait_until(lambda: [pid for pid, name in helpers_of(started.pid, {"sh"}).items() if name == "sleep"],
                         what="the loader")
    run = started.finish(data=b"\n")
    assert run.returncode == 3
    assert run.summary["proc_spawned"] == 1, "the loader is not part of the target"
    wait_until(lambda: not [pid for pid in helpers if processes.alive(pid)], what="the end of the loader")


def test_metron_without_a_loader_does_as_before(with_bpf, tmp_path):
    folder = tmp_path / "alone"
    folder.mkdir()
    (folder / "metron").write_bytes(pathlib.Path(with_bpf.binary).read_bytes())
    (folder / "metron").chmod(0o755)
    with_bpf.binary = str(folder / "metron")
    refused = with_bpf("--events bpf", ["true"], check=False, prefix="a_")
    assert refused.returncode == 1 and "metron-bpf is not installed" in refused.message
    run = with_bpf("-q", ["sh", "-c", "sleep 3; exit 3"], prefix="b_")
    assert run.returncode == 3 and run.message == ""
    assert "metron-bpf is not installed" in str(run.info["provenance"]["collectors"]["exit"])


def test_no_room_for_descriptors_is_no_harm(with_bpf):
    """Too few for the programs' descriptors: the run goes on without them, or says why it does not."""
    run = with_bpf("-q", ["sh", "-c", "sleep 3; exit 3"], outer=["sh", "-c", 'ulimit -n 64; exec "$0" "$@"'])
    assert run.returncode == 3
    assert run.summary["proc_spawned"] == 2


def test_metron_stopped_in_a_storm_loses_nothing_or_says_so(with_bpf):
    """The ring holds what nobody takes in for a while; beyond that, what is lost is counted."""
    storm = f"{with_bpf.workload('forkstorm')} 500 0"
    started = with_bpf.start("-q --events bpf --cgroup off",
                             ["sh", "-c", f"{storm}; touch begun; {storm}; touch stormed; {storm}; exit 0"])
    wait_until((started.cwd / "begun").exists, what="the storm")
    started.signal(signal.SIGSTOP)
    wait_until((started.cwd / "stormed").exists, what="the end of what comes while it is stopped")
    started.signal(signal.SIGCONT)
    run = started.finish()
    lost = run.info["provenance"].get("events_lost", 0)
    told = len(of_kind(run.events, "exit"))
    if lost == 0:
        assert run.summary["proc_spawned"] == run.summary["exit_processes"] == told == 1 + 3 * 501 + 2
    else:
        assert run.info["provenance"]["spawned_is_exact"] is False
        assert "exit_cpu_seconds_total" not in run.summary


def test_metron_stopped_in_a_storm_tells_how_much_the_connector_lost(run_metron):
    """The socket's queue has room for some ten thousand events; how many found none is told."""
    run_metron.need_events("connector")
    children, done = 12000, run_metron.cwd / "done"
    storm = [run_metron.workload("forkstorm"), str(children), "0"]
    # A gap shows in the next event of the same CPU, and while metron has not caught up that one is lost as well.
    cpus = sorted(os.sched_getaffinity(0))
    on_each_cpu = "; ".join(f"taskset -c {cpu} true" for cpu in cpus)
    started = run_metron.start("-q --events connector --cgroup off --sample-interval 0.1",
                               ["sh", "-c", f'touch begun; read go; "$@"; touch done; '
                                f'until [ -e enough ]; do {on_each_cpu}; sleep 0.05; done', "-", *storm],
                               stdin=subprocess.PIPE)
    wait_until((started.cwd / "begun").exists, what="the command")
    before = forks()
    started.signal(signal.SIGSTOP)
    started.process.stdin.write(b"\n")
    started.process.stdin.flush()
    wait_until(done.exists, 120, "the end of the storm")
    started.signal(signal.SIGCONT)
    over = done.stat().st_mtime

    def rounds_seen():
        """Each round has a birth and an end of `true` on each CPU, and of one `sleep`."""
        lines = started.path("events.jsonl").read_bytes().rpartition(b"\n")[0].splitlines()
        stamps = [datetime.datetime.fromisoformat(records.strict_json(line)["timestamp"]) for line in lines]
        return sum(stamp.timestamp() > over for stamp in stamps) / (2 * len(cpus) + 2)

    wait_until(lambda: rounds_seen() >= 3, what="events of every CPU after the storm")
    (started.cwd / "enough").touch()
    run = started.finish()
    assert run.returncode == 0
    assert run.info["provenance"]["processes_seen_by"] == "connector"
    assert run.info["provenance"]["spawned_is_exact"] is False
    unseen = children - run.summary["proc_spawned"]
    assert unseen > 0, "all of it had room: this proves nothing"
    # Each of them is two events. Others of the machine's may be among the lost ones: a birth, an exec, another name
    # or user, an end.
    assert 2 * unseen <= run.info["provenance"]["events_lost"] <= 6 * (forks() - before)


def test_a_storm_too_large_for_the_ring_is_told(with_bpf):
    """Stopped for so long that the ring is full: the loss is counted, and no total is there that would be too low."""
    # An exec takes up to 4 kB of the ring's 4 MiB: its arguments are in it.
    storm = f"i=0; while [ $i -lt 1300 ]; do /bin/true {'x' * 4000}; i=$((i+1)); done"
    started = with_bpf.start("-q --events bpf --cgroup off", ["sh", "-c", f"touch begun; {storm}; touch done; read go"],
                             stdin=subprocess.PIPE)
    wait_until((started.cwd / "begun").exists, what="the command")
    started.signal(signal.SIGSTOP)
    wait_until((started.cwd / "done").exists, 300, "the end of the storm")
    started.signal(signal.SIGCONT)
    run = started.finish(data=b"\n")
    count = 1 + 1300 + 2
    assert run.info["provenance"]["events_lost"] > 0
    assert run.info["provenance"]["spawned_is_exact"] is False
    assert run.summary["proc_spawned"] <= count
    assert not [key for key in run.summary if key.startswith("exit_") and key.endswith("_total")]
    assert run.info["headline"]["cpu_seconds"]["source"] != "exit_cpu_seconds_total"
