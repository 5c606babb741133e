/*
 * A page as text: titles, labels in a column, numbers as people write them with their source behind them,
 * tables with their numbers to the right. Texts come from outside, and so do labels and titles, which may be
 * names of keys: they are made printable here, and only here.
 */
#include <string.h>

#include "view/colors.h"
#include "view/command_line.h"
#include "view/report/page.h"
#include "view/text_width.h"
#include "view/wrap.h"

enum {
    INDENT = 2,
    GAP = 2,
    LABEL_WIDTH_MAX = 26,
    COLUMNS_MAX = 16,
    TEXT_COLUMNS_MIN = 16,
    COMMAND_COLUMNS_MIN = 8
};

struct ink {
    const char *title, *dim, *good, *bad, *off;
};

static const struct ink inks[] = {
    {"", "", "", "", ""},
    {COLOR_BOLD, COLOR_DIM, COLOR_GREEN, COLOR_RED, COLOR_END},
};

static size_t columns_of(const char *text)
{
    return text_width(text, strlen(text));
}

/* Printable in one line, and not wider than `columns` (0: any). */
static void add_cut(struct strbuf *out, const char *text, enum report_fit fit, size_t columns)
{
    struct strbuf printable = STRBUF_INIT;

    text_one_line(&printable, text, strlen(text));
    if (columns && fit == REPORT_COMMAND)
        (void)command_fit(out, strbuf_text(&printable), printable.length, columns, true);
    else if (columns)
        (void)text_fit(out, strbuf_text(&printable), printable.length, columns);
    else
        strbuf_adds(out, strbuf_text(&printable));
    if (printable.failed)
        out->failed = true;
    strbuf_fini(&printable);
}

/* The width of a text as add_cut writes it. */
static size_t shown_columns(const char *text)
{
    struct strbuf shown = STRBUF_INIT;

    add_cut(&shown, text, REPORT_CUT, 0);
    size_t columns = columns_of(strbuf_text(&shown));
    strbuf_fini(&shown);
    return columns;
}

static void add_number(struct strbuf *out, enum unit unit, double number)
{
    static const double least_seconds = 0.5e-9; /* below a nanosecond is what arithmetic left */
    char text[UNIT_TEXT_SIZE];

    if (unit == UNIT_SECONDS && number > -least_seconds && number < least_seconds)
        number = 0;
    if (unit == UNIT_NONE)
        strbuf_addf(out, "%.10g", number);
    else
        strbuf_adds(out, unit_human(unit, number, text));
}

/* A value as the screen has it, in `columns` at most. */
static void add_value(struct strbuf *out, const struct report_value *value, enum unit unit,
                      enum report_fit fit, size_t columns)
{
    if (value->kind == REPORT_ABSENT)
        strbuf_addc(out, '-');
    else if (value->kind == REPORT_TEXT)
        add_cut(out, value->text, fit, columns);
    else if (value->kind == REPORT_BOOLEAN)
        strbuf_adds(out, value->number != 0 ? "yes" : "no");
    else
        add_number(out, unit, value->number);
}

/* The first clause of "one process only: too low where several hold memory" that is not too wide. */
static void add_clause(struct strbuf *out, const char *text, size_t columns)
{
    static const char ends[] = ";:";
    struct strbuf clause = STRBUF_INIT;
    bool found = columns_of(text) <= columns;

    for (const char *at = text; !found && *at; at += strspn(at, ";: ")) {
        size_t length = strcspn(at, ends);
        strbuf_reset(&clause);
        strbuf_add(&clause, at, length);
        found = columns_of(strbuf_text(&clause)) <= columns;
        at += length;
    }
    add_cut(out, found && clause.length ? strbuf_text(&clause) : text, REPORT_CUT, columns);
    strbuf_fini(&clause);
}

/* A section and those that go on in it. */
static const struct report_section *next_group(const struct report_section *section)
{
    for (section = section->next; section && !section->title;)
        section = section->next;
    return section;
}

static size_t label_width(const struct report_section *group)
{
    const struct report_section *end = next_group(group);
    size_t width = 0;

    for (const struct report_section *section = group; section != end; section = section->next)
        for (const struct report_item *item = section->first; item; item = item->next) {
            size_t columns =
                item->kind == REPORT_FACT && !item->for_programs ? shown_columns(item->label) : 0;
            if (columns > width && columns <= LABEL_WIDTH_MAX)
                width = columns;
        }
    return width;
}

/* Behind a value: "(source; note)". */
static void add_source(struct strbuf *out, const struct report_item *fact, const struct ink *ink)
{
    if (!fact->source && !fact->note)
        return;
    strbuf_addf(out, " %s(", ink->dim);
    if (fact->source)
        add_cut(out, fact->source, REPORT_CUT, 0);
    if (fact->source && fact->note)
        strbuf_adds(out, "; ");
    if (fact->note)
        add_cut(out, fact->note, REPORT_CUT, 0);
    strbuf_addf(out, ")%s", ink->off);
}

