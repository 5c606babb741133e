/*
 * Forgetting: what is older than the settings allow, and the oldest first when the file is larger than it may
 * be. A step deletes a handful of rows of one kind in a transaction of its own.
 *
 * Snapshots, minutes and events go by their age, which is a difference of the retention clock (clock.c). What
 * they pointed to goes when nothing that is left can point to it: samples by their ids, which only grow;
 * processes, commands and system calls by when they were last seen, against the oldest snapshot, minute or
 * event that is left. The newest of each kind stays whatever its age, so that ids go on from it and what is
 * written next can refer to it. A snapshot stays until its minute is made.
 *
 * The cap holds for the file and SQLite's log beside it, after each write: a part of it is the log's, and a
 * write that made the file larger than the rest deletes until it is not. Rows that nothing points to go
 * first, without the grace that they have otherwise; then ended jobs where all jobs take more than half of
 * the file; then what is oldest. Jobs that run stay, and so does the newest: where they leave too little for
 * the rest, the file may be larger than the cap by as much, and the next write reports it once. Of age,
 * deleting begins when something is an hour (or a twenty-fourth of the time it is kept) too old, so that not
 * every tick writes to the front of the file, too; and at once when the history is opened.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "store/history/state.h"

#define STEP_ROWS      2000
#define STEP_PAGES     256 /* given back to the file system in one step */
#define LOOK_SECONDS   60  /* between two looks at what is too old, and at the size */
#define SLACK_SECONDS  3600
#define CAP_HYSTERESIS 16                 /* once over its limit, the file shrinks by this part of it */
#define LOG_PART       8                  /* of the cap is the log's, */
#define LOG_BYTES_MAX  ((int64_t)4 << 20) /* and no more than this */
#define JOBS_PART      2                  /* of the file may be taken by jobs before the ended ones go */
#define REST_PART      8                  /* of the file is left to the rest, whatever running jobs take */
#define GRACE_SECONDS  60                 /* of processes that nothing points to */
#define COMMAND_GRACE  (3 * 3600)         /* no more than this since a command was last needed */
#define FOREVER        9e99

enum kind { TICKS, MINUTES, EVENTS, KINDS };

/* Clocks rise with ids. `none`: what it is where there are no rows. */
#define OLDEST(table, none) "coalesce((SELECT clock FROM " table " ORDER BY id LIMIT 1), " none ")"
/* ?1: older than this; ?2: so many at most. */
#define REMOVE(table, also)                                                                                  \
    "DELETE FROM " table " WHERE id IN (SELECT id FROM (SELECT id, clock FROM " table                        \
    " ORDER BY id LIMIT ?2) WHERE clock < ?1 AND id < (SELECT max(id) FROM " table ")" also ")"

static const struct {
    const char *oldest, *remove;
    int step; /* rows in one step */
} kinds[KINDS] = {
    [TICKS] = {"SELECT " OLDEST("ticks", "-1"),
               REMOVE("ticks", " AND id <= (SELECT last_tick FROM minutes ORDER BY id DESC LIMIT 1)"), 64},
    [MINUTES] = {"SELECT " OLDEST("minutes", "-1"), REMOVE("minutes", ""), 16},
    [EVENTS] = {"SELECT " OLDEST("events", "-1"), REMOVE("events", ""), STEP_ROWS},
};

/* By the wall clock, as is what is compared with it: however that was set, a row that is needed was seen no
 * earlier than what needs it was written, and that is deleted in the order of ids. */
#define OLDEST_LEFT                                                                                          \
    "min(coalesce((SELECT min(timestamp) FROM ticks), 9e99),"                                                \
    " coalesce((SELECT min(minute) * 60.0 FROM minutes), 9e99))"
#define OLDEST_WITH_EVENTS "min(" OLDEST_LEFT ", coalesce((SELECT min(timestamp) FROM events), 9e99))"
/* Jobs outlive the rest: what a job needed is asked for long after. */
#define OLD_JOB                                                                                              \
    "j.id <= (SELECT max(id) FROM jobs) - 10000 AND j.ended_ns IS NOT NULL AND j.clock < min(" OLDEST(       \
        "ticks", "9e99") ", " OLDEST("minutes", "9e99") ", " OLDEST("events", "9e99") ")"

