/*
 * What every run does, whatever it follows: it samples on its deadlines, reports, listens, and at the end
 * takes the last readings and writes the record. How the target comes about and when it is over is decided
 * by its kind (run.c: a command that is started; attach.c: processes that run already).
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "launch/capture_process.h"
#include "launch/relay.h"
#include "loop/feed.h"
#include "loop/run_state.h"
#include "loop/sampler.h"
#include "probe/cgroup/target.h"
#include "probe/oom_watch.h"
#include "probe/privilege.h"
#include "reduce/headline.h"

/* Loading our programs into the kernel costs some ten milliseconds of CPU: a command that is over before that
 * does without, and one that goes on is not kept from its CPU. */
#define LOAD_AFTER_MS 1000
#define HEADLINE_NS   NS_PER_SECOND /* at least, from one running headline to the next */

static void write_report(struct run *run, uint64_t now_ns)
{
    if (sampler_report(run->sampler, &run->record) < 0) {
        log_warning("no memory for a record: this report is lost");
        return;
    }
    run->info.num_reports++;
    size_t sent = feed_record(run->options.feed, &run->record), bytes = 0;
    run_warn_write(run, RUN_USAGE, run_folder_write_record(&run->folder, &run->record, &bytes));
    run_warn_write(run, RUN_EVENTS, run_folder_flush_events(&run->folder));
    pace_reported(&run->pace, now_ns, bytes > sent ? bytes : sent);
    run->info.report_interval = pace_report_interval(&run->pace, now_ns);
}

static void arm_ticker(struct run *run)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(run->pace.next_ns / NS_PER_SECOND),
                                           .tv_nsec = (long)(run->pace.next_ns % NS_PER_SECOND)}};
    (void)timerfd_settime(run->tick_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* What our programs in the kernel take from the target, and what the capture process uses. */
static void note_own_cost(struct run *run)
{
    const struct bpf_programs *programs = run->options.events->programs;

    if (run->capture)
        sampler_set_capture(run->sampler, capture_process_pid(run->capture),
                            capture_process_cpu_seconds(run->capture));
    if (programs)
        sampler_set_kernel_cpu(run->sampler, bpf_programs_cpu_seconds(programs));
}

/* Capabilities are each thread's own, and files need none. */
static void drop_privilege(void)
{
    (void)privilege_drop(NULL, NULL);
}

static struct headline_method_facts method_facts(const struct run *run)
{
    const struct run_options *options = &run->options;

    return (struct headline_method_facts){
        .cpu_note = tree_cpu_missing(run->tree),
        .spawned_is_exact = tree_counts_all(run->tree),
        .own_cgroup = options->context->cgroup->scope == CGROUP_SCOPE_OWN,
        .began_in_cgroup = !options->attach && options->new_session,
        .found = options->attach ? tree_found(run->tree) : 0,
        .attached = options->attach != NULL,
        .living_cpu_seconds = tree_living_cpu_seconds(run->tree),
    };
}

/* What a reader of a running run, or of one whose metron was killed, is shown. One that cannot be written
 * harms nobody: the previous info.json stays. */
static void write_running_headline(struct run *run, uint64_t now_ns)
{
    if (now_ns < run->next_headline_ns)
        return;
    run->next_headline_ns = now_ns + HEADLINE_NS;
    if (!run->folder.paths[RUN_INFO] || sampler_summarise(run->sampler, &run->summary) < 0)
        return;
    const struct headline_method_facts facts = method_facts(run);
    run->info.headline = headline_of(&run->summary, &facts);
    (void)run_folder_write_info(&run->folder, &run->info);
}

static void on_tick(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    if (read(run->tick_fd, &expirations, sizeof(expirations)) < 0 || run->phase != RUN_RUNNING)
        return;
    run_folder_write_behind(&run->folder, drop_privilege); /* a shorter run needs no thread */
    note_own_cost(run);
    uint64_t cost_ns = sampler_sample(run->sampler);
    oom_watch_look(run->oom);
    uint64_t now_ns = clock_monotonic_ns();
    sampler_count_missed(run->sampler, pace_sampled(&run->pace, now_ns, cost_ns));
    arm_ticker(run);
    run_warn_write(run, RUN_EVENTS, run_folder_flush_events(&run->folder));
    feed_flush(run->options.feed);
    if (pace_report_is_due(&run->pace, now_ns)) {
        write_report(run, now_ns);
        write_running_headline(run, now_ns);
    }
    if (run->kind->after_sample)
        run->kind->after_sample(run);
}

/* What the numbers say together: which are shown first, which disagree, which could not be had. */
static void settle_methods(struct run *run)
{
    struct run_info *info = &run->info;
    const struct headline_method_facts facts = method_facts(run);
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
        if (!run->options.attach) /* that has been said when it began */
            log_warning("system calls were not counted: %s", syscalls->reason);
        return;
    }
    if (counts) {
        syscalls->method = syscall_counts_source(counts)->method;
        syscalls->note = syscall_counts_note(counts);
        syscalls->lost = syscall_counts_lost(counts);
    }
}

