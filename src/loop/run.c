/*
 * The run of a command: it is started, its signals are relayed, its output is captured, its processes are
 * reaped. One thread samples, reaps and answers signals (the ledger wants the three in one thread), driven by
 * libuv (run_loop.c); output goes through a process of its own (launch/capture_process.h).
 *
 * A run is RUNNING until its target has ended; then the last readings are taken and the record is written at
 * once, and it is DRAINING until what the command wrote has gone where it should go, which a stopped terminal
 * may delay, but nothing else.
 */
#include "loop/run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "launch/capture_process.h"
#include "launch/keyboard.h"
#include "launch/launch.h"
#include "launch/reap.h"
#include "launch/relay.h"
#include "launch/terminal.h"
#include "loop/feed.h"
#include "loop/run_state.h"
#include "probe/cgroup/target.h"

/* After SIGKILL, a process that does not go is in the kernel's hands: it is named, not waited for. */
#define KILL_ROUND_MS 50
#define KILL_ROUNDS   100
/* Who ends a command through metron does not wait longer for a screen that nobody reads. */
#define DELIVERY_MS 1000

/* What was killed just before the command exited has so long to go, and is checked so often. */
#define LINGER_NS      NS_PER_SECOND
#define LINGER_STEP_MS 2

/* The target has ended as far as this run is concerned. */
static bool run_is_over(const struct run *run, bool no_children)
{
    if (!run->root_ended)
        return false;
    if (!run->ending && run->options.wait == RUN_WAIT_ROOT)
        return true;
    /* Every descendant is our child in the end: without children there are none. Where we do not adopt, or
     * have children of another origin, the tree is searched. */
    if (run->options.new_session && !tree_has_strangers(run->tree))
        return no_children;
    return tree_command_alive(run->tree) == 0;
}

/* The capture process goes on delivering without us. */
static void on_delivery_time_up(uv_timer_t *timer)
{
    struct run *run = timer->data;

    uv_stop(&run->loop);
}

/* The run ends with the command, not with the whole tree. */
static bool ends_with_command(const struct run *run)
{
    return run->root_ended && !run->ending && run->options.wait == RUN_WAIT_ROOT;
}

/* The target has ended: writes the record and lets the output come to its end. */
static void finish_command(struct run *run)
{
    (void)uv_timer_stop(&run->end_timer);
    if (!ends_with_command(run))
        run_end_at(run, clock_monotonic_ns());
    if (run->output_open)
        capture_process_deliver(run->capture);
    run_finish(run);
    if (!run->output_open)
        uv_stop(&run->loop);
    else if (run->ending)
        (void)uv_timer_start(&run->end_timer, on_delivery_time_up, DELIVERY_MS, 0);
}

static void reap_children(struct run *run);

static void on_linger(uv_timer_t *timer)
{
    reap_children(timer->data);
}

/* Before it is decided who has outlived the command. */
static bool awaits_exits(struct run *run)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool is_first = !run->linger_ns;

    if (!ends_with_command(run))
        return false;
    if (is_first)
        run->linger_ns = now_ns + LINGER_NS;
    if (now_ns >= run->linger_ns || !tree_awaits_exits(run->tree, is_first))
        return false;
    (void)uv_timer_start(&run->end_timer, on_linger, LINGER_STEP_MS, 0);
    return true;
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
        /* None of these is the target's, and the tree knows. */
        if (capture_process_reaped(run->capture, reaped.pid, &reaped.usage) &&
            WIFSIGNALED(reaped.wait_status))
            log_warning("the capture process was killed: further output is lost");
        (void)kernel_events_reaped(run->options.events, reaped.pid, &reaped.usage);
        (void)syscall_counts_reaped(run->options.syscalls, reaped.pid, reaped.wait_status, &reaped.usage);
        tree_reap(run->tree, reaped.pid, reaped.wait_status, &reaped.usage);
        if (reaped.pid != run->launched.pid)
            continue;
        run->root_ended = true;
        run->root_status = reaped.wait_status;
        run_end_at(run, clock_monotonic_ns());
    }
    if (run->phase == RUN_RUNNING && run_is_over(run, code == -ECHILD) && !awaits_exits(run))
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
    bool group_killed = cgroup_target_kill(run->options.context->cgroup);
    unsigned reached = tree_signal(run->tree, SIGKILL);
    bool refused = run_note_refused(run) > 0 && reached == 0 && !group_killed;
    if (run->kill_rounds++ == 0 && reached > 0)
        log_warning("%u process%s did not end: sending SIGKILL", reached, reached == 1 ? "" : "es");
    reap_children(run);
    if ((refused || run->kill_rounds >= KILL_ROUNDS) && run->phase == RUN_RUNNING) {
        log_warning("some processes %s: not waiting for them",
                    refused ? "run as another user and cannot be killed" : "do not end at SIGKILL either");
        finish_command(run);
    }
}

