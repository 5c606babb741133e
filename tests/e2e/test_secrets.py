"""What looks like a secret is in no record, unless the user says so."""

import pytest

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
