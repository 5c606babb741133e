#include "learn/limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct scan {
    const char *text, *at, *end; /* `end`: of this limit */
    size_t *place;
    struct metron_error *error;
};

static const struct {
    const char *word;
    enum limit_relation relation;
} operators[] = {
    /* the longer ones first */
    {">=", LIMIT_AT_LEAST}, {"<=", LIMIT_AT_MOST}, {"==", LIMIT_EQUAL}, {"!=", LIMIT_DIFFERENT},
    {">", LIMIT_ABOVE},     {"<", LIMIT_BELOW},    {"=", LIMIT_EQUAL},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Names of fields: proc_peak_rss_total, system.may_use.memory, env.SLURM_JOB_ID, gpu-0:power. */
static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '-';
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
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

static int scan_operator(struct scan *scan, struct limit *limit)
{
    skip_blanks(scan);
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        size_t length = strlen(operators[i].word);
        if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, operators[i].word, length) != 0)
            continue;
        limit->relation = operators[i].relation;
        scan->at += length;
        return 0;
    }
    return fail(scan, scan->at, "a field is followed by one of > >= < <= == !=");
}

/* The units of the names that every recording has. */
static bool known_unit(const char *field, enum unit *unit)
{
    static const struct {
        const char *field;
        enum unit unit;
    } known[] = {
        {"peak_memory", UNIT_BYTES}, {"cpu_seconds", UNIT_SECONDS}, {"wall", UNIT_SECONDS},
        {"processes", UNIT_COUNT},   {"exit_code", UNIT_NONE},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].field, field) == 0) {
            *unit = known[i].unit;
            return true;
        }
    return false;
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
        code = scan_operator(scan, limit);
    if (code == 0)
        code = scan_amount(scan, limit);
    while (end > begin && is_blank(end[-1]))
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

static bool holds(enum limit_relation relation, double value, double bound)
{
    switch (relation) {
    case LIMIT_ABOVE:
        return value > bound;
    case LIMIT_AT_LEAST:
        return value >= bound;
    case LIMIT_BELOW:
        return value < bound;
    case LIMIT_AT_MOST:
        return value <= bound;
    case LIMIT_EQUAL:
        return value == bound;
    case LIMIT_DIFFERENT:
        return value != bound;
    }
    return false;
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
    return holds(limit->relation, numbers->now, bound) ? LIMIT_PASSED : LIMIT_KEPT;
}
