"""The summary on stderr: short, human, formatted as asked, coloured only where wanted."""

import os
import re
import signal
import subprocess

import pytest

from support.made_runs import RECORDINGS
from support.processes import send_signal

GREEN, RED = re.compile(r"\x1b\[[0-9;]*32m"), re.compile(r"\x1b\[[0-9;]*31m")


def test_builtin_summary_is_short_and_tells_the_essentials(run_metron):
    run = run_metron("--sample-interval 0.1", [run_metron.workload("burn"), "0.5"])
    lines = run.message.strip().splitlines()
    assert 3 <= len(lines) <= 16
    text = run.message.lower()
    for word in ("exit", "cpu", "memory", "process", "metron"):
        assert word in text, word
    assert re.search(r"(after|wall)\D*[\d.]+ (ms|s)\b", text), "wall time"
    assert "%" in text and ("mib" in text or "kib" in text)
    assert run.info["headline"]["peak_memory_bytes"]["source"] in run.message, "the method is named"
    assert "\x1b" not in run.message, "no colour where there is no terminal"
    assert max(len(line) for line in lines) <= 110


def test_ls_says_of_the_recording_what_run_said(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "sleep 30 & sleep 0.3; exit 3"], check=False)
    listed = subprocess.run([run_metron.binary, "ls", "-f", "summaries", str(run.path("info.json"))], check=True,
                            cwd=run_metron.cwd, capture_output=True, text=True, env=run_metron.environment({}))
    said, found = run.message.strip().splitlines(), listed.stdout.strip().splitlines()
    for pid in re.findall(r" (\d+) sleep 30", run.message):
        send_signal(int(pid), signal.SIGKILL)
    assert any("outlived" in line and "sleep 30" in line for line in said)
    only_listed = ("  command", "  started", "  record")
    assert [line for line in found if not line.startswith(only_listed)] == [
        line for line in said if not line.startswith(only_listed)]


def test_summary_goes_to_stderr_only(run_metron):
    run = run_metron("", "echo data")
    assert run.stdout == b"data\n"
    assert run.stderr


def formatted(runner, template, command="sh -c 'exit 3'", args="--colors never"):
    run = runner(["--summary-format", template, *args.split()], command, check=False)
    return run, run.message


def test_keys_of_the_execution_summary(run_metron):
    run, text = formatted(run_metron,
                          "code={exit_code} prefix={logs_prefix} in {working_directory} n={num_reports}\n")
    assert run.returncode == 3
    assert f"code=3 prefix={run.summary['logs_prefix']} in {run.cwd} n={len(run.usage)}" in text


def test_number_formats(run_metron):
    run, text = formatted(run_metron, "[{wall_clock_time:.2f}] [{wall_clock_time:.0f}] [{exit_code:5d}] "
                                      "[{rusage_out_bytes:.1f}]", "sh -c 'sleep 0.3; exit 3'")
    wall = run.summary["wall_clock_time"]
    assert re.search(rf"\[{wall:.2f}\] \[{wall:.0f}\] \[    3\] \[\d+\.0\]", text), text


def test_braces_can_be_written(run_metron):
    _, text = formatted(run_metron, "{{{exit_code}}}")
    assert "{3}" in text


def test_human_sizes(run_metron):
    run, text = formatted(run_metron, "<{rusage_max_rss!S}>",
                          [run_metron.workload("spike"), "50000000", "1"])
    match = re.search(r"<([\d.]+) ?([KMG]i?B)>", text)
    assert match, text
    factor = {"K": 1, "M": 2, "G": 3}[match[2][0]]
    base = 1024 if "i" in match[2] else 1000
    assert float(match[1]) * base**factor == pytest.approx(run.summary["rusage_max_rss"], rel=0.05)


@pytest.mark.parametrize("template, command, colour, text", [
    ("{exit_code!E}", "true", GREEN, "0"),
    ("{exit_code!E}", "sh -c 'exit 3'", RED, "3"),
    ("{num_reports!X}", "true", GREEN, "1"),
    ("{exit_code!X}", "true", RED, "0"),
    ("{command!N}", "true", GREEN, "true"),
])
def test_coloured_conversions(run_metron, template, command, colour, text):
    _, shown = formatted(run_metron, "<" + template + ">", command, "--colors always")
    found = re.search("<(.*?)>", shown, re.S)
    assert found and colour.search(found[1]) and text in found[1]
    assert "\x1b[" in found[1][len(found[1]) - 5:], "the colour is ended"


