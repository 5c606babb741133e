"""`make -j2` of a real C project: many short compilers, drivers and shells, counted to the last."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from support.cputruth import JOINING_SECONDS
from support.users import ANOTHER_USER

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
ROOMS = ("base", "tree")

MAKEFILE = """\
objects := $(patsubst %.c,%.o,$(wildcard {rooms}))
all: $(objects)
\tar rcs whole.a $(objects)
\t$(CC) -r -nostdlib -o whole.o $(objects)
%.o: %.c
\t$(CC) -std=gnu17 -O1 -D_GNU_SOURCE -DMETRON_VERSION='"0"' -I. -MD -c -o $@ $<
.PHONY: all
"""


@pytest.fixture
def project(programs):
    """A copy of a part of metron itself that builds without anything but a compiler, anyone's to build."""
    for tool in ("make", "cc", "ar"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    folder = programs / "project"
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("meson.build", "cairo*"))
    shutil.copy(SOURCES.parent / "include" / "metron.h", folder)
    rooms = " ".join(f"{room}/*.c {room}/*/*.c" for room in ROOMS)
    (folder / "Makefile").write_text(MAKEFILE.format(rooms=rooms), encoding="utf-8")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    yield folder
    shutil.rmtree(folder)


def built(runner, truth, project, args):
    run = runner(args, [*truth.join, "make", "-j2", "-s", "-C", str(project), "CC=cc"], outer=truth.outer, timeout=400)
    assert run.returncode == 0, run
    assert (project / "whole.a").exists()
    return run, truth.seconds()


def test_build_is_counted_to_0_1_percent_with_an_own_leaf(own_leaf, leaf_truth, project):
    run, seconds = built(own_leaf, leaf_truth, project, "--cgroup own")
    assert seconds > 1, "too short a build to judge"
    headline = run.info["headline"]["cpu_seconds"]
    assert headline["source"] == "cgroup_cpu_seconds"
    assert headline["value"] == pytest.approx(seconds, rel=0.001, abs=JOINING_SECONDS)
    assert abs(run.summary["ledger_unaccounted_seconds"]) <= 0.005 * seconds


def test_build_is_counted_to_0_5_percent_without(run_as_user, cpu_truth, project):
    if os.getuid() == 0:
        os.chown(project, ANOTHER_USER, ANOTHER_USER)
    run, seconds = built(run_as_user, cpu_truth(), project, "--cgroup off")
    assert seconds > 1, "too short a build to judge"
    assert run.info["headline"]["cpu_seconds"]["value"] == pytest.approx(seconds, rel=0.005)
    assert run.info["provenance"]["cpu_is_conserved"] is True


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_each_source_file_of_a_build_is_one_compilation(with_bpf, project, compiler):
    """gcc starts a compiler for each, clang compiles itself: as many as source files, none twice, and no link."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    run = with_bpf("--events bpf", ["make", "-j2", "-s", "-C", str(project), f"CC={compiler}"], timeout=400)
    assert run.returncode == 0, run
    sources = {str(path.relative_to(project)) for room in ROOMS for path in (project / room).rglob("*.c")}
    page = json.loads(subprocess.run([with_bpf.binary, "report", "--json", run.prefix], capture_output=True,
                                     check=True, cwd=with_bpf.cwd).stdout)
    assert page["compilations"]["count"]["value"] == len(sources)
    rows = page["compilations"]["slowest"]["rows"]
    walls = [row["wall_seconds"] for row in rows]
    assert len(rows) == 10 and walls == sorted(walls, reverse=True)
    assert len({row["file"] for row in rows} & sources) == 10
    ended = {event["pid"]: event for event in run.events if event["event_type"] == "exit"}
    for row in rows:
        assert (row["cpu_seconds"], row["wall_seconds"], row["command"]) == tuple(
            ended[row["pid"]][name] for name in ("cpu_seconds", "lifetime_seconds", "command"))
