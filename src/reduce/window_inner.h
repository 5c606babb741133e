/*
 * What a window is made of: for window.c, which folds passes into it, and window_record.c, which makes
 * records of it. Nobody else looks inside.
 */
#ifndef METRON_REDUCE_WINDOW_INNER_H
#define METRON_REDUCE_WINDOW_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reduce/statistic.h"
#include "reduce/window.h"

/* What the derivation of the next reading needs to know of the one before. */
struct previous {
    double number;
    uint64_t stamp_ns; /* 0: there is none */
};

/* One selected measurement. */
struct plan {
    const struct source *source;
    const struct measurement *measurement;
    size_t source_index;
    size_t slot; /* of the window's statistics */
    size_t cell; /* of those that a subject has for this source */
    bool by_row; /* read from the rows of subjects, not from the single row */
};

struct cell {
    struct previous previous;
    struct statistic statistic;
};

/* A subject that rows were brought of. A short process is seen by few sources: it has cells only for those.
 */
struct tracked {
    uint64_t serial;
    struct subject subject;
    UT_hash_handle hh;
    struct statistic *run; /* [plan_count] for devices, NULL for processes */
    struct cell *cells[];  /* per source: [row_plans], NULL until a row of it comes */
};

struct window {
    const struct registry *registry;
    struct window_options options;
    struct plan *plans;
    size_t plan_count;
    struct cell *cells;       /* singles, by slot: this window */
    struct statistic *run;    /* singles, by slot: the whole run */
    struct rate_span *latest; /* likewise, of the latest rate */
    uint64_t *pass_ns;        /* per source: stamp of the pass before */
    size_t *row_plans;        /* per source: how many of its plans are by_row */
    struct tracked *subjects;
    struct state_names names;
    uint64_t *ended; /* serials to forget after the next report, whether or not they are tracked by now */
    size_t ended_count, ended_capacity;
    unsigned num_samples, run_samples;
    bool has_reported; /* this window is not the first */
};

/* What a subject has for a plan; NULL: no row of that source has come. */
static inline struct cell *tracked_cell(const struct tracked *tracked, const struct plan *plan)
{
    struct cell *cells = plan->by_row ? tracked->cells[plan->source_index] : NULL;
    return cells ? &cells[plan->cell] : NULL;
}

/* What a rate of this measurement can never exceed; 0: there is no such limit, or it is not known. */
double window_ceiling(const struct window *window, const struct measurement *m);
/* Empties the window for the next span, and forgets those that have ended. */
void window_begin_next(struct window *window);

#endif
