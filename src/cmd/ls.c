/*
 * metron ls: list recorded runs. The filter is parsed before anything is opened; then each recording is read
 * for the wanted fields only, asked by the filter, and turned into a row.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/suggest.h"
#include "cmd/commands.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "cmd/run_filter.h"
#include "learn/headline_of_records.h"
#include "store/recording/reader.h"
#include "view/list/columns.h"
#include "view/list/listing.h"
#include "view/list/table.h"
#include "view/list/text.h"
#include "view/run_summary.h"

#define FIELDS_MAX 256
#define SORT_MAX   16

static const struct command_description description = {
    .name = "ls",
    .summary = "list recorded runs",
    .usage = "[OPTION...] [PATH...]",
    .description =
        "Lists recorded runs, of metron and of con-duct: those at PATH (a folder with all below it, a "
        "prefix, a file of a run, a glob of these, or a name of runs: see below), or those in the folder of "
        "the standard prefix. A run whose record was not completed (metron was killed, the machine went "
        "down, or the disk was full) is shown as lost; one that still runs with what it has used up to its "
        "newest record. Of a run without an info.json (con-duct has none before the end, and -t "
        "processes-samples leaves it out) the usage file is read, and its status is unknown. A file that "
        "cannot be read, is damaged or is no recording is named and passed over; the exit code is then 1.\n\n"
        "Fields are those of a run's info.json: of its top level and its execution_summary by their names "
        "(command, job, exit_code, proc_peak_rss_total), deeper ones by their path (system.hostname, "
        "env.SLURM_JOB_ID). Beside them there are status (ended, running, lost, unknown), wall, cpu_seconds, "
        "peak_memory, processes and prefix. For peak_memory and the like each run has the best method it was "
        "measured with: the table says which, by letters where runs differ, with ≤ for an upper and ≥ for a "
        "lower bound (~: about); json, jsonl, csv and yaml have it as peak_memory_source, what is to know as "
        "peak_memory_note, and upper, lower or estimate as peak_memory_bound where it is one. These are "
        "fields, too, for --fields and --filter. In these formats numbers are exact, in bytes, seconds and "
        "percent, and what a run does not have is left out.\n\n"
        "In the table ID names the run (of a folder elsewhere as FOLDER/ID) for metron report, plot and the "
        "like, which also know last, -1 (the "
        "newest) and -2 (the one before), the beginning of a run's name, and a job. RUN, the prefix of its "
        "files, is there where it fits (json and the like have it always, as prefix). EXIT says "
        "oom where the OOM killer struck, and time where the time limit of the job was reached, also if the "
        "command ended well. What a narrow screen has no room for is named below the table.\n\n"
        "The expression of --filter compares fields with values by == != < <= > >=, matches them with =~ and "
        "!~ (POSIX extended regular expressions, anywhere in the text), and joins that by not, and, or and ( "
        "). Values are numbers; sizes: 2GiB, 500M, 1.5 GB (K, M, G, T and KiB, MiB, GiB, TiB count by 1024, "
        "kB, MB, GB, TB by 1000); times: 350ms, 90s, 2 min, 1h30m, 3d (m is minutes, M is MiB); percentages: "
        "50%; rates: 10MiB/s; dates: 2026-11-15, 2026-11-15T07:42; words, and texts in 'quotes' or "
        "\"quotes\". A field alone holds if the run has it and it is not 0, false or empty. Comparing a "
        "field that a run does not have is false, also with !=; 'not FIELD' asks for its absence. A size "
        "where the field is in seconds, a word where it is a number and the like are errors.\n\n"
        "With --group-by each row tells of several runs: how many there are (and how many failed), "
        "their first start, worst exit code, longest wall time, the sum of their CPU seconds, the "
        "largest and the sum of their peaks of memory (of peaks that need not have been at the same "
        "time). --fields then takes sum_FIELD, max_FIELD, min_FIELD, runs, failed, and of a plain "
        "field what all runs of the group share.",
    .examples = "  metron ls\n"
                "  metron ls -n 5\n"
                "  metron ls --filter 'peak_memory > 2GiB and exit_code != 0' --sort wall\n"
                "  metron ls --filter \"command =~ 'train.*py' and not (status == lost or wall < 1h30m)\"\n"
                "  metron ls -F command,peak_memory,system.hostname -f csv results/\n"
                "  metron ls --group-by job --sort sum_cpu_seconds --reverse\n",
    .command = COMMAND_LS,
    .options_anywhere = true,
    .numbers_are_operands = true,
    .is_operand = word_is_run,
};

/* A run of the list by its start. */
struct begun {
    double start_wall;
    size_t index;
};

