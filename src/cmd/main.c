/*
 * metron: what a command, a job or a machine really used, and what to do about it.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "cmd/commands.h"
#include "launch/descriptor.h"
#include "launch/signals.h"
#include "probe/companion.h"
#include "probe/gpu/readings.h"
#include "settings/options_help.h"

/* One line per command. */
static const struct metron_command *const commands[] = {
    &command_run,          &command_attach, &command_ls,     &command_report, &command_plot,   &command_diff,
    &command_suggest,      &command_pp,     &command_export, &command_rm,     &command_gc,     &command_trace,
    &command_measurements, &command_doctor, &command_daemon, &command_job,    &command_events,
};
static const size_t command_count = sizeof(commands) / sizeof(commands[0]);

static const struct metron_command *find_command(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i]->description->name, name) == 0)
            return commands[i];
    return NULL;
}

static int print_overview(int fd)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_adds(&text, "Usage: metron COMMAND [OPTION...]\n\n"
                       "Tells what a command, a job or a machine really used.\n\nCommands:\n");
    for (size_t i = 0; i < command_count; i++)
        strbuf_addf(&text, "  %-14s%s\n", commands[i]->description->name, commands[i]->description->summary);
    strbuf_adds(&text, "\n'metron COMMAND --help' tells more; 'metron --version' what this build can do.\n\n"
                       "Example:\n  metron run -- make -j8\n");
    int code = file_write_all(fd, strbuf_text(&text), text.length) == 0 ? EXIT_OK : EXIT_TROUBLE;
    strbuf_fini(&text);
    return code;
}

static int print_version(void)
{
    struct strbuf text = STRBUF_INIT;
    char path[PATH_MAX];
    const struct {
        const char *name;
        bool is_there;
    } optional[] = {
        {"kernel events (BPF)", METRON_HAS_BPF},
        {"daemon with history (SQLite)", companion_find("metron-daemon", path) == 0},
        {"export of the history (SQLite)", companion_find("metron-history", path) == 0},
        {"pictures (cairo)", companion_find("metron-plot", path) == 0},
    };
    struct strbuf missing = STRBUF_INIT;

    strbuf_addf(&text, "metron %s\nfeatures: process connector, control groups, GPU (NVML), libuv %s",
                METRON_VERSION, uv_version_string());
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        struct strbuf *list = optional[i].is_there ? &text : &missing;
        strbuf_addf(list, "%s%s", list->length ? ", " : "", optional[i].name);
    }
    strbuf_addf(&text, "%s%s\n", missing.length ? "\nnot in this build: " : "", strbuf_text(&missing));
    strbuf_fini(&missing);
    int code = command_print(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return code;
}

static int unknown_command(const char *name)
{
    struct suggest suggest;
    char nearest[SUGGEST_TEXT_SIZE];

    suggest_init(&suggest, name);
    for (size_t i = 0; i < command_count; i++)
        suggest_offer(&suggest, commands[i]->description->name);
    if (suggest.count > 0)
        log_error("no command is called '%s'%s; 'metron --help' lists them", name,
                  suggest_text(&suggest, "", nearest));
    else
        log_error("no command is called '%s'; 'metron --help' lists them; to run it: metron run -- %s", name,
                  name);
    return EXIT_WRONG_USAGE;
}

/* `metron help [--man] [COMMAND]`; with --man the page in roff, which the build installs. */
static int help_main(int argc, char **argv)
{
    bool man = argc > 1 && strcmp(argv[1], "--man") == 0;
    const char *name = argc > (man ? 2 : 1) ? argv[man ? 2 : 1] : NULL;
    struct strbuf text = STRBUF_INIT;

    if (!name)
        return print_overview(STDOUT_FILENO);
    const struct metron_command *command = find_command(name);
    if (!command)
        return unknown_command(name);
    if (man)
        options_man(command->description, "metron " METRON_VERSION, &text);
    else
        options_help(command->description, &text);
    int code = command_print(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return code;
}

int main(int argc, char **argv)
{
    launch_signals_save();
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its size limit is a write that fails, as on a full disk */
    descriptor_reserve_stdio();
    log_setup(LOG_LEVEL_INFO, false);
    if (argc < 2) {
        (void)print_overview(STDERR_FILENO);
        return EXIT_WRONG_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_overview(STDOUT_FILENO);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        return print_version();
    if (strcmp(name, "help") == 0)
        return help_main(argc - 1, argv + 1);
    const struct metron_command *command = find_command(name);
    int exit_code = command ? command->main(argc - 1, argv + 1) : unknown_command(name);
    if (gpu_readings_left_behind())
        _exit(exit_code);
    return exit_code;
}
