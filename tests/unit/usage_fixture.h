/* What the tests of the usage reader share: runs from the fixtures and made up, and a look into a record. */
#ifndef METRON_TESTS_USAGE_FIXTURE_H
#define METRON_TESTS_USAGE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/recording/reader.h"
#include "store/recording/usage_reader.h"

#define RECORDINGS METRON_FIXTURES "/recordings/"

static inline struct recording read_run(const char *path)
{
    const struct recording_wish wish = {.keys = true};
    struct recording recording;
    struct metron_error error = {0};

    if (recording_read(path, &wish, &recording, &error) < 0)
        fail_msg("%s", error.message);
    return recording;
}

static inline struct usage_reader *open_run(const struct recording *run, const bool *wanted)
{
    struct usage_reader *reader;
    struct metron_error error = {0};

    if (usage_reader_open(run, wanted, &reader, &error) < 0)
        fail_msg("%s", error.message);
    return reader;
}

/* One value of a record; NULL: it has none. */
static inline const struct usage_value *find(const struct recording *run, const struct usage_record *record,
                                             const char *key, const char *subject)
{
    ptrdiff_t index = recording_key_index(run, key);

    assert_true(index >= 0);
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];

        if (value->key == (uint32_t)index && (subject == NULL) == (value->subject == NULL) &&
            (!subject || strcmp(value->subject, subject) == 0))
            return value;
    }
    return NULL;
}

static inline void assert_near(double is, double expected)
{
    if (!(fabs(is - expected) < 1e-5))
        fail_msg("%.9g is not %.9g", is, expected);
}

static const char registry[] =
    "{\"schema_version\": \"1.0\", \"metron_version\": \"1\", \"start_time\": \"2026-01-01T00:00:00Z\","
    " \"provenance\": {\"measurements\": {"
    "\"t_rss\": {\"source\": \"t\", \"unit\": \"bytes\", \"scope\": \"per_pid\", \"type\": \"gauge\","
    " \"reduce\": \"max\"},"
    "\"t_all\": {\"source\": \"t\", \"unit\": \"bytes\", \"scope\": \"single\", \"type\": \"gauge\","
    " \"reduce\": \"max\"},"
    "\"t_name\": {\"source\": \"t\", \"scope\": \"single\", \"type\": \"label\", \"reduce\": \"last\"},"
    "\"t_state\": {\"source\": \"t\", \"scope\": \"single\", \"type\": \"categorical\","
    " \"reduce\": \"tally\"}}}}";

static const char duct_info[] = "{\"schema_version\": \"0.2.2\", \"duct_version\": \"0.20.1\","
                                " \"execution_summary\": {\"start_time\": 1767225600.0}}";

static inline struct recording parse_run(const char *info)
{
    const struct recording_wish wish = {.keys = true};
    struct recording run;

    assert_int_equal(recording_parse(info, strlen(info), "info.json", &wish, &run, NULL), 0);
    return run;
}

static inline struct usage_reader *open_text(const struct recording *run, const char *text)
{
    struct usage_reader *reader;

    assert_int_equal(usage_reader_open_bytes(run, NULL, text, strlen(text), &reader, NULL), 0);
    return reader;
}

#endif
