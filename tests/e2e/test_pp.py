"""metron pp: nothing is lost, units are the recording's own, and bad input is named."""

import json
import os
import pathlib
import random
import resource
import subprocess

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "pp"

DUCT = "2026.11.15T18.30.00-4711_"

# name of the screen: (file below RECORDINGS, options)
SCREENS = {
    "metron-info": ("metron-short/info.json", ["-H"]),
    "metron-usage": ("metron-one-point/usage.jsonl", ["-H"]),
    "metron-events": ("metron-killed/events.jsonl", ["-H"]),
    "metron-events-color": ("metron-killed/events.jsonl", ["-H", "--colors", "always"]),
    "metron-syscalls-info": ("metron-syscalls/info.json", ["-H"]),
    "duct-info": (f"duct-0.2.2/{DUCT}info.json", ["-H"]),
    "duct-info-color": (f"duct-0.2.2/{DUCT}info.json", ["-H", "--colors", "always"]),
    "duct-info-exact": (f"duct-0.2.2/{DUCT}info.json", []),
    "duct-usage": (f"duct-0.2.2/{DUCT}usage.json", ["-H"]),
    "duct-usage-lines": (f"duct-jsonl/{DUCT}usage.jsonl", ["-H"]),
}


@pytest.fixture
def pp(run_metron):
    """pp(*arguments, data=…) -> (exit code, stdout, stderr)."""

    def run(*arguments, data=None, runner=run_metron, **how):
        given = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run([*runner.wrapper, runner.binary, "pp", *map(str, arguments)], cwd=runner.cwd,
                              env=runner.environment({"TZ": "UTC"}), capture_output=True, timeout=60, check=False, **given,
                              **how)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


