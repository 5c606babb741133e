/* A record and its JSON: the edge, where inner values become what people read. */
#include "schema/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const struct measurement cores = {.key = "t_cores", .type = TYPE_COUNTER, .unit = UNIT_PERCENT};
static const struct measurement bytes = {.key = "t_bytes", .type = TYPE_GAUGE, .unit = UNIT_BYTES};
static const struct measurement name = {.key = "t_name", .type = TYPE_LABEL};
static const struct measurement mood = {.key = "t_mood", .type = TYPE_CATEGORICAL};
static const struct measurement each = {
    .key = "t_each", .scope = SCOPE_PER_PID, .type = TYPE_COUNTER, .unit = UNIT_PERCENT};
static const struct measurement states = {
    .key = "t_states", .scope = SCOPE_PER_PID, .type = TYPE_CATEGORICAL};
static const struct measurement device = {
    .key = "t_device", .scope = SCOPE_PER_DEVICE, .type = TYPE_GAUGE, .unit = UNIT_CELSIUS};

static struct strbuf text = STRBUF_INIT;

static const char *json_of(const struct record *record)
{
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    record_json(&json, record);
    return strbuf_text(&text);
}

/* The JSON of a record with one entry, without what stands around its measurements. */
static const char *entry_of(const struct measurement *measurement, struct record_value *values, size_t count)
{
    struct record_entry entry = {
        .key = measurement->key, .measurement = measurement, .values = values, .count = count};
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    record_entry_json(&json, &entry);
    return strbuf_text(&text);
}

static void percent_is_made_at_the_edge(void **state)
{
    (void)state;
    struct record_value value = {.number = 1.5};
    struct record_value per_pid[] = {{.subject = {.id = 7, .incarnation = 1}, .number = 0.25}};
    struct record_entry entries[] = {
        {.key = "t_cores", .measurement = &cores, .values = &value, .count = 1},
        {.key = "t_each", .measurement = &each, .values = per_pid, .count = 1},
    };
    struct record record = {.entries = entries, .count = 2};
    double number = 0;

    assert_non_null(strstr(json_of(&record), "\"t_cores\":150,"));
    assert_non_null(strstr(json_of(&record), "\"t_each\":{\"7\":25}"));
    assert_true(record_number(&record, "t_cores", &number));
    assert_float_equal(number, 150, 0);
    assert_float_equal(value.number, 1.5, 0); /* inside it stays cores */
}

static void other_units_are_written_as_they_are(void **state)
{
    (void)state;
    struct record_value value = {.number = 9007199254740991.0};

    assert_string_equal(entry_of(&bytes, &value, 1), "9007199254740991");
    value.number = 0;
    assert_string_equal(entry_of(&bytes, &value, 1), "0");
    value.number = 0.125;
    assert_string_equal(entry_of(&bytes, &value, 1), "0.125");
}

static void a_line_of_usage_has_its_frame(void **state)
{
    (void)state;
    struct record_value value = {.number = 3};
    struct record_entry entry = {.key = "t_bytes", .measurement = &bytes, .values = &value, .count = 1};
    struct record record = {.wall = {1763192573, 123456789},
                            .elapsed_seconds = 60.5,
                            .num_samples = 60,
                            .entries = &entry,
                            .count = 1};

    assert_string_equal(json_of(&record),
                        "{\"timestamp\":\"2025-11-15T07:42:53.123456+00:00\",\"elapsed\":60.5,"
                        "\"num_samples\":60,\"measurements\":{\"t_bytes\":3}}");
}

static void a_record_without_measurements_is_valid(void **state)
{
    (void)state;
    struct record record = {0};

    assert_non_null(strstr(json_of(&record), "\"num_samples\":0,\"measurements\":{}}"));
}

static void labels_are_strings_whatever_bytes_they_hold(void **state)
{
    (void)state;
    struct record_value value = {.text = "a \"b\"\n\033\xff"};

    assert_string_equal(entry_of(&name, &value, 1), "\"a \\\"b\\\"\\n\\u001b\\\\xff\"");
}

static void a_tally_is_an_object_of_counts(void **state)
{
    (void)state;
    static const struct tally_item items[] = {{"R", 2}, {"S", 13}};
    struct record_value value = {.tally = {items, 2}};
    struct record_value per_pid[] = {
        {.subject = {.id = 10, .incarnation = 1}, .tally = {items, 1}},
        {.subject = {.id = 10, .incarnation = 2}, .tally = {items + 1, 1}},
    };

    assert_string_equal(entry_of(&mood, &value, 1), "{\"R\":2,\"S\":13}");
    assert_string_equal(entry_of(&states, per_pid, 2), "{\"10\":{\"R\":2},\"10#2\":{\"S\":13}}");
}

static void amounts_are_told_in_their_unit(void **state)
{
    (void)state;
    static const struct measurement seconds = {
        .key = "t_seconds", .type = TYPE_CATEGORICAL, .unit = UNIT_SECONDS};
    static const struct tally_item items[] = {{"read", 1.5}, {"futex", 0.3 - 0.1}, {"close", 41e-9}};
    struct record_value value = {.tally = {items, 3}};

    assert_string_equal(entry_of(&seconds, &value, 1), "{\"read\":1.5,\"futex\":0.2,\"close\":4.1e-08}");
}

static void devices_are_keyed_by_their_index(void **state)
{
    (void)state;
    struct record_value values[] = {{.subject = {.id = 0}, .number = 40},
                                    {.subject = {.id = 3}, .number = 41.5}};

    assert_string_equal(entry_of(&device, values, 2), "{\"0\":40,\"3\":41.5}");
}

static void only_single_numbers_are_found_by_key(void **state)
{
    (void)state;
    struct record_value value = {.number = 5}, words = {.text = "x"};
    struct record_entry entries[] = {
        {.key = "t_peak_bytes", .measurement = &bytes, .values = &value, .count = 1},
        {.key = "t_name", .measurement = &name, .values = &words, .count = 1},
        {.key = "t_each", .measurement = &each, .values = &value, .count = 1},
    };
    struct record record = {.entries = entries, .count = 3};
    double number = -1;

    assert_true(record_number(&record, "t_peak_bytes", &number));
    assert_float_equal(number, 5, 0);
    number = -1;
    assert_false(record_number(&record, "t_bytes", &number)); /* the entry's key, not the measurement's */
    assert_false(record_number(&record, "t_name", &number));
    assert_false(record_number(&record, "t_each", &number));
    assert_false(record_number(&record, "t_absent", &number));
    assert_float_equal(number, -1, 0);
}

static void a_record_may_be_ended_twice(void **state)
{
    (void)state;
    struct record record = {0};

    record.entries = arena_alloc(&record.arena, sizeof(*record.entries));
    record.count = 1;
    record_fini(&record);
    assert_int_equal(record.count, 0);
    assert_null(record.entries);
    record_fini(&record);
}

static int end(void **state)
{
    (void)state;
    strbuf_fini(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_is_made_at_the_edge),
        cmocka_unit_test(other_units_are_written_as_they_are),
        cmocka_unit_test(a_line_of_usage_has_its_frame),
        cmocka_unit_test(a_record_without_measurements_is_valid),
        cmocka_unit_test(labels_are_strings_whatever_bytes_they_hold),
        cmocka_unit_test(a_tally_is_an_object_of_counts),
        cmocka_unit_test(amounts_are_told_in_their_unit),
        cmocka_unit_test(devices_are_keyed_by_their_index),
        cmocka_unit_test(only_single_numbers_are_found_by_key),
        cmocka_unit_test(a_record_may_be_ended_twice),
    };

    (void)setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, end);
}
