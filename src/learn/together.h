/*
 * Runs of one job that ran at the same time: the ranks of a parallel program, of which each is one recording.
 * What one of them used is not what the job needs.
 */
#ifndef METRON_LEARN_TOGETHER_H
#define METRON_LEARN_TOGETHER_H

#include <stddef.h>

#include "learn/past_run.h"

struct together {
    size_t runs;     /* the most that ran at the same time; below 2: none did, and the rest is not told */
    const char *job; /* borrowed from the runs */
    /* Of those: the sum of their peaks (all of it at once at most), and of CPU time / wall time. What was not
     * measured is not in it. */
    double memory_bytes, cpus;
};

/* Which belong together is told by their job; of different jobs of the scheduler (an array) each is requested
 * by itself. 0 or -ENOMEM. */
int together_find(const struct past_run *runs, size_t count, struct together *out);

#endif
