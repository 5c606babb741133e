/*
 * A recorded run as plain numbers, for whoever learns from past runs: how it ended, what it used, and what
 * had been requested for it, where its environment tells.
 */
#ifndef METRON_LEARN_PAST_RUN_H
#define METRON_LEARN_PAST_RUN_H

#include <stdbool.h>

#include "base/arena.h"
#include "learn/parallelism.h"
#include "schema/recording.h"

/* Only what the recording tells: an exit code alone is no proof of a limit. */
enum past_end {
    PAST_SUCCEEDED,
    PAST_FAILED,        /* an exit code other than 0 */
    PAST_SIGNALLED,     /* ended by a signal, or with an exit code that says so (128 + N) */
    PAST_OUT_OF_MEMORY, /* the OOM killer ended it, or some of it */
    PAST_OUT_OF_TIME,   /* ended from outside when its time was up */
    PAST_RUNNING,
    PAST_LOST,        /* its recorder was killed as well */
    PAST_UNKNOWN,     /* ended, and nobody noted how */
    PAST_NOT_STARTED, /* its command was not found, or could not be run: it used nothing */
    PAST_ATTACHED,    /* metron attached to what ran already: a part of a run, however that ended */
    PAST_END_COUNT,
};

/* A number that was not measured is NAN; a request or limit of 0 is not known. */
struct past_run {
    enum past_end end;
    const char *work;          /* what its command does, see learn/work.h; NULL: not known */
    double memory_bytes;       /* its peak */
    const char *memory_source; /* the key that the peak was taken from; NULL: not told */
    enum bound memory_bound;
    const char *memory_note; /* what to know about it, for people; NULL: nothing */
    bool memory_sampled;     /* what fell between two samples is not in it */
    bool memory_of_one;      /* of the largest single process: several may have held more at once */
    double cpu_seconds, wall_seconds;
    double cpus;                     /* the fewest that are enough for it, see learn/parallelism.h */
    double busy[PARALLELISM_GROUPS]; /* seconds at so many busy cores */
    double burst; /* busy cores between two samples that its records are too long to show; NAN: none */
    struct cpu_shortage shortage;
    /* Runs of one job may be its ranks: those that ran at the same time. `batch` is the scheduler's job;
     * both NULL: not told. */
    const char *job, *batch;
    double start_wall;                                         /* unix seconds; 0: not told */
    double memory_limit_bytes;                                 /* of PAST_OUT_OF_MEMORY: the limit in force */
    double requested_bytes, requested_cpus, requested_seconds; /* for this one run, not for all of its job */
};

/* The fields that past_run_read needs, NULL-terminated: a wish for recording_read, with the keys. */
extern const char *const past_run_fields[];

/* Reads the records too. Texts go to the arena, so that the recording need not be kept; out of memory they
 * are NULL, and the CPUs are not known. */
void past_run_read(const struct recording *recording, struct arena *arena, struct past_run *out);

#endif
