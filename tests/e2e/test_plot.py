"""metron plot: pictures and screens of recorded runs, of any length, and honest about what it cannot draw."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree
import zlib

import pytest

from support import made_recording
from support.processes import wait_until

TESTS = pathlib.Path(__file__).resolve().parents[1]
RECORDINGS = TESTS / "fixtures" / "recordings"
GOLDEN = TESTS / "golden" / "plot"
DUCT = "duct-jsonl/2026.11.15T18.30.00-4711_info.json"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def plot(run_metron):
    """plot(*args) -> Run of `metron plot`."""

    def run(*args, env=None, timeout=120):
        env = {"LC_ALL": "C.UTF-8", "TZ": "UTC", **(env or {})}
        return run_metron.metron(["plot", *map(str, args)], env=env, timeout=timeout)

    return run


@pytest.fixture
def picture(plot, programs, tmp_path):
    """picture(name, *args) -> the bytes of a picture that was drawn."""
    if not (programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures (cairo is missing)")

    def draw(name, *args):
        path = tmp_path / name
        done = plot("-o", path, *args)
        assert done.returncode == 0, done.stderr
        assert done.stdout == b""
        assert not [each for each in tmp_path.glob(f"*{name}*") if each != path]  # nothing is left beside it
        return path.read_bytes()

    return draw


def read_png(data):
    """(width, height, rows of RGB or RGBA bytes) of a PNG, decoded here: the five filters of its standard."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, compressed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            compressed += body
        at += 12 + length
    assert depth == 8 and color in (2, 6)
    step = 3 if color == 2 else 4
    raw, rows, before = zlib.decompress(compressed), [], bytes(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        row = bytearray(raw[start + 1:start + 1 + width * step])
        rows.append(_unfilter(raw[start], row, before, step))
        before = rows[-1]
    return width, height, rows, step


def _unfilter(kind, row, before, step):
    for i in range(len(row)):
        left = row[i - step] if i >= step else 0
        corner = before[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = before[i]
        elif kind == 3:
            guess = (left + before[i]) // 2
        elif kind == 4:
            near = left + before[i] - corner
            guess = min((abs(near - left), 0, left), (abs(near - before[i]), 1, before[i]),
                        (abs(near - corner), 2, corner))[2]
        else:
            guess = 0
        row[i] = (row[i] + guess) & 255
    return row


def colours(data):
    """{(red, green, blue): pixels}"""
    width, _, rows, step = read_png(data)
    counts = {}
    for row in rows:
        for x in range(0, width * step, step):
            pixel = bytes(row[x:x + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
    return counts


def is_near(pixel, colour):
    """The colour itself, or mixed with white at its edges; a tint is not."""
    shares = [(255 - a) / (255 - b) for a, b in zip(pixel, colour)]
    return min(shares) > 0.35 and max(shares) < 1.2 and max(shares) - min(shares) < 0.2


def drawn_in(data, colour):
    return sum(count for pixel, count in colours(data).items() if is_near(pixel, colour))


BLUE, GREEN, RED = (0, 115, 179), (0, 158, 115), (191, 18, 33)


# ---- pictures ----


def test_a_png_has_the_asked_size_and_is_not_blank(picture):
    data = picture("run.png", "--size", "640x400", RECORDINGS / "metron-ended")
    width, height, _, _ = read_png(data)
    assert (width, height) == (640, 400)
    assert drawn_in(data, BLUE) > 300 and drawn_in(data, GREEN) > 300
    assert colours(data)[b"\xff\xff\xff"] > 0.5 * 640 * 400


def test_an_oom_kill_and_its_limit_are_red(picture):
    assert drawn_in(picture("oom.png", "--size", "400x300", RECORDINGS / "metron-oom"), RED) > 100
    assert drawn_in(picture("ended.png", "--size", "400x300", RECORDINGS / "metron-ended"), RED) == 0


def test_an_svg_is_well_formed_and_says_what_it_shows(picture):
    tree = xml.etree.ElementTree.fromstring(picture("run.svg", RECORDINGS / "metron-ended"))
    assert tree.tag == SVG + "svg"
    assert tree.find(SVG + "title").text == "python3 simulate.py 4.5"
    words = tree.find(SVG + "desc").text
    assert "exited with code 0 · 4.16 s" in words
    info = json.loads((RECORDINGS / "metron-ended" / "info.json").read_text())
    keys = set(info["provenance"]["measurements"])
    named = set(re.findall(r"[a-z]+_[a-z_]+", words))
    assert {"proc_pdcpu_total", "proc_pdcpu", "proc_rss_total", "smaps_pss_total"} <= named
    assert {key for key in named if "_ave_" not in key} <= keys


def test_a_pdf_is_one(picture):
    data = picture("run.pdf", RECORDINGS / "metron-ended")
    assert data.startswith(b"%PDF-1.") and b"%%EOF" in data[-32:]
    if shutil.which("pdfinfo"):
        told = subprocess.run(["pdfinfo", "-"], input=data, capture_output=True, check=True).stdout
        assert b"1200 x 800" in told and b"simulate.py" in told


@pytest.mark.parametrize("name", ["metron-short", "metron-one-point", "metron-killed", "metron-lost",
                                  "metron-running", "metron-syscalls", "duct-0.2.0", "duct-0.2.1",
                                  "duct-0.2.2", "duct-0.2.3", "duct-failed", "duct-jsonl"])
def test_every_kind_of_recording_is_drawn(picture, name):
    data = picture("run.png", "--size", "400x300", RECORDINGS / name)
    # duct-failed: no process is a second old, so what they used is not known.
    assert (drawn_in(data, BLUE) > 30) == (name != "duct-failed") and drawn_in(data, GREEN) > 30


def test_hostile_commands_are_drawn_as_text(picture, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(RECORDINGS / "metron-short", run)
    info = json.loads((run / "info.json").read_text())
    command = "</title><script>&\u0001\u009b \ud83d\ude00" + "x" * 100_000
    info["command"] = info["execution_summary"]["command"] = command
    (run / "info.json").write_text(json.dumps(info))
    tree = xml.etree.ElementTree.fromstring(picture("run.svg", run))
    assert tree.find(SVG + "title").text.startswith("</title><script>&\\x01\\xc2\\x9b")
    assert drawn_in(picture("run.png", "--size", "400x300", run), BLUE) > 100


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o027])
def test_a_picture_is_as_readable_as_the_umask_says(picture, tmp_path, umask):
    before = os.umask(umask)
    try:
        picture("run.svg", RECORDINGS / "metron-short")
    finally:
        os.umask(before)
    assert (tmp_path / "run.svg").stat().st_mode & 0o777 == 0o666 & ~umask


# ---- long runs ----


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """A week in 600,000 records of 300 bytes, of which one is far above all others."""
    return made_recording.make_long(tmp_path_factory.mktemp("week"), peak_at=400_000)


@pytest.mark.plain  # a sanitizer takes half a minute to draw it
def test_one_record_in_a_week_that_is_high_is_seen(picture, week):
    """24 GiB for one second, in a week of less than 16: the line reaches up there, once."""
    width, height, rows, step = read_png(picture("week.png", week))
    above = [x for x in range(100, width - 30)
             if is_near(rows[460][x * step:x * step + 3], GREEN)]
    assert len(above) in (1, 2, 3) and abs(above[0] / width - 400 / 600) < 0.05


def test_thousands_of_processes_are_counted_and_the_large_one_shown(picture, tmp_path):
    run = made_recording.make_crowded(tmp_path / "crowd", seconds=200)
    words = picture("crowd.svg", run).decode()
    usage = [json.loads(line) for line in (run / "usage.jsonl").read_text().splitlines()]
    pids = {pid for record in usage for pid in record["measurements"]["proc_rss"]}
    assert len(pids) > 500
    tree = xml.etree.ElementTree.fromstring(picture("rss.svg", "--keys", "proc_rss", run))
    named = re.findall(r"(\d+) cc1", tree.find(SVG + "desc").text)
    peaks = {pid: max(record["measurements"]["proc_rss"].get(pid, 0) for record in usage) for pid in pids}
    assert named == sorted(pids, key=lambda pid: -peaks[pid])[:7]
    assert "proc_rss_total" in words


def test_one_spawn_is_seen_beside_a_burst(picture, tmp_path):
    """A bar is as high as the root of its spawns: 25 of them are five times as high as one."""
    run = made_recording.make_long(tmp_path / "burst", records=10)
    times = [made_recording.stamp(elapsed) for elapsed in [2] + 25 * [6]]
    (run / "events.jsonl").write_text("".join(
        json.dumps({"timestamp": time, "event_type": "spawn", "pid": pid, "seen": "event"}) + "\n"
        for pid, time in enumerate(times, 1000)))
    # The first in this colour is the one that explains it.
    path = re.findall(r"<path[^>]*rgb\(45%, ?50%, ?58%\)[^>]*>", picture("burst.svg", run).decode())[-1]
    bars = [[float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", bar)] for bar in path.split("Z")[:-1]]
    low, high = [max(bar) - min(bar) for bar in bars]
    assert high == pytest.approx(5 * low, rel=0.05)


# ---- the terminal ----

SCREENS = [("80", "24", "never"), ("80", "24", "always"), ("200", "50", "never"), ("200", "50", "always")]


@pytest.mark.parametrize("columns, lines, colors", SCREENS, ids=lambda each: each)
@pytest.mark.parametrize("name, run, args", [
    ("ended", "metron-ended", []),
    ("oom", "metron-oom", []),
    ("one-point", "metron-one-point", []),
    ("duct", DUCT, []),
    ("keys", "metron-ended", ["--keys", "io_*_rate_total,proc_rss,proc_processes"]),
    ("processes", "metron-ended", ["--keys", "proc_rss"]),
], ids=lambda each: each if isinstance(each, str) else "")
def test_screens_are_as_they_were_looked_at(plot, name, run, args, columns, lines, colors):
    done = plot("--colors", colors, *args, RECORDINGS / run, env={"COLUMNS": columns, "LINES": lines})
    assert done.returncode == 0
    assert done.stderr == b"" or re.fullmatch(rb"metron: only \d+ records?: metron run .*\n",
                                              re.sub(rb"\033\[[0-9;]*m", b"", done.stderr))
    text = done.stdout.decode()
    plain = re.sub("\033\\[[0-9;]*m", "", text)
    assert len(plain.splitlines()) <= int(lines)
    assert max(map(len, plain.splitlines())) <= int(columns)
    assert (plain == text) == (colors == "never")
    golden = GOLDEN / f"{name}-{columns}{'-color' if colors == 'always' else ''}.txt"
    if os.environ.get("METRON_UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_a_terminal_is_filled_in_colour(run_metron, open_terminal):
    terminal = open_terminal([run_metron.binary, "plot", RECORDINGS / "metron-ended"], cwd=run_metron.cwd,
                             env=run_metron.environment({"TERM": "xterm", "LC_ALL": "C.UTF-8"}), rows=40, columns=120)
    assert terminal.finish() == 0
    lines = terminal.seen.decode().splitlines()
    assert len(lines) == 39  # the prompt comes back in the last
    assert "\033[36m" in lines[4] and any("\033[1;36m" in line for line in lines[5:])
    assert max(len(re.sub("\033\\[[0-9;]*m", "", line)) for line in lines) == 120


def test_a_pipe_gets_80_by_24_without_colours(plot):
    done = plot(RECORDINGS / "metron-ended", env={"COLUMNS": "", "LINES": ""})
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 24 and max(map(len, lines)) == 80 and b"\033" not in done.stdout


def test_size_is_kept(plot):
    lines = plot("--size", "100x30", RECORDINGS / "metron-ended").stdout.decode().splitlines()
    assert len(lines) == 30 and max(map(len, lines)) == 100


@pytest.mark.parametrize("locale, unicode", [
    ("C", False), ("POSIX", False), ("C.UTF-8", True), ("xx_XX.UTF-8", True), ("xx_XX.ISO-8859-1", False)])
def test_only_a_locale_of_unicode_gets_unicode(plot, locale, unicode):
    for args in [], ["--keys", "proc_rss", "--colors", "always"]:
        done = plot(*args, RECORDINGS / "metron-oom", env={"LC_ALL": locale})
        assert done.returncode == 0 and done.stdout.isascii() != unicode
        assert max(map(len, re.sub("\033\\[[0-9;]*m", "", done.stdout.decode()).splitlines())) <= 80


# ---- what is said ----


def test_a_run_of_one_record_says_so(plot, picture, run_metron):
    run_metron("--sample-interval 1 --report-interval 60", "sleep 2")
    run = run_metron.cwd / "run_"
    done = plot(run)
    title = done.stdout.decode().splitlines()[1]
    assert re.search(r" · 1 record of 2(\.\d+)? s$", title), title
    assert b"only 1 record: metron run records more often with its default intervals" in done.stderr
    assert "1 record of 2" in picture("run.svg", run).decode()
    assert plot("--log-level", "warning", run).stderr == b""


def test_the_record_count_is_not_cut_off(plot):
    title = plot("--size", "80x24", RECORDINGS / "metron-oom").stdout.decode().splitlines()[1]
    assert title.startswith("exited with code 137;") and title.endswith("… · 1.32 s · 3 records of up to 501 ms")


@pytest.mark.parametrize("zone, start", [("UTC", "18:21:54 UTC"), ("XYZ-5:30", "23:51:54 +05:30"),
                                         ("XYZ+3", "15:21:54 -03:00")])
def test_the_start_is_told_with_the_zone_of_the_reader(plot, zone, start):
    title = plot("--size", "200x40", RECORDINGS / "metron-oom", env={"TZ": zone}).stdout.decode().splitlines()[1]
    assert f" · 2026-11-15 {start} · " in title


def test_con_duct_and_metron_tell_the_start_in_one_zone(plot):
    title = plot(RECORDINGS / DUCT, env={"TZ": "XYZ-1"}).stdout.decode().splitlines()[1]
    assert title.endswith(" · 2026-11-15 19:23:54 +01:00")


def test_a_panel_of_processes_says_how_many_there_are(plot, tmp_path):
    run = made_recording.make_crowded(tmp_path / "crowd", jobs=40, seconds=30)
    for colors in ("never", "always"):
        screen = plot("--keys", "proc_rss", "--color", colors, run).stdout.decode()
        assert "proc_rss (GiB), the 7 largest of 41 processes" in screen


def test_a_high_water_mark_is_a_level_and_no_curve(plot):
    info = json.loads((RECORDINGS / "metron-one-point" / "info.json").read_text())
    source = info["headline"]["peak_memory_bytes"]["source"]
    assert info["provenance"]["measurements"][source]["reduce"] == "last"
    screen = plot(RECORDINGS / "metron-one-point").stdout.decode()
    assert f"┈┈ peak 40 MiB, {source}" in screen and f"⡏⠉ {source}" not in screen
    sources = [each["source"].replace("_peak_", "_") for each in info["peak_memory"]]
    curves = [each for each in sources if info["provenance"]["measurements"][each]["reduce"] == "max"]
    assert f"⡏⠉ {curves[0]}, highest in each record" in screen


def test_con_ducts_lifetime_average_is_no_rate(plot):
    """By default the estimate; the other on request, called what it is."""
    default = plot(RECORDINGS / DUCT).stdout.decode()
    assert "total_pcpu_rate (an estimate" in default and "total_pcpu " not in default
    asked = plot("--cpu", "total_pcpu", RECORDINGS / DUCT).stdout.decode()
    assert "total_pcpu (an average over the life of each process, not a rate)" in asked


def test_short_processes_of_con_duct_have_no_rate_and_it_is_said(plot):
    said = "processes too short for a rate; --cpu ps-pcpu draws ps's averages"
    assert said in plot(RECORDINGS / "duct-failed").stdout.decode()
    assert said not in plot(RECORDINGS / DUCT).stdout.decode()
    asked = plot("--cpu", "ps-pcpu", RECORDINGS / "duct-failed").stdout.decode()
    assert said not in asked and "no values" not in asked


@pytest.mark.parametrize("name, words", [
    ("metron-killed", "killed by SIGKILL"), ("metron-oom", "OOM killer"), ("metron-lost", "lost: "),
    ("duct-failed", "exited with code 137")])
def test_the_title_says_how_it_ended(plot, name, words):
    assert words in plot("--size", "200x30", RECORDINGS / name).stdout.decode().splitlines()[1]


def test_a_run_that_still_runs_is_called_so(run_metron, plot):
    started = run_metron.start("--sample-interval 0.05 --report-interval 0.1", "sleep 600")
    done = wait_until(lambda: (done := plot(run_metron.cwd / "run_")).returncode == 0 and done, what="a run to plot")
    assert "still running" in done.stdout.decode().splitlines()[1]
    started.process.terminate()
    started.finish(check=False)


# ---- what goes wrong ----


def refuses(done, code, *words):
    assert done.returncode == code
    assert done.stdout == b""
    message = done.stderr.decode()
    assert message.count("\n") == 1
    for word in words:
        assert word in message


def test_wrong_usage_is_told(plot, tmp_path):
    run = RECORDINGS / "metron-ended"
    refuses(plot(), 1, "which run?")
    refuses(plot(run, run), 2, "one run at a time")
    refuses(plot("-o", "run.gif", run), 2, "'run.gif'", ".svg", ".png", ".pdf")
    refuses(plot("-o", "png", run), 2, "'png'")
    refuses(plot("--size", "80by24", run), 2, "'80by24'")
    refuses(plot("-o", "a.png", "--size", "100000x100000", run), 2, "--size")
    refuses(plot("--cpu", "proc_pdcpu_totl", run), 2, "'proc_pdcpu_totl'", "did you mean 'proc_pdcpu_total'")
    refuses(plot("--memory", "proc_pdcpu_total", run), 2, "percent", "not in bytes")
    refuses(plot("--keys", "gpu_*", run), 2, "'gpu_*'")
    refuses(plot("--keys", "proc_cmd", run), 2, "words")
    refuses(plot("--keys", "*", run), 2, "too many")
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("output", [[], ["-o", "run.png"]], ids=["terminal", "png"])
def test_too_little_room_is_told(plot, run_metron, programs, output):
    if output and not (programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures (cairo is missing)")
    size = "200x200" if output else "80x12"
    refuses(plot(*output, "--size", size, "--keys", "cgroup_*", RECORDINGS / "metron-ended"), 1, "too", "--size")
    assert not (run_metron.cwd / "run.png").exists()


def test_a_missing_run_is_told(plot, tmp_path):
    refuses(plot(tmp_path / "nothing_"), 1, "nothing_")
    refuses(plot("-o", tmp_path / "a.png", tmp_path / "nothing_"), 1, "nothing_")
    assert not (tmp_path / "a.png").exists()


@pytest.fixture
def copied(tmp_path):
    """A recording to be damaged."""
    run = tmp_path / "run"
    shutil.copytree(RECORDINGS / "metron-ended", run)
    return run


@pytest.mark.parametrize("output", [[], ["-o", "run.png"]], ids=["terminal", "png"])
def test_a_run_without_records_is_told(plot, run_metron, copied, output):
    (copied / "usage.jsonl").write_text("")
    refuses(plot(*output, copied), 1, "no records")
    (copied / "usage.jsonl").write_text("what\nis\n\x00this\n")
    refuses(plot(*output, copied), 1, "usage.jsonl: 3 damaged lines (the first is line 1)", "nothing to draw")
    (copied / "usage.jsonl").unlink()
    refuses(plot(*output, copied), 1, "usage")
    assert not (run_metron.cwd / "run.png").exists()


def test_what_is_cut_off_is_drawn_so_far_and_told(plot, copied):
    usage = copied / "usage.jsonl"
    usage.write_bytes(usage.read_bytes()[:-300])
    done = plot(copied)
    assert done.returncode == 0 and "proc_pdcpu_total" in done.stdout.decode()
    assert "usage.jsonl: 1 damaged line passed over, line 9" in done.stderr.decode()


def test_damaged_lines_are_counted(plot, copied, picture, tmp_path):
    usage = copied / "usage.jsonl"
    lines = usage.read_bytes().splitlines(keepends=True)
    usage.write_bytes(b"".join([*lines[:2], b"\x00\xff binary\n", b'{"elapsed": "x"}\n', *lines[2:], lines[0]]))
    done = plot(copied)
    assert done.returncode == 0
    assert "2 damaged lines passed over, the first is line 3" in done.stderr.decode()
    assert "1 record left out: the time in them goes back" in done.stderr.decode()
    done = plot("-o", tmp_path / "a.svg", copied)
    assert "2 damaged lines" in done.stderr.decode() and (tmp_path / "a.svg").exists()


def test_numbers_that_cannot_be_do_no_harm(plot, copied, picture):
    usage = copied / "usage.jsonl"
    text = usage.read_text()
    usage.write_text(re.sub(r'"proc_rss_total":\d+', '"proc_rss_total":1e99', text, count=3))
    assert drawn_in(picture("a.png", "--size", "400x300", "--memory", "proc_rss_total", copied), BLUE) > 100
    usage.write_text(re.sub(r'"elapsed":[\d.]+', '"elapsed":1e11', text, count=1))
    assert plot(copied).returncode == 0
    usage.write_text(re.sub(r'"proc_pdcpu_total":[\d.]+', '"proc_pdcpu_total":-5e9', text))
    assert plot(copied).returncode == 0


def test_a_failed_picture_leaves_what_was_there(plot, run_as_user, tmp_path):
    folder, recording = run_as_user.cwd / "out", run_as_user.cwd / "recording"
    shutil.copytree(RECORDINGS / "metron-ended", recording)
    folder.mkdir()
    old = folder / "run.png"
    old.write_text("old")
    folder.chmod(0o555)
    done = run_as_user.metron(["plot", "-o", str(old), str(recording)])
    if not (run_as_user.programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures (cairo is missing)")
    refuses(done, 1, "run.png", "Permission denied")
    assert [each.name for each in folder.iterdir()] == ["run.png"] and old.read_text() == "old"
    refuses(plot("-o", tmp_path / "no" / "such" / "run.svg", RECORDINGS / "metron-ended"), 1, "run.svg")


def test_a_full_disk_leaves_nothing(plot, full_disk, programs):
    if not (programs / "metron-plot").exists():
        pytest.skip("this build draws no pictures (cairo is missing)")
    folder = full_disk(8192)
    refuses(plot("-o", folder / "run.png", RECORDINGS / "metron-ended"), 1, "run.png", "space")
    assert not list(folder.iterdir())


def test_no_permission_is_told(run_as_user, tmp_path):
    run = run_as_user.cwd / "run"
    shutil.copytree(RECORDINGS / "metron-ended", run)
    (run / "usage.jsonl").chmod(0)
    if os.getuid() != 0:
        pytest.skip("needs another user's file")
    done = run_as_user.metron(["plot", str(run)])
    refuses(done, 1, "usage.jsonl", "ermission")


def test_a_build_without_cairo_says_so(run_metron, programs, tmp_path):
    lonely = tmp_path / "alone"
    lonely.mkdir()
    shutil.copy(programs / "metron", lonely / "metron")
    done = subprocess.run([lonely / "metron", "plot", "-o", tmp_path / "a.png", RECORDINGS / "metron-ended"],
                          env=run_metron.environment(), capture_output=True, check=False)
    refuses(done, 1, "draws no pictures", "cairo")
    done = subprocess.run([lonely / "metron", "plot", RECORDINGS / "metron-ended"],
                          env=run_metron.environment(), capture_output=True, check=False)
    assert done.returncode == 0 and b"proc_pdcpu_total" in done.stdout


def test_metron_itself_links_no_cairo(programs):
    if shutil.which("ldd") is None:
        pytest.skip("ldd is missing")
    linked = subprocess.run(["ldd", programs / "metron"], capture_output=True, check=True).stdout
    assert b"cairo" not in linked