/* Rows to which nothing points any more, each after what could point to it; ?1: seconds of grace; ?2: so
 * many. A command that is in use is marked with its hour every ten minutes: with two hours' grace no row that
 * is left can need it. */
static const char *const sweeps[] = {
    "DELETE FROM samples WHERE id IN (SELECT id FROM samples WHERE id <"
    " (SELECT first_sample FROM ticks ORDER BY id LIMIT 1) ORDER BY id LIMIT ?2)",
    "DELETE FROM calls WHERE sample IN (SELECT sample FROM calls WHERE sample <"
    " (SELECT first_sample FROM ticks ORDER BY id LIMIT 1) ORDER BY sample LIMIT ?2)",
    "DELETE FROM progress WHERE id IN (SELECT id FROM progress WHERE id <"
    " (SELECT progress FROM ticks ORDER BY id LIMIT 1) ORDER BY id LIMIT ?2)",
    "DELETE FROM minute_samples WHERE id IN (SELECT id FROM minute_samples WHERE id <"
    " (SELECT first_sample FROM minutes ORDER BY id LIMIT 1) ORDER BY id LIMIT ?2)",
    "DELETE FROM process_calls WHERE process IN (SELECT p.id FROM process_calls AS c JOIN processes AS p"
    " ON p.id = c.process WHERE p.last_seen < " OLDEST_LEFT " - ?1 LIMIT ?2)",
    "DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE last_seen < " OLDEST_LEFT
    " - ?1 ORDER BY last_seen LIMIT ?2)",
    "DELETE FROM sheets WHERE (job, number) IN (SELECT s.job, s.number FROM jobs AS j CROSS JOIN sheets AS s"
    " ON s.job = j.id WHERE " OLD_JOB " LIMIT ?2)",
    "DELETE FROM jobs WHERE id IN (SELECT j.id FROM jobs AS j WHERE " OLD_JOB
    " AND NOT EXISTS (SELECT 1 FROM sheets WHERE job = j.id) LIMIT ?2)",
    "DELETE FROM commands WHERE id IN (SELECT id FROM commands WHERE used <"
    " CAST(" OLDEST_WITH_EVENTS " / 3600 AS INTEGER) - 2 ORDER BY used LIMIT ?2)",
};
#define SWEEPS ((int)(sizeof(sweeps) / sizeof(*sweeps)))

/* Without the grace: it reads all processes and events, so only the cap asks for it. */
static const char unused_commands[] =
    "DELETE FROM commands WHERE id IN (SELECT id FROM commands WHERE"
    " id NOT IN (SELECT command FROM processes WHERE command IS NOT NULL)"
    " AND id NOT IN (SELECT command FROM events WHERE command IS NOT NULL) LIMIT ?2 * 16)";

/* The newest stays, because the next id follows from it. */
#define OLDEST_ENDED                                                                                         \
    "(SELECT id FROM jobs WHERE status IS NOT 'running' AND id < (SELECT max(id) FROM jobs)"                 \
    " ORDER BY id LIMIT 16)"
static const char *const ended_jobs[] = {
    "DELETE FROM sheets WHERE (job, number) IN (SELECT s.job, s.number FROM " OLDEST_ENDED
    " AS j CROSS JOIN sheets AS s ON s.job = j.id LIMIT ?2)",
    "DELETE FROM jobs WHERE id IN " OLDEST_ENDED " AND NOT EXISTS (SELECT 1 FROM sheets WHERE job = jobs.id)",
};

/* Bytes of jobs with their sheets and members, about: pages with long texts are half empty. */
#define BYTES(column) " + 2 * coalesce(length(CAST(" column " AS BLOB)), 0)"
/* clang-format off */
#define JOB_BYTES(which) \
    "SELECT" \
    "  (SELECT coalesce(sum(200" BYTES("name") BYTES("workspace") BYTES("hotspots") "), 0)" \
    "     FROM jobs WHERE " which ")" \
    "+ (SELECT coalesce(sum(120" BYTES("hotspots") "), 0)" \
    "     FROM sheets WHERE job IN (SELECT id FROM jobs WHERE " which "))" \
    "+ (SELECT coalesce(sum(20" BYTES("members") "), 0)" \
    "     FROM job_members)"
