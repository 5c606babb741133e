/*
 * The layout, made so that a tick touches few pages and an idle process costs nothing:
 *
 * - ticks: one row per snapshot.
 * - samples: one row whenever a process differs from its last row (its age does not count), with a column
 *   for each value that snapshots keep (schema/columns.h). It holds in the snapshots from first_tick to
 *   last_tick, or still (SCHEMA_HOLDS). Rows are added at the end and deleted from the start. Those of a
 * snapshot are among first_sample to last_sample of its tick, because all processes get a row from time to
 * time (processes.c); the others there ended earlier.
 * - processes: who a sample is about; another row after an exec, a new parent or a change of job, with the id
 *   of the first one as `origin`. `last_seen` is NULL as long as it is there.
 * - commands: each text once. `used` is the hour (unix time / 3600) it was last given to a new row, or seen
 *   alive: what is older than everything else there is may go.
 * - minutes, minute_samples: the same pair again for one-minute means and maxima.
 * - calls: system calls as JSON {"read": [count, seconds], …}, by sample; process_calls: the latest of each
 *   process, kept as long as the process is.
 * - jobs, sheets: their latest state. `hotspots` has their system calls, as above; own_cgroup: NULL not told,
 *   0 refused, 1 held; owner: the uid of who began it; runner: the process that reports the end.
 * - job_members: the processes of a job that runs (members.c), a text that is written only when it changes.
 * - progress: the jobs' progress as JSON, a row whenever it changes.
 * - clock, in several tables: the retention clock (clock.c) when the row was written, in seconds; of a
 * minute, when its last snapshot was; of a job, when it was last changed. Rows of a file from before there
 * was one have 0: their age is counted from the upgrade. The table has its offset in a boot of the machine:
 * one row.
 *
 * Measured with 4,000 processes and a snapshot a second, 3 % of the processes busy and 1 % waking up
 * (tests/unit/history_writer.c), beside the layout of version 6, in which each tick had the ids of its
 * samples as ranges in JSON:
 *
 *                                                     version 6      this one
 *   200 new processes a second, ten minutes           36.4 MB        28.3 MB
 *     CPU of a snapshot, and its share of upkeep      3.6 + 0.7 ms   4.4 + 1.9 ms
 *   10 new processes a second, an hour                105 MB         63 MB
 *     CPU of a snapshot, and its share of upkeep      1.6 + 0.4 ms   2.0 + 1.2 ms
 *     instructions of 102 snapshots                   1.00 G         1.77 G
 *     a snapshot by process_metrics                   3.3 ms         3.8 ms
 *     the hour of a process, by process_metrics       4.3 s          8.2 s
 *     the same by the query of history_read_process   -              0.07 s
 *   10 % changing at random, instructions             1.37 G         2.75 G
 *   a day of minutes of 500 processes, by the view    0.33 s         0.41 s
 *
 * An index by process, or rows clustered by process and tick, write 1.7 times as much to the disk. Rows that
 * are only added, each until the next one of its process, make process_metrics twelve times slower.
 */
#include "store/history/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/history/sql.h"

/* Of SQLite's machine, between two calls of history_upgrade: some milliseconds. */
#define PROGRESS_INSTRUCTIONS 100000

