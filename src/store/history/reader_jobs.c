/*
 * Jobs with their sheets, as the daemon last told of them, and what their processes called.
 */
#include <errno.h>
#include <string.h>

#include "store/history/reader_state.h"

#define SHEETS_MAX (1 << 20)
#define USAGE_COLUMNS                                                                                        \
    "cpu_seconds, cgroup_cpu_seconds, peak_rss_bytes, peak_pss_bytes, largest_hwm_bytes, peak_cgroup_bytes," \
    " read_bytes, write_bytes, spawned, exited, spawned_is_exact, unique_processes, peak_processes"
#define JOB_COLUMNS                                                                                          \
    USAGE_COLUMNS                                                                                            \
    ", id, name, workspace, config_hash, total_sheets, status, pid, started_ns, ended_ns, hotspots,"         \
    " pid_start"

static bool column_unsigned(sqlite3_stmt *row, int column, uint64_t *out)
{
    int64_t number = 0;
    bool there = column_integer(row, column, &number);

    *out = (uint64_t)number;
    return there;
}

static void usage_read(sqlite3_stmt *row, struct job_usage *out)
{
    *out = (struct job_usage){0};
    out->has = (column_real(row, 0, &out->cpu_seconds) ? USAGE_HAS_CPU : 0U) |
               (column_real(row, 1, &out->cgroup_cpu_seconds) ? USAGE_HAS_CGROUP_CPU : 0U) |
               (column_unsigned(row, 2, &out->peak_rss_bytes) ? USAGE_HAS_RSS : 0U) |
               (column_unsigned(row, 3, &out->peak_pss_bytes) ? USAGE_HAS_PSS : 0U) |
               (column_unsigned(row, 4, &out->largest_hwm_bytes) ? USAGE_HAS_HWM : 0U) |
               (column_unsigned(row, 5, &out->peak_cgroup_bytes) ? USAGE_HAS_CGROUP_MEMORY : 0U) |
               (column_unsigned(row, 6, &out->read_bytes) ? USAGE_HAS_IO : 0U);
    (void)column_unsigned(row, 7, &out->write_bytes);
    (void)column_unsigned(row, 8, &out->spawned);
    (void)column_unsigned(row, 9, &out->exited);
    out->spawned_is_exact = sqlite3_column_int(row, 10) != 0;
    (void)column_unsigned(row, 11, &out->unique_processes);
    (void)column_unsigned(row, 12, &out->peak_processes);
}

static struct timespec column_time(sqlite3_stmt *row, int column)
{
    int64_t nanoseconds = sqlite3_column_int64(row, column);

