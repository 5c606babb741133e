/*
 * A snapshot: what the loop saw of the machine and its jobs at one instant.
 *
 * It is filled once, in the thread that samples, and never changed after that: the thread that stores it and
 * whoever answers a client hold references to the same one. Everything it points to lives in its own arena.
 * A snapshot that nobody holds any more goes back to its pool, with its memory, so that a steady daemon
 * allocates nothing.
 *
 * What was measured is in rows of values (schema/columns.h), one for the machine and one for each process
 * and device; the rest says who they are.
 */
#ifndef METRON_SCHEMA_SNAPSHOT_H
#define METRON_SCHEMA_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/json.h"
#include "schema/columns.h"
#include "schema/event.h"
#include "schema/job.h"

/* How it is known that a process belongs to its job; told with it. */
enum membership {
    MEMBER_OF_NONE,
    MEMBER_BY_CGROUP,   /* it is in the job's own control group */
    MEMBER_BY_EVENTS,   /* the kernel told of its birth from a member */
    MEMBER_BY_DESCENT,  /* its parent was a member when it was first seen */
    MEMBER_BY_VARIABLE, /* it inherited METRON_JOB */
};
const char *membership_name(enum membership membership); /* "cgroup", …; NULL for none */

/* One system call of a process since its job's sheet was started. */
struct snapshot_call {
    const char *name;
    uint64_t count;
    double seconds;
};

struct snapshot_process {
    uint64_t serial; /* which process, as long as this daemon runs: never given twice */
    uint64_t image;  /* which program of it: another one after an exec */
    pid_t pid, ppid;
    uint64_t start_ticks;      /* since boot, in kernel ticks: with the pid, which process, daemon or not */
    const char *command;       /* masked, one line; NULL: not known */
    bool command_is_truncated; /* it is cut, and ends with … */
    char state;                /* as /proc/PID/stat has it */
    bool has_age, has_sheet;
    double age_seconds;
    const char *job_id; /* NULL: of no job */
    int64_t sheet_num;
    enum membership membership;
    struct value_row values;
    const struct snapshot_call *calls; /* most time first; NULL: not counted */
    size_t call_count;
};

struct snapshot_gpu {
    unsigned index; /* the driver's */
    struct value_row values;
};

struct snapshot_job {
    const char *job_id;
    bool has_total, has_completed, has_current;
    int64_t total_sheets, last_completed_sheet, current_sheet;
    const char *status; /* "running", … as schema/job.h names it */
};

struct snapshot_pool;

struct snapshot {
    struct timespec wall;
    uint64_t tick; /* from 1, in this daemon */
    pid_t daemon_pid;
    double uptime_seconds; /* of the daemon */
    double boot_seconds; /* since the machine was booted: how long it is kept goes by this. Not in the JSON */
    const struct snapshot_columns *columns; /* borrowed; of the rows */
    struct value_row machine;
    struct snapshot_process *processes; /* by pid */
    size_t process_count;
    size_t zombie_count;       /* of them, state Z */
    struct snapshot_gpu *gpus; /* NULL: not looked at */
    size_t gpu_count;
    struct snapshot_job *jobs; /* those that run, and those that ended since the snapshot before */
    size_t job_count;
    unsigned running_jobs, active_sheets;
    const char *pressure_level; /* NULL: not known */
    /* For the store and the bus, not part of the JSON: */
    struct event *events; /* since the snapshot before, in their order */
    size_t event_count;
    size_t told_count;        /* the first so many were published before this snapshot was taken */
    size_t event_bytes;       /* of those that snapshot_add_event took */
    struct job *changed_jobs; /* as they are now, with those of their sheets that
                               * changed: begun, ended, or not told for a while */
    size_t changed_job_count;

    struct arena arena;
    struct event *event_list; /* owned: where snapshot_add_event keeps them */
    size_t event_capacity;
    struct snapshot_pool *pool;
    unsigned references; /* atomic */
    struct snapshot *next_free;
};

struct snapshot_pool *snapshot_pool_new(void);
/* Safe while snapshots of it are still held: they take it with them. */
void snapshot_pool_free(struct snapshot_pool *pool);
/* An empty one with one reference; NULL for want of memory. From any thread. */
struct snapshot *snapshot_new(struct snapshot_pool *pool);
struct snapshot *snapshot_hold(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot); /* NULL is nothing */

/* What its rows are of, with a row for the machine in which nothing is there yet. 0 or -ENOMEM. */
int snapshot_set_columns(struct snapshot *snapshot, const struct snapshot_columns *columns);
/* So many processes in its arena, empty but for their rows, in which nothing is there yet; NULL: there is
 * no memory. */
struct snapshot_process *snapshot_make_processes(struct snapshot *snapshot, size_t count);

/* Likewise so many GPUs. */
struct snapshot_gpu *snapshot_make_gpus(struct snapshot *snapshot, size_t count);

/* A copy of the event, with all that it points to. 0 or -ENOMEM: it is as before. */
int snapshot_add_event(struct snapshot *snapshot, const struct event *event);
/* What such a copy takes, about. */
size_t event_bytes(const struct event *event);

/* Memory it takes, for limits on queues. */
size_t snapshot_bytes(const struct snapshot *snapshot);
/* The process with this pid; NULL: none. By binary search. */
const struct snapshot_process *snapshot_find(const struct snapshot *snapshot, pid_t pid);
/* The call that took most of its time, as "read 45%" with its share in percent; false: none counted. */
bool snapshot_hotspot(const struct snapshot_process *process, char *out, size_t size);
/* The array of the GPUs. */
void snapshot_gpus_json(struct json *json, const struct snapshot *snapshot);
/* The object of daemon.top and of the log. `job_id`: only processes, zombies and progress of this job; NULL:
 * all. */
void snapshot_json(struct json *json, const struct snapshot *snapshot, const char *job_id);
/* The members of that object, for one that is open already. */
void snapshot_members_json(struct json *json, const struct snapshot *snapshot, const char *job_id);
/* The members of the object of a process there. */
void snapshot_process_members_json(struct json *json, const struct columns *columns,
                                   const struct snapshot_process *process);
/* Its member `job_progress`, an array. */
void snapshot_progress_json(struct json *json, const struct snapshot *snapshot, const char *job_id);

#endif
