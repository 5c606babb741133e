/* metron doctor: what can be measured on this machine, by which way, and what stands in the way of more. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/availability.h"
#include "cmd/commands.h"
#include "probe/companion.h"
#include "probe/connector.h"
#include "probe/gpu/readings.h"
#include "probe/kernel.h"
#include "probe/strace/program.h"
#include "view/doctor.h"
#include "view/wrap.h"

static const struct command_description description = {
    .name = "doctor",
    .summary = "say what works on this machine, and why the rest does not",
    .usage = "[OPTION...]",
    .description = "Looks at this machine as metron run would, changes nothing, and says for every source "
                   "and every way of "
                   "following processes whether it works for you here and, if not, why and what would help.",
    .examples = "  metron doctor\n"
                "  metron doctor --json\n",
    .command = COMMAND_DOCTOR,
};

enum { FINDINGS_MAX = 160, KEYS_NAMED = 3, DETAIL_COLUMN = 29, GPU_SECONDS = 5 };

struct report {
    struct doctor_finding findings[FINDINGS_MAX];
    size_t count;
    struct arena arena;
};

static void __attribute__((format(printf, 5, 6)))
add(struct report *report, const char *group, const char *name, enum doctor_verdict verdict,
    const char *format, ...)
{
    char text[512];
    va_list arguments;

    if (report->count == FINDINGS_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    const char *detail = arena_strdup(&report->arena, text);
    report->findings[report->count++] = (struct doctor_finding){
        .group = group, .name = name, .verdict = verdict, .detail = detail ? detail : ""};
}

static void look_at_machine(struct report *report, const struct kernel_facts *facts,
                            const struct allowance *allowance)
{
    char memory[UNIT_TEXT_SIZE];

    add(report, "machine", "kernel", DOCTOR_FACT, "Linux %s on %s", facts->release, facts->hostname);
    add(report, "machine", "CPUs", DOCTOR_FACT, "%g may be used (%s) of %u online", allowance->cpus,
        allowance->cpus_by, facts->online_cpus);
    add(report, "machine", "memory", DOCTOR_FACT, "%s",
        unit_human(UNIT_BYTES, (double)facts->memory_bytes, memory));
    add(report, "machine", "memory to use", DOCTOR_FACT, "%s (%s)%s",
        unit_human(UNIT_BYTES, (double)allowance->memory_bytes, memory), allowance->memory_by,
        allowance->ancestors_hidden ? "; groups above cannot be seen and may allow less" : "");
    add(report, "machine", "clock tick", DOCTOR_FACT,
        "%ld per second: rates are resolved to one tick per interval", facts->ticks_per_second);
}

static void look_at_processes(struct report *report, const struct kernel_facts *facts)
{
    struct metron_error error = {0};
    struct rlimit limit = {0};
    int fd = connector_open(&error);

    if (fd >= 0) {
        connector_close(fd);
        add(report, "processes", "process connector", DOCTOR_WORKS,
            "the kernel tells every fork, exec and exit: none is missed, however short");
    } else {
        add(report, "processes", "process connector", DOCTOR_FAILS,
            "%s; the CPU of processes that live between two samples is still counted, but they are not "
            "listed",
            error.message);
    }
    add(report, "processes", "children listings", facts->has_children_files ? DOCTOR_WORKS : DOCTOR_FAILS,
        facts->has_children_files
            ? "following a tree costs what the tree costs"
            : "the kernel lacks CONFIG_PROC_CHILDREN: without the connector all of /proc is scanned");
    add(report, "processes", "descriptor counts", DOCTOR_WORKS,
        facts->fd_count_in_size ? "in one call per process (Linux 6.2 and later)"
                                : "by listing each fd folder");
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    add(report, "processes", "open files", DOCTOR_FACT,
        "up to %llu: files of about %llu processes can be kept open", (unsigned long long)limit.rlim_max,
        (unsigned long long)(limit.rlim_max / 5));
}

/* The keys of a source that cannot be measured although others can: one line for each reason. */
static void look_at_absent(struct report *report, const struct availability *availability,
                           size_t source_index)
{
    const struct registry *registry = &availability->registry;

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *first = &registry->entries[i];
        struct strbuf keys = STRBUF_INIT;
        bool told = false;
        size_t count = 0;
        if (first->source_index != source_index || !first->reason)
            continue;
        for (size_t j = 0; j < registry->count; j++) {
            const struct registry_entry *entry = &registry->entries[j];
            if (entry->source_index != source_index || !entry->reason ||
                strcmp(entry->reason, first->reason) != 0)
                continue;
            told = told || j < i;
            if (count++ < KEYS_NAMED)
                strbuf_addf(&keys, "%s%s", keys.length ? ", " : "", entry->measurement->key);
        }
        if (count > KEYS_NAMED)
            strbuf_addf(&keys, " and %zu more", count - KEYS_NAMED);
        if (!told)
            add(report, "sources", availability->sources[source_index].name, DOCTOR_FAILS, "%s: %s",
                strbuf_text(&keys), first->reason);
        strbuf_fini(&keys);
    }
}

