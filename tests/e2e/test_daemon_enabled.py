"""`enabled = no`: there is to be no daemon, and that is no failure."""

import signal

from support import daemon_client as dc
from support.processes import wait_until


def write_settings(runner, text):
    path = runner.home / "config" / "metron" / "metron.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_daemon_that_is_turned_off_says_by_what_and_has_not_failed(run_metron, notified):
    dc.need_daemon(run_metron)
    path, listener = notified
    settings = write_settings(run_metron, "[daemon]\nenabled = no\n")
    for words in (["daemon"], ["daemon", "--detach"]):
        done = run_metron.metron([*words, "--socket", str(run_metron.cwd / "d.sock")], env={"NOTIFY_SOCKET": str(path)})
        assert done.returncode == 0 and not done.stdout, done
        message = done.stderr.decode()
        assert message.count("\n") == 1 and "turned off" in message and str(settings) in message, message
        lines = listener.recv(4096).decode().splitlines()
        assert "READY=1" in lines and "STOPPING=1" in lines, "else the unit would have failed"
        assert not (run_metron.cwd / "d.sock").exists()


def test_the_environment_and_the_command_line_turn_it_off_and_on(run_metron, start_daemon):
    done = run_metron.metron(["daemon"], env={"METRON_ENABLED": "no"})
    assert done.returncode == 0 and b"METRON_ENABLED" in done.stderr, done
    write_settings(run_metron, "enabled = no\n")
    daemon = start_daemon(env={"METRON_ENABLED": "yes"})
    assert daemon.call("daemon.config")["enabled"]["value"] is True
    assert daemon.stop() == 0


def test_turned_off_by_sighup_it_drains_and_ends_well(run_metron, start_daemon):
    write_settings(run_metron, "enabled = yes\n")
    daemon = start_daemon(interval=0.1, watch="jobs")
    last = daemon.tops(3)[-1]["timestamp"]
    write_settings(run_metron, "enabled = no\n")
    daemon.process.send_signal(signal.SIGHUP)
    wait_until(lambda: daemon.process.poll() is not None, what="its end")
    assert daemon.process.returncode == 0
    assert "turned off: enabled = no" in daemon.said()
    assert daemon.stored(last), "what was queued is written"
    assert not daemon.socket.exists()
