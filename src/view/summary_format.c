#include "view/summary_format.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "view/format.h"

enum field_kind_of_info {
    IS_EXIT_CODE,
    IS_SIGNAL,
    IS_UNSIGNED,
    IS_SIZE,
    IS_REAL,
    IS_TEXT,
    IS_TIME,
    IS_ANSWER
};

/* What is no measurement: by its name in info.json, and where it is in struct run_info. */
static const struct run_field {
    const char *name;
    enum field_kind_of_info kind;
    size_t offset;
} run_fields[] = {
    {"exit_code", IS_EXIT_CODE, offsetof(struct run_info, outcome.exit_code)},
    {"signal", IS_SIGNAL, offsetof(struct run_info, outcome.signal)},
    {"cause", IS_TEXT, offsetof(struct run_info, cause)},
    {"command", IS_TEXT, offsetof(struct run_info, command)},
    {"logs_prefix", IS_TEXT, offsetof(struct run_info, prefix)},
    {"wall_clock_time", IS_REAL, offsetof(struct run_info, wall_seconds)},
    {"start_time", IS_TIME, offsetof(struct run_info, start_wall)},
    {"end_time", IS_TIME, offsetof(struct run_info, end_wall)},
    {"num_samples", IS_UNSIGNED, offsetof(struct run_info, num_samples)},
    {"num_reports", IS_UNSIGNED, offsetof(struct run_info, num_reports)},
    {"message", IS_TEXT, offsetof(struct run_info, message)},
    {"working_directory", IS_TEXT, offsetof(struct run_info, working_directory)},
    {"job", IS_TEXT, offsetof(struct run_info, job)},
    {"hostname", IS_TEXT, offsetof(struct run_info, hostname)},
    {"user", IS_TEXT, offsetof(struct run_info, user)},
    {"cpu_seconds", IS_ANSWER, offsetof(struct run_info, headline.cpu_seconds)},
    {"processes", IS_ANSWER, offsetof(struct run_info, headline.processes)},
    {"peak_memory_bytes", IS_ANSWER, offsetof(struct run_info, headline.peak_memory_bytes)},
    {"peak_memory_source", IS_TEXT, offsetof(struct run_info, headline.peak_memory_bytes.source)},
    {"survivors", IS_SIZE, offsetof(struct run_info, survivors_in_all)},
};

#define RUN_FIELD_COUNT (sizeof(run_fields) / sizeof(run_fields[0]))

/* What con-duct calls the sums over processes. Its pcpu is an average over the life of each process, for
 * which there is no key here: the nearest is the rate. */
static const struct {
    const char *name, *key;
} duct_names[] = {
    {"peak_rss", "proc_peak_rss_total"},    {"average_rss", "proc_ave_rss_total"},
    {"peak_vsz", "proc_peak_vsz_total"},    {"average_vsz", "proc_ave_vsz_total"},
    {"peak_pmem", "proc_peak_pmem_total"},  {"average_pmem", "proc_ave_pmem_total"},
    {"peak_pcpu", "proc_peak_pdcpu_total"}, {"average_pcpu", "proc_ave_pdcpu_total"},
};

#define DUCT_NAME_COUNT (sizeof(duct_names) / sizeof(duct_names[0]))

static struct format_value number(double value)
{
    return (struct format_value){.kind = FORMAT_NUMBER, .number = value};
}

static struct format_value text(const char *value)
{
    return (struct format_value){.kind = value ? FORMAT_TEXT : FORMAT_ABSENT, .text = value};
}

static struct format_value value_of(const struct run_info *info, const struct run_field *field)
{
    static char stamp[CLOCK_ISO_SIZE]; /* used before the next call: one value is rendered at a time */
    const void *place = (const char *)info + field->offset;
    const struct headline_answer *answer = place;

    switch (field->kind) {
    case IS_SIGNAL: /* 0: none ended it */
        if (*(const int *)place == 0)
            return text(NULL);
        return number(*(const int *)place);
    case IS_EXIT_CODE: /* of what was attached to it may not be known */
        if (!run_info_has_exit(info))
            return text(NULL);
        return number(*(const int *)place);
    case IS_UNSIGNED:
        return number(*(const unsigned *)place);
    case IS_SIZE:
        return number((double)*(const size_t *)place);
    case IS_REAL:
        return number(*(const double *)place);
    case IS_TIME:
        return text(clock_iso8601(*(const struct timespec *)place, 6, stamp));
    case IS_ANSWER:
        return answer->has ? number(answer->value) : text(NULL);
    case IS_TEXT:
        break;
    }
    return text(*(const char *const *)place);
}

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
    if (index < DUCT_NAME_COUNT)
        return duct_names[index].name;
    index -= DUCT_NAME_COUNT;
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

int summary_format_check(const char *format, const struct registry *registry, struct metron_error *error)
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
            *out = value_of(info, &run_fields[i]);
            return true;
        }
    for (size_t i = 0; i < DUCT_NAME_COUNT; i++)
        if (strcmp(duct_names[i].name, key) == 0)
            key = duct_names[i].key;
    if (info->summary && record_number(info->summary, key, &out->number))
        out->kind = FORMAT_NUMBER;
    return true;
}

void summary_format_write(struct strbuf *out, const char *format, const struct run_info *info, bool colors)
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
