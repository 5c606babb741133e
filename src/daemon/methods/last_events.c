/*
 * daemon.events: what happened last. The last ones of all are in memory. Those of one job would soon be
 * pushed out there by a busy machine's: the history is asked for them, in a thread of its own.
 */
#include "daemon/daemon_state.h"
#include "daemon/methods/later.h"
#include "daemon/methods/methods.h"
#include "daemon/socket/protocol.h"
#include "store/history/reader.h"

#define LIMIT_DEFAULT 50
/* An answer must stay small enough to be held in memory. */
#define JOB_LIMIT_MAX 1000

struct last_events {
    struct question question;
    double since; /* unix seconds: before that the job had no processes */
    size_t limit;
};

static int add_event(void *context, const struct history_event *event)
{
    recent_event_json(context, event->json, event->json_length);
    return 0;
}

static int read_events(struct question *question, struct history_reader *reader, struct json *json,
                       struct metron_error *error)
{
    const struct last_events *wanted = (const struct last_events *)question;

    json_key_array(json, "events");
    int code =
        history_read_events(reader, wanted->since, question->job_id, wanted->limit, add_event, json, error);
    json_array_end(json);
    return code;
}

static int ask_history(struct call *call, const struct daemon *daemon, const char *job_id, size_t limit)
{
    const struct job *job = jobs_find(daemon->jobs, job_id);
    const struct last_events wanted = {.question = {.read = read_events},
                                       .since = job ? (double)job->started.tv_sec : 0,
                                       .limit = limit < JOB_LIMIT_MAX ? limit : JOB_LIMIT_MAX};

    return answer_from_history(call, &wanted.question, sizeof(wanted), job_id);
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
