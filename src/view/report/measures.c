#include "view/report/measures.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"

/* There are some 450 system calls; a file may claim anything. */
#define TALLY_STATES_MAX 4096

struct report_mean {
    double weighted, seconds;
};

static void tally_fini(struct report_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        free(tally->items[i].name);
    free(tally->items);
    *tally = (struct report_tally){0};
}

static struct report_amount *tally_item(struct report_tally *tally, const struct json_text *name)
{
    for (size_t i = 0; i < tally->count; i++) {
        size_t at = (tally->next + i) % tally->count;
        if (json_text_is(name, tally->items[at].name)) {
            tally->next = at + 1;
            return &tally->items[at];
        }
    }
    if (tally->count == TALLY_STATES_MAX)
        return NULL;
    if (ARRAY_RESERVE(tally->items, tally->capacity, tally->count + 1) < 0)
        return NULL;
    struct report_amount *item = &tally->items[tally->count];
    *item = (struct report_amount){.name = strndup(name->bytes, name->length)};
    if (!item->name)
        return NULL;
    tally->next = ++tally->count;
    return item;
}

/* Adds `json` ({state: amount}). */
static void tally_add(struct report_tally *tally, const char *json)
{
    struct json_reader reader;
    struct json_text name;
    double amount;

    json_reader_init(&reader, json, strlen(json));
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &name)) {
            /* The name may be in the reader's scratch: it is taken in before the number is read. */
            struct report_amount *item = json_peek(&reader) == JSON_NUMBER ? tally_item(tally, &name) : NULL;
            if (item && json_read_number(&reader, &amount))
                item->amount += amount;
            else
                json_skip(&reader);
        }
    json_reader_fini(&reader);
}

double report_tally_amount(const struct report_tally *tally, const char *name)
{
    for (size_t i = 0; i < tally->count; i++)
        if (strcmp(tally->items[i].name, name) == 0)
            return tally->items[i].amount;
    return 0;
}

static int larger_first(const void *a, const void *b)
{
    const struct report_amount *left = a, *right = b;

    if (left->amount != right->amount)
        return left->amount > right->amount ? -1 : 1;
    return strcmp(left->name, right->name);
}

void report_tally_sort(struct report_tally *tally)
{
    if (tally->count)
        qsort(tally->items, tally->count, sizeof(*tally->items), larger_first);
}

static struct report_measure *measure_add(struct report_measures *measures, const char *name,
                                          const struct recorded_key *key, const char *statistic)
{
    if (ARRAY_RESERVE(measures->items, measures->capacity, measures->count + 1) < 0) {
        measures->failed = true;
        return NULL;
    }
    struct report_measure *measure = &measures->items[measures->count++];
    *measure = (struct report_measure){.name = name, .key = key, .statistic = statistic};
    return measure;
}

/* What the name of a summary key says: SOURCE_peak_…, SOURCE_ave_…, SOURCE_low_…. */
static const char *statistic_of(const char *name, const struct recorded_key *key)
{
    static const char *const statistics[] = {"peak", "ave", "low"};
    const size_t source = strlen(key->source) + 1;

    for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]) && strcmp(name, key->key) != 0; i++)
        if (strncmp(name + source, statistics[i], strlen(statistics[i])) == 0)
            return statistics[i];
    return key->statistic;
}

static void take_summary(struct report_measures *measures)
{
    const struct recording *recording = measures->recording;

    for (size_t i = 0; i < recording->field_count; i++) {
        const struct recorded_field *field = &recording->fields[i];
        if (field->source || (field->kind != FIELD_NUMBER && field->kind != FIELD_JSON))
            continue; /* an alias, or no measure */
        const struct recorded_key *key = recording_key_of_summary(recording, field->name);
        if (!key || key->scope != SCOPE_SINGLE)
            continue;
        if ((key->type == TYPE_CATEGORICAL) != (field->kind == FIELD_JSON))
            continue;
        struct report_measure *measure =
            measure_add(measures, field->name, key, statistic_of(field->name, key));
        if (!measure)
            return;
        measure->is_tally = field->kind == FIELD_JSON;
        measure->value = field->number;
        if (measure->is_tally)
            tally_add(&measure->tally, field->text);
    }
}