void run_finish(struct run *run)
{
    struct run_info *info = &run->info;

    run->phase = RUN_DRAINING;
    run->listening.stopped = true;
    syscall_counts_finish(run->options.syscalls);
    tree_drain(run->tree);
    note_own_cost(run);
    sampler_add_helper_cpu(run->sampler, run->options.events->loader_cpu_seconds +
                                             syscall_counts_helper_seconds(run->options.syscalls));
    if (run->kind->settle_end)
        run->kind->settle_end(run);
    sampler_finish(run->sampler, run->end_ns);
    tree_settle(run->tree);
    write_report(run, clock_monotonic_ns());
    if (sampler_summarise(run->sampler, &run->summary) < 0)
        log_warning("no memory for the whole summary");
    info->summary = &run->summary;
    info->num_samples = run->summary.num_samples;
    info->events_lost = tree_events_lost(run->tree);
    info->spawned_is_exact = tree_counts_all(run->tree);
    info->has_io = tree_has_io(run->tree);
    info->io_is_conserved = !tree_cpu_missing(run->tree) && !tree_io_missed(run->tree);
    describe_syscalls(run);
    run_describe_method(run);
    settle_methods(run);
    run->kind->set_outcome(run);
    info->wall_seconds = (double)(run->end_ns - run->begin_ns) / (double)NS_PER_SECOND;
    info->ended = true;
    run_warn_write(run, RUN_INFO, run_folder_write_info(&run->folder, info));
}

static void on_signals(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;
    struct signalfd_siginfo taken;

    (void)status;
    (void)events;
    while (read(run->signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken)) {
        run_note_signal(run, &taken);
        run->kind->on_signal(run, (int)taken.ssi_signo, relay_was_sent(taken.ssi_code, (pid_t)taken.ssi_pid));
    }
}

/* A descriptor and no handlers: it says who sent a signal. */
static int start_signals(struct run *run)
{
    sigset_t taken;

    relay_signals(&taken);
    if (!run->kind->stops)
        (void)sigdelset(&taken, SIGTSTP);
    run->signal_fd = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
    if (run->signal_fd < 0)
        return -errno;
    (void)pthread_sigmask(SIG_BLOCK, &taken, &run->signals_before);
    /* They are blocked, which is as good as ignored; and a process may send them. */
    if (sigismember(&taken, SIGPIPE) == 1)
        (void)signal(SIGPIPE, SIG_DFL);
    return run_start_poll(run, &run->signal_poll, run->signal_fd, on_signals);
}

void run_stop_signals(struct run *run)
{
    struct signalfd_siginfo taken;

    if (run->signal_fd < 0)
        return;
    (void)signal(SIGPIPE, SIG_IGN);
    while (read(run->signal_fd, &taken, sizeof(taken)) == (ssize_t)sizeof(taken))
        ;
    (void)pthread_sigmask(SIG_SETMASK, &run->signals_before, NULL);
    (void)close(run->signal_fd);
    run->signal_fd = -1;
}

static void on_feed(uv_poll_t *poll, int status, int events)
{
    struct run *run = poll->data;

    (void)status;
    (void)events;
    (void)uv_poll_stop(poll); /* its end stays readable */
    run->kind->stop(run);
}

static void describe_method(void *context)
{
    run_describe_method(context);
}

int run_start_loop(struct run *run)
{
    int code = uv_loop_init(&run->loop);
    if (code < 0)
        return code;
    run->loop_open = true;
    run->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (run->tick_fd < 0)
        return -errno;
    (void)uv_timer_init(&run->loop, &run->end_timer);
    run->end_timer.data = run;
    code = start_signals(run);
    if (code == 0)
        code = run_start_poll(run, &run->tick_poll, run->tick_fd, on_tick);
    if (code == 0 && run->options.feed)
        code = run_start_poll(run, &run->feed_poll, feed_fd(run->options.feed), on_feed);
    if (code == 0) {
        run->listening = (struct listening){.loop = &run->loop,
                                            .tree = run->tree,
                                            .events = run->options.events,
                                            .context = run,
                                            .changed = describe_method};
        code = listening_start(&run->listening);
    }
    return code;
}

void run_start_loading(struct run *run)
{
    listening_load(&run->listening, LOAD_AFTER_MS);
}

int run_start_poll(struct run *run, uv_poll_t *poll, int fd, uv_poll_cb callback)
{
    int code = uv_poll_init(&run->loop, poll, fd);
    if (code < 0)
        return code;
    poll->data = run;
    return uv_poll_start(poll, UV_READABLE, callback);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    (void)context;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

void run_begin(struct run *run, uint64_t begin_ns, uint64_t inherited_rss_bytes)
{
    run->begin_ns = begin_ns;
    sampler_begin(run->sampler, begin_ns, inherited_rss_bytes);
    pace_begin(&run->pace, begin_ns);
    arm_ticker(run);
}

void run_end_at(struct run *run, uint64_t end_ns)
{
    run->end_ns = end_ns;
    run->info.end_wall = clock_wall_at(end_ns);
}

void run_resume(struct run *run)
{
    pace_resume(&run->pace, clock_monotonic_ns());
    arm_ticker(run);
}

void run_stop_loop(struct run *run)
{
    if (run->loop_open) {
        uv_walk(&run->loop, close_handle, NULL);
        while (uv_run(&run->loop, UV_RUN_DEFAULT) != 0)
            ; /* a uv_stop from before uv_run ends only the first round */
        (void)uv_loop_close(&run->loop);
        run->loop_open = false;
    }
    file_close(&run->tick_fd);
}
