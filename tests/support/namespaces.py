"""Commands that run another command in a namespace, on machines where that is possible."""

import shutil
import subprocess

import pytest

OWN_PIDS = ["unshare", "--pid", "--fork", "--mount-proc"]


def through(prefix):
    """Skips unless this wrapper can run a command here."""
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"{prefix[0]} is missing")
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{' '.join(prefix)}: {done.stderr.decode().strip()}")
    return prefix
