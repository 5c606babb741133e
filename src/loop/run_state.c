#include "loop/run_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/descriptors.h"
#include "loop/feed.h"
#include "loop/sampler.h"
#include "probe/oom_watch.h"
#include "tree/tree.h"

/* The command's environment: ours, and what tells its descendants which job they belong to. */
static int make_environment(struct run *run)
{
    const struct run_options *options = &run->options;
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    run->environment = calloc(count + 3, sizeof(*run->environment));
    if (!run->environment)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        bool replaced = (options->job && strncmp(environ[i], "METRON_JOB=", 11) == 0) ||
                        (options->has_sheet && strncmp(environ[i], "METRON_SHEET=", 13) == 0);
        if (!replaced)
            run->environment[kept++] = environ[i];
    }
    if (options->job)
        run->environment[kept++] = arena_printf(&run->arena, "METRON_JOB=%s", options->job);
    if (options->has_sheet)
        run->environment[kept] = arena_printf(&run->arena, "METRON_SHEET=%lld", (long long)options->sheet);
    return 0;
}

/* Whether there is any. */
static bool choose_files(const struct run_options *options, bool wanted[RUN_FILE_COUNT])
{
    bool any = false;

    /* On a terminal of its own the command has one stream, kept in stdout. */
    wanted[RUN_STDOUT] = options->capture_stdout || (options->pty && options->capture_stderr);
    wanted[RUN_STDERR] = options->capture_stderr && !options->pty;
    wanted[RUN_USAGE] = wanted[RUN_EVENTS] = options->record_samples;
    wanted[RUN_INFO] = options->record_summary;
    for (size_t i = 0; i < RUN_FILE_COUNT; i++)
        any = any || wanted[i];
    return any;
}

/* From the start there is a whole info.json. */
static int make_files(struct run *run, const char *prefix, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    int code = run_folder_open(&run->folder, prefix, options->clobber && !options->prefix_is_default,
                               options->prefix_is_default, error);

    if (code < 0)
        return code;
    run_describe_files(run);
    code = run_folder_write_info(&run->folder, &run->info);
    if (code < 0) {
        (void)error_set(error, code, "cannot write '%s': %s", run->folder.paths[RUN_INFO], strerror(-code));
        run_folder_remove(&run->folder);
    }
    return code;
}

/* Time and pid do not tell containers, or machines with a common folder, from each other. */
static int choose_name(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    struct prefix_values values = {.wall = clock_wall(),
                                   .pid = getpid(),
                                   .host = options->context->facts->hostname,
                                   .job = options->job};
    struct strbuf prefix = STRBUF_INIT;
    int code;

    do {
        values.number++;
        strbuf_reset(&prefix);
        code = run_folder_expand(options->prefix_pattern, &values, &prefix, error);
        if (code == 0)
            code = make_files(run, strbuf_text(&prefix), error);
    } while (code == -EEXIST && options->prefix_is_default && values.number < RUN_NAMES_TRIED);
    strbuf_fini(&prefix);
    return code;
}

/* Lets the command run unrecorded, with its own stdout and stderr. */
static void record_nothing(struct run *run)
{
    static const bool nothing[RUN_FILE_COUNT];

    run->options.capture_stdout = run->options.capture_stderr = false;
    run->options.record_samples = run->options.record_summary = false;
    run_folder_close(&run->folder);
    run_folder_init(&run->folder, nothing);
    run_describe_files(run);
}

/* A prefix that cannot be used is the user's to correct, before the command runs. Nothing else keeps it from
 * running: neither the machine's condition, nor the state of a folder that nobody chose. */
static int open_folder(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    struct metron_error why = {0};
    int code = choose_name(run, &why);

    if (code == 0)
        return 0;
    if (options->attach || (!options->prefix_is_default && !error_is_of_machine(code)))
        return error_set(error, code, "%s", why.message);
    log_warning("cannot record: %s; the command runs unrecorded", why.message);
    record_nothing(run);
    return 0;
}

