#include "view/measurements.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "view/table.h"

static const char *how(const struct measurement *measurement)
{
    if (measurement->derive == DERIVE_RATE)
        return measurement->reduce == REDUCE_MIN ? "min of rate" : "max of rate";
    if (measurement->collapse == COLLAPSE_SUM)
        return measurement->reduce == REDUCE_DELTA ? "sum of deltas" : "max of sum";
    return reduce_names[measurement->reduce];
}

enum { INDENT = 2, NARROW_INDENT = 6, UNIT_LEAST = 8, MEANING_LEAST = 30 };
#define WIDE_FROM 145 /* columns of a screen that has room for the meaning beside the key */

static void add_source_heading(struct table *table, const struct source *source, const char *reason)
{
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%s%s: %s", table->cell_count ? "\n" : "", source->name, source->title);
    if (reason)
        strbuf_addf(&line, " (not available: %s)", reason);
    strbuf_addc(&line, '\n');
    table_text(table, strbuf_text(&line), INDENT);
    table_titles(table);
    strbuf_fini_part(&line, &table->texts);
}

static void add_measurement(struct table *table, const struct measurement *m, const char *reason, bool wide)
{
    struct strbuf lines = STRBUF_INIT;
    char cost[COST_TEXT_SIZE];
    const int indent = wide ? 0 : NARROW_INDENT;
    const char *const end = wide ? "" : "\n";

    table_add(table, m->key);
    table_add(table, scope_names[m->scope]);
    table_add(table, type_names[m->type]);
    table_add(table, unit_name(m->unit));
    table_add(table, how(m));
    table_add(table, cost_text(m->cost, cost));
    table_add(table, topic_name(m->topic));
    strbuf_addf(&lines, "%*s%s%s", indent, "", m->meaning, end);
    if (reason)
        strbuf_addf(&lines, "%*s(not available: %s)%s", wide ? 1 : indent, "", reason, end);
    if (!wide && m->cost)
        strbuf_addf(&lines, "%*s(reads %s)%s", indent, "", cost, end);
    table_add(table, wide ? strbuf_text(&lines) : "");
    if (!wide)
        table_text(table, strbuf_text(&lines), NARROW_INDENT);
    strbuf_fini_part(&lines, &table->texts);
}

void measurements_table(struct strbuf *out, const struct registry *registry,
                        const struct run_collector *sources, size_t width)
{
    /* Where it is narrow the meaning has lines of its own. */
    const bool wide = width >= WIDE_FROM;
    struct table_column columns[] = {
        {.title = "KEY"},
        {.title = "SCOPE"},
        {.title = "TYPE"},
        {.title = "UNIT", .fit = TABLE_CUT_END, .least = UNIT_LEAST, .wants = SIZE_MAX},
        {.title = "REDUCED BY"},
        {.title = "READS", .left_out = !wide},
        {.title = "TOPIC", .left_out = !wide, .drop = 1},
        {.title = "MEANING", .left_out = !wide, .fit = TABLE_WRAPPED, .least = MEANING_LEAST},
    };
    struct table table = {.columns = columns, .column_count = ARRAY_LENGTH(columns), .indent = INDENT};

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const char *reason = sources[entry->source_index].reason;
        if (i == 0 || entry->source != registry->entries[i - 1].source)
            add_source_heading(&table, entry->source, reason);
        add_measurement(&table, entry->measurement, reason ? NULL : entry->reason, wide);
    }
    table_write(&table, out, width, false);
    table_fini(&table);
}

void measurements_json(struct strbuf *out, const struct registry *registry)
{
    struct json json;
    char cost[COST_TEXT_SIZE];

    json_init(&json, out, 2);
    json_array_begin(&json);
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        const char *reason = entry->reason;
        json_object_begin(&json);
        json_key_string(&json, "key", m->key);
        json_key_string(&json, "source", entry->source->name);
        json_key_string(&json, "field", entry->source->fields[m->field]);
        json_key_string(&json, "scope", scope_names[m->scope]);
        json_key_string(&json, "type", type_names[m->type]);
        json_key_string(&json, "topic", topic_name(m->topic));
        json_key_string(&json, "unit", unit_name(m->unit));
        json_key_string(&json, "bound", m->bound ? bound_name(m->bound) : "exact");
        json_key_string(&json, "derive", derive_names[m->derive]);
        json_key_string(&json, "collapse", collapse_names[m->collapse]);
        json_key_string(&json, "reduce", reduce_names[m->reduce]);
        json_key_string(&json, "cost", cost_text(m->cost, cost));
        json_key_string(&json, "meaning", m->meaning);
        json_key_string(&json, "column", m->column);
        json_key_boolean(&json, "available", reason == NULL);
        json_key_string(&json, "reason", reason);
        json_object_end(&json);
    }
    json_array_end(&json);
    strbuf_addc(out, '\n');
}

static void markdown_names(struct strbuf *out, const struct registry_entry *entry)
{
    char key[MEASUREMENT_KEY_SIZE];
    const struct measurement *m = entry->measurement;

    if (m->scope == SCOPE_PER_PID || m->type == TYPE_LABEL) {
        strbuf_adds(out, "–");
    } else if (m->reduce == REDUCE_MAX) {
        strbuf_addf(out, "`%s`, ", measurement_statistic_key(entry->source, m, "peak", key));
        strbuf_addf(out, "`%s`", measurement_statistic_key(entry->source, m, "ave", key));
    } else if (m->reduce == REDUCE_MIN) {
        strbuf_addf(out, "`%s`", measurement_statistic_key(entry->source, m, "low", key));
    } else {
        strbuf_addf(out, "`%s`", m->key);
    }
}

void measurements_markdown(struct strbuf *out, const struct registry *registry)
{
    const struct source *source = NULL;
    char cost[COST_TEXT_SIZE];

    strbuf_adds(
        out,
        "# Measurements\n\n"
        "Every key that metron can record. This page is made from the program's own registry by\n"
        "`make docs`; do not edit it. [What the numbers mean](what-the-numbers-mean.md) explains\n"
        "them, [schema.md](schema.md) says where they are written.\n\n"
        "*reduced by* is what happens to the samples between two reports; *in the summary* is the\n"
        "name of the same quantity over the whole run; *reads* is what selecting the key costs per\n"
        "process and sample; *bound* is how the value stands to its topic: exact, or at least (lower), at\n"
        "most (upper) or about (estimate) that much.\n");
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        if (i == 0 || entry->source != source) {
            source = entry->source;
            strbuf_addf(out, "\n## %s\n\n%s\n\n", source->name, source->title);
            strbuf_adds(out, "| key | topic | scope | type | unit | bound | field | reduced by | in the "
                             "summary | reads | meaning |\n"
                             "|---|---|---|---|---|---|---|---|---|---|---|\n");
        }
        strbuf_addf(out, "| `%s` | %s | %s | %s | %s | %s | %s | %s | ", m->key, topic_name(m->topic),
                    scope_names[m->scope], type_names[m->type], unit_name(m->unit),
                    m->bound ? bound_name(m->bound) : "exact", entry->source->fields[m->field], how(m));
        markdown_names(out, entry);
        strbuf_addf(out, " | %s | %s |\n", cost_text(m->cost, cost), m->meaning);
    }
}
