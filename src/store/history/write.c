/*
 * Writing a snapshot: one transaction, whole or not at all.
 *
 * The file may be changed by others between two transactions (somebody vacuums it, a second daemon writes to
 * it): SQLite tells by its data version. What was known is then forgotten, the ids are read again and every
 * process is written anew, as at the start.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "store/history/state.h"

static int read_counters(struct history *history)
{
    struct history_counters *counters = &history->counters;
    sqlite3 *database = history->database;

    *counters = (struct history_counters){.uptime = -1};
    int code = database_number(database, "SELECT max(id) FROM ticks", &counters->tick);
    if (code == 0)
        code = database_number(database,
                               "SELECT max(coalesce((SELECT max(id) FROM samples), 0),"
                               " coalesce((SELECT last_sample FROM ticks ORDER BY id DESC LIMIT 1), 0))",
                               &counters->sample);
    if (code == 0)
        code = database_number(database, "SELECT max(id) FROM processes", &counters->process);
    if (code == 0)
        code = database_number(database, "SELECT max(id) FROM progress", &counters->progress);
    int64_t clock = 0, elapsed = 0;
    if (code == 0)
        code = database_number(
            database, "SELECT coalesce((SELECT clock FROM ticks ORDER BY id DESC LIMIT 1), 0)", &clock);
    counters->clock = (double)clock;
    if (code == 0)
        code = database_number(
            database, "SELECT coalesce((SELECT first_sample FROM ticks ORDER BY id DESC LIMIT 1), 0)",
            &counters->full_sample);
    if (code == 0)
        code = database_number(database,
                               "SELECT coalesce((SELECT elapsed_ms FROM ticks ORDER BY id DESC LIMIT 1), 0)",
                               &elapsed);
    counters->elapsed_ms = (double)elapsed;
    /* They may be alive still, but nobody watched them: what comes has rows of its own. */
    if (code == 0)
        code = database_run(database, "UPDATE processes SET last_seen = coalesce((SELECT timestamp FROM ticks"
                                      " ORDER BY id DESC LIMIT 1), 0) WHERE last_seen IS NULL");
    return code;
}

/* A job whose name is used again has ended, though nobody could tell how: the store had failed just then. */
static int settle_jobs(struct history *history)
{
    return database_run(
        history->database,
        "UPDATE jobs SET status = 'lost', ended_ns = (SELECT min(next.started_ns) FROM jobs AS next"
        " WHERE next.name = jobs.name AND next.id > jobs.id) WHERE status = 'running' AND EXISTS"
        " (SELECT 1 FROM jobs AS next WHERE next.name = jobs.name AND next.id > jobs.id);"
        "DELETE FROM job_members WHERE job NOT IN (SELECT id FROM jobs WHERE status = 'running')");
}

static int read_data_version(struct history *history, int64_t *out)
{
    sqlite3_stmt *compiled = history_statement(history, SQL_DATA_VERSION);
    int code = database_step(history->database, compiled);

    if (code == 1)
        *out = sqlite3_column_int64(compiled, 0);
    (void)sqlite3_reset(compiled);
    return code == 1 ? 0 : code == 0 ? -EIO : code;
}

int history_begin(struct history *history)
{
    int64_t version = 0;
    int code = history_run(history, history_statement(history, SQL_BEGIN));

    if (code == 0)
        code = read_data_version(history, &version);
    if (code < 0 || (history->loaded && version == history->data_version))
        return code;
    history->loaded = false;
    history->known.count = 0;
    jobs_forget(history);
    minutes_forget(history);
    code = read_counters(history);
    if (code == 0)
        code = settle_jobs(history);
    history->data_version = version;
    return code;
}

int history_commit(struct history *history)
{
    int code = history_run(history, history_statement(history, SQL_COMMIT));

    if (code == 0) {
        history->committed = history->counters;
        history->loaded = true;
    }
    return code;
}

void history_rollback(struct history *history)
{
    history->counters = history->committed;
    jobs_forget(history);
    if (history->database && !sqlite3_get_autocommit(history->database))
        (void)database_run(history->database, "ROLLBACK");
}

