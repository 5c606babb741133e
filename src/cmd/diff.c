/* metron diff: tell what changed between runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/suggest.h"
#include "cmd/commands.h"
#include "cmd/known_keys.h"
#include "cmd/newest.h"
#include "cmd/recorder.h"
#include "learn/comparison.h"
#include "store/filter/filter.h"
#include "store/recording/reader.h"
#include "store/runs.h"
#include "view/diff/text.h"

static const struct command_description description = {
    .name = "diff",
    .summary = "tell what changed between runs",
    .usage = "[OPTION...] RUN RUN | --against GLOB RUN",
    .description =
        "Compares a run with the one before it, or with many earlier ones, and tells what changed beyond "
        "their noise. RUN is a recording of metron or of con-duct: a file of it, its prefix, its id "
        "or the beginning of its name (metron ls has them), last, -1 or -2; the earlier one comes first.\n\n"
        "With --against and three earlier runs or more, the noise of every number is known: changed is "
        "what lies outside all of them and farther from their median than their deviation allows. "
        "Of these only runs that succeeded count, unless none did. Two runs tell nothing of noise: changed "
        "is then what differs by more than 5 % and by more than 10 ms, 1 MiB, 64 KiB/s, 1 point of percent "
        "or a count of 5. Numbers that were measured in different ways are not compared, but named. "
        "Peaks of memory are compared by one key that all runs have: by a high-water mark of the kernel "
        "where it makes up most of the peak, else by the key of the headline, else by a sampled sum. The "
        "key is named where it is not that of the headline. What is of the whole machine stands in a table "
        "of its own.\n\n"
        "--fail-if makes the command print FAIL and exit with 1 if the condition holds, for use in tests. "
        "A condition is a "
        "field, one of > >= < <= == != and an amount; an amount with + or - is relative to the run before, "
        "or to the median of the earlier ones. A limit that cannot be judged, because the field is absent "
        "or was measured in another way, fails as well; a field that none of the runs has is wrong usage.",
    .examples = "  metron diff -2 -1\n"
                "  metron diff .metron/logs/2026.11.14T07.42.53-812_ .metron/logs/2026.11.15T07.42.51-977_\n"
                "  metron diff --against 'logs/nightly-*' logs/today_\n"
                "  metron diff OLD NEW --fail-if 'peak_memory > +10%, wall > +30s, exit_code != 0'\n"
                "  metron diff -F 'io_*,wall' OLD NEW\n",
    .command = COMMAND_DIFF,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

struct diff {
    const struct settings *settings;
    const char *now_path, *before_path; /* `before_path` is a glob with --against */
    char *now_owned, *before_owned;
    bool history;
    bool trouble; /* something could not be read, and was named */
    struct limits limits;
    struct recording now;
    struct comparison comparison;
    size_t left_out;
};

/* Shows where the limits are wrong. */
static void complain_of_limits(const char *text, size_t place, const struct metron_error *error)
{
    struct strbuf lines = STRBUF_INIT;

    log_error("--fail-if: %s", error->message);
    filter_point(&lines, text, place, command_page_width(100));
    (void)file_write_all(STDERR_FILENO, strbuf_text(&lines), lines.length);
    strbuf_fini(&lines);
}

/* Everything that can be wrong before a file is opened: EXIT_OK or EXIT_WRONG_USAGE. */
static int read_arguments(struct diff *diff, char **operands, int count)
{
    const char *limits = settings_text(diff->settings, SETTING_FAIL_IF);
    const char *against = settings_text(diff->settings, SETTING_AGAINST);
    struct metron_error error = {0};
    size_t place = 0;

    if (limits && limits_parse(limits, &diff->limits, &place, &error) < 0) {
        complain_of_limits(limits, place, &error);
        return EXIT_WRONG_USAGE;
    }
    if (count != (against ? 1 : 2)) {
        log_error(against ? "diff: one RUN is compared with those of --against, not %d"
                          : "diff: two runs are compared, not %d: metron diff OLD NEW, or --against GLOB NEW",
                  count);
        return EXIT_WRONG_USAGE;
    }
    diff->history = against != NULL;
    diff->before_path = against ? against : operands[0];
    diff->now_path = against ? operands[0] : operands[1];
    return EXIT_OK;
}