/* clang-format on */
static const char all_job_bytes[] = JOB_BYTES("true");
static const char kept_job_bytes[] = JOB_BYTES("(status = 'running' OR id = (SELECT max(id) FROM jobs))");

struct prune {
    bool running[KINDS]; /* deleting until nothing is too old */
    bool shrinking;      /* deleting until the file is small enough */
    bool sweeps_unused;  /* once in each shrinking: the commands that nothing needs, without grace */
    int64_t job_bytes;   /* of all jobs, while it shrinks */
    bool looking;        /* at the size, after what was deleted */
    double looked;       /* retention clock */
    int sweep;           /* the next one; SWEEPS: none */
    int64_t bytes;       /* of the file after the last write; 0: not known */
};

void retention_free(struct history *history)
{
    free(history->prune);
    history->prune = NULL;
}

/* Runs one deletion; returns the number of rows. */
static int delete_some(struct history *history, const char *sql, double older, int limit)
{
    sqlite3_stmt *statement = NULL;
    int changed = 0, code = history_begin(history);

    if (code == 0)
        code = database_prepare(history->database, sql, &statement);
    if (code == 0) {
        if (sqlite3_bind_parameter_count(statement) >= 1)
            bind_real(statement, 1, true, older);
        bind_integer(statement, 2, true, limit);
        code = history_run(history, statement);
    }
    (void)sqlite3_finalize(statement);
    if (code == 0) {
        changed = sqlite3_changes(history->database);
        code = history_commit(history);
    }
    return code < 0 ? code : changed;
}

static double kept_seconds(const struct history *history, enum kind kind)
{
    switch (kind) {
    case TICKS:
        return history->options.full_hours * 3600;
    case MINUTES:
        return history->options.minute_days * 86400;
    default:
        return history->options.event_days * 86400;
    }
}

static int look_for_old(struct history *history)
{
    struct prune *prune = history->prune;
    double now = history->committed.clock;

    prune->looked = now;
    prune->looking = true;
    for (int kind = 0; kind < KINDS; kind++) {
        double kept = kept_seconds(history, (enum kind)kind);
        int64_t oldest = 0;
        int code = database_number(history->database, kinds[kind].oldest, &oldest);

        if (code < 0)
            return code;
        if (oldest >= 0 && (double)oldest < now - kept - fmin(SLACK_SECONDS, kept / 24))
            prune->running[kind] = true;
    }
    return 0;
}

/* 1: deleted something that was too old. */
static int delete_old(struct history *history)
{
    struct prune *prune = history->prune;
    double now = history->committed.clock;

    for (int kind = 0; kind < KINDS; kind++) {
        if (!prune->running[kind])
            continue;
        int count = delete_some(history, kinds[kind].remove, now - kept_seconds(history, (enum kind)kind),
                                kinds[kind].step);
        if (count < 0)
            return count;
        prune->running[kind] = count == kinds[kind].step;
        if (count > 0) {
            prune->sweep = 0;
            return 1;
        }
    }
    return 0;
}

/* The kind with the oldest rows, of those that were not tried; -1: none. */
static int oldest_kind(struct history *history, const bool tried[KINDS], int *out)
{
    int64_t lowest = INT64_MAX;

    *out = -1;
    for (int kind = 0; kind < KINDS; kind++) {
        int64_t oldest = -1;
        int code = tried[kind] ? 0 : database_number(history->database, kinds[kind].oldest, &oldest);

        if (code < 0)
            return code;
        if (oldest >= 0 && oldest < lowest) {
            lowest = oldest;
            *out = kind;
        }
    }
    return 0;
}

int64_t retention_log_limit(const struct history_options *options)
{
    int64_t part = (int64_t)options->size_cap_bytes / LOG_PART;

    return options->size_cap_bytes > 0 && part < LOG_BYTES_MAX ? part : LOG_BYTES_MAX;
}

