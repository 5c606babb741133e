/*
 * The statements that write, each prepared at its first use: templates over columns (sql.h).
 */
#include "store/history/schema.h"
#include "store/history/state.h"

/* Weighted by the time each snapshot stands for. */
#define MEAN(column)                                                                                         \
    "sum(" column " * interval_ms) * 1.0 / sum(interval_ms) FILTER (WHERE " column " IS NOT NULL)"
#define MEAN_MAX(column) MEAN(column) ", max(" column ")"
/* SQL is read by its own lines. */
/* clang-format off */
#define GPU_VALUE "json_extract(g.value, '$.$n')"
#define MINUTE_ADD                                                                                           \
    "INSERT INTO minutes(id, minute, last_tick, num_samples, daemon_pid{m, $s, $s_max}, process_count,"      \
    " process_count_max, zombie_count, zombie_count_max, gpus, running_jobs, running_jobs_max,"              \
    " active_sheets, active_sheets_max, first_sample, last_sample, clock)"                                   \
    " SELECT ?3, ?4, ?2, count(*), max(daemon_pid){m, " MEAN_MAX("$s") "},"                                  \
    " " MEAN_MAX("process_count") ", " MEAN_MAX("zombie_count") ","                                          \
    " coalesce((SELECT CASE WHEN count(*) > 0 THEN json_group_array(json(gpu)) END FROM (SELECT json_object("\
    "  'index', json_extract(g.value, '$.index')"                                                            \
    "{D, '$n', round(" MEAN(GPU_VALUE) ", 3), '$n_max', max(" GPU_VALUE ")}) AS gpu"                         \
    "  FROM ticks AS t, json_each(t.gpus) AS g WHERE t.id BETWEEN ?1 AND ?2 GROUP BY g.key ORDER BY g.key)),"\
    " CASE WHEN count(gpus) > 0 THEN '[]' END),"                                                             \
    " " MEAN_MAX("running_jobs") ", " MEAN_MAX("active_sheets") ", ?5, ?6, max(clock)"                       \
    " FROM ticks WHERE id BETWEEN ?1 AND ?2"
/* clang-format on */