#define TABLES                                                                                               \
    "CREATE TABLE commands(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL, used INTEGER NOT NULL,"            \
    " text TEXT NOT NULL);"                                                                                  \
    "CREATE INDEX commands_hash ON commands(hash);"                                                          \
    "CREATE INDEX commands_used ON commands(used);"                                                          \
    "CREATE TABLE jobs(id INTEGER PRIMARY KEY, name TEXT NOT NULL, workspace TEXT, config_hash TEXT,"        \
    " total_sheets INTEGER, status TEXT, pid INTEGER, pid_start INTEGER, started_ns INTEGER, ended_ns "      \
    "INTEGER{U, $s $t}, hotspots TEXT);"                                                                     \
    "CREATE INDEX jobs_name ON jobs(name);"                                                                  \
    "CREATE INDEX jobs_running ON jobs(status) WHERE status = 'running';"                                    \
    "CREATE TABLE sheets(job INTEGER NOT NULL, number INTEGER NOT NULL, status TEXT, pid INTEGER, "          \
    "pid_start INTEGER,"                                                                                     \
    " started_ns INTEGER, ended_ns INTEGER, tries INTEGER{U, $s $t},"                                        \
    " PRIMARY KEY(job, number)) WITHOUT ROWID;"                                                              \
    "CREATE TABLE processes(id INTEGER PRIMARY KEY, origin INTEGER NOT NULL, pid INTEGER NOT NULL,"          \
    " ppid INTEGER, start_ticks INTEGER, started REAL, command INTEGER, job INTEGER, sheet INTEGER,"         \
    " membership INTEGER, last_seen REAL);"                                                                  \
    "CREATE INDEX processes_last_seen ON processes(last_seen);"                                              \
    "CREATE INDEX processes_job ON processes(job) WHERE job IS NOT NULL;"                                    \
    "CREATE TABLE samples(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, state TEXT{P, $s $t});"          \
    "CREATE TABLE calls(sample INTEGER PRIMARY KEY, calls TEXT NOT NULL);"                                   \
    "CREATE TABLE process_calls(process INTEGER PRIMARY KEY, calls TEXT NOT NULL);"                          \
    "CREATE TABLE progress(id INTEGER PRIMARY KEY, jobs TEXT NOT NULL);"                                     \
    "CREATE TABLE ticks(id INTEGER PRIMARY KEY, timestamp REAL NOT NULL, interval_ms INTEGER,"               \
    " daemon_pid INTEGER, uptime_seconds REAL{M, $s $t}, process_count INTEGER, zombie_count INTEGER,"       \
    " gpus TEXT, pressure_level TEXT, running_jobs INTEGER,"                                                 \
    " active_sheets INTEGER, progress INTEGER, first_sample INTEGER NOT NULL,"                               \
    " last_sample INTEGER NOT NULL, ranges TEXT NOT NULL);"                                                  \
    "CREATE INDEX ticks_timestamp ON ticks(timestamp);"                                                      \
    "CREATE TABLE events(id INTEGER PRIMARY KEY, timestamp REAL NOT NULL, pid INTEGER, type TEXT NOT NULL,"  \
    " exit_code INTEGER, signal_num INTEGER, job INTEGER, sheet INTEGER, command INTEGER, details TEXT);"    \
    "CREATE INDEX events_timestamp ON events(timestamp);"

/* `minute` is unix time / 60; ids follow the snapshots, so that a clock that was set back loses nothing. Of
 * each quantity the mean has its plain name. */
#define MINUTE_TABLES                                                                                        \
    "CREATE TABLE minutes(id INTEGER PRIMARY KEY, minute INTEGER NOT NULL, last_tick INTEGER NOT NULL,"      \
    " num_samples INTEGER NOT NULL, daemon_pid INTEGER{m, $s REAL, $s_max $t}, process_count REAL,"          \
    " process_count_max INTEGER, zombie_count REAL, zombie_count_max INTEGER, gpus TEXT,"                    \
    " running_jobs REAL, running_jobs_max INTEGER, active_sheets REAL, active_sheets_max INTEGER,"           \
    " first_sample INTEGER NOT NULL, last_sample INTEGER NOT NULL, ranges TEXT NOT NULL);"                   \
    "CREATE INDEX minutes_minute ON minutes(minute);"                                                        \
    "CREATE TABLE minute_samples(id INTEGER PRIMARY KEY, process INTEGER NOT NULL{p, $s REAL, $s_max $t});"

/* SQL is read by its own lines. */
/* clang-format off */

/* A value of those GPUs that have it, as an array in their order; NULL if none of them has. */
#define GPU_ARRAY(table, suffix)                                                                             \
    "(SELECT CASE WHEN count(*) > 0 THEN json_group_array(json_extract(g.value, '$.$n" suffix "')) END"      \
    " FROM json_each(" table ".gpus) AS g WHERE json_extract(g.value, '$.$n" suffix "') IS NOT NULL)"        \
    " AS gpu_$s" suffix

#define EVENT_VIEW                                                                                           \
    "CREATE VIEW process_events AS SELECT e.id AS id, e.timestamp AS timestamp, e.pid AS pid,"               \
    " e.type AS event_type, e.exit_code AS exit_code, e.signal_num AS signal_num, j.name AS job_id,"         \
    " e.sheet AS sheet_num, CASE WHEN c.text IS NULL THEN e.details ELSE"                                    \
    "  json_set(coalesce(e.details, '{}'), '$.command', c.text) END AS details"                              \
    " FROM events AS e LEFT JOIN commands AS c ON c.id = e.command LEFT JOIN jobs AS j ON j.id = e.job;"

