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

#include "base/error.h"
#include "base/json.h"
#include "base/json_reader.h"

#define JOB_ID_MAX 255 /* bytes of a job's name: any text but control characters, not empty */

/* JOB_LOST: it ran when the daemon was last heard of, and nothing of it is left. */
enum job_status { JOB_RUNNING, JOB_COMPLETED, JOB_FAILED, JOB_CANCELLED, JOB_LOST };
enum sheet_status { SHEET_RUNNING, SHEET_RETRYING, SHEET_COMPLETED, SHEET_FAILED, SHEET_LOST };
extern const char *const job_status_names[], *const sheet_status_names[];
/* The status that an outcome's word (completed, failed, cancelled; success and failure too) means; -EINVAL.
 */
int job_status_of_outcome(const char *outcome, size_t length, enum job_status *out);

/* What a job or one of its sheets has used so far, each value by its own method: bytes, seconds and counts.
 */
enum job_usage_value {
    USAGE_CPU,         /* seconds; the ledger's: conserved over its processes */
    USAGE_CGROUP_CPU,  /* seconds, of its own control group */
    USAGE_PEAK_RSS,    /* largest sum over its processes at one instant: counts shared pages twice */
    USAGE_PEAK_PSS,    /* the same of PSS */
    USAGE_LARGEST_HWM, /* high-water mark of the largest single process */
    USAGE_PEAK_CGROUP, /* charged to its own control group, page cache included */
    USAGE_OOM_KILLS,   /* in its own control group */
    USAGE_READ,        /* bytes */
    USAGE_WRITTEN,     /* bytes */
    USAGE_SPAWNED,     /* a lower bound unless the flag below is set; so is the next */
    USAGE_EXITED,
    USAGE_SPAWNED_IS_EXACT,      /* a flag: 0 or 1 */
    USAGE_UNIQUE_PROCESSES,      /* seen alive, or reported */
    USAGE_PEAK_PROCESSES,        /* at one instant */
    USAGE_MEMORY_LIMIT,          /* bytes: the lowest of its own control group and those above it */
    USAGE_CPU_PERIODS,           /* of the CPU quota of its own control group, or of one above it, */
    USAGE_CPU_THROTTLED_PERIODS, /* and those in which it was used up: since the group was announced */
    USAGE_CPU_IS_LOW,            /* a flag: the ledger's is a lower bound */
    USAGE_EXIT_CPU,              /* seconds, as the kernel reported at each exit */
    USAGE_RUSAGE_CPU,    /* seconds, of processes that were waited for: what nobody waited for is missing */
    USAGE_SHEETS_CPU,    /* seconds: the sum of what its sheets used, each by its best method */
    USAGE_RUSAGE_RSS,    /* bytes: the largest process that was waited for, or its parent when it forked */
    USAGE_WALL,          /* seconds since it began, by the clock that nobody can set */
    USAGE_BOOT_AT_START, /* that clock when it began, in seconds since boot, */
    USAGE_BOOT,          /* and a number for that boot */
    USAGE_EXIT_CODE,     /* of its command: nothing it used, but kept and stored in the same way */
    USAGE_SIGNAL,        /* likewise, the one that ended it */
    USAGE_IS_WITHIN,     /* a flag: a sheet that ran within another one, which has used all of it */
    USAGE_LEFT_CGROUP,   /* a flag: a process was outside its own control group, and not counted there */
    USAGE_COUNT
};

struct job_usage {
    uint32_t present;            /* a bit for each value */
    double numbers[USAGE_COUNT]; /* 0 where it is absent */
};

/* How a value is written; the JSON, the tables of the history and their readers walk this table. */
struct job_usage_column {
    const char *name;   /* in the JSON; NULL: it is not there */
    const char *stored; /* in the tables */
    enum job_usage_kind {
        USAGE_COUNTED, /* the number */
        USAGE_SECONDS, /* a real number */
        USAGE_MEMORY,  /* in the JSON MiB, in the tables bytes */
        USAGE_FLAG,    /* in the JSON a boolean */
    } kind;
    enum {
        USAGE_ADDS_UP = 1,   /* what was used before, in another try or under another daemon, is added */
        USAGE_FROM_ZERO = 2, /* as long as nothing was counted it is 0, not absent */
    } traits;
};
extern const struct job_usage_column job_usage_columns[USAGE_COUNT];

#define USAGE_BIT(VALUE) (UINT32_C(1) << (VALUE))

static inline bool usage_has(const struct job_usage *usage, enum job_usage_value value)
{
    return usage->present & USAGE_BIT(value);
}

/* Whether it is written. */
static inline bool usage_is_known(const struct job_usage *usage, enum job_usage_value value)
{
    return usage_has(usage, value) || job_usage_columns[value].traits & USAGE_FROM_ZERO;
}

static inline void usage_set(struct job_usage *usage, enum job_usage_value value, double number)
{
    usage->numbers[value] = number;
    usage->present |= USAGE_BIT(value);
}

static inline void usage_forget(struct job_usage *usage, enum job_usage_value value)
{
    usage->numbers[value] = 0;
    usage->present &= ~USAGE_BIT(value);
}

/* How its command ended: one of the two at most is known. */
static inline void usage_forget_outcome(struct job_usage *usage)
{
    usage_forget(usage, USAGE_EXIT_CODE);
    usage_forget(usage, USAGE_SIGNAL);
}

static inline void usage_set_outcome(struct job_usage *usage, enum job_usage_value how, double number)
{
    usage_forget_outcome(usage);
    usage_set(usage, how, number);
}

/* Of a peak the largest stays. */
static inline void usage_raise(struct job_usage *usage, enum job_usage_value value, double number)
{
    usage_set(usage, value, number > usage->numbers[value] ? number : usage->numbers[value]);
}

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

/* The CPU seconds to show first, and the JSON key of the method: the first that misses nothing (its own
 * group's count, the exits, the ledger's). None counts too much: where another has more than that, or each is
 * a lower bound, it is the largest, and a lower bound itself. NULL: not measured. */
const char *job_usage_cpu(const struct job_usage *usage, double *seconds, bool *is_low);
void job_usage_json(struct json *json, const struct job_usage *usage); /* an object */
/* Reads what a client reports: such an object, each value checked. Of `cpu_seconds` with a `cpu_source` it
 * takes that method's value. -EINVAL: a member is of another type or out of its range; the message names it.
 */
int job_usage_parse(const struct json_text *object, struct job_usage *out, struct metron_error *error);
/* How long it has run: until now, or until its end. False: not known. */
bool job_wall_seconds(const struct job_usage *usage, bool has_ended, double *seconds);
/* The members of that object, for one that is open already. */
void job_usage_members_json(struct json *json, const struct job_usage *usage);
/* Takes the value of a member of that object off the reader. False: it is no value of the usage. */
bool job_usage_read(struct json_reader *reader, const struct json_text *key, struct job_usage *usage);
/* `syscall_hotspots` of an object that is open: calls by name; nothing if `calls` is NULL. */
void job_calls_json(struct json *json, const struct snapshot_call *calls, size_t count);
/* How long it took, and how its command ended, into an object that is open: what is known of it. */
void job_end_json(struct json *json, const struct job_usage *usage, struct timespec ended);
void job_sheets_json(struct json *json, const struct job *job); /* an array */
void job_json(struct json *json, const struct job *job);        /* with its sheets */
/* The members of that object, for one that is open already. */
void job_members_json(struct json *json, const struct job *job);

#endif
