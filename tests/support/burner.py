"""A process that uses CPU only when it is asked to, so that what it has used is known from the kernel.

Run as a program it reads lines from stdin: "burn S" uses S seconds of CPU itself; "child S" has a child use them and
waits for its end; "start S" has a child use them and leaves it sleeping; "kill" ends that child and waits for it;
"grandchild S" is "start S" of a child's child, and "leave" has its parent exit, so that it becomes an orphan. Each is
answered with a line: the pid of the process.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def spend_and_sleep(seconds, done):
    burn(seconds)
    os.write(done, f"{os.getpid()}\n".encode())
    os.close(done)
    time.sleep(600)
    os._exit(0)


def start(seconds, by_another):
    """The pids of the process and of our child, which may be the same."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if not by_another or os.fork() == 0:
            spend_and_sleep(seconds, writing)
        os.close(writing)
        signal.pause()
    os.close(writing)
    with os.fdopen(reading) as answer:
        return int(answer.readline()), child


def spend_in_child(seconds):
    child = os.fork()
    if child == 0:
        burn(seconds)
        os._exit(0)
    os.waitpid(child, 0)
    return child


def main():
    last = child = 0
    for line in sys.stdin:
        word, *seconds = line.split()
        amount = float(seconds[0]) if seconds else 0
        answer = os.getpid()
        if word == "burn":
            burn(amount)
        elif word == "child":
            answer = spend_in_child(amount)
        elif word == "kill":
            os.kill(last, signal.SIGKILL)
            os.waitpid(last, 0)
        elif word == "leave":
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        else:
            last, child = start(amount, word == "grandchild")
            answer = last
        print(answer, flush=True)


class Burner:
    """One of them, as the runner's user."""

    def __init__(self, runner):
        # As text: another user may not read the clone, in somebody's home.
        program = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.process = subprocess.Popen([*runner.wrapper, sys.executable, "-c", program], cwd=runner.cwd,
                                        env=runner.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.pid = self.process.pid
        self.ask("burn 0")

    def ask(self, line):
        print(line, file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()


def own_cpu_seconds(pid):
    """What a process has used itself, by its own CPU clock."""
    return time.clock_gettime((~pid << 3) | 2)


def cpu_seconds(pid):
    """The same, and that of the children it has waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return own_cpu_seconds(pid) + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
