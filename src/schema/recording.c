#include "schema/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct recorded_alias recorded_aliases[ALIAS_COUNT] = {
    [ALIAS_WALL] = {"wall", UNIT_SECONDS, NULL},
    [ALIAS_CPU_SECONDS] = {"cpu_seconds", UNIT_SECONDS, "cpu_seconds"},
    [ALIAS_PEAK_MEMORY] = {"peak_memory", UNIT_BYTES, "peak_memory_bytes"},
    [ALIAS_PROCESSES] = {"processes", UNIT_COUNT, "processes"},
};

/* What follows `prefix` in `text`; NULL if it does not begin so. */
static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);

    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

const struct recorded_alias *recorded_alias_named(const char *name)
{
    for (size_t i = 0; i < ALIAS_COUNT; i++)
        if (strcmp(recorded_aliases[i].name, name) == 0)
            return &recorded_aliases[i];
    return NULL;
}

const char *recorded_alias_part(const char *name)
{
    static const char *const parts[] = {"source", "note", "bound"};

    for (size_t i = 0; i < ALIAS_COUNT; i++) {
        const char *rest = behind(name, recorded_aliases[i].name);

        for (size_t j = 0; rest && *rest == '_' && j < COUNT(parts); j++)
            if (strcmp(rest + 1, parts[j]) == 0)
                return parts[j];
    }
    return NULL;
}

const char *const recording_status_names[] = {"ended", "running", "lost", "unknown"};

void recording_fini(struct recording *recording)
{
    arena_fini(&recording->arena);
    *recording = (struct recording){0};
}

/* From the end: the aliases stand there. */
const struct recorded_field *recording_field(const struct recording *recording, const char *name)
{
    for (size_t i = recording->field_count; i-- > 0;)
        if (strcmp(recording->fields[i].name, name) == 0)
            return &recording->fields[i];
    return NULL;
}

bool recording_number(const struct recording *recording, const char *name, double *out)
{
    const struct recorded_field *field = recording_field(recording, name);

    if (!field || field->kind != FIELD_NUMBER)
        return false;
    *out = field->number;
    return true;
}

double recording_hold_seconds(const struct recording *recording, const struct recorded_key *key)
{
    char name[MEASUREMENT_KEY_SIZE + sizeof("provenance.collectors..interval")];
    double interval;

    if (key->type != TYPE_GAUGE)
        return 0;
    (void)snprintf(name, sizeof(name), "provenance.collectors.%s.interval", key->source);
    return recording_number(recording, name, &interval) ? 2 * interval : 0;
}

const char *recording_text(const struct recording *recording, const char *name)
{
    const struct recorded_field *field = recording_field(recording, name);

    return field && field->kind == FIELD_TEXT ? field->text : NULL;
}

const char *recording_cause(const struct recording *recording)
{
    const char *cause = recording_text(recording, "cause");
    const char *ended_by = recording_text(recording, "attached.ended_by");

    if (cause || !ended_by)
        return cause;
    return strcmp(ended_by, "target") == 0 ? "attached to what ran already; it has ended"
                                           : "attached to what ran already; it goes on";
}

bool recording_met_oom_killer(const struct recording *recording)
{
    const char *victim = recording_text(recording, "outcome.oom_victim");
    double exit_code = 0;

    return victim && !(strcmp(victim, "group") == 0 && recording_number(recording, "exit_code", &exit_code) &&
                       exit_code == 0);
}

bool recording_met_limit(const struct recording *recording)
{
    const char *limit_of = recording_text(recording, "outcome.limit_of");

    return limit_of && strcmp(limit_of, "host") != 0;
}

bool recording_met_time_limit(const struct recording *recording)
{
    return recording_text(recording, "outcome.time_limit.source") != NULL;
}

bool recording_waits_are_its_own(const struct recording *recording)
{
    const char *of = recording_text(recording, "stall.cpu.of");

    return of && strcmp(of, "run") == 0;
}

ptrdiff_t recording_key_index(const struct recording *recording, const char *key)
{
    for (size_t i = 0; i < recording->key_count; i++)
        if (strcmp(recording->keys[i].key, key) == 0)
            return (ptrdiff_t)i;
    return -1;
}

/* What follows the statistic that stands behind the source: "_peak_rss_total" -> "_rss_total"; NULL: there
 * is none. */
static const char *behind_statistic(const char *rest)
{
    static const char *const statistics[] = {"_peak", "_ave", "_low"};
    const char *quantity = NULL;

    for (size_t i = 0; i < COUNT(statistics) && !quantity; i++)
        quantity = behind(rest, statistics[i]);
    return quantity;
}

/* Asked for every field of every run, so it looks at little: keys of one source follow each other, and most
 * begin with another letter. */
static const struct recorded_key *key_of_metron(const struct recording *recording, const char *summary_key)
{
    const char *source = NULL, *quantity = NULL;

    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];

        if (key->key[0] != summary_key[0] || key->statistic)
            continue; /* a mean is of the key before it */
        if (strcmp(key->key, summary_key) == 0)
            return key;
        if (key->source != source) {
            const char *rest = behind(summary_key, key->source);

            source = key->source;
            quantity = rest ? behind_statistic(rest) : NULL;
        }

        const char *own = quantity ? behind(key->key, source) : NULL;

        if (own && strcmp(own, quantity) == 0)
            return key;
    }
    return NULL;
}

/* con-duct: peak_rss and average_rss are the largest and the mean of totals.rss. */
static const struct recorded_key *key_of_duct(const struct recording *recording, const char *summary_key)
{
    const char *quantity = behind(summary_key, "peak_");

    if (!quantity)
        quantity = behind(summary_key, "average_");
    for (size_t i = 0; quantity && i < recording->key_count; i++) {
        const char *total = behind(recording->keys[i].key, "total_");

        if (total && strcmp(total, quantity) == 0)
            return &recording->keys[i];
    }
    return NULL;
}

const struct recorded_key *recording_key_of_summary(const struct recording *recording,
                                                    const char *summary_key)
{
    return recording->kind == RECORDING_DUCT ? key_of_duct(recording, summary_key)
                                             : key_of_metron(recording, summary_key);
}

void recorded_total_take(struct recorded_total *total, enum reduce how, double number)
{
    if (how == REDUCE_DELTA)
        total->value += number;
    else if (!total->seen || how == REDUCE_LAST || (how == REDUCE_MAX && number > total->value) ||
             (how == REDUCE_MIN && number < total->value))
        total->value = number;
    total->seen = true;
}

const char *recorded_key_statistic(struct arena *arena, const struct recorded_key *key, const char *statistic)
{
    const char *rest = statistic ? behind(key->key, key->source) : NULL;

    return rest && *rest == '_' ? arena_printf(arena, "%s_%s%s", key->source, statistic, rest) : key->key;
}

bool recording_topic_number(const struct recording *recording, enum topic topic, double *out)
{
    for (size_t i = 0; i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        const struct recorded_key *key =
            field->kind == FIELD_NUMBER ? recording_key_of_summary(recording, field->name) : NULL;
        if (key && key->topic == topic) {
            *out = field->number;
            return true;
        }
    }
    return false;
}

char *recording_id_text(uint64_t id, char out[RECORDING_ID_SIZE])
{
    (void)snprintf(out, RECORDING_ID_SIZE, "%0*" PRIx64, RECORDING_ID_DIGITS, id);
    return out;
}
