/*
 * A page as text: titles, labels in a column, numbers as people write them with their source behind them,
 * tables with their numbers to the right. Texts come from outside, and so do labels and titles, which may be
 * names of keys: they are made printable here, and only here.
 */
#include <stdint.h>
#include <string.h>

#include "view/colors.h"
#include "view/command_line.h"
#include "view/report/page.h"
#include "view/table.h"
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
    strbuf_fini_part(&printable, out);
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
    strbuf_fini_part(&line, out);
}

static bool is_hidden(const struct report_item *table, size_t row)
{
    const struct report_value *cells = &table->cells[row * table->column_count];

    if (table->rows_shown && row >= table->rows_shown)
        return true;
    return table->hides_zero_rows && cells[0].kind == REPORT_NUMBER && cells[0].number == 0;
}

static bool has_texts(const struct report_item *item, size_t column)
{
    for (size_t row = 0; row < item->row_count; row++)
        if (!is_hidden(item, row) && item->cells[row * item->column_count + column].kind == REPORT_TEXT)
            return true;
    return false;
}

static struct table_column make_column(const struct report_item *item, size_t index, const char *title)
{
    static const enum table_fit fits[] = {[REPORT_CUT] = TABLE_CUT,
                                          [REPORT_COMMAND] = TABLE_COMMAND_END,
                                          [REPORT_PROSE] = TABLE_WRAPPED,
                                          [REPORT_CLAUSE] = TABLE_CLAUSE,
                                          [REPORT_LUXURY] = TABLE_CUT};
    const enum report_fit fit = item->columns[index].fit;
    const bool is_text = has_texts(item, index);

    return (struct table_column){.title = title,
                                 .right = !is_text,
                                 .fit = is_text ? fits[fit] : TABLE_WHOLE,
                                 .least = TEXT_COLUMNS_MIN,
                                 .wants = SIZE_MAX,
                                 .drop = fit == REPORT_LUXURY,
                                 .left_out =
                                     !item->columns[index].title || report_column_is_empty(item, index)};
}

static void add_rows(struct table *table, const struct report_item *item)
{
    struct strbuf cell = STRBUF_INIT;

    for (size_t i = 0; i < item->row_count * item->column_count; i++) {
        if (is_hidden(item, i / item->column_count) || i % item->column_count >= table->column_count)
            continue;
        strbuf_reset(&cell);
        add_value(&cell, &item->cells[i], item->columns[i % item->column_count].unit, REPORT_CUT, 0);
        table_add(table, strbuf_text(&cell));
        table->texts.failed |= cell.failed;
    }
    strbuf_fini(&cell);
}

static void draw_table(struct strbuf *out, const struct report_item *item, bool is_first, size_t width,
                       const struct ink *ink)
{
    struct table_column columns[COLUMNS_MAX];
    struct strbuf titles[COLUMNS_MAX] = {{0}}, line = STRBUF_INIT;
    struct table table = {.columns = columns,
                          .column_count = item->column_count < COLUMNS_MAX ? item->column_count : COLUMNS_MAX,
                          .indent = INDENT,
                          .title_color = ink->dim,
                          .colors_gaps = true};
    bool has_titles = false;

    for (size_t i = 0; i < table.column_count; i++) {
        if (item->columns[i].title)
            add_cut(&titles[i], item->columns[i].title, REPORT_CUT, 0);
        columns[i] = make_column(item, i, strbuf_text(&titles[i]));
        table.texts.failed |= titles[i].failed;
        has_titles |= titles[i].length > 0 && !columns[i].left_out;
    }
    if (item->label) {
        strbuf_addf(&line, "%s%*s", is_first ? "" : "\n", INDENT, "");
        add_cut(&line, item->label, REPORT_CUT, 0);
        strbuf_addc(&line, '\n');
        table_text(&table, strbuf_text(&line), INDENT);
    }
    if (has_titles)
        table_titles(&table);
    add_rows(&table, item);
    strbuf_fini_part(&line, &table.texts);
    table_write(&table, out, width, ink->dim[0] != '\0');
    table_fini(&table);
    for (size_t i = 0; i < table.column_count; i++)
        strbuf_fini(&titles[i]);
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
        if (section->title || section == page->first) {
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