const char *const history_sql[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_DATA_VERSION] = "PRAGMA data_version",
    [SQL_CLOCK_FIND] = "SELECT offset FROM clock WHERE boot = ?",
    [SQL_CLOCK_ADD] = "INSERT INTO clock(boot, offset) VALUES(?, ?)",
    [SQL_COMMAND_FIND] = "SELECT id, used FROM commands WHERE hash = ? AND text = ?",
    [SQL_COMMAND_ADD] = "INSERT INTO commands(hash, used, text) VALUES(?, ?, ?)",
    [SQL_COMMAND_TOUCH] = "UPDATE commands SET used = ? WHERE id = ?",
    [SQL_PROCESS_ADD] =
        "INSERT INTO processes(id, origin, pid, ppid, start_ticks, started, command, job, sheet,"
        " membership) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [SQL_PROCESS_END] = "UPDATE processes SET last_seen = ? WHERE id = ?",
    [SQL_SAMPLE_ADD] = "INSERT INTO samples(id, process, first_tick, last_tick, state{P, $s})"
                       " VALUES(?, ?, ?, " SCHEMA_HOLDS ", ?{P, ?})",
    [SQL_SAMPLE_END] = "UPDATE samples SET last_tick = ? WHERE id = ?",
    [SQL_SAMPLES_END] = "UPDATE samples SET last_tick = ? WHERE id >= ? AND last_tick = " SCHEMA_HOLDS,
    [SQL_CALLS_ADD] = "INSERT INTO calls VALUES(?, ?)",
    [SQL_CALLS_LATEST] = "INSERT OR REPLACE INTO process_calls VALUES(?, ?)",
    [SQL_PROGRESS_ADD] = "INSERT INTO progress VALUES(?, ?)",
    [SQL_TICK_ADD] =
        "INSERT INTO ticks(id, timestamp, interval_ms, elapsed_ms, daemon_pid, uptime_seconds, process_count,"
        " zombie_count, gpus, pressure_level, running_jobs, active_sheets, progress,"
        " first_sample, last_sample, clock{M, $s})"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?{M, ?})",
    /* ?1 time, ?2 the event as JSON, ?3 job, ?4 command, ?5 retention clock: whatever else the JSON says are
       details. */
    [SQL_EVENT_ADD] =
        "INSERT INTO events(timestamp, pid, type, exit_code, signal_num, job, sheet, command, details, clock)"
        " VALUES(?1, json_extract(?2, '$.pid'), json_extract(?2, '$.event_type'), json_extract(?2, "
        "'$.exit_code'),"
        " json_extract(?2, '$.signal_num'), ?3, json_extract(?2, '$.sheet_num'), ?4, json_remove(?2, "
        "'$.timestamp',"
        " '$.pid', '$.event_type', '$.exit_code', '$.signal_num', '$.job_id', '$.sheet_num', '$.command'),"
        " ?5)",
    [SQL_JOB_FIND] = "SELECT id, started_ns FROM jobs WHERE name = ?1 AND (?2 IS NULL OR started_ns = ?2)"
                     " ORDER BY id DESC LIMIT 1",
    [SQL_JOB_ADD] = "INSERT INTO jobs(name) VALUES(?)",
    [SQL_JOB_SET] =
        "UPDATE jobs SET ({U$s, }workspace, config_hash, total_sheets, status, pid, started_ns, ended_ns,"
        " pid_start, own_cgroup, owner, runner, runner_start, clock) = ({U?, }?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?) WHERE id = ?",
    [SQL_JOB_HOTSPOTS] = "UPDATE jobs SET hotspots = (" SCHEMA_JOB_CALLS ") WHERE id = ?1",
    [SQL_JOB_CALLS] = "UPDATE jobs SET hotspots = ?2 WHERE id = ?1",
    [SQL_MEMBERS_SET] = "INSERT OR REPLACE INTO job_members VALUES(?, ?)",
    [SQL_MEMBERS_END] = "DELETE FROM job_members WHERE job = ?",
    [SQL_SHEET_SET] =
        "INSERT OR REPLACE INTO sheets({U$s, }job, number, status, pid, started_ns, ended_ns, tries,"
        " pid_start, own_cgroup, runner, runner_start, hotspots) VALUES({U?, }:job, :number, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, coalesce(?, (SELECT hotspots FROM sheets WHERE job = :job AND number = :number)))",
    /* The first snapshot after the last minute made, and whether one of another minute follows. */
    [SQL_MINUTE_NEXT] = "SELECT id, CAST(timestamp / 60 AS INTEGER) FROM ticks WHERE id > ? ORDER BY id",
    [SQL_MEANS_MAKE] = "CREATE TEMP TABLE IF NOT EXISTS means(process INTEGER PRIMARY KEY{p, $s, $s_max})",
    [SQL_MEANS_CLEAR] = "DELETE FROM means",
    /* ?1 first and ?2 last snapshot. Each sample once, with the time it holds for between the two. */
    [SQL_MINUTE_MEANS] =
        "WITH held AS MATERIALIZED (SELECT process{p, $s},"
        " (SELECT elapsed_ms FROM ticks WHERE id = min(last_tick, ?2)) -"
        " (SELECT elapsed_ms - interval_ms FROM ticks WHERE id = max(first_tick, ?1)) AS interval_ms"
        " FROM samples WHERE id BETWEEN (SELECT first_sample FROM ticks WHERE id = ?1)"
        "  AND (SELECT last_sample FROM ticks WHERE id = ?2) AND last_tick >= ?1)"
        " INSERT INTO means(process{p, $s, $s_max})"
        " SELECT process{p, " MEAN_MAX("$s") "} FROM held GROUP BY process",
    /* ?1 the first that may hold, ?2 the last minute, ?3 whether all end, also those that still are so */
    [SQL_MINUTE_SAMPLES_END] =
        "UPDATE minute_samples AS s SET last_minute = ?2 WHERE id >= ?1 AND last_minute = " SCHEMA_HOLDS
        " AND (?3 OR NOT EXISTS (SELECT 1 FROM means AS m WHERE m.process = s.process"
        "{p AND m.$s IS s.$s AND m.$s_max IS s.$s_max}))",
    /* ?1 the first that may hold, ?2 the minute, ?3 the last sample: those that have no row that holds */
    [SQL_MINUTE_SAMPLES_ADD] =
        "INSERT INTO minute_samples(id, process, first_minute, last_minute{p, $s, $s_max})"
        " SELECT ?3 + row_number() OVER (ORDER BY process), process, ?2, " SCHEMA_HOLDS "{p, $s, $s_max}"
        " FROM means WHERE process NOT IN"
        " (SELECT process FROM minute_samples WHERE id >= ?1 AND last_minute = " SCHEMA_HOLDS ")",
    /* ?1 first and ?2 last snapshot, ?3 id, ?4 minute, ?5 and ?6 the samples */
    [SQL_MINUTE_ADD] = MINUTE_ADD,
};