static void look_at_sources(struct report *report, const struct availability *availability)
{
    for (size_t i = 0; i < availability->registry.source_count; i++) {
        const char *reason = availability->sources[i].reason;
        add(report, "sources", availability->sources[i].name, reason ? DOCTOR_FAILS : DOCTOR_WORKS, "%s",
            reason ? reason : availability->registry.sources[i]->title);
        if (!reason)
            look_at_absent(report, availability, i);
    }
}

static void look_at_cgroups(struct report *report, const struct availability *availability)
{
    static const char *const names[CGROUP_CONTROLLER_COUNT] = {
        [CGROUP_UNIFIED] = "v2 hierarchy", [CGROUP_MEMORY] = "memory", [CGROUP_CPU] = "cpu",
        [CGROUP_CPUACCT] = "cpuacct",      [CGROUP_PIDS] = "pids",     [CGROUP_IO] = "io"};

    for (int i = 0; i < CGROUP_CONTROLLER_COUNT; i++) {
        const struct cgroup_spot *spot = &availability->cgroup.place.spots[i];
        if (spot->version)
            add(report, "control groups", names[i], DOCTOR_FACT, "v%d, in %s%s%s", spot->version, spot->path,
                spot->is_root ? ", the root group: the whole machine" : "",
                spot->ancestors_hidden ? "; groups above it cannot be seen" : "");
        else
            add(report, "control groups", names[i], DOCTOR_FACT, "%s", spot->reason);
    }
}

/* Loads our programs as a run would, and lets them go again. */
static void try_kernel_events(struct report *report)
{
    struct kernel_events events;
    struct metron_error error = {0};
    const struct kernel_events_options options = {.mode = EVENTS_BPF, .calls = true};
    uint64_t begin_ns = clock_monotonic_ns();

    if (kernel_events_open(&events, &options, &error) == 0)
        add(report, "tiers", "kernel events", DOCTOR_WORKS,
            "every spawn, exit, signal and OOM kill as it happens, what each process used, system calls; "
            "loaded in %.0f ms",
            (double)(clock_monotonic_ns() - begin_ns) / 1e6);
    else
        add(report, "tiers", "kernel events", DOCTOR_FAILS, "%s", events.why_no_bpf.message);
    kernel_events_close(&events);
}

/* How system calls would be counted. */
static void look_at_syscalls(struct report *report)
{
    struct metron_error error = {0};

    if (strace_available(&error) == 0)
        add(report, "processes", "strace", DOCTOR_WORKS,
            "metron trace; and system calls where kernel events cannot count them (slowly)");
    else
        add(report, "processes", "strace", DOCTOR_FAILS, "%s", error.message);
}

static void add_gpu(struct report *report, const struct gpu_device *device)
{
    char used[UNIT_TEXT_SIZE], total[UNIT_TEXT_SIZE];
    const char *name = arena_printf(&report->arena, "GPU %u", device->index);
    const char *lost = gpu_device_lost(device);
    struct strbuf text = STRBUF_INIT;

    if (lost)
        strbuf_addf(&text, "cannot be read: %s, ", lost);
    if (device->has[GPU_UTILIZATION])
        strbuf_addf(&text, "%.0f %% busy, ", 100 * device->values[GPU_UTILIZATION]);
    if (device->has[GPU_MEMORY_USED] && device->has[GPU_MEMORY_TOTAL])
        strbuf_addf(&text, "%s of %s used, ", unit_human(UNIT_BYTES, device->values[GPU_MEMORY_USED], used),
                    unit_human(UNIT_BYTES, device->values[GPU_MEMORY_TOTAL], total));
    if (device->has[GPU_TEMPERATURE])
        strbuf_addf(&text, "%.0f °C, ", device->values[GPU_TEMPERATURE]);
    if (device->has[GPU_POWER])
        strbuf_addf(&text, "%.0f W, ", device->values[GPU_POWER]);
    for (int field = 0; field < GPU_FIELD_COUNT && !lost; field++)
        if (device->why_not[field][0] && gpu_field_name((enum gpu_field)field))
            strbuf_addf(&text, "no %s (%s), ", gpu_field_name((enum gpu_field)field), device->why_not[field]);
    add(report, "GPUs", name ? name : "GPU", lost ? DOCTOR_FAILS : DOCTOR_WORKS, "%.*s",
        text.length > 2 ? (int)(text.length - 2) : 0, strbuf_text(&text));
    strbuf_fini(&text);
}