def values(text):
    """The JSON values of a text, one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


# Nothing is lost


@pytest.mark.parametrize("path", sorted(path.relative_to(RECORDINGS).as_posix() for path in RECORDINGS.rglob("*.json*")))
def test_every_recorded_file_is_the_same_when_read_back(pp, path):
    code, out, err = pp(RECORDINGS / path)
    text = (RECORDINGS / path).read_text()
    assert (code, err) == (0, "")
    assert values(out) == values(text)
    # And as numbers are written, which Python does not tell.
    exact = json.JSONDecoder(parse_float=str, parse_int=str)
    assert exact.raw_decode(out)[0] == exact.raw_decode(text)[0]


def random_value(random_, depth=0):
    kind = random_.randrange(9 if depth < 8 else 7)
    if kind == 0:
        return random_.choice([True, False, None])
    if kind == 1:
        return random_.randrange(-10**random_.randrange(1, 40), 10**40)
    if kind == 2:
        return random_.choice([0.1, -0.0, 1e300, 5e-324, random_.random(), random_.uniform(-1e12, 1e12)])
    if kind < 7:
        letters = ["a", "ü", "€", "😀", "\n", "\t", "\x00", "\x1b", "\x7f", "\x9b", "\u2028", '"', "\\", "/", " ", "\ud800"]
        return "".join(random_.choice(letters) for _ in range(random_.randrange(12)))
    if kind == 7:
        return [random_value(random_, depth + 1) for _ in range(random_.randrange(5))]
    return {f"{random_value(random_, 8)}": random_value(random_, depth + 1) for _ in range(random_.randrange(5))}


@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_value_is_the_same_when_read_back(pp, ascii_only):
    random_ = random.Random(11)
    given = [random_value(random_) for _ in range(2000)]
    lines = "".join(json.dumps(value, ensure_ascii=ascii_only) + "\n" for value in given)
    if not ascii_only:  # a lone surrogate has no UTF-8; only as an escape it is text
        lines = lines.replace("\ud800", "\\ud800")
    code, out, err = pp("-", data=lines.encode())
    assert (code, err) == (0, "")
    assert values(out) == given
    for control in "\x1b\x7f\x9b":
        assert control not in out


def test_a_document_over_many_lines_is_one_value(pp, tmp_path):
    random_ = random.Random(12)
    given = {"list": [random_value(random_) for _ in range(500)]}
    (tmp_path / "document").write_text(json.dumps(given, indent=3))
    code, out, err = pp(tmp_path / "document")
    assert (code, err) == (0, "")
    assert out == json.dumps(given, indent=2).replace("\x7f", "\\u007f") + "\n"


def test_nesting_goes_down_to_the_limit(pp):
    for levels, expected in ((64, 0), (65, 1), (100_000, 1)):
        code, out, err = pp("-", data=b"[" * levels + b"]" * levels)
        assert code == expected
        if expected == 0:
            assert values(out) == [json.loads("[" * levels + "]" * levels)]
        else:
            assert "line 1, column 65: more than 64 levels of nesting" in err


def test_two_equal_keys_are_both_shown(pp):
    assert pp("-", data=b'{"a":1,"a":2}')[1] == '{\n  "a": 1,\n  "a": 2\n}\n'


def test_no_file_is_stdin(pp):
    assert pp(data=b"[1]")[1] == "[\n  1\n]\n"
    assert pp("-", data=b"[1]")[1] == "[\n  1\n]\n"


def test_several_files_have_head_lines(pp, tmp_path):
    for name in ("one", "two\x1b[31m"):
        (tmp_path / name).write_text("[]")
    code, out, _ = pp(tmp_path / "one", tmp_path / "two\x1b[31m")
    assert code == 0
    assert out == f"==> {tmp_path}/one <==\n[]\n\n==> {tmp_path}/two\\x1b[31m <==\n[]\n"


# Runs


@pytest.mark.parametrize("named", ["metron-ended", "metron-ended/", f"duct-0.2.2/{DUCT}", "duct-0.2.2"])
def test_a_run_by_its_prefix_or_folder_is_its_info(pp, named):
    info, = (RECORDINGS / named.split("/")[0]).glob("*info.json")
    for options in ([], ["-H"]):
        assert pp(*options, f"{RECORDINGS}/{named}") == pp(*options, info)
    assert pp(info)[0] == 0


def test_the_head_line_of_a_run_names_the_file_that_is_shown(pp):
    out = pp(f"{RECORDINGS}/metron-ranks/rank0_", RECORDINGS / "metron-short")[1]
    assert out.startswith(f"==> {RECORDINGS}/metron-ranks/rank0_info.json <==\n{{\n")
    assert f"\n\n==> {RECORDINGS}/metron-short/info.json <==\n{{\n" in out


def test_a_folder_with_several_runs_does_not_tell_which_is_meant(pp):
    code, out, err = pp(RECORDINGS / "metron-ranks")
    assert (code, out) == (1, "")
    assert err == f"metron: error: {RECORDINGS}/metron-ranks: 3 runs in this folder; name one of them\n"


def test_a_file_of_a_run_that_is_missing_is_not_the_info_beside_it(pp, tmp_path):
    (tmp_path / "x_info.json").write_text("[1]")
    assert pp(tmp_path / "x_")[1] == "[\n  1\n]\n"
    for name in ("x_usage.jsonl", "x_events.jsonl", "x_usage.json", "x_stdout"):
        code, out, err = pp(tmp_path / name)
        assert (code, out) == (1, "")
        assert err == f"metron: error: {tmp_path}/{name}: No such file or directory\n"


# How it is shown


def test_a_pipe_is_followed(run_metron):
    process = subprocess.Popen([run_metron.binary, "pp"], cwd=run_metron.cwd, env=run_metron.environment(),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for number in range(3):
        process.stdin.write(b'{"a": %d}\n' % number)
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(3)] == [b"{\n", b'  "a": %d\n' % number, b"}\n"]
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


def test_a_terminal_gets_colours_and_a_bare_pp_there_asks_for_a_file(run_metron, open_terminal, tmp_path):
    (tmp_path / "f").write_text('{"a": 1}')
    screen = open_terminal([run_metron.binary, "pp", str(tmp_path / "f")], run_metron.cwd, run_metron.environment())
    assert screen.finish() == 0
    assert b"\x1b[36m\"a\"\x1b[0m: \x1b[33m1\x1b[0m" in screen.seen
    screen = open_terminal([run_metron.binary, "pp"], run_metron.cwd, run_metron.environment())
    assert screen.finish() == 2
    assert b"which file or run?" in screen.seen


# Numbers for people


@pytest.mark.parametrize("name", SCREENS)
def test_the_screen_is_as_it_was_looked_at(pp, name):
    path, options = SCREENS[name]
    code, out, err = pp(*options, RECORDINGS / path)
    assert (code, err) == (0, "")
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(out)
    assert out == golden.read_text()


def test_every_measured_number_with_a_unit_has_it(pp):
    """By the registry in the file itself: what is bytes there has a B behind it, and so on."""
    endings = {"bytes": "B", "seconds": ("s", "min", "h"), "percent": "%", "bytes_per_second": "B/s"}
    info = json.loads((RECORDINGS / "metron-ended/info.json").read_text())
    units = {key: entry["unit"] for key, entry in info["provenance"]["measurements"].items()}
    record = json.loads((RECORDINGS / "metron-ended/usage.jsonl").read_text().splitlines()[0])["measurements"]
    shown = dict(line.strip().split(": ", 1) for line in
                 pp("-H", RECORDINGS / "metron-ended/usage.jsonl")[1].split("\n}\n")[0].splitlines()
                 if ": " in line and not line.endswith("{"))
    checked = 0
    for key, value in record.items():
        plain = key.replace("_ave_", "_", 1)
        unit = units[key] if key in units else units[plain]
        if isinstance(value, (int, float)) and unit in endings:
            assert shown[f'"{key}"'].endswith(endings[unit]), key
            checked += 1
    assert checked > 40
    summary = {line.strip().split(": ", 1)[0].strip('"'): line.strip().split(": ", 1)[1] for line in
               pp("-H", RECORDINGS / "metron-ended/info.json")[1].splitlines() if ": " in line}
    assert summary["proc_peak_rss_total"] == "106 MiB"
    assert summary["wall_clock_time"] == "4.16 s"
    assert summary["exit_code"] == "0"


def test_stdin_has_units_only_of_an_info(pp):
    code, out, err = pp("-H", data=(RECORDINGS / "metron-ended/info.json").read_bytes())
    assert (code, err) == (0, "")
    assert '"memory_total": 23.5 GiB' in out
    data = (RECORDINGS / "metron-ended/usage.jsonl").read_bytes()
    code, out, err = pp("-H", data=data)
    assert code == 0
    assert "numbers stay as they are" in err
    assert len(values(out)) == len(data.splitlines())  # still JSON


def test_a_file_that_is_no_recording_keeps_its_numbers(pp, tmp_path):
    (tmp_path / "other.json").write_text('{"elapsed": 90, "wall_clock_time": 61}')
    code, out, err = pp("-H", tmp_path / "other.json")
    assert code == 0
    assert '"elapsed": 90' in out
    assert err.count("\n") == 1 and "other.json" in err


def test_a_damaged_info_beside_is_told(pp, tmp_path):
    (tmp_path / "usage.jsonl").write_text('{"elapsed": 90, "measurements": {}}\n')
    (tmp_path / "info.json").write_text('{"metron_version": ')
    code, out, err = pp("-H", tmp_path / "usage.jsonl")
    assert code == 0
    assert '"elapsed": 90' in out
    assert "info.json" in err


# Bad input


def test_a_damaged_line_is_named_and_the_rest_is_shown(pp, tmp_path):
    lines = ['{"a": 1}', '{"a": ', "", '{"a": 3}', "[1,2", '"\\q"', '{"a": 5}', '{"cut": "of']
    (tmp_path / "usage.jsonl").write_text("\n".join(lines))
    code, out, err = pp(tmp_path / "usage.jsonl")
    assert code == 1
    assert values(out) == [{"a": 1}, {"a": 3}, {"a": 5}]
    for line, column in ((2, 7), (5, 5), (6, 2), (8, 9)):
        assert f"usage.jsonl: line {line}, column {column}: " in err
    assert err.count("\n") == 4


def test_a_first_line_that_is_damaged_does_not_hide_the_rest(pp, tmp_path):
    (tmp_path / "usage.json").write_text('{"a": \n{"a": 2}\n{"a": 3}\n')
    code, out, err = pp(tmp_path / "usage.json")
    assert code == 1
    assert values(out) == [{"a": 2}, {"a": 3}]
    assert "usage.json: line 1, column 7: " in err


def test_noise_is_not_told_line_by_line(pp, tmp_path):
    (tmp_path / "noise.jsonl").write_text("noise\n" * 1000)
    code, out, err = pp(tmp_path / "noise.jsonl")
    assert (code, out) == (1, "")
    assert err.count("\n") == 11
    assert "990 more lines are no JSON" in err


@pytest.mark.parametrize("content, said", [
    (b"", "empty, there is nothing to show"),
    (b" \n\n", "empty, there is nothing to show"),
    (b"hello world\n", "line 1, column 1: no JSON value"),
    (b"\x7fELF\x02\x01\x01\0\0\0\0", "binary, no JSON"),
    (b'{\n  "a": 1,\n  "b": [1, 2\n}\n', "line 4, column 1: neither a comma nor ] behind a value of an array"),
    (b'{\n  "a": 1,\n  "b"', "line 3, column 6: no colon behind a key"),
    (b"\xef\xbb\xbf{}", "line 1, column 1: no JSON value"),
])
def test_what_is_no_json_is_said_in_one_line(pp, tmp_path, content, said):
    (tmp_path / "file").write_bytes(content)
    code, out, err = pp(tmp_path / "file")
    assert (code, out) == (1, "")
    assert err == f"metron: error: {tmp_path}/file: {said}\n"


def test_what_cannot_be_read_is_said_and_the_others_are_shown(pp, tmp_path):
    (tmp_path / "good").write_text("[1]")
    code, out, err = pp(tmp_path / "missing", tmp_path, tmp_path / "good")
    assert code == 1
    assert "[\n  1\n]\n" in out
    assert f"{tmp_path}/missing: there is no such run, and none is recorded in '{tmp_path}'\n" in err
    assert f"{tmp_path}: no run in this folder: nothing in it ends in info.json\n" in err
    assert err.count("\n") == 2
    assert out.startswith(f"==> {tmp_path}/good <==\n")


def test_an_empty_path_is_said(pp):
    assert pp("") == (1, "", "metron: error: an empty path names no file and no run\n")


def test_no_permission_is_said(pp, run_as_user):
    secret = run_as_user.cwd / "secret.json"
    secret.write_text("[1]")
    secret.chmod(0)
    code, out, err = pp(secret, runner=run_as_user)
    assert (code, out) == (1, "")
    assert err == f"metron: error: {secret}: Permission denied\n"


def test_a_full_disk_is_said(run_metron, tmp_path):
    (tmp_path / "f").write_text("[1]")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([run_metron.binary, "pp", tmp_path / "f"], cwd=run_metron.cwd, stdout=full,
                              stderr=subprocess.PIPE, env=run_metron.environment(), check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == b"metron: error: cannot write to stdout: No space left on device\n"


# Size


def pp_within(mib, path, run_metron):
    """pp with so much memory and no more: (exit code, stderr)."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))

    done = subprocess.run([run_metron.binary, "pp", str(path)], cwd=run_metron.cwd, env=run_metron.environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          preexec_fn=limit, check=False, timeout=120)
    return done.returncode, done.stderr.decode()


