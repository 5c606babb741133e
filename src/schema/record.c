#include "schema/record.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

void record_fini(struct record *record)
{
    arena_fini(&record->arena);
    *record = (struct record){0};
}

const struct record_entry *record_find(const struct record *record, const char *key)
{
    for (size_t i = 0; i < record->count; i++)
        if (strcmp(record->entries[i].key, key) == 0)
            return &record->entries[i];
    return NULL;
}

bool record_number(const struct record *record, const char *key, double *out)
{
    const struct record_entry *entry = record_find(record, key);

    if (!entry || entry->measurement->scope != SCOPE_SINGLE || entry->measurement->type > TYPE_COUNTER)
        return false;
    *out = unit_edge(entry->measurement->unit, entry->values[0].number);
    return true;
}

/* Seconds come from clocks that count nanoseconds; digits below are what subtraction left. */
static double amount_shown(enum unit unit, double amount)
{
    static const double per_second = 1e9;

    return unit == UNIT_SECONDS ? round(amount * per_second) / per_second : unit_edge(unit, amount);
}

static void value_json(struct json *json, const struct measurement *measurement,
                       const struct record_value *value)
{
    switch (measurement->type) {
    case TYPE_GAUGE:
    case TYPE_COUNTER:
        json_number(json, unit_edge(measurement->unit, value->number));
        break;
    case TYPE_LABEL:
        json_string(json, value->text);
        break;
    case TYPE_CATEGORICAL:
        json_object_begin(json);
        for (size_t i = 0; i < value->tally.count; i++)
            json_key_number(json, value->tally.items[i].state,
                            amount_shown(measurement->unit, value->tally.items[i].count));
        json_object_end(json);
        break;
    }
}

void record_entry_json(struct json *json, const struct record_entry *entry)
{
    if (entry->measurement->scope == SCOPE_SINGLE) {
        value_json(json, entry->measurement, &entry->values[0]);
        return;
    }
    char name[SUBJECT_NAME_SIZE];
    json_object_begin(json);
    for (size_t i = 0; i < entry->count; i++) {
        json_key(json, subject_name(&entry->values[i].subject, name));
        value_json(json, entry->measurement, &entry->values[i]);
    }
    json_object_end(json);
}

void record_json(struct json *json, const struct record *record)
{
    char stamp[CLOCK_ISO_SIZE];

    json_object_begin(json);
    json_key_string(json, "timestamp", clock_iso8601(record->wall, 6, stamp));
    json_key_number(json, "elapsed", record->elapsed_seconds);
    json_key_integer(json, "num_samples", record->num_samples);
    json_key_object(json, "measurements");
    for (size_t i = 0; i < record->count; i++) {
        json_key(json, record->entries[i].key);
        record_entry_json(json, &record->entries[i]);
    }
    json_object_end(json);
    json_object_end(json);
}
