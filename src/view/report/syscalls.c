/* Section of a report: system calls, what they waited for, and which failed. */
#include <string.h>

#include "schema/syscall_summary.h"
#include "view/report/report.h"

enum { CALLS = 10, CALLS_SHOWN = 6, WAITS_SAID = 3 };

#define LITTLE 0.005 /* of a time: not worth a word */

/* What was counted, by call; NULL: it was not. */
struct tallies {
    struct report_tally *seconds, *counts, *errors;
    struct report_tally *error_names; /* by call and error */
};

/* The tally of system calls in this unit; NULL: not counted. */
static struct report_tally *calls_by(const struct report_measures *measures, enum topic topic, enum unit unit)
{
    for (size_t i = 0; i < measures->count; i++) {
        struct report_measure *measure = &measures->items[i];
        if (measure->is_tally && measure->key->topic == topic && measure->key->unit == unit)
            return &measure->tally;
    }
    return NULL;
}

static double sum_of(const struct report_tally *tally)
{
    double sum = 0;

    for (size_t i = 0; tally && i < tally->count; i++)
        sum += tally->items[i].amount;
    return sum;
}

/* The most frequent error of a call; NULL: not known. */
static const char *error_of(const struct report_tally *error_names, const char *call)
{
    const char *most = NULL;
    double amount = 0;

    for (size_t i = 0; error_names && i < error_names->count; i++) {
        const struct report_amount *item = &error_names->items[i];
        const char *error = item->amount > amount ? syscall_error_of(item->name, call) : NULL;
        if (!error)
            continue;
        most = error;
        amount = item->amount;
    }
    return most;
}

static void add_calls(struct report_section *section, const struct tallies *of)
{
    enum { SECONDS, SHARE, COUNT, ERRORS, ERROR, EACH, CALL, WAITS, COLUMNS };
    static const struct report_column columns[COLUMNS] = {
        [SECONDS] = {"seconds", "TIME", UNIT_SECONDS, "syscall_seconds_total", REPORT_CUT},
        [SHARE] = {"time_share", "", UNIT_PERCENT, "of the time in all calls", REPORT_CUT},
        [COUNT] = {"count", "CALLS", UNIT_COUNT, "syscall_counts_total", REPORT_CUT},
        [ERRORS] = {"errors", "ERRORS", UNIT_COUNT, "syscall_errors_total", REPORT_CUT},
        [ERROR] = {"most_frequent_error", "MOSTLY", UNIT_NONE, "syscall_error_names_total", REPORT_CUT},
        [EACH] = {"seconds_per_call", "EACH", UNIT_SECONDS, "seconds / count", REPORT_CUT},
        [CALL] = {"call", "CALL", UNIT_NONE, NULL, REPORT_CUT},
        [WAITS] = {"waits", NULL, UNIT_NONE, "it does nothing but wait", REPORT_CUT},
    };
    const struct report_tally *order = of->seconds ? of->seconds : of->counts;
    double all = sum_of(of->seconds);
    struct report_item *table = report_add_table(section, "hotspots", NULL, columns, COLUMNS, CALLS);

    table->rows_shown = CALLS_SHOWN;
    for (size_t i = 0; order && i < order->count && i < CALLS; i++) {
        const char *name = order->items[i].name;
        struct report_value *row = report_add_row(table);
        if (!row)
            return;
        double time = of->seconds ? report_tally_amount(of->seconds, name) : 0;
        double count = of->counts ? report_tally_amount(of->counts, name) : 0;
        if (of->seconds)
            row[SECONDS] = report_number(time);
        if (of->seconds && all > 0)
            row[SHARE] = report_number(100 * time / all);
        if (of->counts)
            row[COUNT] = report_number(count);
        if (of->errors)
            row[ERRORS] = report_number(report_tally_amount(of->errors, name));
        row[ERROR] = report_text(error_of(of->error_names, name));
        if (of->seconds && count > 0)
            row[EACH] = report_number(time / count);
        row[CALL] = report_text(name);
        if (syscall_waits(name))
            row[WAITS] = report_boolean(true);
    }
}

/* "1,661 (bpf), 116 with an error; 4.15 s in them" */
static void say_calls(struct report_section *section, const struct tallies *of,
                      const struct recording *recording)
{
    struct report_page *page = section->page;
    const char *method = recording_text(recording, "syscalls.method");
    const char *bound = recording_text(recording, "syscalls.bound") ? "at least " : "";
    const char *text = "";

    if (of->counts)
        text = report_text_of(page, "%s%s%s%s%s", bound, report_human(page, UNIT_COUNT, sum_of(of->counts)),
                              method ? " (" : "", method ? method : "", method ? ")" : "");
    if (of->errors)
        text = report_text_of(page, "%s%s%s with an error", text, text[0] ? ", " : "",
                              report_human(page, UNIT_COUNT, sum_of(of->errors)));
    if (of->seconds)
        text = report_text_of(page, "%s%s%s in them", text, text[0] ? "; " : "",
                              report_human(page, UNIT_SECONDS, sum_of(of->seconds)));
    (void)report_say(section, "in all", text, NULL);
}

