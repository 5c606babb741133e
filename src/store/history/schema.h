/*
 * The tables and views of the history, and how an older file becomes one of this version.
 */
#ifndef METRON_STORE_HISTORY_SCHEMA_H
#define METRON_STORE_HISTORY_SCHEMA_H

#include "schema/columns.h"
#include "store/history/database.h"
#include "store/history/history.h"

/* "mtrn": what a file of ours has as its application_id. */
#define SCHEMA_APPLICATION 0x6D74726E
#define SCHEMA_VERSION     7

/* The last snapshot or minute of a sample that still holds: a number that no id reaches. */
#define SCHEMA_HOLDS "2147483647"

/* In process_metrics an id is that of its snapshot, shifted, plus how far back its sample is: unique, and the
 * same at every reading. */
#define SCHEMA_ID_SHIFT "24"

/* What the processes of job ?1 have called, as {"read": [count, seconds], …}; NULL: nothing. A process that
 * was followed under several rows has its counts since the sheet began in each: the last counts. */
#define SCHEMA_JOB_CALLS                                                                                     \
    "SELECT CASE WHEN count(*) > 0 THEN json_group_object(name, json_array(number, seconds)) END"            \
    " FROM (SELECT k.key AS name, sum(json_extract(k.value, '$[0]')) AS number,"                             \
    " sum(json_extract(k.value, '$[1]')) AS seconds FROM process_calls AS c, json_each(c.calls) AS k"        \
    " WHERE c.process IN (SELECT max(l.process) FROM processes AS p"                                         \
    "  JOIN process_calls AS l ON l.process = p.id WHERE p.job = ?1 GROUP BY p.origin, p.sheet)"             \
    " GROUP BY k.key ORDER BY seconds DESC, number DESC LIMIT 64)"

/* What makes a file of one version one of the next: the SQL, and then what SQL alone would be too slow for.
 * `fill` may be NULL; it keeps `done` at the part it has done, 0 to 1. */
struct schema_step {
    const char *sql;
    int (*fill)(sqlite3 *database, double *done);
};

/* The step from version i to i + 1 is steps[i]. */
extern const struct schema_step schema_steps[SCHEMA_VERSION];
/* Of the one to version 7 (held_samples.c): the snapshots and minutes that each sample holds for. */
int schema_fill_held_samples(sqlite3 *database, double *done);

/* -ENOTSUP: of a newer version; -EINVAL: of another program; else the errno of what failed, with the file as
 * it was. */
int schema_check(sqlite3 *database, const char *path, int newest, struct metron_error *error);
/* Brings the file up to `newest` (made-up steps are for tests), adds the columns that it lacks and makes its
 * views those of these columns (NULL: there are none), in one transaction. Views, triggers and indexes that
 * others have added stay. `watch` may be NULL; -ECANCELED: it stopped this, and the file is as it was. */
int schema_migrate(sqlite3 *database, const char *path, const struct schema_step *steps, int newest,
                   const struct snapshot_columns *columns, const struct history_upgrade *watch,
                   struct metron_error *error);

#endif
