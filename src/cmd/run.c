/* metron run: runs a command, follows every descendant, records, summarises. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/log.h"
#include "cmd/alone.h"
#include "cmd/availability.h"
#include "cmd/commands.h"
#include "cmd/duct_hints.h"
#include "cmd/measuring.h"
#include "cmd/registration.h"
#include "loop/run.h"

/* Beside the exit codes: the command is to be run alone. */
enum { RUN_ALONE = -1 };

static const struct command_description description = {
    .name = "run",
    .summary = "run a command and record what it and all its descendants used",
    .usage = "[OPTION...] [--] COMMAND [ARGUMENT...]",
    .description =
        "Runs COMMAND, follows every process that descends from it, whatever session or parent it ends "
        "up with, captures its output while showing it, and records what it used: samples in "
        "usage.jsonl, processes that came and went in events.jsonl, the whole in info.json. Exits with "
        "COMMAND's exit code: 127 if it is not found, 126 if it cannot be run, 128+N if signal N ended "
        "it; 2 is wrong usage. A disk that is full or read-only is a warning: COMMAND runs unrecorded. "
        "Where metron has too few descriptors, processes or memory, it warns and becomes COMMAND.\n"
        "\n"
        "With privilege (root, or cap_bpf and cap_perfmon) the kernel tells of every process, signal and OOM "
        "kill as it happens, and what each process used. By default COMMAND does not wait for that: it is in "
        "force from about a second after the start, with --events bpf before COMMAND begins.\n"
        "\n"
        "Ctrl-C goes to the command. A second one, or SIGTERM or SIGHUP to metron, ends the whole tree "
        "(SIGTERM or the SIGHUP that it got, after 10 seconds SIGKILL: --kill-after); the record is still "
        "written, and names the sender. A process that runs as another user (sudo) cannot be ended: a "
        "warning names it, and after "
        "that time metron does not wait for it. Any other signal that is sent to metron goes to the command.",
    .examples =
        "  metron run -- make -j8\n"
        "  metron run --sample-interval 0.1 -p results/ -m 'with the new solver' ./simulate input.dat\n"
        "  metron run --summary-format '{wall_clock_time:.1f} s, {peak_memory_bytes!S}' ./job\n",
    .command = COMMAND_RUN,
};

static void streams_chosen(size_t choice, bool *for_stdout, bool *for_stderr)
{
    *for_stdout = choice == CHOICE_STREAMS_ALL || choice == CHOICE_STREAMS_STDOUT;
    *for_stderr = choice == CHOICE_STREAMS_ALL || choice == CHOICE_STREAMS_STDERR;
}

static void fill_options(struct run_options *options, const struct settings *settings, char **argv)
{
    measuring_options(options, settings);
    options->argv = argv;
    options->new_session = settings_choice(settings, SETTING_MODE) == CHOICE_MODE_NEW_SESSION;
    options->wait =
        settings_choice(settings, SETTING_WAIT) == CHOICE_WAIT_TREE ? RUN_WAIT_TREE : RUN_WAIT_ROOT;
    options->pty = settings_flag(settings, SETTING_PTY);
    options->fail_time = settings_real(settings, SETTING_FAIL_TIME);
    options->kill_after = settings_real(settings, SETTING_KILL_AFTER);
    streams_chosen(settings_choice(settings, SETTING_CAPTURE_OUTPUTS), &options->capture_stdout,
                   &options->capture_stderr);
    streams_chosen(settings_choice(settings, SETTING_OUTPUTS), &options->show_stdout, &options->show_stderr);
}

/* What holds between options of this command alone. */
static int check_options(const struct run_options *options, size_t cgroup, struct metron_error *error)
{
    if (!options->argv[0])
        return error_set(error, -EINVAL, "run: no command is given; see 'metron run --help'");
    if (!options->new_session && options->wait == RUN_WAIT_TREE)
        return error_set(error, -EINVAL,
                         "run: --wait tree needs --mode new-session: a session's own shell never ends");
    if (!options->new_session && cgroup == CHOICE_CGROUP_OWN)
        return error_set(
            error, -EINVAL,
            "run: --cgroup own needs --mode new-session: a session's other processes cannot be moved");
    if (!options->new_session && options->pty)
        return error_set(error, -EINVAL,
                         "run: --pty needs --mode new-session: a terminal belongs to one session");
    return 0;
}

