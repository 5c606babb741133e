/*
 * By which measure the peaks of memory of several runs are compared. The headline of each run is the largest
 * of its lower bounds, and which of them that is may change from run to run of one command. So peaks are
 * compared by one measure that they all have:
 *
 *   1. a mark that the kernel keeps of the largest process: no spike is lost between two samples
 *   2. a sum over all processes that was sampled
 *   3. the sum of resident memory, which every recording has, of metron and of con-duct
 *
 * A measure has to be at least three quarters of every headline: the mark of one process says nothing of a
 * run whose processes hold memory together, nor a sum that no sample read at the peak. Of several in one line
 * the one that is nearest to the headlines is taken. A headline of a group that others share says nothing of
 * the run: there the largest of its own marks and sampled sums stands for it.
 * What more runs have comes before these. The control group's charge is none of them: it has page cache in
 * it, which is charged to the group that read a file first.
 */
#ifndef METRON_LEARN_PEAKS_H
#define METRON_LEARN_PEAKS_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/recording.h"

#define PEAK_COVERED_LEAST 0.75 /* of the headline */
enum { PEAK_MEASURES = 6 };

struct peak_measure {
    const char *key_now, *key_before; /* static; key_before is of the first that has it. NULL: none has */
    const char *meaning;              /* for people; static */
    double now;                       /* if key_now */
    double *past;                     /* owned */
    size_t count, capacity;
    double covered; /* the smallest share that it is of a headline; 1 at most */
};

struct peaks {
    struct peak_measure measures[PEAK_MEASURES];
};

void peaks_init(struct peaks *peaks, const struct recording *now);
/* 0 or -ENOMEM. */
int peaks_add(struct peaks *peaks, const struct recording *earlier);
/* The measure to compare by; NULL: the runs have none in common. `marks`: only one that the kernel keeps. */
struct peak_measure *peaks_measure(struct peaks *peaks, bool marks);
void peaks_fini(struct peaks *peaks);

#endif
