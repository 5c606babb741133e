"""`make install` from a fresh clone, as a package is made: staged below DESTDIR, moved to its place, then used there by
an ordinary user who cannot read the clone."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from support.daemon_client import Daemon
from support.run import Runner
from support.users import ANOTHER_USER

ROOT = pathlib.Path(__file__).resolve().parents[2]


def clean_environment(**more):
    """Without what an outer make or the tests' own build have set. Not optimised: its speed does not matter. Without
    ccache, which costs more than it saves in a first run."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("METRON", "MAKE", "MFLAGS", "CFLAGS", "DESTDIR", "LD_", "PKG_CONFIG"))}
    return {**kept, "CFLAGS": "-O0 -g0", "CCACHE_DISABLE": "1", **more}


def copy_clone(target):
    """What a clone of the working copy would have, changes not yet committed included; nothing that was built."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip(f"not a clone: {listed.stderr.decode().strip()}")
    for name in listed.stdout.decode().split("\0")[:-1]:
        if os.path.lexists(ROOT / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)


class Installed:
    def __init__(self, folder):
        self.clone, self.stage, self.prefix = folder / "clone", folder / "stage", folder / "prefix"
        self.clone.mkdir(mode=0o700)
        copy_clone(self.clone)
        self.stage.mkdir()
        made = subprocess.run(["make", "install", f"DESTDIR={self.stage}", f"PREFIX={self.prefix}"], cwd=self.clone,
                              env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        assert made.returncode == 0, made.stdout.decode(errors="replace")[-3000:]
        assert not self.prefix.exists(), "something was written outside DESTDIR"
        staged = self.stage / self.prefix.relative_to("/")
        self.outside = [path for path in self.stage.rglob("*") if path.is_file() and staged not in path.parents]
        staged.rename(self.prefix)

    def files(self):
        return {str(path.relative_to(self.prefix)) for path in self.prefix.rglob("*") if not path.is_dir()}

    def pkg_config_folder(self):
        return next(self.prefix.rglob("metron.pc")).parent


@pytest.fixture(scope="module")
def installed():
    for tool in ("make", "git", "meson", "ninja", "pkg-config"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="metron-install-"))
    folder.chmod(0o755)
    before = os.umask(0o022)
    try:
        yield Installed(folder)
    finally:
        os.umask(before)
        shutil.rmtree(folder)


@pytest.fixture
def user(installed, run_as_user):
    """An ordinary user, with the metron that was installed."""
    return Runner(installed.prefix / "bin", run_as_user.cwd, run_as_user.home, run_as_user.wrapper)


def need(installed, name):
    """Companions are built where their libraries are."""
    if not (installed.prefix / "libexec" / "metron" / name).exists():
        pytest.skip(f"{name} is not built here")


def test_all_that_belongs_to_it_is_there_and_nothing_else(installed, user):
    assert installed.outside == []
    commands = re.findall(r"^  (\w+)  ", user.metron("help").stdout.decode(), re.M)
    assert len(commands) > 10
    pages = {f"share/man/man1/metron-{name}.1" for name in commands}
    libraries = installed.pkg_config_folder().parent.relative_to(installed.prefix)
    wanted = {"bin/metron", "include/metron.h", "share/man/man3/metron.3", f"{libraries}/pkgconfig/metron.pc",
              f"{libraries}/libmetron.so", f"{libraries}/libmetron.so.0"} | pages
    companions = {f"libexec/metron/{name}" for name in ("metron-bpf", "metron-plot", "metron-daemon", "metron-history")}
    units = {"lib/systemd/system/metron.service", "lib/systemd/user/metron-user.service"}
    real_library = {f"{libraries}/{os.readlink(installed.prefix / libraries / 'libmetron.so.0')}"}
    assert wanted <= installed.files()
    assert installed.files() <= wanted | companions | units | real_library


def test_everybody_may_read_it_and_run_the_programs(installed):
    for path in [installed.prefix, *installed.prefix.rglob("*")]:
        runs = path.is_dir() or path.parent.name in ("bin", "metron")
        mode, wanted = path.stat().st_mode, 0o555 if runs else 0o444
        assert mode & wanted == wanted and not mode & 0o022, (path, oct(mode))


def test_an_ordinary_user_runs_a_command(user):
    run = user("", ["sh", "-c", "exit 3"])
    assert run.returncode == 3 and run.summary["exit_code"] == 3


def test_an_ordinary_user_draws_a_picture(installed, user):
    need(installed, "metron-plot")
    assert user("--sample-interval 0.05 --report-interval 0.1", "sleep 0.5").returncode == 0
    drawn = user.metron("plot -o run.svg run_")
    assert drawn.returncode == 0, drawn
    assert (user.cwd / "run.svg").read_bytes().startswith(b"<?xml")


def test_an_ordinary_user_has_a_daemon(installed, user):
    need(installed, "metron-daemon")
    daemon = Daemon(user, user.cwd, ANOTHER_USER if os.getuid() == 0 else None)
    try:
        daemon.start()
        daemon.wait_for_stored(daemon.top_when()["timestamp"])  # only metron-daemon has a history
        exported = user.metron(["export", "--history", "history.db", "--database", daemon.database])
        assert exported.returncode == 0 and (user.cwd / "history.db").read_bytes().startswith(b"SQLite format 3"), exported
        assert daemon.stop() == 0
    finally:
        daemon.end()


def test_kernel_events_work(installed, with_bpf):
    need(installed, "metron-bpf")
    root = Runner(installed.prefix / "bin", with_bpf.cwd, with_bpf.home)
    assert root("--events bpf", "true").returncode == 0


def test_manual_pages_can_be_read(installed):
    pages = sorted((installed.prefix / "share" / "man").rglob("*.[13]"))
    for page in pages:
        assert page.read_text(encoding="utf-8").count("\n.SH ") >= 2, page
    if shutil.which("groff") is None:
        pytest.skip("groff is missing: the pages are installed, but were not rendered")
    for page in pages:
        shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8", page], capture_output=True, check=True)
        assert shown.stderr == b"" and page.stem.upper() in shown.stdout.decode().upper(), (page, shown.stderr)


def test_examples_are_compiled_against_it_and_run(installed, user, tmp_path):
    shutil.copytree(ROOT / "examples", user.cwd / "examples")
    environment = clean_environment(PKG_CONFIG_PATH=str(installed.pkg_config_folder()))
    subprocess.run(["make", "-s", "-C", user.cwd / "examples", "CC=cc -Wall -Wextra -Werror"], env=environment,
                   check=True)
    libraries = {"LD_LIBRARY_PATH": str(installed.pkg_config_folder().parent)}
    ran = subprocess.run([*user.wrapper, user.cwd / "examples" / "run", "sh", "-c", "exit 3"], cwd=user.cwd,
                         env=user.environment(libraries), capture_output=True, check=False, timeout=60)
    assert ran.returncode == 3, ran