/* One listing under way. */
struct ls {
    const struct settings *settings;
    enum choice_list_format format;
    struct run_filter filter;
    struct run_list runs;
    struct run_listing listing;
    struct arena arena;             /* names of fields */
    const char *fields[FIELDS_MAX]; /* that are read; one place is left for NULL */
    bool named[FIELDS_MAX];         /* by the user */
    bool seen[FIELDS_MAX];          /* in some run */
    size_t field_count;
    bool registry; /* units of measured keys are needed */
    bool colors;
    size_t width;          /* 0: any */
    size_t sort[SORT_MAX]; /* columns */
    size_t sort_count;
    size_t read_count;
    struct begun *newest; /* owned: with --newest those that the filter leaves */
    size_t newest_count, newest_capacity;
    bool trouble;
};

static bool is_table(const struct ls *ls)
{
    return ls->format == CHOICE_LIST_FORMAT_TABLE;
}

static int wrong_usage(const char *message)
{
    log_error("%s", message);
    return EXIT_WRONG_USAGE;
}

/* -- What is asked for -- */

/* `units`: where it is a number, its unit counts. */
static int want(struct ls *ls, const char *field, bool named, bool units)
{
    /* What lies deeper was not measured. */
    ls->registry = ls->registry || (units && !run_columns_knows(field) && !strchr(field, '.'));
    for (size_t i = 0; i < ls->field_count; i++)
        if (strcmp(ls->fields[i], field) == 0) {
            ls->named[i] = ls->named[i] || named;
            return 0;
        }
    if (ls->field_count + 1 == FIELDS_MAX)
        return -E2BIG;
    ls->named[ls->field_count] = named;
    ls->fields[ls->field_count++] = field;
    return 0;
}

static bool has_column(const struct ls *ls, const char *name)
{
    for (size_t i = 0; i < ls->listing.column_count; i++)
        if (strcmp(ls->listing.columns[i].name, name) == 0)
            return true;
    return false;
}

static int add_named_columns(struct ls *ls, const char *list, bool grouped)
{
    const char *item;
    size_t length;
    int code = 0;

    while (code == 0 && (item = settings_list_next(&list, &length)) != NULL) {
        char *name = arena_printf(&ls->arena, "%.*s", (int)length, item);
        if (!name)
            return -ENOMEM;
        if (!has_column(ls, name)) /* no object has a name twice */
            code = run_columns_add_named(&ls->listing, name, grouped, is_table(ls), false);
    }
    return code == 0 && ls->listing.column_count == 0 ? -EINVAL : code;
}

/* A column to sort or group by, hidden if it is not shown anyway. */
static int column_for(struct ls *ls, const char *name, bool grouped, ptrdiff_t *out)
{
    int code = 0;

    *out = run_listing_column(&ls->listing, name);
    if (*out < 0) {
        code = run_columns_add_named(&ls->listing, name, grouped, is_table(ls), true);
        *out = (ptrdiff_t)ls->listing.column_count - 1;
    }
    return code;
}

static int add_sort_columns(struct ls *ls, const char *list, bool grouped)
{
    const char *item;
    size_t length;
    ptrdiff_t column;
    int code = 0;

    while (code == 0 && (item = settings_list_next(&list, &length)) != NULL) {
        char *name = arena_printf(&ls->arena, "%.*s", (int)length, item);
        if (!name)
            return -ENOMEM;
        if (ls->sort_count == SORT_MAX)
            return -E2BIG;
        code = column_for(ls, name, grouped, &column);
        ls->sort[ls->sort_count++] = (size_t)column;
    }
    return code;
}

