"""GPUs in runs: from a library that says it is NVIDIA's, and from the real one where there is one."""

import pathlib
import shutil
import subprocess

import pytest

from support.held import await_record
from support.nvml import BEGIN, FIRST, TWO, FakeDriver, smi, threads
from support.processes import wait_until

pytestmark = pytest.mark.threads

OFTEN = "--sample-interval 0.05 --report-interval 0.2"
KEYS = {"gpu_util", "gpu_mem_used", "gpu_mem_total", "gpu_temp", "gpu_power", "gpu_energy"}
POWER = "nvmlDeviceGetPowerUsage/0 0 61500\nnvmlDeviceGetTotalEnergyConsumption/0 0 {millijoules}\n"
ALL = TWO + POWER.format(millijoules=5000000)


@pytest.fixture
def driver(run_metron, library):
    return FakeDriver(run_metron.cwd, library)


def values(run, key):
    return [record["measurements"][key] for record in run.usage if key in record["measurements"]]


def keys(run):
    found = set().union(*(record["measurements"] for record in run.usage), run.summary)
    return {key for key in found if key.startswith("gpu_")}


def collector(run):
    return run.info["provenance"]["collectors"]["gpu"]


def test_records_and_summary_have_what_the_library_says(run_metron, driver):
    driver.says(ALL)
    started = run_metron.start(OFTEN, "cat", env=driver.environment, stdin=subprocess.PIPE)
    last = await_record(started, lambda values: KEYS <= values.keys(), "a record with all")["measurements"]
    run = started.finish()
    assert run.returncode == 0 and "GPU" not in run.message
    assert last["gpu_util"] == {"0": 37}, "one that is divided has none"
    assert last["gpu_mem_used"] == {"0": 3 << 30, "1": 1 << 29}
    assert last["gpu_mem_total"] == {"0": 80 << 30, "1": 40 << 30}
    assert last["gpu_temp"] == {"0": 41, "1": 30}
    assert last["gpu_power"] == {"0": 61.5}
    assert last["gpu_energy"] == {"0": 0}
    assert run.summary["gpu_peak_util"] == run.summary["gpu_ave_util"] == {"0": 37}
    assert run.summary["gpu_peak_mem_used"] == {"0": 3 << 30, "1": 1 << 29}
    assert run.summary["gpu_energy"] == {"0": 0}
    registered = run.info["provenance"]["measurements"]
    assert {key for key in registered if key.startswith("gpu_")} == KEYS
    assert {registered[key]["scope"] for key in KEYS} == {"per_device"}
    assert collector(run) == {"available": True}


def test_energy_is_what_was_used_up_to_the_end(run_metron, driver):
    driver.says(ALL)
    later = driver.script.with_suffix(".later")
    later.write_text(TWO + POWER.format(millijoules=5250500), encoding="ascii")
    command = f"while ! grep -q gpu_energy run_usage.jsonl; do sleep 0.02; done; mv {later} {driver.script}"
    run = run_metron(OFTEN, ["sh", "-c", command], env=driver.environment)
    assert run.summary["gpu_energy"] == {"0": 250.5}
    assert sum(each["0"] for each in values(run, "gpu_energy")) == 250.5


def test_attach_has_them_too(run_metron, driver):
    driver.says(ALL)
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        run = run_metron.attach(f"{OFTEN} --duration 1", sleeper.pid, env=driver.environment).finish()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert run.summary["gpu_peak_util"] == {"0": 37}
    assert run.summary["gpu_peak_temp"] == {"0": 41, "1": 30}


def test_devices_are_no_processes(run_metron, driver):
    """The first device and the first process have numbers of their own, and are told apart."""
    driver.says(BEGIN.format(count=64) + FIRST)
    run = run_metron(OFTEN, ["sh", "-c", "for i in 1 2 3; do sleep 0.4; done"], env=driver.environment)
    assert run.summary["gpu_peak_util"] == {"0": 37}
    assert all("0" not in record["measurements"].get("proc_rss", {}) for record in run.usage)
    assert run.summary["proc_spawned"] >= 2


# ---- what costs nothing ----

def loaded(runner, driver, *command):
    """Whether metron COMMAND asked the loader for the library."""
    env = driver.environment | {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(runner.cwd / "ld")}
    subprocess.run([runner.binary, *command], cwd=runner.cwd, env=runner.environment(env), capture_output=True,
                   timeout=60, check=True)
    files = list(runner.cwd.glob("ld.*"))
    texts = [path.read_text(errors="replace") for path in files]
    for path in files:
        path.unlink()
    assert any("libc.so" in text for text in texts)
    return any("libnvidia" in text for text in texts)


