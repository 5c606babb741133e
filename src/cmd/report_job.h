/* metron report JOB: the report of a job that the daemon knows. */
#ifndef METRON_CMD_REPORT_JOB_H
#define METRON_CMD_REPORT_JOB_H

#include "base/error.h"
#include "base/strbuf.h"
#include "settings/settings.h"

/* Its text, or with --json what job.profile answers, into `out`. 0, or a negative errno and the reason: no
 * daemon answers, or it knows no such job. */
int report_job(const struct settings *settings, const char *name, struct strbuf *out,
               struct metron_error *error);

#endif