static int choose_columns(struct ls *ls)
{
    const char *fields = settings_text(ls->settings, SETTING_FIELDS);
    const char *group = settings_text(ls->settings, SETTING_GROUP_BY);
    const char *sort = settings_text(ls->settings, SETTING_SORT);
    static const char *const marks[] = {"outcome.kind", "outcome.oom_victim", "outcome.time_limit.source",
                                        "cgroup_oom_kills"};
    ptrdiff_t column;
    int code;

    if (fields)
        code = add_named_columns(ls, fields, group != NULL);
    else if (group)
        code = run_columns_add_group(&ls->listing, group, is_table(ls));
    else
        code = run_columns_add_usual(&ls->listing, is_table(ls));
    if (code == 0 && group)
        code = column_for(ls, group, true, &column);
    if (code == 0 && sort)
        code = add_sort_columns(ls, sort, group != NULL);
    for (size_t i = 0; code == 0 && i < ls->listing.column_count; i++)
        if (ls->listing.columns[i].field)
            code =
                want(ls, ls->listing.columns[i].field, fields || ls->listing.columns[i].hidden, is_table(ls));
    if (code == 0 && group)
        code = want(ls, group, true, false);
    if (code == 0)
        code = want(ls, "exit_code", false, false);
    for (size_t i = 0; code == 0 && is_table(ls) && i < sizeof(marks) / sizeof(marks[0]); i++)
        code = want(ls, marks[i], false, false);
    for (const char *const *field = run_filter_fields(&ls->filter); code == 0 && *field; field++)
        code = want(ls, *field, true, true);
    return code;
}

static int choose(struct ls *ls)
{
    const struct settings *settings = ls->settings;
    bool json = settings_flag(settings, SETTING_JSON);

    ls->format = (enum choice_list_format)settings_choice(settings, SETTING_LIST_FORMAT);
    if (json && settings_origin(settings, SETTING_LIST_FORMAT) == SETTING_ORIGIN_COMMAND_LINE &&
        ls->format != CHOICE_LIST_FORMAT_JSON)
        return wrong_usage("--json and another --format exclude each other");
    if (json)
        ls->format = CHOICE_LIST_FORMAT_JSON;
    if (ls->format == CHOICE_LIST_FORMAT_SUMMARIES && settings_has(settings, SETTING_GROUP_BY))
        return wrong_usage(
            "--format summaries tells of single runs: leave --group-by out, or take another format");
    if (ls->format == CHOICE_LIST_FORMAT_SUMMARIES && settings_has(settings, SETTING_FIELDS))
        return wrong_usage(
            "--format summaries has no fields to choose: leave --fields out, or take another format");
    int code = run_filter_init(&ls->filter, settings);
    if (code != EXIT_OK)
        return code;
    code = choose_columns(ls);
    if (code == -EINVAL)
        return wrong_usage("--fields names no field");
    if (code == -E2BIG)
        return wrong_usage("too many fields: at most 255, and 16 to sort by");
    if (code < 0)
        log_error("no memory for the listing");
    return code < 0 ? EXIT_TROUBLE : EXIT_OK;
}

/* -- Reading -- */

/* Without a path: the runs of the standard folder. */
static int find_standard_runs(struct ls *ls)
{
    struct metron_error error = {0};
    char *folder = standard_folder(ls->settings);
    size_t added;

    if (!folder)
        return -ENOMEM;
    if (access(folder, F_OK) < 0 && errno == ENOENT) {
        log_info("no runs are recorded here ('%s' is not there): 'metron run -- COMMAND' records one, "
                 "'metron ls PATH' lists those of another folder",
                 folder);
    } else if (run_list_add(&ls->runs, folder, &added, &error) < 0) {
        log_error("%s", error.message);
        ls->trouble = true;
    } else if (added == 0) {
        log_info("no runs are recorded in '%s': 'metron run -- COMMAND' records one", folder);
    }
    if (ls->runs.count == 0 && access(DUCT_FOLDER, F_OK) == 0)
        log_info("there are runs of con-duct in '%s': 'metron ls %s' lists them", DUCT_FOLDER, DUCT_FOLDER);
    free(folder);
    return 0;
}

static int find_runs(struct ls *ls, char **paths, int count)
{
    ls->trouble |= !named_runs(ls->settings, &ls->runs, paths, count);
    int code = count == 0 ? find_standard_runs(ls) : 0;
    run_list_sort(&ls->runs);
    return code;
}

static void note_seen(struct ls *ls, const struct recording *recording)
{
    for (size_t i = 0; i < ls->field_count; i++)
        ls->seen[i] = ls->seen[i] || recording_field(recording, ls->fields[i]);
}

/* 1: the run is wanted; 0: it is not; -EINVAL: the filter cannot be asked (reported already), -ENOMEM. */
static int asks_filter(struct ls *ls, const struct recording *recording)
{
    int holds = run_filter_holds(&ls->filter, recording);

    ls->read_count++;
    note_seen(ls, recording);
    return run_listing_note_id(&ls->listing, recording->id) < 0 ? -ENOMEM : holds;
}

