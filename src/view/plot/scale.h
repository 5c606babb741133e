/*
 * The axes of a plot: where ticks stand and what is written at them.
 *
 * Steps are what people count in: powers of two of bytes, seconds and minutes and hours and days of time,
 * 1-2-5 of all else. All labels of an axis are in one unit, which is named once, beside the axis.
 */
#ifndef METRON_VIEW_PLOT_SCALE_H
#define METRON_VIEW_PLOT_SCALE_H

#include <stddef.h>

#include "base/units.h"

#define PLOT_TICKS_MAX  32
#define PLOT_LABEL_SIZE 24

struct plot_scale {
    double low, high; /* of the axis, in the unit as recorded; low < high */
    double step;      /* between two ticks */
    double first;     /* the first tick, a multiple of the step */
    size_t tick_count;
    double divisor;   /* of the labels: a GiB, an hour */
    int decimals;     /* of the labels */
    const char *unit; /* of the labels: "GiB", "%", "hours"; "" if there is none */
};

/* An axis from `low` to `high` with at most `most_ticks` (2 to PLOT_TICKS_MAX) ticks. What is no range (equal
 * ends, no numbers) becomes one. */
void plot_scale_init(struct plot_scale *scale, enum unit unit, double low, double high, size_t most_ticks);

/* The value at a tick, and its label; out is returned. */
double plot_scale_tick(const struct plot_scale *scale, size_t index);
char *plot_scale_label(const struct plot_scale *scale, size_t index, char out[PLOT_LABEL_SIZE]);
/* Where a value lies: 0 at the low end, 1 at the high end, and beyond. */
double plot_scale_place(const struct plot_scale *scale, double value);

#endif
