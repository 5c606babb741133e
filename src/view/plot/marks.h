/*
 * When something happened, and how often: events over time in a bounded number of cells.
 *
 * Cells double in width when one comes that lies past the last.
 */
#ifndef METRON_VIEW_PLOT_MARKS_H
#define METRON_VIEW_PLOT_MARKS_H

#include <stddef.h>
#include <stdint.h>

#define PLOT_MARK_CELLS 4096

struct plot_marks {
    uint32_t *cells; /* owned; NULL: nothing happened */
    double width;    /* seconds of a cell */
    double first;    /* seconds since the start */
    size_t count;
};

void plot_marks_fini(struct plot_marks *marks);
/* What lies before the start counts at the start. 0 or -ENOMEM. */
int plot_marks_add(struct plot_marks *marks, double elapsed);
/* How many happened from `begin` up to `end`; cells that lie across an end count where they begin. */
size_t plot_marks_between(const struct plot_marks *marks, double begin, double end);

#endif
