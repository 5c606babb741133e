/*
 * The report of a run: one page on how it ended and why, what it used by every method, what its processes
 * did, and what to do next. Made in two steps: the evidence is gathered from the files of the recording, in
 * bounded memory; then the page is written from it.
 */
#ifndef METRON_VIEW_REPORT_REPORT_H
#define METRON_VIEW_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "learn/parallelism.h"
#include "schema/recording.h"
#include "schema/run_info.h"
#include "view/report/events.h"
#include "view/report/measures.h"
#include "view/report/page.h"
#include "view/report/processes.h"

/* Lines of a file that were passed over. */
struct report_damage {
    size_t lines, first; /* the number of the first, from 1 */
};

/* All that a report is made of. A test may fill it in by hand. */
struct report_evidence {
    const struct recording *recording; /* with its keys */
    struct report_measures measures;
    struct headline headline; /* of a run without a summary: made from its records */
    struct parallelism parallelism;
    struct report_processes *processes;
    struct report_events events;
    bool has_usage, has_events;
    size_t record_count;
    double last_elapsed; /* seconds after the start, of the last record; -1: none */
    struct report_damage usage_damage, events_damage;
};

/* Reads the records and the events. A file that is not there is no error (it is told on the page); one that
 * cannot be read is. fini is safe after either. `recording` must outlive the evidence. */
int report_evidence_read(struct report_evidence *evidence, const struct recording *recording,
                         struct metron_error *error);
void report_evidence_fini(struct report_evidence *evidence);

/* Writes the page; the evidence must outlive it. 0 or -ENOMEM. */
int run_report_page(const struct report_evidence *evidence, struct report_page *page);

/* Its sections, each in a file of its own; they add nothing where nothing was measured. */
void report_head(struct report_page *page, const struct report_evidence *evidence);
void report_outcome(struct report_page *page, const struct report_evidence *evidence);
void report_cpu(struct report_page *page, const struct report_evidence *evidence);
void report_parallelism(struct report_page *page, const struct report_evidence *evidence);
void report_memory(struct report_page *page, const struct report_evidence *evidence);
void report_stalls(struct report_page *page, const struct report_evidence *evidence);
void report_io(struct report_page *page, const struct report_evidence *evidence);
void report_devices(struct report_page *page, const struct report_evidence *evidence);
void report_top_processes(struct report_page *page, const struct report_evidence *evidence);
/* Its tables for the screen, in a file of their own; `title` says whose. */
void report_largest_ends(struct report_section *section, const struct report_events *events);
void report_largest_sampled(struct report_section *section, const struct report_processes *processes,
                            const char *title);
const char *report_column_title(struct report_page *page, const struct recorded_key *key);
void report_compilations(struct report_page *page, const struct report_evidence *evidence);
void report_happened(struct report_page *page, const struct report_evidence *evidence);
void report_syscalls(struct report_page *page, const struct report_evidence *evidence);
void report_anomalies(struct report_page *page, const struct report_evidence *evidence);
void report_self(struct report_page *page, const struct report_evidence *evidence);
void report_missing(struct report_page *page, const struct report_evidence *evidence);
void report_advice(struct report_page *page, const struct report_evidence *evidence);

/* CPU seconds of the run, by the headline. False: not measured. `source` and `note` may be NULL inside. */
bool report_cpu_seconds(const struct report_evidence *evidence, double *seconds, const char **source,
                        const char **note);
/* Why it may have used less CPU than it could. */
struct cpu_shortage report_cpu_shortage(const struct report_evidence *evidence);
/* How long it took, or has taken until its last record. */
bool report_wall(const struct report_evidence *evidence, double *seconds);

#endif
