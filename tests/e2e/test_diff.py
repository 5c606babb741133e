"""metron diff: what lies outside the noise, limits for tests, screens, bad input."""

import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess

import pytest

from support.made_runs import MIB, make_history, make_run

TESTS = pathlib.Path(__file__).resolve().parent.parent
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "diff"
SCREENS = {"80": (80, "never"), "200": (200, "never"), "80-color": (80, "always"), "200-color": (200, "always")}


@pytest.fixture
def diff(run_metron):
    """diff(*args, width=, code=) -> stdout; diff.messages is what was said on stderr."""

    def run(*args, width=80, code=0):
        done = subprocess.run([run_metron.binary, "diff", *map(str, args)], cwd=run_metron.cwd, check=False,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
                              env=run_metron.environment({"COLUMNS": str(width)}))
        run.messages = done.stderr.decode()
        assert done.returncode == code, (run.messages, done.stdout.decode())
        return done.stdout.decode()

    run.cwd = run_metron.cwd
    return run


@pytest.fixture
def numbers(diff):
    """numbers(*args) -> {name: what is told of it}, of --json."""

    def run(*args, **how):
        run.all = json.loads(diff("--json", *args, **how))
        return {each["name"]: each for each in run.all["numbers"]}

    return run


# Screens

PAGES = {
    "two": ["metron-ended", "metron-short"],
    "same": ["metron-ended", "metron-ended"],
    "duct": ["duct-0.2.2", "duct-jsonl"],
    "methods": ["duct-0.2.2", "metron-ended"],
    "history": ["--against", "past", "now_", "--fail-if", "wall > +10%,peak_memory > +10%,proc_hwm_max > 10s"],
    "fields": ["-F", "io_*,wall,command,system.hostname", "metron-ended", "metron-short"],
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_looks_as_it_did_when_it_was_looked_at(diff, name, screen):
    width, colors = SCREENS[screen]
    for each in sorted(RECORDINGS.iterdir()):
        if each.is_dir():
            shutil.copytree(each, diff.cwd / each.name)
    make_history(diff.cwd / "past", 12)
    make_run(diff.cwd / "now_", memory=160 * MIB, cpu=20.1, wall=10.1,
             summary={"io_read_bytes_total": 900 * MIB, "proc_spawned": 70})
    text = diff("--colors", colors, *PAGES[name], width=width, code=1 if name == "history" else 0)
    golden = GOLDEN / f"{name}-{screen}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("name", PAGES)
def test_no_line_is_wider_than_the_screen(name):
    for line in (GOLDEN / f"{name}-80.txt").read_text().splitlines():
        assert len(line) <= 80, line


# Two runs


def test_every_number_of_both_is_walked(numbers):
    told = numbers(RECORDINGS / "metron-ended", RECORDINGS / "metron-short")
    before = json.loads((RECORDINGS / "metron-ended" / "info.json").read_text())["execution_summary"]
    now = json.loads((RECORDINGS / "metron-short" / "info.json").read_text())["execution_summary"]
    measured = {key for side in (before, now) for key, value in side.items()
                if isinstance(value, (int, float)) and key not in ("signal",)}
    assert measured <= set(told)
    for key in measured & set(before) & set(now) - {"exit_code"}:
        assert told[key]["before"] == pytest.approx(before[key], rel=1e-9), key
        assert told[key]["now"] == pytest.approx(now[key], rel=1e-9), key


def test_a_run_does_not_differ_from_itself(diff, numbers):
    assert "0 of " in diff(RECORDINGS / "metron-ended", RECORDINGS / "metron-ended")
    assert not [name for name, each in numbers(RECORDINGS / "metron-ended", RECORDINGS / "metron-ended").items()
                if each["state"] == "changed"]
    assert numbers.all["facts"] == []


def test_thresholds_of_two_runs(numbers, tmp_path):
    make_run(tmp_path / "a_", memory=100 * MIB, wall=10, cpu=0.100)
    make_run(tmp_path / "b_", memory=106 * MIB, wall=10.4, cpu=0.109)
    told = numbers(tmp_path / "a_", tmp_path / "b_")
    assert told["peak_memory"]["state"] == "changed"
    assert told["wall"]["state"] == "same"
    assert told["cpu_seconds"]["state"] == "same"  # 9 %, but 9 ms
    assert told["peak_memory"]["percent"] == pytest.approx(6)


def test_changed_facts_are_told(diff, numbers, tmp_path):
    make_run(tmp_path / "a_", env={"SLURM_JOB_PARTITION": "short"}, top={"metron_version": "0.0.9"})
    make_run(tmp_path / "b_", env={"SLURM_JOB_PARTITION": "long"}, summary={"command": "x" * 100000})
    numbers(tmp_path / "a_", tmp_path / "b_")
    facts = {each["name"]: each for each in numbers.all["facts"]}
    assert facts["env.SLURM_JOB_PARTITION"] == {
        "name": "env.SLURM_JOB_PARTITION", "state": "changed", "before": "short", "now": "long"}
    assert facts["metron_version"]["before"] == "0.0.9"
    text = diff(tmp_path / "a_", tmp_path / "b_")
    assert "short → long" in text
    assert max(map(len, text.splitlines())) <= max(80, len(str(tmp_path)) + 12)


def test_control_characters_do_not_reach_the_screen(diff, tmp_path):
    make_run(tmp_path / "a_", summary={"command": "a"})
    make_run(tmp_path / "b_", summary={"command": "\x1b[2J\x07", "evil\x1b[2J_total": 5})
    text = diff(tmp_path / "a_", tmp_path / "b_", "-F", "*")
    assert "\x1b" not in text and "\\x1b[2j\\x07" in text.lower()


def without(path, *keys):
    info = json.loads(path.read_text())
    for key in keys:
        info["execution_summary"].pop(key, None)
    path.write_text(json.dumps(info))


def test_methods_are_not_mixed(diff, numbers, tmp_path):
    without(make_run(tmp_path / "a_", memory=100 * MIB, source="proc_hwm_max"), "proc_peak_rss_total",
            "smaps_peak_pss_total")
    make_run(tmp_path / "b_", memory=200 * MIB, source="smaps_peak_pss_total")
    told = numbers(tmp_path / "a_", tmp_path / "b_")
    assert told["peak_memory"]["state"] == "other_method"
    assert told["peak_memory"]["source_before"] == "proc_hwm_max"
    assert "before" not in told["peak_memory"] and "percent" not in told["peak_memory"]
    assert "measured by proc_hwm_max before" in diff(tmp_path / "a_", tmp_path / "b_", width=200)


@pytest.mark.parametrize("turned", [False, True])
def test_con_duct_and_metron_are_compared_by_the_measure_that_both_have(diff, numbers, turned):
    duct = json.loads(next((RECORDINGS / "duct-0.2.2").glob("*info.json")).read_text())["execution_summary"]
    metron = json.loads((RECORDINGS / "metron-ended" / "info.json").read_text())["execution_summary"]
    pair = [RECORDINGS / "duct-0.2.2", RECORDINGS / "metron-ended"]
    names, values = ["peak_rss", "proc_peak_rss_total"], [duct["peak_rss"], metron["proc_peak_rss_total"]]
    if turned:
        pair, names, values = pair[::-1], names[::-1], values[::-1]
    told = numbers(*pair)
    peak = told["peak_memory"]
    assert [peak["before"], peak["now"]] == values and peak["state"] == "same"
    assert [peak["compared_by_before"], peak["compared_by"]] == names
    text = " ".join(diff(*pair, width=300).split())
    assert f"compared by {names[1]} now and {names[0]} before, the same measure" in text
    assert "82.1 MiB by smaps_peak_pss_total" in text
    # what is absolute is about the peak itself
    diff(*pair, "--fail-if", "peak_memory > +3%" if not turned else "peak_memory < -3%", code=1)
    diff(*pair, "--fail-if", "peak_memory > 103MiB")


def test_another_headline_method_is_compared_by_the_key_that_both_have(numbers, tmp_path):
    make_run(tmp_path / "a_", memory=120 * MIB, source="smaps_peak_pss_total", summary={"proc_hwm_max": 99 * MIB})
    make_run(tmp_path / "b_", memory=100 * MIB, source="proc_hwm_max")
    peak = numbers(tmp_path / "a_", tmp_path / "b_")["peak_memory"]
    assert (peak["before"], peak["now"], peak["state"]) == (99 * MIB, 100 * MIB, "same")
    assert (peak["source"], peak["source_before"]) == ("proc_hwm_max", "smaps_peak_pss_total")


def changes(text, title):
    """[(name, what stands in the column `change`)] of a table."""
    lines = text.split(title, 1)[1].split("\n\n")[0].splitlines()
    rows = [line.split("  ") for line in lines if line.startswith("  ") and "_" in line]
    return [(row[1].strip(), row[-1].strip()) for row in rows if len(row) > 3]


def test_the_largest_factors_come_first_and_then_points(diff):
    text = diff(RECORDINGS / "metron-ended", RECORDINGS / "metron-short", width=200)
    rows = changes(text, "other numbers changed")
    assert len(rows) > 12

    def size(change):
        if change in ("to 0", "from 0"):
            return 2, float("inf")
        amount = float(change.lstrip("x÷ ").split()[0])
        if change.endswith(" points"):
            return 1, abs(amount)
        if change.endswith(" %"):
            return 2, max(1 + amount / 100, 1 / (1 + amount / 100))
        return 2, amount

    sizes = [size(change) for _, change in rows]
    assert sizes == sorted(sizes, reverse=True), rows
    assert any("÷" in change for _, change in rows) and any("points" in change for _, change in rows)


def test_few_of_each_source_are_shown(diff):
    text = diff(RECORDINGS / "metron-ended", RECORDINGS / "metron-short", width=200)
    rows = changes(text, "other numbers changed")
    for points in (False, True):
        of = [name.split("_")[0] for name, change in rows if change.endswith("points") == points]
        assert max(map(of.count, of)) <= 3
    assert "more; -F '*' shows all" in text


def test_the_whole_machine_has_a_table_of_its_own(diff, numbers):
    two = [RECORDINGS / "metron-ended", RECORDINGS / "metron-short"]
    for args in ([], ["-F", "*"]):
        before, machine = diff(*two, *args, width=200).split("The machine at that time")
        assert "sys_peak_mem_used" in machine and "psi_ave_cpu_some_pct" in machine
        assert "\n  sys_" not in before and "\n  psi_" not in before and "cgroup_" not in machine
    assert {name for name, each in numbers(*two).items() if each.get("whole_machine")} == {
        name for name in numbers(*two) if name.startswith(("sys_", "psi_"))}


@pytest.mark.parametrize("before,now,shown", [
    (100, 101, "+1.0 %"), (100, 99.99, "0.0 %"), (100, 199, "+99.0 %"), (100, 200, "x 2"), (100, 805, "x 8.05"),
    (100, 51, "-49.0 %"), (100, 10, "÷ 10"), (100, 100, "="), (100, 0, "to 0"), (0, 100, "from 0"),
])
def test_changes_are_written_in_one_way(diff, tmp_path, before, now, shown):
    make_run(tmp_path / "a_", wall=before)
    make_run(tmp_path / "b_", wall=now)
    row = next(line for line in diff(tmp_path / "a_", tmp_path / "b_", "-F", "wall").splitlines() if " wall " in line)
    assert row.split("  ")[-1].strip() == shown


def test_percentages_change_by_points(diff, tmp_path):
    make_run(tmp_path / "a_", summary={"proc_ave_pdcpu_total": 50})
    make_run(tmp_path / "b_", summary={"proc_ave_pdcpu_total": 59.9})
    text = diff(tmp_path / "a_", tmp_path / "b_", "-F", "proc_ave_pdcpu_total", "--fail-if",
                "proc_ave_pdcpu_total > +50%")
    assert "+9.9 points" in text and "(+9.9 points)" in text


def test_large_noise_is_written_out(diff, tmp_path):
    for i, size in enumerate((1, 10, 22, 90, 400)):
        make_run(tmp_path / "past" / f"{i}_", summary={"io_read_bytes_total": size * MIB,
                                                       "proc_ave_pdcpu_total": size})
    make_run(tmp_path / "now_", summary={"io_read_bytes_total": 30 * MIB, "proc_ave_pdcpu_total": 30})
    text = diff("--against", tmp_path / "past", tmp_path / "now_", "-F", "io_read_bytes_total,proc_ave_pdcpu_total")
    noise = 1.4826 * 21  # of 1, 10, 22, 90, 400
    assert f"± {100 * noise / 22:.0f} %" in text and f"± {noise:.0f} points" in text and "e+" not in text


def test_fields_narrow(diff, numbers):
    two = [RECORDINGS / "metron-ended", RECORDINGS / "metron-short"]
    assert set(numbers(*two, "-F", "wall,io_r*")) == {"wall", "io_read_bytes_total", "io_rchar_total"}
    diff(*two, "-F", "walll")
    assert "did you mean 'wall'" in diff.messages


# History


def test_noise_is_that_of_python(numbers, tmp_path):
    drawn = make_history(tmp_path / "past", 15)
    make_run(tmp_path / "now_", memory=100 * MIB, cpu=20, wall=10)
    told = numbers("--against", tmp_path / "past", tmp_path / "now_")
    for name, key in (("peak_memory", "memory"), ("cpu_seconds", "cpu"), ("wall", "wall")):
        values = [run[key] for run in drawn]
        median = statistics.median(values)
        assert told[name]["before"] == pytest.approx(median, rel=1e-9)
        assert told[name]["noise"] == pytest.approx(min(
            1.4826 * statistics.median(abs(value - median) for value in values),
            statistics.stdev(values, xbar=median)), rel=1e-8)
        floor = MIB if key == "memory" else 0.01
        assert told[name]["allowed"] == pytest.approx(
            max((3 + 9 / 13) * told[name]["noise"], 0.02 * median, floor), rel=1e-8)
        assert told[name]["runs_before"] == 15
        assert told[name]["state"] == "same"


def test_what_lies_outside_the_noise_is_told_and_the_rest_is_not(diff, numbers, tmp_path):
    make_history(tmp_path / "past", 15)
    make_run(tmp_path / "now_", memory=150 * MIB, cpu=20, wall=10)
    told = numbers("--against", f"{tmp_path}/past/past*", tmp_path / "now_")
    assert [name for name, each in told.items() if each["state"] == "changed"] == ["proc_hwm_max", "peak_memory"]
    text = diff("--against", f"{tmp_path}/past/past*", tmp_path / "now_")
    assert "* peak_memory" in text and "* wall" not in text
    assert "0 of " in text  # proc_hwm_max is what peak_memory was taken from


def test_the_run_itself_is_not_its_own_past(numbers, tmp_path):
    make_history(tmp_path, 4)
    make_run(tmp_path / "now_", memory=900 * MIB)
    numbers("--against", tmp_path, tmp_path / "now_")
    assert numbers.all["runs_before"] == 4


@pytest.mark.parametrize("failed", ["failed_", "zzz_failed_"])  # met before those that succeeded, and after
def test_failed_runs_are_no_measure(diff, numbers, tmp_path, failed):
    make_history(tmp_path / "past", 4)
    make_run(tmp_path / "past" / failed, memory=MIB, wall=0.1, exit_code=1)
    make_run(tmp_path / "now_", memory=100 * MIB, wall=10)
    numbers("--against", tmp_path / "past", tmp_path / "now_")
    assert (numbers.all["runs_before"], numbers.all["runs_left_out"]) == (4, 1)
    assert "1 more did not succeed" in diff("--against", tmp_path / "past", tmp_path / "now_", width=300)


def test_where_none_succeeded_the_failed_ones_count(numbers, tmp_path):
    for i in range(3):
        make_run(tmp_path / "past" / f"failed{i}_", memory=MIB, wall=10 + i, exit_code=1)
    make_run(tmp_path / "now_", memory=MIB, wall=10)
    told = numbers("--against", tmp_path / "past", tmp_path / "now_")
    assert (numbers.all["runs_before"], numbers.all["runs_left_out"]) == (3, 0)
    assert told["wall"]["before"] == 11


def test_two_runs_before_do_not_tell_the_noise(diff, tmp_path):
    make_history(tmp_path / "past", 2)
    make_run(tmp_path / "now_")
    assert "so few runs do not tell" in " ".join(diff("--against", tmp_path / "past", tmp_path / "now_").split())


@pytest.mark.plain
def test_thousands_of_runs_are_compared_in_little_memory(run_metron, tmp_path):
    folder = tmp_path / "past"
    make_history(folder, 20)
    contents = [path.read_bytes() for path in sorted(folder.iterdir())]
    for i in range(3000):
        (folder / f"more{i}_info.json").write_bytes(contents[i % 20])
    make_run(tmp_path / "now_")
    done = subprocess.run(["bash", "-c", "ulimit -v 400000; exec \"$0\" diff --json --against \"$1\" \"$2\"",
                           run_metron.binary, folder, tmp_path / "now_"], capture_output=True, check=False,
                          timeout=60, env=run_metron.environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs_before"] == 3020


def test_equal_builds_whose_headlines_came_from_two_keys_are_equal(diff, numbers, tmp_path):
    """The marks were 67.4 and 67.3 MiB; one headline is the mark, the other a sum that was sampled."""
    make_run(tmp_path / "a_", memory=67.4 * MIB, summary={"smaps_peak_pss_total": 57.9 * MIB})
    make_run(tmp_path / "b_", memory=68.2 * MIB, source="smaps_peak_pss_total",
             summary={"proc_hwm_max": 67.3 * MIB})
    for pair in (["a_", "b_"], ["b_", "a_"]):
        peak = numbers(*[tmp_path / each for each in pair], "--fail-if", "peak_memory > +10%")["peak_memory"]
        assert peak["state"] == "same" and {peak["before"], peak["now"]} == {67.4 * MIB, 67.3 * MIB}
        assert peak["compared_by"] == "proc_hwm_max"
    text = " ".join(diff(tmp_path / "a_", tmp_path / "b_", width=300).split())
    assert "compared by proc_hwm_max (the largest single process, kept by the kernel)" in text
    assert "its headline now is 68.2 MiB by smaps_peak_pss_total" in text


def test_a_mark_comes_before_a_sum_that_was_sampled_in_both(numbers, tmp_path):
    for name, total in ("a_", 68), ("b_", 80):
        make_run(tmp_path / name, memory=total * MIB, source="smaps_peak_pss_total",
                 summary={"proc_hwm_max": 67 * MIB})
    peak = numbers(tmp_path / "a_", tmp_path / "b_")["peak_memory"]
    assert (peak["state"], peak["compared_by"]) == ("same", "proc_hwm_max")


def test_the_mark_of_one_process_does_not_hide_that_more_of_them_ran(diff, numbers, tmp_path):
    make_run(tmp_path / "a_", memory=100 * MIB, summary={"smaps_peak_pss_total": 96 * MIB})
    make_run(tmp_path / "b_", memory=400 * MIB, source="smaps_peak_pss_total", summary={"proc_hwm_max": 101 * MIB})
    peak = numbers(tmp_path / "a_", tmp_path / "b_", "--fail-if", "peak_memory > +10%", code=1)["peak_memory"]
    assert (peak["before"], peak["now"], peak["state"]) == (96 * MIB, 400 * MIB, "changed")
    assert "compared by smaps_peak_pss_total" in diff(tmp_path / "a_", tmp_path / "b_", width=300)


def test_runs_that_differ_in_their_quotes_have_the_same_command(numbers, tmp_path):
    script = "echo 'hi there'; make -j2"
    ways = [f"sh -c {shlex.quote(script)}", f'sh -c "{script}"', f"sh -c {script}"]
    for i, command in enumerate(ways):
        make_run(tmp_path / f"{i}_", top={"command": command}, summary={"command": command})
    other = {"command": "sh -c 'echo hi; make -j2'"}
    make_run(tmp_path / "other_", top=other, summary=other)
    for i in (1, 2):
        numbers(tmp_path / "0_", tmp_path / f"{i}_")
        assert "command" not in [each["name"] for each in numbers.all["facts"]], i
    numbers(tmp_path / "0_", tmp_path / "other_")
    assert "command" in [each["name"] for each in numbers.all["facts"]]


# Limits


@pytest.fixture
def pair(tmp_path):
    make_run(tmp_path / "a_", memory=100 * MIB, wall=10, cpu=20)
    make_run(tmp_path / "b_", memory=120 * MIB, wall=11, cpu=20)
    return [tmp_path / "a_", tmp_path / "b_"]


@pytest.mark.parametrize("limit,code", [
    ("peak_memory > +10%", 1), ("peak_memory > +20%", 0), ("peak_memory >= +20%", 1), ("peak_memory > +25%", 0),
    ("peak_memory > +10MiB", 1), ("peak_memory > 119MiB", 1), ("peak_memory > 1GiB", 0), ("wall > +30s", 0),
    ("wall > +500ms", 1), ("wall < -1s", 0), ("cpu_seconds != +0", 0), ("exit_code != 0", 0), ("exit_code == 0", 1),
    ("wall > +30s, peak_memory > +10%", 1), ("proc_hwm_max > +10%", 1), ("system.may_use.cpus < 1", 0),
])
def test_limits(diff, pair, limit, code):
    text = diff(*pair, "--fail-if", limit, code=code)
    assert ("FAIL: " in text) == (code == 1) and "passed" not in text


def test_changes_alone_are_no_failure(diff, pair):
    assert "* peak_memory" in diff(*pair)


@pytest.mark.parametrize("limit,why", [
    ("command > 1", "the run has no number command"),
    ("proc_hwm_max > 10s", "of another kind"),
])
def test_a_limit_that_cannot_be_judged_fails_and_says_why(diff, pair, limit, why):
    assert why in diff(*pair, "--fail-if", limit, code=1, width=200)


@pytest.mark.parametrize("limit,near", [("peak_memroy > +10%", "peak_memory"), ("no_such_total > 1", None)])
def test_a_limit_on_what_no_run_has_is_wrong_usage(diff, pair, limit, near):
    assert diff(*pair, "--fail-if", limit, code=2) == ""
    assert f"--fail-if: none of the runs has a field '{limit.split()[0]}'" in diff.messages
    assert near is None or f"did you mean '{near}'" in diff.messages


def test_a_limit_on_what_these_runs_lack_is_none(diff):
    two = [RECORDINGS / "duct-0.2.2", RECORDINGS / "duct-jsonl"]
    assert "the run has no number cpu_seconds" in diff(*two, "--fail-if", "cpu_seconds > 1", code=1, width=200)


def test_a_limit_between_two_methods_fails(diff, tmp_path):
    without(make_run(tmp_path / "a_", memory=100 * MIB, source="proc_hwm_max"), "proc_peak_rss_total",
            "smaps_peak_pss_total")
    make_run(tmp_path / "b_", memory=200 * MIB, source="smaps_peak_pss_total")
    text = diff(tmp_path / "a_", tmp_path / "b_", "--fail-if", "peak_memory > +900%", code=1, width=200)
    assert "FAIL: peak_memory > +900%: cannot be judged: " in text and "proc_hwm_max" in text


def test_limits_in_json(diff, numbers, pair):
    numbers(*pair, "--fail-if", "peak_memory > +10%, wall > 1h, proc_hwm_max > 10s", code=1)
    assert [each["result"] for each in numbers.all["limits"]] == ["fail", "ok", "not_judged"]
    assert numbers.all["limits"][0]["before"] == 100 * MIB
    assert "FAIL: peak_memory > +10%" in diff.messages
    assert "wall" not in diff.messages


@pytest.mark.parametrize("limit,column", [
    ("peak_memory >", 13), ("> 10", 0), ("wall > +10s oops", 12), ("wall > 1s,,wall > 2s", 10), ("wall > 2GiB", 7),
    ("peak_memory > 10%", 14),
])
def test_a_wrong_limit_is_pointed_at_before_any_file_is_opened(diff, limit, column):
    assert diff("no-such-run", "nor-this", "--fail-if", limit, code=2) == ""
    _, shown, caret = diff.messages.splitlines()
    assert shown.strip() == limit
    assert caret.index("^") - (len(shown) - len(shown.lstrip())) == column
    assert "no-such-run" not in diff.messages


# Bad input


@pytest.mark.parametrize("args", [[], ["one"], ["one", "two", "three"], ["--against", "x"],
                                  ["--against", "x", "one", "two"]])
def test_another_number_of_runs_is_wrong_usage(diff, args):
    assert diff(*args, code=2) == ""
    assert "diff: " in diff.messages


def test_a_missing_run_is_named(diff, pair):
    assert diff(pair[0], "nothing-there", code=1) == ""
    assert "nothing-there" in diff.messages
    assert diff("--against", "nothing*", pair[0], code=1) == ""
    assert "nothing*" in diff.messages


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b'{"metron_version": "1", "schema_ver', b"[]",
                                     b'{"metron_version": "9.0", "schema_version": "9.0"}'])