void report_measures_init(struct report_measures *measures, const struct recording *recording)
{
    *measures = (struct report_measures){.recording = recording};
    if (recording->kind != RECORDING_METRON)
        return; /* its few fields are shown under their own names */
    take_summary(measures);
    if (measures->count)
        return;
    measures->from_records = true;
    measures->means = calloc(recording->key_count + 1, sizeof(*measures->means));
    measures->totals = calloc(recording->key_count + 1, sizeof(*measures->totals));
    /* One for each key, in its place, until report_measures_end. */
    for (size_t i = 0; i < recording->key_count; i++)
        (void)measure_add(measures, recording->keys[i].key, &recording->keys[i], NULL);
    if (!measures->means || !measures->totals || measures->failed) {
        measures->failed = true;
        measures->count = 0;
    }
}

void report_measures_fini(struct report_measures *measures)
{
    for (size_t i = 0; i < measures->count; i++)
        tally_fini(&measures->items[i].tally);
    free(measures->items);
    free(measures->means);
    free(measures->totals);
    arena_fini(&measures->arena);
    *measures = (struct report_measures){0};
}

void report_measures_want(const struct report_measures *measures, bool *wanted)
{
    for (size_t i = 0; measures->from_records && i < measures->count; i++)
        if (measures->items[i].key->scope == SCOPE_SINGLE && measures->items[i].key->type != TYPE_LABEL)
            wanted[i] = true;
}

static void take_number(struct report_measures *measures, uint32_t key, double number, double seconds)
{
    struct report_measure *measure = &measures->items[key];
    struct report_mean *mean = &measures->means[key];

    recorded_total_take(&measures->totals[key], measure->key->reduce, number);
    mean->weighted += number * seconds;
    mean->seconds += seconds;
    if (!measure->key->statistic)
        measure->value = measures->totals[key].value;
    else
        measure->value = mean->seconds > 0 ? mean->weighted / mean->seconds : number;
}

void report_measures_add(struct report_measures *measures, const struct usage_record *record, double seconds)
{
    if (!measures->from_records)
        return;
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        if (value->key >= measures->count)
            continue;
        struct report_measure *measure = &measures->items[value->key];
        if (measure->key->scope != SCOPE_SINGLE)
            continue;
        if (value->kind == FIELD_NUMBER) {
            take_number(measures, value->key, value->number, value->span > 0 ? value->span : seconds);
        } else if (value->kind == FIELD_JSON) {
            measures->totals[value->key].seen = true;
            measure->is_tally = true;
            tally_add(&measure->tally, value->text);
        }
    }
}

void report_measures_end(struct report_measures *measures)
{
    size_t kept = 0;

    if (!measures->from_records)
        return;
    for (size_t i = 0; i < measures->count; i++) {
        if (!measures->totals[i].seen)
            continue;
        struct report_measure *measure = &measures->items[kept++];
        *measure = measures->items[i];
        measure->statistic = measure->key->statistic;
        if (measure->statistic)
            continue;
        measure->statistic = reduce_statistic(measure->key->reduce);
        const char *name = recorded_key_statistic(&measures->arena, measure->key, measure->statistic);
        measure->name = name ? name : measure->key->key;
        measures->failed |= !name;
    }
    measures->count = kept;
}

const struct report_measure *report_measure_find(const struct report_measures *measures, const char *name)
{
    for (size_t i = 0; i < measures->count; i++)
        if (strcmp(measures->items[i].name, name) == 0)
            return &measures->items[i];
    return NULL;
}

const struct report_measure *report_measure_of(const struct report_measures *measures, enum topic topic,
                                               const char *statistic)
{
    const struct report_measure *bound = NULL;

    for (size_t i = 0; i < measures->count; i++) {
        const struct report_measure *measure = &measures->items[i];
        bool same = statistic && measure->statistic ? strcmp(statistic, measure->statistic) == 0
                                                    : !statistic == !measure->statistic;
        if (!same || measure->is_tally || measure->key->topic != topic)
            continue;
        if (measure->key->bound == BOUND_NONE)
            return measure;
        bound = bound ? bound : measure;
    }
    return bound;
}

bool report_measure_in(const struct report_measure *measure, enum topic group, enum unit unit)
{
    bool is_mean = measure->statistic && strcmp(measure->statistic, "ave") == 0;

    return !measure->is_tally && !is_mean && measure->key->unit == unit &&
           topic_group(measure->key->topic) == group;
}
