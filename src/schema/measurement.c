#include "schema/measurement.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const scope_names[] = {"single", "per_pid", "per_device"};
const char *const type_names[] = {"gauge", "counter", "label", "categorical"};
const char *const derive_names[] = {"none", "rate"};
const char *const collapse_names[] = {"none", "sum", "max", "count"};
const char *const reduce_names[] = {"max", "min", "last", "delta", "tally"};

const char *reduce_statistic(enum reduce reduce)
{
    return reduce == REDUCE_MAX ? "peak" : reduce == REDUCE_MIN ? "low" : NULL;
}

char *cost_text(unsigned cost, char out[COST_TEXT_SIZE])
{
    static const char *const names[] = {"stat",     "clock",   "statm",    "status", "tasks", "fd",
                                        "limits",   "cmdline", "system",   "io",     "smaps", "cgroup",
                                        "pressure", "ps",      "syscalls", "events", "gpu"};
    size_t length = 0;
    out[0] = '\0';
    for (unsigned bit = 0; bit < sizeof(names) / sizeof(names[0]); bit++) {
        if (!(cost & (1U << bit)))
            continue;
        int written = snprintf(out + length, COST_TEXT_SIZE - length, "%s%s", length ? "+" : "", names[bit]);
        if (written > 0)
            length += (size_t)written;
    }
    if (length == 0)
        (void)snprintf(out, COST_TEXT_SIZE, "nothing");
    return out;
}

bool measurement_has_amounts(const struct measurement *measurement)
{
    return measurement->type == TYPE_CATEGORICAL && measurement->unit != UNIT_NONE;
}

/* What each type may be made into. A rule that fails names itself. */
static const char *type_rule_broken(const struct measurement *m)
{
    switch (m->type) {
    case TYPE_LABEL:
        if (m->reduce != REDUCE_LAST)
            return "a label is text: it can only be reduced by last";
        if (m->derive != DERIVE_NONE || m->collapse != COLLAPSE_NONE || m->unit != UNIT_NONE)
            return "a label has no rate, no sum and no unit";
        return NULL;
    case TYPE_CATEGORICAL:
        if (m->reduce != REDUCE_TALLY)
            return "a categorical value is tallied";
        if (m->derive != DERIVE_NONE)
            return "a categorical value has no rate";
        if (m->collapse == COLLAPSE_SUM || m->collapse == COLLAPSE_MAX)
            return "states are counted, not summed";
        if (measurement_has_amounts(m) && m->collapse != COLLAPSE_NONE)
            return "amounts per state are not collapsed: the source brings those of the whole";
        if (m->unit == UNIT_PERCENT)
            return "amounts per state only grow: a share is none";
        return NULL;
    case TYPE_GAUGE:
        if (m->derive != DERIVE_NONE)
            return "only a counter has a rate";
        if (m->reduce == REDUCE_DELTA || m->reduce == REDUCE_TALLY)
            return "a gauge is a level: max, min or last";
        break;
    case TYPE_COUNTER:
        if (m->derive == DERIVE_NONE && m->reduce != REDUCE_DELTA)
            return "a counter is never read as a level: it takes delta, or a rate";
        if (m->derive == DERIVE_RATE && m->reduce != REDUCE_MAX && m->reduce != REDUCE_MIN)
            return "a rate is reduced by max or min";
        if (m->collapse == COLLAPSE_MAX && m->derive == DERIVE_NONE)
            return "the largest of several counters is no counter";
        break;
    }
    if (m->collapse == COLLAPSE_COUNT)
        return "only states are counted";
    return NULL;
}

static const char *unit_rule_broken(const struct measurement *m)
{
    if (m->unit == UNIT_BYTES_PER_SECOND && m->derive != DERIVE_RATE)
        return "bytes_per_second is the unit of a rate";
    if (m->unit == UNIT_PERCENT && m->type == TYPE_COUNTER && m->derive != DERIVE_RATE)
        return "a counter in percent must be a rate";
    if (m->derive == DERIVE_RATE && m->unit != UNIT_PERCENT && m->unit != UNIT_BYTES_PER_SECOND)
        return "a rate is in percent or bytes_per_second";
    if (m->ceiling != CEILING_NONE && (m->derive != DERIVE_RATE || m->unit != UNIT_PERCENT))
        return "only a rate in percent has a ceiling";
    if (m->kept && m->type != TYPE_GAUGE)
        return "only a gauge is kept between passes";
    return NULL;
}

/* Snapshots take what a pass has read: of the machine, of each process or of each device, and nothing that is
 * made of several. */
static const char *column_rule_broken(const struct measurement *m)
{
    if (!m->column != !m->stored)
        return "a column has a name in snapshots and one in the history";
    if (m->column && (m->type == TYPE_LABEL || m->type == TYPE_CATEGORICAL))
        return "only a number has a column";
    if (m->column && m->collapse != COLLAPSE_NONE)
        return "a total of processes has no column";
    if (m->column && m->scope == SCOPE_PER_DEVICE && m->type != TYPE_GAUGE)
        return "of a device only a level has a column";
    return NULL;
}

int measurement_check(const struct source *source, const struct measurement *m, struct metron_error *error)
{
    const char *broken = NULL;
    size_t prefix = strlen(source->name);

    if (!m->key || !m->meaning || !m->meaning[0])
        broken = "a measurement has a key and a meaning";
    else if (strncmp(m->key, source->name, prefix) != 0 || m->key[prefix] != '_' || !m->key[prefix + 1])
        broken = "a key starts with its source and an underscore";
    else if (strlen(m->key) + sizeof("peak_") > MEASUREMENT_KEY_SIZE)
        broken = "the key is too long";
    else if (m->field >= source->field_count || source->field_count > 64)
        broken = "the field is not one of the source's";
    else if (m->scope != SCOPE_SINGLE && m->collapse != COLLAPSE_NONE)
        broken = "only a single value is collapsed from others";
    else if ((broken = type_rule_broken(m)) == NULL && (broken = unit_rule_broken(m)) == NULL)
        broken = column_rule_broken(m);
    if (broken)
        return error_set(error, -EINVAL, "measurement '%s' of source '%s': %s", m->key ? m->key : "(none)",
                         source->name, broken);
    return 0;
}

char *measurement_statistic_key(const struct source *source, const struct measurement *measurement,
                                const char *statistic, char out[MEASUREMENT_KEY_SIZE])
{
    (void)snprintf(out, MEASUREMENT_KEY_SIZE, "%s_%s_%s", source->name, statistic,
                   measurement->key + strlen(source->name) + 1);
    return out;
}
