"""What a run may be called: an id, last, -1, the beginning of a name, a job; the same for every command."""

import csv
import io
import json
import os
import shutil

import pytest

from support.made_runs import RECORDINGS, make_run
from support.processes import wait_until
from support.records import strict_json

# Every command that takes one run, and what tells on its stdout which it was: the wall time, or the exit code.
ONE = {"report": ["report", "--json"], "plot": ["plot"], "export": ["export", "-f", "snakemake"], "pp": ["pp"],
       "diff": ["diff", "--json", "-F", "wall", "old_"]}


def made(folder, name, second, *, pid=None, job=None, **how):
    """A run that began at that second, of a recorder of its own."""
    top = {"start_time": f"2026-11-15T10:00:{second:02}.000000+00:00",
           "recorder": {"pid": pid or 1000 + second, "start_ticks": 5000 + second, "boot_id": "b"},
           **({"job": job} if job else {})}
    path = make_run(folder / f"{name}_", wall=100 + second, top=top, summary={"start_time": top["start_time"]}, **how)
    shutil.copy(RECORDINGS / "metron-ended" / "usage.jsonl", folder / f"{name}_usage.jsonl")
    return path


@pytest.fixture
def runs(run_metron):
    """a, b and c, in this order, where runs are recorded; b and c are of job train. old is elsewhere."""
    folder = run_metron.cwd / ".metron" / "logs"
    made(folder, "alpha-1", 1)
    made(folder, "beta-1", 2, job="train")
    made(folder, "beta-2", 3, job="train")
    made(folder, "single", 0, job="alone")
    made(run_metron.cwd, "old", 50)
    return folder


def call(runner, *args, code=0, **how):
    run = runner.metron([*map(str, args)], **how)
    assert run.returncode == code, run
    return run


def ids(runner, *args):
    """{the last part of a prefix: id}"""
    rows = strict_json(call(runner, "ls", "--json", *args).stdout)
    return {os.path.basename(row["prefix"].rstrip("_")): row["id"] for row in rows}


def second_of(runner, command, name, **how):
    """Which run a command took: the second at which it began."""
    done = call(runner, *ONE[command], name, **how)
    text = done.stdout.decode()
    if command == "report":
        return round(json.loads(text)["time"]["wall"]["value"]) - 100 if "time" in json.loads(text) else text
    if command == "export":
        return round(float(list(csv.DictReader(io.StringIO(text), delimiter="\t"))[0]["s"])) - 100
    if command == "pp":
        return round(json.loads(text)["execution_summary"]["wall_clock_time"]) - 100
    if command == "diff":
        (wall,) = [each for each in json.loads(text)["numbers"] if each["name"] == "wall"]
        return round(wall["now"]) - 100
    return {"1 min 40 s": 0, "1 min 41 s": 1, "1 min 42 s": 2, "1 min 43 s": 3}[
        next(words for words in ("1 min 40 s", "1 min 41 s", "1 min 42 s", "1 min 43 s") if words in text)]


@pytest.mark.parametrize("command", ["export", "pp", "diff"])
def test_every_name_means_its_run(run_metron, runs, command):
    known = ids(run_metron)
    for name, second in [("last", 3), ("-1", 3), ("-2", 2), ("-4", 0), ("alpha-1", 1), ("alpha-1_", 1), ("al", 1),
                         ("beta-2", 3), ("alone", 0), (known["beta-1"], 2), (known["alpha-1"][:5], 1),
                         (known["alpha-1"][:5].upper(), 1), (".metron/logs/-2", 2), ("./.metron/logs/last", 3),
                         (f".metron/{known['single'][:5]}", 0)]:
        assert second_of(run_metron, command, name) == second, name


@pytest.mark.parametrize("command", ["report", "plot"])
def test_commands_with_a_page_know_them_too(run_metron, runs, command):
    known = ids(run_metron)
    pages = {name: call(run_metron, command, runs / f"{name}_").stdout for name in known}
    for name, run in [("last", "beta-2"), ("-2", "beta-1"), ("al", "alpha-1"), ("alone", "single"),
                      (known["beta-1"][:5], "beta-1")]:
        assert call(run_metron, command, name).stdout == pages[run], name
    assert call(run_metron, command).stdout == pages["beta-2"]


