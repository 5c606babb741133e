/*
 * What fields and values are: dates, the fields that every recording has, and which value fits which field.
 */
#include "store/filter/inner.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

static bool read_digits(const char **at, int count, int lowest, int highest, int *out)
{
    int value = 0;

    for (int i = 0; i < count; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        value = 10 * value + (**at - '0');
    }
    *out = value;
    return value >= lowest && value <= highest;
}

/* Z, +01:00, -0530 */
static bool read_zone(const char **at, long *seconds_east)
{
    int hours, minutes;
    char sign = *(*at)++;

    *seconds_east = 0;
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !read_digits(at, 2, 0, 23, &hours))
        return false;
    *at += **at == ':';
    if (!read_digits(at, 2, 0, 59, &minutes))
        return false;
    *seconds_east = (sign == '-' ? -1L : 1L) * (hours * 3600L + minutes * 60L);
    return true;
}

/* "07:42", "07:42:53", "07:42:53.25": *span is how long the written instant is. */
static bool read_clock(const char **at, struct tm *tm, double *fraction, double *span)
{
    if (!read_digits(at, 2, 0, 23, &tm->tm_hour) || *(*at)++ != ':' ||
        !read_digits(at, 2, 0, 59, &tm->tm_min))
        return false;
    *span = 60;
    if (**at != ':')
        return true;
    ++*at;
    if (!read_digits(at, 2, 0, 60, &tm->tm_sec))
        return false;
    *span = 1;
    if (**at != '.')
        return true;
    for (++*at; isdigit((unsigned char)**at) && *span > 1e-9; ++*at) {
        *span /= 10;
        *fraction += *span * (**at - '0');
    }
    return true;
}

bool filter_time_parse(const char *text, struct filter_time *out)
{
    const char *at = text;
    struct tm tm = {.tm_isdst = -1}, next;
    double fraction = 0, span = 0;
    long east;

    if (!read_digits(&at, 4, 1970, 9999, &tm.tm_year) || *at++ != '-' ||
        !read_digits(&at, 2, 1, 12, &tm.tm_mon) || *at++ != '-' || !read_digits(&at, 2, 1, 31, &tm.tm_mday))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    if (*at == 'T' || *at == ' ') {
        at++;
        if (!read_clock(&at, &tm, &fraction, &span))
            return false;
    }
    int day = tm.tm_mday;
    next = tm;
    next.tm_mday++; /* a day of 23 or 25 hours ends at midnight as well */
    if (*at) {
        if (span == 0 || !read_zone(&at, &east) || *at)
            return false;
        out->begin = (double)(timegm(&tm) - east);
    } else {
        out->begin = (double)mktime(&tm);
    }
    if (tm.tm_mday != day) /* February 30 */
        return false;
    out->begin += fraction;
    out->end = span > 0 ? out->begin + span : (double)mktime(&next);
    return true;
}

/* The fields that are no aliases but stand in every recording. */
static bool known_by_schema(const char *field, struct filter_known *out)
{
    static const struct {
        const char *field;
        struct filter_known known;
    } fields[] = {
        {"wall_clock_time", {FIELD_NUMBER, UNIT_SECONDS, false, NULL}},
        {"exit_code", {FIELD_NUMBER, UNIT_COUNT, false, NULL}},
        {"start_time", {FIELD_TEXT, UNIT_NONE, true, NULL}},
        {"end_time", {FIELD_TEXT, UNIT_NONE, true, NULL}},
        {"status", {FIELD_TEXT, UNIT_NONE, false, "ended, running, lost, unknown"}},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strcmp(fields[i].field, field) == 0) {
            *out = fields[i].known;
            return true;
        }
    return false;
}

