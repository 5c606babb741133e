/*
 * The tables and views of the history, and how an older file becomes one of this version.
 */
#ifndef METRON_STORE_HISTORY_SCHEMA_H
#define METRON_STORE_HISTORY_SCHEMA_H

#include "schema/columns.h"
#include "store/history/database.h"

/* "mtrn": what a file of ours has as its application_id. */
#define SCHEMA_APPLICATION 0x6D74726E
#define SCHEMA_VERSION     6

/* What a job or a sheet used: columns of both tables, SCHEMA_USAGE_COUNT of them. */
#define SCHEMA_USAGE                                                                                         \
    "cpu_seconds, cgroup_cpu_seconds, peak_rss_bytes, peak_pss_bytes, largest_hwm_bytes, peak_cgroup_bytes," \
    " read_bytes, write_bytes, spawned, exited, spawned_is_exact, unique_processes, peak_processes,"         \
    " oom_kills, cpu_is_low"
#define SCHEMA_USAGE_COUNT 15

/* In process_metrics an id is that of its snapshot, shifted, plus how far back its sample is: unique, and the
 * same at every reading. */
#define SCHEMA_ID_SHIFT "24"
#define SCHEMA_SPAN_MAX (1 << 20) /* so far back a sample may be, and less than the shift has room for */

/* The step from version i to i + 1 is steps[i]. */
extern const char *const schema_steps[SCHEMA_VERSION];

/* -ENOTSUP: of a newer version; -EINVAL: of another program; else the errno of what failed, with the file as
 * it was. */
int schema_check(sqlite3 *database, const char *path, int newest, struct metron_error *error);
/* Brings the file up to `newest` (made-up steps are for tests), adds the columns that it lacks and makes its
 * views those of these columns (NULL: there are none), in one transaction. */
int schema_migrate(sqlite3 *database, const char *path, const char *const *steps, int newest,
                   const struct snapshot_columns *columns, struct metron_error *error);

#endif
