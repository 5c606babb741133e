/*
 * What stands below a table of runs: by which method its numbers were got, and what is known of them.
 */
#ifndef METRON_VIEW_LIST_LEGEND_H
#define METRON_VIEW_LIST_LEGEND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "view/list/listing.h"

/* Whether the methods of a column are told. There is one way to measure the wall time, and that it goes on is
 * told by the status. */
bool run_table_has_methods(const struct listing_column *column);
struct table_legend {
    bool counted;      /* some cell says by × of how many runs it is */
    const bool *shown; /* one per column; one that is neither shown nor hidden found no room */
    size_t width;      /* 0: any */
    bool colors;
};
/* A line for each method, of notes only what stands before their first ; or : (json and report have the
 * whole). Nothing to tell adds nothing. */
void run_table_legend(struct strbuf *out, const struct run_listing *listing,
                      const struct table_legend *legend);

#endif