    return (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
}

static enum job_status job_status_of(const char *name)
{
    for (int status = JOB_RUNNING; name && status < JOB_LOST; status++)
        if (strcmp(job_status_name((enum job_status)status), name) == 0)
            return (enum job_status)status;
    return JOB_LOST;
}

static enum sheet_status sheet_status_of(const char *name)
{
    for (int status = SHEET_RUNNING; name && status < SHEET_LOST; status++)
        if (strcmp(sheet_status_name((enum sheet_status)status), name) == 0)
            return (enum sheet_status)status;
    return SHEET_LOST;
}

static int count_sheets(struct history_reader *reader, int64_t job, int64_t *out)
{
    int code = 0;
    sqlite3_stmt *count = reader_prepare(reader, "SELECT count(*) FROM sheets WHERE job = ?", &code);

    bind_integer(count, 1, true, job);
    if (code == 0)
        code = reader_step(reader, count);
    *out = code == 1 ? sqlite3_column_int64(count, 0) : 0;
    (void)sqlite3_finalize(count);
    return code < 0 ? code : *out > SHEETS_MAX ? -E2BIG : 0;
}

static int sheets_read(struct history_reader *reader, int64_t row, struct arena *arena, struct job *job)
{
    int64_t count = 0;
    int code = count_sheets(reader, row, &count);

    if (code < 0 || count == 0)
        return code;
    job->sheets = arena_alloc(arena, (size_t)count * sizeof(*job->sheets));
    if (!job->sheets)
        return -ENOMEM;
    sqlite3_stmt *sheets =
        reader_prepare(reader,
                       "SELECT " USAGE_COLUMNS ", number, status, pid, started_ns, ended_ns, tries, pid_start"
                       " FROM sheets WHERE job = ? ORDER BY number",
                       &code);
    bind_integer(sheets, 1, true, row);
    while (code == 0 && (code = reader_step(reader, sheets)) == 1 && job->sheet_count < (size_t)count) {
        struct job_sheet *sheet = &job->sheets[job->sheet_count++];

        usage_read(sheets, &sheet->usage);
        sheet->number = sqlite3_column_int64(sheets, 13);
        sheet->status = sheet_status_of((const char *)sqlite3_column_text(sheets, 14));
        sheet->pid = (pid_t)sqlite3_column_int64(sheets, 15);
        sheet->started = column_time(sheets, 16);
        sheet->ended = column_time(sheets, 17);
        sheet->tries = (unsigned)sqlite3_column_int64(sheets, 18);
        sheet->pid_start_ticks = (uint64_t)sqlite3_column_int64(sheets, 19);
        code = 0;
    }
    (void)sqlite3_finalize(sheets);
    return code < 0 ? code : 0;
}

static int job_read(struct history_reader *reader, sqlite3_stmt *row, struct arena *arena, struct job *out)
{
    int code = 0;

    *out = (struct job){.pid = (pid_t)sqlite3_column_int64(row, 19)};
    out->pid_start_ticks = (uint64_t)sqlite3_column_int64(row, 23);
    usage_read(row, &out->usage);
    out->id = column_copy(row, 14, arena, &code);
    out->workspace = column_copy(row, 15, arena, &code);
    out->config_hash = column_copy(row, 16, arena, &code);
    out->has_total = column_integer(row, 17, &out->total_sheets);
    out->status = job_status_of((const char *)sqlite3_column_text(row, 18));
    out->started = column_time(row, 20);
    out->ended = column_time(row, 21);
    const char *calls = (const char *)sqlite3_column_text(row, 22);
    if (code == 0 && calls)
        code = calls_read(calls, (size_t)sqlite3_column_bytes(row, 22), arena, &out->calls, &out->call_count);
    return code < 0 ? code : sheets_read(reader, sqlite3_column_int64(row, 13), arena, out);
}

static int jobs_visit(struct history_reader *reader, const char *sql, size_t limit, history_visit_job *visit,
                      void *context, struct metron_error *error)
{
    struct arena arena = {0};
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *rows = reader_prepare(reader, sql, &code);
    bind_integer(rows, 1, true, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    while (code == 0 && (code = reader_step(reader, rows)) == 1) {
        struct job job;

        arena_reset(&arena);
        code = job_read(reader, rows, &arena, &job);
        if (code == 0) {
            code = visit(context, &job);
            visited = code != 0;
        }
    }
    (void)sqlite3_finalize(rows);
    arena_fini(&arena);
    return reader_end(reader, code, visited, error);
}

int history_read_running_jobs(struct history_reader *reader, history_visit_job *visit, void *context,
                              struct metron_error *error)
{
    return jobs_visit(reader, "SELECT " JOB_COLUMNS " FROM jobs WHERE status = 'running' ORDER BY id LIMIT ?",
                      SIZE_MAX, visit, context, error);
}

int history_read_jobs(struct history_reader *reader, size_t limit, history_visit_job *visit, void *context,
                      struct metron_error *error)
{
    return jobs_visit(reader,
                      "SELECT * FROM (SELECT " JOB_COLUMNS " FROM jobs WHERE status IS NOT NULL"
                      " ORDER BY id DESC LIMIT ?) ORDER BY id",
                      limit, visit, context, error);
}

/* Of a job that runs: what its processes have called until now. */
static int calls_so_far(struct history_reader *reader, int64_t job, struct arena *arena,
                        struct history_profile *out)
{
    static const char sql[] =
        "SELECT json_group_object(name, json_array(number, seconds)) FROM (SELECT k.key AS name,"
        " sum(json_extract(k.value, '$[0]')) AS number, sum(json_extract(k.value, '$[1]')) AS seconds"
        " FROM process_calls AS c, json_each(c.calls) AS k WHERE c.process IN (SELECT max(l.process)"
        "  FROM processes AS p JOIN process_calls AS l ON l.process = p.id WHERE p.job = ?1"
        "  GROUP BY p.origin, p.sheet)"
        " GROUP BY k.key ORDER BY seconds DESC, number DESC LIMIT 64)";
    int code = 0;
    sqlite3_stmt *row = reader_prepare(reader, sql, &code);

    bind_integer(row, 1, true, job);
    if (code == 0)
        code = reader_step(reader, row);
    const char *text = code == 1 ? (const char *)sqlite3_column_text(row, 0) : NULL;
    if (text)
        code = calls_read(text, (size_t)sqlite3_column_bytes(row, 0), arena, &out->calls, &out->call_count);
    (void)sqlite3_finalize(row);
    return code < 0 ? code : 0;
}

int history_read_profile(struct history_reader *reader, const char *job_id, struct arena *arena,
                         struct history_profile *out, struct metron_error *error)
{
    int code = reader_begin(reader, error);

    *out = (struct history_profile){0};
    if (code < 0)
        return code;
    sqlite3_stmt *row =
        reader_prepare(reader,
                       "SELECT " JOB_COLUMNS " FROM jobs WHERE name = ? AND status IS NOT NULL"
                       " ORDER BY id DESC LIMIT 1",
                       &code);
    bind_text(row, 1, job_id);
    if (code == 0)
        code = reader_step(reader, row);
    if (code == 0)
        code = error_set(error, -ENOENT, "history '%s' has no job '%s'", reader->path, job_id);
    else if (code == 1)
        code = job_read(reader, row, arena, &out->job);
    out->calls = out->job.calls;
    out->call_count = out->job.call_count;
    if (code == 0 && !out->calls)
        code = calls_so_far(reader, sqlite3_column_int64(row, 13), arena, out);
    (void)sqlite3_finalize(row);
    return reader_end(reader, code, false, error);
}
