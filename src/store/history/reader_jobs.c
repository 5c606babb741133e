/*
 * Jobs with their sheets, as the daemon last told of them, and what their processes called.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "store/history/reader_state.h"
#include "store/history/schema.h"

#define SHEETS_MAX (1 << 20)
#define SHEET_COLUMNS                                                                                        \
    "{U$s, }number, status, pid, started_ns, ended_ns, tries, pid_start, own_cgroup, hotspots, runner,"      \
    " runner_start"
#define JOB_COLUMNS                                                                                          \
    "{U$s, }id, name, workspace, config_hash, total_sheets, status, pid, started_ns, ended_ns, hotspots,"    \
    " pid_start, own_cgroup, owner, runner, runner_start,"                                                   \
    " (SELECT members FROM job_members WHERE job = jobs.id)"

/* Where they stand among the columns. */
enum sheet_column {
    SHEET_NUMBER = USAGE_COUNT,
    SHEET_STATUS,
    SHEET_PID,
    SHEET_STARTED,
    SHEET_ENDED,
    SHEET_TRIES,
    SHEET_PID_START,
    SHEET_OWN_CGROUP,
    SHEET_HOTSPOTS,
    SHEET_RUNNER,
    SHEET_RUNNER_START,
};
enum job_column {
    JOB_ROW = USAGE_COUNT,
    JOB_NAME,
    JOB_WORKSPACE,
    JOB_CONFIG_HASH,
    JOB_TOTAL_SHEETS,
    JOB_STATUS,
    JOB_PID,
    JOB_STARTED,
    JOB_ENDED,
    JOB_HOTSPOTS,
    JOB_PID_START,
    JOB_OWN_CGROUP,
    JOB_OWNER,
    JOB_RUNNER,
    JOB_RUNNER_START,
    JOB_MEMBERS,
};

static struct job_usage usage_read(sqlite3_stmt *row)
{
    struct job_usage usage = {0};
    double number;

    for (unsigned i = 0; i < USAGE_COUNT; i++)
        if (column_real(row, (int)i, &number))
            usage_set(&usage, i, number);
    return usage;
}

static struct timespec column_time(sqlite3_stmt *row, int column)
{
    int64_t nanoseconds = sqlite3_column_int64(row, column);

    return (struct timespec){.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
}

static enum own_cgroup column_own_cgroup(sqlite3_stmt *row, int column)
{
    int64_t held;

    if (!column_integer(row, column, &held))
        return OWN_CGROUP_NOT_TOLD;
    return held ? OWN_CGROUP_HELD : OWN_CGROUP_REFUSED;
}

static int column_calls(sqlite3_stmt *row, int column, struct arena *arena,
                        const struct snapshot_call **calls, size_t *count)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? calls_read(text, (size_t)sqlite3_column_bytes(row, column), arena, calls, count) : 0;
}

/* The last of them is "lost": what has no name that is known here. */
static int status_of(const char *const *names, int lost, sqlite3_stmt *row, int column)
{
    const char *name = (const char *)sqlite3_column_text(row, column);
    int status = 0;

    while (status < lost && !(name && strcmp(names[status], name) == 0))
        status++;
    return status;
}

static int count_sheets(struct history_reader *reader, int64_t job, int64_t *out)
{
    int code = 0;
    sqlite3_stmt *count = reader_prepare(reader, "SELECT count(*) FROM sheets WHERE job = ?", &code);

    bind_integer(count, 1, true, job);
    if (code == 0)
        code = database_step(reader->database, count);
    *out = code == 1 ? sqlite3_column_int64(count, 0) : 0;
    (void)sqlite3_finalize(count);
    return code < 0 ? code : *out > SHEETS_MAX ? -E2BIG : 0;
}

