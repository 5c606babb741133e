#include "schema/run_info.h"

#include "base/clock.h"
#include "schema/event.h"
#include "schema/syscall_summary.h"

static void json_key_wall(struct json *json, const char *key, struct timespec wall)
{
    char stamp[CLOCK_ISO_SIZE];
    json_key_string(json, key, clock_iso8601(wall, 6, stamp));
}

const char *stall_name(enum stall stall)
{
    static const char *const names[] = {"cpu", "memory", "io"};
    return names[stall];
}

static void bound_json(struct json *json, enum bound bound)
{
    json_key_string(json, "bound", bound == BOUND_NONE ? "exact" : bound_name(bound));
}

/* Where it was taken from, and what to know about it. */
static void answer_parts_json(struct json *json, const struct headline_answer *answer)
{
    json_key_string(json, "source", answer->source);
    bound_json(json, answer->note.bound);
    json_key_string(json, "note", answer->note.text);
}

static void answer_json(struct json *json, const char *key, const struct headline_answer *answer)
{
    if (!answer->has)
        return;
    json_key_object(json, key);
    json_key_number(json, "value", answer->value);
    answer_parts_json(json, answer);
    json_object_end(json);
}

static void system_json(struct json *json, const struct run_info *info)
{
    json_key_object(json, "system");
    json_key_string(json, "hostname", info->hostname);
    json_key_integer(json, "uid", info->uid);
    json_key_string(json, "user", info->user);
    json_key_string(json, "os", info->os);
    json_key_string(json, "kernel", info->kernel);
    json_key_string(json, "arch", info->architecture);
    json_key_string(json, "cpu_model", info->cpu_model);
    json_key_integer(json, "cpu_total", info->cpu_total);
    json_key_integer(json, "cpu_usable", info->cpu_usable);
    json_key_nonzero(json, "memory_total", (int64_t)info->memory_total_bytes);
    json_key_object(json, "may_use");
    json_key_number(json, "cpus", info->may_use.cpus);
    json_key_string(json, "cpus_by", info->may_use.cpus_by);
    json_key_nonzero(json, "memory", (int64_t)info->may_use.memory_bytes);
    json_key_string(json, "memory_by", info->may_use.memory_by);
    json_key_boolean(json, "ancestors_hidden", info->may_use.ancestors_hidden);
    json_object_end(json);
    json_object_end(json);

    json_key_object(json, "env");
    for (size_t i = 0; i < info->environment_count; i++)
        json_key_string(json, info->environment[i].name, info->environment[i].value);
    json_object_end(json);

    json_key_object(json, "output_paths");
    json_key_string(json, "prefix", info->prefix);
    json_key_string(json, "stdout", info->stdout_path);
    json_key_string(json, "stderr", info->stderr_path);
    json_key_string(json, "usage", info->usage_path);
    json_key_string(json, "events", info->events_path);
    json_key_string(json, "info", info->info_path);
    json_object_end(json);
}

void run_info_measurement_json(struct json *json, const struct source *source,
                               const struct measurement *measurement)
{
    json_key_object(json, measurement->key);
    json_key_string(json, "source", source->name);
    json_key_string(json, "field", source->fields[measurement->field]);
    json_key_string(json, "topic", topic_name(measurement->topic));
    json_key_string(json, "unit", unit_name(measurement->unit));
    bound_json(json, measurement->bound);
    json_key_string(json, "scope", scope_names[measurement->scope]);
    json_key_string(json, "type", type_names[measurement->type]);
    json_key_string(json, "reduce", reduce_names[measurement->reduce]);
    json_object_end(json);
}

static void measurements_json(struct json *json, const struct registry *registry)
{
    json_key_object(json, "measurements");
    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        if (entry->selected)
            run_info_measurement_json(json, entry->source, entry->measurement);
    }
    json_object_end(json);
}

/* The keys of a source that cannot be measured here, where others can. */
static void absent_json(struct json *json, const struct registry *registry, size_t source_index)
{
    bool any = false;

    for (size_t i = 0; i < registry->count; i++) {
        const struct registry_entry *entry = &registry->entries[i];
        if (entry->source_index != source_index || !entry->reason)
            continue;
        if (!any) {
            json_key_object(json, "absent");
        }
        any = true;
        json_key_string(json, entry->measurement->key, entry->reason);
    }
    if (any)
        json_object_end(json);
}