def test_library_is_loaded_only_where_a_driver_is(run_metron, driver):
    driver.says(ALL)
    assert loaded(run_metron, driver, "run", "true")
    assert not loaded(run_metron, driver, "run", "--no-gpu-enabled", "true")
    if pathlib.Path("/dev/dxg").exists():
        pytest.skip("this machine has a driver by another name")
    driver.environment["METRON_TEST_GPU_DEVICE"] = "/nonexistent"
    assert not loaded(run_metron, driver, "run", "true")
    assert loaded(run_metron, driver, "doctor")


@pytest.mark.parametrize("options, why", [
    ("", "no NVIDIA driver is loaded"),
    ("--no-gpu-enabled", "switched off"),
    ("--break-readers gpu", "no NVIDIA driver is loaded"),
])
def test_run_without_gpus_says_why_and_is_silent(run_metron, driver, options, why):
    driver.says(ALL)
    if not options:
        driver.environment["METRON_TEST_GPU_DEVICE"] = "/nonexistent"
        if pathlib.Path("/dev/dxg").exists():
            pytest.skip("this machine has a driver by another name")
    started = run_metron.start(f"{OFTEN} {options}", ["sh", "-c", "read line"], env=driver.environment,
                               stdin=subprocess.PIPE)
    wait_until(lambda: started.path("usage.jsonl").exists() and started.path("usage.jsonl").stat().st_size,
               what="a record")
    assert "metron-gpu" not in threads(started.pid)
    run = started.finish(data=b"\n")
    assert not keys(run) and "GPU" not in run.message
    assert not collector(run)["available"] and why in collector(run)["reason"]


@pytest.mark.parametrize("chosen", ["minimal", "proc_rss", "gpu_temp"])
def test_thread_is_there_only_for_a_chosen_key(run_metron, driver, chosen):
    driver.says(ALL)
    started = run_metron.start(f"{OFTEN} --measurements {chosen}", ["sh", "-c", "read line"], env=driver.environment,
                               stdin=subprocess.PIPE)
    wait_until(lambda: started.path("usage.jsonl").exists() and started.path("usage.jsonl").stat().st_size,
               what="a record")
    assert ("metron-gpu" in threads(started.pid)) == (chosen == "gpu_temp")
    run = started.finish(data=b"\n")
    assert keys(run) == ({"gpu_temp", "gpu_peak_temp", "gpu_ave_temp"} if chosen == "gpu_temp" else set())


# ---- a driver in trouble ----

@pytest.mark.parametrize("call", ["nvmlInitWithFlags", "nvmlDeviceGetTemperatureV/0"])
def test_driver_that_blocks_harms_nothing(run_metron, driver, call):
    driver.says(f"sleep {call} 600\n" + ALL)
    run = run_metron("--sample-interval 0.1 --report-interval 0.5", ["sh", "-c", "sleep 2.5; exit 3"],
                     env=driver.environment)
    assert run.returncode == 3, "it ended long before the driver answers"
    assert not keys(run)
    assert run.message.count("the driver of the GPUs does not answer") == 1, run.message
    assert "driver" not in run.summary["cause"]
    assert collector(run)["failed_passes"] > 0
    assert run.summary["num_samples"] >= 5, "they went on"


def test_values_are_absent_while_the_driver_blocks(run_metron, driver):
    driver.says(ALL)
    blocked = driver.script.with_suffix(".blocked")
    blocked.write_text("sleep nvmlDeviceGetUtilizationRates/0 600\n" + ALL, encoding="ascii")
    command = f"while ! grep -q gpu_util run_usage.jsonl; do sleep 0.02; done; mv {blocked} {driver.script}; sleep 2.5"
    run = run_metron(OFTEN, ["sh", "-c", command], env=driver.environment)
    assert "gpu_util" not in run.usage[-1]["measurements"]
    assert run.summary["gpu_peak_util"] == {"0": 37}, "what was read before is kept"


