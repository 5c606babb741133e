"""metron rm and metron gc: exactly the files of a run go, and of no other; what must stay stays."""

import json
import os
import shutil
import time

import pytest

from support.made_runs import RECORDINGS, make_run
from support.processes import wait_until
from support.records import strict_json
from support.users import ANOTHER_USER, STRANGER

FILES = ["stdout", "stderr", "usage.jsonl", "events.jsonl", "info.json"]
DAY = 86400


def made(folder, name, *, days=0.0, pid=1, exit_code=0, **how):
    """A run with all of its files that ended so many days ago, after a second."""
    start = time.time() - days * DAY - 1
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(start))
    top = {"start_time": stamp, "recorder": {"pid": pid, "start_ticks": pid, "boot_id": "b"}, **how.pop("top", {})}
    path = make_run(folder / f"{name}_", wall=1, exit_code=exit_code, top=top,
                    summary={"start_time": stamp, **how.pop("summary", {})}, **how)
    for each in FILES[:-1]:
        (folder / f"{name}_{each}").write_text("x" * 1000)
    return path


@pytest.fixture
def logs(run_metron):
    """Three runs where runs are recorded, and files beside them that are of no run."""
    folder = run_metron.cwd / ".metron" / "logs"
    for number, name in enumerate(("a", "b", "c")):
        made(folder, name, days=10 * number, pid=number + 1)
    for other in ("a_notes.txt", "stdout", "ab_stdout", "a_stdout.bak", "a_usage.json.gz", "xa_info.json.old"):
        (folder / other).write_text("mine")
    return folder


