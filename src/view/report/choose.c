#include "view/report/choose.h"

#include <string.h>

static bool has_part(const struct report_measure *measure, const char *part)
{
    return strstr(measure->key->key, part) != NULL;
}

static bool is_of(const struct report_measure *measure, const char *source)
{
    return strcmp(measure->key->source, source) == 0;
}

static bool is_average(const struct report_measure *measure)
{
    return measure->statistic && strcmp(measure->statistic, "ave") == 0;
}

/* metron's own use has a section of its own; that of the machine is not the target's. */
static bool is_of_target(const struct report_measure *measure)
{
    return !measure->is_tally && !is_of(measure, "self") && !is_of(measure, "sys");
}

bool report_is_cpu(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_SECONDS && !is_average(measure);
}

bool report_is_memory(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_BYTES && measure->key->type == TYPE_GAUGE &&
           !is_average(measure);
}

bool report_is_moved(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_BYTES && measure->key->type == TYPE_COUNTER;
}

bool report_is_fault(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_COUNT && has_part(measure, "faults");
}

bool report_is_switch(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_COUNT && has_part(measure, "ctx");
}

bool report_is_stall(const struct report_measure *measure)
{
    return !measure->is_tally && measure->key->unit == UNIT_PERCENT && has_part(measure, "psi");
}

bool report_is_speed(const struct report_measure *measure)
{
    return is_of_target(measure) && measure->key->unit == UNIT_BYTES_PER_SECOND;
}

/* Value, key, and where it was read. */
struct report_item *report_add_measures(struct report_section *section,
                                        const struct report_measures *measures, const char *name,
                                        const struct report_column columns[3], report_choice *choose)
{
    size_t count = 0;

    for (size_t i = 0; i < measures->count; i++)
        count += choose(&measures->items[i]);
    struct report_item *table = report_add_table(section, name, NULL, columns, 3, count);
    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        struct report_value *row = choose(measure) ? report_add_row(table) : NULL;
        if (!row)
            continue;
        row[0] = report_number(measure->value);
        row[1] = report_text(measure->name);
        row[2] = report_text(measure->key->field[0] ? measure->key->field : NULL);
    }
    return table;
}

/* Of the same key as `peak`: "proc_ave_rss_total" beside "proc_peak_rss_total". */
static const struct report_measure *mean_beside(const struct report_measures *measures,
                                                const struct report_measure *peak)
{
    const size_t source = strlen(peak->key->source);

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *mean = &measures->items[i];
        if (is_average(mean) && strncmp(mean->name, peak->key->key, source) == 0 &&
            strncmp(mean->name + source, "_ave", 4) == 0 &&
            strcmp(mean->name + source + 4, peak->key->key + source) == 0)
            return mean;
    }
    return NULL;
}

struct report_item *report_add_means(struct report_section *section, const struct report_measures *measures,
                                     const char *name, const struct report_column columns[3],
                                     report_choice *choose)
{
    struct report_item *table = report_add_table(section, name, NULL, columns, 3, measures->count);

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *peak = &measures->items[i];
        if (!choose(peak) || is_average(peak))
            continue;
        struct report_value *row = report_add_row(table);
        if (!row)
            return table;
        const struct report_measure *mean = mean_beside(measures, peak);
        if (mean)
            row[0] = report_number(mean->value);
        row[1] = report_number(peak->value);
        row[2] = report_text(peak->key->key);
    }
    return table;
}

/* Those of con-duct, under their own names: `unit` of those with `part` in it. */
void report_add_duct_fields(struct report_section *section, const struct recording *recording,
                            const char *part, enum unit unit)
{
    for (size_t i = 0; recording->kind == RECORDING_DUCT && i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        bool is_summary = strncmp(field->name, "peak_", 5) == 0 || strncmp(field->name, "average_", 8) == 0;
        if (field->kind != FIELD_NUMBER || field->unit != unit || !is_summary || field->source ||
            !strstr(field->name, part))
            continue;
        struct report_item *item =
            report_add_number(section, field->name, field->name, field->unit, field->number);
        if (item)
            item->note = field->note;
    }
}
