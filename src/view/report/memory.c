/* Section of a report: memory, by every method. */
#include <string.h>

#include "view/recorded_list.h"
#include "view/report/methods.h"
#include "view/report/report.h"

/* A share of what it may use, below which it is not told. */
#define WORTH_TELLING 0.001

static void add_limit(struct report_section *section, const struct report_evidence *evidence, double peak)
{
    const struct recording *recording = evidence->recording;
    const char *by = recording_text(recording, "system.may_use.memory_by");
    double limit;

    if (!recording_number(recording, "system.may_use.memory", &limit) || !(limit > 0))
        return;
    struct report_item *item =
        report_add_number(section, "may_use", "it may use", UNIT_BYTES, limit, NULL, by);
    if (peak / limit >= WORTH_TELLING)
        item->say = report_text_of(section->page, "%s; its peak is %s of that",
                                   report_human(section->page, UNIT_BYTES, limit),
                                   report_human(section->page, UNIT_PERCENT, 100 * peak / limit));
}

/* The list of info.json, the headline's method first. */
static void add_methods(struct report_section *section, const struct recording *recording,
                        const char *headline)
{
    enum { METHODS_MAX = 32, COLUMNS = 4 };
    static const struct report_column columns[COLUMNS] = {
        {"value", "PEAK", UNIT_BYTES, NULL, REPORT_CUT},
        {"source", "METHOD", UNIT_NONE, NULL, REPORT_CUT},
        {.name = "method", .title = "IS THE", .fit = REPORT_LUXURY},
        {"bias", "BIAS", UNIT_NONE, NULL, REPORT_CLAUSE},
    };
    struct report_item *table = report_add_table(section, "methods", NULL, columns, COLUMNS, METHODS_MAX);
    struct json_reader reader;
    struct json_text method;
    struct report_value *row;
    double value;

    recorded_list_begin(&reader, recording, "peak_memory_methods");
    while (recorded_list_next(&reader, &method) && (row = report_add_row(table))) {
        const struct report_value source = report_found(section->page, &method, "source");
        if (headline && source.text && strcmp(source.text, headline) == 0) {
            memmove(table->cells + COLUMNS, table->cells, (size_t)(row - table->cells) * sizeof(*row));
            row = table->cells;
        }
        bool has_value = json_find_number(&method, "value", &value) && value >= 0;
        row[0] = has_value ? report_number(value) : (struct report_value){0};
        row[1] = source;
        row[2] = report_found(section->page, &method, "method");
        row[3] = report_found(section->page, &method, "bias");
    }
    json_reader_fini(&reader);
}

/* Swap and major faults: on the screen where there were any. */
static void add_parts(struct report_section *section, const struct report_measures *measures)
{
    static const struct {
        enum topic topic;
        enum unit unit;
        const char *statistic, *name, *label;
    } parts[] = {
        {TOPIC_MEMORY_SWAP, UNIT_BYTES, "peak", "swap", "in swap, at most"},
        {TOPIC_FAULT, UNIT_COUNT, NULL, "minor_faults", NULL},
        {TOPIC_FAULT_MAJOR, UNIT_COUNT, NULL, "major_faults", "major faults"},
    };

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const struct report_measure *part = report_measure_of(measures, parts[i].topic, parts[i].statistic);
        if (part)
            report_add_number(section, parts[i].name, part->value > 0 ? parts[i].label : NULL, parts[i].unit,
                              part->value, part->name, NULL);
    }
}

/* Of a run that has no end, and so no list of methods: the levels so far that stand for the whole. */
static void say_levels(struct report_section *section, const struct report_measures *measures)
{
    static const struct report_column columns[] = {
        {"", "SO FAR", UNIT_BYTES, NULL, REPORT_CUT},
        {"", "METHOD", UNIT_NONE, NULL, REPORT_CUT},
        {"", "READ FROM", UNIT_NONE, NULL, REPORT_CLAUSE},
    };
    struct report_item *table = report_add_table(section, "", NULL, columns, 3, measures->count);

    table->for_people = true;
    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        const enum topic topic = measure->key->topic;
        bool is_whole = report_measure_in(measure, TOPIC_MEMORY, UNIT_BYTES) &&
                        (topic == TOPIC_MEMORY || topic == TOPIC_MEMORY_MARK);
        struct report_value *row = is_whole && measure->value > 0 ? report_add_row(table) : NULL;
        if (!row)
            continue;
        row[0] = report_number(measure->value);
        row[1] = report_text(measure->name);
        row[2] = report_told(measure->key->field);
    }
}

void report_memory(struct report_page *page, const struct report_evidence *evidence)
{
    const struct recording *recording = evidence->recording;
    struct report_section *section = report_section_add(page, "memory", "Memory");
    const struct recorded_field *peak = recording_field(recording, "peak_memory");
    const char *bound_source = recording_text(recording, "headline.peak_memory_bytes.upper_bound.source");
    double bound;

    bool has_peak = peak && peak->kind == FIELD_NUMBER;
    bool has_methods = recording_field(recording, "peak_memory_methods") != NULL;
    if (has_peak) /* con-duct's own word for it follows */
        report_add_number(section, "peak_memory", recording->kind == RECORDING_DUCT ? NULL : "peak",
                          UNIT_BYTES, peak->number, peak->source, peak->note);
    if (recording_number(recording, "headline.peak_memory_bytes.upper_bound.value", &bound))
        report_add_number(section, "upper_bound", has_methods ? NULL : "charged at most", UNIT_BYTES, bound,
                          bound_source, "page cache included");
    if (has_peak || evidence->measures.count)
        add_limit(section, evidence, has_peak ? peak->number : 0);
    report_add_duct_fields(section, recording, TOPIC_MEMORY);
    add_parts(section, &evidence->measures);
    add_methods(section, recording, has_peak ? peak->source : NULL);
    if (!has_methods)
        say_levels(section, &evidence->measures);
    report_add_measures(section, &evidence->measures, "levels", TOPIC_MEMORY, UNIT_BYTES);
    report_add_measures(section, &evidence->measures, "page_faults", TOPIC_FAULT, UNIT_COUNT);
}
