/*
 * How a run listens to the kernel: its events as they come, and the loading of our programs behind the
 * command.
 */
#include "loop/kernel_events.h"
#include "loop/run_state.h"

/* Kernel events are taken in batches this far apart, as seldom as their source allows, so that a storm of
 * processes, ours or a bystander's, does not wake us for each. */
#define EVENTS_PAUSE_MS         10
#define EVENTS_PAUSE_PATIENT_MS 100
/* Loading our programs into the kernel costs some ten milliseconds of CPU: a command that is over before that
 * does without, and one that goes on is not kept from its CPU. */
#define LOAD_AFTER_MS 1000

static void on_events_pause_over(uv_timer_t *timer);

static void on_events(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    (void)status;
    (void)events;
    tree_read_events(run->tree);
    (void)uv_poll_stop(poll);
    (void)uv_timer_start(&run->events_pause, on_events_pause_over, run->events_pause_ms, 0);
}

static void on_events_pause_over(uv_timer_t *timer)
{
    struct run *run = timer->data;
    uv_poll_t *poll = tree_method(run->tree) == TREE_BPF ? &run->ring_poll : &run->events_poll;
    (void)uv_poll_start(poll, UV_READABLE, on_events);
}

int run_start_poll(struct run *run, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
    int code = uv_poll_init(&run->loop, poll, fd);
    if (code < 0)
        return code;
    poll->data = run;
    return uv_poll_start(poll, UV_READABLE, callback);
}

int run_start_listening(struct run *run)
{
    const struct lifecycle *source = kernel_events_source(run->options.events);

    if (!source)
        return 0;
    run->events_pause_ms = lifecycle_is_patient(source) ? EVENTS_PAUSE_PATIENT_MS : EVENTS_PAUSE_MS;
    return run_start_poll(run,
                          lifecycle_method(source) == LIFECYCLE_BPF ? &run->ring_poll : &run->events_poll,
                          lifecycle_fd(source), on_events);
}

static void on_loaded(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    if (run->phase != RUN_RUNNING)
        return;
    bool listened = run->options.events->connector != NULL;
    if (listened) {
        (void)uv_timer_stop(&run->events_pause);
        (void)uv_poll_stop(&run->events_poll);
    }
    int code = kernel_events_finish(run->options.events, run->tree);
    if (code == 1) {
        (void)run_start_listening(run);
        run_describe_method(run);
    } else if (listened) {
        (void)uv_poll_start(&run->events_poll, UV_READABLE, on_events);
    }
    if (code == 0)
        (void)uv_poll_start(poll, UV_READABLE, on_loaded);
    else
        kernel_events_drop_privilege(run->options.events);
}

static void on_load_time(uv_timer_t *timer)
{
    struct run *run = timer->data;
    struct kernel_events *events = run->options.events;

    if (run->phase != RUN_RUNNING)
        return;
    if (kernel_events_begin(events, run->tree) < 0 ||
        run_start_poll(run, &run->load_poll, events->start.fd, on_loaded) < 0)
        kernel_events_drop_privilege(events);
}

void run_start_loading(struct run *run)
{
    if (run->options.events->may_load)
        (void)uv_timer_start(&run->load_timer, on_load_time, LOAD_AFTER_MS, 0);
    else
        kernel_events_drop_privilege(run->options.events);
}
