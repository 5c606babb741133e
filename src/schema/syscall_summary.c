#include "schema/syscall_summary.h"

#include <math.h>
#include <string.h>

#include "base/array.h"

/* What a summary has; NULL where it was not measured. */
struct quantities {
    const struct record_value *counts, *seconds, *errors, *error_names;
};

static const struct record_value *quantity(const struct record *summary, const char *key)
{
    const struct record_entry *entry = record_find(summary, key);
    bool usable = entry && entry->count == 1 && measurement_has_amounts(entry->measurement);
    return usable ? &entry->values[0] : NULL;
}

static struct quantities quantities_of(const struct record *summary)
{
    return (struct quantities){
        .counts = quantity(summary, "syscall_counts_total"),
        .seconds = quantity(summary, "syscall_seconds_total"),
        .errors = quantity(summary, "syscall_errors_total"),
        .error_names = quantity(summary, "syscall_error_names_total"),
    };
}

static double sum_of(const struct record_value *value)
{
    double sum = 0;

    for (size_t i = 0; value && i < value->tally.count; i++)
        sum += value->tally.items[i].count;
    return value ? sum : -1;
}

static double amount_of(const struct record_value *value, const char *call)
{
    for (size_t i = 0; value && i < value->tally.count; i++)
        if (strcmp(value->tally.items[i].state, call) == 0)
            return value->tally.items[i].count;
    return 0;
}

