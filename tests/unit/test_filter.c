/* The expressions of metron ls --filter, and amounts as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "store/filter/filter.h"
#include "store/quantity.h"

#define GIB (1024.0 * 1024 * 1024)

static struct recorded_field fields[] = {
    {.name = "peak_memory", .kind = FIELD_NUMBER, .unit = UNIT_BYTES, .number = 3 * GIB},
    {.name = "wall", .kind = FIELD_NUMBER, .unit = UNIT_SECONDS, .number = 5400},
    {.name = "exit_code", .kind = FIELD_NUMBER, .number = 137},
    {.name = "zero", .kind = FIELD_NUMBER, .unit = UNIT_COUNT, .number = 0},
    {.name = "stall.cpu.share", .kind = FIELD_NUMBER, .number = 0.25},
    {.name = "cpu_pct", .kind = FIELD_NUMBER, .unit = UNIT_PERCENT, .number = 25},
    {.name = "rate", .kind = FIELD_NUMBER, .unit = UNIT_BYTES_PER_SECOND, .number = 2048},
    {.name = "command", .kind = FIELD_TEXT, .text = "python3 train.py --seed 7"},
    {.name = "job", .kind = FIELD_TEXT, .text = "a b"},
    {.name = "empty", .kind = FIELD_TEXT, .text = ""},
    {.name = "status", .kind = FIELD_TEXT, .text = "ended"},
    {.name = "env.TASKS", .kind = FIELD_TEXT, .text = "08"},
    {.name = "start_time", .kind = FIELD_TEXT, .text = "2026-11-15T07:42:53.5+00:00"},
    {.name = "end_time", .kind = FIELD_TEXT, .text = "2026-11-15T09:00:00Z"},
    {.name = "conserved", .kind = FIELD_BOOLEAN, .number = 1},
    {.name = "arguments", .kind = FIELD_JSON, .text = "[\"python3\", \"train.py\"]"},
    {.name = "none", .kind = FIELD_JSON, .text = "[ ]"},
};

static const struct recording recording = {
    .path = "info.json",
    .start_wall = 1794728573.5, /* 2026-11-15T07:42:53.5Z */
    .fields = fields,
    .field_count = sizeof(fields) / sizeof(fields[0]),
};

/* 1, 0, or the code of the parser or of the evaluation. */
static int asked(const char *text, size_t *place, struct metron_error *error)
{
    struct filter *filter;
    int code = filter_parse(text, &filter, place, error);

    if (code < 0)
        return code;
    code = filter_holds(filter, &recording, place, error);
    filter_free(filter);
    return code;
}

static void expect(const char *text, int expected)
{
    struct metron_error error = {0};
    size_t place = 0;
    int code = asked(text, &place, &error);

    if (code != expected)
        fail_msg("'%s' gives %d, not %d: %s (at %zu)", text, code, expected, error.message, place);
}

static void holds(const char *text)
{
    expect(text, 1);
}

static void holds_not(const char *text)
{
    expect(text, 0);
}

static void is_refused(const char *text, size_t place, const char *reason)
{
    struct metron_error error = {0};
    size_t found = 12345;
    int code = asked(text, &found, &error);

    if (code >= 0 || !strstr(error.message, reason) || found != place)
        fail_msg("'%s' gives %d at %zu: %s", text, code, found, error.message);
}

static void numbers_compare_in_the_unit_of_the_field(void **state)
{
    (void)state;
    holds("peak_memory > 2GiB and exit_code != 0");
    holds("peak_memory == 3GiB");
    holds("peak_memory == 3G");
    holds("peak_memory == 3 GiB");
    holds_not("peak_memory == 3GB");
    holds("peak_memory = 3221225472");
    holds("peak_memory >= 3072M");
    holds_not("peak_memory < 3072MiB");
    holds("wall == 1h30m");
    holds("wall == 1 h 30 min");
    holds("wall == 90min");
    holds("wall==90m");
    holds("wall <= 1.5 hours and wall >= 1.5h");
    holds("wall > 5399.5");
    holds_not("wall > 1h30m1s");
    holds("exit_code == 137");
    holds("exit_code > -1");
    holds_not("exit_code < 137");
    holds_not("exit_code > 137");
    holds_not("exit_code != 137");
    holds("rate == 2KiB/s");
    holds("zero == 0");
}