/* "3.9 s in calls that wait (futex 3.2 s, wait4 700 ms); 250 ms in the others". The seconds are sorted. */
static void add_waiting(struct report_section *section, const struct report_tally *seconds)
{
    struct report_page *page = section->page;
    const double all = sum_of(seconds);
    const char *named = "";
    double waiting = 0;
    size_t count = 0;

    for (size_t i = 0; i < seconds->count; i++)
        waiting += syscall_waits(seconds->items[i].name) ? seconds->items[i].amount : 0;
    report_add_number(section, "waiting_seconds", NULL, UNIT_SECONDS, waiting, NULL,
                      "in calls that only wait");
    report_add_number(section, "working_seconds", NULL, UNIT_SECONDS, all - waiting, NULL,
                      "in all others, some of which may have waited as well");
    for (size_t i = 0; i < seconds->count && count < WAITS_SAID; i++) {
        const struct report_amount *item = &seconds->items[i];
        if (!syscall_waits(item->name) || !(item->amount > LITTLE * waiting))
            continue;
        named = report_text_of(page, "%s%s%s %s", named, count++ ? ", " : "", item->name,
                               report_human(page, UNIT_SECONDS, item->amount));
    }
    if (waiting > LITTLE * all)
        report_sayf(section, "waiting", "%s in calls that wait (%s); %s in the others",
                    report_human(page, UNIT_SECONDS, waiting), named,
                    report_human(page, UNIT_SECONDS, all - waiting));
}

/* "openat most often: 96 of its 120 calls, mostly ENOENT" */
static void add_failing(struct report_section *section, const struct tallies *of)
{
    struct report_page *page = section->page;
    const struct report_amount *most = NULL;

    for (size_t i = 0; of->errors && i < of->errors->count; i++)
        if (of->errors->items[i].amount > (most ? most->amount : 0))
            most = &of->errors->items[i];
    if (!most)
        return;
    const char *error = error_of(of->error_names, most->name);
    const char *calls =
        of->counts ? report_human(page, UNIT_COUNT, report_tally_amount(of->counts, most->name)) : NULL;
    (void)report_add_text(section, "failing_call", NULL, most->name);
    report_add_number(section, "failing_call_errors", NULL, UNIT_COUNT, most->amount, NULL, NULL);
    (void)report_add_text(section, "failing_call_most_frequent_error", NULL, error);
    report_sayf(section, "failed", "%s most often: %s%s%s%s%s%s", most->name,
                report_human(page, UNIT_COUNT, most->amount), calls ? " of its " : "", calls ? calls : "",
                calls ? " calls" : "", error ? ", mostly " : "", error ? error : "");
}

void report_syscalls(struct report_page *page, const struct report_evidence *evidence)
{
    const struct report_measures *measures = &evidence->measures;
    struct report_section *section = report_section_add(page, "syscalls", "System calls");
    const struct tallies of = {
        .seconds = calls_by(measures, TOPIC_SYSCALL, UNIT_SECONDS),
        .counts = calls_by(measures, TOPIC_SYSCALL, UNIT_COUNT),
        .errors = calls_by(measures, TOPIC_SYSCALL_ERRORS, UNIT_COUNT),
        .error_names = calls_by(measures, TOPIC_SYSCALL_ERROR_NAMES, UNIT_COUNT),
    };
    double lost;

    if (!of.seconds && !of.counts)
        return;
    (void)report_add_text(section, "method", NULL, recording_text(evidence->recording, "syscalls.method"));
    (void)report_add_text(section, "bound", NULL, recording_text(evidence->recording, "syscalls.bound"));
    if (of.counts)
        report_add_number(section, "count", NULL, UNIT_COUNT, sum_of(of.counts), NULL, NULL);
    if (of.errors)
        report_add_number(section, "errors", NULL, UNIT_COUNT, sum_of(of.errors), NULL, NULL);
    if (of.seconds)
        report_add_number(section, "seconds", NULL, UNIT_SECONDS, sum_of(of.seconds), NULL,
                          "waiting included");
    say_calls(section, &of, evidence->recording);
    (void)report_add_text(section, "note", "not all", recording_text(evidence->recording, "syscalls.note"));
    report_tally_sort(of.seconds ? of.seconds : of.counts);
    if (of.seconds)
        add_waiting(section, of.seconds);
    add_failing(section, &of);
    if (recording_number(evidence->recording, "syscalls.lost", &lost))
        report_add_number(section, "lost", lost > 0 ? "not counted" : NULL, UNIT_COUNT, lost, NULL, NULL);
    add_calls(section, &of);
}
