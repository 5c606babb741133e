"""GPUs in the daemon's snapshots: from a library that says it is NVIDIA's, and from the real one where there is one.

Each test starts a daemon of its own.
"""

import ctypes.util
import json
import os
import shutil
import signal
import time

import pytest

from support import daemon_client as dc
from support.daemon_client import Daemon
from support.nvml import BEGIN, TWO, FakeDriver, smi, threads
from support.users import ANOTHER_USER

pytestmark = pytest.mark.threads

# The second one is divided (MIG): as a whole it has no utilization.
TWO_GPUS = [{"index": 0, "utilization_pct": 37, "memory_used_mb": 3072, "memory_total_mb": 81920, "temperature_c": 41},
            {"index": 1, "memory_used_mb": 512, "memory_total_mb": 40960, "temperature_c": 30}]


class Machine(FakeDriver):
    """A daemon in a world with the stand-in."""

    def __init__(self, runner, library, uid=None):
        super().__init__(runner.cwd, library)
        self.daemon = Daemon(runner, runner.cwd, uid)
        self.runner = runner

    def start(self, text, **settings):
        self.says(text)
        return self.daemon.start(env=self.environment, **settings)

    def gpus_when(self, condition):
        return self.daemon.top_when(lambda top: condition(top.get("gpus")), what="the GPUs")


@pytest.fixture(params=["caller", "ordinary-user"])
def machine(request, library):
    as_user = request.param == "ordinary-user"
    runner = request.getfixturevalue("run_as_user" if as_user else "run_metron")
    dc.need_daemon(runner)
    made = Machine(runner, library, ANOTHER_USER if as_user and os.getuid() == 0 else None)
    yield made
    made.daemon.end()


@pytest.fixture
def own_machine(run_metron, library):
    dc.need_daemon(run_metron)
    made = Machine(run_metron, library)
    yield made
    made.daemon.end()


# ---- what is told ----

def test_socket_log_and_database_have_what_the_library_says(machine):
    daemon = machine.start(TWO)
    top = machine.gpus_when(lambda gpus: gpus is not None)
    dc.check_snapshot(top)
    assert top["gpus"] == TWO_GPUS
    daemon.wait_for_stored(top["timestamp"])
    row = daemon.rows("SELECT * FROM snapshots WHERE gpu_count IS NOT NULL ORDER BY id DESC LIMIT 1")[0]
    assert row["gpu_count"] == 2
    assert json.loads(row["gpu_utilization_pct"]) == [37], "the device without the value is left out"
    assert json.loads(row["gpu_memory_used_mb"]) == [3072, 512]
    assert json.loads(row["gpu_temperature"]) == [41, 30]
    assert daemon.stop() == 0
    assert [line["gpus"] for line in dc.read_log(daemon.log_file) if "gpus" in line][-1] == TWO_GPUS
    assert daemon.said().count("MIG is on") == 1, daemon.said()


def test_library_without_devices_is_an_empty_list(own_machine):
    daemon = own_machine.start(BEGIN.format(count=0))
    top = own_machine.gpus_when(lambda gpus: gpus is not None)
    assert top["gpus"] == []
    daemon.wait_for_stored(top["timestamp"])
    row = daemon.rows("SELECT * FROM snapshots ORDER BY id DESC LIMIT 1")[0]
    assert row["gpu_count"] == 0
    assert row["gpu_utilization_pct"] is None and row["gpu_temperature"] is None


@pytest.mark.parametrize("text, settings, why", [
    ("nvmlInitWithFlags 9\n", {}, "the NVIDIA driver: Driver Not Loaded"),
    (TWO, {"gpu_enabled": "no"}, None),
])
def test_what_is_not_measured_is_absent(own_machine, text, settings, why):
    own_machine.environment |= {"METRON_" + name.upper(): value for name, value in settings.items()}
    daemon = own_machine.start(text)
    tops = daemon.tops(5)
    assert not any("gpus" in top for top in tops)
    daemon.wait_for_stored(tops[-1]["timestamp"])
    assert daemon.rows("SELECT count(gpu_count) AS n FROM snapshots")[0]["n"] == 0
    assert ("metron-gpu" in threads(daemon.pid)) == (not settings)
    assert daemon.said().count("GPUs") == (1 if why else 0), daemon.said()
    assert why is None or why in daemon.said()


def test_without_a_library_there_is_no_thread(own_machine):
    if shutil.which("nvidia-smi") or ctypes.util.find_library("nvidia-ml"):
        pytest.skip("this machine has NVIDIA's library")
    own_machine.environment = {}
    daemon = own_machine.start(TWO)
    assert not any("gpus" in top for top in daemon.tops(3))
    assert "metron-gpu" not in threads(daemon.pid)
    assert "GPU" not in daemon.said()


