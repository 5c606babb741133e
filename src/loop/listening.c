#include "loop/listening.h"

/* Kernel events are taken in batches this far apart, as seldom as their source allows, so that a storm of
 * processes, ours or a bystander's, does not wake us for each. */
#define PAUSE_MS         10
#define PAUSE_PATIENT_MS 100

static void on_pause_over(uv_timer_t *timer);

static void on_events(uv_poll_t *poll, int status, int events)
{
    struct listening *listening = poll->data;

    (void)status;
    (void)events;
    tree_read_events(listening->tree);
    (void)uv_poll_stop(poll);
    (void)uv_timer_start(&listening->pause, on_pause_over, listening->pause_ms, 0);
}

static void on_pause_over(uv_timer_t *timer)
{
    struct listening *listening = timer->data;

    (void)uv_poll_start(listening->source_poll, UV_READABLE, on_events);
}

static int start_poll(struct listening *listening, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
    int code = uv_poll_init(listening->loop, poll, fd);
    if (code < 0)
        return code;
    poll->data = listening;
    return uv_poll_start(poll, UV_READABLE, callback);
}

static int take_source(struct listening *listening)
{
    const struct lifecycle *source = kernel_events_source(listening->events);

    if (!source)
        return 0;
    listening->pause_ms = lifecycle_is_patient(source) ? PAUSE_PATIENT_MS : PAUSE_MS;
    listening->source_poll = &listening->source_polls[listening->source_poll ? 1 : 0];
    return start_poll(listening, listening->source_poll, lifecycle_fd(source), on_events);
}

int listening_start(struct listening *listening)
{
    (void)uv_timer_init(listening->loop, &listening->pause);
    (void)uv_timer_init(listening->loop, &listening->load_timer);
    listening->pause.data = listening->load_timer.data = listening;
    return take_source(listening);
}

static void on_loaded(uv_poll_t *poll, int status, int events)
{
    struct listening *listening = poll->data;

    (void)status;
    (void)events;
    if (listening->stopped)
        (void)uv_poll_stop(poll);
    if (listening->stopped || !bpf_start_is_answered(&listening->events->start))
        return;
    uv_close((uv_handle_t *)poll, NULL);
    if (listening->source_poll) {
        (void)uv_timer_stop(&listening->pause);
        uv_close((uv_handle_t *)listening->source_poll, NULL);
    }
    int code = kernel_events_finish(listening->events, listening->tree);
    (void)take_source(listening); /* another one, or the same again */
    if (code == 0 && listening->changed)
        listening->changed(listening->context);
    kernel_events_drop_privilege(listening->events);
}

static void on_load_time(uv_timer_t *timer)
{
    struct listening *listening = timer->data;
    struct kernel_events *events = listening->events;

    if (listening->stopped)
        return;
    if (kernel_events_begin(events, listening->tree) < 0 ||
        start_poll(listening, &listening->load_poll, events->start.fd, on_loaded) < 0)
        kernel_events_drop_privilege(events);
}

void listening_load(struct listening *listening, uint64_t after_ms)
{
    if (listening->events->may_load)
        (void)uv_timer_start(&listening->load_timer, on_load_time, after_ms, 0);
    else
        kernel_events_drop_privilege(listening->events);
}
