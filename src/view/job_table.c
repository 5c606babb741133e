/*
 * A table of jobs or of sheets. All rows are made first, then the columns as wide as they need to be; on a
 * screen the name gives way, with … where it was cut. What is not known is a dash; ≥ stands before a number
 * that is a lower bound. How memory was measured is told below, once for each method that occurs.
 */
#include "view/job_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "view/job_part.h"
#include "view/job_rows.h"
#include "view/text_width.h"

#define NAME_NARROWEST 8
#define MEBIBYTE       (1024.0 * 1024)
#define DAY_SECONDS    86400.0

enum column { NAME, STATUS, STARTED, WALL, CPU, MEMORY, SPAWNED, COLUMN_COUNT };

struct row {
    char *cells[COLUMN_COUNT]; /* owned */
};

struct table {
    struct row *rows;
    size_t count, capacity;
    size_t widths[COLUMN_COUNT];
    bool methods[JOB_MEMORY_COUNT], bounds, low_cpu;
    bool failed; /* no memory */
};

static void set_cell(struct table *table, struct row *row, enum column column, const char *text)
{
    size_t width = text_width(text, strlen(text));

    row->cells[column] = strdup(text);
    table->failed = table->failed || !row->cells[column];
    if (width > table->widths[column])
        table->widths[column] = width;
}

static struct row *add_row(struct table *table)
{
    if (ARRAY_RESERVE(table->rows, table->capacity, table->count + 1) < 0) {
        table->failed = true;
        return NULL;
    }
    table->rows[table->count] = (struct row){0};
    return &table->rows[table->count++];
}

/* Today's by the time, older ones by the day as well. */
static const char *started_text(double started, double now, char out[32])
{
    struct tm broken;

    if (!clock_local(started, &broken))
        return "-";
    (void)strftime(out, 32, now - started < DAY_SECONDS ? "%H:%M:%S" : "%m-%d %H:%M", &broken);
    return out;
}

static void set_number(struct table *table, struct row *row, enum column column, enum unit unit, double value)
{
    char text[UNIT_TEXT_SIZE];

    set_cell(table, row, column, value < 0 ? "-" : unit_human(unit, value, text));
}

static void set_cpu(struct table *table, struct row *row, const struct job_part *part)
{
    char amount[UNIT_TEXT_SIZE], text[UNIT_TEXT_SIZE + 4];
    bool low = part->cpu_is_low && part->cpu_seconds >= 0;

    (void)snprintf(text, sizeof(text), "%s%s", low ? "≥" : "",
                   part->cpu_seconds < 0 ? "-" : unit_human(UNIT_SECONDS, part->cpu_seconds, amount));
    table->low_cpu = table->low_cpu || low;
    set_cell(table, row, CPU, text);
}

static void set_memory(struct table *table, struct row *row, const struct job_part *part)
{
    char amount[UNIT_TEXT_SIZE], text[UNIT_TEXT_SIZE + 8];
    enum job_memory method;
    double memory = job_part_memory(part, &method);

    if (memory < 0) {
        set_cell(table, row, MEMORY, "-  ");
        return;
    }
    table->methods[method] = true;
    (void)snprintf(text, sizeof(text), "%s%s %c", method == JOB_MEMORY_HWM ? "≥" : "",
                   unit_human(UNIT_BYTES, memory * MEBIBYTE, amount), 'a' + (int)method);
    set_cell(table, row, MEMORY, text);
}

static void set_spawned(struct table *table, struct row *row, const struct job_part *part)
{
    char amount[UNIT_TEXT_SIZE], text[UNIT_TEXT_SIZE + 4];
    bool bound = !part->exact && part->spawned >= 0;

    (void)snprintf(text, sizeof(text), "%s%s", bound ? "≥" : "",
                   part->spawned < 0 ? "-" : unit_human(UNIT_COUNT, part->spawned, amount));
    table->bounds = table->bounds || bound;
    set_cell(table, row, SPAWNED, text);
}

