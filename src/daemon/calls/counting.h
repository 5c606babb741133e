/*
 * The daemon's counting of the system calls of jobs (setting strace-enabled): by our programs in the kernel,
 * process by process (member_calls.h); where those cannot be had by strace, sheet by sheet (sheet_straces.h).
 *
 * All but counting_new take NULL for a daemon that does not count, and do nothing.
 */
#ifndef METRON_DAEMON_CALLS_COUNTING_H
#define METRON_DAEMON_CALLS_COUNTING_H

#include <uv.h>

#include "daemon/jobs/jobs.h"
#include "loop/kernel_events.h"

struct counting;

/* All are borrowed. NULL for want of memory. */
struct counting *counting_new(uv_loop_t *loop, struct tree *tree, struct jobs *jobs,
                              const struct kernel_events *events);
void counting_free(struct counting *counting); /* before the jobs, after the loop has ended */
/* The daemon is about to end. */
void counting_stop(struct counting *counting);
const char *counting_method(const struct counting *counting); /* "bpf", "strace"; NULL: nothing is counted */

/* Before a job or a sheet begins or ends: what was called until now belongs to those of before. */
void counting_settle(struct counting *counting);
/* A job has begun or ended. */
void counting_job(struct counting *counting, const char *job_id);
/* A sheet of it has; `pid`: the process announced with it, 0: none. */
void counting_sheet(struct counting *counting, const char *job_id, int64_t sheet_num, enum sheet_event event,
                    pid_t pid);
/* A process leaves the tree; its group is still known. */
void counting_end(struct counting *counting, const struct process *process);
/* A snapshot is to be filled. */
void counting_tick(struct counting *counting, struct snapshot *snapshot);

#endif
