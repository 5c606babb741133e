/*
 * A job or a sheet as the daemon tells it (schema/job.c), as much of it as is shown: for view/job_table.c and
 * view/job_page.c.
 */
#ifndef METRON_VIEW_JOB_PART_H
#define METRON_VIEW_JOB_PART_H

#include <stdbool.h>

#include "base/json_reader.h"
#include "base/strbuf.h"
#include "schema/job.h"

/* An absent number is NAN. */
struct job_part {
    struct strbuf name, status, workspace, config_hash; /* printable */
    double pid, started, ended, wall_seconds, total_sheets, exit_code, signal_num;
    double cpu_seconds;      /* by the method to show first */
    struct job_usage usage;  /* by every method */
    bool cpu_is_low;         /* cpu_seconds is a lower bound */
    struct json_text sheets; /* an array as it came, borrowed; empty: none */
    struct json_text calls;  /* an object, the same */
};

/* Takes one value off the reader. To be released in any case. */
void job_part_read(struct json_reader *reader, struct job_part *part);
void job_part_fini(struct job_part *part);
double job_part_wall(const struct job_part *part, double now); /* seconds; NAN: not begun */
/* Its status, with the exit code or signal where that says more. */
void job_part_status(const struct job_part *part, struct strbuf *out);

/* Which of its peaks is shown first. */
enum job_memory { JOB_MEMORY_PSS, JOB_MEMORY_RSS, JOB_MEMORY_HWM, JOB_MEMORY_CGROUP, JOB_MEMORY_COUNT };
extern const enum job_usage_value job_memory_values[JOB_MEMORY_COUNT];
/* What the processes held together: by PSS, else by RSS, which counts shared pages in each; but a single
 * process that held more than the samples saw is known to have done so. False: none was measured. */
bool job_memory(const struct job_usage *usage, enum job_memory *method);
const char *job_memory_meaning(enum job_memory method);

/* A table of jobs or sheets: takes an array off the reader; returns how many it had, and adds nothing if that
 * is none. */
size_t job_rows_write(struct strbuf *out, const char *title, struct json_reader *reader, double now,
                      size_t width);

#endif