static int events_write(struct history *history, const struct snapshot *snapshot, int64_t hour)
{
    int code = 0;

    for (size_t i = 0; i < snapshot->event_count && code == 0; i++) {
        const struct event *event = &snapshot->events[i];
        int64_t job = 0, command = 0;
        struct json json;

        if (event->job_id)
            code = job_row(history, event->job_id, &job);
        if (code == 0 && event->command)
            code = command_row(history, event->command, hour, &command);
        if (code < 0)
            return code;
        strbuf_reset(&history->text);
        json_init(&json, &history->text, 0);
        event_json_unix(&json, event);
        if (history->text.failed)
            return -ENOMEM;
        sqlite3_stmt *add = history_statement(history, SQL_EVENT_ADD);
        bind_real(add, 1, true, clock_timespec_seconds(event->wall));
        bind_text(add, 2, strbuf_text(&history->text));
        bind_integer(add, 3, job != 0, job);
        bind_integer(add, 4, command != 0, command);
        bind_integer(add, 5, true, retention_clock(history));
        code = history_run(history, add);
    }
    return code;
}

/* The jobs of the snapshot as JSON, in a row of their own whenever it is another text. */
static int progress_write(struct history *history, const struct snapshot *snapshot)
{
    struct history_counters *counters = &history->counters;
    struct json json;

    strbuf_reset(&history->text);
    json_init(&json, &history->text, 0);
    snapshot_progress_json(&json, snapshot, NULL);
    if (history->text.failed)
        return -ENOMEM;
    uint64_t hash = hash_bytes(HASH_BEGIN, strbuf_text(&history->text), history->text.length);
    if (hash == counters->progress_hash)
        return 0;
    sqlite3_stmt *add = history_statement(history, SQL_PROGRESS_ADD);
    bind_integer(add, 1, true, ++counters->progress);
    bind_text(add, 2, strbuf_text(&history->text));
    counters->progress_hash = hash;
    return history_run(history, add);
}

static void gpus_text(struct strbuf *out, const struct snapshot *snapshot)
{
    struct json json;

    strbuf_reset(out);
    json_init(&json, out, 0);
    snapshot_gpus_json(&json, snapshot);
}

/* What a snapshot stands for where that is not known: too little to count beside others, and enough for a
 * mean of its own. */
#define UNKNOWN_MS 0.001

/* The time this snapshot stands for, by the daemon's own clock, which nobody sets. */
static double interval_ms(const struct history_counters *counters, const struct snapshot *snapshot)
{
    double passed = snapshot->uptime_seconds - counters->uptime;

    return counters->uptime < 0 || !(passed > 0) || passed > 86400 ? UNKNOWN_MS
                                                                   : fmax(round(passed * 1000), UNKNOWN_MS);
}

static int tick_write(struct history *history, const struct snapshot *snapshot, double wall)
{
    struct history_counters *counters = &history->counters;
    const struct columns *columns = &snapshot->columns->machine;
    double interval = interval_ms(counters, snapshot);
    sqlite3_stmt *add = history_statement(history, SQL_TICK_ADD);
    int place = 0;

    gpus_text(&history->text, snapshot);
    if (history->text.failed)
        return -ENOMEM;
    counters->elapsed_ms += interval;
    bind_integer(add, ++place, true, ++counters->tick);
    bind_real(add, ++place, true, wall);
    bind_real(add, ++place, true, interval);
    bind_real(add, ++place, true, counters->elapsed_ms);
    bind_integer(add, ++place, snapshot->daemon_pid > 0, snapshot->daemon_pid);
    bind_real(add, ++place, true, snapshot->uptime_seconds);
    bind_integer(add, ++place, true, (int64_t)snapshot->process_count);
    bind_integer(add, ++place, true, (int64_t)snapshot->zombie_count);
    bind_text(add, ++place, snapshot->gpus ? strbuf_text(&history->text) : NULL);
    bind_text(add, ++place, snapshot->pressure_level);
    bind_integer(add, ++place, true, snapshot->running_jobs);
    bind_integer(add, ++place, true, snapshot->active_sheets);
    bind_integer(add, ++place, true, counters->progress);
    bind_integer(add, ++place, true, counters->full_sample);
    bind_integer(add, ++place, true, counters->sample);
    bind_integer(add, ++place, true, retention_clock(history));
    for (unsigned i = 0; i < columns->count; i++) {
        double number = snapshot->machine.numbers[i];
        bool there = value_row_has(&snapshot->machine, i) && isfinite(number);

        bind_stored(add, ++place, there, columns->of[i], column_store(columns->of[i], there ? number : 0));
    }
    counters->wall = wall;
    counters->uptime = snapshot->uptime_seconds;
    return history_run(history, add);
}