/* A reading of them; the driver may take its time to wake up, but not for ever. */
static void look_at_gpus(struct report *report, bool in_runs)
{
    struct gpu_readings *readings = NULL;
    const struct gpu_list *list = NULL;
    struct metron_error error = {0};
    uint64_t begin_ns;

    if (gpu_readings_new(&readings, true, GPU_FIELDS_ALL, &error) == 0) {
        gpu_readings_wait(readings, GPU_SECONDS);
        list = gpu_readings_take(readings, GPU_SECONDS, &begin_ns, &error);
    }
    if (list)
        add(report, "GPUs", "NVIDIA", DOCTOR_WORKS, "%zu, by %s; %s", list->count,
            gpu_readings_source(readings),
            in_runs ? "runs and the daemon read them" : "the daemon reads them");
    else
        add(report, "GPUs", "NVIDIA", DOCTOR_FAILS, "%s", error.message);
    for (size_t i = 0; list && i < list->count; i++)
        add_gpu(report, &list->devices[i]);
    gpu_readings_free(readings);
}

static void look_at_tiers(struct report *report, const struct cgroup_target *cgroup)
{
    add(report, "tiers", "plain", DOCTOR_WORKS, "/proc, wait4, sub-reaper: no privilege needed");
    if (cgroup->scope == CGROUP_SCOPE_OWN)
        add(report, "tiers", "own cgroup", DOCTOR_WORKS, "each run gets a group of its own%s%s",
            cgroup->reasons[CGROUP_MEMORY] ? "; but without memory: " : "",
            cgroup->reasons[CGROUP_MEMORY] ? cgroup->reasons[CGROUP_MEMORY] : "");
    else
        add(report, "tiers", "own cgroup", DOCTOR_FAILS, "%s", cgroup->why_not_own);
    try_kernel_events(report);
}

/* What is done with what was recorded needs nothing of the machine, but for programs beside metron. */
static void look_at_recordings(struct report *report)
{
    char path[PATH_MAX];

    if (companion_find("metron-plot", path) == 0)
        add(report, "recorded runs", "pictures", DOCTOR_WORKS, "metron plot -o FILE: svg, png, pdf (%s)",
            path);
    else
        add(report, "recorded runs", "pictures", DOCTOR_FAILS,
            "metron-plot is not installed beside metron (built without cairo); metron plot still draws on "
            "the terminal");
    if (companion_find("metron-history", path) == 0)
        add(report, "daemon's history", "export", DOCTOR_WORKS, "metron export --history FILE (%s)", path);
    else
        add(report, "daemon's history", "export", DOCTOR_FAILS,
            "metron-history is not installed beside metron (built without SQLite)");
}

static void look_at_settings(struct report *report, const struct settings *settings)
{
    for (int id = 0; id < SETTING_COUNT; id++)
        if (settings_origin(settings, (enum setting_id)id) > SETTING_ORIGIN_DEFAULT &&
            settings_origin(settings, (enum setting_id)id) < SETTING_ORIGIN_COMMAND_LINE)
            add(report, "settings", settings_table[id].name, DOCTOR_FACT, "%s (%s)",
                settings_text(settings, (enum setting_id)id),
                settings_origin_text(settings, (enum setting_id)id));
}

static int doctor_main(int argc, char **argv)
{
    struct settings settings;
    struct availability availability = {0};
    struct metron_error error = {0};
    struct report report = {0};
    struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT;
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    if (first < argc) {
        log_error("doctor: '%s' is no option, and doctor takes no operands; see 'metron doctor --help'",
                  argv[first]);
        exit_code = EXIT_WRONG_USAGE;
        goto out;
    }
    exit_code = EXIT_TROUBLE;
    const enum cgroup_mode mode = (enum cgroup_mode)settings_choice(&settings, SETTING_CGROUP);
    const struct availability_options looking = {
        .proc_root = "/proc",
        .cgroup_mode =
            mode == CGROUP_MODE_OWN ? CGROUP_MODE_AUTO : mode, /* what cannot be had is told, no error */
        .look_only = true,
        .tuning = {.smaps = settings_flag(&settings, SETTING_SMAPS)},
    };
    if (availability_init(&availability, &looking, &error) < 0) {
        log_error("%s", error.message);
        goto out;
    }
    look_at_machine(&report, &availability.facts, &availability.allowance);
    look_at_sources(&report, &availability);
    look_at_processes(&report, &availability.facts);
    look_at_syscalls(&report);
    look_at_gpus(&report, registry_find(&availability.registry, "gpu_util")->reason == NULL);
    look_at_cgroups(&report, &availability);
    look_at_tiers(&report, &availability.cgroup);
    look_at_recordings(&report);
    look_at_settings(&report, &settings);
    if (settings_flag(&settings, SETTING_JSON))
        doctor_json(&text, report.findings, report.count);
    else
        doctor_text(&text, report.findings, report.count, command_colors(&settings, STDOUT_FILENO));
    wrap_lines(&lines, strbuf_text(&text), DETAIL_COLUMN,
               settings_flag(&settings, SETTING_JSON) ? 0 : command_width(STDOUT_FILENO));
    exit_code = command_print(strbuf_text(&lines), lines.length);
out:
    strbuf_fini(&text);
    strbuf_fini(&lines);
    arena_fini(&report.arena);
    availability_fini(&availability);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_doctor = {&description, doctor_main};
