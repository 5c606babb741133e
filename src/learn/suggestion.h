/*
 * What to request next time, from what past runs used. Arithmetic over plain numbers.
 *
 * The rules. Being killed costs the whole run, asking for too much costs some waiting; so:
 *
 *   memory  the largest peak, of 20 runs or more the 99th percentile, plus the margin
 *   CPUs    as many as 90 % of the runs need to take at most a tenth longer than they took
 *   time    the longest wall time, of 20 runs or more the 99th percentile, plus the margin
 *
 * each rounded up (learn/parallelism.h says how many CPUs a run needs). Runs that succeeded count; the others
 * do so only if none did, and then all numbers are lower bounds. But what a limit cut off needs more than it
 * had: a run that was killed because memory (or time) ran out raises the suggestion to 1.5 times the limit it
 * met, one that a signal ended for an unknown reason to its own peak plus the margin. Runs that waited for a
 * CPU, or may have on busy CPUs, or were held back by a quota, might have used more of them: they count for
 * the CPUs only if all did, and then these are a lower bound, which no scheduler is asked for. What is not
 * known raises nothing but is reported: peaks that were sampled, or of the largest single process only.
 */
#ifndef METRON_LEARN_SUGGESTION_H
#define METRON_LEARN_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>

#include "learn/past_run.h"
#include "learn/together.h"

enum { SUGGESTION_MANY_RUNS = 20, SUGGESTION_SOURCES_MAX = 6, SUGGESTION_WORK_MAX = 3 };
#define SUGGESTION_QUANTILE     0.99
#define SUGGESTION_CPU_QUANTILE 0.90
#define SUGGESTION_BEYOND_LIMIT 1.5

/* Of the runs whose environment tells what was requested: that, and the share of it that was used. */
struct suggestion_requested {
    size_t runs;
    double lowest, highest;
    double used_lowest, used_median, used_highest; /* 1 is all */
};

/* Why a floor is there. */
enum suggestion_floor { FLOOR_NONE, FLOOR_LIMIT, FLOOR_PEAK };

struct suggested {
    bool has;
    double value;    /* to request: bytes, CPUs, seconds */
    size_t runs;     /* that it rests on */
    double quantile; /* which was taken: 1 is the largest */
    double base;     /* its value, before margin and rounding */
    double smallest, largest;
    size_t fitting; /* of those runs, how many would have had enough with `value` */
    /* Killed runs need at least that much; `raised`: it is what decided. */
    enum suggestion_floor floor_by;
    double floor, floor_of;   /* and the limit or peak it is made of */
    const char *floor_source; /* of a peak: the key it was taken from; NULL: not told */
    bool raised;
    struct suggestion_requested requested;
};

/* A method by which peaks were measured. */
struct suggestion_source {
    const char *source, *note; /* borrowed from the runs; `source` NULL: not told; `note` NULL: none */
    enum bound bound;
    size_t runs;
};

struct suggestion {
    double margin; /* a share: 0.2 */
    size_t found;  /* runs in all */
    size_t ended[PAST_END_COUNT];
    size_t counted;      /* those that the numbers rest on, but for what a killed one adds */
    bool none_succeeded; /* so that unsuccessful ones were counted: lower bounds */
    struct suggested memory, cpus, wall;
    struct suggestion_source sources[SUGGESTION_SOURCES_MAX]; /* of the peaks, most runs first */
    size_t source_count, more_sources;                        /* runs measured by yet others */
    const char *work[SUGGESTION_WORK_MAX];                    /* of the runs, the first ones met */
    size_t work_count;                                        /* named above */
    bool more_work;
    size_t memory_sampled, memory_of_one; /* counted runs whose peak is so; see learn/past_run.h */
    /* Counted runs that waited for a CPU for long, and the lowest and highest share of their time; that a
     * quota held back; that ran on busy CPUs, and may have waited. */
    size_t waited, throttled, waited_perhaps;
    double wait_lowest, wait_highest;
    size_t bursts; /* runs that count for the CPUs, whose records are too long to show how many were busy */
    double burst;  /* the most cores that were busy in one of them between two samples */
    bool cpus_are_lower_bound;       /* no run counted for the CPUs that had all that it could use */
    double busy[PARALLELISM_GROUPS]; /* seconds at so many busy cores, of the runs that count for the CPUs */
    struct together together;        /* the numbers are those of one of these */
    double killed_limit; /* the highest limit at which a run was killed for want of memory; 0: not told */
    double failed_peak;  /* the largest peak of a failed run above `memory.value`; 0: there is none */
};

/* 0 or -ENOMEM. */
int suggestion_make(const struct past_run *runs, size_t count, double margin, struct suggestion *out);

/* Rounded up as people request it: to 64 MiB below 1 GiB, then to 128 MiB, 512 MiB, 1 GiB and 4 GiB from
 * 1, 4, 16 and 64 GiB on. */
double suggestion_round_memory(double bytes);
/* To whole minutes, at least one. */
double suggestion_round_time(double seconds);

#endif
