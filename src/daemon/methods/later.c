#include "daemon/methods/later.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon_state.h"
#include "daemon/socket/protocol.h"

struct later {
    uv_work_t work;
    struct call *call;
    void (*answer)(void *context, struct call *call);
    void (*release)(void *context);
    void *context;
};

/* In a thread of its own. It may have been in the queue for long. */
static void on_work(uv_work_t *work)
{
    struct later *later = work->data;

    if (!call_is_abandoned(later->call))
        later->answer(later->context, later->call);
}

static void on_done(uv_work_t *work, int status)
{
    struct later *later = work->data;

    (void)status;
    call_resume(later->call);
    later->release(later->context);
    free(later);
}

/* libuv makes its threads with the first work. They inherit the mask of the one that makes them: signals are
 * the loop's. */
static int queue(uv_loop_t *loop, uv_work_t *work)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = uv_queue_work(loop, work, on_work, on_done);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int answer_later(struct call *call, uv_loop_t *loop, void (*answer)(void *context, struct call *call),
                 void (*release)(void *context), void *context)
{
    struct later *later = calloc(1, sizeof(*later));

    if (later)
        *later = (struct later){
            .call = call_defer(call), .answer = answer, .release = release, .context = context};
    if (!later || !later->call) {
        release(context);
        free(later);
        return -ENOMEM;
    }
    later->work.data = later;
    if (queue(loop, &later->work) < 0) {
        (void)call_fail(later->call, RPC_INTERNAL_ERROR, "ask again in a moment", "no thread to look with");
        on_done(&later->work, 0);
    }
    return CALL_LATER;
}

/* ---- the history ---- */

static int is_abandoned(void *context)
{
    return call_is_abandoned(context);
}

int open_history_for(struct call *call, const char *database, struct history_reader **out,
                     struct metron_error *error)
{
    int code = history_reader_open(database, out, error);

    if (code == 0)
        history_reader_watch(*out, is_abandoned, call);
    return code;
}

static void read_history(void *context, struct call *call)
{
    struct question *question = context;
    struct json *json = call_result(call);
    struct history_reader *reader = NULL;
    struct metron_error error = {0};
    int code = open_history_for(call, question->database, &reader, &error);

    json_object_begin(json);
    if (code == 0)
        code = question->read(question, reader, json, &error);
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

int answer_from_history(struct call *call, const struct question *question, size_t size, const char *job_id)
{
    struct daemon *daemon = call_context(call);

    if (!daemon->options.database)
        return call_fail(call, RPC_INTERNAL_ERROR, "start it with --database PATH",
                         "this daemon keeps no history");
    struct question *asked = malloc(size);
    if (!asked)
        return -ENOMEM;
    (void)memcpy(asked, question, size);
    asked->database = daemon->options.database;
    asked->job_id = job_id ? strdup(job_id) : NULL;
    if (job_id && !asked->job_id) {
        release(asked);
        return -ENOMEM;
    }
    return answer_later(call, &daemon->loop, read_history, release, asked);
}
