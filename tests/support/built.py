"""Programs that the build makes for tests alone, beside the metron that is tested."""

import os
import pathlib

import pytest


def unit_program(name):
    """The program of that name in tests/unit of the build that METRON is of; skips where it was not built."""
    binary = os.environ.get("METRON")
    path = pathlib.Path(binary).resolve().parent / "tests" / "unit" / name if binary else None
    if path is None or not path.exists():
        pytest.skip(f"there is no {name} beside the metron that is tested (it comes with the unit tests)")
    return path
