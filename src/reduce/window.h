/*
 * Windows: from raw readings to records.
 *
 * Each pass of a collector is folded as it comes, in the order derive -> collapse -> reduce; a report closes
 * the window and the last readings of it seed the next. Beside the window runs the summary of the whole run,
 * folded from the same values. Arithmetic only: no clock is read here and nothing is written.
 *
 * The rules, each with a unit test of its name (tests/unit/test_window.c):
 *  - a rate divides by the difference of its own row's stamps;
 *  - a counter that fell gives no value in that window;
 *  - a process first seen has the rate cputime / age only if it was born after the previous pass of that
 * collector, its age taken as at least one kernel tick, the rate as at most the usable cores;
 *  - an ended process keeps what it did in the window in which it ended, and rows that are still brought of
 * it before the next report count in full; after that report nothing is kept of it;
 *  - amounts per state are differenced per state; a state whose amount fell is counted anew;
 *  - a reused pid is another subject (its serial differs);
 *  - a total of per-process counters is the sum of their increments, never the increment of their sum;
 *  - a rate spans at least half a kernel tick, and what the options say: a shorter interval is joined to the
 * next one, and in the summary the rest at the end to the one before;
 *  - means are weighted by time, and every interval counts in them.
 */
#ifndef METRON_REDUCE_WINDOW_H
#define METRON_REDUCE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/pass.h"
#include "schema/record.h"
#include "schema/registry.h"

struct window;

struct window_options {
    uint64_t start_ns;                        /* monotonic: when the target began to be followed */
    uint64_t tick_ns;                         /* a kernel tick */
    uint64_t record_rate_ns, summary_rate_ns; /* the least span of a rate in records; in the summary */
    double usable_cores;                      /* by the target; 0: unknown, nothing is cut */
    double online_cores;                      /* of the machine; likewise */
    bool rates_only;                          /* who asks takes everything else from the passes themselves */
};

/* For the selected measurements of `registry`, which must outlive the window. NULL for want of memory. */
struct window *window_new(const struct registry *registry, const struct window_options *options);
void window_free(struct window *window);

/* Takes the readings of one pass of one source. -ENOMEM: some readings of this pass are lost. */
int window_fold(struct window *window, size_t source_index, const struct pass *pass);
/* The command was started, after the seeds: a counter that stands at 0 is its own, and counts from here on.
 */
void window_begin(struct window *window, uint64_t stamp_ns);
/* One tick at which the target was alive and looked at. */
void window_count_sample(struct window *window);
/* The subject has ended. It is forgotten after the next report, not before: rows that come until then, its
 * first ones included, count as those of the living do. A row that comes later must say itself that it is the
 * last (row.ended), and a collector must not bring the same counters of a subject in two windows after its
 * end: they would be counted twice. */
void window_end_subject(struct window *window, uint64_t serial);

/* Closes the window: fills `record` (its arena is reset; wall and elapsed are the caller's) and begins the
 * next one. */
int window_report(struct window *window, struct record *record);
/* The summary of the run so far: single and per-device values under their statistics' names. */
int window_summarise(const struct window *window, struct record *record);

#endif
