#include "view/list/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/colors.h"
#include "view/list/cell.h"
#include "view/list/legend.h"
#include "view/table.h"

#define NARROWEST         12 /* what a text column is cut to, at most */
#define COMMAND_WANTS     24 /* of a command; less only if nothing else is left to give */
#define COMMAND_GIVES     6  /* of these for the prefix, which says more */
#define COMMAND_NARROWEST 16
#define PREFIX_FROM       110 /* columns of a screen on which other columns go for the prefixes of runs */
#define TITLE_SIZE        64

static void make_title(const struct run_cell *cell, const struct listing_column *column,
                       char title[TITLE_SIZE])
{
    if (column->kind == COLUMN_START && cell->same_year)
        (void)snprintf(title, TITLE_SIZE, "%s %d", column->title, 1900 + cell->year);
    else
        (void)snprintf(title, TITLE_SIZE, "%s", column->title ? column->title : column->name);
    /* A name that came from a command line, and that may have been cut within a character. */
    for (char *c = title; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7F)
            *c = '?';
}

static bool has_texts(const struct run_listing *listing, size_t index)
{
    for (size_t i = 0; i < listing->count; i++)
        if (listing->rows[i]->cells[index].there && listing->rows[i]->cells[index].kind != FIELD_NUMBER)
            return true;
    return false;
}

static struct table_column make_column(const struct run_listing *listing, size_t index, size_t width)
{
    const struct listing_column *column = &listing->columns[index];
    bool is_prefix = column->kind == COLUMN_PREFIX, goes_first = is_prefix && width < PREFIX_FROM;
    bool is_text = column->kind == COLUMN_FIELD && has_texts(listing, index);
    bool is_command = column->kind == COLUMN_FIELD && strcmp(column->field, "command") == 0;

    return (struct table_column){
        .over = column->over,
        .right = column->kind != COLUMN_START && column->kind != COLUMN_ID && !is_prefix && !is_text,
        .fit = !is_text     ? TABLE_WHOLE
               : is_command ? TABLE_COMMAND
                            : TABLE_CUT,
        .least = is_command ? COMMAND_NARROWEST : NARROWEST,
        .wants = is_command ? COMMAND_WANTS : 0,
        .drop = goes_first ? 1 : column->drop,
        .drop_if_same = column->drop_if_same,
        .drop_else = column->drop_else,
        .texts_give = is_prefix && !goes_first ? COMMAND_GIVES : 0,
        .left_out = column->hidden,
    };
}

static void add_row(struct table *table, struct run_cell *cell, const struct listing_row *row)
{
    for (size_t i = 0; i < table->column_count; i++) {
        run_cell_make(cell, row, i);
        table_add_cell(table, strbuf_text(&cell->value), strbuf_text(&cell->tag), cell->color);
        table->texts.failed |= cell->value.failed || cell->tag.failed;
    }
}

void run_table_write(struct strbuf *out, const struct run_listing *listing, size_t width, bool colors)
{
    const size_t count = listing->column_count;
    struct table table = {.columns = calloc(count + 1, sizeof(*table.columns)),
                          .column_count = count,
                          .title_color = COLOR_BOLD};
    char(*titles)[TITLE_SIZE] = calloc(count + 1, sizeof(*titles));
    bool *shown = calloc(count + 1, sizeof(*shown));
    struct run_cell cell;

    run_cell_init(&cell, listing);
    if (!table.columns || !titles || !shown) {
        out->failed = true;
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        make_title(&cell, &listing->columns[i], titles[i]);
        table.columns[i] = make_column(listing, i, width);
        table.columns[i].title = titles[i];
    }
    table_titles(&table);
    for (size_t i = 0; i < listing->count; i++)
        add_row(&table, &cell, listing->rows[i]);
    table_write(&table, out, width, colors);
    for (size_t i = 0; i < count; i++)
        shown[i] = !table.columns[i].left_out;
    run_table_legend(
        out, listing,
        &(struct table_legend){.counted = cell.counted, .shown = shown, .width = width, .colors = colors});
out:
    run_cell_fini(&cell);
    table_fini(&table);
    free(table.columns);
    free(titles);
    free(shown);
}
