/* A table of jobs or sheets, for view/job_table.c and view/job_page.c. */
#ifndef METRON_VIEW_JOB_ROWS_H
#define METRON_VIEW_JOB_ROWS_H

#include <stddef.h>

#include "base/json_reader.h"
#include "base/strbuf.h"

/* Takes an array off the reader; returns how many it had, and adds nothing if that is none. */
size_t job_rows_write(struct strbuf *out, const char *title, struct json_reader *reader, double now,
                      size_t width);

#endif
