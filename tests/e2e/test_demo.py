"""What `make demo` shows to a newcomer."""

import os
import pathlib
import shutil
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


@pytest.fixture
def quick(tmp_path):
    """The demo with fewer numbers and a compiler that only checks each file: enough to see that all of it works."""
    compiler = tmp_path / "bin" / "cc"
    compiler.parent.mkdir()
    compiler.write_text(f'#!/bin/sh\nexec {shutil.which("cc")} "$@" -O0 -fsyntax-only\n', encoding="utf-8")
    compiler.chmod(0o755)
    return {"PATH": f"{compiler.parent}:{os.environ['PATH']}", "METRON_DEMO_NUMBERS": "100000"}


def test_the_demo_shows_what_its_workload_used(run_metron, quick):
    done = subprocess.run([SCRIPTS / "demo", run_metron.binary], cwd=run_metron.cwd, capture_output=True, text=True,
                          env=run_metron.environment({"METRON_OUTPUT_PREFIX": f"{run_metron.cwd}/demo_", **quick}),
                          timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "compiling" in done.stdout and "\ndone\n" in done.stdout
    for word in ("cpu", "memory", "processes"):
        assert f"\n  {word} " in done.stdout + done.stderr