@pytest.mark.parametrize("text, why", [
    ("nvmlInitWithFlags 9\n", "the NVIDIA driver: Driver Not Loaded"),
    ("nvmlDeviceGetCount_v2 999\n" + ALL, "the number of GPUs: Unknown Error"),
])
def test_driver_that_refuses_is_a_warning(run_metron, driver, text, why):
    driver.says(text)
    run = run_metron(OFTEN, "sleep 0.7", env=driver.environment)
    assert run.returncode == 0 and not keys(run)
    assert run.message.count(why) == 1, run.message


def test_device_that_vanishes_keeps_what_was_read(run_metron, driver):
    driver.says(ALL)
    one, lost = (driver.script.with_suffix(name) for name in (".one", ".lost"))
    one.write_text(BEGIN.format(count=1) + FIRST, encoding="ascii")
    lost.write_text("nvmlDeviceGetHandleByIndex_v2/0 15\n" + ALL, encoding="ascii")
    for left, rest in ((one, {"0": 41}), (lost, {"1": 30})):
        driver.says(ALL)
        command = f"while ! grep -q gpu_temp run_usage.jsonl; do sleep 0.02; done; mv {left} {driver.script}; read line"
        started = run_metron.start(OFTEN, ["sh", "-c", command], env=driver.environment, stdin=subprocess.PIPE)
        await_record(started, lambda values, rest=rest: values.get("gpu_temp") == rest, "a record without the other")
        run = started.finish()
        assert run.summary["gpu_peak_temp"] == {"0": 41, "1": 30}
        for path in run.cwd.glob("run_*"):
            path.unlink()


def test_machine_with_a_driver_and_no_device_has_no_keys(run_metron, driver):
    driver.says(BEGIN.format(count=0))
    run = run_metron(OFTEN, "sleep 0.5", env=driver.environment)
    assert run.returncode == 0 and not keys(run) and "GPU" not in run.message


# ---- what shows them ----

def test_measurements_plot_and_report_show_devices(run_metron, driver):
    driver.says(ALL)
    listed = run_metron.metron("measurements 'gpu_*' --json", env=driver.environment).stdout.decode()
    assert listed.count('"per_device"') == len(KEYS) and '"available": false' not in listed
    run = run_metron(OFTEN, "sleep 1", env=driver.environment)
    plot = run_metron.metron(f"plot {run.path('info.json')} --keys gpu_temp --size 100x40", env=driver.environment)
    assert plot.returncode == 0 and "gpu 0" in plot.stdout.decode() and "gpu 1" in plot.stdout.decode(), plot
    report = run_metron.metron(f"report {run.path('info.json')}", env=driver.environment)
    assert "GPUs" in report.stdout.decode(), report


# ---- the real one ----

def test_real_gpus_of_a_run_are_as_nvidia_smi_has_them(run_metron):
    if shutil.which("nvidia-smi") is None:
        pytest.skip("there is no nvidia-smi on this machine")
    wanted = ("index", "memory.used", "memory.total", "temperature.gpu", "utilization.gpu", "power.draw")
    before = smi(*wanted)
    run = run_metron("--sample-interval 0.2 --report-interval 1", "sleep 5")
    after = smi(*wanted)
    assert run.returncode == 0
    assert run.summary["proc_spawned"] == 1, "the driver's library starts nobody"
    mebibyte = 1 << 20
    for first, last in zip(before, after):
        index = first[0]
        print("GPU", index, "nvidia-smi", first, last, "metron",
              {key: value.get(index) for key, value in run.summary.items() if key.startswith("gpu_")})
        for key, column, scale, room in (("mem_used", 1, mebibyte, 64), ("mem_total", 2, mebibyte, 1),
                                         ("temp", 3, 1, 3)):
            told = [row[column] for row in (first, last)]
            if not all(word.isdigit() for word in told):
                assert index not in run.summary.get(f"gpu_peak_{key}", {})
                continue
            low, high = sorted(map(int, told))
            assert (low - room) * scale <= run.summary[f"gpu_ave_{key}"][index] <= (high + room) * scale, key
        assert (index in run.summary.get("gpu_peak_util", {})) == first[4].isdigit()
        assert 0 <= run.summary.get("gpu_peak_util", {}).get(index, 0) <= 100
        power = run.summary.get("gpu_ave_power", {}).get(index)
        energy = run.summary.get("gpu_energy", {}).get(index)
        if power is not None and energy is not None:
            # Power times the time between the first reading and the last, which is a little less than the run.
            assert 0.5 * power * 3.5 <= energy <= 1.5 * power * run.summary["wall_clock_time"]