def test_gpu_that_is_lost_keeps_its_place_and_is_told_once(own_machine):
    daemon = own_machine.start(TWO)
    own_machine.gpus_when(lambda gpus: gpus == TWO_GPUS)
    own_machine.says("nvmlDeviceGetHandleByIndex_v2/0 15\n" + TWO)
    top = own_machine.gpus_when(lambda gpus: gpus is not None and "temperature_c" not in gpus[0])
    assert top["gpus"] == [{"index": 0}, TWO_GPUS[1]]
    daemon.tops(5)
    assert daemon.said().count("GPU 0 cannot be read (GPU is lost)") == 1, daemon.said()
    own_machine.says(TWO)
    own_machine.gpus_when(lambda gpus: gpus == TWO_GPUS)


# ---- a driver that blocks ----

def test_ticks_are_kept_while_the_driver_blocks(own_machine):
    daemon = own_machine.start(TWO)
    own_machine.gpus_when(lambda gpus: gpus == TWO_GPUS)
    own_machine.says("sleep nvmlDeviceGetUtilizationRates/0 600\n" + TWO)
    own_machine.gpus_when(lambda gpus: gpus is None)  # too old to be told
    tops = daemon.tops(10)
    assert not any("gpus" in one for one in tops), "it was blocked all the while"
    own_machine.says(TWO)
    own_machine.gpus_when(lambda gpus: gpus == TWO_GPUS)
    assert daemon.said().count("does not answer") == 1, daemon.said()


def test_daemon_ends_while_the_driver_blocks(own_machine):
    """Its library waits, at an ordinary exit, for the call that is under way."""
    daemon = own_machine.start("sleep nvmlDeviceGetTemperatureV/0 600\n" + TWO)
    daemon.tops(3)
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.wait() == 0, "long before the driver answers"
    assert not daemon.socket.exists()
    assert dc.read_log(daemon.log_file)


# ---- doctor ----

def test_doctor_says_what_is_there_and_why_not(own_machine):
    own_machine.says("nvmlDeviceGetHandleByIndex_v2/2 15\n" + TWO.replace("Count_v2 0 2", "Count_v2 0 3"))
    done = own_machine.runner.metron("doctor", env=own_machine.environment | {"COLUMNS": "300"})
    text = done.stdout.decode()
    assert "3, by libnvidia-ml.so.1; runs and the daemon read them" in text, text
    assert "37 % busy, 3 GiB of 80 GiB used, 41 °C" in text, text
    assert "no utilization (MIG is on: only its instances have one)" in text
    assert "cannot be read: GPU is lost" in text
    own_machine.says("nvmlInitWithFlags 9\n")
    done = own_machine.runner.metron("doctor", env=own_machine.environment)
    assert "the NVIDIA driver: Driver Not Loaded" in " ".join(done.stdout.decode().split()), done


def test_doctor_does_not_wait_for_a_stuck_driver_for_ever(own_machine):
    own_machine.says("sleep nvmlDeviceGetTemperatureV/0 600\n" + TWO)
    done = own_machine.runner.metron("doctor", env=own_machine.environment)
    assert done.returncode == 0, done
    assert "does not answer" in " ".join(done.stdout.decode().split())


# ---- the real one ----

def test_real_gpus_are_as_nvidia_smi_has_them(run_metron):
    if shutil.which("nvidia-smi") is None:
        pytest.skip("there is no nvidia-smi on this machine")
    dc.need_daemon(run_metron)
    daemon = Daemon(run_metron, run_metron.cwd).start()
    try:
        top = daemon.top_when(lambda snapshot: "gpus" in snapshot, what="the GPUs")
        before = smi("index", "memory.used", "memory.total", "temperature.gpu", "utilization.gpu")
        assert [gpu["index"] for gpu in top["gpus"]] == [int(row[0]) for row in before]
        # Between two looks of nvidia-smi the daemon's lies, with room for what happens in between.
        top = daemon.top_when(lambda snapshot: snapshot["timestamp"] > time.time() - 0.5 and "gpus" in snapshot)
        after = smi("index", "memory.used", "memory.total", "temperature.gpu", "utilization.gpu")
        for gpu, first, last in zip(top["gpus"], before, after):
            print("metron", gpu, "nvidia-smi", first, last)
            for name, column, room in (("memory_used_mb", 1, 64), ("memory_total_mb", 2, 1), ("temperature_c", 3, 3)):
                told = [row[column] for row in (first, last)]
                if not all(word.isdigit() for word in told):
                    assert name not in gpu
                    continue
                low, high = sorted(map(int, told))
                assert low - room <= gpu[name] <= high + room, name
            assert ("utilization_pct" in gpu) == first[4].isdigit()
            assert 0 <= gpu.get("utilization_pct", 0) <= 100
    finally:
        daemon.end()