static int sheet_read(sqlite3_stmt *row, struct arena *arena, struct job_sheet *out)
{
    *out = (struct job_sheet){
        .number = sqlite3_column_int64(row, SHEET_NUMBER),
        .status = (enum sheet_status)status_of(sheet_status_names, SHEET_LOST, row, SHEET_STATUS),
        .pid = (pid_t)sqlite3_column_int64(row, SHEET_PID),
        .started = column_time(row, SHEET_STARTED),
        .ended = column_time(row, SHEET_ENDED),
        .tries = (unsigned)sqlite3_column_int64(row, SHEET_TRIES),
        .pid_start_ticks = (uint64_t)sqlite3_column_int64(row, SHEET_PID_START),
        .own_cgroup = column_own_cgroup(row, SHEET_OWN_CGROUP),
        .runner = (pid_t)sqlite3_column_int64(row, SHEET_RUNNER),
        .runner_start_ticks = (uint64_t)sqlite3_column_int64(row, SHEET_RUNNER_START),
        .usage = usage_read(row),
    };
    return column_calls(row, SHEET_HOTSPOTS, arena, &out->calls, &out->call_count);
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
        reader_prepare(reader, "SELECT " SHEET_COLUMNS " FROM sheets WHERE job = ? ORDER BY number", &code);
    bind_integer(sheets, 1, true, row);
    while (code == 0 && (code = database_step(reader->database, sheets)) == 1 &&
           job->sheet_count < (size_t)count)
        code = sheet_read(sheets, arena, &job->sheets[job->sheet_count++]);
    (void)sqlite3_finalize(sheets);
    return code < 0 ? code : 0;
}

static int job_read(struct history_reader *reader, sqlite3_stmt *row, struct arena *arena, struct job *out)
{
    int code = 0;

    *out = (struct job){
        .id = column_copy(row, JOB_NAME, arena, &code),
        .workspace = column_copy(row, JOB_WORKSPACE, arena, &code),
        .config_hash = column_copy(row, JOB_CONFIG_HASH, arena, &code),
        .status = (enum job_status)status_of(job_status_names, JOB_LOST, row, JOB_STATUS),
        .pid = (pid_t)sqlite3_column_int64(row, JOB_PID),
        .started = column_time(row, JOB_STARTED),
        .ended = column_time(row, JOB_ENDED),
        .pid_start_ticks = (uint64_t)sqlite3_column_int64(row, JOB_PID_START),
        .own_cgroup = column_own_cgroup(row, JOB_OWN_CGROUP),
        .runner = (pid_t)sqlite3_column_int64(row, JOB_RUNNER),
        .runner_start_ticks = (uint64_t)sqlite3_column_int64(row, JOB_RUNNER_START),
        .usage = usage_read(row),
    };
    out->has_total = column_integer(row, JOB_TOTAL_SHEETS, &out->total_sheets);
    out->owner = sqlite3_column_type(row, JOB_OWNER) == SQLITE_NULL
                     ? getuid() /* an older metron's: whose daemon it was */
                     : (uid_t)sqlite3_column_int64(row, JOB_OWNER);
    if (code == 0)
        code = column_calls(row, JOB_HOTSPOTS, arena, &out->calls, &out->call_count);
    const char *members = (const char *)sqlite3_column_text(row, JOB_MEMBERS);
    if (code == 0 && members)
        code = members_read(members, (size_t)sqlite3_column_bytes(row, JOB_MEMBERS), arena, out);
    return code < 0 ? code : sheets_read(reader, sqlite3_column_int64(row, JOB_ROW), arena, out);
}

int history_read_running_jobs(struct history_reader *reader, history_visit_job *visit, void *context,
                              struct metron_error *error)
{
    struct arena arena = {0};
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *rows = reader_prepare(reader,
                                        "SELECT " JOB_COLUMNS " FROM jobs WHERE status = 'running'"
                                        " AND name IS NOT NULL ORDER BY id",
                                        &code);
    while (code == 0 && (code = database_step(reader->database, rows)) == 1) {
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

/* Of a job that runs: what its processes have called until now. */
static int calls_so_far(struct history_reader *reader, int64_t job, struct arena *arena,
                        struct history_profile *out)
{
    int code = 0;
    sqlite3_stmt *row = reader_prepare(reader, "SELECT coalesce((" SCHEMA_JOB_CALLS "), '{}')", &code);

    bind_integer(row, 1, true, job);
    if (code == 0)
        code = database_step(reader->database, row);
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
        code = database_step(reader->database, row);
    if (code == 0)
        code = error_set(error, -ENOENT, "history '%s' has no job '%s'", reader->path, job_id);
    else if (code == 1)
        code = job_read(reader, row, arena, &out->job);
    out->calls = out->job.calls;
    out->call_count = out->job.call_count;
    if (code == 0 && !out->calls)
        code = calls_so_far(reader, sqlite3_column_int64(row, JOB_ROW), arena, out);
    (void)sqlite3_finalize(row);
    return reader_end(reader, code, false, error);
}
