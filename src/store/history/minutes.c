/*
 * One-minute means and maxima, made of the snapshots of a minute once it has ended; also of those that an
 * earlier daemon left.
 *
 * A mean is weighted by the time each snapshot stands for (since the previous one of the same daemon). SQLite
 * adds them up, each sample once with the time it holds for, into a table in memory (statements.c). As with
 * samples, a process whose minute is like its last one needs no other row, and from time to time all get one.
 * A minute is made in one transaction: it is there with all its rows or not at all.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "store/history/state.h"

#define LATE_SECONDS 120 /* so long snapshots of a minute are waited for */
#define FULL_MINUTES 360
#define FULL_ROWS    4 /* a reader passes over so many rows, at most, for each one that it needs */

struct rollup {
    int64_t minute, first_tick, last_tick; /* the minute that was found last */
    /* Of the minutes before: */
    bool loaded;
    int64_t done_tick; /* the last snapshot of the last minute made */
    int64_t last_id, last_sample;
    int64_t full_id, full_sample; /* when all processes last got a row, and the first of these rows */
};

void minutes_forget(struct history *history)
{
    if (history->rollup)
        history->rollup->loaded = false;
}

void minutes_free(struct history *history)
{
    free(history->rollup);
    history->rollup = NULL;
}

static int load(struct history *history)
{
    struct rollup *rollup = history->rollup;
    struct {
        const char *sql;
        int64_t *out;
    } numbers[] = {
        {"SELECT coalesce((SELECT last_tick FROM minutes ORDER BY id DESC LIMIT 1), 0)", &rollup->done_tick},
        {"SELECT max(id) FROM minutes", &rollup->last_id},
        {"SELECT coalesce((SELECT last_sample FROM minutes ORDER BY id DESC LIMIT 1), 0)",
         &rollup->last_sample},
        {"SELECT coalesce((SELECT first_sample FROM minutes ORDER BY id DESC LIMIT 1), 0)",
         &rollup->full_sample},
        {"SELECT coalesce((SELECT min(id) FROM minutes WHERE first_sample ="
         " (SELECT first_sample FROM minutes ORDER BY id DESC LIMIT 1)), 0)",
         &rollup->full_id},
    };
    int code = history_run(history, history_statement(history, SQL_MEANS_MAKE));

    rollup->first_tick = 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && code == 0; i++)
        code = database_number(history->database, numbers[i].sql, numbers[i].out);
    rollup->loaded = code == 0;
    return code;
}

/* Nothing more is to come of this minute; by a clock that may have been set back. */
static bool is_late(int64_t minute, double now)
{
    return fabs(now - (double)(minute + 1) * 60) > LATE_SECONDS;
}

/* Whether the minute that was looked at last still goes on. */
static bool is_open(const struct history *history, double now)
{
    const struct rollup *rollup = history->rollup;

    return rollup->first_tick > rollup->done_tick &&
           (int64_t)(history->committed.wall / 60) == rollup->minute && !is_late(rollup->minute, now);
}

/* Finds the snapshots of the next minute that has ended: 1 if there are any. */
static int find_minute(struct history *history, double now)
{
    struct rollup *rollup = history->rollup;
    sqlite3_stmt *next = history_statement(history, SQL_MINUTE_NEXT);
    int64_t minute = 0;
    int found = 0, code = 0;
    bool ended = false;

    bind_integer(next, 1, true, rollup->done_tick);
    while (!ended && (code = database_step(history->database, next)) == 1) {
        int64_t id = sqlite3_column_int64(next, 0), at = sqlite3_column_int64(next, 1);

        if (found == 0) {
            rollup->first_tick = id;
            minute = at;
            found = 1;
        }
        if (at == minute)
            rollup->last_tick = id;
        ended = at != minute;
    }
    (void)sqlite3_reset(next);
    if (code < 0 || found == 0)
        return code;
    rollup->minute = minute;
    return ended || is_late(minute, now);
}

/* The means of all processes, in the table in memory. */
static int make_means(struct history *history)
{
    const struct rollup *rollup = history->rollup;
    int code = history_run(history, history_statement(history, SQL_MEANS_CLEAR));
    sqlite3_stmt *make = history_statement(history, SQL_MINUTE_MEANS);

    bind_integer(make, 1, true, rollup->first_tick);
    bind_integer(make, 2, true, rollup->last_tick);
    return code < 0 ? code : history_run(history, make);
}

/* A row for each process that has none that holds on. */
static int write_means(struct history *history, struct rollup *next)
{
    int64_t count = 0;
    int code = database_number(history->database, "SELECT count(*) FROM means", &count);
    bool full = next->last_id - next->full_id >= FULL_MINUTES ||
                next->last_sample - next->full_sample > count * FULL_ROWS;
    sqlite3_stmt *end = history_statement(history, SQL_MINUTE_SAMPLES_END);

    bind_integer(end, 1, true, next->full_sample);
    bind_integer(end, 2, true, next->last_id);
    bind_integer(end, 3, true, full);
    if (code == 0)
        code = history_run(history, end);
    next->last_id++;
    if (full) {
        next->full_id = next->last_id;
        next->full_sample = next->last_sample + 1;
    }
    sqlite3_stmt *add = history_statement(history, SQL_MINUTE_SAMPLES_ADD);
    bind_integer(add, 1, true, next->full_sample);
    bind_integer(add, 2, true, next->last_id);
    bind_integer(add, 3, true, next->last_sample);
    if (code == 0)
        code = history_run(history, add);
    next->last_sample += code == 0 ? sqlite3_changes(history->database) : 0;
    return code;
}

static int write_minute(struct history *history)
{
    struct rollup next = *history->rollup;
    int code = history_begin(history);

    if (code == 0 && !history->rollup->loaded) { /* the file was changed by others: begin anew */
        code = history_commit(history);
        return code < 0 ? code : 1;
    }
    if (code == 0)
        code = make_means(history);
    if (code == 0)
        code = write_means(history, &next);
    sqlite3_stmt *add = history_statement(history, SQL_MINUTE_ADD);
    bind_integer(add, 1, true, next.first_tick);
    bind_integer(add, 2, true, next.last_tick);
    bind_integer(add, 3, true, next.last_id);
    bind_integer(add, 4, true, next.minute);
    bind_integer(add, 5, true, next.full_sample);
    bind_integer(add, 6, true, next.last_sample);
    if (code == 0)
        code = history_run(history, add);
    next.done_tick = next.last_tick;
    if (code == 0)
        code = history_run(history, history_statement(history, SQL_MEANS_CLEAR));
    if (code == 0)
        code = history_commit(history);
    if (code == 0)
        *history->rollup = next;
    return code < 0 ? code : 1;
}

int minutes_step(struct history *history, double now)
{
    int code = 0;

    if (!history->rollup && !(history->rollup = calloc(1, sizeof(*history->rollup))))
        return -ENOMEM;
    if (!history->rollup->loaded)
        code = load(history);
    if (code == 0)
        code = is_open(history, now) ? 0 : find_minute(history, now);
    return code > 0 ? write_minute(history) : code;
}