static void draw_fact(struct strbuf *out, const struct report_item *fact, size_t label_columns, size_t width,
                      const struct ink *ink)
{
    /* A text of three lines tells what it is; the whole of it is in the recording. */
    enum { LINES_OF_TEXT = 3 };
    const size_t indent = INDENT + label_columns + GAP;
    const size_t room = width > indent ? (width - indent) * (fact->one_line ? 1 : LINES_OF_TEXT) : 0;
    const char *tone = fact->tone == REPORT_GOOD ? ink->good : fact->tone == REPORT_BAD ? ink->bad : "";
    struct strbuf line = STRBUF_INIT;

    size_t columns = shown_columns(fact->label);
    strbuf_addf(&line, "%*s", INDENT, "");
    add_cut(&line, fact->label, REPORT_CUT, 0);
    strbuf_addf(&line, "%*s", (int)(columns < label_columns ? label_columns - columns + GAP : GAP), "");
    strbuf_adds(&line, tone);
    if (fact->say)
        add_cut(&line, fact->say, REPORT_CUT, room);
    else
        add_value(&line, &fact->value, fact->unit, REPORT_CUT, room);
    if (fact->command) {
        size_t used = columns_of(strbuf_text(&line));
        size_t rest = width > used + COMMAND_COLUMNS_MIN ? width - used : COMMAND_COLUMNS_MIN;
        add_cut(&line, fact->command, REPORT_COMMAND, width ? rest : 0);
    }
    if (tone[0])
        strbuf_adds(&line, ink->off);
    add_source(&line, fact, ink);
    strbuf_addc(&line, '\n');
    wrap_lines(out, strbuf_text(&line), indent, width);
    if (line.failed)
        out->failed = true;
    strbuf_fini(&line);
}

static bool is_hidden(const struct report_item *table, size_t row)
{
    const struct report_value *cells = &table->cells[row * table->column_count];

    if (table->rows_shown && row >= table->rows_shown)
        return true;
    return table->hides_zero_rows && cells[0].kind == REPORT_NUMBER && cells[0].number == 0;
}

struct layout {
    size_t shown[COLUMNS_MAX]; /* indexes of the columns drawn */
    size_t widths[COLUMNS_MAX];
    bool is_text[COLUMNS_MAX]; /* to the left */
    size_t count;
};

static size_t cell_width(const struct report_item *table, size_t row, size_t column)
{
    struct strbuf text = STRBUF_INIT;

    add_value(&text, &table->cells[row * table->column_count + column], table->columns[column].unit,
              REPORT_CUT, 0);
    size_t columns = columns_of(strbuf_text(&text));
    strbuf_fini(&text);
    return columns;
}

static size_t width_of(const struct layout *layout)
{
    size_t used = INDENT;

    for (size_t i = 0; i < layout->count; i++)
        used += layout->widths[i] + (i ? GAP : 0);
    return used;
}

/* Text columns give way, the last first, down to a few columns. */
static void fit(struct layout *layout, size_t width)
{
    size_t used = width_of(layout);

    for (size_t i = layout->count; width && i-- > 0;) {
        if (!layout->is_text[i] || used <= width)
            continue;
        size_t over = used - width;
        size_t spare = layout->widths[i] > TEXT_COLUMNS_MIN ? layout->widths[i] - TEXT_COLUMNS_MIN : 0;
        size_t less = over < spare ? over : spare;
        layout->widths[i] -= less;
        used -= less;
    }
}

static void lay_out(const struct report_item *table, bool with_luxury, struct layout *layout)
{
    *layout = (struct layout){0};
    for (size_t i = 0; i < table->column_count && layout->count < COLUMNS_MAX; i++) {
        if (report_column_is_empty(table, i) || (table->columns[i].fit == REPORT_LUXURY && !with_luxury))
            continue;
        size_t widest = shown_columns(table->columns[i].title);
        bool is_text = false;
        for (size_t row = 0; row < table->row_count; row++) {
            if (is_hidden(table, row))
                continue;
            size_t cell = cell_width(table, row, i);
            widest = cell > widest ? cell : widest;
            is_text |= table->cells[row * table->column_count + i].kind == REPORT_TEXT;
        }
        layout->shown[layout->count] = i;
        layout->is_text[layout->count] = is_text;
        layout->widths[layout->count++] = widest;
    }
}

/* One text in its column; nothing is filled up behind the last. */
static void pad(struct strbuf *line, const char *text, const struct layout *layout, size_t i)
{
    size_t columns = columns_of(text);
    int fill = (int)(columns < layout->widths[i] ? layout->widths[i] - columns : 0);
    bool last = i + 1 == layout->count;

    strbuf_addf(line, "%*s", i ? GAP : INDENT, "");
    if (layout->is_text[i])
        strbuf_addf(line, "%s%*s", text, last ? 0 : fill, "");
    else
        strbuf_addf(line, "%*s%s", fill, "", text);
}

