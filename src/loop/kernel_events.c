#include "loop/kernel_events.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "probe/privilege.h"

static double cpu_of(const struct rusage *usage)
{
    return clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
}

/* Takes what the loader sent, and the loader itself. */
static int take_programs(struct kernel_events *events, bool wait)
{
    struct rusage usage;
    int code = bpf_start_finish(&events->start, wait, &events->programs, &events->why_no_bpf);

    if (code == -EAGAIN)
        return code;
    /* It ends after its answer. Where nobody waits for that, whoever reaps children takes it. */
    if (events->start.pid > 0 && wait4(events->start.pid, NULL, wait ? 0 : WNOHANG, &usage) > 0) {
        events->loader_cpu_seconds += cpu_of(&usage);
        events->start.pid = 0;
    }
    if (code < 0)
        return code;
    events->bpf = lifecycle_bpf(events->programs);
    return events->bpf ? 0 : error_set(&events->why_no_bpf, -ENOMEM, "no memory");
}

static int load_now(struct kernel_events *events, const struct kernel_events_options *wanted)
{
    const struct bpf_start_options options = {
        .spawner = events->spawner, .calls = wanted->calls, .marked_calls = wanted->marked_calls};
    int code = bpf_start(&events->start, &options, &events->why_no_bpf);

    return code < 0 ? code : take_programs(events, true);
}

/* Why what was not asked for is not there. */
static void explain_choice(struct kernel_events *events, const char *why_no_bpf)
{
    if (events->mode == EVENTS_OFF) {
        (void)error_set(&events->why_no_connector, -ECANCELED, "switched off");
        (void)error_set(&events->why_no_bpf, -ECANCELED, "switched off");
    } else if (events->mode == EVENTS_CONNECTOR) {
        (void)error_set(&events->why_no_bpf, -ECANCELED, "the process connector was asked for");
    } else if (why_no_bpf) {
        (void)error_set(&events->why_no_bpf, -ENOTSUP, "%s", why_no_bpf);
    }
}

int kernel_events_open(struct kernel_events *events, const struct kernel_events_options *options,
                       struct metron_error *error)
{
    const char *why_no_bpf = bpf_programs_why_not();
    const bool calls = options->calls || options->marked_calls;

    *events = (struct kernel_events){
        .mode = options->mode, .spawner = options->of_running ? 0 : getpid(), .start = {.fd = -1}};
    explain_choice(events, why_no_bpf);
    events->may_load = options->mode <= EVENTS_BPF && !why_no_bpf;
    if (options->look_only || options->mode == EVENTS_OFF)
        return 0;
    if (options->mode == EVENTS_BPF || (calls && events->may_load)) {
        events->may_load = false;
        events->from_start = load_now(events, options) == 0;
        if (!events->from_start && options->mode == EVENTS_BPF)
            return error_set(error, events->why_no_bpf.code, "--events bpf: %s", events->why_no_bpf.message);
        if (events->from_start)
            return 0;
    }
    events->connector = lifecycle_connector(&events->why_no_connector);
    if (!events->connector && options->mode == EVENTS_CONNECTOR)
        return error_set(error, events->why_no_connector.code, "--events connector: %s",
                         events->why_no_connector.message);
    return 0;
}

void kernel_events_close(struct kernel_events *events)
{
    bpf_start_cancel(&events->start);
    lifecycle_free(events->connector);
    lifecycle_free(events->bpf);
    bpf_programs_free(events->programs);
    *events = (struct kernel_events){.start = {.fd = -1}};
}

struct lifecycle *kernel_events_source(const struct kernel_events *events)
{
    return events->bpf ? events->bpf : events->connector;
}

int kernel_events_begin(struct kernel_events *events, struct tree *tree)
{
    const struct bpf_start_options options = {.spawner = events->spawner, .gently = true};

    events->may_load = false;
    int code = bpf_start(&events->start, &options, &events->why_no_bpf);
    if (code == 0)
        tree_ignore(tree, events->start.pid);
    return code;
}

int kernel_events_finish(struct kernel_events *events, struct tree *tree)
{
    pid_t loader = events->start.pid;
    int code = take_programs(events, false);

    if (loader > 0 && events->start.pid == 0)
        tree_unignore(tree, loader);
    if (code == 0)
        code = tree_listen(tree, events->bpf);
    if (code < 0) {
        if (!events->why_no_bpf.code)
            (void)error_set(&events->why_no_bpf, code, "they could not take over: %s", strerror(-code));
        log_debug("kernel events: %s", events->why_no_bpf.message);
        lifecycle_free(events->bpf);
        bpf_programs_free(events->programs);
        events->bpf = NULL;
        events->programs = NULL;
        return code;
    }
    tree_use_tasks(tree, events->programs);
    lifecycle_free(events->connector);
    events->connector = NULL;
    return 0;
}

bool kernel_events_reaped(struct kernel_events *events, pid_t pid, const struct rusage *usage)
{
    if (pid != events->start.pid)
        return false;
    events->start.pid = 0;
    events->loader_cpu_seconds += cpu_of(usage);
    return true;
}

void kernel_events_reap(struct kernel_events *events, struct tree *tree)
{
    struct rusage usage;
    pid_t loader = events->start.pid;

    if (loader <= 0 || wait4(loader, NULL, WNOHANG, &usage) != loader)
        return;
    (void)kernel_events_reaped(events, loader, &usage);
    tree_unignore(tree, loader);
}

static bool still_works(void *context)
{
    return bpf_programs_work(context);
}

void kernel_events_drop_privilege(struct kernel_events *events)
{
    if (!privilege_drop(events->programs ? still_works : NULL, events->programs))
        log_debug("the privilege to load programs into the kernel is kept: it is needed to read from them");
}
