#include "cmd/availability.h"

#include <errno.h>
#include <string.h>

#include "collect/collectors.h"

static void survey_collectors(struct availability *availability)
{
    _Static_assert(AVAILABILITY_MAX >= 16, "room for every collector");
    for (size_t i = 0; i < collector_count && i < AVAILABILITY_MAX; i++) {
        const struct collector *collector = collectors[i];
        const char *reasons[64] = {0};
        if (collector->survey)
            collector->survey(&availability->context, reasons);
        registry_set_reasons(&availability->registry, i, reasons);
        availability->sources[i] = (struct run_collector){
            .name = collector->source.name,
            .interval = collector->interval ? collector->interval(availability->context.tuning) : 0,
            .reason = registry_source_reason(&availability->registry, i)};
        availability->opt_in[i] = collector->opt_in;
    }
}

/* Whom the kernel tells what, and who counts system calls. */
static int open_events(struct availability *availability, struct metron_error *error)
{
    const struct availability_options *options = &availability->options;
    const struct kernel_events_options events = {
        .mode = options->events,
        .calls = options->syscalls,
        .marked_calls = options->job_calls,
        .look_only = options->look_only,
        .of_running = options->attach != NULL || options->machine,
    };
    int code = kernel_events_open(&availability->events, &events, error);

    if (code < 0 || !options->syscalls)
        return code;
    availability->syscalls = syscall_counts_new(&availability->events, &availability->why_no_syscalls);
    return 0;
}

/* Why not everybody's end is told; NULL: it is, or may be. */
static const char *why_no_exit_totals(const struct availability *availability)
{
    if (availability->options.attach)
        return "processes ran already when metron attached";
    if (!availability->events.from_start)
        return "kernel events come into force after the start; --events bpf waits for them";
    return availability->options.session ? "processes of the session were there before" : NULL;
}

/* Of what runs already the limits are its own, not metron's. */
static int find_place(struct availability *availability, struct cgroup_place *place)
{
    struct availability_options *options = &availability->options;
    const struct attach_target *attach = options->attach;
    pid_t first = attach ? attach->processes[0].pid : 0;

    for (size_t i = 0; attach && i < attach->count; i++) {
        unsigned cpus = kernel_usable_cpus(attach->processes[i].pid);
        if (i == 0 || cpus > availability->facts.usable_cpus)
            availability->facts.usable_cpus = cpus;
        if (i > 0 && options->cgroup_mode == CGROUP_MODE_RUNNING &&
            !running_share_groups(options->proc_root, first, attach->processes[i].pid))
            options->cgroup_mode = CGROUP_MODE_SEVERAL;
    }
    return cgroup_place_find(options->proc_root, "", first, place);
}

int availability_init(struct availability *availability, const struct availability_options *options,
                      struct metron_error *error)
{
    struct cgroup_place place = {0};

    *availability = (struct availability){.options = *options};
    int code = kernel_facts_read(options->proc_root, &availability->facts);
    if (code < 0)
        return error_set(error, -EIO, "%s cannot be read: %s; is it mounted?", options->proc_root,
                         strerror(-code));
    code = registry_init(&availability->registry, collector_sources(), collector_count, error);
    if (code < 0)
        return code;
    if (find_place(availability, &place) < 0)
        return error_set(error, -ENOMEM, "no memory to look at control groups");
    allowance_find(&place, &availability->facts, &availability->allowance);
    code = cgroup_target_open(&availability->cgroup, &place, availability->options.cgroup_mode,
                              options->look_only, error);
    if (code < 0)
        return code;
    code = open_events(availability, error);
    if (code < 0)
        return code;
    availability->context = (struct collect_context){
        .proc_root = options->proc_root,
        .facts = &availability->facts,
        .tuning = &availability->options.tuning,
        .cgroup = &availability->cgroup,
        .allowance = &availability->allowance,
        .syscalls = syscall_counts_source(availability->syscalls),
        .why_no_events =
            availability->events.why_no_bpf.code ? availability->events.why_no_bpf.message : NULL,
        .why_no_exit_totals = why_no_exit_totals(availability),
        .why_no_reaping = options->attach ? "processes that ran already are not metron's to wait for" : NULL,
    };
    survey_collectors(availability);
    return 0;
}

void availability_fini(struct availability *availability)
{
    syscall_counts_free(availability->syscalls);
    kernel_events_close(&availability->events);
    registry_fini(&availability->registry);
    cgroup_target_close(&availability->cgroup);
}

int availability_select(struct availability *availability, const char *list, struct metron_error *error)
{
    struct registry *registry = &availability->registry;
    int code = registry_select(registry, list, availability->opt_in, error);

    /* What measuring costs belongs to every measurement. */
    for (size_t i = 0; code == 0 && i < registry->count; i++)
        if (topic_group(registry->entries[i].measurement->topic) == TOPIC_SELF &&
            !registry->entries[i].reason)
            registry->entries[i].selected = true;
    return code;
}
