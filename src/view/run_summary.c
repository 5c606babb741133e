#include "view/run_summary.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "schema/syscall_summary.h"
#include "view/format.h"

#define LABEL_WIDTH 10

static void add_label(struct strbuf *out, const char *label)
{
    strbuf_addf(out, "  %-*s", LABEL_WIDTH, label);
}

static void add_outcome(struct strbuf *out, const struct run_info *info, bool colors)
{
    const char *color = info->exit_code == 0 ? "\033[32m" : "\033[31m";
    char wall[UNIT_TEXT_SIZE];

    strbuf_addf(out, "metron: %s%s%s, wall time %s", colors ? color : "",
                info->cause ? info->cause : "did not start", colors ? "\033[0m" : "",
                unit_human(UNIT_SECONDS, info->wall_seconds, wall));
    strbuf_addc(out, '\n');
}

static void add_cpu(struct strbuf *out, const struct run_info *info)
{
    const struct headline_answer *cpu = &info->headline.cpu_seconds;
    char text[UNIT_TEXT_SIZE];

    if (!cpu->has)
        return;
    add_label(out, "cpu");
    strbuf_adds(out, unit_human(UNIT_SECONDS, cpu->value, text));
    if (info->wall_seconds > 0)
        strbuf_addf(out, ", %s of one core",
                    unit_human(UNIT_PERCENT, 100 * cpu->value / info->wall_seconds, text));
    if (info->wall_seconds > 0 && info->may_use.cpus > 0 && info->may_use.cpus != 1)
        strbuf_addf(
            out, ", %s of the %.4g it may use",
            unit_human(UNIT_PERCENT, 100 * cpu->value / info->wall_seconds / info->may_use.cpus, text),
            info->may_use.cpus);
    strbuf_addf(out, " (%s%s%s)\n", cpu->source, cpu->note ? "; " : "", cpu->note ? cpu->note : "");
}

static void add_memory(struct strbuf *out, const struct run_info *info)
{
    static const double worth_telling = 0.01;
    const struct headline_answer *memory = &info->headline.peak_memory_bytes;
    char text[UNIT_TEXT_SIZE];

    if (!memory->has)
        return;
    add_label(out, "memory");
    strbuf_addf(out, "peak %s", unit_human(UNIT_BYTES, memory->value, text));
    double share = info->may_use.memory_bytes ? memory->value / (double)info->may_use.memory_bytes : 0;
    if (share >= worth_telling) {
        if (share < 0.995)
            strbuf_addf(out, ", %s of", unit_human(UNIT_PERCENT, 100 * share, text));
        else
            strbuf_adds(
                out, ", all of"); /* the charge stops at the limit; what others are charged with does not */
        strbuf_addf(out, " the %s it may use",
                    unit_human(UNIT_BYTES, (double)info->may_use.memory_bytes, text));
    }
    strbuf_addf(out, " (%s%s%s)\n", memory->source, memory->note ? "; " : "",
                memory->note ? memory->note : "");
    if (info->headline.memory_upper_bound.has) {
        add_label(out, "");
        strbuf_addf(out, "charged up to %s, page cache included (%s)\n",
                    unit_human(UNIT_BYTES, info->headline.memory_upper_bound.value, text),
                    info->headline.memory_upper_bound.source);
    }
}

static void add_processes(struct strbuf *out, const struct run_info *info)
{
    const struct headline_answer *processes = &info->headline.processes;
    double at_once;
    char text[UNIT_TEXT_SIZE];

    if (!processes->has)
        return;
    add_label(out, "processes");
    strbuf_addf(out, "%s%s", info->spawned_is_exact ? "" : "at least ",
                unit_human(UNIT_COUNT, processes->value, text));
    if (info->summary && record_number(info->summary, "proc_peak_processes", &at_once))
        strbuf_addf(out, ", up to %s in a sample", unit_human(UNIT_COUNT, at_once, text));
    strbuf_addf(out, " (%s)\n", processes->source);
}

static void add_io(struct strbuf *out, const struct run_info *info)
{
    static const char *const keys[][2] = {{"io_read_bytes_total", "io_write_bytes_total"},
                                          {"rusage_in_bytes", "rusage_out_bytes"}};
    double in, written;
    char text[UNIT_TEXT_SIZE];

    for (size_t i = 0; info->summary && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (!record_number(info->summary, keys[i][0], &in) ||
            !record_number(info->summary, keys[i][1], &written))
            continue;
        add_label(out, "storage");
        strbuf_addf(out, "%s read", unit_human(UNIT_BYTES, in, text));
        strbuf_addf(out, ", %s written (%s, %s)\n", unit_human(UNIT_BYTES, written, text), keys[i][0],
                    keys[i][1]);
        return;
    }
}

