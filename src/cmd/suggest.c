/* metron suggest: tell what to request next time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "cmd/run_filter.h"
#include "learn/headline_of_records.h"
#include "learn/suggestion.h"
#include "store/recording/reader.h"
#include "view/suggestion/text.h"

static const struct command_description description = {
    .name = "suggest",
    .summary = "tell what to request next time",
    .usage = "[OPTION...] RUN...",
    .description =
        "Tells how much memory, how many CPUs and how much time to request for runs like these. RUN is a "
        "recording of metron or of con-duct: a file of it, its prefix, its id or name (metron ls "
        "has them), a job, a glob, or a folder with many.\n\n"
        "Memory is the largest peak of the runs (of 20 runs or more the 99th percentile) plus the margin; "
        "time the same of their wall times. CPUs are as many as 90 % of the runs need to take at most 10 % "
        "longer than they took, by the cores that their records show busy over time. All are rounded up. "
        "Only runs that succeeded count, unless none did. A run that was killed by a limit "
        "shows only that it needed more: it raises the suggestion to 1.5 times that limit. What the "
        "numbers do not have in them is warned of: peaks that were sampled, or of one process only, and "
        "CPUs of runs that waited for one or that a quota held back. --filter takes only some of the runs. "
        "Where runs of one job ran at the same time (ranks), each number is "
        "that of one of them.\n\n"
        "Beside each number stands how much of what was requested was used, where the environment of the "
        "runs tells (that of Slurm all of it; of Torque CPUs and time, of LSF and Grid Engine CPUs, of jobs "
        "on one "
        "node), "
        "and by which measurement the memory was found. With --for, the lines for that scheduler or "
        "workflow follow, and all else is in its comments, with what the lines assume where sites differ: "
        "the "
        "whole can be pasted.",
    .examples = "  metron suggest .metron/logs/\n"
                "  metron suggest --for slurm 'logs/align-*'\n"
                "  metron suggest --filter \"command =~ 'train.py' and wall > 1m\" logs/\n"
                "  metron suggest --margin 50 --json logs/ | jq .memory_bytes.value\n",
    .command = COMMAND_SUGGEST,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

struct past_runs {
    struct past_run *items; /* owned */
    size_t count, unreadable;
    struct arena arena; /* their texts */
};

/* What a past run is made of, and what the filter needs; ended by NULL. NULL: out of memory. */
static const char **fields_to_read(const struct run_filter *filter, struct arena *arena)
{
    const char *const *const lists[] = {past_run_fields, run_filter_fields(filter)};
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++)
        for (const char *const *field = lists[i]; *field; field++)
            count++;
    const char **fields = arena_alloc(arena, (count + 1) * sizeof(*fields));
    for (size_t i = 0, at = 0; fields && i < ARRAY_LENGTH(lists); i++)
        for (const char *const *field = lists[i]; *field; field++)
            fields[at++] = *field;
    return fields;
}

/* 0; -ENOMEM; -EINVAL: the filter does not suit a run (reported). */
static int read_runs(const struct run_list *list, const struct run_filter *filter, struct past_runs *runs)
{
    const struct recording_wish wish = {.fields = fields_to_read(filter, &runs->arena),
                                        .parts = true,
                                        .keys = true,
                                        .describe = describe_known_key,
                                        .lives = recorder_is_alive,
                                        .make_headline = headline_of_records,
                                        .now = clock_wall_seconds()};

    runs->items = calloc(list->count + 1, sizeof(*runs->items));
    if (!runs->items || !wish.fields)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        struct recording recording = {0};
        struct metron_error error = {0};
        int code = recording_read(list->paths[i], &wish, &recording, &error);
        if (code < 0) {
            log_error("%s", error.message);
            runs->unreadable++;
            continue;
        }
        code = run_filter_holds(filter, &recording);
        if (code > 0)
            past_run_read(&recording, &runs->arena, &runs->items[runs->count++]);
        recording_fini(&recording);
        if (code < 0)
            return code;
    }
    return 0;
}

/* Prints what the runs tell: the exit code. */
static int print_suggestion(const struct settings *settings, const struct past_runs *runs)
{
    enum suggestion_consumer consumer = (enum suggestion_consumer)settings_choice(settings, SETTING_FOR);
    struct suggestion suggestion;
    struct strbuf text = STRBUF_INIT;

    _Static_assert((int)SUGGESTION_FOR_SLURM == (int)CHOICE_FOR_SLURM &&
                       (int)SUGGESTION_FOR_K8S == (int)CHOICE_FOR_K8S,
                   "the same order");
    if (suggestion_make(runs->items, runs->count, settings_real(settings, SETTING_MARGIN) / 100,
                        &suggestion) < 0) {
        log_error("no memory for so many runs");
        return EXIT_TROUBLE;
    }
    if (suggestion.counted == 0)
        log_error("none of these runs has run to an end, so there is nothing to suggest from: %zu still "
                  "running, %zu lost, %zu never started, %zu not readable",
                  suggestion.ended[PAST_RUNNING], suggestion.ended[PAST_LOST],
                  suggestion.ended[PAST_NOT_STARTED], runs->unreadable);
    else if (settings_flag(settings, SETTING_JSON))
        suggestion_json(&text, &suggestion, runs->unreadable, consumer);
    else
        suggestion_text(&text, &suggestion, runs->unreadable, consumer, command_page_width(100),
                        command_colors(settings, STDOUT_FILENO));
    int exit_code = EXIT_TROUBLE;
    if (text.failed)
        log_error("no memory for the suggestion");
    else if (suggestion.counted > 0)
        exit_code = command_print(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return exit_code;
}

static int suggest_main(int argc, char **argv)
{
    struct settings settings;
    struct run_list list = {0};
    struct past_runs runs = {0};
    struct run_filter filter = {0};
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    if (first == argc) {
        log_error("suggest: which runs? Name them, or a folder with them: metron suggest .metron/logs/");
        exit_code = EXIT_WRONG_USAGE;
        goto out;
    }
    exit_code = run_filter_init(&filter, &settings);
    if (exit_code != EXIT_OK)
        goto out;
    exit_code = EXIT_TROUBLE;
    bool all_found = named_runs(&settings, &list, argv + first, argc - first);
    run_list_sort(&list);
    if (list.count == 0)
        goto out;
    int code = read_runs(&list, &filter, &runs);
    if (code == -ENOMEM)
        log_error("no memory for %zu runs", list.count);
    if (code < 0) {
        exit_code = code == -EINVAL ? EXIT_WRONG_USAGE : EXIT_TROUBLE;
        goto out;
    }
    if (runs.count == 0 && filter.filter && list.count > runs.unreadable) {
        run_filter_say_none(list.count - runs.unreadable);
        goto out;
    }
    exit_code = print_suggestion(&settings, &runs);
    if (exit_code == EXIT_OK && (!all_found || runs.unreadable))
        exit_code = EXIT_TROUBLE;
out:
    run_filter_fini(&filter);
    free(runs.items);
    arena_fini(&runs.arena);
    run_list_fini(&list);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_suggest = {&description, suggest_main};
