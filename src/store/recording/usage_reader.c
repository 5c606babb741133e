#include "store/recording/usage_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/duct.h"
#include "store/recording/duct_rates.h"
#include "store/recording/usage_values.h"

static int index_keys(struct usage_reader *reader)
{
    const struct recording *recording = reader->recording;

    reader->entries = calloc(recording->key_count + 1, sizeof(*reader->entries));
    if (!reader->entries)
        return -ENOMEM;
    for (size_t i = 0; i < recording->key_count; i++) {
        const char *key = recording->keys[i].key;
        struct key_entry *entry = &reader->entries[i], *first;

        entry->length = strlen(key);
        HASH_FIND(hh, reader->keys, key, entry->length, first);
        if (first)
            continue; /* of two of the same name */
        HASH_ADD_KEYPTR(hh, reader->keys, key, entry->length, entry);
        if (!entry->hh.tbl)
            return -ENOMEM;
    }
    return 0;
}

static int set_wanted(struct usage_reader *reader, const bool *wanted)
{
    size_t count = reader->recording->key_count;

    reader->wanted = calloc(count + 1, sizeof(*reader->wanted));
    if (!reader->wanted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        reader->wanted[i] = !wanted || wanted[i];
    if (reader->recording->kind == RECORDING_METRON)
        return index_keys(reader);
    if (reader->wanted[DUCT_PCPU_RATE] || reader->wanted[DUCT_PCPU_SECONDS] ||
        reader->wanted[DUCT_TOTAL_PCPU_RATE])
        /* Of a made info.json the start is but the first record. */
        return duct_rates_new(reader->recording->made_info ? 0 : reader->recording->start_wall,
                              &reader->rates);
    return 0;
}

/* Without its lines. */
static int reader_new(const struct recording *recording, const bool *wanted, struct usage_reader **out,
                      struct metron_error *error)
{
    struct usage_reader *reader;
    int code;

    *out = NULL;
    if (recording->kind == RECORDING_DUCT && recording->key_count != DUCT_KEY_COUNT)
        return error_set(error, -EINVAL, "%s: read without its keys", recording->path);
    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return error_set(error, -ENOMEM, "%s: no memory to read it", recording->path);
    reader->recording = recording;
    line_reader_init(&reader->lines, "", 0);
    json_reader_init(&reader->json, "", 0);
    code = set_wanted(reader, wanted);
    if (code < 0) {
        usage_reader_free(reader);
        return error_set(error, code, "%s: no memory to read it", recording->path);
    }
    *out = reader;
    return 0;
}

int usage_reader_open(const struct recording *recording, const bool *wanted, struct usage_reader **out,
                      struct metron_error *error)
{
    int code;

    *out = NULL;
    if (!recording->usage_path)
        return error_set(error, -ENOENT, "%s: the run has no usage.jsonl beside it", recording->path);
    code = reader_new(recording, wanted, out, error);
    if (code == 0)
        code = line_reader_open(&(*out)->lines, recording->usage_path, error);
    if (code < 0) {
        usage_reader_free(*out);
        *out = NULL;
    }
    return code;
}

int usage_reader_open_bytes(const struct recording *recording, const bool *wanted, const char *bytes,
                            size_t length, struct usage_reader **out, struct metron_error *error)
{
    int code = reader_new(recording, wanted, out, error);

    if (code == 0)
        line_reader_init(&(*out)->lines, bytes, length);
    return code;
}

/* A record must tell when it was: by the clock, since the start, or both. What it does not tell is worked out
 * here; con-duct's do not count from the start. */
static bool place_in_time(struct usage_reader *reader)
{
    struct usage_record *record = &reader->record;
    double start = reader->recording->start_wall;

    if (reader->has_wall && reader->first_wall == 0)
        reader->first_wall = record->wall;
    if (reader->has_elapsed && !reader->has_wall && start > 0)
        record->wall = start + record->elapsed;
    if (reader->has_elapsed)
        return isfinite(record->elapsed);
    if (!reader->has_wall)
        return false;
    record->elapsed = record->wall - (start > 0 ? start : reader->first_wall);
    return true;
}

/* Whether the line is a record. */
static bool parse_line(struct usage_reader *reader, const struct json_text *line)
{
    struct usage_record *record = &reader->record;

    arena_reset(&reader->arena);
    *record = (struct usage_record){.values = record->values};
    reader->has_elapsed = reader->has_wall = reader->has_values = reader->too_many = false;
    json_reader_reset(&reader->json, line->bytes, line->length);
    if (!json_enter_object(&reader->json))
        return false;
    if (reader->recording->kind == RECORDING_DUCT)
        duct_read_line(reader);
    else
        usage_read_line(reader);
    return json_reader_end(&reader->json, NULL) == 0 && reader->has_values && !reader->too_many &&
           place_in_time(reader);
}

int usage_reader_next(struct usage_reader *reader, const struct usage_record **out)
{
    struct json_text line;

    for (;;) {
        int code = line_reader_next_filled(&reader->lines, &line);

        if (code != 1)
            return code;
        if (parse_line(reader, &line)) {
            *out = &reader->record;
            return reader->no_memory ? -ENOMEM : 1;
        }
        if (reader->no_memory || reader->json.scratch.failed)
            return -ENOMEM;
        line_reader_count_damage(&reader->lines);
    }
}

size_t usage_reader_damaged(const struct usage_reader *reader, size_t *first_line)
{
    return line_reader_damaged(&reader->lines, first_line);
}

void usage_reader_free(struct usage_reader *reader)
{
    if (!reader)
        return;
    line_reader_fini(&reader->lines);
    json_reader_fini(&reader->json);
    arena_fini(&reader->arena);
    duct_rates_free(reader->rates);
    free(reader->record.values);
    free(reader->wanted);
    HASH_CLEAR(hh, reader->keys);
    free(reader->entries);
    free(reader);
}
