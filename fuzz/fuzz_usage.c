/* usage.jsonl: any bytes, as lines of metron and as lines of con-duct. What is handed out is of the kind that
 * its key says, no rate is negative, and one wanted key gives what all of them give of it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/recording/reader.h"
#include "store/recording/usage_only.h"
#include "store/recording/usage_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metron_info[] =
    "{\"schema_version\": \"1.0\", \"metron_version\": \"1\", \"start_time\": \"2026-01-01T00:00:00Z\","
    " \"provenance\": {\"measurements\": {"
    "\"proc_rss\": {\"source\": \"proc\", \"unit\": \"bytes\", \"scope\": \"per_pid\","
    " \"type\": \"gauge\", \"reduce\": \"max\"},"
    "\"proc_rss_total\": {\"source\": \"proc\", \"unit\": \"bytes\", \"scope\": \"single\","
    " \"type\": \"gauge\", \"reduce\": \"max\"},"
    "\"proc_stat\": {\"source\": \"proc\", \"scope\": \"per_pid\", \"type\": \"categorical\","
    " \"reduce\": \"tally\"},"
    "\"proc_cmd\": {\"source\": \"proc\", \"scope\": \"per_pid\", \"type\": \"label\","
    " \"reduce\": \"last\"},"
    "\"proc_cpu_seconds\": {\"source\": \"proc\", \"unit\": \"seconds\", \"scope\": \"single\","
    " \"type\": \"counter\", \"reduce\": \"delta\"},"
    "\"syscall_counts_total\": {\"source\": \"syscall\", \"unit\": \"count\", \"scope\": \"single\","
    " \"type\": \"categorical\", \"reduce\": \"tally\"}}}}";

static const char duct_info[] = "{\"schema_version\": \"0.2.2\", \"duct_version\": \"0.20.1\"}";

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_value(const struct recording *recording, const struct usage_value *value)
{
    check(value->key < recording->key_count);

    const struct recorded_key *key = &recording->keys[value->key];

    check((value->subject == NULL) == (key->scope == SCOPE_SINGLE));
    switch (key->type) {
    case TYPE_GAUGE:
    case TYPE_COUNTER:
        check(value->kind == FIELD_NUMBER && isfinite(value->number));
        break;
    case TYPE_LABEL:
        check(value->kind == FIELD_TEXT && value->text);
        break;
    case TYPE_CATEGORICAL:
        check(value->kind == FIELD_JSON && value->text && value->text[0] == '{');
        break;
    }
    if (strcmp(key->key, "pcpu_rate") == 0 || strcmp(key->key, "total_pcpu_rate") == 0)
        check(value->number >= 0);
}

/* How often each key has a value; `only`: one key is wanted, -1 for all. Returns the number of records. */
static size_t count_values(const struct recording *recording, const uint8_t *data, size_t size,
                           ptrdiff_t only, size_t *counts)
{
    bool wanted[64] = {0};
    struct usage_reader *reader;
    const struct usage_record *record;
    size_t records = 0, lines = 1, first = 0;
    int code;

    check(recording->key_count <= 64);
    if (only >= 0)
        wanted[only] = true;
    code = usage_reader_open_bytes(recording, only >= 0 ? wanted : NULL, (const char *)data, size, &reader,
                                   NULL);
    check(code == 0);
    while ((code = usage_reader_next(reader, &record)) == 1) {
        records++;
        check(isfinite(record->elapsed));
        for (size_t i = 0; i < record->count; i++) {
            check_value(recording, &record->values[i]);
            counts[record->values[i].key]++;
        }
    }
    check(code == 0);
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    check(records + usage_reader_damaged(reader, &first) <= lines);
    check((first > 0) == (usage_reader_damaged(reader, NULL) > 0) && first <= lines);
    usage_reader_free(reader);
    return records;
}

static void read_as(const char *info, const uint8_t *data, size_t size)
{
    const struct recording_wish wish = {.keys = true};
    struct recording recording;
    size_t all[64] = {0}, one[64] = {0};

    check(recording_parse(info, strlen(info), "/nowhere/info.json", &wish, &recording, NULL) == 0);

    size_t records = count_values(&recording, data, size, -1, all);
    size_t key = size % recording.key_count;

    /* A value that is not looked at cannot be what damages its line, but no other record may be missing. */
    check(count_values(&recording, data, size, (ptrdiff_t)key, one) >= records);
    check(one[key] >= all[key]);
    for (size_t i = 0; i < recording.key_count; i++)
        check(i == key || one[i] == 0);
    recording_fini(&recording);
}

static void describe(struct json *json, const char *key)
{
    json_key_object(json, key);
    json_object_end(json);
}

/* Where there is a record, what is made up of it is an info.json that can be read. */
static void read_alone(const uint8_t *data, size_t size)
{
    struct strbuf info = STRBUF_INIT;
    struct recording recording;

    if (usage_only_info_of_bytes((const char *)data, size, describe, &info)) {
        check(recording_parse(strbuf_text(&info), info.length, "/nowhere/info.json", NULL, &recording,
                              NULL) == 0);
        check(recording.status == RECORDING_UNKNOWN && recording.made_info);
        recording_fini(&recording);
    } else {
        check(info.length == 0);
    }
    strbuf_fini(&info);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_as(metron_info, data, size);
    read_as(duct_info, data, size);
    read_alone(data, size);
    return 0;
}
