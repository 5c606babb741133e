#include "daemon/methods/later.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "daemon/socket/protocol.h"

struct later {
    uv_work_t work;
    struct call *call;
    void (*answer)(void *context, struct call *call);
    void (*release)(void *context);
    void *context;
};

/* In a thread of its own. */
static void on_work(uv_work_t *work)
{
    struct later *later = work->data;

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
