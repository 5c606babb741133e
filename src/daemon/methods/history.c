/*
 * daemon.snapshots and process.history: what the history has of a span of time, by the wall clock and oldest
 * first. An answer holds as many snapshots as were asked for, or what comes to 4 MiB, or what takes reading
 * ROWS_MAX rows: those of a job may have few of them. Where there are more, `next_since` is what to ask with
 * for those that follow.
 */
#include "base/clock.h"
#include "daemon/daemon_state.h"
#include "daemon/methods/later.h"
#include "daemon/methods/methods.h"
#include "store/history/reader.h"

#define SPAN_SECONDS    3600 /* without `since` */
#define ROUNDED_SECONDS 1e-6 /* a time that was sent is off by less: it means the snapshot that has it */
#define LIMIT_DEFAULT   60
#define LIMIT_MAX       10000
#define PAGE_BYTES      ((size_t)4 << 20)
#define ROWS_MAX        100000 /* of processes: about a second's work on a slow machine */

struct page {
    struct question question;
    const struct snapshot_columns *columns;
    struct history_span span; /* its limit is one more than may be answered */
    pid_t pid;                /* 0: snapshots, not a process */
    uint64_t start_ticks;
    /* While it is answered: */
    struct json *json;
    size_t count, rows;
    size_t begin; /* bytes of the answer before the page */
    double next_since;
};

/* Whether the page is full before this item, which took reading so many rows. What does not fit begins the
 * next one. */
static bool is_full(struct page *page, double timestamp, size_t rows)
{
    bool is_enough = page->rows >= ROWS_MAX || page->json->out->length - page->begin >= PAGE_BYTES;
    bool full = page->count + 1 >= page->span.limit || (page->count > 0 && is_enough);

    if (full)
        page->next_since = timestamp;
    else
        page->count++;
    page->rows += rows;
    return full;
}

static int add_snapshot(void *context, struct snapshot *snapshot)
{
    struct page *page = context;

    if (is_full(page, clock_timespec_seconds(snapshot->wall), snapshot->process_count))
        return 1;
    snapshot_json(page->json, snapshot, page->question.job_id);
    return 0;
}

static int add_process(void *context, double timestamp, const struct snapshot_process *process)
{
    struct page *page = context;

    if (is_full(page, timestamp, 1))
        return 1;
    json_object_begin(page->json);
    json_key_decimal(page->json, "timestamp", timestamp, 6);
    snapshot_process_members_json(page->json, &page->columns->process, process);
    json_object_end(page->json);
    return 0;
}

static int read_items(struct page *page, struct history_reader *reader, struct metron_error *error)
{
    if (page->pid)
        return history_read_process(reader, page->columns, page->pid, page->start_ticks, &page->span,
                                    add_process, page, error);
    struct snapshot_pool *pool = snapshot_pool_new();
    if (!pool)
        return error_set(error, -ENOMEM, "no memory for snapshots");
    int code = history_read_snapshots(reader, page->columns, &page->span, pool, add_snapshot, page, error);
    snapshot_pool_free(pool);
    return code;
}

static int read_page(struct question *question, struct history_reader *reader, struct json *json,
                     struct metron_error *error)
{
    struct page *page = (struct page *)question;

    page->json = json;
    json_key_array(json, page->pid ? "samples" : "snapshots");
    page->begin = json->out->length;
    int code = read_items(page, reader, error);
    json_array_end(json);
    if (page->next_since > 0)
        json_key_decimal(json, "next_since", page->next_since, 6);
    return code;
}

static int read_span(struct call *call, struct history_span *out)
{
    int64_t limit = LIMIT_DEFAULT;

    out->until = clock_wall_seconds();
    if (call_number(call, "until", &out->until) == PARAM_WRONG)
        return call_wrong(call, "until", "unix seconds");
    out->since = out->until - SPAN_SECONDS;
    if (call_number(call, "since", &out->since) == PARAM_WRONG)
        return call_wrong(call, "since", "unix seconds");
    if (call_integer(call, "limit", &limit) == PARAM_WRONG || limit < 1 || limit > LIMIT_MAX)
        return call_wrong(call, "limit", "a number from 1 to 10000");
    out->limit = (size_t)limit + 1;
    out->since -= ROUNDED_SECONDS;
    out->until -= ROUNDED_SECONDS;
    return 0;
}

static int ask_history(struct call *call, const char *job_id, pid_t pid, uint64_t start_ticks)
{
    const struct daemon *daemon = call_context(call);
    struct page page = {.question = {.read = read_page},
                        .columns = daemon->options.columns,
                        .pid = pid,
                        .start_ticks = start_ticks};
    int code = read_span(call, &page.span);

    return code < 0 ? code : answer_from_history(call, &page.question, sizeof(page), job_id);
}

int answer_snapshots(struct call *call, struct json *result)
{
    const char *job_id = NULL;

    (void)result;
    if (call_text(call, "job_id", &job_id) == PARAM_WRONG)
        return call_wrong(call, "job_id", "the name of a job");
    return ask_history(call, job_id, 0, 0);
}

int answer_process_history(struct call *call, struct json *result)
{
    int64_t pid = 0, start_ticks = 0;

    (void)result;
    if (call_integer(call, "pid", &pid) != PARAM_FOUND || pid < 1 || pid > INT32_MAX)
        return call_wrong(call, "pid", "a process's number");
    if (call_integer(call, "start_ticks", &start_ticks) == PARAM_WRONG || start_ticks < 0)
        return call_wrong(call, "start_ticks", "a number, as in daemon.top");
    return ask_history(call, NULL, (pid_t)pid, (uint64_t)start_ticks);
}
