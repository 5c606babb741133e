"""The linters: format, clang-tidy, cppcheck, include directions, build lists, scripts, generated documents.

All of them run at the lowest priority: tests may be running at the same time.
"""

import concurrent.futures
import re
import subprocess

from suite.tally import JOBS, LOGS, PYTHON, ROOT, run, tail

# How many states clang's analyzer follows in one function. It takes most of lint's time; 4,000 states take an eighth as
# long as 100,000. `make check` follows 100,000 in the files that changed, `make lint` in all.
STATES_QUICK, STATES_DEEP = 4_000, 100_000


def run_idle(command, timeout_seconds):
    return run(command, timeout_seconds, niceness=19)


def passed_if_zero(command, timeout_seconds=1800):
    status, output = run_idle(command, timeout_seconds)
    return status == 0, tail(output)


def files_under(*folders, suffixes):
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.suffix in suffixes)


def sources():
    # Programs for the kernel are compiled for another machine, with warnings as errors.
    return [path for path in files_under("src", suffixes={".c"}) if not path.endswith(".bpf.c")]


def sources_for(header):
    """The sources to check when a header has changed: its own, or those that include it if it has none."""
    own = header.removesuffix("h") + "c"
    name = header.removeprefix("src/").removeprefix("include/")
    line = re.compile(f'#include ["<]{name}[">]')
    return [own] if own in sources() else [path for path in sources() if line.search((ROOT / path).read_text())]


def changed_files():
    """Files that differ from the upstream branch, or from the previous commit if there is none or nothing differs, and
    the sources to check for changed headers. None (all files) if git fails or a linter's configuration changed."""
    def git(*words):
        command = ["git", "-c", "safe.directory=*", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None
    base = git("merge-base", "HEAD", "@{upstream}")
    if base in (None, git("rev-parse", "HEAD")):
        base = git("rev-parse", "HEAD~")
    changed = git("diff", "--name-only", "-z", base.strip()) if base else None
    added = git("ls-files", "--others", "--exclude-standard", "-z")
    if changed is None or added is None:
        return None
    files = set((changed + added).split("\0"))
    if files & {".clang-format", ".clang-tidy"}:
        return None
    headers = [path for path in files if path.endswith(".h")]
    return files.union(*map(sources_for, headers))


class Lint:
    """The checks, of all files or of some. `folder` is a build with its generated headers and a metron in it, or None
    if it failed."""

    def __init__(self, folder, states, only=None):
        self.folder = folder
        self.states = states
        self.only = only

    def chosen(self, files):
        return [path for path in files if self.only is None or path in self.only]

    def checks(self):
        includes = [PYTHON, "tests/architecture/check_includes.py"]
        return {
            "clang-format": self.format,
            "include directions": lambda: passed_if_zero(includes),
            "include directions: planted violations are found": lambda: passed_if_zero([*includes, "--self-test"]),
            "every source, test, workload and fuzz target is in its build list": self.build_lists,
            "shell scripts": self.shell,
            "python scripts": self.python,
            "documents agree with the registry": self.documents,
            "cppcheck": self.cppcheck,
            "clang-tidy": self.tidy,
        }

    def run(self, tally):
        for name, check in self.checks().items():
            if self.folder is None and check in (self.documents, self.tidy):
                tally.fail(f"lint: {name}: not run, its build failed")
            else:
                tally.check(f"lint: {name}", check())

    def format(self):
        files = self.chosen(files_under("src", "include", "tests", "fuzz", "examples", suffixes={".c", ".h"}))
        if not files:
            return True, ""
        status, output = run_idle(["clang-format", "--dry-run", "-Werror", *files], 600)
        places = [line for line in output.splitlines() if ": error: " in line]
        return status == 0, "\n".join(places[:20]) or output

    def tidy(self):
        config = ("-Xclang", "-analyzer-config", "-Xclang", f"max-nodes={self.states}")
        options = [f"--extra-arg={word}" for word in config]

        def tidy(path):
            return run_idle(["clang-tidy", "--quiet", "-p", self.folder, *options, path], 1800)

        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            results = list(pool.map(tidy, self.chosen(sources())))
        output = "\n".join(output for status, output in results if status != 0)
        (LOGS / "clang-tidy.log").write_text(output)
        # Leaves out the counts of warnings suppressed in system headers, and the source lines of notes.
        shown = [line for line in output.splitlines() if re.search(r"(error|killed)", line)]
        return not any(status for status, _ in results), "\n".join(shown[:60])

    def cppcheck(self):
        files = self.chosen(sources())
        if not files:
            return True, ""
        return passed_if_zero(
            [
                "cppcheck",
                "--quiet",
                "--enable=warning,style,performance,portability",
                "--error-exitcode=1",
                "--inline-suppr",
                "--library=posix,gnu",
                f"--library={ROOT}/scripts/uthash.cfg",
                "--std=c11",
                "--suppress=missingIncludeSystem",
                # Asks for const where the type of a callback does not allow it.
                "--suppress=constParameterCallback",
                # Tables with designated initialisers and structs that a library fills look unused to it.
                "--suppress=unusedStructMember",
                # Taste: a buffer declared beside its function's other variables, a local named like a function.
                "--suppress=variableScope",
                "--suppress=shadowFunction",
                "-D_GNU_SOURCE",
                "-DMETRON_VERSION=\"0\"",
                "-Isrc",
                "-Iinclude",
                f"-j{JOBS}",
                *files,
            ]
        )

    def build_lists(self):
        """A file that no meson.build names is a test that never runs."""
        missing = []
        for path in files_under("src", "tests", "fuzz", suffixes={".c"}):
            file = ROOT / path
            listing = file.parent / "meson.build"
            text = listing.read_text() if listing.exists() else ""
            names = {file.name, file.stem, file.stem.removeprefix("fuzz_"), file.stem.removesuffix(".bpf")}
            if not any(f"'{name}'" in text for name in names):
                missing.append(f"{path} is not in {listing.relative_to(ROOT)}")
        return not missing, "\n".join(missing)

    def scripts(self, pattern):
        paths = [*(ROOT / "scripts").iterdir(), *(ROOT / ".ci").iterdir(), *(ROOT / "tests").rglob("*.sh")]
        files = (path for path in paths if path.is_file())
        return sorted(str(path) for path in files if re.match(pattern, path.read_text(errors="replace")))

    def shell(self):
        files = self.scripts(r"#!.*\b(ba)?sh\b")
        return passed_if_zero(["shellcheck", *files]) if files else (False, "no shell scripts found")

    def python(self):
        files = self.scripts(r"#!.*\bpython3?\b") + files_under("tests", "scripts", suffixes={".py"})
        program = "import ast, sys\nfor path in sys.argv[1:]: ast.parse(open(path).read(), path)"
        return passed_if_zero([PYTHON, "-c", program, *files])

    def documents(self):
        metron = self.folder / "metron"
        for name, command in (("measurements.md", [metron, "measurements", "--markdown"]),
                              ("schema/snapshot.schema.json", [ROOT / "scripts" / "snapshot-schema", metron])):
            status, output = run(command, 60)
            document = ROOT / "docs" / name
            if status != 0:
                return False, output
            if not document.exists() or output != document.read_text():
                return False, f"docs/{name} is missing or differs; make docs writes it"
        return True, ""