def names(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def call(runner, *args, code=0):
    run = runner.metron([*map(str, args)])
    assert run.returncode == code, run
    return run.stdout.decode(), run.stderr.decode()


def listed(runner, *args):
    return {os.path.basename(row["prefix"]): row for row in strict_json(runner.metron(["ls", "--json", *args]).stdout)}


def test_the_files_of_the_run_go_and_nothing_else(run_metron, logs):
    before, (a, *_) = names(logs), [listed(run_metron)["a_"]["id"]]
    bytes_of_a = sum((logs / f"a_{each}").stat().st_size for each in FILES)
    out, err = call(run_metron, "rm", "--yes", a[:5])
    assert before - names(logs) == {f"a_{each}" for each in FILES}
    assert names(logs) < before and err == ""
    assert out.startswith(f"removed {a}  .metron/logs/a_  (5 files, ") and out.count("\n") == 1
    assert f"{bytes_of_a / 1024:.3g} KiB" in out


@pytest.mark.parametrize("named", [["a", "b"], ["last", "-2"], [".metron/logs/a_", ".metron/logs/b_info.json"],
                                   [f".metron/logs/{run}_{each}" for run in "ab" for each in FILES]])
def test_several_runs_and_any_name_of_them(run_metron, logs, named):
    before = names(logs)
    out, _ = call(run_metron, "rm", *named, "-y")
    assert before - names(logs) == {f"{run}_{each}" for run in "ab" for each in FILES}
    assert out.count("\n") == 2


def test_a_file_that_is_called_as_the_prefix_of_a_run_stays(run_metron, logs):
    (logs / "a_").write_text("mine")
    before = names(logs)
    call(run_metron, "rm", "-y", ".metron/logs/a_", code=1)
    assert names(logs) == before
    call(run_metron, "rm", "-y", "last")
    assert before - names(logs) == {f"a_{each}" for each in FILES}


def test_a_run_without_some_files_and_one_that_is_a_folder(run_metron):
    shutil.copytree(RECORDINGS / "metron-ended", run_metron.cwd / "run")
    (run_metron.cwd / "run" / "stderr").unlink()
    (run_metron.cwd / "run" / "mine").write_text("x")
    out, _ = call(run_metron, "rm", "-y", "run")
    assert names(run_metron.cwd) == {"run/mine"} and " run/  (4 files, " in out


def test_without_a_terminal_and_without_yes_nothing_goes(run_metron, logs):
    before = names(logs)
    out, err = call(run_metron, "rm", "a", code=2)
    assert names(logs) == before
    assert "would remove " in out and ".metron/logs/a_  (5 files, " in out
    assert "nothing was removed" in err and "--yes" in err
    out, err = call(run_metron, "gc", "--older-than", "1d", code=2)
    assert names(logs) == before and out.count("would remove ") == 2 and "nothing was removed" in err


@pytest.mark.parametrize("keys, gone", [("y\n", True), ("yes\n", True), ("n\n", False), ("\n", False), ("\x04", False),
                                        ("yellow\n", False)])
def test_on_a_terminal_it_asks(run_metron, logs, open_terminal, keys, gone):
    terminal = open_terminal([run_metron.binary, "rm", "a"], run_metron.cwd, run_metron.environment())
    terminal.expect("Remove 1 run (5 files, ")
    assert b"would remove" in terminal.seen and (logs / "a_info.json").exists()
    terminal.type(keys)
    assert terminal.finish() == (0 if gone else 1)
    assert (logs / "a_info.json").exists() == (logs / "a_stdout").exists() == (not gone)
    assert (b"\nremoved " in terminal.seen) == gone and (b"nothing was removed" in terminal.seen) == (not gone)


def test_yes_is_not_set_for_good(run_metron, logs):
    """A file or a variable that somebody forgot must not remove anything."""
    (run_metron.cwd / ".metron" / "metron.conf").write_text("yes = yes\n")
    run = run_metron.metron("rm a", env={"METRON_YES": "yes"})
    assert run.returncode == 2 and (logs / "a_info.json").exists()


def test_what_cannot_be_found_is_named_and_the_others_go(run_metron, logs):
    out, err = call(run_metron, "rm", "-y", "nothing", "b", code=1)
    assert "nothing: there is no such run" in err and "logs/b_ " in out
    assert not (logs / "b_info.json").exists()
    assert "which runs?" in call(run_metron, "rm", code=2)[1]


# -- What stays --


def test_a_running_run_stays(run_metron):
    run = run_metron.start("-q", "sleep 60", prefix=".metron/logs/now_")
    wait_until(run.path("info.json").exists, what="the info.json")
    before = names(run_metron.cwd)
    assert "still runs; it is not removed" in call(run_metron, "rm", "-y", "last", code=1)[1]
    _, err = call(run_metron, "gc", "-y", "--older-than", "0s")
    assert "kept: 1 running" in err and names(run_metron.cwd) >= before
    run.process.terminate()
    run.finish(check=False)
    call(run_metron, "rm", "-y", "last")
    assert not list((run_metron.cwd / ".metron" / "logs").iterdir())


def test_a_run_that_began_anew_while_somebody_thought_stays(run_metron, logs, open_terminal):
    terminal = open_terminal([run_metron.binary, "rm", "a"], run_metron.cwd, run_metron.environment())
    terminal.expect("[y/N]")
    (logs / "new").write_bytes((logs / "a_info.json").read_bytes())
    os.replace(logs / "new", logs / "a_info.json")
    before = names(logs)
    terminal.type("y\n")
    assert terminal.finish() == 1
    assert names(logs) == before and b"is another run by now" in terminal.seen


@pytest.mark.parametrize("name", FILES)
def test_a_run_with_a_link_stays_whole(run_metron, logs, name):
    target = run_metron.cwd / "precious"
    (logs / f"a_{name}").rename(target)
    (logs / f"a_{name}").symlink_to(target)
    before = names(run_metron.cwd)
    for command in (["rm", "-y", "a"], ["gc", "-y", "--older-than", "0s", ".metron/logs/a_*"]):
        _, err = call(run_metron, *command, code=1)
        assert f"a_{name} is a link" in err
        assert names(run_metron.cwd) == before and (logs / f"a_{name}").is_symlink()


def test_folders_that_are_links_are_not_searched(run_metron, logs):
    made(run_metron.cwd / "elsewhere", "old", days=100, pid=9)
    (logs / "link").symlink_to(run_metron.cwd / "elsewhere")
    call(run_metron, "gc", "-y", "--older-than", "1d")
    assert len(names(run_metron.cwd / "elsewhere")) == 5
    assert "old: there is no such run" in call(run_metron, "rm", "-y", "old", code=1)[1]


def test_something_that_is_no_file_stays(run_metron, logs):
    (logs / "a_stdout").unlink()
    (logs / "a_stdout").mkdir()
    assert "a_stdout is no file" in call(run_metron, "rm", "-y", "a", code=1)[1]
    assert (logs / "a_info.json").exists() and (logs / "a_usage.jsonl").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="cannot give files away")
