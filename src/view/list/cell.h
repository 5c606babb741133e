/*
 * The texts of a table of runs, cell by cell: what stands in it, its letters and its colour.
 */
#ifndef METRON_VIEW_LIST_CELL_H
#define METRON_VIEW_LIST_CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/list/listing.h"

struct run_cell {
    const struct run_listing *listing;
    bool same_year; /* all runs began in it: it stands in the title, not in every row */
    int year;
    bool seconds; /* two runs began in the same minute */
    bool counted; /* some outcome says of how many runs it is */
    /* of the cell that was made last: */
    struct strbuf value, tag; /* the tag: letters of methods */
    const char *color;        /* NULL: none */
};

void run_cell_init(struct run_cell *cell, const struct run_listing *listing);
void run_cell_fini(struct run_cell *cell);
void run_cell_make(struct run_cell *out, const struct listing_row *row, size_t index);

#endif