void run_warn_write(struct run *run, enum run_file which, int code)
{
    if (code == 0 || run->warned[which])
        return;
    run->warned[which] = true;
    log_warning("cannot write '%s': %s; %s, the record is incomplete", run->folder.paths[which],
                code == -ENOBUFS ? "the disk is too slow" : strerror(-code),
                run->options.attach ? "the processes go on" : "the command goes on");
}

void run_finish_files(struct run *run)
{
    int codes[RUN_FILE_COUNT];
    uint64_t dropped[RUN_FILE_COUNT];

    run_folder_finish(&run->folder, codes, dropped);
    if (codes[RUN_INFO] < 0) /* once more, with the space that is reserved for it */
        codes[RUN_INFO] = run_folder_write_info(&run->folder, &run->info);
    for (size_t i = 0; i < RUN_FILE_COUNT; i++) {
        run_warn_write(run, (enum run_file)i, codes[i]);
        if (dropped[i] > 0)
            log_warning("%llu lines are missing in '%s': the disk was too slow",
                        (unsigned long long)dropped[i], run->folder.paths[i]);
    }
}

static void on_event(void *context, const struct event *event)
{
    struct run *run = context;
    run_warn_write(run, RUN_EVENTS, run_folder_add_event(&run->folder, event));
    feed_event(run->options.feed, event);
}

static void on_end(void *context, const struct process *process)
{
    struct run *run = context;
    syscall_counts_leave(run->options.syscalls, process);
    if (run->sampler)
        sampler_end_process(run->sampler, process->subject.serial);
}

/* Who is followed. */
static void choose_scope(const struct run *run, struct tree_options *out)
{
    const struct run_options *options = &run->options;

    if (options->attach) {
        out->scope = TREE_OF_ROOTS;
        out->roots = run->roots;
        out->root_count = options->attach->count;
        out->alone = !options->attach->children;
    } else if (options->new_session) {
        out->scope = TREE_OF_COMMAND;
        out->reaps = true;
    } else {
        out->scope = TREE_OF_SESSION;
        out->session = getsid(0);
    }
}

static int start_tree(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;

    run->start_ns = clock_monotonic_ns();
    struct tree_options tree_options = {
        .proc_root = options->context->proc_root,
        .facts = options->context->facts,
        .kept_descriptors = run->kept_descriptors,
        .start_ns = run->start_ns,
        .source = kernel_events_source(options->events),
        .why_no_source = options->events->why_no_connector.message,
        .read_clock = true,
        .read_io = registry_costs(options->registry, COST_IO),
        .command_bytes =
            options->record_samples || options->record_summary || options->feed ? TREE_COMMAND_BYTES : 0,
        .secrets = options->secrets,
        .on_event = options->record_samples || options->feed ? on_event : NULL,
        .on_end = on_end,
        .context = run,
    };
    choose_scope(run, &tree_options);
    run->tree = tree_new(&tree_options, error);
    if (!run->tree)
        return error && error->code ? error->code : -ENOMEM;
    tree_use_tasks(run->tree, options->events->programs);
    bool all_are_ours = !options->attach || options->attach->children;
    if (syscall_counts_set_tree(options->syscalls, run->tree, all_are_ours) < 0)
        return error_set(error, -ENOMEM, "no memory to count system calls");
    return 0;
}

static int start_measuring(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    int code = start_tree(run, error);

    if (code < 0)
        return code;
    /* Of those that run already: their past, up to this moment, is not ours. */
    run->begin_ns = options->attach ? clock_monotonic_ns() : run->start_ns;
    struct sampler_options sampler_options = {
        .registry = options->registry,
        .tree = run->tree,
        .context = options->context,
        .start_ns = run->begin_ns,
        .usable_cores = options->context->facts->usable_cpus,
        .online_cores = options->context->facts->online_cpus,
        .record_rate_ns = pace_record_rate_ns(&run->pace),
        .summary_rate_ns = pace_summary_rate_ns(&run->pace),
    };
    run->sampler = sampler_new(&sampler_options, error);
    if (!run->sampler)
        return -ENOMEM;
    if (options->attach)
        run->info.start_wall = clock_wall();
    if (options->attach || !options->new_session)
        tree_refresh(run->tree);
    sampler_seed(run->sampler);
    run->oom = oom_watch_new(options->context->proc_root, options->context->cgroup);
    if (!run->oom)
        return error_set(error, -ENOMEM, "no memory to measure with");
    run_describe_method(run);
    return 0;
}

