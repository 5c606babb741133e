#include "view/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/colors.h"
#include "view/command_line.h"
#include "view/text_width.h"
#include "view/wrap.h"

#define BROKEN_INDENT 2 /* of a row's further lines */

struct table_cell {
    size_t at; /* in `texts`; the tag follows the text; both end with NUL */
    uint32_t length, tag_length;
    const char *color;
    bool end_matters; /* of a command: others begin alike */
};

/* What stands before a row and is none. */
struct table_line {
    size_t row;
    bool is_titles;
    size_t at, indent;
};

struct writing {
    struct table *table;
    struct strbuf *out;
    size_t width;
    bool broken; /* a row takes several lines */
    bool colors;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* -- Putting in -- */

void table_add_cell(struct table *table, const char *text, const char *tag, const char *color)
{
    struct table_cell cell = {.at = table->texts.length,
                              .length = (uint32_t)strlen(text),
                              .tag_length = (uint32_t)strlen(tag),
                              .color = color};

    if (ARRAY_RESERVE(table->cells, table->cell_capacity, table->cell_count + 1) < 0) {
        table->texts.failed = true;
        return;
    }
    strbuf_add(&table->texts, text, cell.length + 1);
    strbuf_add(&table->texts, tag, cell.tag_length + 1);
    table->cells[table->cell_count++] = cell;
}

void table_add(struct table *table, const char *text)
{
    table_add_cell(table, text, "", NULL);
}

static void add_line(struct table *table, struct table_line line)
{
    line.row = table->cell_count / table->column_count;
    if (ARRAY_RESERVE(table->lines, table->line_capacity, table->line_count + 1) < 0)
        table->texts.failed = true;
    else
        table->lines[table->line_count++] = line;
}

void table_titles(struct table *table)
{
    add_line(table, (struct table_line){.is_titles = true});
}

void table_text(struct table *table, const char *text, size_t indent)
{
    add_line(table, (struct table_line){.at = table->texts.length, .indent = indent});
    strbuf_add(&table->texts, text, strlen(text) + 1);
}

void table_fini(struct table *table)
{
    free(table->cells);
    free(table->lines);
    strbuf_fini(&table->texts);
}

/* -- Measuring -- */

static struct table_cell *cell_of(const struct table *table, size_t row, size_t column)
{
    return &table->cells[row * table->column_count + column];
}

static const char *text_of(const struct table *table, const struct table_cell *cell)
{
    return strbuf_text(&table->texts) + cell->at;
}

static size_t row_count(const struct table *table)
{
    return table->cell_count / table->column_count;
}

static size_t title_width(const char *title)
{
    return title ? text_width(title, strlen(title)) : 0;
}

static size_t column_width(const struct table_column *column)
{
    return column->width + (column->tag ? 1 + column->tag : 0);
}

static void measure(const struct table *table, size_t index)
{
    struct table_column *column = &table->columns[index];
    bool same = true;

    column->width = column->tag = 0;
    for (size_t i = 0; i < row_count(table); i++) {
        const struct table_cell *cell = cell_of(table, i, index), *first = cell_of(table, 0, index);
        column->width = larger(column->width, text_width(text_of(table, cell), cell->length));
        column->tag = larger(column->tag, cell->tag_length);
        same = same && cell->length == first->length &&
               memcmp(text_of(table, cell), text_of(table, first), cell->length) == 0;
    }
    size_t title = larger(title_width(column->title), title_width(column->over));
    if (column_width(column) < title)
        column->width += title - column_width(column);
    column->natural = column->width;
    column->least = larger(column->least, title);
    column->wants = larger(column->wants, column->least);
    if (column->drop_if_same && !same)
        column->drop = column->drop_else;
}

/* -- Fitting -- */

/* How wide a row is if every text has only what it wants, less what it would give. */
static size_t wanted_width(const struct table *table, size_t gives)
{
    size_t total = table->indent;

    for (size_t i = 0; i < table->column_count; i++) {
        struct table_column column = table->columns[i];
        if (column.left_out)
            continue;
        if (column.fit != TABLE_WHOLE)
            column.width = smaller(column.width, larger(column.wants - gives, column.least));
        total += column_width(&column) + (total > table->indent ? TABLE_GAP : 0);
    }
    return total;
}

static void leave_out(const struct table *table, size_t width)
{
    unsigned last = 0;

    for (size_t i = 0; i < table->column_count; i++)
        last = table->columns[i].drop > last ? table->columns[i].drop : last;
    for (unsigned drop = 1; drop <= last; drop++) {
        const size_t full = wanted_width(table, 0);
        for (size_t i = 0; i < table->column_count; i++) {
            struct table_column *column = &table->columns[i];
            if (column->drop == drop &&
                (column->texts_give ? wanted_width(table, column->texts_give) : full) > width)
                column->left_out = true;
        }
    }
}

/* Takes from the widest of the texts until the line fits. */
static void shrink(struct writing *writing)
{
    const struct table *table = writing->table;

    for (;;) {
        struct table_column *widest = NULL;
        size_t total = table->indent;
        for (size_t i = 0; i < table->column_count; i++) {
            struct table_column *column = &table->columns[i];
            if (column->left_out)
                continue;
            total += column_width(column) + (total > table->indent ? TABLE_GAP : 0);
            if (column->fit != TABLE_WHOLE && column->width > column->least &&
                (!widest || column->width > widest->width))
                widest = column;
        }
        writing->broken = total > writing->width;
        if (!writing->broken || !widest)
            return;
        size_t excess = total - writing->width, spare = widest->width - widest->least;
        /* In steps, so that two wide ones share what is missing. */
        size_t step = excess > 8 ? (excess + 7) / 8 : 1;
        widest->width -= smaller(step, spare);
    }
}

/* A row of several lines: each text may have one for itself. */
static void spread(const struct writing *writing)
{
    for (size_t i = 0; i < writing->table->column_count; i++) {
        struct table_column *column = &writing->table->columns[i];
        if (column->fit != TABLE_WHOLE)
            column->width = smaller(column->natural,
                                    writing->width > BROKEN_INDENT + 1 ? writing->width - BROKEN_INDENT : 1);
    }
}

/* -- Commands -- */

struct seen {
    uint64_t begin, whole;
    size_t row;
};

static uint64_t hash(const char *text, size_t length)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        value = (value ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return value;
}

static int by_begin(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->whole > b->whole) - (a->whole < b->whole);
}