@pytest.mark.parametrize("args, env, expected", [
    ("--colors always", {}, True),
    ("--colors never", {}, False),
    ("--colors auto", {}, False),
    ("", {"METRON_COLORS": "always"}, True),
    ("", {"METRON_COLORS": "always", "NO_COLOR": "1"}, False),
    ("--colors always", {"NO_COLOR": "1"}, True),
    ("", {"NO_COLOR": "1"}, False),
])
def test_colour_only_where_wanted(run_metron, args, env, expected):
    run = run_metron(["--summary-format", "{exit_code!E}", *args.split()], "true", env=env)
    assert ("\x1b[" in run.message) == expected


@pytest.mark.parametrize("env, expected", [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_on_a_terminal_unless_no_color(run_metron, open_terminal, env, expected):
    line = run_metron.command_line(["--summary-format", "{exit_code!E}"], "true")
    screen = open_terminal(line, run_metron.cwd, run_metron.environment({"TERM": "xterm", **env}))
    assert screen.finish() == 0
    assert (b"\x1b[" in screen.seen) == expected


def test_key_that_was_not_measured_does_not_break_the_summary(run_metron):
    run, text = formatted(run_metron, "signal: {signal} code: {exit_code}")
    assert run.returncode == 3
    assert "code: 3" in text
    _, absent = formatted(run_metron, "<{signal!N}>", "true", "--colors always --clobber")
    assert RED.search(absent)


@pytest.mark.parametrize("template", ["{exit_code", "{exit_code!Q}", "{}", "{exit_code:.2", "}",
                                      "{exit_code:zz}"])
def test_malformed_format_is_an_error_before_the_start(run_metron, marker, template):
    command, path = marker
    run, text = formatted(run_metron, template, command)
    assert run.returncode == 2
    assert "summary" in text.lower()
    assert not path.exists()


@pytest.mark.parametrize("args", ["-q", "--log-level none"])
def test_quiet_says_nothing(run_metron, args):
    run = run_metron(args, "sh -c 'exit 3'")
    assert run.returncode == 3
    assert run.stderr == b""
    assert run.has("info.json")


@pytest.mark.parametrize("level, shown", [("error", False), ("warning", False), ("info", True), ("debug", True)])
def test_summary_is_of_level_info(run_metron, level, shown):
    run = run_metron(["--log-level", level], "true")
    assert ("cpu" in run.message) == shown
    assert shown or run.stderr == b""
    run = run_metron(["--log-level", level, "--summary-format", "by-format", "--clobber"], "true")
    assert ("by-format" in run.message) == shown


def test_debug_tells_the_tier_and_why_not_a_higher_one(run_metron):
    run = run_metron("-l debug", "true")
    assert "tier" in run.message


def test_names_from_outside_cannot_paint_the_terminal(run_metron):
    run = run_metron("--sample-interval 0.1", ["sh", "-c", "exec sleep 0.2", "\x1b[31mred\x07\n"])
    assert "\x1b" not in run.message and "\x07" not in run.message


def test_the_machine_of_a_new_run_is_named(run_metron):
    """The same facts from other programs: uname, a shell that reads os-release, the kernel's cpuinfo."""
    run = run_metron("-q", "true")
    system = run.info["system"]
    shell = "[ -e /etc/os-release ] && . /etc/os-release || . /usr/lib/os-release; printf %s \"$PRETTY_NAME\""
    name = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=False).stdout
    assert system.get("os", "") == name
    assert (system["kernel"], system["arch"]) == (os.uname().release, os.uname().machine)
    model = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), system.get("cpu_model", "-"))
    row = run_metron.metron("export --format nextflow run_").stdout.decode().splitlines()[1]
    assert row.split("\t")[-1] == model
    shown = " ".join(run_metron.metron("report run_").stdout.decode().split())
    assert ", ".join(text for text in (name, system["arch"], model) if text not in ("", "-")) in shown


def test_the_machine_of_a_con_duct_recording_is_shown(run_metron):
    shown = run_metron.metron(["report", str(RECORDINGS / "duct-0.2.3")]).stdout.decode()
    assert re.search(r"^  machine +Debian GNU/Linux 12 \(bookworm\), x86_64$", shown, re.M), shown