bool filter_known_field(const char *field, struct filter_known *out)
{
    const struct recorded_alias *alias = recorded_alias_named(field);
    const char *part = recorded_alias_part(field);

    if (alias)
        *out = (struct filter_known){.kind = FIELD_NUMBER, .unit = alias->unit};
    else if (part)
        *out = (struct filter_known){.kind = FIELD_TEXT,
                                     .words = strcmp(part, "bound") == 0 ? "lower, upper, estimate" : NULL};
    return alias || part || known_by_schema(field, out);
}

bool filter_is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    while (*words) {
        size_t next = strcspn(words, ", ");
        if (next == length && length > 0 && memcmp(words, word, length) == 0)
            return true;
        words += next;
        words += strspn(words, ", ");
    }
    return false;
}

static const char *amount_name(enum unit unit)
{
    switch (unit) {
    case UNIT_BYTES:
        return "a size";
    case UNIT_SECONDS:
        return "a time";
    case UNIT_PERCENT:
        return "a percentage";
    case UNIT_BYTES_PER_SECOND:
        return "a rate";
    default:
        return "a number";
    }
}

static const char *unit_words(enum unit unit)
{
    static const char *const words[] = {
        [UNIT_NONE] = "a plain number",        [UNIT_BYTES] = "in bytes",
        [UNIT_SECONDS] = "in seconds",         [UNIT_PERCENT] = "in percent",
        [UNIT_COUNT] = "a plain number",       [UNIT_BYTES_PER_SECOND] = "in bytes per second",
        [UNIT_CELSIUS] = "in degrees Celsius", [UNIT_WATTS] = "in watts",
        [UNIT_JOULES] = "in joules",
    };
    return words[unit];
}

/* A field without a unit takes any amount, in bytes and seconds, as files have them. */
static int check_number(const struct filter_node *node, enum unit unit, bool is_time,
                        struct metron_error *error)
{
    const struct filter_value *value = &node->value;

    if (value->is_time && (is_time || unit == UNIT_NONE))
        return 0;
    if (value->is_time && !value->is_quantity)
        return error_set(error, -EINVAL, "%s is %s, '%s' is a date", node->field, unit_words(unit),
                         value->text);
    if (!value->is_quantity)
        return error_set(error, -EINVAL, "%s is %s, '%s' is no number", node->field, unit_words(unit),
                         value->text);
    if (value->quantity.unit == UNIT_NONE || unit == UNIT_NONE || value->quantity.unit == unit)
        return 0;
    return error_set(error, -EINVAL, "%s is %s, %s is %s%s", node->field, unit_words(unit), value->text,
                     amount_name(value->quantity.unit),
                     unit == UNIT_BYTES && value->quantity.unit == UNIT_SECONDS && strchr(value->text, 'm')
                         ? " (m is minutes, M is MiB)"
                         : "");
}

static int check_text(const struct filter_node *node, bool is_time, struct metron_error *error)
{
    const struct filter_value *value = &node->value;

    if (is_time && !value->is_time)
        return error_set(error, -EINVAL, "%s is a date, '%s' is none; write 2026-11-15 or 2026-11-15T07:42",
                         node->field, value->text);
    if (value->is_quantity && !value->quoted && value->quantity.unit != UNIT_NONE)
        return error_set(error, -EINVAL, "%s is a text, without a unit; %s is %s", node->field, value->text,
                         amount_name(value->quantity.unit));
    return 0;
}

int filter_check(const struct filter_node *node, enum field_kind kind, enum unit unit, bool is_time,
                 struct metron_error *error)
{
    switch (kind) {
    case FIELD_NUMBER:
        return check_number(node, unit, is_time, error);
    case FIELD_TEXT:
        return check_text(node, is_time, error);
    case FIELD_BOOLEAN:
        if (relation_is_ordered(node->relation) ||
            !filter_is_word_of("true, false, yes, no, 1, 0", node->value.text))
            return error_set(error, -EINVAL, "%s is true or false: compare it by == or != with one of these",
                             node->field);
        return 0;
    case FIELD_JSON:
        break;
    }
    return error_set(error, -EINVAL, "%s is a list or an object: only =~ and !~ can look into it",
                     node->field);
}
