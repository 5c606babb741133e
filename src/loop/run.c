/*
 * The run of a command: it is started, its signals and its output are handed on, its processes are reaped.
 * One thread samples, reaps and answers signals (the ledger wants the three in one thread), driven by libuv
 * (run_loop.c); output goes through threads of its own (launch/capture.h).
 *
 * A run is RUNNING until its target has ended; then the last readings are taken and the record is written at
 * once, and it is DRAINING until the output has gone where it should go, which a stopped terminal may delay,
 * but nothing else.
 */
#include "loop/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/log.h"
#include "launch/capture.h"
#include "launch/keyboard.h"
#include "launch/launch.h"
#include "launch/reap.h"
#include "launch/relay.h"
#include "launch/signals.h"
#include "launch/terminal.h"
#include "loop/feed.h"
#include "loop/run_state.h"
#include "probe/cgroup/target.h"

/* After SIGKILL, a process that does not go is in the kernel's hands: it is named, not waited for. */
#define KILL_ROUND_MS 50
#define KILL_ROUNDS   100

/* The target has ended as far as this run is concerned. */
static bool run_is_over(const struct run *run, bool no_children)
{
    if (!run->root_ended)
        return false;
    if (!run->ending && run->options.wait == RUN_WAIT_ROOT)
        return true;
    /* Every descendant is our child in the end: without children there are none. Where we do not adopt, or
     * have children of another origin, they are looked for. */
    if (run->options.new_session && !tree_has_strangers(run->tree))
        return no_children;
    return tree_command_alive(run->tree) == 0;
}

/* The target has ended: writes the record and lets the output come to its end. */
static void finish_command(struct run *run)
{
    (void)uv_timer_stop(&run->end_timer);
    if (!run->root_ended || run->ending || run->options.wait == RUN_WAIT_TREE)
        run_end_now(run);
    run_finish(run);
    for (size_t i = 0; i < CAPTURE_COUNT; i++)
        if (run->captures[i])
            capture_stop(run->captures[i]);
    if (run->captures_open == 0)
        uv_stop(&run->loop);
}

static void reap_children(struct run *run)
{
    struct reaped reaped;
    int code;

    /* Only a sub-reaper may take any child: otherwise the command is the only one that is ours to wait for.
     */
    pid_t ours = run->options.new_session ? -1 : run->launched.pid;
    while ((code = launch_ended(ours)) > 0) {
        tree_before_reap(run->tree, code);
        if ((code = launch_reap(code, &reaped)) != 1)
            break;
        /* Both are none of the target's, and the tree knows. */
        (void)kernel_events_reaped(run->options.events, reaped.pid, &reaped.usage);
        (void)syscall_counts_reaped(run->options.syscalls, reaped.pid, reaped.wait_status, &reaped.usage);
        tree_reap(run->tree, reaped.pid, reaped.wait_status, &reaped.usage);
        if (reaped.pid != run->launched.pid)
            continue;
        run->root_ended = true;
        run->root_status = reaped.wait_status;
        run_end_now(run);
    }
    if (run->phase == RUN_RUNNING && run_is_over(run, code == -ECHILD))
        finish_command(run);
}

static void on_kill_round(uv_timer_t *timer)
{
    struct run *run = timer->data;

    if (run->phase != RUN_RUNNING)
        return;
    reap_children(run);
    if (run->phase != RUN_RUNNING || clock_monotonic_ns() < run->kill_ns)
        return;
    /* Everybody at once where the kernel can do it: a tree that forks faster than it is signalled never ends.
     */
    (void)cgroup_target_kill(run->options.context->cgroup);
    unsigned reached = tree_signal(run->tree, SIGKILL);
    if (run->kill_rounds++ == 0 && reached > 0)
        log_warning("%u process%s did not end at SIGTERM: sending SIGKILL", reached,
                    reached == 1 ? "" : "es");
    reap_children(run);
    if (run->kill_rounds >= KILL_ROUNDS && run->phase == RUN_RUNNING) {
        log_warning("some processes do not end at SIGKILL either: not waiting for them");
        finish_command(run);
    }
}