bool syscall_waits(const char *name)
{
    static const char *const names[] = {
        "accept",
        "accept4",
        "clock_nanosleep",
        "epoll_pwait",
        "epoll_pwait2",
        "epoll_wait",
        "futex",
        "futex_wait",
        "futex_waitv",
        "io_getevents",
        "io_pgetevents",
        "mq_timedreceive",
        "msgrcv",
        "nanosleep",
        "pause",
        "poll",
        "ppoll",
        "pselect6",
        "restart_syscall",
        "rt_sigsuspend",
        "rt_sigtimedwait",
        "select",
        "semop",
        "semtimedop",
        "wait4",
        "waitid",
        "waitpid",
        "_newselect",
        "sigsuspend",
        "clock_nanosleep_time64",
        "futex_time64",
        "ppoll_time64",
        "pselect6_time64",
        "rt_sigtimedwait_time64",
        "semtimedop_time64",
        "io_pgetevents_time64",
        "mq_timedreceive_time64",
        "vfork",
    };

    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static double waiting_of(const struct record_value *seconds)
{
    double sum = 0;

    for (size_t i = 0; seconds && i < seconds->tally.count; i++)
        if (syscall_waits(seconds->tally.items[i].state))
            sum += seconds->tally.items[i].count;
    return seconds ? sum : -1;
}

bool syscall_sums(const struct record *summary, struct syscall_sums *out)
{
    struct quantities of = quantities_of(summary);

    *out = (struct syscall_sums){sum_of(of.counts), sum_of(of.errors), sum_of(of.seconds),
                                 waiting_of(of.seconds)};
    return of.counts || of.errors || of.seconds;
}

const char *syscall_error_of(const char *state, const char *call)
{
    const size_t length = strlen(call);

    return strncmp(state, call, length) == 0 && state[length] == ' ' ? state + length + 1 : NULL;
}

/* The most frequent error of a call; NULL: not known. */
static const char *error_of(const struct quantities *of, const char *call)
{
    const char *most = NULL;
    double count = 0;

    for (size_t i = 0; of->error_names && i < of->error_names->tally.count; i++) {
        const struct tally_item *item = &of->error_names->tally.items[i];
        const char *error = item->count > count ? syscall_error_of(item->state, call) : NULL;
        if (!error)
            continue;
        most = error;
        count = item->count;
    }
    return most;
}

bool syscall_failing(const struct record *summary, struct syscall_failing *out)
{
    const struct quantities of = quantities_of(summary);

    *out = (struct syscall_failing){0};
    for (size_t i = 0; of.errors && i < of.errors->tally.count; i++)
        if (of.errors->tally.items[i].count > out->errors) {
            out->errors = of.errors->tally.items[i].count;
            out->name = of.errors->tally.items[i].state;
        }
    if (out->name)
        out->error = error_of(&of, out->name);
    return out->name != NULL;
}

bool syscall_hotspot(const struct record *summary, const char **name, double *share)
{
    const struct record_value *seconds = quantities_of(summary).seconds;
    double sum = sum_of(seconds), most = 0;

    for (size_t i = 0; seconds && i < seconds->tally.count; i++)
        if (seconds->tally.items[i].count > most) {
            most = seconds->tally.items[i].count;
            *name = seconds->tally.items[i].state;
        }
    if (!(most > 0))
        return false;
    *share = most / sum;
    return true;
}

/* What is below a nanosecond, or a hundredth of a percent, is what arithmetic left. */
static double rounded(double value, double per_unit)
{
    return round(value * per_unit) / per_unit;
}

static void call_json(struct json *json, const struct quantities *of, const char *call, double all_seconds)
{
    static const double per_second = 1e9, per_percent = 100;
    double count = amount_of(of->counts, call), seconds = amount_of(of->seconds, call);

    json_key_object(json, call);
    if (of->counts)
        json_key_number(json, "count", count);
    if (of->errors)
        json_key_number(json, "errors", amount_of(of->errors, call));
    json_key_string(json, "most_frequent_error", error_of(of, call));
    if (of->seconds)
        json_key_number(json, "seconds", rounded(seconds, per_second));
    if (of->seconds && count > 0)
        json_key_number(json, "seconds_per_call", rounded(seconds / count, per_second));
    if (all_seconds > 0)
        json_key_number(json, "time_pct", rounded(100 * seconds / all_seconds, per_percent));
    if (syscall_waits(call))
        json_key_boolean(json, "waits", true);
    json_object_end(json);
}

/* Those that took time, as the summary has them: the largest first; then those too quick to have taken any.
 */
static void by_call_json(struct json *json, const struct quantities *of)
{
    double all_seconds = sum_of(of->seconds);

    json_key_object(json, "by_call");
    for (size_t i = 0; of->seconds && i < of->seconds->tally.count; i++)
        call_json(json, of, of->seconds->tally.items[i].state, all_seconds);
    for (size_t i = 0; of->counts && i < of->counts->tally.count; i++) {
        const char *call = of->counts->tally.items[i].state;
        if (!(amount_of(of->seconds, call) > 0))
            call_json(json, of, call, all_seconds);
    }
    json_object_end(json);
}

void syscall_summary_json(struct json *json, const struct record *summary)
{
    struct quantities of = quantities_of(summary);
    struct syscall_failing failing;
    struct syscall_sums sums;
    const char *name = NULL;
    double share = 0;

    if (!syscall_sums(summary, &sums))
        return;
    if (of.counts)
        json_key_number(json, "count", sums.count);
    if (of.errors)
        json_key_number(json, "errors", sums.errors);
    if (of.seconds) {
        json_key_number(json, "seconds", rounded(sums.seconds, 1e9));
        json_key_number(json, "waiting_seconds", rounded(sums.waiting_seconds, 1e9));
        json_key_number(json, "working_seconds", rounded(sums.seconds - sums.waiting_seconds, 1e9));
    }
    if (syscall_failing(summary, &failing)) {
        json_key_object(json, "most_errors");
        json_key_string(json, "name", failing.name);
        json_key_number(json, "errors", failing.errors);
        json_key_string(json, "most_frequent_error", failing.error);
        json_object_end(json);
    }
    if (syscall_hotspot(summary, &name, &share)) {
        json_key_object(json, "hotspot");
        json_key_string(json, "name", name);
        json_key_number(json, "share", rounded(share, 1e4));
        json_object_end(json);
    }
    by_call_json(json, &of);
}
