/*
 * One page about a job, for a person or a program that reads text: outcome, time, CPU, memory by every
 * method, processes and how they ended, sheets, system calls.
 */
#ifndef METRON_VIEW_JOB_REPORT_H
#define METRON_VIEW_JOB_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "schema/job.h"
#include "schema/snapshot.h"

/* What happened to its processes, as far as events tell. */
struct job_happenings {
    uint64_t failed; /* exits with another code than 0 */
    uint64_t signals, kills, ooms;
};

struct job_report {
    const struct job *job;
    const struct snapshot_call *calls; /* most time first; NULL: not counted */
    size_t call_count;
    const struct job_happenings *happenings; /* NULL: not known */
    double now;                              /* unix seconds, for a job that runs */
};

void job_report_write(struct strbuf *out, const struct job_report *report);

#endif
