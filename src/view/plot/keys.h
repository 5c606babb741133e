/*
 * The keys of a recording that answer for something: the best for CPU and memory, the mean of a key, the same
 * of each process. Found by the topics of its registry; NULL: it has none.
 */
#ifndef METRON_VIEW_PLOT_KEYS_H
#define METRON_VIEW_PLOT_KEYS_H

#include <stdbool.h>

#include "base/error.h"
#include "schema/recording.h"

#define PLOT_KEY_SIZE 96 /* a longer name is no key */

/* The same quantity of each process: "proc_rss" of "proc_rss_total", "rss" of "total_rss". */
const struct recorded_key *plot_key_per_process(const struct recording *recording,
                                                const struct recorded_key *total);
/* The mean that the recording has of a key: "proc_ave_rss_total" of "proc_rss_total". */
const struct recorded_key *plot_key_of_mean(const struct recording *recording,
                                            const struct recorded_key *key);
/* The first of a topic that is no mean. */
const struct recorded_key *plot_key_of(const struct recording *recording, enum topic topic, enum unit unit,
                                       enum type type, enum scope scope);

const struct recorded_key *plot_key_of_cpu(const struct recording *recording);
/* The total of what each process has. */
const struct recorded_key *plot_key_of_memory_total(const struct recording *recording);
/* What the answer to "how much memory?" was taken from, or the first other method that has a curve. */
const struct recorded_key *plot_key_of_headline_memory(const struct recording *recording);
/* The key whose peak a method's is ("smaps_peak_pss_total"), if it has a curve; the method may be NULL. */
const struct recorded_key *plot_key_of_method(const struct recording *recording, const char *source);

/* The key that --cpu or --memory names, in one of two units. 0 or -EINVAL. */
int plot_key_asked(const struct recording *recording, const char *name, const char *option,
                   const enum unit units[2], const struct recorded_key **out, struct metron_error *error);
/* Says that the recording has no such key, and which one is near: -EINVAL. */
int plot_key_unknown(const struct recording *recording, const char *name, const char *option,
                     struct metron_error *error);

#endif
