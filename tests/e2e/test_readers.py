"""What holds for every reader of recorded runs: pipes, full disks, the recording as target, numbers out of reach."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from support.processes import wait_until

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "recordings"

READERS = {
    "ls": ["ls", "run"], "json": ["ls", "--json", "run"], "pp": ["pp", "run"], "plot": ["plot", "run"],
    "diff": ["diff", "run", "run"], "suggest": ["suggest", "run"], "report": ["report", "run"],
    "csv": ["export", "run"], "perfetto": ["export", "-f", "perfetto", "run"],
}


@pytest.fixture
def run(run_metron):
    """run(*args, **how) -> CompletedProcess, in a folder with a recording `run`."""
    shutil.copytree(RECORDINGS / "metron-ended", run_metron.cwd / "run")

    def call(*args, **how):
        return subprocess.run([run_metron.binary, *map(str, args)], cwd=run_metron.cwd, check=False, timeout=60,
                              stdin=subprocess.DEVNULL, env=run_metron.environment({}),
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how})

    call.cwd, call.binary = run_metron.cwd, run_metron.binary
    return call


def change_info(folder, change):
    path = folder / "info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("ignored", [False, True])
def test_a_reader_that_went_away_is_no_trouble_to_tell(run, name, ignored):
    """`metron ls | head`: nothing on stderr, whether SIGPIPE ends it or is ignored (as Python leaves it)."""
    there, away = os.pipe()
    os.close(there)
    done = run(*READERS[name], stdout=away, restore_signals=not ignored)
    os.close(away)
    assert done.stderr == b""
    assert done.returncode != 0


@pytest.mark.parametrize("name", READERS)
def test_a_full_disk_is_named(run, name):
    with open("/dev/full", "wb") as full:
        done = run(*READERS[name], stdout=full)
    assert done.returncode == 1
    assert b"stdout: No space left on device" in done.stderr


@pytest.mark.parametrize("target", ["info.json", "usage.jsonl", "events.jsonl", "stdout", "stderr"])
def test_an_export_does_not_replace_the_recording(run, target):
    before = (run.cwd / "run" / target).read_bytes()
    (run.cwd / "link").symlink_to(f"run/{target}")
    for output in (f"run/{target}", "link"):
        done = run("export", "-o", output, "run")
        assert done.returncode == 1 and b"would overwrite the recording" in done.stderr
    assert (run.cwd / "run" / target).read_bytes() == before
    assert sorted(path.name for path in (run.cwd / "run").iterdir()) == [
        "events.jsonl", "info.json", "stderr", "stdout", "usage.jsonl"]


def open_files(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/fd/{name}")


def test_an_export_that_is_killed_leaves_nothing(run):
    path, target = run.cwd / "run" / "usage.jsonl", run.cwd / "target"
    target.mkdir()
    try:
        os.close(os.open(target, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("the file system has no files without a name")
    records = path.read_text()
    path.write_text(records * 400)
    metron = subprocess.Popen([run.binary, "export", "-f", "perfetto", "-o", target / "trace.json", "run"],
                              cwd=run.cwd)
    wait_until(lambda: any(str(target) in link for link in open_files(metron.pid)), what="a file that is being written")
    metron.kill()
    assert metron.wait() == -signal.SIGKILL, "it was done too soon"
    assert list(target.iterdir()) == []
    path.write_text(records)
    assert run("export", "-f", "perfetto", "-o", target / "trace.json", "run").returncode == 0
    assert [each.name for each in target.iterdir()] == ["trace.json"]
    json.loads((target / "trace.json").read_text())


def test_a_picture_goes_through_a_link_but_not_into_the_recording(run):
    (run.cwd / "link.svg").symlink_to("run/info.json")
    before = (run.cwd / "run" / "info.json").read_bytes()
    done = run("plot", "-o", "link.svg", "run")
    if b"draws no pictures" in done.stderr:
        pytest.skip("built without cairo")
    assert done.returncode == 1 and b"would overwrite the recording" in done.stderr
    assert (run.cwd / "run" / "info.json").read_bytes() == before
    (run.cwd / "picture.svg").write_text("old")
    (run.cwd / "other.svg").symlink_to("picture.svg")
    assert run("plot", "-o", "other.svg", "run").returncode == 0
    assert (run.cwd / "other.svg").is_symlink()
    assert b"<svg" in (run.cwd / "picture.svg").read_bytes()


@pytest.mark.parametrize("wall,cpu", [(1e-300, 1e17), (1e-310, 0.5), (1e308, 1e308), (-1e18, -1e18)])
def test_numbers_out_of_reach_are_no_crash(run, wall, cpu):
    shutil.copytree(run.cwd / "run", run.cwd / "odd")

    def change(info):
        info["execution_summary"]["wall_clock_time"] = wall
        info["headline"]["cpu_seconds"]["value"] = cpu

    change_info(run.cwd / "odd", change)
    for arguments in (["ls", "--json", "odd"], ["ls", "odd"], ["ls", "-f", "summaries", "odd"],
                      ["suggest", "--json", "odd"], ["suggest", "odd"], ["suggest", "--for", "slurm", "odd"],
                      ["diff", "--json", "odd", "run"], ["diff", "--json", "run", "odd"], ["diff", "odd", "run"],
                      ["export", "-f", "prometheus", "odd"], ["export", "-f", "snakemake", "odd"],
                      ["export", "-f", "nextflow", "odd"], ["plot", "odd"]):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        if "--json" in arguments:
            json.loads(done.stdout)
        assert b"inf" not in done.stdout.replace(b"info", b"") and b"nan" not in done.stdout, arguments


def test_an_exit_code_of_300_digits_is_shown_short(run):
    change_info(run.cwd / "run", lambda info: info["execution_summary"].update(exit_code=1e308))
    assert max(map(len, run("ls", "run").stdout.decode().splitlines())) < 110


def test_long_names_of_facts_stand_apart_from_their_values(run):
    shutil.copytree(run.cwd / "run", run.cwd / "other")
    name = "A_NAME_THAT_IS_LONGER_THAN_ITS_COLUMN"
    change_info(run.cwd / "run", lambda info: info["env"].update({name: "old"}))
    change_info(run.cwd / "other", lambda info: info["env"].update({name: "new"}))
    page = run("diff", "run", "other").stdout.decode()
    assert "… old → new\n" in page


def test_what_cannot_be_searched_does_not_hide_the_other_runs(run_as_user):
    """--against a folder of which one part may not be read: the rest is compared, and the exit code is 1."""
    cwd = run_as_user.cwd
    for name in ("now", "past/a", "past/b"):
        shutil.copytree(RECORDINGS / "metron-ended", cwd / name)
    (cwd / "past" / "closed").mkdir(mode=0)
    try:
        done = run_as_user.metron(["diff", "--against", "past", "now"])
    finally:
        (cwd / "past" / "closed").chmod(0o700)
    assert done.returncode == 1
    assert b"before  2 runs: past" in done.stdout
    assert b"closed" in done.stderr


def test_a_record_without_a_timestamp_is_not_of_1970(run):
    path = run.cwd / "run" / "usage.jsonl"
    path.write_text(path.read_text().replace('"timestamp"', '"moment"'))
    rows = run("export", "run").stdout.decode().splitlines()[1:]
    assert rows and all(row.split(",")[1].startswith("2026-11-15T18:21:4") for row in rows)


def test_a_picture_of_hostile_names_is_well_formed(run):
    key = "evil\x1b[31m</desc><script>"
    change_info(run.cwd / "run", lambda info: info["provenance"]["measurements"].update(
        {key: {"source": "e", "field": "", "unit": "bytes", "scope": "single", "type": "gauge", "reduce": "max"}}))
    path = run.cwd / "run" / "usage.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record["measurements"][key] = 5
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    drawn = run("plot", "--keys", "evil*", "run")
    assert drawn.returncode == 0 and b"\x1b" not in drawn.stdout
    done = run("plot", "--keys", "evil*", "-o", "run.svg", "run")
    if b"draws no pictures" in done.stderr:
        pytest.skip("built without cairo")
    from xml.dom import minidom
    words = minidom.parse(str(run.cwd / "run.svg")).getElementsByTagName("desc")[0].firstChild.data
    assert "\\x1b[31m</desc><script>" in words


@pytest.mark.parametrize("command", [["report", "--json"], ["report"], ["suggest", "--json"], ["ls", "--json"],
                                     ["diff", "--json", RECORDINGS / "metron-killed"], ["plot"],
                                     ["export", "-f", "prometheus"], ["export", "-f", "perfetto"]])
def test_sums_and_ratios_past_all_bounds_are_absent(run, command):
    """As large as a double gets, over hardly any time: what comes of it is no number, and never breaks the JSON."""
    def enlarge(info):
        summary = info["execution_summary"]
        summary.update({key: 1e308 for key in summary if key.startswith("proc_")})
        summary.update(wall_clock_time=1e-300, exit_code=1e300)
        info["headline"]["cpu_seconds"]["value"] = info["headline"]["peak_memory_bytes"]["value"] = 1e308

    change_info(run.cwd / "run", enlarge)
    usage = run.cwd / "run" / "usage.jsonl"
    records = [json.loads(line) for line in usage.read_text().splitlines()]
    for record in records:
        for value in record["measurements"].values():
            if isinstance(value, dict):
                value.update({subject: 1e308 for subject, number in value.items() if isinstance(number, (int, float))})
    usage.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = run(*command, "run")
    assert done.returncode == 0, done.stderr
    if "--json" in command or "perfetto" in command:
        json.loads(done.stdout, parse_constant=pytest.fail)