static void add_part(struct table *table, const struct job_part *part, double now)
{
    struct row *row = add_row(table);
    char started[32];

    if (!row)
        return;
    set_cell(table, row, NAME, strbuf_text(&part->name));
    set_cell(table, row, STATUS, part->status.length > 0 ? strbuf_text(&part->status) : "-");
    set_cell(table, row, STARTED, started_text(part->started, now, started));
    set_number(table, row, WALL, UNIT_SECONDS, job_part_wall(part, now));
    set_cpu(table, row, part);
    set_memory(table, row, part);
    set_spawned(table, row, part);
}

static void add_head(struct table *table, const char *name)
{
    static const char *const titles[COLUMN_COUNT] = {
        [STATUS] = "STATUS", [STARTED] = "STARTED", [WALL] = "WALL",
        [CPU] = "CPU",       [MEMORY] = "MEMORY  ", [SPAWNED] = "SPAWNED"};
    struct row *row = add_row(table);

    for (int i = 0; row && i < COLUMN_COUNT; i++)
        set_cell(table, row, (enum column)i, i == NAME ? name : titles[i]);
}

static void add_blanks(struct strbuf *out, size_t count)
{
    while (count-- > 0)
        strbuf_addc(out, ' ');
}

static void write_row(struct strbuf *out, const struct table *table, const struct row *row)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *text = row->cells[i] ? row->cells[i] : "";
        size_t length = strlen(text), wide = table->widths[i], width = text_width(text, length);
        if (i > STATUS)
            add_blanks(out, width < wide ? wide - width : 0);
        /* What tells names apart that begin alike mostly stands at their end. */
        width = text_fit_tail(out, text, length, wide, wide / 3);
        if (i <= STATUS)
            add_blanks(out, width < wide ? wide - width : 0);
        strbuf_adds(out, i + 1 < COLUMN_COUNT ? "  " : "");
    }
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    strbuf_addc(out, '\n');
}

static void write_table(struct strbuf *out, struct table *table, size_t width)
{
    size_t others = 0;

    for (int i = STATUS; i < COLUMN_COUNT; i++)
        others += table->widths[i] + 2;
    size_t room = width > others + NAME_NARROWEST ? width - others : NAME_NARROWEST;
    if (width && table->widths[NAME] > room)
        table->widths[NAME] = room;
    for (size_t i = 0; i < table->count; i++)
        write_row(out, table, &table->rows[i]);
    if (table->low_cpu)
        strbuf_adds(out, "CPU ≥: processes exited while no daemon ran; part of their CPU may be missing\n");
    for (int i = 0; i < JOB_MEMORY_COUNT; i++)
        if (table->methods[i])
            strbuf_addf(out, "MEMORY %c: %s\n", 'a' + i, job_memory_meaning((enum job_memory)i));
    if (table->bounds)
        strbuf_adds(out, "SPAWNED ≥: as seen in snapshots; shorter lives are missed\n");
}

static void release(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        for (int j = 0; j < COLUMN_COUNT; j++)
            free(table->rows[i].cells[j]);
    free(table->rows);
}

size_t job_rows_write(struct strbuf *out, const char *title, struct json_reader *reader, double now,
                      size_t width)
{
    struct table table = {0};
    struct job_part part;
    size_t count = 0;

    add_head(&table, title);
    if (!json_enter_array(reader))
        (void)json_skip(reader);
    else
        while (json_next_item(reader)) {
            job_part_read(reader, &part);
            add_part(&table, &part, now);
            job_part_fini(&part);
            count++;
        }
    if (table.failed)
        strbuf_adds(out, "no memory for this table\n");
    else if (count > 0)
        write_table(out, &table, width);
    release(&table);
    return count;
}

void job_table_write(struct strbuf *out, const char *json, size_t length, double now, size_t width)
{
    struct json_reader reader;
    struct json_text key;
    size_t count = 0;

    json_reader_init(&reader, json, length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &key)) {
            if (json_text_is(&key, "jobs"))
                count += job_rows_write(out, "JOB", &reader, now, width);
            else
                (void)json_skip(&reader);
        }
    json_reader_fini(&reader);
    if (count == 0)
        strbuf_adds(out, "no jobs; 'metron job start NAME' begins one\n");
}
