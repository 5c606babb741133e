/*
 * What is known of one quantity over one span of time, folded reading by reading. Folding on arrival gives
 * the same result as keeping every reading and reducing at the end: max, min, last, sum of increments, tally
 * and time-weighted mean need nothing else.
 */
#ifndef METRON_REDUCE_STATISTIC_H
#define METRON_REDUCE_STATISTIC_H

#include <stdbool.h>

#include "base/arena.h"
#include "reduce/tally.h"
#include "schema/measurement.h"
#include "schema/record.h"

/* What a rate is made of. */
struct rate_span {
    double amount, seconds;
};

struct statistic {
    double value;    /* max, min, last or sum of increments, as the measurement says */
    double weighted; /* sum of value x seconds */
    double weight;   /* sum of seconds */
    union {
        char *text;               /* labels: owned copy of the last one */
        struct tally *tally;      /* categorical: owned */
        struct rate_span waiting; /* rates: what has been counted since the last one */
    };
    bool has;  /* something was folded */
    bool fell; /* a counter fell: this span has no value */
};

/* Folds a number that stood for `seconds`. */
void statistic_fold(struct statistic *statistic, enum reduce reduce, double number, double seconds);
/* Folds only into the mean: `amount` is what it came to in these seconds, the number times the seconds. */
void statistic_fold_mean(struct statistic *statistic, double amount, double seconds);
/* What a counter grew by in `seconds`: true and the rate since the last one once they span `least_seconds`,
 * else it waits for more. */
bool statistic_take_rate(struct statistic *statistic, double amount, double seconds, double least_seconds,
                         double *rate);
/* The counter fell: nothing waits any more. */
void statistic_drop_rate(struct statistic *statistic);
/* -ENOMEM loses this text or state, nothing more. */
int statistic_fold_text(struct statistic *statistic, const char *text);
int statistic_fold_state(struct statistic *statistic, struct state_names *names, const char *state);
/* Takes cumulative amounts per state (tally_take); `run`, the same quantity over a longer span, may be NULL.
 * It has a value once a state has grown. */
int statistic_fold_amounts(struct statistic *statistic, struct statistic *run, struct state_names *names,
                           const struct amounts *amounts, bool seed);
/* The time-weighted mean; the value itself when no time has passed. */
double statistic_mean(const struct statistic *statistic);
/* Fills the value of a record; text and tally are copied into the arena. -ENOMEM. */
int statistic_value(const struct statistic *statistic, enum type type, struct arena *arena,
                    struct record_value *out);
/* Empties for the next span; keeps memory, what cumulative amounts were last, and what waits for a rate. */
void statistic_reset(struct statistic *statistic, enum type type);
void statistic_fini(struct statistic *statistic, enum type type);

#endif