static void a_percentage_is_of_what_the_field_is(void **state)
{
    (void)state;
    holds("cpu_pct == 25%");
    holds("cpu_pct == 25");
    holds("stall.cpu.share == 25 %");
    holds("stall.cpu.share > 5%");
    holds("stall.cpu.share == 0.25");
}

static void texts_compare_as_texts(void **state)
{
    (void)state;
    holds("job == \"a b\"");
    holds("job == 'a b'");
    holds("job != 'a c'");
    holds("status == ended");
    holds_not("status == lost");
    holds("env.TASKS == 08");
    holds_not("env.TASKS == 8"); /* another text */
    holds("env.TASKS > 7");
    holds("env.TASKS <= 8");
    holds("job < b");
    holds("empty == ''");
}

static void a_quote_is_doubled_within_itself(void **state)
{
    (void)state;
    holds_not("job == 'it''s'");
    holds("job != \"say \"\"a\"\"\"");
    is_refused("job == 'it''s", 7, "not closed");
}

static void regular_expressions_match_anywhere(void **state)
{
    (void)state;
    holds("command =~ 'train.*py'");
    holds("command =~ train.*py");
    holds_not("command =~ '^train'");
    holds("command !~ ^train");
    holds("exit_code =~ '^1[0-9]7$'");
    holds("arguments =~ '\"train'");
    holds("conserved =~ true");
}

static void dangerous_regular_expressions_are_refused(void **state)
{
    (void)state;
    is_refused("command =~ '('", 11, "cannot be used");
    is_refused("command =~ '(a)\\1'", 11, "back references");
    is_refused("command =~ '(a{1,1000}){1,1000}'", 11, "repeats too often");
    is_refused("command =~ 'a++++++++++++++++++++++++'", 11, "repeats too often");
    is_refused("command =~ '((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+'", 11, "repeats too often");
    holds("command =~ '^([a-z]+[0-9]+ ?)+[a-z]+\\.py +--[[:alpha:]]+ {1,9}[0-9]+$'");
}

static void not_and_or_bind_in_this_order(void **state)
{
    (void)state;
    holds("not status == lost and wall > 1s");
    holds("status == lost and wall < 1s or job");
    holds_not("status == lost and (wall < 1s or job)");
    holds("not (status == lost)");
    holds("!(status == lost) && !empty || zero");
    holds("not not job");
    holds_not("not not not job");
    holds("not(status == lost)");
}

static void a_field_alone_holds_if_it_is_there_and_not_empty(void **state)
{
    (void)state;
    holds("job");
    holds("wall");
    holds("conserved");
    holds("arguments");
    holds_not("none");
    holds_not("zero");
    holds_not("empty");
    holds_not("absent");
    holds("not absent");
}

static void what_is_absent_compares_false_either_way(void **state)
{
    (void)state;
    holds_not("absent == 1");
    holds_not("absent != 1");
    holds_not("absent < 1");
    holds_not("absent =~ .");
    holds_not("absent !~ .");
    holds("not absent == 1");
}

static void dates_are_whole_days_and_minutes(void **state)
{
    (void)state;
    holds("start_time == 2026-11-15");
    holds("start_time >= 2026-11-15");
    holds_not("start_time > 2026-11-15");
    holds("start_time > 2026-11-14");
    holds("start_time < 2026-11-16");
    holds("start_time == 2026-11-15T07:42");
    holds("start_time == 2026-11-15T07:42:53");
    holds("start_time == '2026-11-15 07:42'");
    holds("start_time == 2026-11-15T08:42+01:00");
    holds_not("start_time == 2026-11-15T07:43");
    holds("end_time == 2026-11-15T09:00Z");
    is_refused("start_time > 2026-02-30", 13, "no date");
    is_refused("start_time > yesterday", 13, "is a date");
    is_refused("wall > 2026-11-15", 7, "is a date");
}

static void booleans_compare_with_true_and_false(void **state)
{
    (void)state;
    holds("conserved == true");
    holds("conserved != no");
    holds_not("conserved == false");
    is_refused("conserved > 0", 12, "true or false");
    is_refused("conserved == maybe", 13, "true or false");
}

