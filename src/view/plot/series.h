/*
 * One line of a plot, of any length in bounded memory: values over windows of time, thinned as they come.
 *
 * A window is kept as it is while there is room. After that neighbours that lie in one cell of a time grid
 * become one segment with their lowest and highest value, and the cells double whenever the room runs out
 * again: a peak may move by less than a cell, but it never vanishes, and a window that is longer than a cell
 * stays exact. Nothing is put between two windows that do not touch, unless both lie in one cell, or the
 * value of the first may be held until the second.
 */
#ifndef METRON_VIEW_PLOT_SERIES_H
#define METRON_VIEW_PLOT_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_TIME_MAX 1e12 /* seconds; what is later is damage */

struct plot_segment {
    double begin, end; /* seconds since the start */
    double low, high;  /* of the values in it */
    double covered;    /* seconds in which there was a value */
    double integral;   /* value x seconds of these */
};

struct plot_series {
    struct plot_segment *segments; /* owned; in the order of time */
    size_t count, capacity;
    size_t most;           /* segments are kept; at least 16 */
    double cell;           /* seconds; 0: nothing was merged yet */
    double low, high;      /* of all values; nothing when count is 0 */
    double integral;       /* of all values */
    unsigned long added;   /* values */
    double hold;           /* seconds that a value may be held for after its window; 0: not at all */
    bool held;             /* one was */
    double last, last_end; /* the newest value, and the end of its window */
};

void plot_series_init(struct plot_series *series, size_t most, double hold);
void plot_series_fini(struct plot_series *series);
/* A value that holds from `begin` to `end`, which may be one instant; times never go back. What is no number
 * is left out. 0 or -ENOMEM. */
int plot_series_add(struct plot_series *series, double begin, double end, double value);
/* Holds the newest value until `end`, if it may be held for so long. 0 or -ENOMEM. */
int plot_series_hold(struct plot_series *series, double end);
/* Merges what lies in one cell of `cell` seconds: a pixel, say. */
void plot_series_thin(struct plot_series *series, double cell);
/* The time-weighted mean of a segment. */
double plot_segment_mean(const struct plot_segment *segment);

#endif