static int write_once(struct history *history, const struct snapshot *snapshot)
{
    double wall = clock_timespec_seconds(snapshot->wall);
    int code = history_begin(history);

    if (code == 0)
        code = retention_clock_advance(history, snapshot->boot_seconds);
    if (code == 0)
        code = jobs_write(history, snapshot);
    if (code == 0)
        code = processes_write(history, snapshot, wall);
    if (code == 0)
        code = jobs_write_hotspots(history, snapshot);
    if (code == 0)
        code = events_write(history, snapshot, (int64_t)(wall / 3600));
    if (code == 0)
        code = progress_write(history, snapshot);
    if (code == 0)
        code = tick_write(history, snapshot, wall);
    if (code == 0)
        code = history_commit(history);
    return code;
}

/* What was written is what is known from now on. */
static void keep_next(struct history *history)
{
    struct known_processes before = history->known;

    history->known = history->next;
    history->next = before;
}

/* 1 and a remark, if another file was begun or the cap cannot be kept; one with code 0, if it can again. */
static int written(struct history *history, struct metron_error *error)
{
    keep_next(history);
    retention_keep_to_cap(history);
    if (history->remark.code == 0 && (history->is_over_cap || history->reported != -EFBIG))
        return 0;
    if (error)
        *error = history->remark;
    history->reported = history->remark.code;
    history->remark = (struct metron_error){0};
    return 1;
}

static int connect_in_place(struct history *history, struct metron_error *error)
{
    if (history->database && !history_is_in_place(history))
        history_leave(history);
    return history->database ? 0 : history_connect(history, error);
}

int history_write(struct history *history, const struct snapshot *snapshot, struct metron_error *error)
{
    int code = connect_in_place(history, error);

    if (code < 0)
        return code;
    code = write_once(history, snapshot);
    if (code == 0)
        return written(history, error);
    struct metron_error cause = {0};
    (void)database_failed(history->database, history->path, "a snapshot cannot be written", code, &cause);
    history_rollback(history);
    if (code == -EBADMSG) {
        code = history_put_aside(history, error);
        if (code == 0)
            code = history_connect(history, error);
        if (code == 0 && (code = write_once(history, snapshot)) == 0)
            return written(history, error);
        if (!history->database)
            return code;
        (void)database_failed(history->database, history->path, "a snapshot cannot be written", code, &cause);
        history_rollback(history);
    }
    return error_set(error, code, "%s", cause.message);
}

static int write_jobs_once(struct history *history, const struct snapshot *snapshot)
{
    int code = history_begin(history);

    if (code == 0)
        code = retention_clock_advance(history, snapshot->boot_seconds);
    if (code == 0)
        code = jobs_write(history, snapshot);
    if (code == 0)
        code = jobs_write_hotspots(history, snapshot);
    if (code == 0)
        code = events_write(history, snapshot, (int64_t)(clock_timespec_seconds(snapshot->wall) / 3600));
    return code < 0 ? code : history_commit(history);
}

int history_write_jobs(struct history *history, const struct snapshot *snapshot, struct metron_error *error)
{
    int code = connect_in_place(history, error);

    if (code < 0)
        return code;
    code = write_jobs_once(history, snapshot);
    if (code == 0) {
        retention_keep_to_cap(history);
        return 0;
    }
    code = database_failed(history->database, history->path, "a job cannot be written", code, error);
    history_rollback(history);
    return code;
}