/* How the numbers were got: what was selected, what could not be read and why, what was in force. */
static void provenance_json(struct json *json, const struct run_info *info)
{
    json_key_object(json, "provenance");
    json_key_number(json, "sample_interval", info->sample_interval);
    json_key_number(json, "report_interval", info->report_interval);
    json_key_boolean(json, "sample_interval_auto", info->sample_interval_auto);
    json_key_boolean(json, "report_interval_auto", info->report_interval_auto);
    json_key_string(json, "mode", info->mode);
    json_key_string(json, "wait", info->wait);
    json_key_string(json, "tier", info->tier);
    json_key_string(json, "tier_reason", info->tier_reason);
    json_key_string(json, "cgroup_scope", info->cgroup_scope);
    json_key_string(json, "cgroup_reason", info->cgroup_reason);
    json_key_string(json, "processes_seen_by", info->processes_seen_by);
    json_key_string(json, "processes_seen_reason", info->processes_seen_reason);
    if (info->ended) { /* before, it is not known */
        json_key_string(json, "processes_read_by", info->processes_read_by);
        json_key_boolean(json, "cpu_is_conserved", info->cpu_is_conserved);
        if (info->has_io)
            json_key_boolean(json, "io_is_conserved", info->io_is_conserved);
        json_key_boolean(json, "spawned_is_exact", info->spawned_is_exact);
    }
    json_key_nonzero(json, "events_lost", (int64_t)info->events_lost);
    json_key_object(json, "collectors");
    for (size_t i = 0; i < info->collector_count; i++) {
        json_key_object(json, info->collectors[i].name);
        json_key_boolean(json, "available", info->collectors[i].reason == NULL);
        json_key_string(json, "reason", info->collectors[i].reason);
        if (!info->collectors[i].reason && info->collectors[i].interval > 0)
            json_key_number(json, "interval", info->collectors[i].interval);
        if (info->collectors[i].failures) {
            json_key_integer(json, "failed_passes", (int64_t)info->collectors[i].failures);
            json_key_string(json, "failure", info->collectors[i].failure);
        }
        if (!info->collectors[i].reason)
            absent_json(json, info->registry, i);
        json_object_end(json);
    }
    json_object_end(json);
    measurements_json(json, info->registry);
    json_object_end(json);
}

