"""What looks like a secret is in no record, unless the user says so."""

import signal

import pytest

from support import daemon_client as dc
from support.processes import wait_until

SECRETS = ["hunter2-option", "tok-separate-word", "key-of-the-api", "env-token-value", "-dashed-value",
           "ghp_0123456789abcdefABCDEF0123456789abcd", "login-password", "url-token", "signed-by-me"]


def secretive(runner, args=""):
    command = ["sh", "-c", "sleep 0.4; true", "sh", "--password=hunter2-option", "--token",
               "tok-separate-word", "--api-key=key-of-the-api", "--verbose", "plain-word",
               "--dbpass", "-dashed-value", "ghp_0123456789abcdefABCDEF0123456789abcd",
               "curl", "-u", "bob:login-password", "https://url-token@host/x?sig=signed-by-me"]
    return runner(f"--sample-interval 0.1 {args}", command, env={"SLURM_JWT_TOKEN": "env-token-value",
                                                                  "SLURM_JOB_ID": "77"})


def test_secrets_are_masked_in_every_record(run_metron):
    run = secretive(run_metron, "--measurements default,ps_cmd")
    assert run.returncode == 0
    for name in ("info.json", "usage.jsonl", "events.jsonl"):
        text = run.bytes(name).decode()
        for secret in SECRETS:
            assert secret not in text, f"{secret} in {name}"
    assert not any(secret in run.message for secret in SECRETS)


def test_masking_leaves_the_rest_readable(run_metron):
    run = secretive(run_metron)
    assert "--password" in run.info["command"] or "--password" in run.bytes("info.json").decode()
    assert "plain-word" in run.bytes("info.json").decode()
    assert "plain-word" in run.bytes("usage.jsonl").decode()
    assert "SLURM_JWT_TOKEN" in run.bytes("info.json").decode()
    assert run.info["arguments"][-3:] == ["-u", "bob:***", "https://***@host/x?sig=***"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quoted_secret_that_is_cut_is_masked(run_metron, quote):
    """A command line is kept up to 4096 bytes: the quote has no partner there."""
    script = "sleep 0.3; true #".ljust(4050, "x") + f" password {quote}S3cret-" + "y" * 100 + quote
    run = run_metron("--sample-interval 0.1", ["sh", "-c", script])
    assert "password" in run.bytes("usage.jsonl").decode()
    for name in ("info.json", "usage.jsonl", "events.jsonl"):
        assert "S3cret" not in run.bytes(name).decode(), name


def test_masking_can_be_turned_off(run_metron):
    run = secretive(run_metron, "--no-mask-secrets")
    text = run.bytes("info.json").decode()
    for secret in SECRETS:
        assert secret in text, secret
    assert "hunter2-option" in run.bytes("usage.jsonl").decode()


def test_the_command_itself_gets_its_real_arguments(run_metron):
    run = run_metron("-q", ["sh", "-c", 'echo "$1"', "sh", "--password=hunter2-option"])
    assert run.stdout == b"--password=hunter2-option\n"


@pytest.mark.parametrize("option", ["--passwd=SECRET1", "--secret=SECRET1", "--auth-token=SECRET1",
                                    "--access-key=SECRET1", "--API_KEY=SECRET1", "--db-password=SECRET1",
                                    "--client-secret=SECRET1"])
def test_names_that_look_like_secrets(run_metron, option):
    run = run_metron("--sample-interval 0.05", ["sh", "-c", "sleep 0.2; true", "sh", option])
    for name in ("info.json", "usage.jsonl", "events.jsonl"):
        assert "SECRET1" not in run.bytes(name).decode(), name


@pytest.mark.parametrize("option", ["--keyboard=PLAIN1", "--monkey=PLAIN1", "--output=PLAIN1"])
def test_names_that_do_not(run_metron, option):
    run = run_metron("", ["sh", "-c", "true", "sh", option])
    assert "PLAIN1" in run.bytes("info.json").decode()


# ---- what the user adds ----

ADDED = ["--license", "acme-word", "x acme-0123,acme-45"]
HIDDEN = ["acme-word", "acme-0123", "acme-45"]


def added_settings(runner):
    path = runner.home / "config" / "metron" / "metron.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("secret_names = license, project-id\nsecret_patterns = acme-[0-9]{2,4}, zq[,]zq\n",
                    encoding="utf-8")
    return path