static int read_run(const char *path, struct recording *out)
{
    const struct recording_wish wish = {.keys = true,
                                        .info_only = true,
                                        .describe = describe_known_key,
                                        .lives = recorder_is_alive,
                                        .now = clock_wall_seconds()};
    struct metron_error error = {0};
    int code = recording_read(path, &wish, out, &error);

    if (code < 0)
        log_error("%s", error.message);
    return code;
}

static void warn_if_not_ended(const char *path, const struct recording *recording)
{
    if (recording->status == RECORDING_RUNNING)
        log_warning("%s still runs: what it used is not told before it ends", path);
    else if (recording->status == RECORDING_LOST)
        log_warning("%s is lost (its record was not completed): it has no summary to compare", path);
    else if (recording->status == RECORDING_UNKNOWN)
        log_warning("%s has no info.json: it has no summary of metron's to compare", path);
}

/* -- Earlier runs -- */

/* The one that diff.before_path names. */
static int add_before(struct diff *diff)
{
    struct recording earlier = {0};
    int code = read_run(diff->before_path, &earlier);

    if (code == 0) {
        warn_if_not_ended(diff->before_path, &earlier);
        comparison_add(&diff->comparison, &earlier);
    }
    recording_fini(&earlier);
    return code;
}

/* One of many. Those that did not succeed say little of what is usual: they count until the first is met that
 * did, and then no more. */
static void add_of_history(struct diff *diff, const char *path, bool *any_succeeded)
{
    struct recording earlier = {0};
    double exit_code;

    if (read_run(path, &earlier) < 0) {
        diff->trouble = true;
        return;
    }

    bool succeeded = recording_number(&earlier, "exit_code", &exit_code) && exit_code == 0;

    if (earlier.status != RECORDING_ENDED) {
        ; /* what it used is not told */
    } else if (*any_succeeded && !succeeded) {
        diff->left_out++;
    } else {
        if (succeeded && !*any_succeeded) {
            *any_succeeded = true;
            diff->left_out = diff->comparison.earlier;
            comparison_fini(&diff->comparison);
            comparison_init(&diff->comparison, &diff->now);
        }
        comparison_add(&diff->comparison, &earlier);
    }
    recording_fini(&earlier);
}

static int add_history(struct diff *diff)
{
    struct run_list list = {0};
    struct metron_error error = {0};
    bool any_succeeded = false;

    if (add_named_runs(diff->settings, &list, diff->before_path, NULL, &error) < 0) {
        log_error("--against: %s", error.message);
        diff->trouble = true;
        if (list.count == 0)
            return -ENOENT;
    }
    run_list_sort(&list);
    for (size_t i = 0; i < list.count; i++)
        if (!file_is_same(list.paths[i], diff->now.path)) /* the glob may match the run itself */
            add_of_history(diff, list.paths[i], &any_succeeded);
    run_list_fini(&list);
    if (diff->comparison.earlier > 0)
        return 0;
    log_error("--against: none of the runs that match '%s' has ended and can be compared with",
              diff->before_path);
    return -ENOENT;
}

/* -- The answer -- */

/* Whether some run has a field that `pattern` matches; if not, what was meant perhaps in `near`. */
static bool is_known(const struct diff *diff, const char *pattern, char near[SUGGEST_TEXT_SIZE])
{
    struct suggest suggest;

    suggest_init(&suggest, pattern);
    for (size_t i = 0; i < diff->comparison.count; i++) {
        if (diff_wants(pattern, diff->comparison.fields[i].name))
            return true;
        suggest_offer(&suggest, diff->comparison.fields[i].name);
    }
    (void)suggest_text(&suggest, "", near);
    return false;
}

/* A field that no run has is likely mistyped. */
static void warn_of_unknown_fields(const struct diff *diff)
{
    const char *cursor = settings_text(diff->settings, SETTING_FIELDS);
    size_t length;

    for (const char *item; cursor && (item = settings_list_next(&cursor, &length)) != NULL;) {
        char name[LIMIT_FIELD_SIZE], near[SUGGEST_TEXT_SIZE];
        if (length >= sizeof(name))
            continue;
        memcpy(name, item, length);
        name[length] = '\0';
        if (!is_known(diff, name, near))
            log_warning("--fields: none of the runs has a field '%s'%s", name, near);
    }
}

/* A limit on it would fail for ever, or worse be thought to hold. What every run may have, or what the
 * comparison does not look at, is no mistake. */
