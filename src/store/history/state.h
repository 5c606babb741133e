/*
 * What an open history knows, shared by the files of this folder that write.
 *
 * Everything that a transaction changes here is kept twice, as it was committed and as it is being written,
 * so that a transaction that failed changes nothing: `known` and `next`, `committed` and `counters`.
 */
#ifndef METRON_STORE_HISTORY_STATE_H
#define METRON_STORE_HISTORY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "store/history/database.h"
#include "store/history/history.h"

/* A process as it was last written. */
struct known_process {
    uint64_t serial, image;
    pid_t pid, ppid;
    int64_t row, origin; /* in processes */
    int64_t command;     /* 0: not known */
    int64_t command_hour;
    bool has_started, has_sheet;
    double started; /* unix seconds */
    int64_t job;    /* 0: of none */
    int64_t sheet;
    int membership;
    int64_t sample;
    /* What its row of samples holds, with the values of its columns; an equal one needs no other row. */
    char state;
    uint64_t calls;   /* a hash of them; 0: none */
    uint64_t present; /* a bit for each column; of those without one the value is 0 */
};

struct known_processes {
    struct known_process *entries; /* owned; by pid, as the snapshot has them */
    union stored_value *values;    /* owned; of each entry one per column */
    size_t count, capacity, value_capacity;
};

/* The last ids given. */
struct history_counters {
    int64_t tick, sample, process, progress;
    int64_t full_sample; /* the first sample when all were last written; none that still holds is older */
    double full_wall;    /* when that was */
    double elapsed_ms;   /* that all snapshots up to the last one stand for */
    double wall, uptime; /* of the last snapshot; uptime < 0: none in this session */
    double clock;        /* of the last snapshot: the retention clock, seconds */
    bool has_clock_offset;
    double clock_offset; /* its distance to CLOCK_BOOTTIME */
    uint64_t progress_hash;
};

enum history_statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_DATA_VERSION,
    SQL_CLOCK_FIND,
    SQL_CLOCK_ADD,
    SQL_COMMAND_FIND,
    SQL_COMMAND_ADD,
    SQL_COMMAND_TOUCH,
    SQL_PROCESS_ADD,
    SQL_PROCESS_END,
    SQL_SAMPLE_ADD,
    SQL_SAMPLE_END,
    SQL_SAMPLES_END,
    SQL_CALLS_ADD,
    SQL_CALLS_LATEST,
    SQL_PROGRESS_ADD,
    SQL_TICK_ADD,
    SQL_EVENT_ADD,
    SQL_JOB_FIND,
    SQL_JOB_ADD,
    SQL_JOB_SET,
    SQL_JOB_HOTSPOTS,
    SQL_JOB_CALLS,
    SQL_MEMBERS_SET,
    SQL_MEMBERS_END,
    SQL_SHEET_SET,
    SQL_MINUTE_NEXT,
    SQL_MINUTE_MEANS,
    SQL_MINUTE_SAMPLES_END,
    SQL_MINUTE_SAMPLES_ADD,
    SQL_MINUTE_ADD,
    SQL_MEANS_MAKE,
    SQL_MEANS_CLEAR,
    SQL_COUNT,
};

struct known_job;
struct rollup;
struct prune;

struct history {
    char *path;                     /* owned */
    char *set_aside;                /* owned */
    struct metron_error remark;     /* to be reported with the next snapshot that is written; code 0: none */
    int reported;                   /* code of the last remark that was */
    bool is_over_cap;               /* because of running jobs */
    int fd;                         /* of the file, locked; -1: not connected */
    ino_t companions[2];            /* its log and the index of that, which SQLite has open; 0: none */
    struct history_options options; /* with the defaults filled in */
    sqlite3 *database;
    struct {
        char *sql; /* owned */
        sqlite3_stmt *compiled;
    } statements[SQL_COUNT];
    bool loaded; /* the counters are what the file says */
    int64_t data_version;
    struct history_counters counters, committed;
    struct known_processes known, next;
    struct known_job *jobs; /* owned; uthash by name */
    struct strbuf text;     /* scratch */
    struct rollup *rollup;  /* owned */
    struct prune *prune;    /* owned */
};

/* A statement that is prepared at its first use and kept, reset; NULL: it cannot be prepared. */
sqlite3_stmt *history_statement(struct history *history, enum history_statement which);
/* Steps one that gives no rows, and resets it: 0 or a negative errno. */
int history_run(struct history *history, sqlite3_stmt *compiled);

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length); /* FNV-1a; begin with HASH_BEGIN */
#define HASH_BEGIN UINT64_C(14695981039346656037)

/* statements.c */
extern const char *const history_sql[SQL_COUNT];

/* connection.c: the file. history_connect leaves a connection of which nothing is loaded. */
int history_connect(struct history *history, struct metron_error *error);
void history_disconnect(struct history *history);
/* Whether the files that are open still have their names. If not, nobody will find what is written to them:
 * history_leave disconnects, with everything in the file, wherever that is now. */
bool history_is_in_place(const struct history *history);
void history_leave(struct history *history);
/* Size of the WAL file on disk; 0: there is none. */
int64_t history_log_bytes(const struct history *history);
/* Renames the file and what belongs to it; disconnected. */
int history_put_aside(struct history *history, struct metron_error *error);

/* write.c: a transaction, in which the counters are what the file says. */
int history_begin(struct history *history);
int history_commit(struct history *history);
void history_rollback(struct history *history);

/* clock.c: the retention clock (in history->counters) for a snapshot that was taken at this CLOCK_BOOTTIME.
 */
int retention_clock_advance(struct history *history, double boot_seconds);
/* As rows have it. */
static inline int64_t retention_clock(const struct history *history)
{
    return (int64_t)history->counters.clock;
}

/* processes.c: `wall` of the snapshot in unix seconds. Fills `next`. */
int processes_write(struct history *history, const struct snapshot *snapshot, double wall);
void known_processes_fini(struct known_processes *processes);
int command_row(struct history *history, const char *text, int64_t hour, int64_t *out);

/* jobs.c */
int jobs_write(struct history *history, const struct snapshot *snapshot);
/* {"read": [count, seconds], …} into history->text. 0 or -ENOMEM. */
int calls_text(struct history *history, const struct snapshot_call *calls, size_t count);
/* What their processes called most: as it was counted for the whole job; else, of those that ended, the sum.
 * After processes_write. */
int jobs_write_hotspots(struct history *history, const struct snapshot *snapshot);
int job_row(struct history *history, const char *name, int64_t *out); /* 0: none */
void jobs_forget(struct history *history);

/* members.c: the members of the job in this row, none once it has ended. `hash`: of those that it has, 0: not
 * known. */
int members_write(struct history *history, int64_t row, const struct job *job, uint64_t *hash);

/* minutes.c: 1: did a step; 0: there is nothing to do. */
int minutes_step(struct history *history, double now);
void minutes_forget(struct history *history); /* what is under way, and what holds */
void minutes_free(struct history *history);

/* retention.c, the same. */
int retention_step(struct history *history);
/* How large SQLite's log may be after a write. */
int64_t retention_log_limit(const struct history_options *options);
/* After a write: the file and its log are not left larger than the cap or, if the file was larger, than it
 * was. */
void retention_keep_to_cap(struct history *history);
void retention_free(struct history *history);

#endif
