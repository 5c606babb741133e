"""A library that says it is NVIDIA's: tests/preload/fake_nvml.c under NVIDIA's name, in a folder of LD_LIBRARY_PATH.
What it answers is a file, which a test may change at any time."""

import os
import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "preload" / "fake_nvml.c"

BEGIN = "nvmlInitWithFlags 0\nnvmlDeviceGetCount_v2 0 {count}\n"
FIRST = """nvmlDeviceGetUtilizationRates/0 0 37 12
nvmlDeviceGetMemoryInfo_v2/0 0 3221225472 85899345920
nvmlDeviceGetTemperatureV/0 0 41
"""
SECOND = """nvmlDeviceGetMigMode/1 0 1 1
nvmlDeviceGetUtilizationRates/1 0 0
nvmlDeviceGetMemoryInfo_v2/1 0 536870912 42949672960
nvmlDeviceGetTemperatureV/1 0 30
"""
# The second one is divided (MIG): as a whole it has no utilization.
TWO = BEGIN.format(count=2) + FIRST + SECOND


def build(folder):
    """Compiles the stand-in."""
    subprocess.run([*os.environ.get("CC", "cc").split(), "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-pthread",
                    "-Wl,-soname,libnvidia-ml.so.1", "-o", f"{folder}/libnvidia-ml.so.1", SOURCE], check=True)


class FakeDriver:
    """The stand-in, and the environment in which metron finds it."""

    def __init__(self, folder, library):
        self.script = folder / "nvml"
        self.environment = {"LD_LIBRARY_PATH": str(library), "FAKE_NVML": str(self.script),
                            "METRON_TEST_GPU_DEVICE": str(self.script)}

    def says(self, text):
        """What the library answers from now on."""
        new = self.script.with_suffix(".new")
        new.write_text(text, encoding="ascii")
        new.chmod(0o644)
        new.rename(self.script)


def threads(pid):
    """The names of a process's threads."""
    return [path.read_text(encoding="utf-8").strip() for path in pathlib.Path(f"/proc/{pid}/task").glob("*/comm")]


def smi(*columns):
    """What the real nvidia-smi prints, a list of words for each device."""
    done = subprocess.run(["nvidia-smi", "--query-gpu=" + ",".join(columns), "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, timeout=60, check=True)
    return [[word.strip() for word in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
