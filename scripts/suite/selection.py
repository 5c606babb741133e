"""What `--only` chooses: a folder, a file or a word.

    tests/e2e, tests/unit/test_window.c, tests/faults/test_disk.py   these tests
    src/tree, src/tree/ledger.c                                      the tests whose names hold `tree`, `ledger`
    daemon                                                           the tests whose names hold `daemon`
"""

import pathlib
import re

from suite.tally import ROOT
from suite.tests import any_chosen

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


def target_of(name):
    return f"fuzz/{name}" if name.startswith("replay_") else f"tests/unit/{name}"


class Selection:
    """`units` are the names of the chosen unit tests and replays."""

    def __init__(self, only):
        self.only = only
        path = pathlib.PurePosixPath(only.rstrip("/")) if only else None
        is_test = path is not None and (ROOT / path).exists() and path.parts[0] in ("tests", "fuzz")
        self.path = str(path) if is_test else None
        self.word = None if only is None or is_test else path.stem
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
        """Words for pytest, or None if no test is chosen. `markers` is the expression of a part."""
        folders = TEST_FOLDERS
        if self.path is not None:
            folders = [self.path] if any(is_below(self.path, folder) for folder in folders) else \
                [folder for folder in folders if is_below(folder, self.path)]
        words = ["-m", markers, *(["-k", self.word] if self.word else []), *folders]
        if not folders or (self.only is not None and not any_chosen(words)):
            return None
        return words


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")
