/* metron trace: every system call of a process tree, live and saved. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "loop/trace.h"
#include "probe/kernel.h"
#include "store/run_folder.h"

static const struct command_description description = {
    .name = "trace",
    .summary = "show and save every system call of a running process and its descendants",
    .usage = "[OPTION...] PID",
    .description =
        "Attaches strace to process PID, all its threads and descendants and whatever they start, shows each "
        "system call with its time and duration, and saves the same to a file: the one that -o names, or one "
        "of its own. With -q it only saves. Ctrl-C detaches: the processes go on. It ends by itself when all "
        "have ended. Needs the program strace, and the right to trace: your own processes "
        "(kernel.yama.ptrace_scope may forbid even that), or root.\n"
        "\n"
        "Tracing slows a process down, by a factor of 50 and more if it does little but system calls; and a "
        "screen or pager that stands still holds the processes up: with -q nothing is shown.",
    .examples = "  metron trace 4711\n"
                "  metron trace -q -o calls.txt 4711\n"
                "  metron trace 4711 | grep -F 'open'\n",
    .command = COMMAND_TRACE,
    .options_anywhere = true,
};

static int read_pid(char **operands, pid_t *pid, struct metron_error *error)
{
    char *end;

    if (!operands[0])
        return error_set(error, -EINVAL, "trace: no process is given; see 'metron trace --help'");
    if (operands[1])
        return error_set(error, -EINVAL,
                         "trace: one process at a time, with its descendants, not '%s' as well", operands[1]);
    errno = 0;
    long number = strtol(operands[0], &end, 10);
    if (errno || end == operands[0] || *end != '\0' || number < 1 || number > INT_MAX)
        return error_set(error, -EINVAL, "trace: '%s' is not the number of a process", operands[0]);
    *pid = (pid_t)number;
    return 0;
}

/* The name given, or the prefix of all files of this metron and "trace". `number`: as in struct
 * prefix_values. */
static int choose_path(const struct settings *settings, unsigned number, struct strbuf *path,
                       struct metron_error *error)
{
    struct kernel_facts facts;
    const char *given = settings_text(settings, SETTING_TRACE_FILE);

    strbuf_reset(path);
    if (given) {
        strbuf_adds(path, given);
        return path->failed ? error_set(error, -ENOMEM, "no memory for the name of the file") : 0;
    }
    if (kernel_facts_read("/proc", &facts) < 0)
        facts.hostname[0] = '\0';
    const struct prefix_values values = {
        .wall = clock_wall(), .pid = getpid(), .host = facts.hostname, .number = number};
    int code = run_folder_expand(settings_text(settings, SETTING_OUTPUT_PREFIX), &values, path, error);
    strbuf_adds(path, "trace");
    return code == 0 && path->failed ? error_set(error, -ENOMEM, "no memory for the name of the file") : code;
}

static int trace_process(const struct settings *settings, char **operands, struct metron_error *error)
{
    bool is_ours = !settings_has(settings, SETTING_TRACE_FILE);
    bool is_default = is_ours && settings_origin(settings, SETTING_OUTPUT_PREFIX) == SETTING_ORIGIN_DEFAULT;
    struct trace_options options = {.path_is_ours = is_ours,
                                    .path_is_default = is_default,
                                    .clobber = !is_default && settings_flag(settings, SETTING_CLOBBER),
                                    .show = !settings_flag(settings, SETTING_QUIET)};
    struct trace_outcome outcome;
    struct strbuf path = STRBUF_INIT;
    int exit_code = EXIT_WRONG_USAGE, code;
    unsigned number = 0;

    if (read_pid(operands, &options.pid, error) < 0)
        goto out;
    /* Time and pid are not unique among containers: a default name that is taken gets a number. */
    do {
        exit_code = EXIT_WRONG_USAGE;
        if (choose_path(settings, ++number, &path, error) < 0)
            goto out;
        options.path = strbuf_text(&path);
        exit_code = EXIT_TROUBLE;
        code = trace_execute(&options, &outcome, error);
    } while (code == -EEXIST && is_default && number < RUN_NAMES_TRIED);
    if (code < 0)
        goto out;
    *error = (struct metron_error){0};
    log_info("%" PRIu64 " system call%s traced, saved in %s%s", outcome.calls, outcome.calls == 1 ? "" : "s",
             options.path, outcome.file_code ? " in part" : "");
    if (!outcome.file_code)
        exit_code = EXIT_OK;
out:
    strbuf_fini(&path);
    return exit_code;
}

static int trace_main(int argc, char **argv)
{
    struct settings settings;
    struct metron_error error = {0};
    int first = argc, exit_code;

    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        exit_code = trace_process(&settings, argv + first, &error);
        if (error.code)
            log_error("%s", error.message);
    }
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_trace = {&description, trace_main};
