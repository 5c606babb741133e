"""Settings: files, environment, command line; the later wins, and an unknown one is named."""

import os

import pytest


def write_settings(path, text, owner=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if owner is not None:
        os.chown(path, owner, owner)


def user_file(runner):
    return runner.home / "config" / "metron" / "metron.conf"


def folder_file(runner):
    return runner.cwd / ".metron" / "metron.conf"


def samples(runner, args="", **how):
    """How many samples a command of 0.8 s had, early ones included: at most 7 at 1 s and more, 11 at 0.05 s."""
    run = runner(args, "sleep 0.8", **how)
    assert run.returncode == 0, run
    return run.summary["num_samples"]


def test_defaults(run_metron):
    assert samples(run_metron) <= 7


def test_environment_sets_the_interval(run_metron):
    assert samples(run_metron, env={"METRON_SAMPLE_INTERVAL": "0.05"}) >= 11


def test_users_file_sets_the_interval(run_metron):
    write_settings(user_file(run_metron), "# mine\nsample_interval = 0.05\n")
    assert samples(run_metron) >= 11


def test_file_below_home_is_read_without_xdg(run_metron):
    write_settings(run_metron.home / ".config" / "metron" / "metron.conf", "sample_interval = 0.05\n")
    run = run_metron("", "sleep 0.8", env={"XDG_CONFIG_HOME": ""})
    assert run.summary["num_samples"] >= 11


def test_folders_file_wins_over_the_users(run_metron):
    write_settings(user_file(run_metron), "sample_interval = 5\n")
    write_settings(folder_file(run_metron), "sample_interval = 0.05\n")
    assert samples(run_metron) >= 11


def test_environment_wins_over_files(run_metron):
    write_settings(folder_file(run_metron), "sample_interval = 5\n")
    assert samples(run_metron, env={"METRON_SAMPLE_INTERVAL": "0.05"}) >= 11


def test_command_line_wins_over_all(run_metron):
    write_settings(folder_file(run_metron), "sample_interval = 5\n")
    assert samples(run_metron, "--sample-interval 0.05", env={"METRON_SAMPLE_INTERVAL": "3"}) >= 11


def test_measurements_from_the_environment(run_metron):
    run = run_metron("--sample-interval 0.05", "sleep 0.3", env={"METRON_MEASUREMENTS": "proc_rss"})
    keys = {key for record in run.usage for key in record["measurements"]}
    assert {key for key in keys if not key.startswith("self_")} == {"proc_rss"}


def test_every_kind_of_setting_may_be_in_a_file(run_metron):
    write_settings(folder_file(run_metron), "sample_interval = 0.05\nreport_interval = 0.3\n"
                                            "output_prefix = from-file_\ncapture_outputs = none\n"
                                            "measurements = proc_rss, proc_cpu_seconds\nfail_time = 0\n"
                                            "message = from the file\n")
    run = run_metron("", "sh -c 'sleep 0.8; exit 1'", prefix=None, fail_time=None, check=False)
    assert run.returncode == 1
    run.prefix = "from-file_"
    run.check()
    # One for each 0.3 s and one for the rest; with the default interval there would be one for each sample.
    assert 1 <= len(run.usage) <= run.summary["wall_clock_time"] / 0.3 + 1
    assert run.info["message"] == "from the file"
    assert not run.has("stdout")


def test_file_of_somebody_else_in_this_folder_is_not_trusted(run_metron):
    if os.getuid() != 0:
        pytest.skip("only root can make a file of somebody else's")
    write_settings(folder_file(run_metron), "sample_interval = 0.05\n", owner=12345)
    assert samples(run_metron) <= 7


def test_file_of_root_is_trusted_by_others(run_as_user):
    if os.getuid() != 0:
        pytest.skip("only root can make a file of root's")
    write_settings(folder_file(run_as_user), "sample_interval = 0.05\n")
    os.chmod(folder_file(run_as_user), 0o644)
    assert samples(run_as_user) >= 11


def ignored(run, path):
    return [line for line in run.message.splitlines() if str(path) in line and "is ignored" in line]


@pytest.mark.parametrize("planted", ["file", "folder"])
def test_link_of_somebody_else_in_this_folder_is_not_followed(run_metron, planted):
    """A link to a file of root's: all that root runs there would fail on what that file says."""
    if os.getuid() != 0:
        pytest.skip("only root can make a link of somebody else's")
    target = run_metron.home / "metron.conf"
    target.write_text("root:x:0:0\n")
    link = run_metron.cwd / ".metron"
    if planted == "file":
        link.mkdir()
        link = link / "metron.conf"
    link.symlink_to(target if planted == "file" else target.parent)
    os.chown(link, 12345, 12345, follow_symlinks=False)
    run = run_metron("", "echo ran")
    assert run.returncode == 0 and run.stdout == b"ran\n", run
    assert len(ignored(run, ".metron/metron.conf")) == 1, run


def test_folder_of_ones_own_may_be_a_link(run_metron):
    (run_metron.cwd / "elsewhere").mkdir()
    (run_metron.cwd / ".metron").symlink_to("elsewhere")
    write_settings(run_metron.cwd / "elsewhere" / "metron.conf", "message = hello\n")
    run = run_metron("", "true", prefix=".metron/logs/x_")
    assert run.info["message"] == "hello" and (run_metron.cwd / "elsewhere" / "logs").is_dir(), run


@pytest.mark.parametrize("of_whom", ["its own", "root's"])
def test_root_takes_no_settings_of_another_users_home(run_metron, of_whom):
    """sudo may keep HOME. A file there may be a link to any file of root's."""
    if os.getuid() != 0:
        pytest.skip("only root can take another user's HOME")
    path = user_file(run_metron)
    write_settings(path, "message = hello\n", owner=12345 if of_whom == "its own" else None)
    for folder in (run_metron.home, path.parent.parent, path.parent):
        os.chown(folder, 12345, 12345)
    run = run_metron("", "true")
    assert run.returncode == 0 and "message" not in run.info, run
    assert len(ignored(run, path)) == 1, run


@pytest.mark.parametrize("line", ["clobber = yes", "mask_secrets = no", "secret_names = x",
                                  "secret_patterns = x"])
def test_folders_file_may_not_lower_the_guard(run_metron, marker, line):
    """A folder somebody unpacked must not make metron overwrite files or tell secrets."""
    command, path = marker
    write_settings(folder_file(run_metron), f"{line}\n")
    run = run_metron("", command, check=False)
    assert run.returncode == 2
    assert line.split()[0] in run.message
    assert not path.exists()


def test_users_file_may(run_metron):
    write_settings(user_file(run_metron), "clobber = yes\n\n[run]\nsample_interval = 0.05\n")
    run_metron("", "true")
    assert samples(run_metron) >= 11


def test_unknown_key_names_file_line_and_key(run_metron, marker):
    command, path = marker
    write_settings(folder_file(run_metron), "# one\nsample_interval = 1\n\nsample_intervall = 2\n")
    run = run_metron("", command, check=False)
    assert run.returncode == 2
    assert ".metron/metron.conf" in run.message and "4" in run.message and "sample_intervall" in run.message
    assert not path.exists()


@pytest.mark.parametrize("line", ["sample_interval = soon", "sample_interval = 0.001", "wait = forever",
                                  "pty = perhaps"])
def test_wrong_value_in_a_file_is_named(run_metron, marker, line):
    command, path = marker
    write_settings(folder_file(run_metron), f"{line}\n")
    run = run_metron("", command, check=False)
    assert run.returncode == 2
    assert ".metron/metron.conf" in run.message and line.split(" ")[0] in run.message
    assert not path.exists()


def test_line_that_is_no_setting_is_named(run_metron, marker):
    command, path = marker
    write_settings(folder_file(run_metron), "# one\nsample_interval\n")
    run = run_metron("", command, check=False)
    assert run.returncode == 2
    assert ".metron/metron.conf:2" in run.message
    assert not path.exists()


def test_wrong_value_in_the_environment_is_named(run_metron, marker):
    command, path = marker
    run = run_metron("", command, env={"METRON_SAMPLE_INTERVAL": "often"}, check=False)
    assert run.returncode == 2
    assert "METRON_SAMPLE_INTERVAL" in run.message and "often" in run.message
    assert not path.exists()


def test_unknown_variable_is_not_ours(run_metron):
    """Another program may call its variables METRON_… too; only files are held to the table."""
    assert run_metron("", "true", env={"METRON_OF_SOMEBODY_ELSE": "1"}).returncode == 0


def test_unreadable_file_is_told(run_as_user):
    if os.getuid() != 0:
        pytest.skip("only root can make a file that this user may not read")
    write_settings(user_file(run_as_user), "sample_interval = 0.05\n")
    os.chmod(user_file(run_as_user), 0o600)
    for folder in (run_as_user.home / "config", run_as_user.home / "config" / "metron"):
        os.chmod(folder, 0o755)
    run = run_as_user("", "true", check=False)
    assert "metron.conf" in run.message
