/* Jobs and their sheets, for people: from the answers of job.list and job.profile. */
#ifndef METRON_VIEW_JOB_TABLE_H
#define METRON_VIEW_JOB_TABLE_H

#include <stddef.h>

#include "base/strbuf.h"

/* {"jobs": […]}: a row each. `now`: unix seconds; `width`: columns of the screen, 0: nothing is cut. */
void job_table_write(struct strbuf *out, const char *json, size_t length, double now, size_t width);
/* One job: what it used, each number with its method, then its sheets. */
void job_page_write(struct strbuf *out, const char *json, size_t length, double now, size_t width);

#endif
