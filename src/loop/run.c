/*
 * The run's event loop: one thread that samples, reaps and answers signals (the ledger wants the three in one
 * thread), driven by libuv; output goes through threads of its own (launch/capture.h).
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
#include <sys/timerfd.h>
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
#include "loop/run_state.h"
#include "loop/sampler.h"
#include "loop/ticker.h"
#include "probe/cgroup/target.h"
#include "probe/oom_watch.h"
#include "reduce/headline.h"

/* After SIGKILL, a process that does not go is in the kernel's hands: it is named, not waited for. */
#define KILL_ROUND_MS 50
#define KILL_ROUNDS   100

static void run_finish(struct run *run);

static void write_report(struct run *run)
{
    if (sampler_report(run->sampler, &run->record) < 0) {
        log_warning("no memory for a record: this report is lost");
        return;
    }
    run->info.num_reports++;
    run_warn_write(run, RUN_USAGE, run_folder_write_record(&run->folder, &run->record));
    run_warn_write(run, RUN_EVENTS, run_folder_flush_events(&run->folder));
}

static void arm_ticker(struct run *run)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(run->ticker.next_ns / NS_PER_SECOND),
                                           .tv_nsec = (long)(run->ticker.next_ns % NS_PER_SECOND)}};
    (void)timerfd_settime(run->tick_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* What our programs in the kernel take from the target. */
static void note_own_cost(struct run *run)
{
    const struct bpf_programs *programs = run->options.events->programs;

    if (programs)
        sampler_set_kernel_cpu(run->sampler, bpf_programs_cpu_seconds(programs));
}

static void on_tick(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    if (read(run->tick_fd, &expirations, sizeof(expirations)) < 0 || run->phase != RUN_RUNNING)
        return;
    note_own_cost(run);
    (void)sampler_sample(run->sampler);
    oom_watch_look(run->oom);
    uint64_t now_ns = clock_monotonic_ns();
    sampler_count_missed(run->sampler, ticker_advance(&run->ticker, now_ns));
    arm_ticker(run);
    run_warn_write(run, RUN_EVENTS, run_folder_flush_events(&run->folder));
    if (now_ns >= run->next_report_ns) {
        uint64_t interval_ns = (uint64_t)(run->options.report_interval * (double)NS_PER_SECOND);
        run->next_report_ns += ((now_ns - run->next_report_ns) / interval_ns + 1) * interval_ns;
        write_report(run);
    }
}

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
        run->end_ns = clock_monotonic_ns();
        run->info.end_wall = clock_wall();
    }
    if (run->phase == RUN_RUNNING && run_is_over(run, code == -ECHILD))
        run_finish(run);
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
        run_finish(run);
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
    (void)uv_timer_start(&run->kill_timer, on_kill_round, KILL_ROUND_MS, KILL_ROUND_MS);
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
    ticker_resume(&run->ticker, clock_monotonic_ns());
    arm_ticker(run);
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
        ticker_resume(&run->ticker, clock_monotonic_ns());
        arm_ticker(run);
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

/* What the numbers say together: which are shown first, which disagree, which could not be had. */
static void settle_methods(struct run *run)
{
    struct run_info *info = &run->info;
    struct headline_method_facts facts = {
        .cpu_note = tree_cpu_missing(run->tree),
        .spawned_is_exact = info->spawned_is_exact,
        .own_cgroup = run->options.context->cgroup->scope == CGROUP_SCOPE_OWN,
        .living_cpu_seconds = tree_living_cpu_seconds(run->tree),
    };
    struct strbuf text = STRBUF_INIT;
    int code;

    info->headline = headline_of(&run->summary, &facts);
    info->cpu_is_conserved = !facts.cpu_note && !headline_ledger_misses(&run->summary, &facts);
    headline_disagreements(&text, &run->summary, &facts);
    for (char *rest = text.length ? text.data : NULL, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0])
            log_warning("%s", line);
    strbuf_fini(&text);
    for (size_t i = 0; i < run->options.collector_count; i++) {
        run->options.collectors[i].failures = sampler_failures(run->sampler, i, &code);
        run->options.collectors[i].failure = code ? strerror(-code) : NULL;
    }
}

static void describe_syscalls(struct run *run)
{
    struct syscall_counts *counts = run->options.syscalls;
    struct run_syscalls *syscalls = &run->info.syscalls;

    syscalls->reason = counts ? syscall_counts_reason(counts) : run->options.why_no_syscalls;
    if (syscalls->reason) {
        log_warning("system calls were not counted: %s", syscalls->reason);
        return;
    }
    if (counts) {
        syscalls->method = syscall_counts_source(counts)->method;
        syscalls->lost = syscall_counts_lost(counts);
    }
}

