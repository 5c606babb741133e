/*
 * Snapshots as they were, built anew from their rows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "store/history/reader_state.h"

#define PROCESSES_MAX   (1 << 22) /* as many pids as the kernel has */
#define PROCESSES_FIRST 256
#define ARRAY_MAX       65536 /* GPUs, jobs */

static int timespec_of(double seconds, struct timespec *out)
{
    double whole = floor(seconds);

    if (!is_within(seconds, -0x1p62, 0x1p62))
        return -EBADMSG;
    *out = (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)round((seconds - whole) * 1e9)};
    if (out->tv_nsec >= 1000000000) {
        out->tv_sec++;
        out->tv_nsec = 0;
    }
    return 0;
}

/* Items of an array of objects, at most: what it takes to hold them. */
static size_t count_objects(const char *text, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length && count < ARRAY_MAX; i++)
        count += text[i] == '{';
    return count;
}

static int gpu_read(struct json_reader *reader, const struct columns *columns, struct snapshot_gpu *gpu)
{
    struct json_text key;
    double number = 0;
    int code = 0;

    if (!json_enter_object(reader))
        return -EBADMSG;
    while (code == 0 && json_next_key(reader, &key)) {
        if (!json_read_number(reader, &number))
            (void)json_skip(reader);
        else if (!json_text_is(&key, "index"))
            code = value_row_read(columns, &gpu->values, key.bytes, key.length, number);
        else if (is_within(number, 0, 0x1p31))
            gpu->index = (unsigned)number;
        else
            code = -EBADMSG;
    }
    return code;
}

static int job_number(const struct json_text *key, double number, struct snapshot_job *job)
{
    if (!is_within(number, -0x1p63, 0x1p63))
        return -EBADMSG;
    if (json_text_is(key, "total_sheets")) {
        job->has_total = true;
        job->total_sheets = (int64_t)number;
    } else if (json_text_is(key, "last_completed_sheet")) {
        job->has_completed = true;
        job->last_completed_sheet = (int64_t)number;
    } else if (json_text_is(key, "current_sheet")) {
        job->has_current = true;
        job->current_sheet = (int64_t)number;
    }
    return 0;
}

static int job_read(struct json_reader *reader, struct arena *arena, struct snapshot_job *job)
{
    struct json_text key, text;
    double number = 0;
    int code = 0;

    if (!json_enter_object(reader))
        return -EBADMSG;
    while (json_next_key(reader, &key)) {
        if (json_read_number(reader, &number)) {
            if ((code = job_number(&key, number, job)) < 0)
                return code;
            continue;
        }
        bool id = json_text_is(&key, "job_id"), status = json_text_is(&key, "status");
        if (!json_read_text(reader, &text)) {
            (void)json_skip(reader);
            continue;
        }
        const char *copy = id || status ? arena_copy(arena, text.bytes, text.length) : "";
        if (!copy)
            return -ENOMEM;
        if (id)
            job->job_id = copy;
        if (status)
            job->status = copy;
    }
    return job->job_id && job->status ? 0 : -EBADMSG;
}

static int jobs_read(struct snapshot *snapshot, const char *text, size_t length)
{
    size_t most = count_objects(text, length);
    struct json_reader reader;
    int code = 0;

    if (most == 0)
        return 0;
    snapshot->jobs = arena_alloc(&snapshot->arena, most * sizeof(*snapshot->jobs));
    if (!snapshot->jobs)
        return -ENOMEM;
    json_reader_init(&reader, text, length);
    if (json_enter_array(&reader))
        while (code == 0 && snapshot->job_count < most && json_next_item(&reader))
            code = job_read(&reader, &snapshot->arena, &snapshot->jobs[snapshot->job_count++]);
    if (code == 0 && reader.failed)
        code = -EBADMSG;
    json_reader_fini(&reader);
    return code;
}

static int gpus_read(struct snapshot *snapshot, const char *text, size_t length)
{
    size_t most = count_objects(text, length);
    struct json_reader reader;
    int code = 0;

    snapshot->gpus = snapshot_make_gpus(snapshot, most);
    if (!snapshot->gpus)
        return -ENOMEM;
    json_reader_init(&reader, text, length);
    if (json_enter_array(&reader))
        while (code == 0 && snapshot->gpu_count < most && json_next_item(&reader))
            code = gpu_read(&reader, &snapshot->columns->device, &snapshot->gpus[snapshot->gpu_count++]);
    if (code == 0 && reader.failed)
        code = -EBADMSG;
    json_reader_fini(&reader);
    return code;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct snapshot_process *)a)->pid, y = ((const struct snapshot_process *)b)->pid;

    return (x > y) - (x < y);
}

/* Room for one more. The file says how many there are, but may say anything: memory is taken as rows come. */
static int make_room(struct snapshot *snapshot, size_t *room)
{
    if (snapshot->process_count < *room)
        return 0;

    size_t larger = *room > 0 ? *room * 2 : PROCESSES_FIRST;
    struct snapshot_process *processes = snapshot_make_processes(snapshot, larger);

    if (!processes)
        return -ENOMEM;
    if (snapshot->process_count > 0)
        memcpy(processes, snapshot->processes, snapshot->process_count * sizeof(*processes));
    snapshot->processes = processes;
    *room = larger;
    return 0;
}

static int processes_read(struct history_reader *reader, sqlite3_stmt *rows, int64_t count, double timestamp,
                          struct snapshot *snapshot)
{
    size_t room = 0;
    int code = 0;