/* How many, and where their time went. That they could not be counted is a warning, and was given. */
static void add_syscalls(struct strbuf *out, const struct run_info *info)
{
    const struct run_syscalls *syscalls = &info->syscalls;
    struct syscall_sums sums = {-1, -1, -1};
    const char *name = NULL;
    double share = 0;
    char text[UNIT_TEXT_SIZE];

    if (!syscalls->method || !info->summary || !syscall_sums(info->summary, &sums))
        return;
    add_label(out, "syscalls");
    if (sums.count >= 0)
        strbuf_addf(out, "%s call%s", unit_human(UNIT_COUNT, sums.count, text), sums.count == 1 ? "" : "s");
    if (sums.errors >= 0)
        strbuf_addf(out, "%s%s error%s", sums.count >= 0 ? ", " : "",
                    unit_human(UNIT_COUNT, sums.errors, text), sums.errors == 1 ? "" : "s");
    if (syscall_hotspot(info->summary, &name, &share))
        strbuf_addf(out, "%smost of their time in %s (%.0f %%)",
                    sums.count >= 0 || sums.errors >= 0 ? "; " : "", name, 100 * share);
    if (syscalls->lost)
        strbuf_addf(out, "; %s lost", unit_human(UNIT_COUNT, (double)syscalls->lost, text));
    strbuf_addf(out, " (by %s)\n", syscalls->method);
}

/* The share of the wall time lost to waiting, if there was any to speak of. */
static void add_stalls(struct strbuf *out, const struct run_info *info)
{
    static const double worth_telling = 0.005;
    static const char *const resources[] = {"CPU", "memory", "I/O"};
    const struct headline_answer *stalls = info->headline.stalls;
    char text[UNIT_TEXT_SIZE];
    const struct headline_answer *first = NULL;

    for (int i = 0; i < STALL_COUNT; i++) {
        if (!stalls[i].has || stalls[i].value < worth_telling)
            continue;
        if (first)
            strbuf_adds(out, ", ");
        else
            add_label(out, "stalled");
        first = first ? first : &stalls[i];
        strbuf_addf(out, "%s of the time for %s", unit_human(UNIT_PERCENT, 100 * stalls[i].value, text),
                    resources[i]);
    }
    if (first)
        strbuf_addf(out, " (%s%s%s)\n",
                    strncmp(first->source, "cgroup_", 7) == 0 ? "cgroup_ave_psi_*_some_pct"
                                                              : "psi_ave_*_some_pct",
                    first->note ? "; " : "", first->note ? first->note : "");
}

static void add_own_cost(struct strbuf *out, const struct run_info *info)
{
    double cpu, rss, missed;
    char text[UNIT_TEXT_SIZE];

    if (!info->summary || !record_number(info->summary, "self_cpu_seconds", &cpu))
        return;
    add_label(out, "metron");
    strbuf_addf(out, "%s CPU", unit_human(UNIT_SECONDS, cpu, text));
    if (info->wall_seconds > 0)
        strbuf_addf(out, " (%s)", unit_human(UNIT_PERCENT, 100 * cpu / info->wall_seconds, text));
    if (record_number(info->summary, "self_peak_rss", &rss))
        strbuf_addf(out, ", %s", unit_human(UNIT_BYTES, rss, text));
    strbuf_addf(out, ", %u sample%s", info->num_samples, info->num_samples == 1 ? "" : "s");
    if (record_number(info->summary, "self_missed_ticks", &missed) && missed > 0)
        strbuf_addf(out, ", %s missed", unit_human(UNIT_COUNT, missed, text));
    strbuf_addc(out, '\n');
}

static void add_survivors(struct strbuf *out, const struct run_info *info)
{
    if (!info->survivors_in_all)
        return;
    add_label(out, "outlived");
    strbuf_addf(out, "by %zu process%s:", info->survivors_in_all, info->survivors_in_all == 1 ? "" : "es");
    for (size_t i = 0; i < info->survivor_count; i++) {
        const char *command = info->survivors[i].command;
        strbuf_addf(out, "%s %d ", i ? "," : "", (int)info->survivors[i].pid);
        if (command)
            text_printable(out, command, strnlen(command, 40));
        if (command && strlen(command) > 40)
            strbuf_adds(out, "…");
    }
    if (info->survivor_count < info->survivors_in_all)
        strbuf_adds(out, ", …");
    strbuf_addc(out, '\n');
}

void run_summary_write(struct strbuf *out, const struct run_info *info, bool discarded, bool colors)
{
    add_outcome(out, info, colors);
    add_cpu(out, info);
    add_memory(out, info);
    add_processes(out, info);
    add_io(out, info);
    add_stalls(out, info);
    add_syscalls(out, info);
    add_own_cost(out, info);
    add_survivors(out, info);
    add_label(out, "record");
    if (discarded) {
        strbuf_adds(out, "removed, because the command failed so soon (--fail-time 0 keeps it)");
    } else {
        text_printable(out, info->prefix, strlen(info->prefix));
        strbuf_adds(out, "*");
    }
    strbuf_addc(out, '\n');
}

/* A field of the run that is not a measurement. */
struct run_field {
    const char *name;
    struct format_value (*get)(const struct run_info *info);
};