@pytest.mark.parametrize("name", FILES)
def test_a_run_of_another_user_stays(run_metron, logs, name):
    os.chown(logs / f"b_{name}", ANOTHER_USER, ANOTHER_USER)
    before = names(logs)
    assert "belongs to another user" in call(run_metron, "rm", "-y", "b", code=1)[1]
    _, err = call(run_metron, "gc", "-y", "--older-than", "15d", code=0)
    assert before - names(logs) == {f"c_{each}" for each in FILES}
    _, err = call(run_metron, "gc", "-y", "--older-than", "1d", code=0 if name == "info.json" else 1)
    assert ("1 of another user" if name == "info.json" else "belongs to another user") in err
    assert {f"b_{each}" for each in FILES} <= names(logs)


@pytest.mark.skipif(os.getuid() != 0, reason="cannot become other users")
def test_an_ordinary_user_removes_only_its_own(run_as_user):
    folder = run_as_user.cwd / ".metron" / "logs"
    for name, user, pid in (("mine", ANOTHER_USER, 1), ("theirs", STRANGER, 2), ("roots", 0, 3)):
        made(folder, name, days=9, pid=pid)
        for path in folder.glob(f"{name}_*"):
            path.chmod(0o644)
            os.chown(path, user, user)
    for path in (folder, folder.parent):
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    for name in ("theirs", "roots"):
        assert "belongs to another user" in call(run_as_user, "rm", "-y", name, code=1)[1]
    out, err = call(run_as_user, "gc", "-y", "--older-than", "1d")
    assert "kept: 2 of another user" in err and out.count("\n") == 1
    assert {path.name.partition("_")[0] for path in folder.iterdir()} == {"theirs", "roots"}


@pytest.mark.skipif(os.getuid() != 0, reason="root alone sees the files, not the rights")
def test_a_folder_that_may_not_be_written_is_named(run_as_user):
    folder = run_as_user.cwd / "kept"
    made(folder, "a", days=9)
    for path in folder.iterdir():
        os.chown(path, ANOTHER_USER, ANOTHER_USER)
    _, err = call(run_as_user, "rm", "-y", "kept/a_", code=1)
    assert "cannot remove kept/a_stdout: Permission denied" in err
    assert len(names(folder)) == 5


@pytest.mark.skipif(os.getuid() != 0, reason="root alone makes a folder that the user may not enter")
def test_a_folder_that_may_not_be_read_is_named(run_as_user):
    folder = run_as_user.cwd / ".metron"
    made(folder / "logs", "a", days=9)
    folder.chmod(0o700)
    for command in (["gc", "--older-than", "1d"], ["rm", "last"], ["rm", ".metron/logs/a_"]):
        _, err = call(run_as_user, *command, "-y", code=1)
        assert "Permission denied" in err and "no run is that old" not in err


@pytest.mark.parametrize("content", ["", "{", "[]", '{"metron_version": "9", "schema_version": "7.0"}', '{"a": 1}'])
def test_what_is_no_recording_stays(run_metron, logs, content):
    (logs / "b_info.json").write_text(content)
    before = names(logs)
    call(run_metron, "rm", "-y", ".metron/logs/b_", code=1)
    assert names(logs) == before
    _, err = call(run_metron, "gc", "-y", "--older-than", "15d")
    assert "1 unreadable" in err
    assert before - names(logs) == {f"c_{each}" for each in FILES}


def test_of_another_name_is_no_run(run_metron):
    shutil.copy(RECORDINGS / "metron-ended" / "info.json", run_metron.cwd / "mine.json")
    (run_metron.cwd / "stdout").write_text("x")
    assert "does not end in info.json" in call(run_metron, "rm", "-y", "mine.json", code=1)[1]
    assert names(run_metron.cwd) == {"mine.json", "stdout"}


