/*
 * Every cell is made twice: to measure the columns, and to print. That is cheaper than to keep the texts of
 * thousands of runs.
 *
 * Where the screen is too narrow, columns that can be missed are left out (and named below the table), then
 * texts are cut, and at last the rows are broken between two columns: never within a word.
 */
#include "view/list/table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/colors.h"
#include "view/command_line.h"
#include "view/list/cell.h"
#include "view/list/legend.h"
#include "view/text_width.h"

#define GAP               2  /* blanks between columns */
#define INDENT            2  /* of a row's further lines */
#define NARROWEST         12 /* what a text column is cut to, at most */
#define COMMAND_WANTS     24 /* of a command; less only if nothing else is left to give */
#define COMMAND_GIVES     6  /* of these for the prefix, which says more */
#define COMMAND_NARROWEST 16
#define PREFIX_FROM       110 /* columns of a screen that has room for the prefixes of runs */

struct layout {
    bool left_out;
    bool right;
    bool flexible;     /* texts, which may be cut */
    bool same;         /* all rows have the same */
    size_t value, tag; /* widths; with a tag there is a blank between them */
    size_t wants;      /* of a flexible one's value, before others are left out for it */
    size_t narrowest;  /* of a flexible one's value */
    char title[64];
};

struct table {
    const struct run_listing *listing;
    struct table_cell cell;
    struct layout *layouts; /* one per column */
    size_t width;           /* 0: any */
    bool broken;            /* a row takes several lines */
    bool colors;
    bool *end_matters; /* one per row: of its command; NULL: of none */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_shown(const struct table *table, size_t index)
{
    return !table->listing->columns[index].hidden && !table->layouts[index].left_out;
}

static bool is_command(const struct listing_column *column)
{
    return column->kind == COLUMN_FIELD && strcmp(column->field, "command") == 0;
}

static size_t column_width(const struct layout *layout)
{
    return layout->value + (layout->tag ? 1 + layout->tag : 0);
}

/* -- Measuring -- */

static void make_title(const struct table *table, size_t index)
{
    const struct listing_column *column = &table->listing->columns[index];
    char *title = table->layouts[index].title;
    const size_t size = sizeof(table->layouts[index].title);

    if (column->kind == COLUMN_START && table->cell.same_year)
        (void)snprintf(title, size, "%s %d", column->title, 1900 + table->cell.year);
    else
        (void)snprintf(title, size, "%s", column->title ? column->title : column->name);
    /* A name that came from a command line, and that may have been cut within a character. */
    for (char *c = title; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F)
            *c = '?';
}

static uint64_t hash(const char *text, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return value;
}

static void measure_column(struct table *table, size_t index)
{
    const struct listing_column *column = &table->listing->columns[index];
    struct layout *layout = &table->layouts[index];
    bool texts = false;
    uint64_t first = 0;

    make_title(table, index);
    layout->same = true;
    for (size_t i = 0; i < table->listing->count; i++) {
        const struct listing_row *row = table->listing->rows[i];
        const struct listing_cell *cell = &row->cells[index];
        const struct strbuf *value = &table->cell.value;
        table_cell_make(&table->cell, row, index);
        layout->value = larger(layout->value, text_width(strbuf_text(value), value->length));
        layout->tag = larger(layout->tag, table->cell.tag.length);
        texts = texts || (cell->there && cell->kind != FIELD_NUMBER);
        uint64_t now = hash(strbuf_text(value), value->length);
        first = i == 0 ? now : first;
        layout->same = layout->same && now == first;
    }
    layout->right = column->kind != COLUMN_START && column->kind != COLUMN_PREFIX &&
                    (column->kind != COLUMN_FIELD || !texts);
    layout->flexible = column->kind == COLUMN_FIELD && !layout->right;
    size_t title = larger(strlen(layout->title), column->over ? strlen(column->over) : 0);
    if (column_width(layout) < title)
        layout->value += title - column_width(layout);
    layout->narrowest = larger(title, is_command(column) ? COMMAND_NARROWEST : NARROWEST);
    layout->wants = larger(layout->narrowest, is_command(column) ? COMMAND_WANTS : 0);
}

/* -- Fitting -- */

/* How wide a row is if every text has only what it wants, less what it would give. */
static size_t wanted_width(const struct table *table, size_t gives)
{
    size_t total = 0;

    for (size_t i = 0; i < table->listing->column_count; i++) {
        struct layout layout = table->layouts[i];
        if (!is_shown(table, i))
            continue;
        if (layout.flexible)
            layout.value = smaller(layout.value, larger(layout.wants - gives, layout.narrowest));
        total += column_width(&layout) + (total ? GAP : 0);
    }
    return total;
}

static void leave_out(struct table *table)
{
    const struct run_listing *listing = table->listing;
    unsigned last = 0;

    for (size_t i = 0; i < listing->column_count; i++) {
        last = listing->columns[i].drop > last ? listing->columns[i].drop : last;
        if (listing->columns[i].kind == COLUMN_PREFIX && table->width < PREFIX_FROM)
            table->layouts[i].left_out = true;
    }
    for (unsigned drop = 1; drop <= last; drop++)
        for (size_t i = 0; i < listing->column_count; i++) {
            const struct listing_column *column = &listing->columns[i];
            size_t gives = column->kind == COLUMN_PREFIX ? COMMAND_GIVES : 0;
            if (column->drop == drop && wanted_width(table, gives) > table->width &&
                (table->layouts[i].same || !column->drop_if_same))
                table->layouts[i].left_out = true;
        }
}

/* Takes from the widest of the texts until the line fits. */
static void shrink(struct table *table)
{
    for (;;) {
        struct layout *widest = NULL;
        size_t total = 0;
        for (size_t i = 0; i < table->listing->column_count; i++) {
            struct layout *layout = &table->layouts[i];
            if (!is_shown(table, i))
                continue;
            total += column_width(layout) + (total ? GAP : 0);
            if (layout->flexible && layout->value > layout->narrowest &&
                (!widest || layout->value > widest->value))
                widest = layout;
        }
        table->broken = total > table->width;
        if (!table->broken || !widest)
            return;
        size_t excess = total - table->width, spare = widest->value - widest->narrowest;
        /* In steps, so that two wide ones share what is missing. */
        size_t step = excess > 8 ? (excess + 7) / 8 : 1;
        widest->value -= step < spare ? step : spare;
    }
}

/* A row of several lines: each text may have one for itself. */
static void spread(struct table *table, const size_t *natural)
{
    for (size_t i = 0; i < table->listing->column_count; i++)
        if (table->layouts[i].flexible)
            table->layouts[i].value =
                smaller(natural[i], table->width > INDENT + 1 ? table->width - INDENT : 1);
}

struct seen {
    uint64_t begin, whole;
    size_t row;
};

static int by_begin(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->whole > b->whole) - (a->whole < b->whole);
}

