/*
 * When a run is sampled and reported. Arithmetic only.
 *
 * An interval that was set is exact: samples lie on start + k x interval (loop/ticker.h), and a report comes
 * with the first sample at or after start + k x interval. Where none was set (auto)
 *  - a sample is due every second, and in the first ten seconds every 0.2, as long as a sample costs little.
 *    Only those of the whole seconds are owed: to leave out another is no missed tick;
 *  - a report comes with the first sample, and then at 1 % of the elapsed time, but no more often than
 * samples and at least once a minute; later, if usage.jsonl would otherwise grow faster than it should on
 * average.
 */
#ifndef METRON_LOOP_PACE_H
#define METRON_LOOP_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/ticker.h"

#define PACE_FAST_NS          200000000ULL   /* between samples at first, where no interval was set */
#define PACE_FAST_UNTIL_NS    10000000000ULL /* since the start */
#define PACE_FAST_COST_NS     4000000ULL     /* a sample that takes as long is followed by no fast one */
#define PACE_BYTES_PER_SECOND 65536          /* of usage.jsonl, on average */
#define PACE_SHARE            100            /* a report interval is such a part of the elapsed time */

/* As the settings have them. */
struct pace_options {
    double sample_seconds, report_seconds; /* auto: between the samples that are owed; at most */
    bool sample_auto, report_auto;
};

struct pace {
    struct pace_options options;
    struct ticker ticker;         /* the samples that are owed */
    uint64_t next_ns;             /* when the next sample is due */
    uint64_t next_report_ns;      /* exact reports: when the next one is due */
    uint64_t reported_ns;         /* the latest report; 0: there was none */
    uint64_t bytes, latest_bytes; /* of all reports, and of the latest */
    bool has_sample;              /* since the latest report */
};

void pace_init(struct pace *pace, const struct pace_options *options);
/* The target runs since then (monotonic). */
void pace_begin(struct pace *pace, uint64_t start_ns);
/* A sample was due and is over, at `now_ns`; it took `cost_ns`, or 0 where nobody was there to be sampled.
 * Sets when the next one is due, and returns how many of those that are owed were missed. */
uint64_t pace_sampled(struct pace *pace, uint64_t now_ns, uint64_t cost_ns);
/* We were stopped: sets when the next sample is due; what lay in between was not missed. */
void pace_resume(struct pace *pace, uint64_t now_ns);

/* After a sample at `now_ns`. */
bool pace_report_is_due(const struct pace *pace, uint64_t now_ns);
/* A report was made, and is so large. */
void pace_reported(struct pace *pace, uint64_t now_ns, uint64_t bytes);
/* Seconds between reports, as they stand at this moment; before the start, the first ones. */
double pace_report_interval(const struct pace *pace, uint64_t now_ns);

/* The least span of a rate in a record and in the summary (reduce/window.h). Ticks come a little early or
 * late: half an interval is enough. Where none was set a peak is of a second all the same, as later in the
 * run. */
uint64_t pace_record_rate_ns(const struct pace *pace);
uint64_t pace_summary_rate_ns(const struct pace *pace);

#endif
