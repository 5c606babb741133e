"""Recordings that were never measured: as long and as crowded as wanted, the same every time.

Used where a real one would take a week to record: the pictures in docs/images and the limits of `metron plot`.
"""

import json
import math
import pathlib
import random

START = 1763280000  # 2025-11-16T08:00:00+00:00
MIB = 1 << 20

# key: (unit, scope, type, reduce)
KEYS = {
    "proc_rss": ("bytes", "per_pid", "gauge", "max"),
    "proc_rss_total": ("bytes", "single", "gauge", "max"),
    "proc_pdcpu": ("percent", "per_pid", "counter", "max"),
    "proc_pdcpu_total": ("percent", "single", "counter", "max"),
    "proc_processes": ("count", "single", "gauge", "max"),
    "proc_cmd": ("none", "per_pid", "label", "last"),
}


def stamp(elapsed):
    seconds = START + elapsed
    whole = int(seconds)
    days, rest = divmod(whole - 1763251200, 86400)  # from 2025-11-16
    return (f"2025-11-{16 + days:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}."
            f"{int((seconds - whole) * 1e6):06d}+00:00")


def write_info(folder, command, wall, *, memory_limit=None, cpus=8, cause="exited with code 0", exit_code=0,
               keys=None, status="ended"):
    measurements = {key: {"source": "proc", "field": "made up", "unit": unit, "scope": scope, "type": kind,
                          "reduce": reduce}
                    for key, (unit, scope, kind, reduce) in (keys or KEYS).items()}
    info = {
        "schema_version": "1.0", "metron_version": "0.1.0", "status": status, "command": command,
        "working_directory": "/home/ada/project", "start_time": stamp(0),
        "recorder": {"pid": 1, "start_ticks": 1, "boot_id": "00000000-0000-0000-0000-000000000000"},
        "system": {"hostname": "node17", "cpu_total": cpus, "memory_total": 64 << 30,
                   "may_use": {"cpus": cpus, "cpus_by": "affinity", "memory": memory_limit or 64 << 30,
                               "memory_by": "made up"}},
        "output_paths": {"prefix": "", "usage": "usage.jsonl", "events": "events.jsonl", "info": "info.json"},
        "provenance": {"measurements": measurements},
    }
    if status == "ended":
        info["execution_summary"] = {"exit_code": exit_code, "cause": cause, "command": command,
                                     "wall_clock_time": wall, "start_time": stamp(0), "end_time": stamp(wall)}
        info["headline"] = {}
    pathlib.Path(folder, "info.json").write_text(json.dumps(info, indent=1))


def make_long(folder, records=600_000, interval=1.0, peak_at=None, command="python3 train.py --epochs 300"):
    """A long run of `records` records of about 300 bytes: epochs of training, a slow leak, and, if wanted, one
    record (`peak_at`) that alone is far above all others."""
    chosen = random.Random(17)
    noise = [chosen.random() for _ in range(4096)]
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    wall = records * interval
    with open(path / "usage.jsonl", "w", encoding="ascii", buffering=1 << 20) as out:
        for i in range(records):
            elapsed = (i + 1) * interval
            share = elapsed / wall
            epoch = share * 12 % 1
            busy = 0.08 if epoch > 0.85 else 0.65 + 0.2 * noise[(i * 7) & 4095]
            cpu = 800 * busy + 60 * noise[i & 4095]
            rss = int((6 + 5 * share + 3 * (epoch < 0.85) + noise[(i * 3) & 4095]) * 1024 * MIB)
            if i == peak_at:
                rss, cpu = 24 << 30, 800
            loader = min(cpu, 90) * noise[(i * 5) & 4095]
            out.write(f'{{"timestamp":"{stamp(elapsed)}","elapsed":{elapsed:.6f},"num_samples":10,"measurements":{{'
                      f'"proc_rss":{{"4711":{int(rss * 0.8)},"4712":{int(rss * 0.15)}}},"proc_rss_total":{rss},'
                      f'"proc_ave_rss_total":{int(rss * 0.95)},"proc_pdcpu":{{"4711":{cpu - loader:.4f},"4712":'
                      f'{loader:.4f}}},"proc_pdcpu_total":{cpu:.4f},"proc_ave_pdcpu_total":{cpu * 0.9:.4f}}}}}\n')
    (path / "events.jsonl").write_text("".join(
        json.dumps({"timestamp": stamp(0.1 * pid), "event_type": "spawn", "pid": pid, "seen": "event"}) + "\n"
        for pid in (4711, 4712)))
    write_info(path, command, wall, memory_limit=16 << 30)
    return path


def make_crowded(folder, jobs=4000, seconds=600, interval=1.0, command="make -j32"):
    """Thousands of short processes, up to 32 at once, in bursts, and one large one at the end that is killed."""
    chosen = random.Random(4)
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    alive, events, started, pid = [], [], 0, 1000
    with open(path / "usage.jsonl", "w", encoding="ascii") as out:
        for i in range(int(seconds / interval)):
            end = (i + 1) * interval
            alive = [job for job in alive if job["until"] > end - interval]
            wanted = 32 if math.sin(i / 25) > -0.4 else 3
            while started < jobs and len(alive) < wanted:
                pid, started = pid + 1, started + 1
                lives = chosen.expovariate(1 / 3.5) + 0.2
                alive.append({"pid": pid, "until": end + lives, "rss": chosen.lognormvariate(4.4, 0.7) * MIB,
                              "cpu": chosen.uniform(40, 99)})
                events.append((end - chosen.random() * interval, {"event_type": "spawn", "pid": pid}))
            if i == int(0.8 * seconds / interval):
                alive.append({"pid": 99999, "until": seconds * 0.97, "rss": 300 * MIB, "cpu": 99, "grows": True})
            for job in alive:
                if job.get("grows"):
                    job["rss"] += 150 * MIB  # to the limit
            values = {"proc_rss": {str(job["pid"]): int(job["rss"]) for job in alive},
                      "proc_rss_total": int(sum(job["rss"] for job in alive)),
                      "proc_pdcpu": {str(job["pid"]): round(job["cpu"], 3) for job in alive},
                      "proc_pdcpu_total": round(min(3200, sum(job["cpu"] for job in alive)), 3),
                      "proc_processes": len(alive) + 1,
                      "proc_cmd": {str(job["pid"]): f"cc1 -O2 unit{job['pid']}.c" for job in alive}}
            values["proc_ave_pdcpu_total"] = round(values["proc_pdcpu_total"] * 0.8, 3)
            values["proc_ave_rss_total"] = int(values["proc_rss_total"] * 0.9)
            out.write(json.dumps({"timestamp": stamp(end), "elapsed": end, "num_samples": 10,
                                  "measurements": values}) + "\n")
    events.append((seconds * 0.97, {"event_type": "oom", "pid": 99999}))
    events.append((seconds * 0.97, {"event_type": "kill", "pid": 99999, "signal_num": 9}))
    with open(path / "events.jsonl", "w", encoding="ascii") as out:
        for elapsed, event in sorted(events, key=lambda each: each[0]):
            out.write(json.dumps({"timestamp": stamp(elapsed), **event, "seen": "event"}) + "\n")
    write_info(path, command, seconds, memory_limit=16 << 30, cpus=32, exit_code=2,
               cause="exited with code 2; the OOM killer killed 1 of its processes at its own limit of 16 GiB")
    return path
