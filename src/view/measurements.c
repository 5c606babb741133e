#include "view/measurements.h"

#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "view/wrap.h"

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
    int key, unit, cost, topic;
};

static struct widths measure_columns(const struct registry *registry)
{
    struct widths widths = {.key = 5, .unit = 6, .cost = 7, .topic = 7};
    char cost[COST_TEXT_SIZE];

    for (size_t i = 0; i < registry->count; i++) {
        const struct measurement *m = registry->entries[i].measurement;
        int key = (int)strlen(m->key) + 2, unit = (int)strlen(unit_name(m->unit)) + 2;
        int reads = (int)strlen(cost_text(m->cost, cost)) + 2, topic = (int)strlen(topic_name(m->topic)) + 2;
        widths.key = key > widths.key ? key : widths.key;
        widths.unit = unit > widths.unit ? unit : widths.unit;
        widths.cost = reads > widths.cost ? reads : widths.cost;
        widths.topic = topic > widths.topic ? topic : widths.topic;
    }
    return widths;
}

enum { INDENT = 2, NARROW_INDENT = 6, SCOPE_WIDTH = 12, TYPE_WIDTH = 12, HOW_WIDTH = 14, MEANING_WIDTH = 30 };

/* One line of the table; with `wide` the cost, the topic where there is room, and the meaning go on behind
 * it. */
static void add_columns(struct strbuf *out, const struct widths *widths, bool wide,
                        const char *const cells[7])
{
    strbuf_addf(out, "%*s%-*s%-*s%-*s%-*s", INDENT, "", widths->key, cells[0], SCOPE_WIDTH, cells[1],
                TYPE_WIDTH, cells[2], widths->unit, cells[3]);
    if (wide)
        strbuf_addf(out, "%-*s%-*s%-*s", HOW_WIDTH, cells[4], widths->cost, cells[5], widths->topic,
                    widths->topic ? cells[6] : "");
    else
        strbuf_addf(out, "%s\n", cells[4]);
}

static void add_source_heading(struct strbuf *out, const struct source *source, const char *reason,
                               const struct widths *widths, bool wide, size_t width)
{
    static const char *const titles[] = {"KEY", "SCOPE", "TYPE", "UNIT", "REDUCED BY", "READS", "TOPIC"};
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%s: %s", source->name, source->title);
    if (reason)
        strbuf_addf(&line, " (not available: %s)", reason);
    strbuf_addc(&line, '\n');
    wrap_lines(out, strbuf_text(&line), INDENT, width);
    add_columns(out, widths, wide, titles);
    strbuf_adds(out, wide ? "MEANING\n" : "");
    out->failed = out->failed || line.failed;
    strbuf_fini(&line);
}

void measurements_table(struct strbuf *out, const struct registry *registry,
                        const struct run_collector *sources, size_t width)
{
    struct widths widths = measure_columns(registry);
    int columns = INDENT + widths.key + SCOPE_WIDTH + TYPE_WIDTH + widths.unit + HOW_WIDTH + widths.cost;
    const bool wide = width >= (size_t)columns + MEANING_WIDTH;
    if (width < (size_t)(columns + widths.topic) + MEANING_WIDTH)
        widths.topic = 0;
    columns += widths.topic;
    const int indent = wide ? columns : NARROW_INDENT;
    const struct source *source = NULL;
    struct strbuf lines = STRBUF_INIT;
    char cost[COST_TEXT_SIZE];

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        const struct measurement *m = entry->measurement;
        const char *source_reason = sources[entry->source_index].reason;
        if (entry->source != source) {
            source = entry->source;
            strbuf_adds(out, i ? "\n" : "");
            add_source_heading(out, source, source_reason, &widths, wide, width);
        }
        const char *const cells[] = {
            m->key, scope_name(m->scope),     type_name(m->type),  unit_name(m->unit),
            how(m), cost_text(m->cost, cost), topic_name(m->topic)};
        /* Where it is narrow the meaning has lines of its own, and only those are broken. */
        strbuf_reset(&lines);
        add_columns(wide ? &lines : out, &widths, wide, cells);
        strbuf_addf(&lines, "%*s%s\n", wide ? 0 : indent, "", m->meaning);
        if (entry->reason && !source_reason)
            strbuf_addf(&lines, "%*s(not available: %s)\n", indent, "", entry->reason);
        if (!wide && m->cost)
            strbuf_addf(&lines, "%*s(reads %s)\n", indent, "", cost);
        wrap_lines(out, strbuf_text(&lines), (size_t)indent, width);
    }
    out->failed = out->failed || lines.failed;
    strbuf_fini(&lines);
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
        json_key_string(&json, "topic", topic_name(m->topic));
        json_key_string(&json, "unit", unit_name(m->unit));
        json_key_string(&json, "bound", m->bound ? bound_name(m->bound) : "exact");
        json_key_string(&json, "derive", derive_name(m->derive));
        json_key_string(&json, "collapse", collapse_name(m->collapse));
        json_key_string(&json, "reduce", reduce_name(m->reduce));
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
                    scope_name(m->scope), type_name(m->type), unit_name(m->unit),
                    m->bound ? bound_name(m->bound) : "exact", entry->source->fields[m->field], how(m));
        markdown_names(out, entry);
        strbuf_addf(out, " | %s | %s |\n", cost_text(m->cost, cost), m->meaning);
    }
}