static void end_tree(struct run *run, const char *why)
{
    if (run->ending || run->phase != RUN_RUNNING)
        return;
    run->ending = true;
    run->kill_ns = clock_monotonic_ns() + (uint64_t)(run->options.kill_after * (double)NS_PER_SECOND);
    log_info("%s: ending the command and all its processes", why);
    (void)tree_signal(run->tree, SIGTERM);
    (void)tree_signal(run->tree, SIGCONT); /* a stopped process ends only once it goes on */
    (void)uv_timer_start(&run->end_timer, on_kill_round, KILL_ROUND_MS, KILL_ROUND_MS);
    reap_children(run); /* the command itself may have ended before */
}

static void suspend(struct run *run, int signal)
{
    keyboard_suspend(run->keyboard);
    if (run->root_ended) { /* its group may be gone, or a stranger's */
        (void)tree_signal(run->tree, SIGSTOP);
        (void)kill(getpid(), SIGSTOP);
        (void)tree_signal(run->tree, SIGCONT);
    } else {
        (void)relay_signal(run->launched.pid, run->options.new_session, signal);
    }
    keyboard_resume(run->keyboard);
    run_resume(run);
}

static void on_interrupt(struct run *run)
{
    if (run->phase == RUN_DRAINING) {
        for (size_t i = 0; i < CAPTURE_COUNT; i++)
            if (run->captures[i])
                capture_abandon_screen(run->captures[i]);
        return;
    }
    if (run->interrupts++ > 0)
        end_tree(run, "interrupted twice");
    else if (run->root_ended)
        (void)tree_signal(run->tree, SIGINT); /* its group may be gone, or a stranger's */
    else
        (void)relay_signal(run->launched.pid, run->options.new_session, SIGINT);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct run *run = handle->data;

    switch (number) {
    case SIGCHLD:
        reap_children(run);
        break;
    case SIGINT:
        on_interrupt(run);
        break;
    case SIGTERM:
    case SIGHUP:
        if (run->phase == RUN_DRAINING)
            on_interrupt(run);
        else
            end_tree(run, number == SIGTERM ? "SIGTERM received" : "SIGHUP received");
        break;
    case SIGTSTP:
        if (run->phase == RUN_RUNNING)
            suspend(run, number);
        break;
    case SIGWINCH:
        if (run->options.pty && terminal_of_user() >= 0)
            terminal_copy_size(terminal_of_user(), run->launched.stdout_fd);
        else if (!run->root_ended)
            (void)relay_signal(run->launched.pid, run->options.new_session, number);
        break;
    case SIGCONT:
        keyboard_resume(run->keyboard);
        run_resume(run);
        if (!run->root_ended)
            (void)relay_signal(run->launched.pid, run->options.new_session, number);
        break;
    default:
        if (!run->root_ended)
            (void)relay_signal(run->launched.pid, run->options.new_session, number);
        break;
    }
}

static void on_keyboard(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;
    unsigned requests = keyboard_take_requests(run->keyboard);

    (void)status;
    (void)events;
    if (requests & KEYBOARD_INTERRUPTED_TWICE)
        end_tree(run, "interrupted twice");
    if ((requests & KEYBOARD_SUSPEND) && run->phase == RUN_RUNNING)
        suspend(run, SIGTSTP);
}

static void on_capture_ended(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll);
    run->captures_open--;
    if (run->phase == RUN_DRAINING && run->captures_open == 0)
        uv_stop(&run->loop);
}

static int start_capture(struct run *run, size_t index, int source_fd, int show_fd, enum run_file file)
{
    struct metron_error error;
    struct capture_options options = {.source_fd = source_fd,
                                      .show_fd = show_fd,
                                      .record_fd = run->folder.fds[file],
                                      .name = file == RUN_STDOUT ? "stdout" : "stderr"};

    int code = capture_start(&options, &run->captures[index], &error);
    if (code < 0) {
        log_warning("%s", error.message);
        return code;
    }
    code = run_start_poll(run, &run->capture_polls[index], capture_ended_fd(run->captures[index]),
                          on_capture_ended);
    if (code == 0)
        run->captures_open++;
    return code;
}