@pytest.mark.plain
def test_a_long_file_takes_little_memory(run_metron, tmp_path):
    line = b'{"elapsed": 1.5, "measurements": {"proc_rss_total": 123456}}\n'
    (tmp_path / "usage.jsonl").write_bytes(line * 1_500_000)  # 90 MB
    assert pp_within(32, tmp_path / "usage.jsonl", run_metron) == (0, "")


@pytest.mark.parametrize("name, begin, said", [
    ("zeros", b"", "binary, no JSON"),
    ("document", b'["', "no lines of JSON, and as a document it is too large (more than 64 MiB)"),
    ("lines.jsonl", b'{"', "line 1: longer than 64 MiB"),
])
@pytest.mark.plain
def test_a_gigabyte_without_a_line_end_is_refused_in_bounded_memory(run_metron, tmp_path, name, begin,
                                                                    said):
    path = tmp_path / name
    with open(path, "wb") as file:
        file.write(begin)
        if begin:
            for _ in range(80):
                file.write(b" " * (1 << 20))
        file.truncate(1 << 30)  # the rest is a hole
    answer = pp_within(192, path, run_metron)
    path.unlink()
    assert answer == (1, f"metron: error: {path}: {said}\n")


@pytest.mark.plain
def test_many_small_values_do_not_swell(run_metron, tmp_path):
    """Each of 5 million values gets a line with an indent of 120, 600 MB in all: that is never held whole."""
    (tmp_path / "f").write_bytes(b"[" * 60 + b"1" + b",1" * 5_000_000 + b"]" * 60)
    assert pp_within(64, tmp_path / "f", run_metron) == (0, "")


@pytest.mark.parametrize("name", ["run", "run/", "run/x_"])
def test_a_pipe_that_nobody_named_is_not_waited_for(pp, run_metron, name):
    (run_metron.cwd / "run").mkdir()
    os.mkfifo(run_metron.cwd / "run" / ("x_info.json" if name.endswith("x_") else "info.json"))
    code, out, message = pp(name)
    assert code == 1 and not out and "not a regular file" in message and message.count("\n") == 1


def test_a_pipe_that_is_named_is_followed(pp, run_metron):
    os.mkfifo(run_metron.cwd / "pipe")
    writer = subprocess.Popen(["sh", "-c", "echo '{\"a\":1}' > pipe"], cwd=run_metron.cwd)
    code, out, message = pp("pipe")
    assert writer.wait(60) == 0
    assert (code, json.loads(out), message) == (0, {"a": 1}, "")
