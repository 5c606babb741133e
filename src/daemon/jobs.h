/*
 * The jobs that the daemon knows, their sheets, and what they use.
 *
 * A job is announced (job.start), its sheets come and go (sheet.started, …), it is finished with an outcome.
 * Each job and each sheet is a group of the tree (tree/groups.h): who belongs to it is known there. At every
 * tick jobs_observe takes what the groups have used by then and puts it into the snapshot; a job that changed
 * goes with it to the store, whole.
 *
 * Finished jobs are remembered for a while; older ones are in the store alone.
 */
#ifndef METRON_DAEMON_JOBS_H
#define METRON_DAEMON_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "schema/job.h"
#include "schema/snapshot.h"
#include "tree/tree.h"

struct jobs;

struct jobs *jobs_new(struct tree *tree);
void jobs_free(struct jobs *jobs);

struct job_start {
    const char *job_id;
    const char *workspace, *config_hash; /* NULL: not told */
    bool has_total;
    int64_t total_sheets;
    pid_t pid; /* this process and all its descendants are the job's; 0: none is told */
};

enum sheet_event { SHEET_EVENT_STARTED, SHEET_EVENT_COMPLETED, SHEET_EVENT_FAILED, SHEET_EVENT_RETRYING };
/* "sheet.started", …; false: it is none of them. */
bool sheet_event_of(const char *name, size_t length, enum sheet_event *out);

/* -EEXIST: a job of this name runs; -EINVAL: no name for a job, or no count of sheets; -ENOSPC: too many. */
int jobs_start(struct jobs *jobs, const struct job_start *start, struct metron_error *error);
/* -ENOENT: no such job runs. `pid` 0: none is told. */
int jobs_sheet(struct jobs *jobs, const char *job_id, int64_t sheet_num, enum sheet_event event, pid_t pid,
               struct metron_error *error);
int jobs_finish(struct jobs *jobs, const char *job_id, enum job_status status, struct metron_error *error);
/* A job from before a restart goes on, as the store has it. 0 or a negative errno. */
int jobs_restore(struct jobs *jobs, const struct job *job);

/* A process that no group has was first seen: it is of the job whose name it inherited, if that runs. */
void jobs_claim(struct jobs *jobs, struct process *process);

/* The job, running or remembered; NULL. Borrowed until the next call that changes jobs. */
const struct job *jobs_find(const struct jobs *jobs, const char *job_id);
/* Which job a process is of; NULL: none. */
const struct job *jobs_of_process(const struct jobs *jobs, pid_t pid);
void jobs_visit(const struct jobs *jobs, void (*visit)(void *context, const struct job *job), void *context);
unsigned jobs_running(const struct jobs *jobs);
unsigned jobs_active_sheets(const struct jobs *jobs);

/* After a pass: what they have used, into the snapshot. -ENOMEM: the snapshot lacks some. */
int jobs_observe(struct jobs *jobs, struct snapshot *snapshot);
/* The snapshot was lost on its way to the store: its jobs go with the next one. */
void jobs_tell_again(struct jobs *jobs, const struct snapshot *snapshot);
/* The next snapshot has all that run, whatever they had told before. */
void jobs_tell_all(struct jobs *jobs);

#endif