static void start_streams(struct run *run)
{
    const struct run_options *options = &run->options;
    struct metron_error error;

    if (run->launched.stdout_fd >= 0)
        (void)start_capture(run, 0, run->launched.stdout_fd, options->show_stdout ? STDOUT_FILENO : -1,
                            RUN_STDOUT);
    if (run->launched.stderr_fd >= 0)
        (void)start_capture(run, 1, run->launched.stderr_fd, options->show_stderr ? STDERR_FILENO : -1,
                            RUN_STDERR);
    if (!run->launched.stdin_is_pty)
        return;
    if (keyboard_start(STDIN_FILENO, run->launched.stdout_fd, &run->keyboard, &error) < 0) {
        log_warning("%s", error.message);
        return;
    }
    (void)run_start_poll(run, &run->keyboard_poll, keyboard_request_fd(run->keyboard), on_keyboard);
}

static void attach_tracer(void *context, pid_t pid)
{
    syscall_counts_attach(context, pid);
}

static int start_command(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    const struct cgroup_target *target = options->context->cgroup;
    int join_fds[CGROUP_CONTROLLER_COUNT];
    struct launch_cgroup cgroup = {
        .folder_fd = target->leaves[CGROUP_UNIFIED].lock_fd,
        .procs_fd = target->leaves[CGROUP_UNIFIED].join_fd,
        .join_fds = join_fds,
        .join_count = cgroup_target_entrances(target, join_fds),
    };
    struct launch_options launch_options = {
        .argv = options->argv,
        .environment = run->environment,
        .new_session = options->new_session,
        .pty = options->pty,
        .pipe_stdout = options->capture_stdout || !options->show_stdout,
        .pipe_stderr = options->capture_stderr || !options->show_stderr,
        .open_files = &run->open_files,
        .cgroup = &cgroup,
        .tracer = syscall_counts_prepare(options->syscalls),
        .hold_context = options->syscalls,
    };

    if (launch_options.tracer)
        launch_options.hold = attach_tracer;
    if (options->new_session && launch_become_subreaper() < 0)
        log_warning("cannot adopt orphans: processes that leave their parent are lost from sight");
    int code = launch_start(&launch_options, &run->launched, error);
    if (code < 0)
        return code;
    if (run->launched.stdin_withheld)
        log_info("started in the background of a terminal: the command reads from /dev/null");
    run->info.start_wall = run->launched.start_wall;
    if (tree_add_root(run->tree, run->launched.pid) < 0)
        log_warning("no memory to follow the command");
    feed_started(options->feed, run->launched.pid);
    if (options->on_started)
        options->on_started(options->started_context, run->launched.pid);
    return 0;
}

static void stop_streams(struct run *run)
{
    keyboard_finish(run->keyboard);
    run->keyboard = NULL;
    run_stop_loop(run);
    for (size_t i = 0; i < CAPTURE_COUNT; i++) {
        capture_free(run->captures[i]);
        run->captures[i] = NULL;
    }
}

static void set_outcome(struct run *run)
{
    run_name_survivors(run);
    run_set_outcome(run);
}

static void stop(struct run *run)
{
    if (run->phase == RUN_DRAINING)
        on_interrupt(run);
    else
        end_tree(run, "asked to end");
}

static const struct run_kind command_kind = {
    .signals = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH, SIGUSR1, SIGUSR2},
    .on_signal = on_signal,
    .stop = stop,
    .set_outcome = set_outcome,
};

int run_execute(struct run *run, struct metron_error *error)
{
    run->kind = &command_kind;
    int code = run_start_loop(run); /* in place before the command runs: nothing of it is missed */
    if (code < 0) {
        code = error_set(error, code, "cannot start the event loop: %s", uv_strerror(code));
        goto out;
    }
    code = start_command(run, error);
    if (code < 0) {
        run_never_started(run, code, error);
        goto out;
    }
    start_streams(run);
    run_begin(run, run->launched.start_ns, run->launched.inherited_rss_bytes);
    run_start_loading(run);
    reap_children(run);
    if (run->phase == RUN_RUNNING || run->captures_open > 0)
        (void)uv_run(&run->loop, UV_RUN_DEFAULT);
out:
    stop_streams(run);
    run_settle_files(run, code);
    return code;
}
