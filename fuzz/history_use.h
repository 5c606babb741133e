/* Reads everything out of a history in memory, and makes of it what the daemon does: answers in JSON,
 * reports.
 */
#ifndef METRON_FUZZ_HISTORY_USE_H
#define METRON_FUZZ_HISTORY_USE_H

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "check.h"
#include "collect/collectors.h"
#include "daemon/socket/request.h"
#include "schema/job.h"
#include "store/history/reader_state.h"
#include "view/job_table.h"

#define HISTORY_LIMIT 16    /* snapshots, events, jobs */
#define HISTORY_NOW   1.8e9 /* later than the seeds */
#define HISTORY_STEP  100   /* instructions of SQLite's machine */
#define HISTORY_STEPS 2000

static int history_steps;

static inline const struct snapshot_columns *all_columns(void)
{
    static struct snapshot_columns columns;

    if (columns.process.count == 0)
        check(snapshot_columns_init(&columns, collector_sources(), collector_count) == 0);
    return &columns;
}

static inline int history_out_of_steps(void *unused)
{
    (void)unused;
    return --history_steps <= 0;
}

/* SQL of a hostile file need not end. */
static inline void history_limit(sqlite3 *database)
{
    history_steps = HISTORY_STEPS;
    sqlite3_progress_handler(database, HISTORY_STEP, history_out_of_steps, NULL);
}

/* A line of the socket. */
static inline void check_line(struct strbuf *text)
{
    check(!text->failed && memchr(strbuf_text(text), '\n', text->length) == NULL);
    check(request_check(strbuf_text(text), text->length, NULL) == 0);
    strbuf_fini(text);
}

static inline int use_snapshot(void *context, struct snapshot *snapshot)
{
    struct strbuf text = STRBUF_INIT;
    struct json json;

    (void)context;
    json_init(&json, &text, 0);
    snapshot_json(&json, snapshot, NULL);
    check_line(&text);
    return 0;
}

static inline int use_process(void *context, double timestamp, const struct snapshot_process *process)
{
    (void)context;
    (void)timestamp;
    check(!process->has_age || process->age_seconds >= 0);
    return 0;
}

static inline int use_event(void *context, const struct history_event *event)
{
    struct strbuf text = STRBUF_INIT;

    (void)context;
    check(event->event_type != NULL && event->json[event->json_length] == '\0');
    strbuf_add(&text, event->json, event->json_length);
    check_line(&text);
    return 0;
}

static inline void use_report(const struct job *job, const struct snapshot_call *calls, size_t count)
{
    struct strbuf whole = STRBUF_INIT, text = STRBUF_INIT;
    struct job shown = *job;
    struct json json;

    shown.calls = calls;
    shown.call_count = count;
    json_init(&json, &whole, 0);
    job_json(&json, &shown);
    job_report_write(&text, strbuf_text(&whole), whole.length, NULL, HISTORY_NOW);
    check(!text.failed);
    check_shown(strbuf_text(&text), text.length);
    strbuf_fini(&whole);
    strbuf_fini(&text);
}

static inline int use_job(void *context, const struct job *job)
{
    struct strbuf text = STRBUF_INIT;
    struct json json;

    (void)context;
    check(job->id != NULL);
    json_init(&json, &text, 0);
    job_json(&json, job);
    check_line(&text);
    use_report(job, job->calls, job->call_count);
    return 0;
}

static inline void use_profile(struct history_reader *reader, const char *name)
{
    struct arena arena = {0};
    struct history_profile profile;

    if (history_read_profile(reader, name, &arena, &profile, NULL) == 0)
        use_report(&profile.job, profile.calls, profile.call_count);
    arena_fini(&arena);
}

static inline void use_history(struct history_reader *reader)
{
    struct snapshot_pool *pool = snapshot_pool_new();
    const struct history_span span = {0, 1e11, HISTORY_LIMIT};
    struct timespec last;

    history_limit(reader->database);
    (void)history_read_last_time(reader, 1e10, &last, NULL);
    (void)history_read_snapshots(reader, all_columns(), &span, pool, use_snapshot, NULL, NULL);
    (void)history_read_events(reader, 0, NULL, HISTORY_LIMIT, use_event, NULL, NULL);
    (void)history_read_events(reader, 0, "night", HISTORY_LIMIT, use_event, NULL, NULL);
    (void)history_read_process(reader, all_columns(), 4711, 0, &span, use_process, NULL, NULL);
    (void)history_read_running_jobs(reader, use_job, NULL, NULL);
    use_profile(reader, "night");
    sqlite3_progress_handler(reader->database, 0, NULL, NULL);
    snapshot_pool_free(pool);
}

#endif