/* Views over columns are made anew whenever they are not these. CROSS JOIN fixes the order of joins: a
 * snapshot, its samples, the process of each. Means have the names of what they are means of: what was written
 * for the full ones can read these. */
static const struct {
    const char *name, *sql;
    const char *first;  /* its columns in the order of the format, NULL: in that of `sql`; */
    const char *others; /* and after them */
} views[] = {
    {"snapshots",
     "SELECT id, timestamp, daemon_pid{M, $s$d AS $n},"
     " process_count AS child_count, zombie_count, json_array_length(gpus) AS gpu_count"
     "{D, " GPU_ARRAY("ticks", "") "},"
     " pressure_level, running_jobs, active_sheets FROM ticks",
     "id, timestamp, daemon_pid, system_memory_total_mb, system_memory_available_mb, system_memory_used_mb,"
     " daemon_rss_mb, child_count, zombie_count, load_avg_1, load_avg_5, load_avg_15, gpu_count,"
     " gpu_utilization_pct, gpu_memory_used_mb, gpu_temperature, pressure_level, running_jobs, active_sheets",
     "{M, $n}{D, gpu_$s}"},
    {"process_metrics",
     "SELECT (t.id << " SCHEMA_ID_SHIFT ") | (t.last_sample - s.id) AS id,"
     " t.id AS snapshot_id, p.pid AS pid, p.ppid AS ppid, c.text AS command, s.state AS state"
     "{P, s.$s$d AS $n}, max(t.timestamp - p.started, 0) AS age_seconds,"
     " j.name AS job_id, p.sheet AS sheet_num,"
     " (SELECT CASE WHEN count(*) > 0 THEN json_group_object(k.key, json_extract(k.value, '$[0]')) END"
     "  FROM json_each(l.calls) AS k) AS syscall_counts,"
     " (SELECT CASE WHEN sum(json_extract(k.value, '$[1]')) > 0 THEN json_group_object(k.key,"
     "   round(100.0 * json_extract(k.value, '$[1]') /"
     "    (SELECT sum(json_extract(a.value, '$[1]')) FROM json_each(l.calls) AS a), 2)) END"
     "  FROM json_each(l.calls) AS k) AS syscall_time_pct"
     " FROM ticks AS t CROSS JOIN samples AS s"
     "  ON s.id BETWEEN t.first_sample AND t.last_sample AND s.last_tick >= t.id"
     " CROSS JOIN processes AS p ON p.id = s.process"
     " LEFT JOIN commands AS c ON c.id = p.command LEFT JOIN jobs AS j ON j.id = p.job"
     " LEFT JOIN calls AS l ON l.sample = s.id",
     "id, snapshot_id, pid, ppid, command, state, cpu_percent, rss_mb, vms_mb, threads, open_fds,"
     " age_seconds, job_id, sheet_num, syscall_counts, syscall_time_pct",
     "{P, $n}"},
    {"snapshots_1m",
     "SELECT id, minute * 60.0 AS timestamp, num_samples, daemon_pid"
     "{m, $s$d AS $n, $s_max$d AS $n_max},"
     " process_count AS child_count, process_count_max AS child_count_max, zombie_count, zombie_count_max,"
     " json_array_length(gpus) AS gpu_count"
     "{D, " GPU_ARRAY("minutes", "") ", " GPU_ARRAY("minutes", "_max") "},"
     " running_jobs, running_jobs_max, active_sheets, active_sheets_max FROM minutes", NULL, NULL},
    {"process_metrics_1m",
     "SELECT (m.id << " SCHEMA_ID_SHIFT ") | (m.last_sample - s.id) AS id,"
     " m.id AS snapshot_id, p.pid AS pid, p.ppid AS ppid, c.text AS command"
     "{p, s.$s$d AS $n, s.$s_max$d AS $n_max},"
     " max(m.minute * 60 + 60 - p.started, 0) AS age_seconds, j.name AS job_id, p.sheet AS sheet_num"
     " FROM minutes AS m CROSS JOIN minute_samples AS s"
     "  ON s.id BETWEEN m.first_sample AND m.last_sample AND s.last_minute >= m.id"
     " CROSS JOIN processes AS p ON p.id = s.process"
     " LEFT JOIN commands AS c ON c.id = p.command LEFT JOIN jobs AS j ON j.id = p.job",
     NULL, NULL},
};