static void survivors_json(struct json *json, const struct run_info *info)
{
    if (!info->survivors_in_all)
        return;
    json_key_object(json, "survivors");
    json_key_integer(json, "count", (int64_t)info->survivors_in_all);
    json_key_array(json, "processes");
    for (size_t i = 0; i < info->survivor_count; i++) {
        json_object_begin(json);
        json_key_integer(json, "pid", info->survivors[i].pid);
        command_json(json, info->survivors[i].command, info->survivors[i].command_is_truncated);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void peak_json(struct json *json, const struct headline *headline)
{
    const struct headline_answer *peak = &headline->peak_memory_bytes;

    if (!peak->has)
        return;
    json_key_object(json, "peak_memory_bytes");
    json_key_number(json, "value", peak->value);
    answer_parts_json(json, peak);
    answer_json(json, "upper_bound", &headline->memory_upper_bound);
    json_object_end(json);
}

static void headline_json(struct json *json, const struct headline *headline)
{
    json_key_object(json, "headline");
    answer_json(json, "cpu_seconds", &headline->cpu_seconds);
    peak_json(json, headline);
    answer_json(json, "processes", &headline->processes);
    json_object_end(json);
}

/* The peak of memory by every method that was in force, side by side. */
static void memory_json(struct json *json, const struct headline *headline)
{
    json_key_array(json, "peak_memory");
    for (size_t i = 0; i < headline->memory_method_count; i++) {
        const struct headline_method *method = &headline->memory_methods[i];
        json_object_begin(json);
        json_key_string(json, "source", method->source);
        json_key_number(json, "value", method->value);
        bound_json(json, method->bound);
        json_key_string(json, "method", method->method);
        json_key_string(json, "bias", method->bias);
        json_object_end(json);
    }
    json_array_end(json);
}

/* The share of the wall time that was lost waiting. */
static void stalls_json(struct json *json, const struct headline *headline)
{
    json_key_object(json, "stall");
    for (int i = 0; i < STALL_COUNT; i++) {
        const struct headline_answer *stall = &headline->stalls[i];
        if (!stall->has)
            continue;
        json_key_object(json, stall_name((enum stall)i));
        json_key_number(json, "share", stall->value);
        json_key_string(json, "source", stall->source);
        json_key_string(json, "of", stall->of);
        json_key_string(json, "note", stall->note.text);
        json_object_end(json);
    }
    json_object_end(json);
}

static void syscalls_json(struct json *json, const struct run_info *info)
{
    const struct run_syscalls *syscalls = &info->syscalls;

    if (!syscalls->method && !syscalls->reason)
        return;
    json_key_object(json, "syscalls");
    json_key_string(json, "method", syscalls->method);
    json_key_string(json, "reason", syscalls->reason);
    json_key_nonzero(json, "lost", (int64_t)syscalls->lost);
    if (syscalls->note || syscalls->lost)
        bound_json(json, BOUND_LOWER);
    json_key_string(json, "note", syscalls->note);
    if (syscalls->method && info->summary)
        syscall_summary_json(json, info->summary);
    json_object_end(json);
}

static void ending_json(struct json *json, const struct run_info *info)
{
    json_key_object(json, "execution_summary");
    if (run_info_has_exit(info))
        json_key_integer(json, "exit_code", info->outcome.exit_code);
    json_key_nonzero(json, "signal", info->outcome.signal);
    json_key_string(json, "cause", info->cause);
    json_key_string(json, "command", info->command);
    json_key_string(json, "logs_prefix", info->prefix);
    json_key_number(json, "wall_clock_time", info->wall_seconds);
    json_key_wall(json, "start_time", info->start_wall);
    json_key_wall(json, "end_time", info->end_wall);
    json_key_integer(json, "num_samples", info->num_samples);
    json_key_integer(json, "num_reports", info->num_reports);
    json_key_string(json, "working_directory", info->working_directory);
    for (size_t i = 0; info->summary && i < info->summary->count; i++) {
        json_key(json, info->summary->entries[i].key);
        record_entry_json(json, &info->summary->entries[i]);
    }
    json_object_end(json);

    outcome_json(json, &info->outcome);
    headline_json(json, &info->headline);
    memory_json(json, &info->headline);
    stalls_json(json, &info->headline);
    syscalls_json(json, info);
    survivors_json(json, info);
}

static void attached_json(struct json *json, const struct run_info *info)
{
    const struct run_attached *attached = &info->attached;

    if (!attached->roots)
        return;
    json_key_object(json, "attached");
    json_key_array(json, "roots");
    for (size_t i = 0; i < attached->root_count; i++) {
        json_object_begin(json);
        json_key_integer(json, "pid", attached->roots[i].pid);
        json_key_string(json, "start_time", attached->roots[i].start_time);
        json_key_integer(json, "start_ticks", (int64_t)attached->roots[i].start_ticks);
        json_key_integer(json, "uid", attached->roots[i].uid);
        json_key_string(json, "command", attached->roots[i].command);
        json_key_string(json, "working_directory", attached->roots[i].working_directory);
        json_object_end(json);
    }
    json_array_end(json);
    json_key_boolean(json, "children", attached->children);
    if (attached->duration > 0)
        json_key_number(json, "duration", attached->duration);
    if (info->ended) {
        json_key_integer(json, "processes", (int64_t)attached->processes);
        json_key_string(json, "ended_by", attached->ended_by);
    }
    json_object_end(json);
}

void run_info_json(struct json *json, const struct run_info *info)
{
    json_object_begin(json);
    json_key_string(json, "schema_version", METRON_SCHEMA_VERSION);
    json_key_string(json, "metron_version", info->metron_version);
    json_key_string(json, "status", info->ended ? "ended" : "running");
    json_key_object(json, "recorder");
    json_key_integer(json, "pid", info->metron_pid);
    json_key_nonzero(json, "start_ticks", (int64_t)info->metron_start_ticks);
    json_key_string(json, "boot_id", info->boot_id);
    json_object_end(json);

    json_key_string(json, "command", info->command);
    if (info->arguments || !info->attached.roots) {
        json_key_array(json, "arguments");
        for (const char *const *argument = info->arguments; argument && *argument; argument++)
            json_string(json, *argument);
        json_array_end(json);
    }
    attached_json(json, info);
    json_key_string(json, "working_directory", info->working_directory);
    json_key_string(json, "message", info->message);
    json_key_string(json, "job", info->job);
    if (info->has_sheet)
        json_key_integer(json, "sheet", info->sheet);
    json_key_string(json, "config_hash", info->config_hash);
    json_key_wall(json, "start_time", info->start_wall);
    system_json(json, info);
    provenance_json(json, info);
    if (info->ended)
        ending_json(json, info);
    else if (info->headline.cpu_seconds.has || info->headline.peak_memory_bytes.has ||
             info->headline.processes.has)
        headline_json(json, &info->headline);
    json_object_end(json);
}
