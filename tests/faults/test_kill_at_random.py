"""metron run, killed at random moments: no command is harmed, and once the next run has swept, nothing is left.

METRON_KILLS  how often in all (60; `make soak`: 1,000)
"""

import contextlib
import os
import random
import time

import pytest

from support import cgroups, kernel_events, processes
from support.harm import Effects, Pipes, expect_same
from support.processes import wait_until

KILLS = int(os.environ.get("METRON_KILLS", "60"))
STEPS = ("ready say one write one pause 0.01 child lines 100 pause 0.01 say two grow large pause 0.01 child lines 100"
         " pause 0.01 say three write three exit 7").split()
# {how metron is run: whether by an ordinary user, and its options}. An ordinary user's calls are counted by strace.
WAYS = {
    "root": (False, ""),
    "user": (True, ""),
    "pty": (False, "--pty"),
    "bpf": (False, "--events bpf"),
    "strace": (True, "--syscalls summary --events off"),
}


class Rounds:
    """Runs of the witness in one way, each in its own folder."""

    def __init__(self, runner, args, inside):
        self.runner, self.args, self.inside = runner, args, inside
        self.count = 0
        self.seconds_before = 0.0  # how long it took until a command began
        self.objects = set()  # the BPF objects of metrons that were killed

    def run(self, kill_after=None, begun=False):
        """One run, killed so many seconds after its start, or after its command has begun. Returns the effects of the
        command, but for its exit code."""
        start = time.monotonic()
        self.count += 1
        folder = self.runner.cwd / str(self.count)
        folder.mkdir()
        os.chown(folder, self.runner.cwd.stat().st_uid, -1)
        command = [self.runner.workload("witness"), folder, *STEPS]
        line = self.runner.command_line(f"-q {self.args}", command, prefix=None, outer=self.inside)
        pipes = Pipes(line, self.runner.cwd, self.runner.environment())
        if begun:
            wait_until(lambda: (folder / "ready").exists() or pipes.process.poll() is not None, what="the command")
            self.seconds_before = time.monotonic() - start
        if kill_after is not None:
            time.sleep(kill_after)  # any moment will do
            self.note_objects(pipes.process.pid)
            pipes.process.kill()
        pipes.process.wait(60)
        pipes.drain()
        processes.expect_none_left()
        processes.end_leftovers()  # they are zombies
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "ready"}
        return Effects(None, pipes.seen, b"", files)

    def note_objects(self, metron):
        for pid in (metron, *processes.descendants(metron)):
            with contextlib.suppress(OSError):
                self.objects |= kernel_events.held_objects(pid)


@pytest.fixture
def place(programs):
    """Control groups in which no other metron makes leaves; None where none can be made."""
    made = cgroups.Groups(programs)
    yield made.everywhere() if cgroups.why_no_leaf() is None else None
    processes.end_leftovers()
    made.remove()


@pytest.mark.parametrize("way", WAYS)
def test_killed_at_random(request, place, way):
    by_user, args = WAYS[way]
    runner = request.getfixturevalue("run_as_user" if by_user else "run_metron")
    if "bpf" in args:
        kernel_events.need(runner)
    if "--syscalls" in args:
        kernel_events.need_program("strace")
    rounds = Rounds(runner, args, place.inside if place else ())
    start = time.monotonic()
    whole = rounds.run(begun=True)
    before, after = 1.5 * rounds.seconds_before, time.monotonic() - start - rounds.seconds_before
    assert whole.files.keys() == {"one", "child", "large", "three"}
    kills, chance = max(1, KILLS // len(WAYS)), random.Random(way)
    begun, harmed = 0, []
    for kill in range(kills):
        early = kill % 2 == 1
        effects = rounds.run(chance.uniform(0, before if early else after), begun=not early)
        if effects.files or effects.out:
            begun += 1
            harmed += [effects] if effects != whole else []
    print(f"\n{way}: {kills} kills, {begun} of the commands had begun, {len(harmed)} were harmed")
    assert runner("-q", ["true"], prefix=None, outer=rounds.inside).returncode == 0
    assert not place or place.subgroups() == []
    assert not rounds.objects or not kernel_events.living_objects(rounds.objects)
    for effects in harmed:
        expect_same(effects, whole)
