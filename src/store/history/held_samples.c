/*
 * Version 7: each sample says for which snapshots it holds, which earlier versions had in ranges of each
 * snapshot.
 *
 * A sample was written with its first snapshot, and held until its process had another one or was last seen.
 * The snapshots are gone through from the last to the first, with a table of the processes that had a sample
 * later: so every page of the samples is written once, in order, and nothing is sorted. Minutes are the same.
 */
#include <sqlite3.h>

#include "store/history/schema.h"

/* The rest is the commit, which copies every changed page. */
#define SAMPLES_PART 0.8
#define MINUTES_PART 0.1

struct table {
    const char *rows;   /* of what holds them: id, their last sample and their first */
    const char *oldest; /* sample; NULL: there are none */
    const char *hold;   /* ?1: what holds them, ?2 and ?3: the first and last sample */
    const char *note;   /* likewise */
    const char *ended;  /* those of ?2 to ?3 that had ended before the oldest */
};

#define ROWS(ticks)                                                                                          \
    "SELECT id, last_sample, lag(last_sample, 1, 0) OVER (ORDER BY id) + 1 FROM " ticks " ORDER BY id DESC"
/* 0: it ended before the oldest there is. */
#define HOLD(samples, tick, last_seen)                                                                       \
    "UPDATE OR FAIL " samples " SET first_" tick " = ?1, last_" tick                                         \
    " = coalesce((SELECT l.first - 1 FROM later AS"                                                          \
    " l WHERE l.process = " samples ".process), (SELECT CASE WHEN p.last_seen IS NULL THEN " SCHEMA_HOLDS    \
    " ELSE " last_seen " END FROM processes AS p WHERE p.id = " samples ".process), 0)"                      \
    " WHERE id BETWEEN ?2 AND ?3"
#define NOTE(samples)                                                                                        \
    "INSERT OR REPLACE INTO later SELECT process, ?1 FROM " samples " WHERE id BETWEEN ?2 AND ?3"
#define ENDED(samples, tick)                                                                                 \
    "UPDATE OR FAIL " samples " SET last_" tick " = 0 WHERE id BETWEEN ?2 AND ?3 AND id NOT IN"              \
    " (SELECT max(id) FROM " samples " WHERE id BETWEEN ?2 AND ?3 GROUP BY process)"
#define TABLE(ticks, samples, tick, last_seen)                                                               \
    {                                                                                                        \
        ROWS(ticks), "SELECT min(id) FROM " samples, HOLD(samples, tick, last_seen), NOTE(samples),          \
            ENDED(samples, tick)                                                                             \
    }

static const struct table snapshots =
    TABLE("ticks", "samples", "tick", "(SELECT max(t.id) FROM ticks AS t WHERE t.timestamp = p.last_seen)");
static const struct table minutes =
    TABLE("minutes", "minute_samples", "minute",
          "(SELECT m.id FROM minutes AS m WHERE m.minute <= CAST(p.last_seen / 60 AS INTEGER)"
          " ORDER BY m.minute DESC, m.id DESC LIMIT 1)");

struct range {
    int64_t id, first, last;
};

static int run(sqlite3 *database, sqlite3_stmt *statement, const struct range *range)
{
    bind_integer(statement, 1, true, range->id);
    bind_integer(statement, 2, true, range->first);
    bind_integer(statement, 3, true, range->last);
    int code = database_step(database, statement);
    (void)sqlite3_reset(statement);
    return code;
}

/* `done` grows by `part`. */
static int fill(sqlite3 *database, const struct table *table, double part, double *done)
{
    static const char remember[] = "CREATE TEMP TABLE later(process INTEGER PRIMARY KEY, first INTEGER)";
    sqlite3_stmt *rows = NULL, *hold = NULL, *note = NULL, *ended = NULL;
    const double begin = *done;
    struct range range = {0};
    int64_t oldest = 0, newest = 0;
    int code = database_run(database, remember);

    if (code == 0)
        code = database_number(database, table->oldest, &oldest);
    if (code == 0)
        code = database_prepare(database, table->rows, &rows);
    if (code == 0)
        code = database_prepare(database, table->hold, &hold);
    if (code == 0)
        code = database_prepare(database, table->note, &note);
    if (code == 0)
        code = database_prepare(database, table->ended, &ended);
    while (code == 0 && (code = database_step(database, rows)) == 1) {
        range = (struct range){sqlite3_column_int64(rows, 0), sqlite3_column_int64(rows, 2),
                               sqlite3_column_int64(rows, 1)};
        if (newest == 0)
            newest = range.last;
        code = run(database, hold, &range);
        if (code == 0)
            code = run(database, note, &range);
        if (newest > oldest && range.first > oldest)
            *done = begin + part * (double)(newest - range.first) / (double)(newest - oldest);
    }
    if (code == 0)
        code = run(database, ended, &range); /* of the oldest, the last that was read */
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(hold);
    (void)sqlite3_finalize(note);
    (void)sqlite3_finalize(ended);
    *done = begin + part;
    return code < 0 ? code : database_run(database, "DROP TABLE later");
}

int schema_fill_held_samples(sqlite3 *database, double *done)
{
    int code = fill(database, &snapshots, SAMPLES_PART, done);

    return code < 0 ? code : fill(database, &minutes, MINUTES_PART, done);
}
