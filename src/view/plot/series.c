#include "view/plot/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

#define LEAST_ROOM 16
#define VALUE_MAX  1e100

void plot_series_init(struct plot_series *series, size_t most, double hold)
{
    *series = (struct plot_series){.most = most < LEAST_ROOM ? LEAST_ROOM : most, .hold = hold};
}

void plot_series_fini(struct plot_series *series)
{
    free(series->segments);
    *series = (struct plot_series){0};
}

double plot_segment_mean(const struct plot_segment *segment)
{
    return segment->covered > 0 ? segment->integral / segment->covered : (segment->low + segment->high) / 2;
}

/* Whether both lie in one cell of the grid that starts at 0. */
static bool share_cell(const struct plot_segment *a, const struct plot_segment *b, double cell)
{
    const double number = floor(a->begin / cell);

    return a->begin >= number * cell && b->end <= (number + 1) * cell;
}

static void merge(struct plot_segment *into, const struct plot_segment *next)
{
    into->end = next->end;
    into->low = fmin(into->low, next->low);
    into->high = fmax(into->high, next->high);
    into->covered += next->covered;
    into->integral += next->integral;
}

void plot_series_thin(struct plot_series *series, double cell)
{
    size_t kept = 0;

    if (series->count < 2 || !(cell > 0))
        return;
    for (size_t i = 1; i < series->count; i++) {
        if (share_cell(&series->segments[kept], &series->segments[i], cell))
            merge(&series->segments[kept], &series->segments[i]);
        else
            series->segments[++kept] = series->segments[i];
    }
    series->count = kept + 1;
}

/* At most two segments begin in a cell once it is thinned: what fits into it, and one that reaches past it.
 */
static void make_room(struct plot_series *series)
{
    const double span = series->segments[series->count - 1].end - series->segments[0].begin;

    while (series->count > series->most / 2) {
        double cell = series->cell > 0 ? 2 * series->cell : 4 * span / (double)series->most;
        /* All at one instant, or a grid too fine to have numbers: anything goes. */
        if (!(cell > 0) || !(series->segments[series->count - 1].end / cell < 1e15))
            cell = fmax(series->segments[series->count - 1].end, 1) * 2;
        series->cell = cell;
        plot_series_thin(series, cell);
    }
}

static int add_segment(struct plot_series *series, double begin, double end, double value)
{
    const double length = fmax(end - begin, 0);
    const struct plot_segment next = {.begin = begin,
                                      .end = begin + length,
                                      .low = value,
                                      .high = value,
                                      .covered = length,
                                      .integral = value * length};

    series->integral += next.integral;
    if (series->count > 0 && series->cell > 0 &&
        share_cell(&series->segments[series->count - 1], &next, series->cell)) {
        merge(&series->segments[series->count - 1], &next);
        return 0;
    }
    if (ARRAY_RESERVE(series->segments, series->capacity, series->count + 1) < 0)
        return -ENOMEM;
    series->segments[series->count++] = next;
    if (series->count >= series->most)
        make_room(series);
    return 0;
}

int plot_series_hold(struct plot_series *series, double end)
{
    const double length = end - series->last_end;

    if (!series->added || !(length > 0) || length > series->hold)
        return 0;
    series->held = true;
    return add_segment(series, series->last_end, end, series->last);
}

int plot_series_add(struct plot_series *series, double begin, double end, double value)
{
    /* Also what a damaged file may hold and no machine can reach: squares and grids of it must stay numbers.
     */
    if (!(fabs(begin) < PLOT_TIME_MAX) || !(fabs(end) < PLOT_TIME_MAX) || !(fabs(value) < VALUE_MAX))
        return 0;
    if (plot_series_hold(series, begin) < 0)
        return -ENOMEM;
    series->low = series->added ? fmin(series->low, value) : value;
    series->high = series->added ? fmax(series->high, value) : value;
    series->added++;
    series->last = value;
    series->last_end = fmax(begin, end);
    return add_segment(series, begin, end, value);
}
