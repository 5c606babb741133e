"""How many instructions a command takes: a cost that neither a busy machine nor a slow one changes."""

import re
import shutil
import subprocess

import pytest

COUNT = re.compile(r"^==(\d+)== I\s+refs:\s+([\d,]+)$", re.M)


def of_command(line, env):
    """Instructions of a command and of the programs that it becomes or starts, as valgrind counts them."""
    return sum(count for _, count in counted(line, env)[0])


def of_children(line, data):
    """Instructions of each child that a command prints the pid of, in that order. Each count begins with what the command
    itself had executed when it forked."""
    counts, printed = counted(line, None, data)
    by_pid = dict(counts)
    return [by_pid[int(pid)] for pid in printed.split()]


def counted(line, env, data=""):
    """([(pid, instructions)], what the command printed)."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is missing: instructions cannot be counted")
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                           "--trace-children=yes", *map(str, line)],
                          env=env, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counts = [(int(pid), int(count.replace(",", ""))) for pid, count in COUNT.findall(done.stderr)]
    assert counts, done.stderr
    return counts, done.stdout
