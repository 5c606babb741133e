/*
 * All formats walk the same pairs of a row: the value of each column, then its source, its note, and what
 * kind of bound it is.
 */
#include "view/list/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "view/list/value.h"

enum pair_kind { PAIR_ABSENT, PAIR_NUMBER, PAIR_TEXT, PAIR_BOOLEAN, PAIR_JSON };

/* One name and its value. */
struct pair {
    enum pair_kind kind;
    double number;
    const char *text;
};

enum part { PART_VALUE, PART_SOURCE, PART_NOTE, PART_BOUND, PART_COUNT };

static const char *const part_names[] = {
    [PART_VALUE] = "", [PART_SOURCE] = "_source", [PART_NOTE] = "_note", [PART_BOUND] = "_bound"};

/* peak_memory_source as a column of its own, beside peak_memory: it is told once. */
static bool is_column(const struct run_listing *listing, const char *name, enum part part)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < listing->column_count; i++) {
        const char *other = listing->columns[i].name;
        if (!listing->columns[i].hidden && strncmp(other, name, length) == 0 &&
            strcmp(other + length, part_names[part]) == 0)
            return true;
    }
    return false;
}

static bool has_part(const struct run_listing *listing, const struct listing_column *column, enum part part)
{
    if (column->hidden)
        return false;
    if (part == PART_VALUE)
        return true;
    bool any = part == PART_SOURCE ? column->method_count > 0
               : part == PART_NOTE ? column->has_notes
                                   : column->has_bounds;
    return any && !is_column(listing, column->name, part);
}

static struct pair text_pair(const char *text)
{
    return text && text[0] ? (struct pair){.kind = PAIR_TEXT, .text = text} : (struct pair){0};
}

static struct pair value_of(const struct listing_cell *cell)
{
    if (!cell->there)
        return (struct pair){0};
    switch ((enum field_kind)cell->kind) {
    case FIELD_NUMBER:
        return (struct pair){.kind = isfinite(cell->number) ? PAIR_NUMBER : PAIR_ABSENT,
                             .number = cell->number};
    case FIELD_BOOLEAN:
        return (struct pair){.kind = PAIR_BOOLEAN, .number = cell->number};
    case FIELD_TEXT:
        return (struct pair){.kind = PAIR_TEXT, .text = cell->text};
    case FIELD_JSON:
        break;
    }
    return (struct pair){.kind = PAIR_JSON, .text = cell->text};
}

/* `source` is room for the names of several. */
static struct pair part_of(const struct listing_column *column, const struct listing_row *row, size_t index,
                           enum part part, char source[LISTING_SOURCE_SIZE])
{
    const struct listing_cell *cell = &row->cells[index];

    if (part == PART_SOURCE)
        return text_pair(cell->there ? listing_cell_source(column, cell, source) : NULL);
    if (part == PART_NOTE)
        return text_pair(cell->there ? cell->note : NULL);
    if (part == PART_BOUND)
        return text_pair(cell->there ? bound_name((enum bound)cell->bound) : NULL);
    if (column->kind == COLUMN_RUNS)
        return (struct pair){.kind = PAIR_NUMBER, .number = row->runs};
    if (column->kind == COLUMN_FAILED)
        return (struct pair){.kind = PAIR_NUMBER, .number = row->failed};
    return value_of(cell);
}

static void add_value(struct strbuf *out, const struct pair *pair, enum list_style style)
{
    switch (pair->kind) {
    case PAIR_NUMBER:
        list_add_number(out, pair->number, style);
        break;
    case PAIR_BOOLEAN:
        strbuf_adds(out, pair->number != 0 ? "true" : "false");
        break;
    case PAIR_TEXT:
        list_add_text(out, pair->text, strlen(pair->text), style);
        break;
    case PAIR_JSON:
        list_add_json(out, pair->text, style);
        break;
    case PAIR_ABSENT:
        break;
    }
}