static int add_run(struct ls *ls, const struct recording *recording, size_t index)
{
    struct strbuf text = STRBUF_INIT;

    (void)index;
    if (ls->format == CHOICE_LIST_FORMAT_SUMMARIES) {
        struct run_summary summary;
        run_summary_of_recording(&summary, recording);
        run_summary_write(&text, &summary, ls->width, ls->colors);
    }
    int code = text.failed
                   ? -ENOMEM
                   : run_listing_add(&ls->listing, recording, text.length > 0 ? strbuf_text(&text) : NULL);
    strbuf_fini(&text);
    return code;
}

static int take_run(struct ls *ls, const struct recording *recording, size_t index)
{
    int holds = asks_filter(ls, recording);

    return holds <= 0 ? holds : add_run(ls, recording, index);
}

/* One run: 0, or what the caller's `take` says. */
static int read_run(struct ls *ls, size_t index, const struct recording_wish *wish,
                    int take(struct ls *, const struct recording *, size_t))
{
    struct recording recording;
    struct metron_error error = {0};

    if (recording_read(ls->runs.paths[index], wish, &recording, &error) < 0) {
        log_error("%s", error.message);
        ls->trouble = true;
        return 0;
    }
    int code = take(ls, &recording, index);
    recording_fini(&recording);
    return code;
}

static int take_newest(struct ls *ls, const struct recording *recording, size_t index)
{
    int holds = asks_filter(ls, recording);

    if (holds <= 0)
        return holds;
    if (ARRAY_RESERVE(ls->newest, ls->newest_capacity, ls->newest_count + 1) < 0)
        return -ENOMEM;
    ls->newest[ls->newest_count++] = (struct begun){recording->start_wall, index};
    return 0;
}

static int newer_first(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;

    if (x->start_wall != y->start_wall)
        return x->start_wall < y->start_wall ? 1 : -1;
    return x->index < y->index ? 1 : -1;
}

static int read_runs(struct ls *ls)
{
    const struct recording_wish wish = {
        .fields = ls->format == CHOICE_LIST_FORMAT_SUMMARIES ? NULL : ls->fields,
        .parts = true,
        .keys = ls->registry,
        .units_only = true,
        .info_only = true,
        .describe = describe_known_key,
        .lives = recorder_is_alive,
        .make_headline = headline_of_records,
        .now = clock_wall_seconds(),
    };
    const bool all = !settings_has(ls->settings, SETTING_NEWEST);
    int code = 0;

    for (size_t i = 0; i < ls->runs.count && code == 0; i++) {
        run_list_prefetch(&ls->runs, i);
        code = read_run(ls, i, &wish, all ? take_run : take_newest);
    }
    if (all || code < 0)
        return code;
    /* Only of these more than the start is kept. */
    const size_t limit = (size_t)settings_integer(ls->settings, SETTING_NEWEST);
    qsort(ls->newest, ls->newest_count, sizeof(*ls->newest), newer_first);
    for (size_t i = 0; i < ls->newest_count && i < limit && code == 0; i++)
        code = read_run(ls, ls->newest[i].index, &wish, add_run);
    return code;
}

/* The first recording of each tool stands for all of it; metron's and con-duct's have other fields. */
static void read_samples(const struct ls *ls, struct recording samples[2])
{
    static const size_t enough = 200;
    const struct recording_wish everything = {
        .parts = true, .describe = describe_known_key, .lives = recorder_is_alive};
    struct recording recording;

    for (size_t i = 0; i < ls->runs.count && i < enough; i++) {
        if (samples[0].path && samples[1].path)
            return;
        if (recording_read(ls->runs.paths[i], &everything, &recording, NULL) < 0)
            continue;
        struct recording *sample = &samples[recording.kind == RECORDING_METRON ? 0 : 1];
        /* One that still runs has no summary yet: the next may have. */
        if (sample->path && sample->status == RECORDING_ENDED) {
            recording_fini(&recording);
            continue;
        }
        recording_fini(sample);
        *sample = recording;
    }
}

static void complain_of_field(const char *field, const struct recording samples[2])
{
    struct suggest suggest;
    char text[SUGGEST_TEXT_SIZE];

    suggest_init(&suggest, field);
    for (const char *const *name = run_columns_usual_fields(); *name; name++)
        if (strcmp(*name, field) != 0)
            suggest_offer(&suggest, *name);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < samples[i].field_count; j++)
            if (!samples[i].fields[j].source)
                suggest_offer(&suggest, samples[i].fields[j].name);
    log_error("no run here has the field '%s'%s", field, suggest_text(&suggest, "", text));
}