/* The target has ended: takes the last readings and writes the record. */
static void run_finish(struct run *run)
{
    struct run_info *info = &run->info;

    run->phase = RUN_DRAINING;
    (void)uv_timer_stop(&run->kill_timer);
    if (!run->root_ended || run->ending || run->options.wait == RUN_WAIT_TREE) {
        run->end_ns = clock_monotonic_ns();
        info->end_wall = clock_wall();
    }
    syscall_counts_finish(run->options.syscalls);
    tree_drain(run->tree);
    note_own_cost(run);
    sampler_add_helper_cpu(run->sampler, run->options.events->loader_cpu_seconds +
                                             syscall_counts_helper_seconds(run->options.syscalls));
    sampler_finish(run->sampler);
    tree_settle(run->tree);
    run_name_survivors(run);
    write_report(run);
    if (sampler_summarise(run->sampler, &run->summary) < 0)
        log_warning("no memory for the whole summary");
    info->summary = &run->summary;
    info->num_samples = run->summary.num_samples;
    info->wall_seconds = (double)(run->end_ns - run->launched.start_ns) / (double)NS_PER_SECOND;
    info->events_lost = tree_events_lost(run->tree);
    info->spawned_is_exact = tree_counts_all(run->tree);
    info->has_io = tree_has_io(run->tree);
    info->io_is_conserved = !tree_cpu_missing(run->tree) && !tree_io_missed(run->tree);
    describe_syscalls(run);
    run_describe_method(run);
    settle_methods(run);
    run_set_outcome(run);
    info->ended = true;
    run_warn_write(run, RUN_INFO, run_folder_write_info(&run->folder, info));

    for (size_t i = 0; i < CAPTURE_COUNT; i++)
        if (run->captures[i])
            capture_stop(run->captures[i]);
    if (run->captures_open == 0)
        uv_stop(&run->loop);
}

static int start_signals(struct run *run)
{
    static const int numbers[SIGNAL_COUNT] = {SIGCHLD, SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT,
                                              SIGTSTP, SIGCONT, SIGWINCH, SIGUSR1, SIGUSR2};

    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        /* What the caller had ignored (nohup, a shell's background job) stays ignored. */
        if (numbers[i] != SIGCHLD && launch_signal_was_ignored(numbers[i]))
            continue;
        int code = uv_signal_init(&run->loop, &run->signals[i]);
        if (code == 0) {
            run->signals[i].data = run;
            code = uv_signal_start(&run->signals[i], on_signal, numbers[i]);
        }
        if (code < 0)
            return code;
    }
    return 0;
}

/* Everything that must be in place before the command runs, so that nothing of it is missed. */
static int start_loop(struct run *run)
{
    int code = uv_loop_init(&run->loop);
    if (code < 0)
        return code;
    run->loop_open = true;
    run->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (run->tick_fd < 0)
        return -errno;
    (void)uv_timer_init(&run->loop, &run->kill_timer);
    (void)uv_timer_init(&run->loop, &run->events_pause);
    (void)uv_timer_init(&run->loop, &run->load_timer);
    run->kill_timer.data = run->events_pause.data = run->load_timer.data = run;
    code = start_signals(run);
    if (code == 0)
        code = run_start_poll(run, &run->tick_poll, run->tick_fd, on_tick);
    if (code == 0)
        code = run_start_listening(run);
    return code;
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
    sampler_begin(run->sampler, run->launched.start_ns, run->launched.inherited_rss_bytes);
    run->info.start_wall = run->launched.start_wall;
    if (tree_add_root(run->tree, run->launched.pid) < 0)
        log_warning("no memory to follow the command");
    return 0;
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void stop_loop(struct run *run)
{
    keyboard_finish(run->keyboard);
    run->keyboard = NULL;
    if (run->loop_open) {
        uv_walk(&run->loop, close_handle, NULL);
        while (uv_run(&run->loop, UV_RUN_DEFAULT) != 0)
            ; /* a uv_stop from before uv_run ends only the first round */
        (void)uv_loop_close(&run->loop);
        run->loop_open = false;
    }
    if (run->tick_fd >= 0)
        (void)close(run->tick_fd);
    run->tick_fd = -1;
    for (size_t i = 0; i < CAPTURE_COUNT; i++) {
        capture_free(run->captures[i]);
        run->captures[i] = NULL;
    }
}

int run_execute(struct run *run, struct metron_error *error)
{
    int code = start_loop(run);
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
    ticker_init(&run->ticker, run->launched.start_ns,
                (uint64_t)(run->options.sample_interval * (double)NS_PER_SECOND));
    run->next_report_ns =
        run->launched.start_ns + (uint64_t)(run->options.report_interval * (double)NS_PER_SECOND);
    arm_ticker(run);
    run_start_loading(run);
    reap_children(run);
    if (run->phase == RUN_RUNNING || run->captures_open > 0)
        (void)uv_run(&run->loop, UV_RUN_DEFAULT);
out:
    stop_loop(run);
    run_settle_files(run, code);
    return code;
}
