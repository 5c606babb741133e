/*
 * daemon.snapshots and process.history: what the history has of a span of time, by the wall clock and oldest
 * first. An answer holds as many snapshots as were asked for, or what comes to 4 MiB; where there are more,
 * `next_since` is what to ask with for those that follow. The history is asked in a thread of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

struct question {
    const char *database; /* the daemon's */
    const struct snapshot_columns *columns;
    struct history_span span; /* its limit is one more than may be answered */
    char *job_id;             /* owned; NULL: all */
    pid_t pid;                /* 0: snapshots, not a process */
    uint64_t start_ticks;
    /* While it is answered: */
    struct json *json;
    size_t count;
    size_t begin; /* bytes of the answer before the page */
    double next_since;
};

/* Whether the page is full. What does not fit begins the next one. */
static bool is_full(struct question *question, double timestamp)
{
    bool full = question->count + 1 >= question->span.limit ||
                (question->count > 0 && question->json->out->length - question->begin >= PAGE_BYTES);

    if (full)
        question->next_since = timestamp;
    else
        question->count++;
    return full;
}

static int add_snapshot(void *context, struct snapshot *snapshot)
{
    struct question *question = context;

    if (is_full(question, clock_timespec_seconds(snapshot->wall)))
        return 1;
    snapshot_json(question->json, snapshot, question->job_id);
    return 0;
}

static int add_process(void *context, double timestamp, const struct snapshot_process *process)
{
    struct question *question = context;

    if (is_full(question, timestamp))
        return 1;
    json_object_begin(question->json);
    json_key_decimal(question->json, "timestamp", timestamp, 6);
    snapshot_process_members_json(question->json, &question->columns->process, process);
    json_object_end(question->json);
    return 0;
}

static int read_page(struct question *question, struct history_reader *reader, struct metron_error *error)
{
    if (question->pid)
        return history_read_process(reader, question->columns, question->pid, question->start_ticks,
                                    &question->span, add_process, question, error);
    struct snapshot_pool *pool = snapshot_pool_new();
    if (!pool)
        return error_set(error, -ENOMEM, "no memory for snapshots");
    int code = history_read_snapshots(reader, question->columns, &question->span, pool, add_snapshot,
                                      question, error);
    snapshot_pool_free(pool);
    return code;
}

/* In a thread of its own. */
static void answer_page(void *context, struct call *call)
{
    struct question *question = context;
    struct json *json = question->json = call_result(call);
    struct history_reader *reader = NULL;
    struct metron_error error = {0};
    int code = history_reader_open(question->database, &reader, &error);

    json_object_begin(json);
    json_key_array(json, question->pid ? "samples" : "snapshots");
    question->begin = json->out->length;
    if (code == 0)
        code = read_page(question, reader, &error);
    json_array_end(json);
    if (question->next_since > 0)
        json_key_decimal(json, "next_since", question->next_since, 6);
    json_object_end(json);
    history_reader_close(reader);
    if (code < 0)
        (void)call_fail(call, RPC_INTERNAL_ERROR, "see the daemon's messages", "%s", error.message);
}

static void release(void *context)
{
    struct question *question = context;

    free(question->job_id);
    free(question);
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
    struct daemon *daemon = call_context(call);
    struct question asked = {.database = daemon->options.database,
                             .columns = daemon->options.columns,
                             .pid = pid,
                             .start_ticks = start_ticks};
    int code = read_span(call, &asked.span);

    if (code < 0)
        return code;
    if (!asked.database)
        return call_fail(call, RPC_INTERNAL_ERROR, "start it with --database PATH",
                         "this daemon keeps no history");
    struct question *question = malloc(sizeof(*question));
    if (!question)
        return -ENOMEM;
    *question = asked;
    if (job_id && !(question->job_id = strdup(job_id))) {
        release(question);
        return -ENOMEM;
    }
    return answer_later(call, &daemon->loop, answer_page, release, question);
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