/* clang-format on */

#define WHOLE_JOBS                                                                                           \
    "ALTER TABLE jobs ADD COLUMN own_cgroup INTEGER;"                                                        \
    "ALTER TABLE sheets ADD COLUMN own_cgroup INTEGER;"                                                      \
    "ALTER TABLE sheets ADD COLUMN hotspots TEXT;"

#define OWNED_JOBS "ALTER TABLE jobs ADD COLUMN owner INTEGER;"

#define KNOWN_MEMBERS                                                                                        \
    "ALTER TABLE jobs ADD COLUMN runner INTEGER;"                                                            \
    "ALTER TABLE jobs ADD COLUMN runner_start INTEGER;"                                                      \
    "ALTER TABLE sheets ADD COLUMN runner INTEGER;"                                                          \
    "ALTER TABLE sheets ADD COLUMN runner_start INTEGER;"                                                    \
    "CREATE TABLE job_members(job INTEGER PRIMARY KEY, members TEXT NOT NULL);"

/* A default needs no row to be written anew. */
#define RETENTION_CLOCK                                                                                      \
    "CREATE TABLE clock(boot TEXT NOT NULL, offset REAL NOT NULL);"                                          \
    "ALTER TABLE ticks ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;"                                         \
    "ALTER TABLE minutes ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;"                                       \
    "ALTER TABLE events ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;"                                        \
    "ALTER TABLE jobs ADD COLUMN clock INTEGER NOT NULL DEFAULT 0;"

/* Before, a tick had its samples as ranges of ids. `fill` finds out what a sample holds for. */
#define HELD_SAMPLES                                                                                         \
    "ALTER TABLE samples ADD COLUMN first_tick INTEGER NOT NULL DEFAULT 0;"                                  \
    "ALTER TABLE samples ADD COLUMN last_tick INTEGER NOT NULL DEFAULT 0;"                                   \
    "ALTER TABLE minute_samples ADD COLUMN first_minute INTEGER NOT NULL DEFAULT 0;"                         \
    "ALTER TABLE minute_samples ADD COLUMN last_minute INTEGER NOT NULL DEFAULT 0;"                          \
    "ALTER TABLE ticks DROP COLUMN ranges;"                                                                  \
    "ALTER TABLE minutes DROP COLUMN ranges;"                                                                \
    "ALTER TABLE ticks ADD COLUMN elapsed_ms REAL NOT NULL DEFAULT 0;"                                       \
    "UPDATE ticks SET interval_ms = 0.001 WHERE NOT coalesce(interval_ms, 0) > 0;"                           \
    "UPDATE ticks SET elapsed_ms = e.sum FROM (SELECT id, sum(interval_ms) OVER (ORDER BY id) AS sum"        \
    " FROM ticks) AS e WHERE e.id = ticks.id;"

const struct schema_step schema_steps[SCHEMA_VERSION] = {
    {TABLES MINUTE_TABLES EVENT_VIEW, NULL},
    {WHOLE_JOBS, NULL},
    {OWNED_JOBS, NULL},
    {KNOWN_MEMBERS, NULL},
    {RETENTION_CLOCK, NULL},
    {"", NULL}, /* from here on writers name the columns that they fill: another metron may add some */
    {HELD_SAMPLES, schema_fill_held_samples},
};

static int add_column(sqlite3 *database, const char *table, const char *name, const char *suffix,
                      const char *type)
{
    char sql[256];
    int64_t found = 0;

    (void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s%s'",
                   table, name, suffix);
    int code = database_number(database, sql, &found);
    if (code < 0 || found > 0)
        return code;
    (void)snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s%s %s", table, name, suffix, type);
    return database_run(database, sql);
}