/* Of the file alone; 0: none. */
static int64_t file_limit(const struct history *history)
{
    int64_t cap = (int64_t)history->options.size_cap_bytes;

    return cap > 0 ? cap - retention_log_limit(&history->options) : 0;
}

struct size {
    int64_t bytes; /* of the file, once its log is in it */
    int64_t used;  /* of these; the rest is free for what comes */
};

static int measure(struct history *history, struct size *out)
{
    int64_t pages = 0, unused = 0, page = 0;
    int code = database_number(history->database, "PRAGMA page_count", &pages);

    if (code == 0)
        code = database_number(history->database, "PRAGMA freelist_count", &unused);
    if (code == 0)
        code = database_number(history->database, "PRAGMA page_size", &page);
    *out = (struct size){.bytes = pages * page, .used = (pages - unused) * page};
    return code;
}

/* How large the file may be: more than its limit where running jobs leave too little of that to the rest. */
static int limit_for_kept(struct history *history, int64_t used, int64_t *out)
{
    int64_t most = *out = file_limit(history), kept = 0;
    int code = used <= most ? 0 : database_number(history->database, kept_job_bytes, &kept);

    if (code < 0)
        return code;
    history->is_over_cap = kept + most / REST_PART > most;
    if (history->is_over_cap)
        *out = kept + most / REST_PART;
    if (history->is_over_cap && history->reported != -EFBIG)
        (void)error_set(&history->remark, -EFBIG,
                        "running jobs take %.1f MiB, and are kept: the database is larger than its cap until "
                        "some of them end",
                        (double)kept / (1 << 20));
    return 0;
}

/* 1: deleted some of the oldest that have ended, or of their sheets. */
static int delete_jobs(struct history *history)
{
    struct size before, after;
    int count = 0, code = measure(history, &before);

    for (size_t i = 0; i < sizeof(ended_jobs) / sizeof(*ended_jobs) && code == 0 && count == 0; i++) {
        count = delete_some(history, ended_jobs[i], 0, STEP_ROWS);
        code = count < 0 ? count : 0;
    }
    jobs_forget(history);
    if (code == 0)
        code = measure(history, &after);
    if (code == 0)
        history->prune->job_bytes -= before.used - after.used;
    return code < 0 ? code : count > 0;
}

/* 1: deleted some of what is oldest. */
static int delete_oldest(struct history *history)
{
    bool tried[KINDS] = {false};
    bool jobs_are_large = history->prune->job_bytes > file_limit(history) / JOBS_PART;
    int kind, code = jobs_are_large ? delete_jobs(history) : 0;

    if (code != 0)
        return code;
    code = oldest_kind(history, tried, &kind);
    for (; code == 0 && kind >= 0; code = oldest_kind(history, tried, &kind)) {
        int count = delete_some(history, kinds[kind].remove, FOREVER, kinds[kind].step);

        if (count != 0)
            return count < 0 ? count : 1;
        tried[kind] = true;
    }
    if (code < 0)
        return code;
    /* Nothing but the snapshots of a minute that is not made yet: it will be one of fewer snapshots. */
    int count = delete_some(history, REMOVE("ticks", ""), FOREVER, kinds[TICKS].step);
    if (count > 0)
        minutes_forget(history);
    return count < 0 ? count : count > 0 ? 1 : delete_jobs(history);
}

static int give_back_pages(struct history *history)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", STEP_PAGES);
    int code = database_run(history->database, sql);
    return code < 0 ? code : 1;
}

/* The first step: how much the jobs take, and another sweep without grace. */
static int begin_shrinking(struct history *history)
{
    struct prune *prune = history->prune;
    int64_t oldest = 0;
    int code = database_number(history->database, all_job_bytes, &prune->job_bytes);

    if (code == 0)
        code = database_number(history->database, "SELECT CAST(" OLDEST_WITH_EVENTS " AS INTEGER)", &oldest);
    if (code < 0)
        return code;
    prune->shrinking = true;
    prune->sweeps_unused = history->committed.wall - (double)oldest < COMMAND_GRACE;
    prune->sweep = 0;
    return 1;
}

