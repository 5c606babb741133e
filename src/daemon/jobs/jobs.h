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
#ifndef METRON_DAEMON_JOBS_JOBS_H
#define METRON_DAEMON_JOBS_JOBS_H

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
/* Which boot of the machine this is: how long a job from another one has run is not known. */
void jobs_note_boot(struct jobs *jobs, const char *boot_id);

/* All processes that are watched are of one user, and may join any job. */
void jobs_note_one_user(struct jobs *jobs);

struct job_start {
    const char *job_id;
    const char *workspace, *config_hash; /* NULL: not told */
    bool has_total;
    int64_t total_sheets;
    pid_t pid;       /* this process and all its descendants are the job's; 0: none is told */
    pid_t runner;    /* this one will report the end; no member; 0: none is known */
    bool own_cgroup; /* and so is all of the control group that it is in */
    uid_t owner;     /* who began it: only this user's processes join it by a variable or a control group */
};

/* The same of a sheet. */
struct sheet_start {
    pid_t pid, runner;
    bool own_cgroup;
};

enum sheet_event { SHEET_EVENT_STARTED, SHEET_EVENT_COMPLETED, SHEET_EVENT_FAILED, SHEET_EVENT_RETRYING };
/* "sheet.started", …; false: it is none of them. */
bool sheet_event_of(const char *name, size_t length, enum sheet_event *out);

/* Whether a user may have a process in a job: it, or a process that it descends from, is that user's. True
 * also if there is no such process. */
bool jobs_may_announce(struct jobs *jobs, pid_t pid, uid_t uid);

/* 0; 1: a run within this one had begun it, and now it is this one's. -EEXIST: a job of this name runs;
 * -EINVAL: no name for a job, or no count of sheets; -ENOSPC: too many; -ESRCH: there is no such process, or
 * it is not watched. A group that is not the job's alone is no error: the job's own_cgroup tells. */
int jobs_start(struct jobs *jobs, const struct job_start *start, struct metron_error *error);
/* Whether one runner descends from the other; 0 is none. */
bool jobs_runs_within(struct jobs *jobs, pid_t inner, pid_t outer);
/* -ENOENT: no such job runs. -EPERM: `start->runner` descends from the runner of this sheet, which runs. A
 * pid that has exited since is no error, but nobody is in the sheet then. A runner that is not watched is not
 * known. `reported`: what the client says it used, and how its command ended; NULL: nothing. */
int jobs_sheet(struct jobs *jobs, const char *job_id, int64_t sheet_num, enum sheet_event event,
               const struct sheet_start *start, const struct job_usage *reported, struct metron_error *error);
int jobs_finish(struct jobs *jobs, const char *job_id, enum job_status status,
                const struct job_usage *reported, struct metron_error *error);
/* A process has ended: if a job or sheet was announced with it, that is how its command ended. */
void jobs_note_end(struct jobs *jobs, const struct process *process);
/* A job from before a restart goes on, as the store has it. 0 or a negative errno. */
int jobs_restore(struct jobs *jobs, const struct job *job);
/* A job that ended and nobody reported how. */
typedef void jobs_lost(void *context, const struct job *job);
/* After the first pass: of those from before, the ones that nothing is left of are lost, and ended when the
 * daemon was last heard of. */
void jobs_settle_restored(struct jobs *jobs, struct timespec last_heard, jobs_lost *lost, void *context);
/* After each pass, at a monotonic time: jobs and sheets that nothing was left of for so long are lost. */
void jobs_lose_abandoned(struct jobs *jobs, uint64_t now_ns, uint64_t patience_ns, jobs_lost *lost,
                         void *context);

/* A process that no sheet has was first seen, or is another program: it is of the job whose name it
 * inherited, if that runs and is its user's; and of the sheet. May be called inside a pass: the process joins
 * its group at once, and the tables of jobs and sheets stay as they are until the pass is over. */
void jobs_claim(struct jobs *jobs, struct process *process);

/* After each pass: the sheets begin whose processes it found, and a process in a job's own control group that
 * is in no job yet is the job's. */
void jobs_end_pass(struct jobs *jobs);

/* The job, running or remembered; NULL. Borrowed until the next call that changes jobs. */
const struct job *jobs_find(const struct jobs *jobs, const char *job_id);
/* Which job a process is of; NULL: none. */
const struct job *jobs_of_process(const struct jobs *jobs, pid_t pid);
void jobs_visit(const struct jobs *jobs, void (*visit)(void *context, const struct job *job), void *context);
unsigned jobs_running(const struct jobs *jobs);
unsigned jobs_active_sheets(const struct jobs *jobs);

/* Where what their processes have called is added up, borrowed; NULL: it is not counted (any more). */
struct call_books;
struct call_book_key;
void jobs_keep_calls(struct jobs *jobs, struct call_books *books);
/* The serial of its group, by which the books know it; false: there is no such job. */
bool jobs_serial(const struct jobs *jobs, const char *job_id, uint64_t *serial);
/* The books of a job have changed: takes what they have; told to the store with the rest, or with the next
 * snapshot. */
void jobs_take_calls(struct jobs *jobs, const char *job_id);
void jobs_calls_counted(struct jobs *jobs, struct call_book_key key);

/* After a pass: what they have used, into the snapshot. -ENOMEM: the snapshot lacks some. */
int jobs_observe(struct jobs *jobs, struct snapshot *snapshot);
/* Between two passes: those that have changed since they were last copied, into an empty snapshot. -ENOMEM:
 * it lacks some. */
int jobs_copy_changed(struct jobs *jobs, struct snapshot *snapshot);
/* The store has taken the snapshot, or there is none: what was kept for it is let go. */
void jobs_told(struct jobs *jobs);
/* It has not: its jobs go with the next one. */
void jobs_tell_again(struct jobs *jobs, const struct snapshot *snapshot);
/* The next snapshot has all that run, whatever they had told before. */
void jobs_tell_running(struct jobs *jobs);
/* The store has lost some of what it took, or begun anew: the next snapshot has all that are known. */
void jobs_tell_all(struct jobs *jobs);

#endif