/* A field that the user named and that no run has: a slip, most likely. One that recordings may have by their
 * schema is none; that no run here has a job is an answer. */
static void look_for_slips(struct ls *ls)
{
    struct recording samples[2] = {{0}, {0}};
    bool any = false;

    for (size_t i = 0; i < ls->field_count; i++) {
        if (!ls->named[i] || ls->seen[i] || ls->read_count == 0)
            continue;
        if (run_columns_knows(ls->fields[i])) {
            log_info("no run here has the field '%s'", ls->fields[i]);
            continue;
        }
        if (!any)
            read_samples(ls, samples);
        any = true;
        ls->trouble = true;
        complain_of_field(ls->fields[i], samples);
    }
    recording_fini(&samples[0]);
    recording_fini(&samples[1]);
}

/* -- Showing -- */

static void write_summaries(struct strbuf *out, const struct run_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        strbuf_addf(out, "%s%s", i > 0 ? "\n" : "", listing->rows[i]->text);
}

static void find_one_elsewhere(struct ls *ls)
{
    struct run_listing *listing = &ls->listing;

    for (size_t i = 0; i < listing->count && !listing->elsewhere; i++)
        if (!run_has_known_id(ls->settings, listing->rows[i]->path, listing->folder))
            listing->elsewhere = listing->rows[i];
}

static int show(struct ls *ls)
{
    struct run_listing *listing = &ls->listing;
    struct strbuf text = STRBUF_INIT;
    int code = EXIT_TROUBLE;

    switch (ls->format) {
    case CHOICE_LIST_FORMAT_TABLE:
        if (!settings_has(ls->settings, SETTING_FIELDS))
            run_columns_hide_empty(listing);
        find_one_elsewhere(ls);
        if (listing->count > 0)
            run_table_write(&text, listing, ls->width, ls->colors);
        break;
    case CHOICE_LIST_FORMAT_JSON:
        run_list_json(&text, listing);
        break;
    case CHOICE_LIST_FORMAT_JSONL:
        run_list_jsonl(&text, listing);
        break;
    case CHOICE_LIST_FORMAT_CSV:
        run_list_csv(&text, listing);
        break;
    case CHOICE_LIST_FORMAT_YAML:
        run_list_yaml(&text, listing);
        break;
    case CHOICE_LIST_FORMAT_SUMMARIES:
        write_summaries(&text, listing);
        break;
    }
    if (text.failed)
        log_error("no memory for the listing");
    else if (is_table(ls) || ls->format == CHOICE_LIST_FORMAT_SUMMARIES)
        code = command_print(strbuf_text(&text), text.length);
    else
        code = command_print_data(strbuf_text(&text), text.length);
    strbuf_fini(&text);
    return code;
}

static int list(struct ls *ls, char **paths, int count)
{
    const char *group = settings_text(ls->settings, SETTING_GROUP_BY);
    int code = find_runs(ls, paths, count);

    if (code == 0)
        code = read_runs(ls);
    if (code == -EINVAL)
        return EXIT_WRONG_USAGE;
    if (code == 0 && group)
        code = run_listing_group(&ls->listing, (size_t)run_listing_column(&ls->listing, group));
    if (code < 0) {
        log_error("no memory for the listing");
        return EXIT_TROUBLE;
    }
    if (ls->listing.count == 0 && ls->filter.filter && ls->read_count > 0)
        run_filter_say_none(ls->read_count);
    look_for_slips(ls);
    run_listing_sort(&ls->listing, ls->sort, ls->sort_count, settings_flag(ls->settings, SETTING_REVERSE));
    code = show(ls);
    return code == EXIT_OK && ls->trouble ? EXIT_TROUBLE : code;
}

static int ls_main(int argc, char **argv)
{
    struct settings settings;
    struct ls ls = {.settings = &settings};
    int first = argc, exit_code;
    char *folder = NULL;

    run_listing_init(&ls.listing);
    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        ls.colors = command_colors(&settings, STDOUT_FILENO);
        ls.width = command_page_width(0);
        ls.listing.folder = folder = getcwd(NULL, 0);
        exit_code = choose(&ls);
        if (exit_code == EXIT_OK)
            exit_code = list(&ls, argv + first, argc - first);
    }
    run_filter_fini(&ls.filter);
    run_list_fini(&ls.runs);
    free(ls.newest);
    run_listing_fini(&ls.listing);
    arena_fini(&ls.arena);
    free(folder);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_ls = {&description, ls_main};
