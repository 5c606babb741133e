/*
 * Values of a record, and metron's own lines:
 *
 *     {"timestamp": …, "elapsed": …, "num_samples": …, "measurements": {key: value or {subject: value}}}
 *
 * The keys stand in the order of the registry, so the one after the last is tried before the hash table.
 */
#include "store/recording/usage_values.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "store/recording/fields.h"
#include "store/recording/reader.h"

const char *usage_copy(struct usage_reader *reader, const struct json_text *text)
{
    const char *copy = arena_copy(&reader->arena, text->bytes, text->length);

    if (!copy)
        reader->no_memory = true;
    return copy;
}

static struct usage_value *add_value(struct usage_reader *reader, uint32_t key, const char *subject)
{
    struct usage_record *record = &reader->record;

    if (record->count == USAGE_VALUES_MAX) {
        reader->too_many = true;
        return NULL;
    }
    if (ARRAY_RESERVE(record->values, reader->capacity, record->count + 1) < 0) {
        reader->no_memory = true;
        return NULL;
    }
    record->values[record->count] = (struct usage_value){.key = key, .subject = subject};
    return &record->values[record->count++];
}

void usage_add_number(struct usage_reader *reader, uint32_t key, const char *subject, double number)
{
    struct usage_value *value = isfinite(number) ? add_value(reader, key, subject) : NULL;

    if (!value)
        return;
    value->kind = FIELD_NUMBER;
    value->number = number;
}

void usage_add_rate(struct usage_reader *reader, uint32_t key, const char *subject, double rate, double span)
{
    struct usage_value *value = isfinite(rate) && isfinite(span) ? add_value(reader, key, subject) : NULL;

    if (!value)
        return;
    value->kind = FIELD_NUMBER;
    value->number = rate;
    value->span = span;
}

static void add_text(struct usage_reader *reader, uint32_t key, const char *subject, enum field_kind kind,
                     const struct json_text *text)
{
    const char *copy = usage_copy(reader, text);
    struct usage_value *value = copy ? add_value(reader, key, subject) : NULL;

    if (!value)
        return;
    value->kind = kind;
    value->text = copy;
}

void usage_read_scalar(struct usage_reader *reader, uint32_t key, const char *subject)
{
    struct json_text text;
    double number;

    switch (reader->recording->keys[key].type) {
    case TYPE_GAUGE:
    case TYPE_COUNTER:
        if (json_read_number(&reader->json, &number)) {
            usage_add_number(reader, key, subject, number);
            return;
        }
        break;
    case TYPE_LABEL:
        if (json_read_text(&reader->json, &text)) {
            add_text(reader, key, subject, FIELD_TEXT, &text);
            return;
        }
        break;
    case TYPE_CATEGORICAL:
        if (json_peek(&reader->json) == JSON_OBJECT && json_read_raw(&reader->json, &text)) {
            add_text(reader, key, subject, FIELD_JSON, &text);
            return;
        }
        break;
    }
    (void)json_skip(&reader->json);
}

/* Takes the value that stands next as the value of a key, whatever its scope; passes over it where it is not
 * what the key's type says. */
static void read_value(struct usage_reader *reader, uint32_t key)
{
    struct json_text text;

    if (reader->recording->keys[key].scope == SCOPE_SINGLE) {
        usage_read_scalar(reader, key, NULL);
        return;
    }
    if (!json_enter_object(&reader->json)) {
        (void)json_skip(&reader->json);
        return;
    }
    while (json_next_key(&reader->json, &text)) {
        const char *subject = usage_copy(reader, &text);

        if (!subject || reader->too_many)
            (void)json_skip(&reader->json);
        else
            usage_read_scalar(reader, key, subject);
    }
}

bool usage_read_common(struct usage_reader *reader, const struct json_text *key)
{
    struct usage_record *record = &reader->record;
    struct json_text text;
    double number;

    if (json_text_is(key, "timestamp")) {
        char stamp[40];

        if (!json_read_text(&reader->json, &text)) {
            (void)json_skip(&reader->json);
        } else if (text.length < sizeof(stamp)) {
            memcpy(stamp, text.bytes, text.length);
            stamp[text.length] = '\0';
            reader->has_wall = recording_parse_time(stamp, &record->wall);
        }
        return true;
    }
    if (!json_text_is(key, "num_samples"))
        return false;
    if (!json_read_number(&reader->json, &number))
        (void)json_skip(&reader->json);
    else if (number >= 0 && number <= 0x7fffffff)
        record->num_samples = (unsigned)number;
    return true;
}

/* -- metron's lines -- */

static bool is_key(const struct usage_reader *reader, uint32_t key, const struct json_text *text)
{
    return reader->entries[key].length == text->length &&
           memcmp(reader->recording->keys[key].key, text->bytes, text->length) == 0;
}

/* The index of a key, or UINT32_MAX. `after`: the key that stood before it. */
static uint32_t find_key(const struct usage_reader *reader, const struct json_text *text, uint32_t after)
{
    const struct key_entry *found;

    if (after + 1 < reader->recording->key_count && is_key(reader, after + 1, text))
        return after + 1;
    HASH_FIND(hh, reader->keys, text->bytes, text->length, found);
    return found ? (uint32_t)(found - reader->entries) : UINT32_MAX;
}

static void read_measurements(struct usage_reader *reader)
{
    struct json_text text;
    uint32_t last = UINT32_MAX; /* the one after it is the first */

    while (json_next_key(&reader->json, &text)) {
        uint32_t key = find_key(reader, &text, last);

        if (key != UINT32_MAX)
            last = key;
        if (key == UINT32_MAX || !reader->wanted[key])
            (void)json_skip(&reader->json);
        else
            read_value(reader, key);
    }
}

void usage_read_line(struct usage_reader *reader)
{
    struct json_text key;

    while (json_next_key(&reader->json, &key)) {
        if (usage_read_common(reader, &key))
            continue;
        if (json_text_is(&key, "elapsed") && json_read_number(&reader->json, &reader->record.elapsed)) {
            reader->has_elapsed = true;
        } else if (json_text_is(&key, "measurements") && json_enter_object(&reader->json)) {
            read_measurements(reader);
            reader->has_values = true;
        } else {
            (void)json_skip(&reader->json);
        }
    }
}