static struct format_value number(double value)
{
    return (struct format_value){.kind = FORMAT_NUMBER, .number = value};
}

static struct format_value text(const char *value)
{
    return value ? (struct format_value){.kind = FORMAT_TEXT, .text = value}
                 : (struct format_value){.kind = FORMAT_ABSENT};
}

static struct format_value answer(const struct headline_answer *answer)
{
    return answer->has ? number(answer->value) : (struct format_value){.kind = FORMAT_ABSENT};
}

static struct format_value wall(struct timespec time)
{
    static char stamp[CLOCK_ISO_SIZE]; /* used before the next call: one value is rendered at a time */
    return text(clock_iso8601(time, 6, stamp));
}

#define FIELD(NAME, VALUE)                                                                                   \
    static struct format_value get_##NAME(const struct run_info *info) {                                     \
        return VALUE;                                                                                        \
    }

FIELD(exit_code, number(info->exit_code))
FIELD(signal, info->signal ? number(info->signal) : (struct format_value){.kind = FORMAT_ABSENT})
FIELD(cause, text(info->cause))
FIELD(command, text(info->command))
FIELD(logs_prefix, text(info->prefix))
FIELD(wall_clock_time, number(info->wall_seconds))
FIELD(start_time, wall(info->start_wall))
FIELD(end_time, wall(info->end_wall))
FIELD(num_samples, number(info->num_samples))
FIELD(num_reports, number(info->num_reports))
FIELD(working_directory, text(info->working_directory))
FIELD(message, text(info->message))
FIELD(job, text(info->job))
FIELD(hostname, text(info->hostname))
FIELD(user, text(info->user))
FIELD(cpu_seconds, answer(&info->headline.cpu_seconds))
FIELD(peak_memory_bytes, answer(&info->headline.peak_memory_bytes))
FIELD(peak_memory_source, text(info->headline.peak_memory_bytes.source))
FIELD(processes, answer(&info->headline.processes))
FIELD(survivors, number((double)info->survivors_in_all))

#define ROW(NAME)                                                                                            \
    {                                                                                                        \
#NAME, get_##NAME                                                                                    \
    }

static const struct run_field run_fields[] = {
    ROW(exit_code),   ROW(signal),
    ROW(cause),       ROW(command),
    ROW(logs_prefix), ROW(wall_clock_time),
    ROW(start_time),  ROW(end_time),
    ROW(num_samples), ROW(num_reports),
    ROW(message),     ROW(working_directory),
    ROW(job),         ROW(hostname),
    ROW(user),        ROW(cpu_seconds),
    ROW(processes),   ROW(peak_memory_bytes),
    ROW(survivors),   ROW(peak_memory_source),
};

#define RUN_FIELD_COUNT (sizeof(run_fields) / sizeof(run_fields[0]))

/* Walks the keys of a format: the run's own fields, then what every measurement may be called in a summary.
 */
struct key_walk {
    const struct registry *registry;
    char key[MEASUREMENT_KEY_SIZE];
};

static const char *known_key(void *context, size_t index)
{
    struct key_walk *walk = context;

    if (index < RUN_FIELD_COUNT)
        return run_fields[index].name;
    index -= RUN_FIELD_COUNT;
    for (size_t i = 0; i < walk->registry->count; i++) {
        const struct registry_entry *entry = &walk->registry->entries[i];
        const struct measurement *m = entry->measurement;
        if (m->scope != SCOPE_SINGLE || m->type == TYPE_LABEL || m->type == TYPE_CATEGORICAL)
            continue;
        size_t names = m->reduce == REDUCE_MAX ? 2 : 1;
        if (index >= names) {
            index -= names;
            continue;
        }
        if (m->reduce == REDUCE_MAX)
            return measurement_statistic_key(entry->source, m, index == 0 ? "peak" : "ave", walk->key);
        return m->reduce == REDUCE_MIN ? measurement_statistic_key(entry->source, m, "low", walk->key)
                                       : m->key;
    }
    return NULL;
}

int run_summary_check(const char *format, const struct registry *registry, struct metron_error *error)
{
    struct key_walk walk = {.registry = registry};
    return format_check(format, known_key, &walk, error);
}

static bool look_up(void *context, const char *key, struct format_value *out)
{
    const struct run_info *info = context;

    *out = (struct format_value){.kind = FORMAT_ABSENT};
    for (size_t i = 0; i < RUN_FIELD_COUNT; i++)
        if (strcmp(run_fields[i].name, key) == 0) {
            *out = run_fields[i].get(info);
            return true;
        }
    if (info->summary && record_number(info->summary, key, &out->number))
        out->kind = FORMAT_NUMBER;
    return true;
}

void run_summary_format(struct strbuf *out, const char *format, const struct run_info *info, bool colors)
{
    if (!format[0])
        return;
    union {
        const struct run_info *info;
        void *context;
    } given = {.info = info};
    (void)format_render(out, format, look_up, given.context, colors);
    strbuf_addc(out, '\n');
}
