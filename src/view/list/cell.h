/*
 * The texts of a table of runs, cell by cell: what stands in it, its letters and its colour. Nothing is kept:
 * a cell is made whenever it is wanted, which is cheaper than to keep the texts of thousands of runs.
 */
#ifndef METRON_VIEW_LIST_CELL_H
#define METRON_VIEW_LIST_CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/list/listing.h"

struct table_cell {
    const struct run_listing *listing;
    bool same_year; /* all runs began in it: it stands in the title, not in every row */
    int year;
    bool seconds; /* two runs began in the same minute */
    bool counted; /* some outcome says of how many runs it is */
    /* of the cell that was made last: */
    struct strbuf value, tag; /* the tag: letters of methods */
    const char *color;        /* NULL: none */
};

void table_cell_init(struct table_cell *cell, const struct run_listing *listing);
void table_cell_fini(struct table_cell *cell);
void table_cell_make(struct table_cell *out, const struct listing_row *row, size_t index);

#endif