/* The end of a command matters where others would look the same without it. */
static void look_at_ends(struct table *table, size_t index)
{
    const struct run_listing *listing = table->listing;
    struct seen *seen = calloc(listing->count + 1, sizeof(*seen));
    struct strbuf fitted = STRBUF_INIT;

    table->end_matters = calloc(listing->count + 1, sizeof(*table->end_matters));
    for (size_t i = 0; seen && table->end_matters && i < listing->count; i++) {
        const struct strbuf *value = &table->cell.value;
        table_cell_make(&table->cell, listing->rows[i], index);
        strbuf_reset(&fitted);
        (void)command_fit(&fitted, strbuf_text(value), value->length, table->layouts[index].value, false);
        seen[i] = (struct seen){hash(strbuf_text(&fitted), fitted.length),
                                hash(strbuf_text(value), value->length), i};
    }
    if (seen && table->end_matters) {
        qsort(seen, listing->count, sizeof(*seen), by_begin);
        for (size_t i = 1; i < listing->count; i++)
            if (seen[i].begin == seen[i - 1].begin && seen[i].whole != seen[i - 1].whole)
                table->end_matters[seen[i].row] = table->end_matters[seen[i - 1].row] = true;
        /* Those that are the same command look the same. */
        for (size_t i = 1; i < listing->count; i++)
            if (seen[i].begin == seen[i - 1].begin && table->end_matters[seen[i - 1].row])
                table->end_matters[seen[i].row] = true;
        for (size_t i = listing->count; i-- > 1;)
            if (seen[i].begin == seen[i - 1].begin && table->end_matters[seen[i].row])
                table->end_matters[seen[i - 1].row] = true;
    }
    strbuf_fini(&fitted);
    free(seen);
}

static int lay_out(struct table *table)
{
    const struct run_listing *listing = table->listing;
    size_t *natural = calloc(listing->column_count + 1, sizeof(*natural));

    table->layouts = calloc(listing->column_count + 1, sizeof(*table->layouts));
    if (!table->layouts || !natural) {
        free(natural);
        return -1;
    }
    for (size_t i = 0; i < listing->column_count; i++) {
        measure_column(table, i);
        natural[i] = table->layouts[i].value;
    }
    if (table->width > 0) {
        leave_out(table);
        shrink(table);
        if (table->broken)
            spread(table, natural);
    }
    for (size_t i = 0; i < listing->column_count; i++)
        if (is_shown(table, i) && is_command(&listing->columns[i]) && !table->end_matters &&
            table->layouts[i].value < natural[i])
            look_at_ends(table, i);
    free(natural);
    return 0;
}