/* The end of a command matters where others would look the same without it. */
static void find_ends_that_matter(struct table *table, size_t index)
{
    const size_t count = row_count(table);
    struct seen *seen = calloc(count + 1, sizeof(*seen));
    struct strbuf fitted = STRBUF_INIT;

    if (!seen) {
        table->texts.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct table_cell *cell = cell_of(table, i, index);
        const char *text = text_of(table, cell);
        strbuf_reset(&fitted);
        (void)command_fit(&fitted, text, cell->length, table->columns[index].width, false);
        seen[i] = (struct seen){hash(strbuf_text(&fitted), fitted.length), hash(text, cell->length), i};
    }
    qsort(seen, count, sizeof(*seen), by_begin);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && seen[end].begin == seen[i].begin;)
            end++;
        for (size_t j = i; j < end; j++)
            cell_of(table, seen[j].row, index)->end_matters = seen[i].whole != seen[end - 1].whole;
    }
    strbuf_fini_part(&fitted, &table->texts);
    free(seen);
}

static void lay_out(struct writing *writing)
{
    struct table *table = writing->table;

    for (size_t i = 0; i < table->column_count; i++)
        measure(table, i);
    if (writing->width > 0) {
        leave_out(table, writing->width);
        shrink(writing);
        if (writing->broken)
            spread(writing);
    }
    for (size_t i = 0; i < table->column_count; i++)
        if (!table->columns[i].left_out && table->columns[i].fit == TABLE_COMMAND &&
            table->columns[i].width < table->columns[i].natural)
            find_ends_that_matter(table, i);
}

/* -- Writing -- */

static void add_blanks(struct strbuf *out, size_t count)
{
    while (count-- > 0)
        strbuf_addc(out, ' ');
}

/* Nothing stands at the end of a line that cannot be seen. */
static void trim(struct strbuf *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
}

static void end_line(struct strbuf *out)
{
    trim(out);
    strbuf_addc(out, '\n');
}

/* What stands between a column and the one before it; *used is how much of the line is taken. */
static void begin_column(const struct writing *writing, const struct table_column *column, size_t *used)
{
    size_t width = column_width(column);

    if (*used == 0) {
        add_blanks(writing->out, writing->table->indent);
        *used = writing->table->indent + width;
    } else if (writing->broken && *used + TABLE_GAP + width > writing->width) {
        end_line(writing->out);
        add_blanks(writing->out, BROKEN_INDENT);
        *used = BROKEN_INDENT + width;
    } else {
        add_blanks(writing->out, TABLE_GAP);
        *used += TABLE_GAP + width;
    }
}

static void add_title(const struct writing *writing, const struct table_column *column, const char *title,
                      const char *color)
{
    /* Above the numbers, not above their letters. */
    size_t length = title_width(title), room = column->right ? column->width : column_width(column);
    size_t before = column->right && room > length ? room - length : 0;

    add_blanks(writing->out, before);
    if (length > 0)
        strbuf_addf(writing->out, "%s%s%s", color ? color : "", title, color ? COLOR_END : "");
    add_blanks(writing->out,
               column_width(column) > before + length ? column_width(column) - before - length : 0);
}

