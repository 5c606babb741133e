/* What the tests of recordings share: runs from the fixtures and made up, and a look into their fields. */
#ifndef METRON_TESTS_RECORDING_FIXTURE_H
#define METRON_TESTS_RECORDING_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/recording/reader.h"

#define RECORDINGS METRON_FIXTURES "/recordings/"
#define DUCT       "2026.11.15T18.30.00-4711_"

static const struct recording_wish whole = {.keys = true};

static inline struct recording read_whole(const char *path)
{
    struct recording recording;
    struct metron_error error = {0};

    if (recording_read(path, &whole, &recording, &error) < 0)
        fail_msg("%s", error.message);
    return recording;
}

static inline void assert_number(const struct recording *recording, const char *name, double number,
                                 enum unit unit)
{
    const struct recorded_field *field = recording_field(recording, name);

    if (!field)
        fail_msg("no field %s", name);
    assert_int_equal(field->kind, FIELD_NUMBER);
    if (field->number != number)
        fail_msg("%s is %.17g, not %.17g", name, field->number, number);
    if (field->unit != unit)
        fail_msg("%s is in %s, not %s", name, unit_name(field->unit), unit_name(unit));
}

static inline void assert_text(const struct recording *recording, const char *name, const char *text)
{
    const char *found = recording_text(recording, name);

    if (!found)
        fail_msg("no text %s", name);
    assert_string_equal(found, text);
}

static inline int parse(const char *text, const struct recording_wish *wish, struct recording *out,
                        struct metron_error *error)
{
    return recording_parse(text, strlen(text), "/nowhere/info.json", wish, out, error);
}

#define METRON(rest) "{\"schema_version\": \"1.0\", \"metron_version\": \"0.1.0\"" rest "}"

static inline int parse_code(const char *text, struct metron_error *error)
{
    struct recording recording;
    int code = parse(text, &whole, &recording, error);

    recording_fini(&recording);
    return code;
}

/* Whether the metron of a run lives, as the test says; and what was asked. */
struct asked {
    bool answer;
    char boot[64], hostname[64];
    struct recorder recorder; /* without its texts, which are borrowed */
};

static inline bool lives(void *context, const struct recorder *recorder)
{
    struct asked *asked = context;

    asked->recorder = *recorder;
    asked->recorder.boot_id = asked->recorder.hostname = NULL;
    (void)snprintf(asked->boot, sizeof(asked->boot), "%s", recorder->boot_id);
    (void)snprintf(asked->hostname, sizeof(asked->hostname), "%s",
                   recorder->hostname ? recorder->hostname : "");
    return asked->answer;
}

#endif
