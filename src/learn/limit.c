#include "learn/limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "schema/recording.h"

struct scan {
    const char *text, *at, *end; /* `end`: of this limit */
    size_t *place;
    struct metron_error *error;
};

/* Names of fields: proc_peak_rss_total, system.may_use.memory, env.SLURM_JOB_ID, gpu-0:power. */
static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '-';
}

static void skip_blanks(struct scan *scan)
{
    scan->at = text_skip_blanks(scan->at, scan->end);
}

static int fail(struct scan *scan, const char *at, const char *message)
{
    *scan->place = (size_t)(at - scan->text);
    return error_set(scan->error, -EINVAL, "%s", message);
}

static int scan_field(struct scan *scan, struct limit *limit)
{
    const char *begin = scan->at;

    while (scan->at < scan->end && is_of_name(*scan->at))
        scan->at++;
    size_t length = (size_t)(scan->at - begin);
    if (length == 0)
        return fail(scan, begin, "a limit begins with a field: peak_memory > +10%");
    if (length >= sizeof(limit->field))
        return fail(scan, begin, "no field has so long a name");
    memcpy(limit->field, begin, length);
    limit->field[length] = '\0';
    return 0;
}

static int scan_relation(struct scan *scan, struct limit *limit)
{
    skip_blanks(scan);

    const char *behind = relation_scan(scan->at, scan->end, &limit->relation);

    if (!behind)
        return fail(scan, scan->at, "a field is followed by one of > >= < <= == !=");
    scan->at = behind;
    return 0;
}

/* The units of the names that every recording has. */
static bool known_unit(const char *field, enum unit *unit)
{
    const struct recorded_alias *alias = recorded_alias_named(field);

    *unit = alias ? alias->unit : UNIT_NONE;
    return alias || strcmp(field, "exit_code") == 0;
}

/* Why an amount does not suit a field of this unit; NULL: it does. */
static const char *why_not_of(const struct limit *limit, enum unit unit)
{
    enum unit given = limit->amount.unit;

    if (given == UNIT_NONE || given == unit || (limit->relative && given == UNIT_PERCENT))
        return NULL;
    return given == UNIT_PERCENT ? "this field is not in percent; +10% is a tenth more than before"
                                 : "this amount is of another kind than the field";
}

static int scan_amount(struct scan *scan, struct limit *limit)
{
    enum unit unit;

    skip_blanks(scan);
    const char *begin = scan->at;
    limit->relative = begin < scan->end && (*begin == '+' || *begin == '-');
    const char *behind = quantity_scan(begin, scan->end, &limit->amount);
    if (!behind)
        return fail(scan, begin, "an amount is expected here: +10%, +30s, -1GiB, 2h, 100");
    scan->at = behind;
    skip_blanks(scan);
    if (scan->at < scan->end)
        return fail(scan, scan->at, "a limit ends with its amount; the next follows after a comma");
    const char *mismatch = known_unit(limit->field, &unit) ? why_not_of(limit, unit) : NULL;
    return mismatch ? fail(scan, begin, mismatch) : 0;
}

static int scan_limit(struct scan *scan, struct limit *limit)
{
    const char *begin = scan->at, *end = scan->end;
    int code = scan_field(scan, limit);

    if (code == 0)
        code = scan_relation(scan, limit);
    if (code == 0)
        code = scan_amount(scan, limit);
    while (end > begin && text_is_blank(end[-1]))
        end--;
    (void)snprintf(limit->text, sizeof(limit->text), "%.*s", (int)(end - begin), begin);
    return code;
}

int limits_parse(const char *text, struct limits *out, size_t *place, struct metron_error *error)
{
    struct scan scan = {.text = text, .at = text, .place = place, .error = error};

    out->count = 0;
    *place = 0;
    if (strlen(text) > LIMITS_LENGTH_MAX)
        return fail(&scan, text + LIMITS_LENGTH_MAX, "the limits are too long");
    for (;;) {
        scan.end = scan.at + strcspn(scan.at, ",");
        skip_blanks(&scan);
        if (out->count == LIMITS_MAX)
            return fail(&scan, scan.at, "these are too many limits");
        int code = scan_limit(&scan, &out->items[out->count]);
        if (code < 0)
            return code;
        out->count++;
        if (*scan.end == '\0')
            return 0;
        scan.at = scan.end + 1;
    }
}

enum limit_result limit_judge(const struct limit *limit, const struct limit_numbers *numbers,
                              struct metron_error *reason)
{
    double bound = limit->amount.value;
    const char *mismatch;

    if (!numbers->has_now) {
        (void)error_set(reason, -ENOENT, "the run has no number %s", limit->field);
        return LIMIT_NOT_JUDGED;
    }
    mismatch = why_not_of(limit, numbers->unit);
    if (mismatch) {
        (void)error_set(reason, -EINVAL, "%s (%s)", mismatch, unit_name(numbers->unit));
        return LIMIT_NOT_JUDGED;
    }
    if (limit->relative && !numbers->has_before) {
        (void)error_set(reason, -ENOENT, "there is no %s before to compare with", limit->field);
        return LIMIT_NOT_JUDGED;
    }
    if (limit->relative && limit->amount.unit == UNIT_PERCENT)
        bound = numbers->before * (1 + bound / 100);
    else if (limit->relative)
        bound += numbers->before;

    int order = (numbers->now > bound) - (numbers->now < bound);

    return relation_holds(limit->relation, order) ? LIMIT_PASSED : LIMIT_KEPT;
}
