"""How many instructions a command takes: a cost that neither a busy machine nor a slow one changes."""

import re
import shutil
import subprocess

import pytest

COUNT = re.compile(r"^==\d+== I\s+refs:\s+([\d,]+)$", re.M)


def of_command(line, env):
    """Instructions of a command and of the programs that it becomes or starts, as valgrind counts them."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is missing: instructions cannot be counted")
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                           "--trace-children=yes", *map(str, line)],
                          env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counts = [int(count.replace(",", "")) for count in COUNT.findall(done.stderr)]
    assert counts, done.stderr
    return sum(counts)
