/* Jobs and their sheets, for people: from the answers of job.list and job.profile, and for job.report. */
#ifndef METRON_VIEW_JOB_TABLE_H
#define METRON_VIEW_JOB_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* {"jobs": […]}: a row each. `now`: unix seconds; `width`: columns of the screen, 0: nothing is cut. */
void job_table_write(struct strbuf *out, const char *json, size_t length, double now, size_t width);
/* One job: what it used, each number with its method, then its sheets. */
void job_page_write(struct strbuf *out, const char *json, size_t length, double now, size_t width);

/* What happened to its processes, as far as events tell. */
struct job_happenings {
    uint64_t failed;  /* exits with another code than 0 */
    uint64_t unknown; /* exits of which nobody knows how */
    uint64_t signals, kills, ooms;
};
/* The same page with that (NULL: not known) and with its system calls; lines are not broken. */
void job_report_write(struct strbuf *out, const char *json, size_t length,
                      const struct job_happenings *happenings, double now);

#endif