static bool limits_are_known(const struct diff *diff)
{
    bool all = true;

    for (size_t i = 0; i < diff->limits.count; i++) {
        const char *name = diff->limits.items[i].field;
        char near[SUGGEST_TEXT_SIZE];

        if (comparison_is_headline(name) || comparison_leaves_out(name) ||
            recording_field(&diff->now, name) || is_known(diff, name, near))
            continue;
        log_error("--fail-if: none of the runs has a field '%s'%s", name, near);
        all = false;
    }
    return all;
}

/* How many limits are passed or cannot be judged. */
static size_t judge_limits(const struct diff *diff, struct diff_limit *out)
{
    size_t failed = 0;

    for (size_t i = 0; i < diff->limits.count; i++) {
        out[i].limit = &diff->limits.items[i];
        out[i].result = comparison_judge(&diff->comparison, out[i].limit, &out[i].numbers, &out[i].reason);
        failed += out[i].result != LIMIT_KEPT;
    }
    return failed;
}

static int print_answer(const struct diff *diff, struct diff_limit *limits)
{
    size_t failed = judge_limits(diff, limits);
    bool json = settings_flag(diff->settings, SETTING_JSON);
    struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
    const struct diff_page page = {
        .comparison = &diff->comparison,
        .now = diff->now_path,
        .before = diff->before_path,
        .history = diff->history,
        .left_out = diff->left_out,
        .fields = settings_text(diff->settings, SETTING_FIELDS),
        .limits = limits,
        .limit_count = diff->limits.count,
    };

    if (json)
        diff_json(&text, &page);
    else
        diff_text(&text, &page, command_page_width(100), command_colors(diff->settings, STDOUT_FILENO));
    int exit_code = EXIT_TROUBLE;
    if (text.failed)
        log_error("no memory for the answer");
    else
        exit_code = command_print(strbuf_text(&text), text.length);
    for (size_t i = 0; json && i < diff->limits.count; i++) {
        strbuf_reset(&line);
        diff_limit_text(&line, &limits[i]);
        if (limits[i].result != LIMIT_KEPT)
            log_error("--fail-if: %s", strbuf_text(&line));
    }
    strbuf_fini(&text);
    strbuf_fini(&line);
    return failed || diff->trouble ? EXIT_TROUBLE : exit_code;
}

/* From what was typed to what is read, and shown. */
static bool find_runs(struct diff *diff)
{
    struct metron_error error = {0};

    if (named_run(diff->settings, diff->now_path, &diff->now_owned, &error) < 0 ||
        (!diff->history && named_run(diff->settings, diff->before_path, &diff->before_owned, &error) < 0)) {
        log_error("%s", error.message);
        return false;
    }
    diff->now_path = diff->now_owned;
    diff->before_path = diff->history ? diff->before_path : diff->before_owned;
    return true;
}

static int compare(struct diff *diff)
{
    struct diff_limit *limits;
    int code;

    if (!find_runs(diff) || read_run(diff->now_path, &diff->now) < 0)
        return EXIT_TROUBLE;
    warn_if_not_ended(diff->now_path, &diff->now);
    comparison_init(&diff->comparison, &diff->now);
    code = diff->history ? add_history(diff) : add_before(diff);
    if (code < 0)
        return EXIT_TROUBLE;
    limits = calloc(diff->limits.count + 1, sizeof(*limits));
    if (!limits || comparison_finish(&diff->comparison) < 0) {
        log_error("no memory to compare so many runs");
        free(limits);
        return EXIT_TROUBLE;
    }
    warn_of_unknown_fields(diff);
    int exit_code = limits_are_known(diff) ? print_answer(diff, limits) : EXIT_WRONG_USAGE;
    free(limits);
    return exit_code;
}

static int diff_main(int argc, char **argv)
{
    struct settings settings;
    struct diff *diff = calloc(1, sizeof(*diff));
    int first = argc, exit_code;

    if (command_begin(&description, argc, argv, &settings, &first, &exit_code)) {
        exit_code = EXIT_TROUBLE;
        if (diff) {
            diff->settings = &settings;
            exit_code = read_arguments(diff, argv + first, argc - first);
        }
        if (diff && exit_code == EXIT_OK)
            exit_code = compare(diff);
    }
    if (diff) {
        comparison_fini(&diff->comparison);
        recording_fini(&diff->now);
        free(diff->now_owned);
        free(diff->before_owned);
    }
    free(diff);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_diff = {&description, diff_main};
