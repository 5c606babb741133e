"""docs/security.md: each rule names a test, and that test is there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULE = re.compile(r"^\| (?!rule |who |---)(.*) \| (.*) \|$", re.M)


def rules():
    """[(rule, what the last column says)] of the tables under *What metron protects*."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    return RULE.findall(text[text.index("## What metron protects"):])


def is_there(file, name):
    """Whether a file of tests defines the test."""
    (path,) = (ROOT / "tests").glob(f"*/{file}")
    definition = rf"^def {name}\(" if file.endswith(".py") else rf"^static void {name}\("
    return re.search(definition, path.read_text(encoding="utf-8"), re.M) is not None


def test_every_rule_names_a_test_that_is_there():
    assert len(rules()) >= 20
    for rule, where in rules():
        named = re.fullmatch(r"`(test_\w+\.(?:py|c)): (\w+)`", where)
        assert named, f"{rule!r} names no test"
        assert is_there(*named.groups()), f"{rule!r} names {where}, which is missing"


def test_every_fuzz_target_has_a_corpus_and_is_built():
    build = (ROOT / "fuzz" / "meson.build").read_text(encoding="utf-8")
    for path in (ROOT / "fuzz").glob("fuzz_*.c"):
        topic = path.stem.removeprefix("fuzz_")
        assert f"'{topic}'" in build, f"{path.name} is not built"
        assert any((ROOT / "fuzz" / "corpus" / topic).iterdir()), f"{path.name} has no corpus"
