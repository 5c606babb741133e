"""Running unit tests and replays (meson) and the tests that run the program (pytest), and counting each by name."""

import json
import re
import shutil
import xml.etree.ElementTree

from suite.tally import JOBS, LOGS, PYTHON, run, tail


def parse_junit(document):
    """The test cases of a JUnit document as (class, name, outcome, text); cmocka may put raw bytes into one."""
    clean = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]", "?", document)
    for case in xml.etree.ElementTree.fromstring(clean).iter("testcase"):
        outcome, text = "passed", ""
        for kind, result in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
            found = case.find(kind)
            if found is not None:
                outcome = result
                message, body = found.get("message") or "", found.text or ""
                text = message or body if outcome == "skipped" else body or message
        yield case.get("classname", ""), case.get("name", ""), outcome, text


def skip_reason(name, printed):
    """cmocka's skip() takes no reason: it is what the test printed before, best as `skip NAME: reason`."""
    for line in printed:
        if line.startswith(f"skip {name}: "):
            return line.removeprefix(f"skip {name}: ")
    return "; ".join(printed) or "no reason given"


def count_unit_program(tally, build, program, cases_folder, result):
    """Counts the tests of one cmocka program from the XML it wrote; a crash is a failure of its own."""
    output = result.get("stdout", "") + result.get("stderr", "")
    documents = [path.read_text(errors="replace") for path in sorted(cases_folder.glob(f"{program}.*.xml"))]
    if not documents:
        # If a test used up all descriptors, cmocka could not open its file and wrote to stderr.
        documents = re.findall(r"<testsuites>.*?</testsuites>", output, re.DOTALL)
    printed = [line for line in dict.fromkeys(result.get("stdout", "").splitlines()) if line.strip()]
    failures = len(tally.failed)
    for document in documents:
        for _, name, outcome, text in parse_junit(document):
            reason = skip_reason(name, printed) if outcome == "skipped" else text
            tally.add(f"{build}: {program}: {name}", outcome, reason)
    if not documents or (result["result"] != "OK" and len(tally.failed) == failures):
        # It crashed, or a sanitizer reported something at its end.
        tally.fail(f"{build}: {program}: {result['result'].lower()}", tail(output))


def target_of(name):
    return f"fuzz/{name}" if name.startswith("replay_") else f"tests/unit/{name}"


def run_units(tally, build, folder, environment, names):
    """Runs unit tests and replays by name."""
    built = [name for name in names if (folder / target_of(name)).exists()]
    for name in sorted(set(names) - set(built)):
        tally.skip(f"{build}: {name}", "not built here: an optional library is missing")
    if not built:
        return
    cases = folder / "cmocka"
    shutil.rmtree(cases, ignore_errors=True)
    cases.mkdir()
    log = folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    # Ten minutes for each program, even on a busy machine: this only ends a hang.
    command = ["meson", "test", "-C", folder, "--no-rebuild", "--timeout-multiplier", "5",
               "--num-processes", 2 * JOBS, *built]
    status, output = run(command, 3600, f"{build}-unit", {**environment, "CMOCKA_MESSAGE_OUTPUT": "XML"})
    if not log.exists():
        tally.fail(f"{build}: meson test exited with {status}", tail(output))
        return
    seen = set()
    for line in log.read_text(errors="replace").splitlines():
        result = json.loads(line)
        program = result["name"].split(" / ")[-1]
        seen.add(program)
        if program.startswith("test_"):
            count_unit_program(tally, build, program, cases, result)
        else:
            output = result.get("stdout", "") + result.get("stderr", "")
            tally.check(f"{build}: {program}", (result["result"] == "OK", tail(output)))
    for name in sorted(set(built) - seen):
        tally.fail(f"{build}: {name}: did not run (meson test exited with {status})")


def pytest_command(*words):
    return [PYTHON, "-m", "pytest", "-q", *words]


def any_chosen(words):
    """Whether pytest would run any test for these words."""
    status, _ = run(pytest_command("--collect-only", *words), 120, None, {"METRON": "/bin/false"})
    return status != 5


def compile_tests(folders):
    """Once, before many workers each do it (tests/conftest.py keeps what is compiled)."""
    any_chosen(folders)


def run_pytest(tally, part, folder, environment, words):
    """Runs the tests that these words choose on the metron of a build folder."""
    environment = {**environment, "METRON": str(folder / "metron"), "PYTHONDONTWRITEBYTECODE": "1"}
    report = LOGS / f"{part}-pytest.xml"
    report.unlink(missing_ok=True)
    command = pytest_command("-o", "faulthandler_timeout=600", f"--junitxml={report}", *words)
    status, output = run(command, 3600, f"{part}-pytest", environment)
    failures = len(tally.failed)
    if report.exists():
        for group, name, outcome, text in parse_junit(report.read_text(errors="replace")):
            tally.add(f"{part}: {group}.{name}", outcome, tail(text, 30) if outcome == "failed" else text)
    if status != 0 and len(tally.failed) == failures:
        tally.fail(f"{part}: pytest exited with {status}", tail(output))

