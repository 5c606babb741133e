#include "view/plot/marks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/plot/series.h"

#define FIRST_WIDTH 1e-3

void plot_marks_fini(struct plot_marks *marks)
{
    free(marks->cells);
    *marks = (struct plot_marks){0};
}

static void double_width(struct plot_marks *marks)
{
    for (size_t i = 0; i < PLOT_MARK_CELLS / 2; i++)
        marks->cells[i] = marks->cells[2 * i] + marks->cells[2 * i + 1];
    memset(marks->cells + PLOT_MARK_CELLS / 2, 0, PLOT_MARK_CELLS / 2 * sizeof(*marks->cells));
    marks->width *= 2;
}

int plot_marks_add(struct plot_marks *marks, double elapsed)
{
    if (!(elapsed < PLOT_TIME_MAX))
        return 0;
    elapsed = fmax(elapsed, 0);
    if (!marks->cells) {
        marks->cells = calloc(PLOT_MARK_CELLS, sizeof(*marks->cells));
        if (!marks->cells)
            return -ENOMEM;
        marks->width = FIRST_WIDTH;
        marks->first = elapsed;
    }
    while (elapsed >= marks->width * PLOT_MARK_CELLS)
        double_width(marks);
    marks->cells[(size_t)(elapsed / marks->width)]++;
    marks->first = fmin(marks->first, elapsed);
    marks->count++;
    return 0;
}

size_t plot_marks_between(const struct plot_marks *marks, double begin, double end)
{
    size_t sum = 0;

    if (!marks->cells)
        return 0;
    const double first = fmin(fmax(ceil(begin / marks->width), 0), PLOT_MARK_CELLS);
    const double last = fmin(fmax(ceil(end / marks->width), 0), PLOT_MARK_CELLS);
    for (size_t i = (size_t)first; i < (size_t)last; i++)
        sum += marks->cells[i];
    return sum;
}
