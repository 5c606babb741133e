#include "daemon/wake_watch.h"

#include <stdlib.h>

#include "base/worker.h"

struct wake_watch {
    uv_poll_t poll;
    int fd;
    void (*on_wake)(void *context);
    void *context;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct wake_watch *watch = poll->data;

    (void)events;
    if (status == 0 && wake_wait(watch->fd, 0))
        watch->on_wake(watch->context);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct wake_watch *wake_watch_new(uv_loop_t *loop, int fd, void (*on_wake)(void *context), void *context)
{
    struct wake_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return NULL;
    watch->fd = fd;
    watch->on_wake = on_wake;
    watch->context = context;
    watch->poll.data = watch;
    if (uv_poll_init(loop, &watch->poll, fd) < 0) {
        free(watch);
        return NULL;
    }
    if (uv_poll_start(&watch->poll, UV_READABLE, on_readable) < 0) {
        wake_watch_free(watch);
        return NULL;
    }
    uv_unref((uv_handle_t *)&watch->poll);
    return watch;
}

void wake_watch_free(struct wake_watch *watch)
{
    if (!watch)
        return;
    if (uv_is_closing((uv_handle_t *)&watch->poll))
        free(watch); /* by the daemon, with all that its loop had */
    else
        uv_close((uv_handle_t *)&watch->poll, on_closed);
}
