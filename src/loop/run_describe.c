/*
 * What is known of a run beside its numbers, for info.json: whose it is, what was started or attached to,
 * what of the environment is recorded, and by which means it is measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "loop/run_state.h"
#include "probe/cgroup/target.h"
#include "probe/pid/stat.h"
#include "probe/user_name.h"
#include "schema/secrets.h"
#include "settings/settings.h"
#include "tree/tree.h"

/* Whether a variable's name begins with one of the listed prefixes. */
static bool is_recorded(const char *variable, const char *prefixes)
{
    size_t length;

    for (const char *prefix; (prefix = settings_list_next(&prefixes, &length)) != NULL;)
        if (strncmp(variable, prefix, length) == 0)
            return true;
    return false;
}

int run_describe_environment(struct run *run, char *const *variables)
{
    size_t count = 0;
    struct strbuf value = STRBUF_INIT;
    int code = 0;

    for (char *const *variable = variables; *variable; variable++)
        count += is_recorded(*variable, run->options.environment_prefixes);
    struct run_variable *recorded = arena_alloc(&run->arena, (count + 1) * sizeof(*recorded));
    if (!recorded)
        return -ENOMEM;
    run->info.environment = recorded;
    for (char *const *variable = variables; *variable && code == 0; variable++) {
        const char *equals = strchr(*variable, '=');
        if (!equals || !is_recorded(*variable, run->options.environment_prefixes))
            continue;
        char *name = arena_strdup(&run->arena, *variable);
        strbuf_reset(&value);
        if (name) {
            name[equals - *variable] = '\0';
            secrets_mask_value(&value, run->options.secrets, name, equals + 1);
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

static const char *user_name(struct run *run)
{
    char name[USER_NAME_SIZE];

    return user_name_find(getuid(), name) ? arena_strdup(&run->arena, name) : getenv("USER");
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

int run_describe_command(struct run *run, char *const *argv)
{
    size_t count = 0;
    struct strbuf text = STRBUF_INIT;
    struct secrets_state state = {0};
    int code = -ENOMEM;

    while (argv[count])
        count++;
    const char **arguments = arena_alloc(&run->arena, (count + 1) * sizeof(*arguments));
    secrets_mask_argv(&text, run->options.secrets, argv);
    if (!arguments || text.failed)
        goto out;
    run->info.command = arena_strdup(&run->arena, strbuf_text(&text));
    for (size_t i = 0; i < count; i++) {
        strbuf_reset(&text);
        secrets_mask_argument(&text, run->options.secrets, &state, argv[i], strlen(argv[i]));
        if (text.failed || !(arguments[i] = arena_strdup(&run->arena, strbuf_text(&text))))
            goto out;
    }
    run->info.arguments = arguments;
    code = run->info.command ? 0 : -ENOMEM;
out:
    strbuf_fini(&text);
    return code;
}

/* What is going to be started, here and as we are. */
static int describe_start(struct run *run)
{
    run->info.mode = run->options.new_session ? "new-session" : "current-session";
    run->info.wait = run->options.wait == RUN_WAIT_TREE ? "tree" : "root";
    int code = run_describe_command(run, run->options.argv);
    return code < 0 ? code : run_describe_environment(run, environ);
}

static const char *known(const char *fact)
{
    return fact[0] ? fact : NULL;
}

int run_describe(struct run *run)
{
    const struct run_options *options = &run->options;
    const struct kernel_facts *facts = options->context->facts;
    struct run_info *info = &run->info;

    *info = (struct run_info){
        .start_wall = clock_wall(),
        .metron_version = options->metron_version,
        .boot_id = known(facts->boot_id),
        .message = options->message,
        .job = options->job,
        .config_hash = options->config_hash,
        .has_sheet = options->has_sheet,
        .sheet = options->sheet,
        .hostname = facts->hostname,
        .user = user_name(run),
        .uid = getuid(),
        .os = known(facts->os_name),
        .kernel = facts->release,
        .architecture = known(facts->architecture),
        .cpu_model = known(facts->cpu_model),
        .cpu_total = facts->online_cpus,
        .cpu_usable = facts->usable_cpus,
        .memory_total_bytes = facts->memory_bytes,
        .may_use = {.cpus = options->context->allowance->cpus,
                    .cpus_by = options->context->allowance->cpus_by,
                    .memory_bytes = options->context->allowance->memory_bytes,
                    .memory_by = options->context->allowance->memory_by,
                    .ancestors_hidden = options->context->allowance->ancestors_hidden},
        .sample_interval = options->pace.sample_seconds,
        .report_interval = pace_report_interval(&run->pace, 0),
        .sample_interval_auto = options->pace.sample_auto,
        .report_interval_auto = options->pace.report_auto,
        .collectors = options->collectors,
        .collector_count = options->collector_count,
        .registry = options->registry,
    };
    char *folder = getcwd(NULL, 0);
    info->working_directory = folder ? arena_strdup(&run->arena, folder) : NULL;
    free(folder);
    describe_recorder(run);
    return options->attach ? attach_describe(run) : describe_start(run);
}

void run_describe_files(struct run *run)
{
    const struct run_folder *folder = &run->folder;

    run->info.prefix = folder->prefix;
    run->info.stdout_path = folder->paths[RUN_STDOUT];
    run->info.stderr_path = folder->paths[RUN_STDERR];
    run->info.usage_path = folder->paths[RUN_USAGE];
    run->info.events_path = folder->paths[RUN_EVENTS];
    run->info.info_path = folder->paths[RUN_INFO];
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
    static const char *const scopes[] = {
        [CGROUP_SCOPE_NONE] = "none", [CGROUP_SCOPE_INHERITED] = "inherited", [CGROUP_SCOPE_OWN] = "own"};
    const struct cgroup_target *cgroup = run->options.context->cgroup;
    uint64_t one_by_one, in_one_go;

    describe_tier(run);
    run->info.cgroup_scope = scopes[cgroup->scope];
    run->info.cgroup_reason = cgroup->why_not_own;
    run->info.processes_seen_by = tree_method_name(tree_method(run->tree));
    run->info.processes_seen_reason = tree_method_reason(run->tree);
    tree_passes(run->tree, &one_by_one, &in_one_go);
    run->info.processes_read_by = !in_one_go ? "procfs" : one_by_one ? "procfs, iterator" : "iterator";
    log_debug("tier %s%s%s", run->info.tier, run->info.tier_reason ? ": " : "",
              run->info.tier_reason ? run->info.tier_reason : "");
    log_debug("processes are seen by %s%s%s", run->info.processes_seen_by,
              run->info.processes_seen_reason ? ": " : "",
              run->info.processes_seen_reason ? run->info.processes_seen_reason : "");
}