/* How the machine is looked at. */
static void fill_looking(struct availability_options *looking, const struct settings *settings,
                         const struct run_options *options)
{
    measuring_looking(looking, settings);
    looking->cgroup_mode = (enum cgroup_mode)settings_choice(settings, SETTING_CGROUP);
    looking->session = !options->new_session;
    /* A leaf holds the command's descendants; a session's other processes would stay outside. */
    if (!options->new_session && looking->cgroup_mode == CGROUP_MODE_AUTO)
        looking->cgroup_mode = CGROUP_MODE_INHERITED;
}

/* What the user asked for is there or an error. */
static bool is_demanding(const struct availability_options *looking)
{
    return looking->cgroup_mode == CGROUP_MODE_OWN || looking->events == EVENTS_BPF ||
           looking->events == EVENTS_CONNECTOR;
}

/* What an error before the start leads to. A program that started metron (--feed) decides for itself. */
static int exit_or_run_alone(const struct run_options *options, int exit_code,
                             const struct metron_error *error)
{
    return !options->feed && error_is_of_machine(error->code) ? RUN_ALONE : exit_code;
}

/* The command's environment, in ours. */
static void export_job(const struct settings *settings)
{
    char sheet[32];

    if (settings_has(settings, SETTING_JOB))
        (void)setenv("METRON_JOB", settings_text(settings, SETTING_JOB), 1);
    if (settings_has(settings, SETTING_SHEET)) {
        (void)snprintf(sheet, sizeof(sheet), "%lld", settings_integer(settings, SETTING_SHEET));
        (void)setenv("METRON_SHEET", sheet, 1);
    }
}

static int run_command(const struct settings *settings, char **argv, struct availability *availability,
                       struct metron_error *error)
{
    struct run_options options;
    struct availability_options looking;
    struct registration registration;
    struct run *run = NULL;

    fill_options(&options, settings, argv);
    if (check_options(&options, settings_choice(settings, SETTING_CGROUP), error) < 0)
        return EXIT_WRONG_USAGE;
    fill_looking(&looking, settings, &options);
    int code = measuring_look(availability, &looking, settings, error);
    if (code != EXIT_OK)
        return is_demanding(&looking) ? code : exit_or_run_alone(&options, code, error);
    if (getauxval(AT_SECURE))
        log_info(
            "metron has capabilities from its file: the system has therefore taken LD_* and TMPDIR out of "
            "the environment, and the command does not get them");
    measuring_use(&options, availability);
    options.on_started = registration_started;
    options.started_context = &registration;
    code = run_prepare(&options, &run, error);
    if (code < 0)
        return exit_or_run_alone(&options, code == -EINVAL ? EXIT_WRONG_USAGE : EXIT_TROUBLE, error);
    registration_begin(&registration, settings, run_get_info(run),
                       availability->cgroup.scope == CGROUP_SCOPE_OWN);
    code = run_execute(run, error);
    registration_end(&registration);
    if (code < 0 && exit_or_run_alone(&options, EXIT_TROUBLE, error) == RUN_ALONE) {
        run_withdraw(run);
        return RUN_ALONE;
    }
    if (code == 0)
        measuring_summary(run, settings);
    int exit_code = run_get_info(run)->outcome.exit_code;
    if (code < 0 && exit_code == 0)
        exit_code = EXIT_TROUBLE;
    run_free(run);
    return exit_code;
}

static int run_main(int argc, char **argv)
{
    struct settings settings;
    struct availability availability = {0};
    struct metron_error error = {0};
    int first = argc, exit_code;

    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        duct_hints_give(COMMAND_RUN);
        exit_code = run_command(&settings, argv + first, &availability, &error);
        availability_fini(&availability);
        if (exit_code == RUN_ALONE) {
            export_job(&settings);
            exit_code = run_alone(argv + first, &error);
        }
        if (error.code)
            command_failed(&error);
    }
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_run = {&description, run_main};