int run_prepare(const struct run_options *options, struct run **out, struct metron_error *error)
{
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return error_set(error, -ENOMEM, "no memory for a run");
    run->options = *options;
    pace_init(&run->pace, &options->pace);
    run->tick_fd = run->signal_fd = -1;
    run->launched.pid = run->launched.stdout_fd = run->launched.stderr_fd = -1;
    bool wanted[RUN_FILE_COUNT];
    bool any = choose_files(options, wanted);
    run_folder_init(&run->folder, wanted);
    (void)signal(SIGPIPE, SIG_IGN); /* whoever reads our messages may leave before we do */
    run->kept_descriptors = descriptors_to_keep(&run->open_files);
    struct descriptors_held held;
    int code = descriptors_hold(&held, error);
    if (code < 0)
        goto fail;
    code = options->attach ? attach_choose_roots(run) : make_environment(run);
    if (code == 0)
        code = run_describe(run);
    if (code < 0)
        (void)error_set(error, code, "no memory for a run");
    else
        code = start_measuring(run, error);
    descriptors_release(&held);
    if (code == 0 && any)
        code = open_folder(run, error);
    if (code < 0)
        goto fail;
    *out = run;
    return 0;
fail:
    run_free(run);
    return code;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    sampler_free(run->sampler);
    run->sampler = NULL;
    tree_free(run->tree);
    oom_watch_free(run->oom);
    run_folder_close(&run->folder);
    (void)setrlimit(RLIMIT_NOFILE, &run->open_files);
    record_fini(&run->record);
    record_fini(&run->summary);
    arena_fini(&run->arena);
    free(run->environment);
    free(run->roots);
    free(run);
}

void run_withdraw(struct run *run)
{
    run_folder_remove(&run->folder);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0); /* exec would keep it */
    run_free(run);
}

const struct run_info *run_get_info(const struct run *run)
{
    return &run->info;
}

bool run_was_discarded(const struct run *run)
{
    return run->discarded;
}

void run_never_started(struct run *run, int code, const struct metron_error *error)
{
    struct run_info *info = &run->info;

    info->outcome =
        (struct outcome){.kind = OUTCOME_NOT_STARTED,
                         .exit_code = launch_failure_exit_code(code),
                         .error = arena_strdup(&run->arena, error ? error->message : strerror(-code))};
    info->cause = outcome_cause(&run->arena, &info->outcome);
    info->end_wall = clock_wall();
    info->ended = true;
    run_warn_write(run, RUN_INFO, run_folder_write_info(&run->folder, info));
}

void run_settle_files(struct run *run, int code)
{
    const struct run_options *options = &run->options;
    const struct outcome *outcome = &run->info.outcome;
    bool failed = code < 0 || outcome->exit_code != 0;
    bool soon = options->fail_time < 0 || run->info.wall_seconds < options->fail_time;

    /* A command that was ended early on demand did not fail early, and what one needs that ran out of memory
     * or time is the question to come: their records are wanted. */
    bool lacked = outcome->oom_victim != OOM_VICTIM_NONE || outcome->kind == OUTCOME_TIME_LIMIT;
    bool wanted = options->fail_time > 0 && (run->ending || lacked);

    run_finish_files(run);
    run->discarded = run->folder.prefix && failed && soon && options->fail_time != 0 && !wanted;
    if (run->discarded)
        run_folder_remove(&run->folder);
}
