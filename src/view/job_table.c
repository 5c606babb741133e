/*
 * A table of jobs or of sheets. What is not known is a dash; ≥ stands before a number that is a lower bound.
 * How memory was measured is told below, once for each method that occurs.
 */
#include "view/job_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "view/job_part.h"
#include "view/table.h"

#define NAME_NARROWEST 8
#define DAY_SECONDS    86400.0

/* What needs an explanation below the table. */
struct seen {
    enum job_memory methods[JOB_MEMORY_COUNT]; /* in the order of their letters */
    size_t method_count;
    bool low_spawned, low_cpu;
};

/* Today's by the time, older ones by the day as well. */
static const char *started_text(double started, double now, char out[32])
{
    (void)clock_local_text(started, now - started < DAY_SECONDS ? "%H:%M:%S" : "%m-%d %H:%M", out, 32);
    return out[0] ? out : "-";
}

/* NAN is not known. Returns whether it is shown as a lower bound. */
static bool add_number(struct table *table, enum unit unit, double value, bool is_low, const char *tag)
{
    char amount[UNIT_TEXT_SIZE], text[UNIT_TEXT_SIZE + 4];

    is_low = is_low && !isnan(value);
    (void)snprintf(text, sizeof(text), "%s%s", is_low ? "≥" : "",
                   isnan(value) ? "-" : unit_human(unit, value, amount));
    table_add_cell(table, text, isnan(value) ? "" : tag, NULL);
    return is_low;
}

static char letter_of(struct seen *seen, enum job_memory method)
{
    size_t at = 0;

    while (at < seen->method_count && seen->methods[at] != method)
        at++;
    if (at == seen->method_count)
        seen->methods[seen->method_count++] = method;
    return (char)('a' + (int)at);
}

static void add_part(struct table *table, const struct job_part *part, double now, struct seen *seen)
{
    char started[32], letter[2] = "";
    struct strbuf status = STRBUF_INIT;
    enum job_memory method = JOB_MEMORY_COUNT;
    const double *numbers = part->usage.numbers;
    double memory = NAN, spawned = usage_has(&part->usage, USAGE_SPAWNED) ? numbers[USAGE_SPAWNED] : NAN;

    if (job_memory(&part->usage, &method)) {
        memory = numbers[job_memory_values[method]];
        letter[0] = letter_of(seen, method);
    }
    table_add(table, strbuf_text(&part->name));
    job_part_status(part, &status);
    table_add(table, status.length > 0 ? strbuf_text(&status) : "-");
    strbuf_fini(&status);
    table_add(table, started_text(part->started, now, started));
    (void)add_number(table, UNIT_SECONDS, job_part_wall(part, now), false, "");
    seen->low_cpu |= add_number(table, UNIT_SECONDS, part->cpu_seconds, part->cpu_is_low, "");
    (void)add_number(table, UNIT_BYTES, memory, method == JOB_MEMORY_HWM, letter);
    seen->low_spawned |= add_number(table, UNIT_COUNT, spawned, numbers[USAGE_SPAWNED_IS_EXACT] == 0, "");
}

static void add_legend(struct strbuf *out, const struct seen *seen)
{
    if (seen->low_cpu)
        strbuf_adds(out, "CPU ≥: at least so much: not every process was followed to its end\n");
    for (size_t i = 0; i < seen->method_count; i++)
        strbuf_addf(out, "MEMORY %c: %s\n", 'a' + (int)i, job_memory_meaning(seen->methods[i]));
    if (seen->low_spawned)
        strbuf_adds(out, "SPAWNED ≥: as seen in snapshots; shorter lives are missed\n");
}

size_t job_rows_write(struct strbuf *out, const char *title, struct json_reader *reader, double now,
                      size_t width)
{
    struct table_column columns[] = {
        {.title = title, .fit = TABLE_CUT, .least = NAME_NARROWEST},
        {.title = "STATUS"},
        {.title = "STARTED", .right = true},
        {.title = "WALL", .right = true},
        {.title = "CPU", .right = true},
        {.title = "MEMORY", .right = true},
        {.title = "SPAWNED", .right = true},
    };
    struct table table = {.columns = columns, .column_count = ARRAY_LENGTH(columns)};
    struct seen seen = {0};
    struct job_part part;
    size_t count = 0;

    table_titles(&table);
    if (!json_enter_array(reader))
        (void)json_skip(reader);
    else
        for (; json_next_item(reader); count++) {
            job_part_read(reader, &part);
            add_part(&table, &part, now, &seen);
            job_part_fini(&part);
        }
    if (count > 0) {
        table_write(&table, out, width, false);
        add_legend(out, &seen);
    }
    table_fini(&table);
    return count;
}

void job_table_write(struct strbuf *out, const char *json, size_t length, double now, size_t width)
{
    struct json_reader reader;

    json_reader_init(&reader, json, length);
    size_t count = job_rows_write(out, "JOB", &reader, now, width);
    json_reader_fini(&reader);
    if (count == 0)
        strbuf_adds(out, "no jobs; 'metron job start NAME' begins one\n");
}
