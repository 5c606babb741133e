#include "schema/syscall_summary.h"

#include <math.h>
#include <string.h>

/* The three quantities of a summary; NULL where one was not measured. */
struct quantities {
    const struct record_value *counts, *seconds, *errors;
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

bool syscall_sums(const struct record *summary, struct syscall_sums *out)
{
    struct quantities of = quantities_of(summary);

    *out = (struct syscall_sums){sum_of(of.counts), sum_of(of.errors), sum_of(of.seconds)};
    return of.counts || of.errors || of.seconds;
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
    if (of->seconds)
        json_key_number(json, "seconds", rounded(seconds, per_second));
    if (of->seconds && count > 0)
        json_key_number(json, "seconds_per_call", rounded(seconds / count, per_second));
    if (all_seconds > 0)
        json_key_number(json, "time_pct", rounded(100 * seconds / all_seconds, per_percent));
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
    struct syscall_sums sums;
    const char *name = NULL;
    double share = 0;

    if (!syscall_sums(summary, &sums))
        return;
    if (of.counts)
        json_key_number(json, "count", sums.count);
    if (of.errors)
        json_key_number(json, "errors", sums.errors);
    if (of.seconds)
        json_key_number(json, "seconds", rounded(sums.seconds, 1e9));
    if (syscall_hotspot(summary, &name, &share)) {
        json_key_object(json, "hotspot");
        json_key_string(json, "name", name);
        json_key_number(json, "share", rounded(share, 1e4));
        json_object_end(json);
    }
    by_call_json(json, &of);
}