/* -- Writing -- */

static void add_blanks(struct strbuf *out, size_t count)
{
    while (count-- > 0)
        strbuf_addc(out, ' ');
}

static void end_line(struct strbuf *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
    strbuf_addc(out, '\n');
}

/* What stands between a column and the one before it; *used is how much of the line is taken. */
static void begin_column(struct strbuf *out, const struct table *table, size_t index, size_t *used)
{
    size_t width = column_width(&table->layouts[index]);

    if (*used == 0) {
        *used = width;
    } else if (table->broken && *used + GAP + width > table->width) {
        end_line(out);
        add_blanks(out, INDENT);
        *used = INDENT + width;
    } else {
        add_blanks(out, GAP);
        *used += GAP + width;
    }
}

static void add_title(struct strbuf *out, const struct layout *layout, const char *text, bool colors)
{
    /* Above the numbers, not above their letters. */
    size_t length = strlen(text), room = layout->right ? layout->value : column_width(layout);
    size_t before = layout->right && room > length ? room - length : 0;

    add_blanks(out, before);
    if (length > 0)
        strbuf_addf(out, "%s%s%s", colors ? COLOR_BOLD : "", text, colors ? COLOR_END : "");
    add_blanks(out, column_width(layout) > before + length ? column_width(layout) - before - length : 0);
}

/* In one line; a broken one has the words that belong above each title before it. */
static void add_heading(struct strbuf *out, const struct table *table, bool over)
{
    size_t used = 0;

    for (size_t i = 0; i < table->listing->column_count; i++) {
        const struct listing_column *column = &table->listing->columns[i];
        if (!is_shown(table, i))
            continue;
        begin_column(out, table, i, &used);
        add_title(out, &table->layouts[i],
                  over ? (column->over ? column->over : "") : table->layouts[i].title, table->colors);
    }
    end_line(out);
}

static void add_cell(struct strbuf *out, struct table *table, size_t row, size_t index)
{
    const struct layout *layout = &table->layouts[index];
    struct table_cell *cell = &table->cell;
    struct strbuf fitted = STRBUF_INIT;
    size_t taken;

    table_cell_make(cell, table->listing->rows[row], index);
    if (is_command(&table->listing->columns[index]))
        taken = command_fit(&fitted, strbuf_text(&cell->value), cell->value.length, layout->value,
                            table->end_matters && table->end_matters[row]);
    else
        taken = text_fit(&fitted, strbuf_text(&cell->value), cell->value.length, layout->value);
    if (layout->right)
        add_blanks(out, layout->value - taken);
    if (table->colors && cell->color)
        strbuf_adds(out, cell->color);
    strbuf_adds(out, strbuf_text(&fitted));
    if (table->colors && cell->color)
        strbuf_adds(out, COLOR_END);
    if (!layout->right)
        add_blanks(out, layout->value - taken);
    if (layout->tag) {
        bool dim = table->colors && cell->tag.length > 0;
        strbuf_addf(out, " %s%s%s", dim ? COLOR_DIM : "", strbuf_text(&cell->tag), dim ? COLOR_END : "");
        add_blanks(out, layout->tag - cell->tag.length);
    }
    out->failed = out->failed || fitted.failed;
    strbuf_fini(&fitted);
}

static void add_row(struct strbuf *out, struct table *table, size_t row)
{
    size_t used = 0;

    for (size_t i = 0; i < table->listing->column_count; i++) {
        if (!is_shown(table, i))
            continue;
        begin_column(out, table, i, &used);
        add_cell(out, table, row, i);
    }
    end_line(out);
}

void run_table_write(struct strbuf *out, const struct run_listing *listing, size_t width, bool colors)
{
    struct table table = {.listing = listing, .width = width, .colors = colors};
    bool *shown = calloc(listing->column_count + 1, sizeof(*shown));
    bool over = false;

    table_cell_init(&table.cell, listing);
    if (!shown || lay_out(&table) < 0) {
        out->failed = true;
        goto out;
    }
    for (size_t i = 0; i < listing->column_count; i++) {
        shown[i] = is_shown(&table, i);
        over = over || (listing->columns[i].over && shown[i]);
    }
    if (over)
        add_heading(out, &table, true);
    add_heading(out, &table, false);
    for (size_t i = 0; i < listing->count; i++)
        add_row(out, &table, i);
    run_table_legend(out, listing,
                     &(struct table_legend){
                         .counted = table.cell.counted, .shown = shown, .width = width, .colors = colors});
    out->failed = out->failed || table.cell.value.failed || table.cell.tag.failed;
out:
    table_cell_fini(&table.cell);
    free(table.end_matters);
    free(table.layouts);
    free(shown);
}