static void a_wrong_unit_is_an_error_with_its_place(void **state)
{
    (void)state;
    is_refused("wall > 2GiB", 7, "wall is in seconds, 2GiB is a size");
    is_refused("peak_memory > 2h", 14, "is a time");
    is_refused("peak_memory > 200m", 14, "M is MiB");
    is_refused("exit_code == 2GiB", 13, "is a size");
    is_refused("job and rate > 2MiB", 15, "bytes per second");
    is_refused("cpu_pct > 2s", 10, "in percent");
    is_refused("zero > 1%", 7, "a plain number");
    is_refused("wall > cpu_seconds", 7, "is no number");
    is_refused("env.TASKS > 2GiB", 12, "without a unit");
    is_refused("command > 5", 10, "no number");
    is_refused("arguments == 3", 13, "list or an object");
    is_refused("status == finished", 10, "ended, running, lost");
    is_refused("status == nded", 10, "ended, running, lost"); /* whole words only */
    is_refused("status == ''", 10, "ended, running, lost");
    is_refused("processes > 1s", 12, "a plain number");
    is_refused("cpu_seconds > 1MiB", 14, "in seconds");
    is_refused("peak_memory_bound == most", 21, "lower, upper, estimate");
    is_refused("wall_note > 1s", 12, "is a text");
    holds_not("job_bound == most"); /* there is no such part: it is absent like any other */
}

/* A comparison that is not reached asks nothing. */
static void and_guards_what_stands_behind_it(void **state)
{
    (void)state;
    holds_not("command =~ '^[0-9]+$' and command > 5");
    holds("job or command > 5");
}

static void malformed_expressions_are_refused_where_they_break(void **state)
{
    (void)state;
    is_refused("", 0, "empty");
    is_refused("   ", 3, "empty");
    is_refused("(job", 0, "not closed");
    is_refused("job)", 3, "has no (");
    is_refused("job ==", 6, "missing");
    is_refused("job == and wall", 7, "missing");
    is_refused("job and", 7, "ends where");
    is_refused("job wall", 4, "expected and");
    is_refused("wall > 1 2", 9, "expected and");
    is_refused("1 < wall", 0, "begins with a field");
    is_refused("'job' == 1", 0, "begins with a field");
    is_refused("wall > 2hh", 7, "needs quotes");
    is_refused("wall > 12abc", 7, "needs quotes");
    is_refused("job == a|b", 8, "expected and");
    is_refused("((job) wall)", 7, "expected and");
    is_refused("job == \"x", 7, "not closed");
    is_refused("wall < = 3", 7, "missing");
}

static void size_and_depth_are_limited(void **state)
{
    char text[FILTER_LENGTH_MAX + 64];
    struct metron_error error;
    size_t place;

    (void)state;
    memset(text, '(', FILTER_LENGTH_MAX);
    text[FILTER_LENGTH_MAX] = '\0';
    assert_true(asked(text, &place, &error) < 0);
    assert_non_null(strstr(error.message, "too deep"));
    for (size_t i = 0; i < FILTER_LENGTH_MAX; i++)
        text[i] = "not "[i % 4];
    assert_true(asked(text, &place, &error) < 0);
    assert_non_null(strstr(error.message, "too deep"));
    text[0] = '\0';
    for (int i = 0; i < 600; i++)
        strcat(text, "a or ");
    strcat(text, "a");
    assert_true(asked(text, &place, &error) < 0);
    assert_non_null(strstr(error.message, "too many"));
    memset(text, 'a', FILTER_LENGTH_MAX + 1);
    text[FILTER_LENGTH_MAX + 1] = '\0';
    assert_true(asked(text, &place, &error) < 0);
    assert_non_null(strstr(error.message, "too long"));
}

static void the_fields_it_asks_for_are_told_once_each(void **state)
{
    struct filter *filter;
    size_t place;

    (void)state;
    assert_int_equal(filter_parse("a == 1 and (b or not a) and c.d == a", &filter, &place, NULL), 0);
    const char *const *names = filter_fields(filter);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_string_equal(names[2], "c.d");
    assert_null(names[3]);
    filter_free(filter);
}

