/*
 * A job: a named unit of work, and its numbered steps, the sheets. What it was told to be, how far it is, and
 * what it has used; plain data, as the daemon keeps it and the store has it.
 */
#ifndef METRON_SCHEMA_JOB_H
#define METRON_SCHEMA_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/json.h"

#define JOB_ID_MAX 255 /* bytes of a job's name: any text but control characters, not empty */

/* JOB_LOST: it ran when the daemon was last heard of, and nothing of it is left. */
enum job_status { JOB_RUNNING, JOB_COMPLETED, JOB_FAILED, JOB_CANCELLED, JOB_LOST };
enum sheet_status { SHEET_RUNNING, SHEET_RETRYING, SHEET_COMPLETED, SHEET_FAILED, SHEET_LOST };
const char *job_status_name(enum job_status status);
/* The status that an outcome's word (completed, failed, cancelled; success and failure too) means; -EINVAL.
 */
int job_status_of_outcome(const char *outcome, size_t length, enum job_status *out);
const char *sheet_status_name(enum sheet_status status);

/* What a job or one of its sheets has used so far, each number by its own method; 0 with no bit: absent. */
enum usage_has {
    USAGE_HAS_CPU = 1 << 0,
    USAGE_HAS_RSS = 1 << 1,
    USAGE_HAS_PSS = 1 << 2,
    USAGE_HAS_HWM = 1 << 3,
    USAGE_HAS_CGROUP_MEMORY = 1 << 4,
    USAGE_HAS_CGROUP_CPU = 1 << 5,
    USAGE_HAS_IO = 1 << 6,
    USAGE_HAS_OOM_KILLS = 1 << 7,
};

struct job_usage {
    unsigned has;
    double cpu_seconds;         /* the ledger's: conserved over its processes */
    bool cpu_is_low;            /* and a lower bound: some exited while no daemon watched */
    double cgroup_cpu_seconds;  /* of its own control group */
    uint64_t peak_rss_bytes;    /* largest sum over its processes at one instant: counts shared pages twice */
    uint64_t peak_pss_bytes;    /* the same of PSS */
    uint64_t largest_hwm_bytes; /* high-water mark of the largest single process */
    uint64_t peak_cgroup_bytes; /* charged to its own control group, page cache included */
    uint64_t oom_kills;         /* in its own control group */
    uint64_t read_bytes, write_bytes;
    uint64_t spawned, exited; /* a lower bound unless spawned_is_exact */
    bool spawned_is_exact;
    uint64_t unique_processes; /* seen alive, or told of */
    uint64_t peak_processes;   /* at one instant */
};

/* Whether it has a control group of its own: in force, or asked for in vain. */
enum own_cgroup { OWN_CGROUP_NOT_TOLD, OWN_CGROUP_REFUSED, OWN_CGROUP_HELD };

struct snapshot_call; /* schema/snapshot.h */

/* A process of a job that runs, and what it used until the job's usage was taken. */
struct job_member {
    pid_t pid;
    uint64_t start_ticks;
    double cpu_seconds;       /* its own and that of children it waited for */
    double child_cpu_seconds; /* the latter alone */
    uint64_t read_bytes, write_bytes;
    bool has_sheet;
    int64_t sheet_num;
};

struct job_sheet {
    int64_t number;
    enum sheet_status status;
    pid_t pid;                /* announced with it; 0: none */
    uint64_t pid_start_ticks; /* which process that was; 0: it was not seen */
    pid_t runner;             /* the process that will report its end; 0: none is known */
    uint64_t runner_start_ticks;
    enum own_cgroup own_cgroup;
    struct timespec started, ended; /* ended: 0 while it runs */
    unsigned tries;
    struct job_usage usage;
    const struct snapshot_call *calls; /* of all its processes, most time first; NULL: not counted */
    size_t call_count;
};

struct job {
    const char *id;
    const char *workspace, *config_hash; /* NULL: not told */
    bool has_total;
    int64_t total_sheets;
    enum job_status status;
    pid_t pid; /* announced with it; 0: none */
    uint64_t pid_start_ticks;
    pid_t runner; /* as of a sheet */
    uint64_t runner_start_ticks;
    enum own_cgroup own_cgroup;
    uid_t owner; /* who began it */
    struct timespec started, ended;
    struct job_usage usage;            /* of all its processes, sheets or not */
    const struct snapshot_call *calls; /* likewise, most time first; NULL: not counted */
    size_t call_count;
    struct job_sheet *sheets; /* by number */
    size_t sheet_count;
    const struct job_member *members; /* while it runs, for the store alone */
    size_t member_count;
    uint64_t members_ticks; /* when they were read, in kernel ticks since boot; 0: not known */
};

/* The CPU seconds to show first, and the JSON key of the method: its own group's count, which misses nothing,
 * else (or where the group was removed before its last reading) the ledger's. NULL: not measured. */
const char *job_usage_cpu(const struct job_usage *usage, double *seconds);
void job_usage_json(struct json *json, const struct job_usage *usage); /* an object */
/* The members of that object, for one that is open already. */
void job_usage_members_json(struct json *json, const struct job_usage *usage);
/* `syscall_hotspots` of an object that is open: calls by name; nothing if `calls` is NULL. */
void job_calls_json(struct json *json, const struct snapshot_call *calls, size_t count);
void job_sheets_json(struct json *json, const struct job *job); /* an array */
void job_json(struct json *json, const struct job *job);        /* with its sheets */
/* The members of that object, for one that is open already. */
void job_members_json(struct json *json, const struct job *job);

#endif