/* Columns that this metron keeps and the file lacks, because another one made it. */
static int add_columns(sqlite3 *database, const struct snapshot_columns *columns)
{
    static const struct {
        const char *table, *suffix;
        bool is_machine, is_minute;
        const char *type;
    } kinds[] = {
        {"samples", "", false, false, NULL},         {"ticks", "", true, false, NULL},
        {"minute_samples", "", false, true, "REAL"}, {"minute_samples", "_max", false, true, NULL},
        {"minutes", "", true, true, "REAL"},         {"minutes", "_max", true, true, NULL},
    };
    int code = 0;

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        const struct columns *list = kinds[k].is_machine ? &columns->machine : &columns->process;

        for (unsigned i = 0; i < list->count && code == 0; i++) {
            const struct measurement *column = list->of[i];
            if (kinds[k].is_minute && !column_has_mean(column))
                continue;
            code = add_column(database, kinds[k].table, column->stored, kinds[k].suffix,
                              kinds[k].type ? kinds[k].type : column_type(column));
        }
    }
    for (unsigned i = 0; i < 2 * USAGE_COUNT && code == 0; i++)
        code = add_column(database, i % 2 ? "jobs" : "sheets", job_usage_columns[i / 2].stored, "",
                          usage_type(&job_usage_columns[i / 2]));
    return code;
}

int schema_check(sqlite3 *database, const char *path, int newest, struct metron_error *error)
{
    int64_t version = 0, application = 0, tables = 0;

    if (database_number(database, "PRAGMA user_version", &version) < 0 ||
        database_number(database, "PRAGMA application_id", &application) < 0 ||
        database_number(database, "SELECT count(*) FROM sqlite_master", &tables) < 0)
        return database_failed(database, path, "cannot be read", 0, error);
    if (application != SCHEMA_APPLICATION && (tables > 0 || application != 0))
        return error_set(error, -EINVAL,
                         "history '%s' is another program's database; choose another path for the history",
                         path);
    if (version < 0)
        return error_set(error, -EINVAL, "history '%s' has version %" PRId64 ", which no metron writes", path,
                         version);
    if (version > newest)
        return error_set(error, -ENOTSUP,
                         "history '%s' was written by a newer metron (version %" PRId64
                         ", this one knows %d); install that one, or choose another path for the history",
                         path, version, newest);
    return 0;
}

static int run_step(sqlite3 *database, const struct schema_step *step, int version,
                    const struct snapshot_columns *columns, double *done)
{
    char mark[96];
    struct strbuf sql = STRBUF_INIT;

    sql_expand(&sql, step->sql, columns);
    int code = sql.failed ? -ENOMEM : database_run(database, strbuf_text(&sql));
    strbuf_fini(&sql);
    if (code == 0 && step->fill)
        code = step->fill(database, done);
    (void)snprintf(mark, sizeof(mark), "PRAGMA user_version = %d; PRAGMA application_id = %d", version,
                   SCHEMA_APPLICATION);
    return code < 0 ? code : database_run(database, mark);
}

/* Whether the file has the view, word for word. */
static int has_view(sqlite3 *database, const char *name, const char *sql, bool *out)
{
    sqlite3_stmt *find = NULL;

    (void)database_prepare(database, "SELECT sql = ? FROM sqlite_master WHERE type = 'view' AND name = ?",
                           &find);
    bind_text(find, 1, sql);
    bind_text(find, 2, name);
    int code = database_step(database, find);
    *out = code == 1 && sqlite3_column_int(find, 0);
    (void)sqlite3_finalize(find);
    return code < 0 ? code : 0;
}

/* The columns that are not among the names, whose first and last are of no column. Those of devices have
 * their stored names there. */
static struct columns columns_not_in(const struct columns *columns, const char *names, bool is_device)
{
    struct columns others = {.count = 0};

    for (unsigned i = 0; i < columns->count; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), is_device ? " gpu_%s," : " %s,",
                       is_device ? columns->of[i]->stored : columns->of[i]->column);
        if (!strstr(names, name))
            others.of[others.count++] = columns->of[i];
    }
    return others;
}

static void view_sql(struct strbuf *out, size_t view, const struct snapshot_columns *columns)
{
    const char *first = views[view].first;

    strbuf_addf(out, "CREATE VIEW %s AS ", views[view].name);
    if (first) {
        struct snapshot_columns others = {columns_not_in(&columns->process, first, false),
                                          columns_not_in(&columns->device, first, true),
                                          columns_not_in(&columns->machine, first, false)};

        strbuf_addf(out, "SELECT %s", first);
        sql_expand(out, views[view].others, &others);
        strbuf_adds(out, " FROM (");
    }
    sql_expand(out, views[view].sql, columns);
    strbuf_adds(out, first ? ")" : "");
}