@pytest.mark.parametrize("measurements", ["default", "default,ps_cmd"])
def test_names_and_patterns_of_the_user_are_masked_too(run_metron, measurements):
    added_settings(run_metron)
    run = run_metron(f"--sample-interval 0.1 --environment ACME --measurements {measurements}",
                     ["sh", "-c", "sleep 0.4; true", "sh", *ADDED],
                     env={"ACME_PROJECT_ID": "acme-word", "ACME_TEXT": "has acme-0123 in it", "ACME_ROOM": "7"})
    for name in ("info.json", "usage.jsonl", "events.jsonl"):
        text = run.bytes(name).decode()
        assert not any(secret in text for secret in HIDDEN), name
    assert run.info["arguments"][-3:] == ["--license", "***", "x ***,***"]
    assert run.info["env"] == {"ACME_PROJECT_ID": "***", "ACME_TEXT": "has *** in it", "ACME_ROOM": "7"}


def test_attach_masks_them_too(run_metron):
    added_settings(run_metron)
    child = dc.start_child(run_metron, "sh", "-c", "sleep 600; true", "sh", *ADDED)
    try:
        run = run_metron.attach("--sample-interval 0.1 --duration 0.3", child.pid).finish()
    finally:
        child.kill()
        child.wait()
    for name in ("info.json", "usage.jsonl", "events.jsonl"):
        text = run.bytes(name).decode()
        assert not any(secret in text for secret in HIDDEN), name
    assert run.info["arguments"][-3:] == ["--license", "***", "x ***,***"]


def test_the_daemon_masks_them_and_takes_new_ones(run_metron, start_daemon):
    path = added_settings(run_metron)
    daemon = start_daemon("added")
    child = dc.start_child(run_metron, "sh", "-c", "sleep 600; true", "sh", *ADDED, "later-one")

    def shown(pid):
        snapshot = daemon.top_when(lambda snapshot: dc.process_in(snapshot, pid))
        return dc.process_in(snapshot, pid)["command"]
    assert shown(child.pid).endswith("--license *** 'x ***,***' later-one")

    path.write_text("secret_patterns = later-[a-z]+\n", encoding="utf-8")
    daemon.process.send_signal(signal.SIGHUP)

    def is_masked():
        again = dc.start_child(run_metron, "sh", "-c", "sleep 600; true", "sh", "later-one")
        return shown(again.pid).endswith("sh ***")
    wait_until(is_masked, what="the new pattern")
    assert daemon.stop() == 0
    for stored in (daemon.logged(), daemon.rows("select text from commands")):
        assert not any(secret in str(stored) for secret in HIDDEN)


def test_sighup_turns_masking_on_and_off(run_metron, start_daemon):
    path = added_settings(run_metron)
    path.write_text("mask_secrets = no\n", encoding="utf-8")
    daemon = start_daemon("switched")

    def shown():
        child = dc.start_child(run_metron, "sh", "-c", "sleep 600; true", "sh", "--token", "abc")
        snapshot = daemon.top_when(lambda snapshot: dc.process_in(snapshot, child.pid))
        return dc.process_in(snapshot, child.pid)["command"]
    assert shown().endswith("--token abc")
    for value, end, word in (("yes", "--token ***", "secrets are masked in command lines that are read from now on"),
                             ("no", "--token abc", "secrets are no longer masked")):
        path.write_text(f"mask_secrets = {value}\n", encoding="utf-8")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda word=word: word in daemon.said(), what=f"'{word}' in the log")
        assert shown().endswith(end)
    assert daemon.stop() == 0


@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_a_wrong_pattern_is_refused_by_name(run_metron, marker, how):
    command, path = marker
    args, env = "", {}
    if how == "option":
        args = "--secret-patterns a+,b(c"
    elif how == "variable":
        env = {"METRON_SECRET_PATTERNS": "a+,b(c"}
    else:
        added_settings(run_metron).write_text("\nsecret_patterns = a+, b(c\n", encoding="utf-8")
    run = run_metron(args, command, env=env, check=False)
    assert run.returncode == 2
    assert "cannot compile the pattern 'b(c': Unmatched (" in run.message
    assert "POSIX extended" in run.message
    assert {"option": "--secret-patterns", "variable": "METRON_SECRET_PATTERNS",
            "file": "metron.conf:2: secret_patterns"}[how] in run.message
    assert not path.exists()
    if how == "file":
        assert run_metron.metron(["daemon", "--check-config"]).returncode == 2
