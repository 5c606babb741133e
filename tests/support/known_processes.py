"""Processes of a known kind, started for whoever a runner runs as."""

import json
import os
import pathlib
import subprocess

from support.processes import stat_fields, wait_until
from support.records import strict_json


class Shell:
    """A shell that starts processes when it is told to, so that they are its children and not ours."""

    def __init__(self, runner, env=None):
        self.process = subprocess.Popen([*runner.wrapper, "sh"], cwd=runner.cwd, env=runner.environment(env), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = int(self.ask("echo $$"))

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        """One line that the shell's command prints."""
        self.tell(line)
        return self.process.stdout.readline().strip()

    def start(self, command):
        """Starts a command in the background and returns its pid."""
        return int(self.ask(f"{command} > /dev/null & echo $!"))

    def run(self, command):
        """Runs a command to its end and returns its exit status, as a shell has it."""
        return int(self.ask(f"{command} > /dev/null; echo $?"))

    def reap(self, pid):
        """Waits for a process that it started; the exit status as a shell has it."""
        return int(self.ask(f"wait {pid} 2> /dev/null; echo $?"))

    def cpu_seconds(self):
        """Of it and of all that it has waited for, as the kernel counts it."""
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)


KNOWN_CHILD = """
import threading, time
held = [open("/dev/null") for _ in range(7)]
memory = bytearray(b"x") * (64 << 20)
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""


def start_known_child(runner):
    """A child of ours that sleeps with 64 MiB, four threads and seven files more than usual. Returns its pid."""
    child = subprocess.Popen([*runner.wrapper, "/usr/bin/python3", "-c", KNOWN_CHILD], cwd=runner.cwd,
                             env=runner.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    wait_until(lambda: stat_fields(child.pid)[0] == "S", what="a sleeping child")
    return child


def start_child(runner, *command, **how):
    """A child of ours, as the runner's user. It keeps its pid through setpriv's exec."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **how}
    child = subprocess.Popen([*runner.wrapper, *command], cwd=runner.cwd, env=runner.environment(), **how)
    name = os.path.basename(command[0])[:15]
    comm = pathlib.Path(f"/proc/{child.pid}/comm")
    wait_until(lambda: comm.read_text(encoding="utf-8").strip() == name, what=f"exec of {name}")
    return child


def ended_pid():
    """The number of a process that has ended and was waited for. It is nobody's: its group, in which another sleeps, keeps
    it. (Beside a fork storm a number comes round within seconds.)"""
    child = subprocess.Popen(["sh", "-c", "sleep 600 & exit"], stdin=subprocess.DEVNULL, start_new_session=True)
    assert child.wait() == 0
    return child.pid


def in_child_as(uid, action):
    """Runs action() in a forked child that is another user for good; returns what it returned (JSON)."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.write(writing, json.dumps(action()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return strict_json(data)
