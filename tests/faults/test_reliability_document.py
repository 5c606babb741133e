"""The matrix in docs/reliability.md has the cells that pytest collects, and no others."""

import collections
import os
import pathlib
import re
import subprocess
import sys

from support.harm import COLUMNS

TESTS = pathlib.Path(__file__).resolve().parent
DOCUMENT = TESTS.parent.parent / "docs" / "reliability.md"


def collected():
    """{test: {column: number of cells}}, by the ids of the tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    files = sorted(TESTS.glob("test_do_no_harm_*.py"))
    listing = subprocess.run([sys.executable, "-m", "pytest", "-q", "--collect-only", *files], cwd=TESTS.parent,
                             env=environment, capture_output=True, text=True, check=True).stdout
    found = collections.defaultdict(collections.Counter)
    columns = "|".join(sorted(COLUMNS, key=len, reverse=True))
    for test, column in re.findall(rf"::(\w+)\[({columns})-[^\]]*\]$", listing, re.M):
        found[test][column] += 1
    assert sum(map(collections.Counter.total, found.values())) == listing.count("::"), "each test is one cell"
    return found


def documented():
    """The rows of the table: | fault | run | run --pty | attach | job exec | `test` |."""
    rows = re.findall(r"^\|[^|]*\|([\d –|]*)\| `(\w+)` \|$", DOCUMENT.read_text(encoding="utf-8"), re.M)
    return {test: collections.Counter({column: int(count) for column, count in zip(COLUMNS, counts.split("|"))
                                       if count.strip() != "–"}) for counts, test in rows}


def test_the_matrix_has_as_many_cells_as_there_are_tests():
    cells = collected()
    assert documented() == cells
    totals = re.search(r"^\| \*\*all\*\* \|([\d |]*)\|", DOCUMENT.read_text(encoding="utf-8"), re.M)[1]
    assert [int(count) for count in totals.split("|")[:4]] == \
        [sum(counts[column] for counts in cells.values()) for column in COLUMNS]