    if (count < 0 || count > PROCESSES_MAX)
        return -EBADMSG;
    if (count == 0)
        return 0;
    bind_integer(rows, 1, true, (int64_t)snapshot->tick);
    while (code == 0 && (code = database_step(reader->database, rows)) == 1) {
        code = (int64_t)snapshot->process_count < count ? make_room(snapshot, &room) : -EBADMSG;
        if (code == 0)
            code = process_read(rows, &snapshot->columns->process, &snapshot->arena, timestamp,
                                &snapshot->processes[snapshot->process_count++]);
    }
    (void)sqlite3_reset(rows);
    if (code == 0 && snapshot->process_count > 0)
        qsort(snapshot->processes, snapshot->process_count, sizeof(*snapshot->processes), by_pid);
    return code;
}

/* What is selected of a snapshot, as a template. */
enum {
    TICK_ID,
    TICK_TIMESTAMP,
    TICK_DAEMON_PID,
    TICK_UPTIME,
    TICK_PROCESSES,
    TICK_ZOMBIES,
    TICK_GPUS,
    TICK_PRESSURE,
    TICK_RUNNING_JOBS,
    TICK_ACTIVE_SHEETS,
    TICK_JOBS,
    TICK_VALUES, /* the first of them */
};
#define TICK_COLUMNS                                                                                         \
    "t.id, timestamp, daemon_pid, uptime_seconds, process_count, zombie_count, gpus, pressure_level,"        \
    " running_jobs, active_sheets, g.jobs{M, t.$s}"

static int machine_read(sqlite3_stmt *tick, struct snapshot *snapshot)
{
    int code = timespec_of(sqlite3_column_double(tick, TICK_TIMESTAMP), &snapshot->wall);

    snapshot->tick = (uint64_t)sqlite3_column_int64(tick, TICK_ID);
    snapshot->daemon_pid = (pid_t)sqlite3_column_int64(tick, TICK_DAEMON_PID);
    snapshot->uptime_seconds = sqlite3_column_double(tick, TICK_UPTIME);
    column_row(tick, TICK_VALUES, &snapshot->columns->machine, &snapshot->machine);
    snapshot->zombie_count = (size_t)sqlite3_column_int64(tick, TICK_ZOMBIES);
    snapshot->pressure_level = column_copy(tick, TICK_PRESSURE, &snapshot->arena, &code);
    snapshot->running_jobs = (unsigned)sqlite3_column_int64(tick, TICK_RUNNING_JOBS);
    snapshot->active_sheets = (unsigned)sqlite3_column_int64(tick, TICK_ACTIVE_SHEETS);
    const char *gpus = (const char *)sqlite3_column_text(tick, TICK_GPUS);
    if (code == 0 && gpus)
        code = gpus_read(snapshot, gpus, (size_t)sqlite3_column_bytes(tick, TICK_GPUS));
    const char *jobs = (const char *)sqlite3_column_text(tick, TICK_JOBS);
    if (code == 0 && jobs)
        code = jobs_read(snapshot, jobs, (size_t)sqlite3_column_bytes(tick, TICK_JOBS));
    return code;
}

static int snapshot_read(struct history_reader *reader, sqlite3_stmt *tick, sqlite3_stmt *rows,
                         struct snapshot *snapshot)
{
    int code = machine_read(tick, snapshot);

    return code < 0 ? code
                    : processes_read(reader, rows, sqlite3_column_int64(tick, TICK_PROCESSES),
                                     sqlite3_column_double(tick, TICK_TIMESTAMP), snapshot);
}

int history_read_snapshots(struct history_reader *reader, const struct snapshot_columns *columns,
                           const struct history_span *span, struct snapshot_pool *pool,
                           history_visit_snapshot *visit, void *context, struct metron_error *error)
{
    static const char tick_sql[] =
        "SELECT " TICK_COLUMNS " FROM ticks AS t LEFT JOIN progress AS g ON g.id = t.progress"
        " WHERE timestamp >= ?1 AND timestamp < ?2 ORDER BY timestamp, t.id LIMIT ?3";
    static const char row_sql[] =
        "SELECT " PROCESS_COLUMNS " FROM ticks AS t CROSS JOIN samples AS s ON s.id BETWEEN t.first_sample"
        " AND t.last_sample AND s.last_tick >= t.id CROSS JOIN processes AS p ON p.id = "
        "s.process" PROCESS_JOINS " WHERE t.id = ?1";
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *ticks = reader_prepare_columns(reader, tick_sql, columns, &code);
    sqlite3_stmt *rows = reader_prepare_columns(reader, row_sql, columns, &code);
    reader_bind_span(ticks, span);
    while (code == 0 && (code = database_step(reader->database, ticks)) == 1) {
        struct snapshot *snapshot = snapshot_new(pool);

        code = snapshot ? snapshot_set_columns(snapshot, columns) : -ENOMEM;
        if (code == 0)
            code = snapshot_read(reader, ticks, rows, snapshot);
        if (code == 0) {
            code = visit(context, snapshot);
            visited = code != 0;
        }
        snapshot_release(snapshot);
    }
    (void)sqlite3_finalize(ticks);
    (void)sqlite3_finalize(rows);
    return reader_end(reader, code, visited, error);
}

int history_read_last_time(struct history_reader *reader, double before, struct timespec *out,
                           struct metron_error *error)
{
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *row = reader_prepare(
        reader, "SELECT timestamp FROM ticks WHERE timestamp < ? ORDER BY id DESC LIMIT 1", &code);
    bind_real(row, 1, true, before);
    if (code == 0)
        code = database_step(reader->database, row);
    if (code == 0)
        code = error_set(error, -ENOENT, "history '%s' has no snapshot", reader->path);
    else if (code == 1)
        code = timespec_of(sqlite3_column_double(row, 0), out);
    (void)sqlite3_finalize(row);
    return reader_end(reader, code, false, error);
}