/* 1: made the file smaller; 0: it is small enough, or nothing more can go. */
static int shrink(struct history *history)
{
    struct prune *prune = history->prune;
    int64_t most = file_limit(history);
    struct size size;

    if (most <= 0 || !prune->looking)
        return 0;
    int code = measure(history, &size);
    if (code == 0)
        code = limit_for_kept(history, size.used, &most);
    if (code < 0)
        return code;
    if (size.used > most && !prune->shrinking)
        return begin_shrinking(history);
    if (prune->shrinking && size.used > most - most / CAP_HYSTERESIS) {
        code = delete_oldest(history);
        if (code > 0)
            prune->sweep = 0;
        if (code != 0)
            return code;
    }
    prune->shrinking = false;
    if (size.bytes > most && size.used < size.bytes)
        return give_back_pages(history);
    prune->looking = false;
    return 0;
}

static int begin_prune(struct history *history)
{
    struct prune *prune = history->prune = calloc(1, sizeof(*prune));

    if (!prune)
        return -ENOMEM;
    for (int kind = 0; kind < KINDS; kind++)
        prune->running[kind] = true;
    prune->looking = true;
    prune->looked = history->committed.clock;
    return 0;
}

/* 1: there may be more that nothing points to. */
static int sweep(struct history *history)
{
    struct prune *prune = history->prune;

    if (prune->sweep == SWEEPS && !prune->sweeps_unused)
        return 0;
    const char *sql = prune->sweep < SWEEPS ? sweeps[prune->sweep] : unused_commands;
    int count = delete_some(history, sql, prune->shrinking ? 0 : GRACE_SECONDS, STEP_ROWS);
    if (count == 0 && prune->sweep == SWEEPS)
        prune->sweeps_unused = false;
    else if (count == 0)
        prune->sweep++;
    return count < 0 ? count : 1;
}

/* Pages that were given back are still part of the file on disk until the log is in it. */
static bool is_larger_than_needed(const struct history *history, int64_t log)
{
    const int64_t cap = (int64_t)history->options.size_cap_bytes;
    struct stat status;

    return cap > 0 && history->prune && fstat(history->fd, &status) == 0 &&
           status.st_size > history->prune->bytes && status.st_size + log > cap;
}

/* SQLite empties the log when it begins it anew, with a later write. A reader that is in the way is not
 * waited for: the next write tries again. */
static void keep_log_small(struct history *history)
{
    int64_t log = history_log_bytes(history);

    if (log <= retention_log_limit(&history->options) && !is_larger_than_needed(history, log))
        return;
    (void)sqlite3_busy_timeout(history->database, 0);
    (void)sqlite3_wal_checkpoint_v2(history->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    (void)sqlite3_busy_timeout(history->database, (int)history->options.busy_timeout_ms);
}

static void keep_file_small(struct history *history)
{
    int64_t most = file_limit(history);
    struct size size;
    int code = most <= 0 ? 0 : history->prune ? 1 : begin_prune(history) + 1;

    if (code <= 0 || measure(history, &size) < 0)
        return;
    /* One that is too large from the start gets smaller with the upkeep: a write does not wait for that. */
    if (history->prune->bytes == 0)
        history->prune->bytes = size.bytes;
    int64_t limit = history->prune->bytes > most ? history->prune->bytes : most;
    history->prune->looking |= size.bytes > limit;
    while (code > 0 && size.bytes > limit) {
        code = sweep(history);
        if (code == 0)
            code = shrink(history);
        if (code > 0 && measure(history, &size) < 0)
            code = -EIO;
    }
    if (code < 0)
        history_rollback(history); /* the next write or the upkeep reports it, if it does not pass */
    history->prune->bytes = size.bytes;
}

void retention_keep_to_cap(struct history *history)
{
    keep_file_small(history);
    keep_log_small(history);
}

int retention_step(struct history *history)
{
    int code = history->prune ? 0 : begin_prune(history);

    if (code == 0)
        code = sweep(history);
    if (code == 0 && history->committed.clock - history->prune->looked >= LOOK_SECONDS)
        code = look_for_old(history);
    if (code == 0)
        code = delete_old(history);
    return code == 0 ? shrink(history) : code;
}
