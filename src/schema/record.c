#include "schema/record.h"

#include <string.h>

#include "base/clock.h"

void record_fini(struct record *record)
{
    arena_fini(&record->arena);
    *record = (struct record){0};
}

bool record_number(const struct record *record, const char *key, double *out)
{
    for (size_t i = 0; i < record->count; i++) {
        const struct record_entry *entry = &record->entries[i];
        if (strcmp(entry->key, key) != 0)
            continue;
        if (entry->measurement->scope != SCOPE_SINGLE || entry->measurement->type > TYPE_COUNTER)
            return false;
        *out = unit_edge(entry->measurement->unit, entry->values[0].number);
        return true;
    }
    return false;
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
            json_key_number(json, value->tally.items[i].state, value->tally.items[i].count);
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
    json_key(json, "measurements");
    json_object_begin(json);
    for (size_t i = 0; i < record->count; i++) {
        json_key(json, record->entries[i].key);
        record_entry_json(json, &record->entries[i]);
    }
    json_object_end(json);
    json_object_end(json);
}