/* `signal`: SIGTERM, or the SIGHUP that metron received. */
static void end_tree(struct run *run, int signal, const struct received *request, const char *why)
{
    if (run->ending || run->phase != RUN_RUNNING)
        return;
    run->ending = true;
    run->request = *request;
    run->request.after_exit = run->root_ended;
    run->kill_ns = clock_monotonic_ns() + (uint64_t)(run->options.kill_after * (double)NS_PER_SECOND);
    log_info("%s: ending the command and all its processes", why);
    (void)tree_signal(run->tree, signal);
    (void)run_note_refused(run);
    (void)tree_signal(run->tree, SIGCONT); /* a stopped process ends only once it goes on */
    (void)uv_timer_start(&run->end_timer, on_kill_round, KILL_ROUND_MS, KILL_ROUND_MS);
    reap_children(run); /* the command itself may have ended before */
}

static void suspend(struct run *run, bool sent)
{
    keyboard_suspend(run->keyboard);
    if (run->root_ended) { /* its group may be gone, or a stranger's */
        (void)tree_signal(run->tree, SIGSTOP);
        (void)kill(getpid(), SIGSTOP);
        (void)tree_signal(run->tree, SIGCONT);
    } else {
        (void)relay_signal(run->launched.pid, run->options.new_session, sent, SIGTSTP);
    }
    keyboard_resume(run->keyboard);
    run_resume(run);
}

/* To the command; once that has ended, its group may be gone, or a stranger's. */
static void pass_on(struct run *run, int number, bool sent)
{
    if (!run->root_ended)
        (void)relay_signal(run->launched.pid, run->options.new_session, sent, number);
}

static void on_interrupt(struct run *run, bool sent)
{
    if (run->phase == RUN_DRAINING)
        uv_stop(&run->loop);
    else if (run->interrupts++ > 0)
        end_tree(run, SIGTERM, &run->last, "interrupted twice");
    else if (run->root_ended)
        (void)tree_signal(run->tree, SIGINT);
    else
        pass_on(run, SIGINT, sent);
}

