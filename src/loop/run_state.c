#include "loop/run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/sampler.h"
#include "probe/cgroup/target.h"
#include "probe/oom_watch.h"
#include "probe/pid/stat.h"
#include "schema/secrets.h"
#include "settings/settings.h"
#include "tree/tree.h"

/* Descriptors that metron needs beside the files it keeps open of each process. */
#define DESCRIPTORS_RESERVED 64
/* More would only cost kernel memory: five files each of thirteen thousand processes. */
#define DESCRIPTORS_WANTED 65536

static void raise_descriptor_limit(struct run *run)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &run->open_files) != 0)
        run->open_files = (struct rlimit){1024, 1024};
    limit = run->open_files;
    rlim_t wanted = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
    if (wanted > limit.rlim_cur) {
        limit.rlim_cur = wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit = run->open_files;
    }
    rlim_t usable = limit.rlim_cur < DESCRIPTORS_WANTED ? limit.rlim_cur : DESCRIPTORS_WANTED;
    run->kept_descriptors = usable > DESCRIPTORS_RESERVED ? (int)(usable - DESCRIPTORS_RESERVED) : 0;
}

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

/* Whether a variable's name begins with one of the listed prefixes. */
static bool is_recorded(const char *variable, const char *prefixes)
{
    size_t length;

    for (const char *prefix; (prefix = settings_list_next(&prefixes, &length)) != NULL;)
        if (strncmp(variable, prefix, length) == 0)
            return true;
    return false;
}

static int record_environment(struct run *run)
{
    size_t count = 0;
    struct strbuf value = STRBUF_INIT;
    int code = 0;

    for (char **variable = environ; *variable; variable++)
        count += is_recorded(*variable, run->options.environment_prefixes);
    struct run_variable *recorded = arena_alloc(&run->arena, (count + 1) * sizeof(*recorded));
    if (!recorded)
        return -ENOMEM;
    run->info.environment = recorded;
    for (char **variable = environ; *variable && code == 0; variable++) {
        const char *equals = strchr(*variable, '=');
        if (!equals || !is_recorded(*variable, run->options.environment_prefixes))
            continue;
        char *name = arena_strdup(&run->arena, *variable);
        strbuf_reset(&value);
        if (name) {
            name[equals - *variable] = '\0';
            secrets_mask_value(&value, name, equals + 1, run->options.mask_secrets);
        }
        char *masked = arena_strdup(&run->arena, strbuf_text(&value));
        if (!name || !masked || value.failed)
            code = -ENOMEM;
        else
            recorded[run->info.environment_count++] = (struct run_variable){name, masked};
    }
    strbuf_fini(&value);
    return code;
}

/* The name that belongs to our uid. Only /etc/passwd is asked: a network's directory of users may take
 * seconds. */
static const char *user_name(struct run *run)
{
    const char *name = NULL;
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd entry = {0}, *found = NULL;
    char text[1024];

    while (file && fgetpwent_r(file, &entry, text, sizeof(text), &found) == 0)
        if (entry.pw_uid == getuid()) {
            name = arena_strdup(&run->arena, entry.pw_name);
            break;
        }
    if (file)
        (void)fclose(file);
    if (!name)
        name = getenv("USER");
    return name;
}

static void describe_recorder(struct run *run)
{
    char text[PID_STAT_SIZE];
    struct pid_stat stat;
    ssize_t length = file_read(AT_FDCWD, "/proc/self/stat", text, sizeof(text));

    run->info.metron_pid = getpid();
    if (length > 0 && pid_stat_parse(text, (size_t)length, &stat) == 0)
        run->info.metron_start_ticks = stat.start_ticks;
}

static int describe_command(struct run *run)
{
    size_t count = 0;
    struct strbuf text = STRBUF_INIT;
    bool value_is_next = false;
    int code = -ENOMEM;

    while (run->options.argv[count])
        count++;
    const char **arguments = arena_alloc(&run->arena, (count + 1) * sizeof(*arguments));
    secrets_mask_argv(&text, run->options.argv, run->options.mask_secrets);
    if (!arguments || text.failed)
        goto out;
    run->info.command = arena_strdup(&run->arena, strbuf_text(&text));
    for (size_t i = 0; i < count; i++) {
        strbuf_reset(&text);
        secrets_mask_argument(&text, run->options.argv[i], strlen(run->options.argv[i]), &value_is_next,
                              run->options.mask_secrets);
        if (text.failed || !(arguments[i] = arena_strdup(&run->arena, strbuf_text(&text))))
            goto out;
    }
    run->info.arguments = arguments;
    code = run->info.command ? 0 : -ENOMEM;
out:
    strbuf_fini(&text);
    return code;
}

