/*
 * How many cores a run kept busy over time, and how many CPUs are enough for it. Made from its records: one
 * of d seconds in which c CPU seconds were used kept c / d cores busy on average. What happened within a
 * record is not known, so short records tell more than long ones.
 *
 *   busy       at about N busy cores are the records with N - 0.5 <= c / d < N + 0.5; at about one: the
 *              serial part, in which further CPUs are idle
 *   stretch    with N CPUs a record would take max(d, c / N), if its work can be spread over fewer CPUs: the
 *              sum of these, as a multiple of the time that the run took
 *   enough     the fewest CPUs with which it would take at most a tenth longer
 *
 * All are of the CPU that the run was given. One that waited for a CPU, or was held back by a quota, might
 * keep more of them busy: then its numbers are lower bounds (struct cpu_shortage).
 */
#ifndef METRON_LEARN_PARALLELISM_H
#define METRON_LEARN_PARALLELISM_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/recording.h"

#define PARALLELISM_LONGER 0.10 /* of its time: so much longer it may take with enough CPUs */

/* Numbers of busy cores are grouped where many are close: 0, 1, 2, 3-4, 5-8, 9-16, ..., 2049-4096. */
enum { PARALLELISM_CORES_MAX = 4096, PARALLELISM_GROUPS = 14, PARALLELISM_PARTS = 10 };

/* What was used at some number of busy cores. */
struct parallelism_level {
    double seconds, cpu_seconds;
};

struct parallelism {
    struct parallelism_level *levels; /* owned; level i is i / 2 <= cores < (i + 1) / 2 */
    size_t level_count, level_capacity;
    size_t records;
    double seconds; /* of all records that have their CPU */
    double longest; /* of them */
    double elapsed; /* the end of the last record */
    double part;    /* a tenth of the run, in seconds; 0: it has not ended */
    double cpu_of_parts[PARALLELISM_PARTS];
};

void parallelism_init(struct parallelism *parallelism, const struct recording *recording);
void parallelism_fini(struct parallelism *parallelism);
/* The next record, which ended at `elapsed`; NAN CPU seconds: not measured in it. 0 or -ENOMEM. */
int parallelism_add(struct parallelism *parallelism, double elapsed, double cpu_seconds);

/* Seconds at about so many busy cores. */
double parallelism_busy(const struct parallelism *parallelism, size_t cores);
/* The largest number of cores that were about busy. */
size_t parallelism_most(const struct parallelism *parallelism);
/* The time with so many CPUs, at least 1, as a multiple of what it took. */
double parallelism_stretch(const struct parallelism *parallelism, size_t cpus);
size_t parallelism_enough(const struct parallelism *parallelism);
/* Whether bursts may be hidden in it: a record is longer than a tenth of the run, and `most_cores` that were
 * busy between two samples (NAN: not known) are more than the CPUs that are enough by the records. */
bool parallelism_hides_bursts(const struct parallelism *parallelism, double most_cores);

/* The group of a number of cores, and the first and last number of a group. */
size_t parallelism_group(size_t cores);
size_t parallelism_group_first(size_t group);
size_t parallelism_group_last(size_t group);

/* The key whose increase from record to record is the CPU that the run used; -1: it has none. */
ptrdiff_t parallelism_key(const struct recording *recording);
/* The same of a record that was read with that key. */
int parallelism_add_record(struct parallelism *parallelism, const struct usage_record *record, ptrdiff_t key);
/* Behind the last record: where none has its CPU, the whole run is taken as one. 0 or -ENOMEM. */
int parallelism_end(struct parallelism *parallelism, const struct recording *recording);
/* All of that, from the files of the run. It has no records if its CPU was not measured. 0 or -ENOMEM. */
int parallelism_read(const struct recording *recording, struct parallelism *out);

/* Why a run may have used less CPU than it could. NAN: not known. */
struct cpu_shortage {
    double waited;    /* share of its time in which some of it waited for a CPU */
    double others;    /* the same of a group or a machine that it shares with others: its own is not more */
    double throttled; /* seconds that a quota held it back, summed over CPUs, per second of its time */
    double busy;      /* share of the machine's CPUs that were in use, where no waiting is known (no PSI) */
};

#define CPU_SHORTAGE_WAITED    0.20 /* from here on the CPU that was used is a lower bound */
#define CPU_SHORTAGE_THROTTLED 0.01
#define CPU_SHORTAGE_BUSY      0.80

struct cpu_shortage cpu_shortage_of(const struct recording *recording);
/* It waited, or was held back, for long. */
bool cpu_shortage_is_long(const struct cpu_shortage *shortage);
/* Whether it did is not known, but others that share its CPUs did, or kept them busy. */
bool cpu_shortage_is_possible(const struct cpu_shortage *shortage);

#endif