def test_con_duct_is_removed_only_by_name(run_metron):
    shutil.copytree(RECORDINGS / "duct-0.2.2", run_metron.cwd / ".metron" / "logs")
    (run_metron.cwd / ".metron" / "logs" / "2026.11.15T18.30.00-4711_mine").write_text("x")
    _, err = call(run_metron, "gc", "-y", "--older-than", "0s")
    assert "kept: 1 of con-duct" in err and len(names(run_metron.cwd)) == 5
    call(run_metron, "rm", "-y", "last")
    assert names(run_metron.cwd) == {".metron/logs/2026.11.15T18.30.00-4711_mine"}


@pytest.mark.parametrize("recording, info, kept", [("metron-ended", None, "without an info.json"),
                                                   ("duct-0.2.2", None, "of con-duct"),
                                                   ("duct-0.2.2", "", "of con-duct")])
def test_what_may_still_run_goes_only_by_name(run_metron, open_terminal, recording, info, kept):
    """Nothing says of a run without an info.json whether it has ended."""
    folder = run_metron.cwd / ".metron" / "logs"
    folder.mkdir(parents=True)
    usage, = (RECORDINGS / recording).glob("*usage.json*")
    for name in "ab":
        shutil.copy(usage, folder / f"{name}_{usage.name.rpartition('_')[2]}")
        (folder / f"{name}_stdout").write_text("x")
        if info is not None:
            (folder / f"{name}_info.json").write_text(info)
    before = names(folder)
    for where in ([], [".metron/logs"], [".metron/logs/a_"]):
        _, err = call(run_metron, "gc", "-y", "--older-than", "0s", *where)
        assert f"kept: {1 if '_' in str(where) else 2} {kept}" in err and names(folder) == before
    _, err = call(run_metron, "rm", "a", code=2)
    assert "may still be under way" in err and names(folder) == before
    terminal = open_terminal([run_metron.binary, "rm", "a"], run_metron.cwd, run_metron.environment())
    terminal.expect("[y/N]")
    assert b"may still be under way" in terminal.seen
    terminal.type("y\n")
    assert terminal.finish() == 0
    assert names(folder) == {name for name in before if name.startswith("b_")}
    out, err = call(run_metron, "rm", "-y", "b")
    assert not names(folder) and out.startswith("removed ") and err == ""