static int describe_run(struct run *run)
{
    const struct run_options *options = &run->options;
    struct run_info *info = &run->info;
    char *folder = getcwd(NULL, 0);

    *info = (struct run_info){
        .start_wall = clock_wall(),
        .metron_version = options->metron_version,
        .boot_id = options->context->facts->boot_id[0] ? options->context->facts->boot_id : NULL,
        .working_directory = folder ? arena_strdup(&run->arena, folder) : NULL,
        .message = options->message,
        .job = options->job,
        .config_hash = options->config_hash,
        .has_sheet = options->has_sheet,
        .sheet = options->sheet,
        .hostname = options->context->facts->hostname,
        .user = user_name(run),
        .uid = getuid(),
        .kernel = options->context->facts->release,
        .cpu_total = options->context->facts->online_cpus,
        .cpu_usable = options->context->facts->usable_cpus,
        .memory_total_bytes = options->context->facts->memory_bytes,
        .may_use = {.cpus = options->context->allowance->cpus,
                    .cpus_by = options->context->allowance->cpus_by,
                    .memory_bytes = options->context->allowance->memory_bytes,
                    .memory_by = options->context->allowance->memory_by,
                    .ancestors_hidden = options->context->allowance->ancestors_hidden},
        .prefix = run->folder.prefix,
        .stdout_path = run->folder.paths[RUN_STDOUT],
        .stderr_path = run->folder.paths[RUN_STDERR],
        .usage_path = run->folder.paths[RUN_USAGE],
        .events_path = run->folder.paths[RUN_EVENTS],
        .info_path = run->folder.paths[RUN_INFO],
        .sample_interval = options->sample_interval,
        .report_interval = options->report_interval,
        .mode = options->new_session ? "new-session" : "current-session",
        .wait = options->wait == RUN_WAIT_TREE ? "tree" : "root",
        .collectors = options->collectors,
        .collector_count = options->collector_count,
        .registry = options->registry,
    };
    free(folder);
    describe_recorder(run);
    int code = describe_command(run);
    return code < 0 ? code : record_environment(run);
}

static int open_folder(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;
    /* On a terminal of its own the command has one stream, kept in stdout. */
    bool wanted[RUN_FILE_COUNT] = {
        [RUN_STDOUT] = options->capture_stdout || (options->pty && options->capture_stderr),
        [RUN_STDERR] = options->capture_stderr && !options->pty,
        [RUN_USAGE] = options->record_samples,
        [RUN_EVENTS] = options->record_samples,
        [RUN_INFO] = options->record_summary,
    };
    struct prefix_values values = {.wall = clock_wall(),
                                   .pid = getpid(),
                                   .host = options->context->facts->hostname,
                                   .job = options->job};
    struct strbuf prefix = STRBUF_INIT;

    int code = run_folder_expand(options->prefix_pattern, &values, &prefix, error);
    if (code == 0)
        code = run_folder_open(&run->folder, strbuf_text(&prefix), wanted, options->clobber, error);
    strbuf_fini(&prefix);
    return code;
}

void run_warn_write(struct run *run, enum run_file which, int code)
{
    if (code == 0 || run->warned[which])
        return;
    run->warned[which] = true;
    log_warning("cannot write '%s': %s; the command goes on, the record is incomplete",
                run->folder.paths[which], strerror(-code));
}

static void on_event(void *context, const struct event *event)
{
    struct run *run = context;
    run_warn_write(run, RUN_EVENTS, run_folder_add_event(&run->folder, event));
}

static void on_end(void *context, const struct process *process)
{
    struct run *run = context;
    if (run->sampler)
        sampler_end_process(run->sampler, process->subject.serial);
}

static const char *why_no_kernel_events(const struct run *run)
{
    const struct kernel_events *events = run->options.events;

    if (events->why_no_bpf.code)
        return events->why_no_bpf.message;
    return run->phase == RUN_DRAINING ? "it ended before they were in force"
                                      : "not yet, they come into force a second after the start";
}

static void describe_tier(struct run *run)
{
    const struct cgroup_target *cgroup = run->options.context->cgroup;
    const struct kernel_events *events = run->options.events;
    bool own = cgroup->scope == CGROUP_SCOPE_OWN;

    if (tree_method(run->tree) == TREE_BPF) {
        run->info.tier = "kernel events";
        run->info.tier_reason = events->from_start ? NULL : "not from the start: --events bpf waits for them";
        return;
    }
    run->info.tier = own ? "own cgroup" : "plain";
    run->info.tier_reason = own ? arena_printf(&run->arena, "no kernel events: %s", why_no_kernel_events(run))
                                : cgroup->why_not_own;
}

