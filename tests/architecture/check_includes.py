#!/usr/bin/env python3
"""Data flows one way: fails on any #include under src/ that goes against the table of the architecture.

    check_includes.py [SOURCE_FOLDER]     check it (default: this repository's src/)
    check_includes.py --self-test         plant one violation of each kind in a scratch folder and find it

Each violation is one line `FILE:LINE: what is wrong`; the exit status is 1 if there was any.
"""
import pathlib
import re
import sys
import tempfile

# The rooms in the order data flows through them, each with the rooms it may include besides itself.
MAY_INCLUDE = {
    "base": [],
    "settings": ["base"],
    "schema": ["base"],
    "probe": ["base", "bpf"],
    "launch": ["base", "probe"],
    "tree": ["base", "schema", "probe"],
    "collect": ["base", "schema", "probe", "tree"],
    "reduce": ["base", "schema"],
    "detect": ["base", "schema"],
    "store": ["base", "schema"],
    "learn": ["base", "schema", "reduce", "store"],
    "publish": ["base", "schema"],
    "view": ["base", "schema", "store", "learn"],
    # all above but view
    "loop": ["base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "detect", "store",
             "learn", "publish"],
    # all above
    "daemon": ["base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "detect", "store",
               "learn", "publish", "view", "loop"],
    # all above but view
    "api": ["base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "detect", "store",
            "learn", "publish", "loop", "daemon"],
    # all
    "cmd": ["base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "detect", "store",
            "learn", "publish", "view", "loop", "daemon", "api", "bpf"],
    "bpf": [],
    # The program metron-bpf.
    "loader": ["bpf"],
    # The program metron-plot.
    "plotter": ["base", "schema", "store", "view"],
    # The program metron-history.
    "history": ["base", "schema", "store"],
    # The program metron-daemon, which reads its settings as the commands do.
    "keeper": ["base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "detect", "store",
               "learn", "publish", "view", "loop", "daemon", "cmd"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def quoted_include_problem(room, included, source):
    """What is wrong with `#include "included"` in a file of `room`, or None."""
    parts = included.split("/")
    if "." in parts or ".." in parts:
        return f'"{included}" is a relative path; write it from src/'
    if len(parts) < 2:
        return f'"{included}" names no room; write "{room}/{included}"'
    target = parts[0]
    if target not in MAY_INCLUDE or not (source / target).is_dir():
        return f'"{included}": there is no room {target}/'
    if target != room and target not in MAY_INCLUDE[room]:
        allowed = ", ".join(MAY_INCLUDE[room]) or "no other room"
        return f'"{included}": {room}/ may not include {target}/ (allowed: {allowed})'
    return None


def check_file(path, source):
    room = path.relative_to(source).parts[0]
    own_header = path.with_suffix(".h").relative_to(source).as_posix()
    wants_own_header = path.suffix == ".c" and path.with_suffix(".h").exists()
    first = True
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match is None:
            continue
        quote, included = match.groups()
        if first and wants_own_header and (quote, included) != ('"', own_header):
            yield number, f'the first include is not its own header "{own_header}"'
        first = False
        if quote == '"':
            problem = quoted_include_problem(room, included, source)
        elif included.split("/")[0] in MAY_INCLUDE and (source / included).exists():
            # <base/file.h> would find a room's header too, past the rule above.
            problem = f'<{included}> is a header of this house; write it with quotes'
        else:
            problem = None
        if problem is not None:
            yield number, problem
    if first and wants_own_header:
        yield 1, f'its own header "{own_header}" is not included'


def check(source):
    """All violations under `source`, as printable lines."""
    lines = []
    for path in sorted(source.rglob("*.[ch]")):
        relative = path.relative_to(source)
        if len(relative.parts) < 2 or relative.parts[0] not in MAY_INCLUDE:
            lines.append(f"{path}:1: lies in no room of the architecture")
            continue
        lines += [f"{path}:{number}: {problem}" for number, problem in check_file(path, source)]
    return lines


# What is planted, and the words that must come back; None where nothing may be found.
PLANTED = [
    ("base/text.c", '#include "base/text.h"\n#include <stdio.h>\n', None),
    ("tree/ledger.c", '#include <stdio.h>\n\n#include "probe/stat.h"\n', None),
    ("cmd/run.c", '#include "view/table.h"\n#include "loop/loop.h"\n', None),
    ("base/file.c", '#include "schema/record.h"\n', "base/ may not include schema/"),
    ("collect/proc.c", '#include "settings/settings.h"\n', "collect/ may not include settings/"),
    ("loop/loop.c", '#  include "view/table.h"\n', "loop/ may not include view/"),
    ("view/table.c", '#include "loop/loop.h"\n', "view/ may not include loop/"),
    ("reduce/window.c", '#include "../schema/record.h"\n', "is a relative path"),
    ("store/log.c", '#include "record.h"\n', "names no room"),
    ("schema/record.c", '#include "cellar/wine.h"\n', "there is no room cellar/"),
    ("schema/event.c", '#include "learn/profile.h"\n', "there is no room learn/"),
    ("tree/tree.c", '#include <stdio.h>\n#include "tree/tree.h"\n', "first include is not its own header"),
    ("launch/tee.c", "int tee;\n", "is not included"),
    ("probe/stat.c", "#include <base/text.h>\n", "write it with quotes"),
    ("cellar/wine.c", "int wine;\n", "lies in no room"),
]
OWN_HEADERS = ["base/text.h", "tree/tree.h", "launch/tee.h"]


def self_test():
    failures = []
    for planted, text, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            for room in ("base", "settings", "schema", "probe", "launch", "tree", "collect", "reduce", "store",
                         "view", "loop", "cmd"):
                (source / room).mkdir()
            for header in OWN_HEADERS:
                (source / header).touch()
            path = source / planted
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            found = check(source)
            if expected is None and found:
                failures.append(f"{planted}: allowed, yet found: {found}")
            if expected is not None and not any(expected in line for line in found):
                failures.append(f"{planted}: '{expected}' was not found in {found}")
    return failures


def main(arguments):
    if arguments == ["--self-test"]:
        problems = self_test()
    else:
        default = pathlib.Path(__file__).resolve().parents[2] / "src"
        problems = check(pathlib.Path(arguments[0]) if arguments else default)
    print("\n".join(problems) if problems else "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