static void points_at(const char *text, size_t place, size_t width, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    filter_point(&out, text, place, width);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void the_caret_stands_below_the_place(void **state)
{
    (void)state;
    points_at("wall > 2GiB", 7, 80, "wall > 2GiB\n       ^\n");
    points_at("a", 1, 80, "a\n ^\n");
    points_at("\xc3\xa9 > x", 5, 80, "\xc3\xa9 > x\n    ^\n");
    points_at("\n x", 2, 80, "\\x0a x\n     ^\n");
    points_at("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 30, 20,
              "…aaaaaaaaaaXaaaaaaaaa…\n           ^\n");
}

static void is_amount(const char *text, double value, enum unit unit)
{
    struct quantity quantity;

    if (!quantity_parse(text, &quantity))
        fail_msg("'%s' is no amount", text);
    if (quantity.value != value || quantity.unit != unit)
        fail_msg("'%s' is %.17g %s", text, quantity.value, unit_name(quantity.unit));
}

static void amounts_are_what_people_mean(void **state)
{
    (void)state;
    is_amount("12", 12, UNIT_NONE);
    is_amount("-1.5", -1.5, UNIT_NONE);
    is_amount("+3", 3, UNIT_NONE);
    is_amount(".5", 0.5, UNIT_NONE);
    is_amount("1e6", 1e6, UNIT_NONE);
    is_amount("7B", 7, UNIT_BYTES);
    is_amount("2K", 2048, UNIT_BYTES);
    is_amount("2k", 2048, UNIT_BYTES);
    is_amount("2KiB", 2048, UNIT_BYTES);
    is_amount("2kB", 2000, UNIT_BYTES);
    is_amount("2KB", 2000, UNIT_BYTES);
    is_amount("1.5 GB", 1.5e9, UNIT_BYTES);
    is_amount("1.5GiB", 1.5 * GIB, UNIT_BYTES);
    is_amount("4G", 4 * GIB, UNIT_BYTES);
    is_amount("4Gi", 4 * GIB, UNIT_BYTES);
    is_amount("1T", 1024 * GIB, UNIT_BYTES);
    is_amount("10MB/s", 1e7, UNIT_BYTES_PER_SECOND);
    is_amount("350ms", 0.350, UNIT_SECONDS);
    is_amount("5m", 300, UNIT_SECONDS);
    is_amount("2 min 05 s", 125, UNIT_SECONDS);
    is_amount("1d2h", 93600, UNIT_SECONDS);
    is_amount("3 days", 259200, UNIT_SECONDS);
    is_amount("  5 % ", 5, UNIT_PERCENT);
}

static void other_texts_are_no_amounts(void **state)
{
    static const char *const texts[] = {"",    "x",     "2x",   "1h30",  "1h30x", "2 GiB 3", "GiB",   "1..2",
                                        "--1", "1e999", "0x10", "1h 2G", "5%%",   "nan",     "2GiBs", "1/s"};
    struct quantity quantity;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (quantity_parse(texts[i], &quantity))
            fail_msg("'%s' is taken for %g", texts[i], quantity.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_compare_in_the_unit_of_the_field),
        cmocka_unit_test(a_percentage_is_of_what_the_field_is),
        cmocka_unit_test(texts_compare_as_texts),
        cmocka_unit_test(a_quote_is_doubled_within_itself),
        cmocka_unit_test(regular_expressions_match_anywhere),
        cmocka_unit_test(dangerous_regular_expressions_are_refused),
        cmocka_unit_test(not_and_or_bind_in_this_order),
        cmocka_unit_test(a_field_alone_holds_if_it_is_there_and_not_empty),
        cmocka_unit_test(what_is_absent_compares_false_either_way),
        cmocka_unit_test(dates_are_whole_days_and_minutes),
        cmocka_unit_test(booleans_compare_with_true_and_false),
        cmocka_unit_test(a_wrong_unit_is_an_error_with_its_place),
        cmocka_unit_test(and_guards_what_stands_behind_it),
        cmocka_unit_test(malformed_expressions_are_refused_where_they_break),
        cmocka_unit_test(size_and_depth_are_limited),
        cmocka_unit_test(the_fields_it_asks_for_are_told_once_each),
        cmocka_unit_test(the_caret_stands_below_the_place),
        cmocka_unit_test(amounts_are_what_people_mean),
        cmocka_unit_test(other_texts_are_no_amounts),
    };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