def test_readers_of_many_runs_know_them_and_a_job_is_all_of_its_runs(run_metron, runs):
    assert sorted(ids(run_metron, "train")) == ["beta-1", "beta-2"]
    assert sorted(ids(run_metron, "last", "al")) == ["alpha-1", "beta-2"]
    assert strict_json(call(run_metron, "suggest", "--json", "train", "-4").stdout)["runs"]["found"] == 3
    against = strict_json(call(run_metron, "diff", "--json", "--against", "train", "alone").stdout)
    (wall,) = [each for each in against["numbers"] if each["name"] == "wall"]
    assert wall["runs_before"] == 2


def test_a_file_or_folder_comes_before_an_id_and_a_word(run_metron, runs):
    known = ids(run_metron)
    for name in ("last", known["beta-2"][:5]):
        shutil.copy(run_metron.cwd / "old_info.json", run_metron.cwd / f"{name}info.json")
        assert second_of(run_metron, "pp", name) == 50, name
    shutil.copytree(RECORDINGS / "metron-short", run_metron.cwd / "alone")
    assert "sleep(0.2)" in call(run_metron, "report", "alone").stdout.decode()


def test_an_id_stays_where_the_files_lie(run_metron, runs):
    before = ids(run_metron)
    (runs / "elsewhere").mkdir()
    for path in runs.glob("alpha-1_*"):
        path.rename(runs / "elsewhere" / f"renamed_{path.name.partition('_')[2]}")
    after = ids(run_metron)
    assert after["renamed"] == before["alpha-1"]
    assert len({*before.values()}) == 4 and all(len(each) == 10 for each in before.values())


def test_a_run_has_its_id_from_its_beginning(run_metron):
    run = run_metron.start("-q", "sleep 30", prefix=".metron/logs/now_")
    wait_until(run.path("info.json").exists, what="the info.json")
    (before,) = ids(run_metron).values()
    run.process.terminate()
    run.finish(check=False)
    assert list(ids(run_metron).values()) == [before]


@pytest.mark.parametrize("recording, info", [("metron-ended", None), ("duct-0.2.2", None), ("duct-0.2.2", "")])
def test_a_run_without_an_info_has_all_names(run_metron, recording, info):
    """con-duct writes its info.json at the end, and -t processes-samples leaves it out."""
    folder = run_metron.cwd / ".metron" / "logs"
    folder.mkdir(parents=True)
    usage, = (RECORDINGS / recording).glob("*usage.json*")
    for name in ("first", "second"):
        shutil.copy(usage, folder / f"{name}_{usage.name.rpartition('_')[2]}")
        if info is not None:
            (folder / f"{name}_info.json").write_text(info)
    before = ids(run_metron)
    assert len(set(before.values())) == 2, "two with one start are two"
    expected = call(run_metron, "report", ".metron/logs/second_").stdout
    for name in ("second", "sec", before["second"], before["second"][:5], ".metron/logs/second"):
        assert call(run_metron, "report", name).stdout == expected, name
        for command in ("pp", "plot", "export"):
            assert call(run_metron, command, name).stdout == call(run_metron, command, ".metron/logs/second_").stdout
    call(run_metron, "report", "last")
    call(run_metron, "diff", "-2", "-1")
    # It stays while the run goes on, and where the files are moved.
    with open(next(folder.glob("first_usage.json*")), "a", encoding="utf-8") as file:
        file.write(usage.read_text().splitlines()[-1] + "\n")
    folder.rename(run_metron.cwd / "moved")
    assert ids(run_metron, "moved") == before


def test_what_means_several_runs_names_them(run_metron, runs):
    known = ids(run_metron)
    for name in ("beta", "train"):
        for command in (["report"], ["pp"], ["export"], ["plot"], ["rm"], ["diff", "last"]):
            message = call(run_metron, *command, name, code=1).stderr.decode()
            assert f"{name} may be any of 2 runs: beta-2 ({known['beta-2']}), beta-1 ({known['beta-1']})" in message
    for number in range(4, 12):
        made(runs, f"beta-{number}", number)
    message = call(run_metron, "pp", "beta", code=1).stderr.decode()
    assert "may be any of 10 runs: beta-11 (" in message and " and 6 more" in message


