"""Tests send signals to their own processes only: the pid of one that has ended may be another process's."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

from support import processes

TESTS = pathlib.Path(__file__).resolve().parents[1]


def test_only_a_process_below_this_one_gets_a_signal():
    below = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait $!"], stdout=subprocess.PIPE)
    grandchild = int(below.stdout.readline())
    with pytest.raises(ProcessLookupError, match="not a process of these tests"):
        processes.send_signal(os.getppid(), signal.SIGCONT)
    processes.send_signal(grandchild, signal.SIGKILL)
    assert below.wait(60) == 128 + signal.SIGKILL
    below.stdout.close()
    with pytest.raises(ProcessLookupError):
        processes.send_signal(grandchild, signal.SIGKILL)


def test_no_test_sends_a_signal_to_a_bare_pid():
    """But for the burner, to a child that it has not waited for."""
    found = {path.name for path in TESTS.rglob("*.py") if re.search(r"^[^#\"]*\bos\.kill\(", path.read_text(), re.M)}
    assert found == {"burner.py"}
