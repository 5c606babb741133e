/*
 * daemon.events: what happened last. The last ones of all are in memory. Those of one job would soon be
 * pushed out there by a busy machine's: the history is asked for them, in a thread of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon_state.h"
#include "daemon/methods/later.h"
#include "daemon/methods/methods.h"
#include "daemon/socket/protocol.h"
#include "store/history/reader.h"

#define LIMIT_DEFAULT 50
/* An answer must stay small enough to be held in memory. */
#define JOB_LIMIT_MAX 1000

struct question {
    const char *database; /* the daemon's */
    char *job_id;         /* owned */
    double since;         /* unix seconds: before that it had no processes */
    size_t limit;
};

static int add_event(void *context, const struct history_event *event)
{
    recent_event_json(context, event->json, event->json_length);
    return 0;
}

/* In a thread of its own. */
static void read_events(void *context, struct call *call)
{
    const struct question *question = context;
    struct json *json = call_result(call);
    struct history_reader *reader = NULL;
    struct metron_error error = {0};
    int code = history_reader_open(question->database, &reader, &error);

    json_object_begin(json);
    json_key_array(json, "events");
    if (code == 0)
        code = history_read_events(reader, question->since, question->job_id, question->limit, add_event,
                                   json, &error);
    json_array_end(json);
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

static int ask_history(struct call *call, struct daemon *daemon, const char *job_id, size_t limit)
{
    const struct job *job = jobs_find(daemon->jobs, job_id);
    struct question *question = calloc(1, sizeof(*question));

    if (!question)
        return -ENOMEM;
    question->database = daemon->options.database;
    question->since = job ? (double)job->started.tv_sec : 0;
    question->limit = limit < JOB_LIMIT_MAX ? limit : JOB_LIMIT_MAX;
    question->job_id = strdup(job_id);
    if (!question->job_id) {
        release(question);
        return -ENOMEM;
    }
    return answer_later(call, &daemon->loop, read_events, release, question);
}

int answer_last_events(struct call *call, struct json *result)
{
    struct daemon *daemon = call_context(call);
    const char *job_id = NULL;
    int64_t limit = LIMIT_DEFAULT;

    if (call_integer(call, "limit", &limit) == PARAM_WRONG || limit < 0)
        return call_wrong(call, "limit", "a number, 0 or more");
    if (call_text(call, "job_id", &job_id) == PARAM_WRONG)
        return call_wrong(call, "job_id", "the name of a job");
    if (job_id && daemon->options.database)
        return ask_history(call, daemon, job_id, (size_t)limit);
    json_object_begin(result);
    json_key(result, "events");
    recent_events_json(&daemon->events, (size_t)limit, job_id, result);
    json_object_end(result);
    return 0;
}