def test_damaged_runs_are_named(diff, pair, tmp_path, content):
    (tmp_path / "c_info.json").write_bytes(content)
    assert diff(tmp_path / "c_", pair[0], code=1) == ""
    assert "c_info.json" in diff.messages
    text = diff("--against", f"{tmp_path}/?_info.json", pair[0], code=1)  # the others are still compared with
    assert "1 run:" in text and "c_info.json" in diff.messages


def test_a_lost_run_is_said_to_be_lost(diff):
    diff(RECORDINGS / "metron-ended", RECORDINGS / "metron-lost")
    assert "is lost" in diff.messages


def test_absurd_numbers_do_no_harm(diff, tmp_path):
    make_run(tmp_path / "a_", summary={"io_read_bytes_total": 1e308, "proc_spawned": -1e308})
    make_run(tmp_path / "b_", summary={"io_read_bytes_total": -1e308, "proc_spawned": 1e308})
    assert "inf" not in diff(tmp_path / "a_", tmp_path / "b_").replace("info", "")
    json.loads(diff("--json", tmp_path / "a_", tmp_path / "b_"))


def test_help_tells_the_rules(run_metron):
    text = " ".join(run_metron.metron("diff --help").stdout.decode().split())
    for words in ("--against", "5 %", "10 ms", "--fail-if 'peak_memory > +10%"):
        assert words in text


def test_what_others_held_in_a_shared_group_is_not_compared(numbers, tmp_path):
    """Sums that a sample saw by chance come last, though the headline of one run is a group's that others share."""
    for name, source, memory, mark, resident in (("a_", "cgroup_peak_mem_anon_shmem", 2.96, 1.6, 3.24),
                                                 ("b_", "rusage_max_rss", 1.77, 1.77, 1.67)):
        path = make_run(tmp_path / name, memory=memory * MIB, source=source,
                        top={"provenance": {"cgroup_scope": "inherited"}},
                        summary={"rusage_max_rss": mark * MIB, "proc_peak_rss_total": resident * MIB})
        without(path, "proc_hwm_max", "exit_max_rss_max", "smaps_peak_pss_total")
    peak = numbers(tmp_path / "a_", tmp_path / "b_")["peak_memory"]
    assert (peak["before"], peak["now"], peak["state"]) == (1.6 * MIB, 1.77 * MIB, "same")
    assert peak["compared_by"] == "rusage_max_rss"
