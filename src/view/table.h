/*
 * Tables on a screen. The rows are put in first; then every column is as wide as its texts, and where the
 * screen is too narrow columns that can be missed are left out, texts are cut, and at last rows are broken
 * between two columns: never within a word.
 *
 *     struct table_column columns[] = {{.title = "JOB", .fit = TABLE_CUT, .least = 8}, {.title = "CPU", …}};
 *     struct table table = {.columns = columns, .column_count = 2};
 *     table_titles(&table);
 *     for (every row) {
 *         table_add(&table, name);
 *         table_add(&table, amount);
 *     }
 *     table_write(&table, out, width, colors);
 *     table_fini(&table);
 *
 * Texts are copied, and must be printable (text_printable in base/text.h). Where there is no memory, `failed`
 * of `out` is set.
 */
#ifndef METRON_VIEW_TABLE_H
#define METRON_VIEW_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define TABLE_GAP 2 /* blanks between columns */

/* What becomes of a text that is wider than its column may be. */
enum table_fit {
    TABLE_WHOLE,       /* nothing: the column is as wide as it */
    TABLE_CUT,         /* its middle is left out: what tells texts apart mostly stands at their end */
    TABLE_CUT_END,     /* its end is left out */
    TABLE_COMMAND,     /* it is cut as a command (command_line.h); its end stays where others begin alike */
    TABLE_COMMAND_END, /* the same; its end always stays */
    TABLE_CLAUSE,      /* the first of its clauses that fits stays */
    TABLE_WRAPPED,     /* of the last column: it goes on in further lines */
};

struct table_column {
    const char *title; /* NULL: none; borrowed */
    const char *over;  /* a word above the title; NULL: none; borrowed */
    bool right;        /* texts stand to the right */
    enum table_fit fit;
    size_t least;       /* columns of the screen that a text keeps when it is cut */
    size_t wants;       /* as many, if more, before other columns are left out for it; 0: as `least` */
    unsigned drop;      /* where there is no room: those with the lowest go first, together; 0: it stays */
    bool drop_if_same;  /* so early only if all rows have the same text */
    unsigned drop_else; /* and else; 0: it stays */
    size_t texts_give;  /* columns of the screen that texts give of what they want, so that it stays */
    bool left_out;      /* by the caller; after table_write, also where there is no room */
    /* inner: */
    size_t width, tag, natural;
};

struct table {
    struct table_column *columns; /* borrowed */
    size_t column_count;
    size_t indent;
    const char *title_color; /* with colours: of each title; NULL: none */
    bool colors_gaps;        /* a colour begins before the blanks; that of the titles ends with their line */
    /* inner: */
    struct table_cell *cells;
    struct table_line *lines;
    size_t cell_count, cell_capacity, line_count, line_capacity;
    struct strbuf texts; /* `failed` is of the whole table */
};

/* The next cell, row by row. `tag`: a few letters behind the text, in a column of their own; `color`: static.
 */
void table_add(struct table *table, const char *text);
void table_add_cell(struct table *table, const char *text, const char *tag, const char *color);
/* Between two rows: the titles; or a text that ends with a newline, whose lines are broken and go on `indent`
 * columns in. */
void table_titles(struct table *table);
void table_text(struct table *table, const char *text, size_t indent);
/* `width` columns; 0: as wide as it gets. */
void table_write(struct table *table, struct strbuf *out, size_t width, bool colors);
void table_fini(struct table *table);

#endif