static void on_signal(struct run *run, int number, bool sent)
{
    switch (number) {
    case SIGCHLD:
        reap_children(run);
        break;
    case SIGINT:
        on_interrupt(run, sent);
        break;
    case SIGTERM:
    case SIGHUP:
        if (run->phase == RUN_DRAINING)
            uv_stop(&run->loop);
        else
            end_tree(run, number, &run->last, number == SIGTERM ? "SIGTERM received" : "SIGHUP received");
        break;
    case SIGTSTP:
        if (run->phase == RUN_RUNNING)
            suspend(run, sent);
        break;
    case SIGWINCH:
        if (run->launched.stdout_fd >= 0 && terminal_of_user() >= 0)
            terminal_copy_size(terminal_of_user(), run->launched.stdout_fd);
        else
            pass_on(run, number, sent);
        break;
    case SIGCONT:
        keyboard_resume(run->keyboard);
        run_resume(run);
        pass_on(run, number, sent);
        break;
    default:
        pass_on(run, number, sent);
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
        end_tree(run, SIGTERM,
                 &(struct received){.from = FROM_TERMINAL, .signal = SIGINT, .wall = clock_wall()},
                 "interrupted twice");
    if ((requests & KEYBOARD_SUSPEND) && run->phase == RUN_RUNNING)
        suspend(run, false);
}

static void close_terminal(struct run *run)
{
    if (uv_is_active((uv_handle_t *)&run->keyboard_poll))
        (void)uv_poll_stop(&run->keyboard_poll);
    keyboard_finish(run->keyboard);
    run->keyboard = NULL;
    file_close(&run->launched.stdout_fd);
}

static void on_capture(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    enum capture_news news;

    (void)events;
    do { /* after an error there are no more calls: the process has gone, what it sent is still to be read */
        news = capture_process_read(run->capture);
    } while (status < 0 && news == CAPTURE_WARNED);
    if (news == CAPTURE_WARNED)
        return;
    if (news == CAPTURE_ENDED)
        close_terminal(run); /* the command's hangs up, as it would without metron */
    (void)uv_poll_stop(poll);
    run->output_open = false;
    if (run->phase == RUN_DRAINING)
        uv_stop(&run->loop);
}

/* Before the command is started: its output has a reader from the first byte. */
static int read_outputs(void *context, int stdout_fd, int stderr_fd, struct metron_error *error)
{
    struct run *run = context;
    const struct capture_stream streams[CAPTURE_STREAMS] = {
        {stdout_fd, run->options.show_stdout ? STDOUT_FILENO : -1, run->folder.fds[RUN_STDOUT]},
        {stderr_fd, run->options.show_stderr ? STDERR_FILENO : -1, run->folder.fds[RUN_STDERR]},
    };

    int code = capture_process_start(streams, &run->capture, error);
    if (code < 0)
        return code;
    if (run->options.pty && isatty(STDIN_FILENO) && !terminal_in_background(STDIN_FILENO))
        code = keyboard_start(STDIN_FILENO, stdout_fd, capture_process_terminal(run->capture), &run->keyboard,
                              error);
    if (code < 0) {
        capture_process_cancel(run->capture);
        run->capture = NULL;
        return code;
    }
    tree_ignore(run->tree, capture_process_pid(run->capture));
    return 0;
}

/* The command runs. */
static void start_streams(struct run *run)
{
    struct launched *launched = &run->launched;

    if (launched->outputs_are_ours)
        log_warning("the command's output is not captured: %s", launched->why_not_read.message);
    if (!run->capture)
        return;
    capture_process_watch(run->capture, launched->pid);
    run->output_open =
        run_start_poll(run, &run->capture_poll, capture_process_fd(run->capture), on_capture) == 0;
    if (run->keyboard)
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
        .read_outputs = read_outputs,
        .read_context = run,
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
    close_terminal(run);
    run_stop_loop(run);
    (run->launched.pid > 0 ? capture_process_free : capture_process_cancel)(run->capture);
    run->capture = NULL;
}

/* We may have noticed the end late: stopped, or on a busy machine. */
static void settle_end(struct run *run)
{
    if (!ends_with_command(run))
        return;
    tree_read_events(run->tree);
    uint64_t reported_ns = tree_root_end_ns(run->tree);
    uint64_t seen_ns = run->capture ? capture_process_end_ns(run->capture) : 0;

    if (reported_ns > run->begin_ns && reported_ns < run->end_ns)
        run_end_at(run, reported_ns);
    if (seen_ns > run->begin_ns && seen_ns < run->end_ns)
        run_end_at(run, seen_ns);
}

static void set_outcome(struct run *run)
{
    run_name_survivors(run);
    run_set_outcome(run);
}

static void stop(struct run *run)
{
    if (run->phase == RUN_DRAINING)
        uv_stop(&run->loop);
    else
        end_tree(run, SIGTERM, &(struct received){.from = FROM_LIBRARY, .wall = clock_wall()},
                 "asked to end");
}

static const struct run_kind command_kind = {
    .stops = true,
    .on_signal = on_signal,
    .stop = stop,
    .settle_end = settle_end,
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
    if (run->phase == RUN_RUNNING || run->output_open)
        (void)uv_run(&run->loop, UV_RUN_DEFAULT);
out:
    stop_streams(run);
    run_settle_files(run, code);
    run_stop_signals(run);
    return code;
}
