"""The user's unit under a real systemd, which the test starts in a world of its own.

A manager runs only where /run/systemd/system is there, and takes charge of the control group that it finds itself in:
it would move everybody there into groups of its making. So it gets a mount namespace in which it sees no hierarchy but
one, and of that one nothing but a group that was made for it. It does not start if that group has other members.
"""

import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from support.processes import send_signal, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNIT = "metron-user.service"
HIERARCHY = pathlib.Path("/sys/fs/cgroup/systemd")
CANNOT = 77
# In the group, and in namespaces of its own: /run and the hierarchy are seen anew.
MANAGER = f"""
mount -t tmpfs none /run && mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR" && chmod 700 "$XDG_RUNTIME_DIR" &&
mount -t tmpfs none /sys/fs/cgroup && mkdir {HIERARCHY} && mount -t cgroup -o none,name=systemd none {HIERARCHY} &&
! grep -qx 1 {HIERARCHY}/cgroup.procs && [ $(wc -l < {HIERARCHY}/cgroup.procs) -le 4 ] || exit {CANNOT}
exec systemd --user
"""


class Manager:
    """A systemd that runs the unit, with all of metron's paths in one folder."""

    def __init__(self, runner, folder):
        self.folder = folder
        self.runner = runner
        self.group = HIERARCHY / f"metron-test-{os.getpid()}"
        self.environment = {**os.environ, "HOME": str(folder), "XDG_RUNTIME_DIR": "/run/user-manager",
                            "XDG_CONFIG_HOME": str(folder / "config")}
        units = folder / "config" / "systemd" / "user"
        (units / f"{UNIT}.d").mkdir(parents=True)
        text = (ROOT / "packaging" / "systemd" / f"{UNIT}.in").read_text(encoding="utf-8")
        (units / UNIT).write_text(text.replace("@bindir@", str(runner.programs)), encoding="utf-8")
        paths = {"SOCKET": "d.sock", "DATABASE": "monitor.db", "LOG_FILE": "monitor.jsonl"}
        variables = {f"METRON_{name}": folder / path for name, path in paths.items()}
        variables.update({name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")})
        lines = [f'Environment="{name}={value}"' for name, value in variables.items()]
        # Without kernel events, and so without the program that loads them: a manager that is not root's own learns on
        # v1 from its children alone that a unit's group is empty, and may miss it if two of them end together.
        lines += ["RestartSec=0.1", "Environment=METRON_INTERVAL=0.2 METRON_EVENTS=off"]
        (units / f"{UNIT}.d" / "paths.conf").write_text("\n".join(["[Service]", *lines, ""]), encoding="utf-8")
        self.group.mkdir()
        enter = f'echo $$ > {self.group}/cgroup.procs && exec unshare --mount --cgroup sh -c "$0"'
        with open(folder / "manager.log", "wb") as log:
            self.process = subprocess.Popen(["sh", "-c", enter, MANAGER], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def systemctl(self, *words, rc=0):
        done = subprocess.run(["nsenter", "--target", str(self.process.pid), "--mount", "--cgroup", "systemctl",
                               "--user", "--no-pager", *words], env=self.environment, timeout=60, check=False,
                              capture_output=True, text=True)
        assert rc is None or done.returncode == rc, done.stdout + done.stderr
        return done.stdout.strip()

    def show(self, name):
        return self.systemctl("show", UNIT, "--value", "-p", name)

    def is_up(self):
        if self.process.poll() == CANNOT:
            pytest.skip("a systemd cannot have a control group of its own here")
        assert self.process.poll() is None, f"systemd ended with {self.process.returncode}"
        return self.systemctl("is-system-running", rc=None) in ("running", "degraded")

    def metron(self, *words):
        return subprocess.run([self.runner.binary, *words, "--socket", str(self.folder / "d.sock")], check=False,
                              capture_output=True, text=True, timeout=60)

    def end(self):
        if self.process.poll() is None:
            self.systemctl("stop", UNIT, rc=None)
            self.systemctl("exit", rc=None)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for folder in sorted(self.group.rglob("*/"), reverse=True):
            folder.rmdir()
        self.group.rmdir()


@pytest.fixture
def manager(run_metron, tmp_path):
    missing = [name for name in ("systemd", "systemctl", "unshare", "nsenter") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"{missing[0]} is missing")
    if os.getuid() != 0:
        pytest.skip("only root has a mount namespace of its own")
    if not HIERARCHY.is_dir():
        pytest.skip("there is no hierarchy of control groups for a systemd (v1, name=systemd)")
    if pathlib.Path("/run/systemd/system").exists():
        pytest.skip("this machine runs a systemd, which counts on that hierarchy")
    before = pathlib.Path("/proc/1/cgroup").read_text(encoding="utf-8")
    made = Manager(run_metron, tmp_path)
    try:
        wait_until(made.is_up, what="systemd to be up")
        yield made
    finally:
        made.end()
        assert pathlib.Path("/proc/1/cgroup").read_text(encoding="utf-8") == before


def test_the_unit_is_started_when_the_daemon_answers_reloads_restarts_and_stops(manager):
    manager.systemctl("start", UNIT)
    # systemd was told that it is ready: the socket answers at once.
    assert manager.metron("daemon", "status").returncode == 0
    assert (manager.show("ActiveState"), manager.show("StatusText")) == ("active", "watching")
    first = int(manager.show("MainPID"))
    assert pathlib.Path(f"/proc/{first}/comm").read_text(encoding="utf-8") == "metron-daemon\n"
    manager.systemctl("reload", UNIT)
    assert int(manager.show("MainPID")) == first
    send_signal(first, signal.SIGKILL)
    wait_until(lambda: manager.show("NRestarts") == "1" and manager.show("ActiveState") == "active", what="a restart")
    assert manager.metron("daemon", "status").returncode == 0
    manager.systemctl("stop", UNIT)
    assert (manager.show("Result"), manager.show("ExecMainStatus")) == ("success", "0")
    assert manager.metron("daemon", "status").returncode == 1


def test_a_unit_that_cannot_start_is_told_to_have_failed(manager):
    """No readiness is told before everything is open."""
    manager.folder.joinpath("d.sock").mkdir()
    manager.systemctl("start", UNIT, rc=1)
    assert manager.show("ActiveState") in ("failed", "activating")
