#include "loop/attach.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "loop/run_state.h"
#include "tree/tree.h"

/* More roots than these have their ends noticed at the next sample. */
#define ROOTS_WATCHED 64

/* A pidfd for each root: readable when that process has ended, whoever has its pid by then. */
struct attach_watch {
    uv_poll_t polls[ROOTS_WATCHED];
    int fds[ROOTS_WATCHED];
    size_t count;
};

static void finish(struct run *run, const char *ended_by)
{
    if (run->phase != RUN_RUNNING)
        return;
    run->info.attached.ended_by = ended_by;
    (void)uv_timer_stop(&run->end_timer);
    run_end_at(run, clock_monotonic_ns());
    run_finish(run);
    uv_stop(&run->loop);
}

/* A pass has been made: is anybody left? */
static void look_for_end(struct run *run)
{
    if (tree_living(run->tree) == 0)
        finish(run, "target");
}

static void on_root_end(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    if (run->phase != RUN_RUNNING)
        return;
    tree_refresh(run->tree);
    look_for_end(run);
}

/* Where the kernel has no pidfds (before Linux 5.3) samples notice the end. */
static void watch_roots(struct run *run)
{
    const struct attach_target *target = run->options.attach;
    struct attach_watch *watch = calloc(1, sizeof(*watch));

    run->watch = watch;
    for (size_t i = 0; watch && i < target->count && watch->count < ROOTS_WATCHED; i++) {
        int fd = (int)syscall(SYS_pidfd_open, target->processes[i].pid, 0);
        if (fd < 0)
            continue;
        watch->fds[watch->count] = fd;
        if (run_start_poll(run, &watch->polls[watch->count], fd, on_root_end) < 0) {
            (void)close(fd);
            break;
        }
        watch->count++;
    }
}

static void unwatch_roots(struct run *run)
{
    for (size_t i = 0; run->watch && i < run->watch->count; i++)
        (void)close(run->watch->fds[i]);
    free(run->watch);
    run->watch = NULL;
}

static void on_time_up(uv_timer_t *timer)
{
    finish(timer->data, "duration");
}

static void on_signal(struct run *run, int number, bool sent)
{
    (void)sent;
    if (number == SIGCHLD) {
        /* Of our children only the loader of our programs is ours to wait for; strace and ps are waited for
         * by those that started them. */
        kernel_events_reap(run->options.events, run->tree);
    } else if (number == SIGCONT) {
        run_resume(run);
    } else if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
               number == SIGALRM) {
        log_debug("signal %d: the recording ends, the processes go on", number);
        finish(run, "signal");
    }
}

static void stop(struct run *run)
{
    finish(run, "request");
}

/* To the first of the roots that is still there. */
static void count_calls(struct run *run)
{
    const struct process *first = tree_count(run->tree) ? tree_process(run->tree, 0) : NULL;
    struct syscall_counts *counts = run->options.syscalls;

    if (counts && first)
        syscall_counts_attach_running(counts, (pid_t)first->subject.id);
    const char *reason = counts ? syscall_counts_reason(counts) : run->options.why_no_syscalls;
    if (reason)
        log_warning("system calls are not counted: %s", reason);
}

/* How it ended is the target's affair, and known only of a single root of which the kernel told. */
static void set_outcome(struct run *run)
{
    run->info.attached.processes = tree_found(run->tree);
    if (!tree_root_status(run->tree, &run->root_status))
        return;
    run->root_ended = true;
    run->launched.pid = run->roots[0].pid;
    run->info.attached.has_exit = true;
    run_set_outcome(run);
}

static const struct run_kind attach_kind = {
    .on_signal = on_signal,
    .after_sample = look_for_end,
    .stop = stop,
    .set_outcome = set_outcome,
};

static void start_timer(struct run *run)
{
    static const double milliseconds = 1000;
    double seconds = run->options.attach->duration;

    if (seconds <= 0)
        return;
    seconds -= (double)(clock_monotonic_ns() - run->begin_ns) / (double)NS_PER_SECOND;
    /* A timer counts from the time that the loop remembers, which may be from before the baseline. That time
     * and this duration are cut down to milliseconds: two more, and it never ends early. */
    uv_update_time(&run->loop);
    (void)uv_timer_start(&run->end_timer, on_time_up,
                         seconds > 0 ? (uint64_t)(seconds * milliseconds) + 2 : 0, 0);
}

int attach_execute(struct run *run, struct metron_error *error)
{
    run->kind = &attach_kind;
    int code = run_start_loop(run);
    if (code < 0) {
        code = error_set(error, code, "cannot start the event loop: %s", uv_strerror(code));
        run_folder_remove(&run->folder);
    } else {
        run_begin(run, run->begin_ns, 0);
        count_calls(run);
        if (run->options.on_started)
            run->options.on_started(run->options.started_context, run->options.attach->processes[0].pid);
        watch_roots(run);
        start_timer(run);
        run_start_loading(run);
        look_for_end(run); /* they may have ended meanwhile: the baseline was a pass */
        if (run->phase == RUN_RUNNING)
            (void)uv_run(&run->loop, UV_RUN_DEFAULT);
    }
    run_stop_loop(run);
    run_finish_files(run);
    run_stop_signals(run);
    unwatch_roots(run);
    return code;
}