static void draw_row(struct strbuf *out, const struct report_item *table, size_t row,
                     const struct layout *layout, size_t width)
{
    struct strbuf line = STRBUF_INIT, cell = STRBUF_INIT;
    size_t indent = INDENT;

    for (size_t i = 0; i < layout->count; i++) {
        const struct report_column *column = &table->columns[layout->shown[i]];
        strbuf_reset(&cell);
        const struct report_value *value = &table->cells[row * table->column_count + layout->shown[i]];
        if (column->fit == REPORT_CLAUSE && value->kind == REPORT_TEXT && width)
            add_clause(&cell, value->text, layout->widths[i]);
        else
            add_value(&cell, value, column->unit, column->fit,
                      column->fit == REPORT_PROSE || !width ? 0 : layout->widths[i]);
        pad(&line, strbuf_text(&cell), layout, i);
        if (i + 1 < layout->count)
            indent += layout->widths[i] + GAP;
    }
    strbuf_addc(&line, '\n');
    wrap_lines(out, strbuf_text(&line), indent, width);
    if (line.failed || cell.failed)
        out->failed = true;
    strbuf_fini(&line);
    strbuf_fini(&cell);
}

static void draw_heading(struct strbuf *out, const struct report_item *table, const struct layout *layout,
                         const struct ink *ink)
{
    bool any = false;

    for (size_t i = 0; i < layout->count; i++)
        any |= table->columns[layout->shown[i]].title[0] != '\0';
    if (!any)
        return;
    strbuf_adds(out, ink->dim);
    for (size_t i = 0; i < layout->count; i++) {
        struct strbuf title = STRBUF_INIT;
        add_cut(&title, table->columns[layout->shown[i]].title, REPORT_CUT, 0);
        pad(out, strbuf_text(&title), layout, i);
        out->failed |= title.failed;
        strbuf_fini(&title);
    }
    strbuf_addf(out, "%s\n", ink->off);
}

static void draw_table(struct strbuf *out, const struct report_item *table, bool is_first, size_t width,
                       const struct ink *ink)
{
    struct layout layout;

    lay_out(table, true, &layout);
    if (width && width_of(&layout) > width) {
        lay_out(table, false, &layout);
        fit(&layout, width);
    }
    if (table->label) {
        struct strbuf title = STRBUF_INIT;
        strbuf_addf(&title, "%s%*s", is_first ? "" : "\n", INDENT, "");
        add_cut(&title, table->label, REPORT_CUT, 0);
        strbuf_addc(&title, '\n');
        wrap_lines(out, strbuf_text(&title), INDENT, width);
        strbuf_fini(&title);
    }
    draw_heading(out, table, &layout, ink);
    for (size_t row = 0; row < table->row_count; row++)
        if (!is_hidden(table, row))
            draw_row(out, table, row, &layout, width);
}

static void draw_remark(struct strbuf *out, const struct report_item *remark, size_t width)
{
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%*s", INDENT, "");
    add_cut(&line, remark->label, REPORT_CUT, 0);
    strbuf_addc(&line, '\n');
    wrap_lines(out, strbuf_text(&line), INDENT, width);
    strbuf_fini(&line);
}

static bool is_drawn(const struct report_item *item)
{
    if (item->for_programs)
        return false;
    for (size_t row = 0; item->kind == REPORT_TABLE && row < item->row_count; row++)
        if (!is_hidden(item, row))
            return true;
    return item->kind != REPORT_TABLE;
}

static bool has_something(const struct report_section *section)
{
    for (const struct report_item *item = section->first; item; item = item->next)
        if (is_drawn(item))
            return true;
    return false;
}

static void draw_items(struct strbuf *out, const struct report_section *section, size_t labels, size_t width,
                       const struct ink *ink)
{
    bool is_first = true;

    for (const struct report_item *item = section->first; item; item = item->next) {
        if (!is_drawn(item))
            continue;
        if (item->kind == REPORT_FACT)
            draw_fact(out, item, labels, width, ink);
        else if (item->kind == REPORT_REMARK)
            draw_remark(out, item, width);
        else
            draw_table(out, item, is_first, width, ink);
        is_first = false;
    }
}

void report_page_text(struct strbuf *out, const struct report_page *page, size_t width, bool colors)
{
    const struct ink *ink = &inks[colors];
    size_t labels = 0;
    const char *title = NULL; /* of the group, until it is drawn */
    bool any = false;

    for (const struct report_section *section = page->first; section; section = section->next) {
        if (section->title) {
            title = section->title;
            labels = label_width(section);
        }
        if (!has_something(section))
            continue;
        if (title) {
            strbuf_addf(out, "%s%s%s%s\n", any ? "\n" : "", ink->title, title, ink->off);
            title = NULL;
        }
        any = true;
        draw_items(out, section, labels, width, ink);
    }
}