@pytest.mark.parametrize("recording", ["metron-ended", "duct-0.2.2"])
@pytest.mark.parametrize("info", [None, ""])
def test_what_has_a_fresh_record_and_no_info_is_not_removed(run_metron, recording, info):
    """As con-duct does until it ends: an hour old and a fresh record, or an old one and a long interval."""
    usage, = (RECORDINGS / recording).glob("*usage.json*")
    record = json.loads(usage.read_text().splitlines()[0])
    separators = None if recording.startswith("duct") else (",", ":")
    for name, ages in [("fresh", (3600, 0)), ("slow", (3600 * 5, 3600 * 3, 3600)), ("dead", (3660, 3600))]:
        lines = []
        for age in ages:
            record["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(time.time() - age))
            lines.append(json.dumps(record, separators=separators) + "\n")
        (run_metron.cwd / f"{name}_{usage.name.rpartition('_')[2]}").write_text("".join(lines))
        if info is not None:
            (run_metron.cwd / f"{name}_info.json").write_text(info)
    before = names(run_metron.cwd)
    for name in ("fresh", "slow"):
        _, err = call(run_metron, "rm", "-y", f"{name}_", code=1)
        assert "may still be under way; it is not removed" in err and names(run_metron.cwd) == before
    call(run_metron, "rm", "-y", "dead_")
    assert {name for name in before if not name.startswith("dead_")} == names(run_metron.cwd)


@pytest.mark.parametrize("change", ["info", "usage"])
def test_a_run_without_an_info_that_has_changed_stays(run_metron, open_terminal, change):
    folder = run_metron.cwd / ".metron" / "logs"
    folder.mkdir(parents=True)
    shutil.copy(RECORDINGS / "metron-ended" / "usage.jsonl", folder / "a_usage.jsonl")
    terminal = open_terminal([run_metron.binary, "rm", "a"], run_metron.cwd, run_metron.environment())
    terminal.expect("[y/N]")
    if change == "info":
        shutil.copy(RECORDINGS / "metron-ended" / "info.json", folder / "a_info.json")
    else:
        shutil.copy(RECORDINGS / "metron-short" / "usage.jsonl", folder / "a_usage.jsonl")
    before = names(folder)
    terminal.type("y\n")
    assert terminal.finish() == 1
    assert names(folder) == before and b"has changed by now" in terminal.seen


# -- gc --


@pytest.mark.parametrize("age, gone", [("30d", ""), ("15d", "c"), ("2w", "c"), ("5 d", "bc"), ("1h30m", "bc"),
                                       ("0s", "abc")])
def test_what_ended_long_ago_goes(run_metron, logs, age, gone):
    before = names(logs)
    out, err = call(run_metron, "gc", "--older-than", age, "--yes")
    assert before - names(logs) == {f"{run}_{each}" for run in gone for each in FILES}
    assert out.count("removed ") == len(gone)
    assert (f"kept: {3 - len(gone)} younger" in err) == (len(gone) < 3)
    assert ("no run is that old" in err) == (not gone)


def test_a_long_run_is_as_old_as_its_end(run_metron, logs):
    info = json.loads((logs / "c_info.json").read_text())
    info["execution_summary"]["wall_clock_time"] = 18 * DAY
    (logs / "c_info.json").write_text(json.dumps(info))
    call(run_metron, "gc", "--older-than", "15d", "--yes")
    assert (logs / "c_info.json").exists()
    call(run_metron, "gc", "--older-than", "1d", "--yes")
    assert not (logs / "c_info.json").exists()


def test_failed_runs_are_kept_if_asked_for(run_metron):
    folder = run_metron.cwd / "logs"
    made(folder, "good", days=9, pid=1)
    made(folder, "failed", days=9, pid=2, exit_code=3)
    made(folder, "lost", days=9, pid=3, top={"status": "running"})
    made(folder, "oom", days=9, pid=4, summary={"cgroup_oom_kills": 1})
    for path in folder.iterdir():
        os.utime(path, (time.time() - 9 * DAY,) * 2)
    _, err = call(run_metron, "gc", "--older-than", "1d", "--keep-failed", "--yes", "logs")
    assert "kept: 3 failed" in err
    assert {name.partition("_")[0] for name in names(folder)} == {"failed", "lost", "oom"}
    call(run_metron, "gc", "--older-than", "1d", "--yes", "logs")
    assert names(folder) == set()


def test_a_lost_run_is_as_old_as_its_last_sign(run_metron, logs):
    made(logs, "lost", days=40, pid=7, top={"status": "running"})
    call(run_metron, "gc", "--older-than", "30d", "--yes")
    assert (logs / "lost_info.json").exists()


def test_other_folders_stay(run_metron, logs):
    made(run_metron.cwd / "mine", "old", days=99, pid=5)
    call(run_metron, "gc", "--older-than", "1d", "--yes")
    assert len(names(run_metron.cwd / "mine")) == 5
    call(run_metron, "gc", "--older-than", "1d", "--yes", "mine")
    assert not names(run_metron.cwd / "mine") and (logs / "a_info.json").exists()


@pytest.mark.parametrize("args, said", [([], "--older-than says how old"), (["--older-than", "30"], "'30' is no time"),
                                        (["--older-than", "2GiB"], "is no time"), (["--older-than", "-1d"], "is no time"),
                                        (["--older-than", ""], "")])
def test_an_age_has_to_be_said(run_metron, logs, args, said):
    before = names(logs)
    assert said in call(run_metron, "gc", "--yes", *args, code=2)[1]
    assert names(logs) == before


def test_there_may_be_nothing_to_do(run_metron):
    _, err = call(run_metron, "gc", "--older-than", "1d")
    assert "nothing was removed" in err
    assert "nothing: there is no such run" in call(run_metron, "gc", "--older-than", "1d", "-y", "nothing", code=1)[1]
