"""What `--only` chooses: a folder, a file or a word.

    tests/e2e, tests/unit/test_window.c, tests/faults/test_disk.py   these tests
    unit, e2e, faults, measure                                       the tests in this folder of tests/
    daemon, src/daemon, src/tree/ledger.c                            the tests with a word in their names that starts
                                                                     with `daemon`, `ledger`
"""

import pathlib
import re

from suite.tally import ROOT
from suite.tests import any_chosen, target_of

TEST_FOLDERS = ["tests/e2e", "tests/faults", "tests/measure"]


def unit_names():
    """All unit tests and replays, by the names that Meson knows them by."""
    units = [path.stem for path in sorted((ROOT / "tests" / "unit").glob("test_*.c"))]
    replays = [path.stem.replace("fuzz_", "replay_") for path in sorted((ROOT / "fuzz").glob("fuzz_*.c"))]
    return units + replays


def listed_units(name):
    """The unit tests in a list of tests/unit/meson.build: `threaded_tests` or `plain_tests`."""
    listing = (ROOT / "tests" / "unit" / "meson.build").read_text()
    return re.findall(r"'(\w+)'", re.search(rf"^{name} = \[(.*?)\]", listing, re.DOTALL | re.MULTILINE)[1])


class Selection:
    """`units` are the names of the chosen unit tests and replays. Raises ValueError if `only` has no word."""

    def __init__(self, only):
        self.only = only
        self.path = self.word = None
        if only:
            path = pathlib.PurePosixPath(only)
            if str(path) in ("unit", "e2e", "faults", "measure"):
                path = "tests" / path
            if path.parts[:1] in (("tests",), ("fuzz",)) and (ROOT / path).exists():
                self.path = str(path)
            else:
                # Names are words joined by `_`: `_ls` is in test_ls and test_ls_filter, not in test_calls.
                self.word = "_" + path.name.split(".")[0].lower().removeprefix("test_")
                if not re.fullmatch(r"_[\w-]+", self.word):
                    raise ValueError(f"'{only}' is not a folder, a file or a word")
        self.units = [name for name in unit_names() if self.has_unit(name)]

    def has_unit(self, name):
        if self.path is None:
            return self.word is None or self.word in name
        source = f"{target_of(name)}.c".replace("replay_", "fuzz_")
        return source == self.path or source.startswith(self.path + "/")

    def units_in(self, listing):
        """The chosen ones that are in a list of tests/unit/meson.build."""
        return [name for name in listed_units(listing) if name in self.units]

    def pytest(self, markers):
        """Words for pytest, or None if no test is chosen. `markers` is the expression of a part: a marker first, or `not`
        one."""
        folders = TEST_FOLDERS
        if self.path is not None:
            folders = [self.path] if any(is_below(self.path, folder) for folder in folders) else \
                [folder for folder in folders if is_below(folder, self.path)]
        paths = [path for folder in folders for path in paths_marked(folder, markers.split())]
        words = ["-m", markers, *(["-k", self.word] if self.word else []), *paths]
        if not paths or (self.only is not None and not any_chosen(words)):
            return None
        return words


def paths_marked(folder, markers):
    """Where in a folder, or a file, the tests with these markers are. Each of pytest's workers reads every file that it is
    given, so files without the marker are left out. All of tests/measure is `plain` (tests/conftest.py)."""
    if is_below(folder, "tests/measure"):
        return [folder] if markers[0] == "plain" else []
    if markers[0] == "not":
        return [folder]
    files = [ROOT / folder] if (ROOT / folder).is_file() else sorted((ROOT / folder).rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in files if f"mark.{markers[0]}" in file.read_text(encoding="utf-8")]


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")
