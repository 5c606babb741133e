/*
 * job.profile and job.report: what a job used. One that the daemon remembers is answered at once; of an older
 * one, and of what happened to its processes, the history is asked, in a thread of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/calls/call_books.h"
#include "daemon/daemon_state.h"
#include "daemon/methods/later.h"
#include "daemon/methods/methods.h"
#include "store/history/reader.h"
#include "view/job_table.h"

/* Of so many events of a job it is known what happened. */
#define EVENTS_MAX 100000

struct profile_question {
    const char *database; /* the daemon's */
    char *job_id;         /* owned */
    bool as_text;
    struct job *known; /* what the daemon has of it, in the arena; NULL: it is not remembered */
    struct arena arena;
};

static void profile_json(struct json *json, const struct job *job, const struct snapshot_call *calls,
                         size_t call_count)
{
    json_object_begin(json);
    json_key_string(json, "job_id", job->id);
    json_key_string(json, "workspace", job->workspace);
    json_key_string(json, "config_hash", job->config_hash);
    if (job->has_total)
        json_key_integer(json, "total_sheets", job->total_sheets);
    json_key_string(json, "status", job_status_names[job->status]);
    json_key_nonzero(json, "pid", job->pid);
    json_key_decimal(json, "started", clock_timespec_seconds(job->started), 6);
    if (job->ended.tv_sec)
        json_key_decimal(json, "ended", clock_timespec_seconds(job->ended), 6);
    job_end_json(json, &job->usage, job->ended);
    job_usage_members_json(json, &job->usage);
    job_calls_json(json, calls, call_count);
    json_key(json, "sheets");
    job_sheets_json(json, job);
    json_object_end(json);
}

static int count_event(void *context, const struct history_event *event)
{
    struct job_happenings *happenings = context;
    bool has_code = memmem(event->json, event->json_length, "\"exit_code\":", 12);

    if (strcmp(event->event_type, "kill") == 0)
        happenings->kills++;
    else if (strcmp(event->event_type, "oom") == 0)
        happenings->ooms++;
    else if (strcmp(event->event_type, "signal") == 0)
        happenings->signals++;
    else if (strcmp(event->event_type, "exit") == 0 && has_code)
        happenings->failed += !memmem(event->json, event->json_length, "\"exit_code\":0", 13);
    else if (strcmp(event->event_type, "exit") == 0 &&
             !memmem(event->json, event->json_length, "\"signal_num\":", 13))
        happenings->unknown++;
    return 0;
}

/* Whether both are the same run of a name that may have been used before. */
static bool is_same_run(const struct job *a, const struct job *b)
{
    return a->started.tv_sec == b->started.tv_sec && a->started.tv_nsec == b->started.tv_nsec;
}

static void write_answer(const struct profile_question *question, struct json *json, const struct job *job,
                         const struct history_profile *stored, const struct job_happenings *happenings)
{
    /* What is known of the job is newer than what is stored. */
    bool known = job->calls || !stored;
    const struct snapshot_call *calls = known ? job->calls : stored->calls;
    size_t call_count = known ? job->call_count : stored->call_count;
    struct strbuf whole = STRBUF_INIT, text = STRBUF_INIT;
    struct job shown = *job;
    struct json inner;

    if (!question->as_text) {
        profile_json(json, job, calls, call_count);
        return;
    }
    shown.calls = calls;
    shown.call_count = call_count;
    json_init(&inner, &whole, 0);
    job_json(&inner, &shown);
    job_report_write(&text, strbuf_text(&whole), whole.length, happenings, clock_wall_seconds());
    json_object_begin(json);
    json_key_string(json, "job_id", job->id);
    json_key_string(json, "report", strbuf_text(&text));
    json_object_end(json);
    strbuf_fini(&whole);
    strbuf_fini(&text);
}

/* In a thread of its own. */
static void look_up(void *context, struct call *call)
{
    struct profile_question *question = context;
    struct history_profile stored = {0};
    struct job_happenings happenings = {0};
    struct history_reader *reader = NULL;
    struct metron_error error = {0};
    int code = -ENOENT;

    if (question->database)
        code = open_history_for(call, question->database, &reader, &error);
    if (code == 0)
        code = history_read_profile(reader, question->job_id, &question->arena, &stored, &error);
    const struct job *job = question->known ? question->known : code == 0 ? &stored.job : NULL;
    bool has_events =
        code == 0 && history_read_events(reader, clock_timespec_seconds(job->started), question->job_id,
                                         EVENTS_MAX, count_event, &happenings, &error) >= 0;
    history_reader_close(reader);
    if (!job && code != -ENOENT)
        (void)call_fail(call, RPC_INTERNAL_ERROR, "see the daemon's messages", "%s", error.message);
    else if (!job)
        (void)call_no_such_job(call, question->job_id);
    else
        write_answer(question, call_result(call), job,
                     code == 0 && is_same_run(job, &stored.job) ? &stored : NULL,
                     has_events ? &happenings : NULL);
}

static void release(void *context)
{
    struct profile_question *question = context;

    arena_fini(&question->arena);
    free(question->job_id);
    free(question);
}

/* As it is now: it may change while the thread looks. */
static int copy_known(struct profile_question *question, const struct job *job)
{
    struct job *copy = arena_alloc(&question->arena, sizeof(*copy));
    struct job_sheet *sheets = arena_alloc(&question->arena, (job->sheet_count + 1) * sizeof(*sheets));

    if (!copy || !sheets)
        return -ENOMEM;
    *copy = *job;
    copy->id = question->job_id;
    copy->workspace = job->workspace ? arena_strdup(&question->arena, job->workspace) : NULL;
    copy->config_hash = job->config_hash ? arena_strdup(&question->arena, job->config_hash) : NULL;
    copy->sheets = sheets;
    if (job->sheet_count)
        (void)memcpy(sheets, job->sheets, job->sheet_count * sizeof(*sheets));
    bool whole = calls_copy(&question->arena, &copy->calls, copy->call_count);
    for (size_t i = 0; i < job->sheet_count && whole; i++)
        whole = calls_copy(&question->arena, &sheets[i].calls, sheets[i].call_count);
    if (!whole)
        return -ENOMEM;
    question->known = copy;
    return 0;
}

static int begin_profile(struct call *call, bool as_text)
{
    struct daemon *daemon = call_context(call);
    const char *job_id;

    if (call_text(call, "job_id", &job_id) != PARAM_FOUND)
        return call_wrong(call, "job_id", "the name of a job");
    const struct job *job = jobs_find(daemon->jobs, job_id);
    struct profile_question *question = calloc(1, sizeof(*question));
    if (!question)
        return -ENOMEM;
    question->database = daemon->options.database;
    question->as_text = as_text;
    question->job_id = strdup(job_id);
    if (!question->job_id || (job && copy_known(question, job) < 0)) {
        release(question);
        return -ENOMEM;
    }
    return answer_later(call, &daemon->loop, look_up, release, question);
}

int answer_job_profile(struct call *call, struct json *result)
{
    (void)result;
    return begin_profile(call, false);
}

int answer_job_report(struct call *call, struct json *result)
{
    (void)result;
    return begin_profile(call, true);
}
