"""The three builds that the suite tests. Each is a Meson tree under build/, with warnings as errors.

plain     GCC with the release flags: accuracy, memory limits, programs that load libmetron
sanitize  Clang with AddressSanitizer and UndefinedBehaviorSanitizer: everything else (GCC's two sanitizers together
          ignore log_path)
tsan      Clang with ThreadSanitizer: the daemon and the unit tests of code that has threads
"""

import pathlib
import re
import shutil
import tempfile

from suite.tally import BUILD, ROOT, run, tail

# Not optimized and with line numbers only, a sanitized build compiles in half the time; its tests take 5 % longer.
SANITIZED = ["-Db_lundef=false", "-Doptimization=0", "-Ddebug=false", "-Dc_args=-gline-tables-only"]
OPTIONS = {
    "plain": ("gcc", []),
    "sanitize": ("clang", ["-Db_sanitize=address,undefined", *SANITIZED]),
    "tsan": ("clang", ["-Db_sanitize=thread", *SANITIZED]),
}
FOLDERS = {name: BUILD / ("test-" + name) for name in OPTIONS}


def linker(compiler):
    """LLVM's linker, where it is there: it links two hundred test programs in less than two thirds of the time."""
    return {"CC_LD": "lld"} if compiler == "clang" and shutil.which("ld.lld") else {}


def build(tally, name, targets, niceness=0):
    """Configures and builds these targets; one test. Returns the folder, or None."""
    compiler, options = OPTIONS[name]
    folder = FOLDERS[name]
    setup = ["meson", "setup", folder, "-Dwerror=true", "-Dtests=enabled", *options]
    environment = {"CC": compiler, **linker(compiler)}
    status, output = 1, ""
    if (folder / "meson-private" / "coredata.dat").exists():
        status, output = run([*setup, "--reconfigure"], 600, f"{name}-setup", environment, niceness)
    if status != 0:
        # The first time, or after a change of Meson or of the clone's place.
        shutil.rmtree(folder, ignore_errors=True)
        status, output = run(setup, 600, f"{name}-setup", environment, niceness)
    if status == 0:
        # Tests of an optional feature that cannot be built here have no target; run_units() counts them as skipped.
        _, known = run(["ninja", "-C", folder, "-t", "targets", "all"], 60)
        targets = [target for target in targets if f"\n{target}: " in known]
        status, output = run(["ninja", "-C", folder, *targets], 3600, f"{name}-build", None, niceness)
    tally.check(f"{name}: build without a warning", (status == 0, f"{what_failed(output)}\nexit status {status}"))
    return folder if status == 0 else None


def what_failed(output):
    """Without ninja's lines of progress, which may be most of the last lines."""
    return tail(re.sub(r"^\[\d+/\d+\] .*\n", "", output, flags=re.M))


def is_of_a_reused_number(lines):
    """libuv closes descriptors by a system call of its own, which ThreadSanitizer does not see: it takes the next file
    with that number for the one that libuv watched, or watched with."""
    text = "\n".join(lines)
    closed = r": data race [^\n]*\n *Write of size 8 [^\n]*\n *#0 close [^\n]*\n(?: *#\d+ [^\n]*\n)*\n"
    watched = r" *Previous read of size 8 [^\n]*\n *#0 epoll_(?:ctl|wait) [^\n]*\n *#1 [^\n]*libuv\.so"
    return text.count("WARNING: ThreadSanitizer") == 1 and re.search(closed + watched, text)


class Reports:
    """The files that sanitizers write their reports to, so that a report counts even where a test checks nothing but
    an exit status."""

    def __init__(self, name):
        self.name = name
        # Tests that run as another user must be able to report too, and the clone may be in a private home directory.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="metron-reports-"))
        self.folder.chmod(0o1777)
        self.suppressions = shutil.copy(ROOT / "tests" / "leaks.supp", self.folder)

    def environment(self):
        # binutils' addr2line comes with every compiler; LLVM's symbolizer is a package of its own.
        options = f"log_path={self.folder}/report:log_exe_name=1:exitcode=99:allow_addr2line=1"
        symbolizer = shutil.which("addr2line") or ""
        return {
            "METRON_SANITIZED": "1",
            "ASAN_OPTIONS": f"{options}:detect_stack_use_after_return=1",
            "UBSAN_OPTIONS": f"{options}:print_stacktrace=1:halt_on_error=1",
            "LSAN_OPTIONS": f"suppressions={self.suppressions}:print_suppressions=0",
            "ASAN_SYMBOLIZER_PATH": symbolizer,
            # A process made by fork() that goes on to exec has one thread, whatever its parent had.
            "TSAN_OPTIONS": f"{options}:die_after_fork=0:external_symbolizer_path={symbolizer}",
        }

    def check(self, tally):
        # All that the leak checker prints about a thread that ends while it runs; it goes on.
        harmless = "Unable to get registers from thread"
        reports = {}
        for path in sorted(self.folder.glob("report*")):
            lines = path.read_text(errors="replace").splitlines()
            if any(line.strip() and harmless not in line for line in lines) and not is_of_a_reused_number(lines):
                reports[path.name] = lines
        text = "\n".join("\n".join([name, *lines[:16]]) for name, lines in list(reports.items())[:8])
        tally.check(f"{self.name}: no sanitizer report (there are {len(reports)})", (not reports, text))
        self.remove()

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
