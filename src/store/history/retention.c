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
 * write that made the file larger than the rest deletes until it is not. Of age, deleting begins when
 * something is an hour (or a twenty-fourth of the time it is kept) too old, so that not every tick writes to
 * the front of the file, too; and at once when the history is opened.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/history/state.h"

#define STEP_ROWS      2000
#define STEP_PAGES     256 /* given back to the file system in one step */
#define LOOK_SECONDS   60  /* between two looks at what is too old, and at the size */
#define SLACK_SECONDS  3600
#define CAP_HYSTERESIS 16                 /* once over its limit, the file shrinks by this part of it */
#define LOG_PART       8                  /* of the cap is the log's, */
#define LOG_BYTES_MAX  ((int64_t)4 << 20) /* and no more than this */
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

/* What nothing points to any more, each after what could point to it; ?2: so many. A command that is in use
 * is marked with its hour every ten minutes: with two hours' grace no row that is left can need it. */
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
    " ON p.id = c.process WHERE p.last_seen < " OLDEST_LEFT " - 60 LIMIT ?2)",
    "DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE last_seen < " OLDEST_LEFT
    " - 60 ORDER BY last_seen LIMIT ?2)",
    "DELETE FROM sheets WHERE (job, number) IN (SELECT s.job, s.number FROM jobs AS j CROSS JOIN sheets AS s"
    " ON s.job = j.id WHERE " OLD_JOB " LIMIT ?2)",
    "DELETE FROM jobs WHERE id IN (SELECT j.id FROM jobs AS j WHERE " OLD_JOB
    " AND NOT EXISTS (SELECT 1 FROM sheets WHERE job = j.id) LIMIT ?2)",
    "DELETE FROM commands WHERE id IN (SELECT id FROM commands WHERE used <"
    " CAST(" OLDEST_WITH_EVENTS " / 3600 AS INTEGER) - 2 ORDER BY used LIMIT ?2)",
};
#define SWEEPS ((int)(sizeof(sweeps) / sizeof(*sweeps)))

struct prune {
    bool running[KINDS]; /* deleting until nothing is too old */
    bool shrinking;      /* deleting until the file is small enough */
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

    if (code == 0 && sqlite3_prepare_v2(history->database, sql, -1, &statement, NULL) != SQLITE_OK)
        code = database_errno(history->database, sqlite3_extended_errcode(history->database));
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

/* 1: deleted some of what is oldest. */
static int delete_oldest(struct history *history)
{
    bool tried[KINDS] = {false};
    int kind, code = oldest_kind(history, tried, &kind);

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
    return count < 0 ? count : count > 0;
}

static int give_back_pages(struct history *history)
{
    char sql[64];

    (void)snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", STEP_PAGES);
    int code = database_run(history->database, sql);
    return code < 0 ? code : 1;
}

int64_t retention_log_limit(const struct history_options *options)
{
    int64_t part = (int64_t)options->size_cap_bytes / LOG_PART;

    return part > 0 && part < LOG_BYTES_MAX ? part : LOG_BYTES_MAX;
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

/* 1: made the file smaller; 0: it is small enough, or nothing more can go. */
static int shrink(struct history *history)
{
    struct prune *prune = history->prune;
    int64_t most = file_limit(history);
    struct size size;

    if (most <= 0 || !prune->looking)
        return 0;
    int code = measure(history, &size);
    if (code < 0)
        return code;
    if (size.used > most)
        prune->shrinking = true;
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

    if (prune->sweep == SWEEPS)
        return 0;
    int count = delete_some(history, sweeps[prune->sweep], 0, STEP_ROWS);
    if (count == 0)
        prune->sweep++;
    return count < 0 ? count : 1;
}

/* SQLite empties the log when it begins it anew, with a later write. A reader that is in the way is not
 * waited for: the next write tries again. */
static void keep_log_small(struct history *history)
{
    if (history_log_bytes(history) <= retention_log_limit(&history->options))
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
