/* metron rm: remove recorded runs that are named. */
#include <stdlib.h>

#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/newest.h"
#include "cmd/removal.h"

static const struct command_description description = {
    .name = "rm",
    .summary = "remove recorded runs",
    .usage = "[OPTION...] RUN...",
    .description =
        "Removes the files of recorded runs: stdout, stderr, usage.jsonl, events.jsonl and info.json under "
        "their prefix, and nothing else; folders stay. RUN is one run each: an id, a name or a job as metron "
        "ls shows them, last or -1 (the newest), -2 (the one before), a file of the run or its prefix.\n\n"
        "On a terminal it shows what would be removed, and asks. Elsewhere it needs --yes: without, it shows "
        "what would be removed, removes nothing, and the exit code is 2. What was removed is printed, a line "
        "for each run.\n\n"
        "A run that still runs is not removed, nor one of which a file is a link or belongs to another user. "
        "These are named, and the exit code is 1. Of a run without an info.json (con-duct writes it at the "
        "end) "
        "only its records say whether it still runs: with one of the last ten minutes it is not removed; "
        "with "
        "older ones the question says what is not known, and --yes removes it.",
    .examples = "  metron rm 3fa9c\n"
                "  metron rm --yes last -2\n"
                "  metron rm .metron/logs/2026.11.15T07.42.53-4711_\n",
    .command = COMMAND_RM,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

static void add_named(struct removal *removal, const struct settings *settings, const char *name)
{
    struct metron_error error = {0};
    struct recording recording = {0};
    char *path = NULL;

    if (named_run(settings, name, &path, &error) < 0 || removal_read(path, &recording, &error) < 0) {
        log_error("%s", error.message);
        removal->trouble = true;
    } else {
        removal_add(removal, &recording);
    }
    recording_fini(&recording);
    free(path);
}

static int rm_main(int argc, char **argv)
{
    struct settings settings;
    struct removal removal = {0};
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    if (first == argc) {
        log_error("rm: which runs? metron ls lists them: metron rm RUN...");
        exit_code = EXIT_WRONG_USAGE;
        goto out;
    }
    for (int i = first; i < argc; i++)
        add_named(&removal, &settings, argv[i]);
    exit_code = removal_do(&removal, &settings, "rm");
out:
    removal_fini(&removal);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_rm = {&description, rm_main};
