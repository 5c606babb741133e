/* metron report: tell on one page what a run or a job used and what went wrong. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "cmd/report_job.h"
#include "store/recording/line_reader.h"
#include "store/recording/reader.h"
#include "store/run_names.h"
#include "view/report/report.h"

static const struct command_description description = {
    .name = "report",
    .summary = "tell on one page what a run or a job used and what went wrong",
    .usage = "[OPTION...] [RUN | JOB]",
    .description =
        "One page about a recorded run: how it ended and why, what to do next, time and CPU, memory, stalls "
        "and I/O by every method that was in force, GPUs, the processes and programs that used most, of a "
        "build the slowest compilations by source file, what "
        "happened (failures, signals and who sent them, OOM kills, anomalies), system calls where they were "
        "counted, and what watching cost. RUN is a file of the run, its prefix, its id or the beginning of "
        "its "
        "name (metron ls has them), last, or -1, -2 ... for the newest, the one before ... (without it: the "
        "newest run that was recorded here); a run of con-duct (schema 0.2.x) will do. A number stands "
        "beside the key "
        "it was taken from; what was not measured is not there, and the reason is told. A run that is still "
        "going on, or whose record was not completed, is reported up to its last record. What names no run "
        "may be a job that the daemon knows; --job NAME means the job also where there are files of that "
        "name. With --json all of it as one object, also what the page sums up or leaves out: a key for each "
        "section, every number exact, with its unit and source.",
    .examples = "  metron report -2\n"
                "  metron report .metron/logs/2026.11.15T07.42.53-4711_\n"
                "  metron report --json .metron/logs/2026.11.15T07.42.53-4711_ | jq .outcome.kind\n"
                "  metron report --job night\n",
    .command = COMMAND_REPORT,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

static int read_run(const char *path, struct recording *recording, struct metron_error *error)
{
    const struct recording_wish wish = {.keys = true,
                                        .describe = describe_known_key,
                                        .lives = recorder_is_alive,
                                        .now = clock_wall_seconds()};

    return recording_read(path, &wish, recording, error);
}

/* -ENOENT: there is no such run, and nothing was said; else 0, with the exit code. */
static int report_run(const char *path, const struct settings *settings, int *exit_code,
                      struct metron_error *error)
{
    struct recording recording = {0};
    struct report_evidence evidence = {0};
    struct report_page page = {0};
    struct strbuf text = STRBUF_INIT;

    *exit_code = EXIT_TROUBLE;
    int code = read_run(path, &recording, error);
    if (code == -ENOENT)
        goto out;
    if (code == 0)
        code = report_evidence_read(&evidence, &recording, error);
    if (code == 0)
        code = run_report_page(&evidence, &page);
    if (code == 0) {
        if (settings_flag(settings, SETTING_JSON))
            report_page_json(&text, &page);
        else
            report_page_text(&text, &page, command_page_width(80), command_colors(settings, STDOUT_FILENO));
        code = text.failed ? -ENOMEM : 0;
    }
    if (code == 0)
        *exit_code = command_print(strbuf_text(&text), text.length);
    else
        log_error("%s", error->message[0] ? error->message : strerror(-code));
    code = 0;
    if (line_reader_tell_damage(recording.usage_path, evidence.usage_damage.lines,
                                evidence.usage_damage.first, error))
        log_warning("%s", error->message);
    if (line_reader_tell_damage(recording.events_path, evidence.events_damage.lines,
                                evidence.events_damage.first, error))
        log_warning("%s", error->message);
out:
    strbuf_fini(&text);
    report_page_fini(&page);
    report_evidence_fini(&evidence);
    recording_fini(&recording);
    return code;
}

static int print_job(const char *name, const struct settings *settings, int *exit_code,
                     struct metron_error *error)
{
    struct strbuf text = STRBUF_INIT;

    int code = report_job(settings, name, &text, error);
    if (code == 0)
        *exit_code = command_print_data(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return code;
}

/* Files come first, then a job that the daemon knows, which may be more than any one run of that name. */
static int report_named(const char *name, const struct settings *settings)
{
    struct metron_error no_run = {0}, no_job = {0};
    int exit_code = EXIT_TROUBLE, code = -ENOENT;
    char *path = NULL;

    if (recording_is_named(name))
        code = report_run(name, settings, &exit_code, &no_run);
    const bool may_be_job = name[0] && run_names_place(name) == 0;
    if (code == 0 || (may_be_job && print_job(name, settings, &exit_code, &no_job) == 0))
        return exit_code;
    if (!no_run.message[0]) {
        code = named_run(settings, name, &path, &no_run);
        if (code == 0)
            code = report_run(path, settings, &exit_code, &no_run);
    }
    if (code < 0)
        log_error("%s", no_run.message);
    if (code == -ENOENT && no_job.message[0])
        log_info("nor is it a job of the daemon: %s", no_job.message);
    free(path);
    return exit_code;
}

/* One that is asked for; METRON_JOB in the environment of a job's process is no question. */
static const char *asked_job(const struct settings *settings)
{
    bool asked = settings_origin(settings, SETTING_JOB) == SETTING_ORIGIN_COMMAND_LINE;
    return asked ? settings_text(settings, SETTING_JOB) : NULL;
}

static int report_main(int argc, char **argv)
{
    struct settings settings;
    struct metron_error error = {0};
    int first = argc, exit_code;
    char *newest = NULL;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    const char *job = asked_job(&settings);
    exit_code = EXIT_WRONG_USAGE;
    if (job && first < argc)
        log_error("either --job or a run: '%s' is one too many", argv[first]);
    else if (job) {
        exit_code = EXIT_TROUBLE;
        if (print_job(job, &settings, &exit_code, &error) < 0)
            log_error("%s", error.message);
    } else if (first + 1 < argc) {
        log_error("one run at a time: '%s' is one too many", argv[first + 1]);
    } else if (first < argc) {
        exit_code = report_named(argv[first], &settings);
    } else {
        exit_code = EXIT_TROUBLE;
        if (named_run(&settings, NULL, &newest, &error) < 0 ||
            report_run(newest, &settings, &exit_code, &error) == -ENOENT)
            log_error("%s", error.message);
    }
out:
    free(newest);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_report = {&description, report_main};
