/*
 * What was requested of a scheduler for a run, as far as the environment that was recorded with it tells.
 */
#ifndef METRON_LEARN_REQUESTED_H
#define METRON_LEARN_REQUESTED_H

#include "base/arena.h"
#include "schema/recording.h"

/* For this one run, not for all of its job; 0 is not known. */
struct requested {
    double bytes, cpus, seconds;
    double end_wall; /* unix seconds when the time of the job is up */
    const char *job; /* the scheduler's name for it, in the arena; NULL: not told */
};

void requested_read(const struct recording *recording, struct arena *arena, struct requested *out);

/* "4096", "4G" (MiB without a letter) as bytes; 0: it tells nothing. */
double requested_slurm_memory(const char *text);
/* "90", "90:00", "1:30:00", "1-12", "1-12:00", "1-12:00:00" as seconds; 0: it tells nothing. */
double requested_slurm_time(const char *text);
/* "node17 8" as 8; 0: it tells nothing, or of several hosts. */
double requested_lsf_cpus(const char *text);

#endif