static int make_views(sqlite3 *database, const struct snapshot_columns *columns)
{
    struct strbuf sql = STRBUF_INIT;
    int code = 0;

    for (size_t i = 0; i < sizeof(views) / sizeof(*views) && code == 0; i++) {
        char drop[96];
        bool is_there = false;

        strbuf_reset(&sql);
        view_sql(&sql, i, columns);
        code = sql.failed ? -ENOMEM : has_view(database, views[i].name, strbuf_text(&sql), &is_there);
        if (code < 0 || is_there)
            continue;
        (void)snprintf(drop, sizeof(drop), "DROP VIEW IF EXISTS %s", views[i].name);
        code = database_run(database, drop);
        if (code == 0)
            code = database_run(database, strbuf_text(&sql));
    }
    strbuf_fini(&sql);
    return code;
}

/* SQLite alters no table while a view or trigger does not work, and those of others may read our views, which
 * are away for a while. So all of them are, and what is not there again in the end is made again. */
static const char take_down[] =
    "CREATE TEMP TABLE taken_down AS SELECT type, name, sql FROM main.sqlite_master"
    " WHERE type IN ('view', 'trigger')";
static const char take_down_sql[] =
    "SELECT group_concat('DROP ' || type || ' IF EXISTS \"' || replace(name, '\"', '\"\"') || '\"', ';')"
    " FROM temp.taken_down";
static const char put_back_sql[] =
    "SELECT group_concat(sql, char(10) || ';') FROM (SELECT sql FROM temp.taken_down WHERE name NOT IN"
    " (SELECT name FROM main.sqlite_master) ORDER BY type DESC)"; /* a trigger may be of a view */

/* Runs the statements that a query gives. */
static int run_answer(sqlite3 *database, const char *query)
{
    sqlite3_stmt *compiled = NULL;
    int code = database_prepare(database, query, &compiled);

    if (code == 0)
        code = database_step(database, compiled);
    const char *answer = code == 1 ? (const char *)sqlite3_column_text(compiled, 0) : NULL;
    char *sql = answer ? strdup(answer) : NULL;
    bool failed = answer && !sql;
    (void)sqlite3_finalize(compiled);
    code = failed ? -ENOMEM : sql ? database_run(database, sql) : code < 0 ? code : 0;
    free(sql);
    return code;
}

struct upgrade {
    const struct history_upgrade *watch;
    double done;
};

static int on_progress(void *context)
{
    const struct upgrade *upgrade = context;

    return upgrade->watch->watch(upgrade->watch->context, upgrade->done);
}

static int run_steps(sqlite3 *database, const struct schema_step *steps, int64_t version, int newest,
                     const struct snapshot_columns *columns, const struct history_upgrade *watch)
{
    struct upgrade upgrade = {.watch = watch};
    int code = version < 0 ? -EINVAL : 0;

    if (watch && watch->watch) {
        if (on_progress(&upgrade))
            return -ECANCELED;
        sqlite3_progress_handler(database, PROGRESS_INSTRUCTIONS, on_progress, &upgrade);
    }
    for (; version < newest && code == 0; version++)
        code = run_step(database, &steps[version], (int)version + 1, columns, &upgrade.done);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    return code;
}

int schema_migrate(sqlite3 *database, const char *path, const struct schema_step *steps, int newest,
                   const struct snapshot_columns *columns, const struct history_upgrade *watch,
                   struct metron_error *error)
{
    int64_t version = 0;
    int code = database_run(database, "BEGIN IMMEDIATE");

    /* Read inside the transaction: another program may have been faster. */
    if (code == 0)
        code = database_number(database, "PRAGMA user_version", &version);
    bool is_older = version > 0 && version < newest;
    if (code == 0 && is_older)
        code = database_run(database, take_down);
    if (code == 0 && is_older)
        code = run_answer(database, take_down_sql);
    if (code == 0)
        code = run_steps(database, steps, version, newest, columns, is_older ? watch : NULL);
    if (code == 0 && columns)
        code = add_columns(database, columns);
    if (code == 0 && columns)
        code = make_views(database, columns);
    if (code == 0 && is_older)
        code = run_answer(database, put_back_sql);
    if (code == 0 && is_older)
        code = database_run(database, "DROP TABLE temp.taken_down");
    if (code == 0)
        code = database_run(database, "COMMIT");
    if (code < 0) {
        (void)database_failed(database, path,
                              code == -ECANCELED ? "it was not brought up to this version"
                                                 : "cannot be brought up to this version",
                              code, error);
        if (!sqlite3_get_autocommit(database))
            (void)database_run(database, "ROLLBACK");
    }
    return code;
}