/* Names of YAML stand without quotes where they can be nothing else. */
static void add_name(struct strbuf *out, const struct strbuf *name, enum list_style style)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    static const char taken[] = " y n yes no on off true false null ~ ";
    struct strbuf word = STRBUF_INIT;

    strbuf_addf(&word, " %s ", strbuf_text(name));
    bool is_word = name->length > 0 && isalpha((unsigned char)name->data[0]) &&
                   name->data[strspn(name->data, safe)] == '\0';
    if (style == LIST_YAML && is_word && !strcasestr(taken, strbuf_text(&word)))
        strbuf_adds(out, strbuf_text(name));
    else
        list_add_text(out, strbuf_text(name), name->length, style);
    strbuf_fini_part(&word, out);
}

/* The pairs of a row as members of an object: `before` the first, `between` two. */
static void add_members(struct strbuf *out, const struct run_listing *listing, const struct listing_row *row,
                        const char *before, const char *between, enum list_style style)
{
    char source[LISTING_SOURCE_SIZE];
    struct strbuf name = STRBUF_INIT;
    bool first = true;

    for (size_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        for (enum part part = PART_VALUE; part < PART_COUNT; part++) {
            struct pair pair = {0};
            if (has_part(listing, column, part))
                pair = part_of(column, row, i, part, source);
            if (pair.kind == PAIR_ABSENT)
                continue;
            strbuf_adds(out, first ? before : between);
            first = false;
            strbuf_reset(&name);
            strbuf_addf(&name, "%s%s", column->name, part_names[part]);
            add_name(out, &name, style);
            strbuf_adds(out, ": ");
            add_value(out, &pair, style);
        }
    }
    strbuf_fini_part(&name, out);
}

void run_list_json(struct strbuf *out, const struct run_listing *listing)
{
    strbuf_addc(out, '[');
    for (size_t i = 0; i < listing->count; i++) {
        strbuf_adds(out, i > 0 ? ",\n  {" : "\n  {");
        add_members(out, listing, listing->rows[i], "\n    ", ",\n    ", LIST_JSON);
        strbuf_adds(out, "\n  }");
    }
    strbuf_adds(out, listing->count > 0 ? "\n]\n" : "]\n");
}

void run_list_jsonl(struct strbuf *out, const struct run_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        strbuf_addc(out, '{');
        add_members(out, listing, listing->rows[i], "", ", ", LIST_JSON);
        strbuf_adds(out, "}\n");
    }
}

void run_list_yaml(struct strbuf *out, const struct run_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        size_t before = out->length;
        strbuf_adds(out, "- ");
        add_members(out, listing, listing->rows[i], "", "\n  ", LIST_YAML);
        strbuf_adds(out, out->length == before + 2 ? "{}\n" : "\n");
    }
    if (listing->count == 0)
        strbuf_adds(out, "[]\n");
}

static void add_csv_value(struct strbuf *out, const struct pair *pair, struct strbuf *scratch)
{
    if (pair->kind == PAIR_TEXT) {
        text_csv(out, pair->text);
    } else if (pair->kind == PAIR_JSON) {
        strbuf_reset(scratch);
        list_add_json(scratch, pair->text, LIST_JSON);
        text_csv(out, strbuf_text(scratch));
    } else {
        add_value(out, pair, LIST_JSON);
    }
}

/* A row, or with no row the header. */
static void add_csv_line(struct strbuf *out, const struct run_listing *listing, const struct listing_row *row,
                         struct strbuf *scratch)
{
    char source[LISTING_SOURCE_SIZE];
    bool first = true;

    for (size_t i = 0; i < listing->column_count; i++) {
        const struct listing_column *column = &listing->columns[i];
        for (enum part part = PART_VALUE; part < PART_COUNT; part++) {
            if (!has_part(listing, column, part))
                continue;
            if (!first)
                strbuf_addc(out, ',');
            first = false;
            if (row) {
                struct pair pair = part_of(column, row, i, part, source);
                add_csv_value(out, &pair, scratch);
                continue;
            }
            strbuf_reset(scratch);
            strbuf_addf(scratch, "%s%s", column->name, part_names[part]);
            text_csv(out, strbuf_text(scratch));
        }
    }
    strbuf_addc(out, '\n');
}

void run_list_csv(struct strbuf *out, const struct run_listing *listing)
{
    struct strbuf scratch = STRBUF_INIT;

    add_csv_line(out, listing, NULL, &scratch);
    for (size_t i = 0; i < listing->count; i++)
        add_csv_line(out, listing, listing->rows[i], &scratch);
    strbuf_fini_part(&scratch, out);
}