void run_describe_method(struct run *run)
{
    static const char *const methods[] = {[TREE_BPF] = "bpf",
                                          [TREE_CONNECTOR] = "connector",
                                          [TREE_LISTINGS] = "listings",
                                          [TREE_SCAN] = "scan"};
    static const char *const scopes[] = {
        [CGROUP_SCOPE_NONE] = "none", [CGROUP_SCOPE_INHERITED] = "inherited", [CGROUP_SCOPE_OWN] = "own"};
    const struct cgroup_target *cgroup = run->options.context->cgroup;
    uint64_t one_by_one, in_one_go;

    describe_tier(run);
    run->info.cgroup_scope = scopes[cgroup->scope];
    run->info.cgroup_reason = cgroup->why_not_own;
    run->info.processes_seen_by = methods[tree_method(run->tree)];
    run->info.processes_seen_reason = tree_method_reason(run->tree);
    tree_passes(run->tree, &one_by_one, &in_one_go);
    run->info.processes_read_by = !in_one_go ? "procfs" : one_by_one ? "procfs, iterator" : "iterator";
    log_debug("tier %s%s%s", run->info.tier, run->info.tier_reason ? ": " : "",
              run->info.tier_reason ? run->info.tier_reason : "");
    log_debug("processes are seen by %s%s%s", run->info.processes_seen_by,
              run->info.processes_seen_reason ? ": " : "",
              run->info.processes_seen_reason ? run->info.processes_seen_reason : "");
}

static int start_measuring(struct run *run, struct metron_error *error)
{
    const struct run_options *options = &run->options;

    run->start_ns = clock_monotonic_ns();
    struct tree_options tree_options = {
        .proc_root = options->context->proc_root,
        .facts = options->context->facts,
        .kept_descriptors = run->kept_descriptors,
        .start_ns = run->start_ns,
        .reaps = options->new_session,
        .session = options->new_session ? 0 : getsid(0),
        .source = kernel_events_source(options->events),
        .why_no_source = options->events->why_no_connector.message,
        .read_clock = true,
        .read_io = registry_costs(options->registry, COST_IO),
        .read_commands = options->record_samples || options->record_summary,
        .mask_secrets = options->mask_secrets,
        .on_event = options->record_samples ? on_event : NULL,
        .on_end = on_end,
        .context = run,
    };
    run->tree = tree_new(&tree_options, error);
    if (!run->tree)
        return error ? error->code : -ENOMEM;
    tree_use_tasks(run->tree, options->events->programs);
    syscall_counts_set_tree(options->syscalls, run->tree);
    struct sampler_options sampler_options = {
        .registry = options->registry,
        .tree = run->tree,
        .context = options->context,
        .start_ns = run->start_ns,
        .usable_cores = options->context->facts->usable_cpus,
        .online_cores = options->context->facts->online_cpus,
    };
    run->sampler = sampler_new(&sampler_options, error);
    if (!run->sampler)
        return -ENOMEM;
    if (!options->new_session)
        tree_refresh(run->tree); /* the session as it stands: its past is not ours */
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
    run->tick_fd = -1;
    run->launched.pid = run->launched.stdout_fd = run->launched.stderr_fd = -1;
    for (size_t i = 0; i < RUN_FILE_COUNT; i++)
        run->folder.fds[i] = -1;
    (void)signal(SIGPIPE, SIG_IGN); /* whoever reads our messages may leave before we do */
    raise_descriptor_limit(run);
    int code = open_folder(run, error);
    if (code < 0)
        goto fail;
    code = make_environment(run);
    if (code == 0)
        code = describe_run(run);
    if (code < 0) {
        (void)error_set(error, code, "no memory for a run");
        goto fail;
    }
    code = start_measuring(run, error);
    if (code < 0)
        goto fail;
    /* From the start there is a whole info.json; a disk that cannot hold it is told before the command runs.
     */
    code = run_folder_write_info(&run->folder, &run->info);
    if (code < 0) {
        (void)error_set(error, code, "cannot write '%s': %s", run->folder.paths[RUN_INFO], strerror(-code));
        goto fail;
    }
    *out = run;
    return 0;
fail:
    run_folder_remove(&run->folder);
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
    record_fini(&run->record);
    record_fini(&run->summary);
    arena_fini(&run->arena);
    free(run->environment);
    free(run);
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

    info->exit_code = launch_failure_exit_code(code);
    info->cause =
        arena_printf(&run->arena, "could not be started: %s", error ? error->message : strerror(-code));
    info->end_wall = clock_wall();
    info->ended = true;
    run_warn_write(run, RUN_INFO, run_folder_write_info(&run->folder, info));
}

void run_settle_files(struct run *run, int code)
{
    const struct run_options *options = &run->options;
    bool failed = code < 0 || run->info.exit_code != 0;
    bool soon = options->fail_time < 0 || run->info.wall_seconds < options->fail_time;

    /* A command that was ended early on demand did not fail early, and what one needs that ran out of memory
     * is the question to come: their records are wanted. */
    bool wanted = options->fail_time > 0 && (run->ending || run->oom_struck);

    run->discarded = failed && soon && options->fail_time != 0 && !wanted;
    if (run->discarded)
        run_folder_remove(&run->folder);
}
