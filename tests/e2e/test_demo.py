"""What `make demo` shows to a newcomer."""

import pathlib
import subprocess

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def test_the_demo_shows_what_its_workload_used(run_metron):
    done = subprocess.run([SCRIPTS / "demo", run_metron.binary], cwd=run_metron.cwd, capture_output=True, text=True,
                          env=run_metron.environment({"METRON_OUTPUT_PREFIX": f"{run_metron.cwd}/demo_"}), timeout=600,
                          check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "compiling" in done.stdout and "\ndone\n" in done.stdout
    for word in ("cpu", "memory", "processes"):
        assert f"\n  {word} " in done.stdout + done.stderr
