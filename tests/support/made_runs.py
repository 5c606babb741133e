"""Runs as a history needs them: copies of a recorded one with other numbers in their info.json."""

import json
import pathlib
import random

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "recordings"
MIB = 1 << 20


def make_run(prefix, *, like="metron-ended", memory=None, source=None, note=None, cpu=None, wall=None, exit_code=None,
             env=None, summary=None, top=None, spans=None):
    """Writes PREFIX_info.json, like a recorded one but for what is named; returns its path. `spans`: a record for each
    (seconds, busy cores), which give the wall time and the CPU."""
    info = json.loads(next((RECORDINGS / like).glob("*info.json")).read_text())
    done = info["execution_summary"]
    head = info.get("headline", {})
    if spans is not None:
        write_spans(f"{prefix}usage.jsonl", spans)
        wall, cpu = sum(seconds for seconds, _ in spans), sum(seconds * cores for seconds, cores in spans)
    if memory is not None:
        head["peak_memory_bytes"] = {"value": memory, "source": source or "proc_hwm_max"}
        if note:
            head["peak_memory_bytes"]["note"] = note
        done[source or "proc_hwm_max"] = memory
    if cpu is not None:
        head["cpu_seconds"] = {"value": cpu, "source": "cgroup_cpu_seconds"}
        done["cgroup_cpu_seconds"] = cpu
    if wall is not None:
        done["wall_clock_time"] = wall
    if exit_code is not None:
        done["exit_code"] = exit_code
        done["cause"] = f"exited with code {exit_code}"
    info["env"] = env or {}
    done.update(summary or {})
    info.update(top or {})
    path = pathlib.Path(f"{prefix}info.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(info))
    return path


def write_spans(path, spans):
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    elapsed, lines = 0, []
    for seconds, cores in spans:
        elapsed += seconds
        lines.append(json.dumps({"timestamp": "2026-11-15T18:21:40+00:00", "elapsed": elapsed, "num_samples": 1,
                                 "measurements": {"cgroup_cpu_seconds": seconds * cores}}) + "\n")
    pathlib.Path(path).write_text("".join(lines))


def make_history(folder, count, seed=1, **fixed):
    """`count` runs around 100 MiB, 20 s of CPU and 10 s; the numbers that were drawn, as a list of dicts."""
    draw = random.Random(seed)
    drawn = []
    for i in range(count):
        numbers = {"memory": int(draw.gauss(100, 4) * MIB), "cpu": draw.gauss(20, 0.5), "wall": draw.gauss(10, 0.3)}
        make_run(folder / f"past{i:04}_", **{**numbers, **fixed})
        drawn.append(numbers)
    return drawn


def make_many(folder, count):
    """`count` runs that differ in their start alone, 500 to a folder; returns the folder."""
    source = (RECORDINGS / "metron-ended" / "info.json").read_text()
    for number in range(count):
        part = folder / str(number // 500)
        part.mkdir(parents=True, exist_ok=True)
        start = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
        (part / f"{number}_info.json").write_text(source.replace("18:21:40", start))
    return folder


def write_ended_processes(path, count):
    """An events.jsonl with the spawn and the exit of `count` processes."""
    with open(path, "w", encoding="utf-8") as events:
        for i in range(count):
            stamp = f"2026-11-15T18:{22 + i // 6000 % 30:02d}:{i // 100 % 60:02d}.{i % 100:02d}+00:00"
            command = f"/usr/lib/gcc/cc1 -quiet file{i}.c" if i % 4 else f"sh -c 'make sub{i}'"
            head = f'"timestamp":"{stamp}","pid":{1000 + i},"start_time":"{stamp}","command":"{command}","seen":"event"'
            events.write(f'{{"event_type":"spawn",{head},"ppid":999}}\n')
            events.write(f'{{"event_type":"exit",{head},"exit_code":{int(i % 100 == 0)},"cpu_seconds":{i / 1e6},'
                         f'"lifetime_seconds":{0.01 + i * 1e-6},"max_rss":{1_000_000 + i},"read_bytes":{i},'
                         f'"write_bytes":0}}\n')