static void write_titles(const struct writing *writing, bool over)
{
    const struct table *table = writing->table;
    const char *color = writing->colors ? table->title_color : NULL;
    const char *span = table->colors_gaps ? color : NULL; /* not begun yet */
    size_t used = 0;

    for (size_t i = 0; i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        if (column->left_out)
            continue;
        if (span && column->title) {
            strbuf_adds(writing->out, span);
            span = NULL;
        }
        begin_column(writing, column, &used);
        add_title(writing, column, over ? column->over : column->title, table->colors_gaps ? NULL : color);
    }
    trim(writing->out);
    strbuf_adds(writing->out, table->colors_gaps && color ? COLOR_END "\n" : "\n");
}

/* The first clause of "one process only: too low where several hold memory" that is not too wide. */
static size_t fit_clause(struct strbuf *out, const char *text, size_t length, size_t width)
{
    for (const char *at = text; text_width(text, length) > width && *at;) {
        size_t clause = strcspn(at, ";:");
        if (clause > 0 && text_width(at, clause) <= width)
            return text_fit(out, at, clause, width);
        at += clause;
        at += strspn(at, ";: ");
    }
    return text_fit(out, text, length, width);
}

static size_t fit(struct strbuf *out, const struct table_column *column, const char *text,
                  const struct table_cell *cell)
{
    switch (column->fit) {
    case TABLE_COMMAND:
        return command_fit(out, text, cell->length, column->width, cell->end_matters);
    case TABLE_COMMAND_END:
        return command_fit(out, text, cell->length, column->width, true);
    case TABLE_CUT_END:
        return text_fit_tail(out, text, cell->length, column->width, 0);
    case TABLE_CLAUSE:
        return fit_clause(out, text, cell->length, column->width);
    case TABLE_WRAPPED:
        strbuf_add(out, text, cell->length);
        return column->width;
    default:
        return text_fit(out, text, cell->length, column->width);
    }
}

static void write_cell(const struct writing *writing, const struct table_column *column,
                       const struct table_cell *cell, size_t *used)
{
    const char *color = writing->colors && cell->color ? cell->color : "";
    const char *text = text_of(writing->table, cell);
    bool covers_gap = writing->table->colors_gaps;
    struct strbuf *out = writing->out, fitted = STRBUF_INIT;
    size_t taken = fit(&fitted, column, text, cell);

    strbuf_adds(out, covers_gap ? color : "");
    begin_column(writing, column, used);
    add_blanks(out, column->right ? column->width - taken : 0);
    strbuf_addf(out, "%s%s%s", covers_gap ? "" : color, strbuf_text(&fitted), color[0] ? COLOR_END : "");
    add_blanks(out, column->right ? 0 : column->width - taken);
    if (column->tag) {
        bool dim = writing->colors && cell->tag_length > 0;
        strbuf_addf(out, " %s%s%s", dim ? COLOR_DIM : "", text + cell->length + 1, dim ? COLOR_END : "");
        add_blanks(out, column->tag - cell->tag_length);
    }
    strbuf_fini_part(&fitted, out);
}

static void write_row(const struct writing *writing, size_t row)
{
    const struct table *table = writing->table;
    struct strbuf line = STRBUF_INIT;
    struct writing in_line = *writing;
    size_t used = 0, wrapped_at = 0;

    in_line.out = &line;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].left_out)
            continue;
        write_cell(&in_line, &table->columns[i], cell_of(table, row, i), &used);
        if (table->columns[i].fit == TABLE_WRAPPED)
            wrapped_at = used - table->columns[i].width;
    }
    end_line(&line);
    wrap_lines(writing->out, strbuf_text(&line), wrapped_at, wrapped_at ? writing->width : 0);
    strbuf_fini_part(&line, writing->out);
}

static void write_line(const struct writing *writing, const struct table_line *line)
{
    const struct table *table = writing->table;
    bool over = false;

    if (!line->is_titles) {
        wrap_lines(writing->out, strbuf_text(&table->texts) + line->at, line->indent, writing->width);
        return;
    }
    for (size_t i = 0; i < table->column_count; i++)
        over |= table->columns[i].over && !table->columns[i].left_out;
    if (over)
        write_titles(writing, true);
    write_titles(writing, false);
}

void table_write(struct table *table, struct strbuf *out, size_t width, bool colors)
{
    struct writing writing = {.table = table, .out = out, .width = width, .colors = colors};
    size_t line = 0;

    if (table->texts.failed) {
        out->failed = true;
        return;
    }
    lay_out(&writing);
    for (size_t row = 0; row <= row_count(table); row++) {
        for (; line < table->line_count && table->lines[line].row == row; line++)
            write_line(&writing, &table->lines[line]);
        if (row < row_count(table))
            write_row(&writing, row);
    }
    out->failed |= table->texts.failed;
}
