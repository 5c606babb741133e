#include "view/measurements.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"

/* Words of `text` from column `indent` on, broken before column `width`. The first line is already begun. */
static void add_wrapped(struct strbuf *out, const char *text, size_t indent, size_t width)
{
    size_t column = indent;

    while (*text) {
        size_t length = strcspn(text, " ");
        if (column > indent && column + 1 + length > width) {
            strbuf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            strbuf_addc(out, ' ');
            column++;
        }
        strbuf_add(out, text, length);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    strbuf_addc(out, '\n');
}

static const char *how(const struct measurement *measurement)
{
    if (measurement->derive == DERIVE_RATE)
        return measurement->reduce == REDUCE_MIN ? "min of rate" : "max of rate";
    if (measurement->collapse == COLLAPSE_SUM)
        return measurement->reduce == REDUCE_DELTA ? "sum of deltas" : "max of sum";
    return reduce_name(measurement->reduce);
}

/* Of the columns whose contents differ much in length, each with two spaces behind. */
struct widths {
    int key, unit, cost;
};

static struct widths measure_columns(const struct registry *registry)
{
    struct widths widths = {.key = 5, .unit = 6, .cost = 7};
    char cost[COST_TEXT_SIZE];

    for (size_t i = 0; i < registry->count; i++) {
        const struct measurement *m = registry->entries[i].measurement;
        int key = (int)strlen(m->key) + 2, unit = (int)strlen(unit_name(m->unit)) + 2;
        int reads = (int)strlen(cost_text(m->cost, cost)) + 2;
        widths.key = key > widths.key ? key : widths.key;
        widths.unit = unit > widths.unit ? unit : widths.unit;
        widths.cost = reads > widths.cost ? reads : widths.cost;
    }
    return widths;
}

void measurements_table(struct strbuf *out, const struct registry *registry,
                        const struct run_collector *sources, size_t width)
{
    const struct widths widths = measure_columns(registry);
    const int key_width = widths.key, unit_width = widths.unit, cost_width = widths.cost;
    enum { SCOPE_WIDTH = 8, TYPE_WIDTH = 12, HOW_WIDTH = 14 };
    const int all_columns = 2 + key_width + SCOPE_WIDTH + TYPE_WIDTH + unit_width + HOW_WIDTH + cost_width;
    const size_t columns = (size_t)all_columns;
    const bool wide = width >= columns + 30;
    const struct source *source = NULL;
    char cost[COST_TEXT_SIZE];

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        if (i == 0 || entry->source != source) {
            const char *reason = sources[entry->source_index].reason;
            source = entry->source;
            strbuf_addf(out, "%s%s: %s", i ? "\n" : "", source->name, source->title);
            strbuf_addf(out, reason ? " (not available: %s)\n" : "\n", reason ? reason : "");
            strbuf_addf(out, "  %-*s%-*s%-*s%-*s%-*s%-*s%s\n", key_width, "KEY", SCOPE_WIDTH, "SCOPE",
                        TYPE_WIDTH, "TYPE", unit_width, "UNIT", HOW_WIDTH, "REDUCED BY",
                        wide ? cost_width : 0, wide ? "READS" : "", wide ? "MEANING" : "");
        }
        strbuf_addf(out, "  %-*s%-*s%-*s%-*s%-*s", key_width, m->key, SCOPE_WIDTH, scope_name(m->scope),
                    TYPE_WIDTH, type_name(m->type), unit_width, unit_name(m->unit), HOW_WIDTH, how(m));
        (void)cost_text(m->cost, cost);
        if (wide)
            strbuf_addf(out, "%-*s", cost_width, cost);
        else
            strbuf_addf(out, "\n%6s", "");
        add_wrapped(out, m->meaning, wide ? columns : 6, width);
        if (entry->reason && !sources[entry->source_index].reason) {
            strbuf_addf(out, "%*s", (int)(wide ? columns : 6), "");
            strbuf_adds(out, "(not available: ");
            strbuf_adds(out, entry->reason);
            strbuf_adds(out, ")\n");
        }
        if (!wide && m->cost)
            strbuf_addf(out, "%6s(reads %s)\n", "", cost);
    }
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
        json_key_string(&json, "scope", scope_name(m->scope));
        json_key_string(&json, "type", type_name(m->type));
        json_key_string(&json, "unit", unit_name(m->unit));
        json_key_string(&json, "derive", derive_name(m->derive));
        json_key_string(&json, "collapse", collapse_name(m->collapse));
        json_key_string(&json, "reduce", reduce_name(m->reduce));
        json_key_string(&json, "cost", cost_text(m->cost, cost));
        json_key_string(&json, "meaning", m->meaning);
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

    strbuf_adds(out,
                "# Measurements\n\n"
                "Every key that metron can record. This page is made from the program's own registry by\n"
                "`make docs`; do not edit it. [What the numbers mean](what-the-numbers-mean.md) explains\n"
                "them, [schema.md](schema.md) says where they are written.\n\n"
                "*reduced by* is what happens to the samples between two reports; *in the summary* is the\n"
                "name of the same quantity over the whole run; *reads* is what selecting the key costs per\n"
                "process and sample.\n");
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        if (i == 0 || entry->source != source) {
            source = entry->source;
            strbuf_addf(out, "\n## %s\n\n%s\n\n", source->name, source->title);
            strbuf_adds(
                out, "| key | scope | type | unit | field | reduced by | in the summary | reads | meaning |\n"
                     "|---|---|---|---|---|---|---|---|---|\n");
        }
        strbuf_addf(out, "| `%s` | %s | %s | %s | %s | %s | ", m->key, scope_name(m->scope),
                    type_name(m->type), unit_name(m->unit), entry->source->fields[m->field], how(m));
        markdown_names(out, entry);
        strbuf_addf(out, " | %s | %s |\n", cost_text(m->cost, cost), m->meaning);
    }
}