COMMANDS = [["report"], ["plot"], ["export"], ["pp"], ["rm"], ["diff", "last"], ["ls"], ["suggest"],
            ["diff", "last", "--against"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_name_that_no_run_has_is_the_same_error_everywhere(run_metron, runs, command):
    known = ids(run_metron)
    wrong = known["alpha-1"][:4] + ("0" if known["alpha-1"][4] != "0" else "1")
    for name, near in [("trian", "train"), ("beta-3", "beta-2"), (wrong, known["alpha-1"][:5])]:
        message = call(run_metron, *command, name, code=1).stderr.decode()
        assert (f"{name}: there is no such run: none in '.metron/logs/' has this id, name or job (did you mean '"
                ) in message, message
        assert f"'{near}'" in message
    message = call(run_metron, *command, known["alpha-1"][:3], code=1).stderr.decode()
    assert "has this id, name or job; an id needs 4 digits" in message
    message = call(run_metron, *command, "-9", code=1).stderr.decode()
    assert "-9: there is no such run: 4 are recorded in '.metron/logs/'" in message


@pytest.mark.parametrize("recorded", [False, True])
def test_a_name_that_no_run_has_takes_short_lines(run_metron, recorded):
    if recorded:
        made(run_metron.cwd / ".metron" / "logs", "alpha-1", 1)
    for name in ("nothing", "a" * 10, "abc", "-9"):
        for command in ("pp", "report"):
            run, *job = call(run_metron, command, name, code=1).stderr.decode().splitlines()
            assert f"{name}: there is no such run" in run and "daemon" not in run and len(run) < 120, run
            assert len(job) == (command == "report" and name != "-9") and all("daemon" in line for line in job), job
    assert b"daemon" not in call(run_metron, "report", "", code=1).stderr


def test_a_folder_is_searched_for_the_name_behind_it(run_metron, runs):
    message = call(run_metron, "pp", ".metron/logs/trian", code=1).stderr.decode()
    assert ".metron/logs/trian: there is no such run" in message and "did you mean 'train'?" in message
    assert "none is recorded in 'nothing'" not in message
    message = call(run_metron, "pp", "nothing/at/all", code=1).stderr.decode()
    assert "nothing/at/all: there is no such run" in message


def test_numbers_are_runs_only_where_a_run_may_stand(run_metron, runs):
    assert second_of(run_metron, "pp", "-1") == 3
    old = call(run_metron, "diff", "-2", "-1", "--json").stdout
    names = [f".metron/logs/beta-{number}_" for number in (1, 2)]
    assert old == call(run_metron, "diff", *names, "--json").stdout
    assert old == call(run_metron, "diff", "--json", "--", "-2", "-1").stdout
    message = call(run_metron, "measurements", "-1", code=2).stderr.decode()
    assert "unknown option '-1'" in message
    message = call(run_metron, "pp", "-1x", code=2).stderr.decode()
    assert "unknown option '-1'" in message
    assert "-0" in call(run_metron, "pp", "-0", code=1).stderr.decode()


# -- ls --


def test_ids_are_as_long_as_they_have_to_be(run_metron):
    folder = run_metron.cwd / ".metron" / "logs"
    for number in range(600): # 600 of a million: some five digits are equal
        made(folder, f"run{number}", number % 60, pid=number + 1)
    full = set(ids(run_metron).values())
    text = run_metron.metron("ls").stdout.decode()
    shown = [line.split()[0] for line in text.splitlines()[1:601]]
    assert len(set(shown)) == 600 and min(map(len, shown)) == 5
    for short in shown:
        assert len([each for each in full if each.startswith(short)]) == 1, short
    some = run_metron.metron("ls --filter 'wall == 100'").stdout.decode()
    assert {line.split()[0] for line in some.splitlines()[1:11]} < set(shown), "unique among all, not only the listed"


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_the_id_stands_on_every_screen(run_metron, runs, columns):
    known = ids(run_metron)
    text = run_metron.metron("ls", env={"COLUMNS": str(columns)}).stdout.decode()
    for each in known.values():
        assert each[:5] in text


ELSEWHERE = "ID: the folder of a run elsewhere comes before it: "


def shown_id(runner, path):
    """As ls shows it for one run, and what its legend says to put before it, if anything."""
    text = call(runner, "ls", path).stdout.decode()
    return text.splitlines()[1].split()[0], next((line.removeprefix(ELSEWHERE) for line in text.splitlines()
                                                  if line.startswith(ELSEWHERE)), None)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("path", ["here_", "./here_", ".duct/logs/there_", ".duct/logs/below/there_"])
def test_the_id_of_a_run_in_the_current_folder_and_of_con_duct_is_known(run_metron, path, recorded):
    if recorded:
        made(run_metron.cwd / ".metron" / "logs", "alpha-1", 1)
        made(run_metron.cwd / ".metron" / "logs", "also-1", 2)
    made(run_metron.cwd / os.path.dirname(path), os.path.basename(path).rstrip("_"), 5, job="abroad")
    known, before = shown_id(run_metron, path)
    assert before is None and len(known) == 5
    for name in (known, ids(run_metron, path).popitem()[1], "abroad"):
        for command in ("pp", "export"):
            assert second_of(run_metron, command, name) == 5
        assert call(run_metron, "report", name).stdout == call(run_metron, "report", path).stdout
        assert len(ids(run_metron, name)) == 1
    # What is recorded here comes first, and last is of these.
    if recorded:
        assert second_of(run_metron, "pp", "last") == 2
        made(run_metron.cwd / ".metron" / "logs", "abroad", 7, job="abroad")
        assert second_of(run_metron, "pp", "abroad") == 7
    else:
        assert b"none is recorded in '.metron/logs/'" in call(run_metron, "pp", "last", code=1).stderr


@pytest.mark.parametrize("columns", [80, 200])
def test_ls_says_what_comes_before_an_id_elsewhere(run_metron, runs, columns):
    made(run_metron.cwd / "my results", "far", 7)
    known, name = shown_id(run_metron, "my results")
    assert name == shown_id(run_metron, "././my results")[1] == f"'my results/{known}'"
    assert second_of(run_metron, "pp", f"my results/{known}") == 7
    assert b"there is no such run: none in '.metron/logs/'" in call(run_metron, "pp", known, code=1).stderr
    for args in ([], [".metron"], [runs], ["-F", "wall", "my results"], ["--group-by", "job", "my results"]):
        assert ELSEWHERE not in call(run_metron, "ls", *args, env={"COLUMNS": str(columns)}).stdout.decode()


def test_a_copy_has_the_same_id_and_is_named(run_metron, runs):
    shutil.copy(runs / "alpha-1_info.json", runs / "copy_info.json")
    known = ids(run_metron)
    assert known["copy"] == known["alpha-1"]
    message = call(run_metron, "pp", known["copy"], code=1).stderr.decode()
    assert "may be any of 2 runs" in message


def test_the_newest_runs_are_listed(run_metron, runs):
    assert sorted(ids(run_metron, "-n", 2)) == ["beta-1", "beta-2"]
    assert sorted(ids(run_metron, "-n", 1, "--filter", "wall < 102")) == ["alpha-1"]
    assert sorted(ids(run_metron, "--newest", 99)) == ["alpha-1", "beta-1", "beta-2", "single"]
    text = call(run_metron, "ls", "-n", 1, "-F", "prefix").stdout.decode()
    assert text.split() == ["prefix", ".metron/logs/beta-2_"]
    rows = strict_json(call(run_metron, "ls", "-n2", "--group-by", "job", "--json").stdout)
    assert [(row["job"], row["runs"]) for row in rows] == [("train", 2)]
    assert b"--newest" in call(run_metron, "ls", "-n", "0", code=2).stderr


def test_the_id_is_a_field(run_metron, runs):
    known = ids(run_metron)
    rows = strict_json(call(run_metron, "ls", "--json", "-F", "id,wall", "--filter", f"id =~ '^{known['single']}'").stdout)
    assert [row["id"] for row in rows] == [known["single"]]
    diff = strict_json(call(run_metron, "diff", "--json", "-F", "*", "-2", "-1").stdout)
    assert not [each for each in [*diff["numbers"], *diff["facts"]] if each["name"] == "id"]
