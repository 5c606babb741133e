/* JSON for people: the layout, texts that a terminal may get, numbers with the units of a recording; and the
 * pieces that a file is made of. */
#include "view/pretty/pretty.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/recording/json_pieces.h"
#include "view/pretty/units.h"

static struct strbuf out;
static struct metron_error error;

static int teardown(void **state)
{
    (void)state;
    strbuf_fini(&out);
    return 0;
}

static void assert_printed(const char *json, const struct pretty_options *options, const char *expected)
{
    strbuf_reset(&out);
    assert_int_equal(pretty_print(&out, json, strlen(json), options, &error), 0);
    assert_string_equal(strbuf_text(&out), expected);
}

static void assert_plain(const char *json, const char *expected)
{
    assert_printed(json, &(struct pretty_options){0}, expected);
}

static void each_value_has_a_line(void **state)
{
    (void)state;
    assert_plain("{\"a\":1,\"b\":[true,null,{}],\"c\":{\"d\":[],\"e\":\"x\"}}", "{\n"
                                                                                "  \"a\": 1,\n"
                                                                                "  \"b\": [\n"
                                                                                "    true,\n"
                                                                                "    null,\n"
                                                                                "    {}\n"
                                                                                "  ],\n"
                                                                                "  \"c\": {\n"
                                                                                "    \"d\": [],\n"
                                                                                "    \"e\": \"x\"\n"
                                                                                "  }\n"
                                                                                "}\n");
    assert_plain(" [ ] ", "[]\n");
    assert_plain("\n{ \n} ", "{}\n");
    assert_plain("-1", "-1\n");
}

static void numbers_and_strings_are_as_they_stand(void **state)
{
    (void)state;
    assert_plain("1.50E+003", "1.50E+003\n");
    assert_plain("123456789012345678901234567890", "123456789012345678901234567890\n");
    assert_plain("1e999", "1e999\n");
    assert_plain("\"\\u0041\\/\\n\\ud800 ä\"", "\"\\u0041\\/\\n\\ud800 ä\"\n");
    assert_plain("{ \"a\\\"b\\\\\" : 1 ,\"a\\u0041\"\n:2}",
                 "{\n  \"a\\\"b\\\\\": 1,\n  \"a\\u0041\": 2\n}\n");
}

static void a_terminal_gets_no_control_characters(void **state)
{
    (void)state;
    assert_plain("\"a\x7f"
                 "b\"",
                 "\"a\\u007fb\"\n");
    assert_plain("\"\xC2\x9B"
                 "31m\"",
                 "\"\\u009b31m\"\n");
    assert_plain("\"\xC2\xA0\"", "\"\xC2\xA0\"\n");
    assert_plain("\"\x9B"
                 "31m \xFF \xE2\x82\"",
                 "\"\\\\x9b31m \\\\xff \\\\xe2\\\\x82\"\n");
    assert_plain("{\"\x7f\":1}", "{\n  \"\\u007f\": 1\n}\n");
    assert_plain("{\"\xE2\x80\xAE\":\"\xE2\x80\xA8\"}", "{\n  \"\\u202e\": \"\\u2028\"\n}\n");
}

static void colours_end_where_they_begin(void **state)
{
    (void)state;
    assert_printed("{\"a\":[1,\"x\",null]}", &(struct pretty_options){.colors = true},
                   "{\n  \033[36m\"a\"\033[0m: [\n    \033[33m1\033[0m,\n    \033[32m\"x\"\033[0m,\n"
                   "    \033[33mnull\033[0m\n  ]\n}\n");
}

/* -- Numbers for people -- */

static bool show_path(void *context, const struct pretty_path *path, double number, struct pretty_text *text)
{
    struct strbuf *seen = context;

    if (number == 0)
        return false;
    for (size_t i = 0; i < path->count; i++)
        strbuf_addf(seen, "%s/", path->names[i]);
    strbuf_addf(seen, "=%g ", number);
    (void)strcpy(text->text, "much");
    text->note = number == 2 ? "two" : NULL;
    return true;
}

static void a_number_is_asked_for_by_its_path(void **state)
{
    (void)state;
    struct strbuf seen = STRBUF_INIT;

    assert_printed(
        "{\"a\":{\"b\":1,\"c\":[2,{\"d\":3}]},\"\\u0065\":0,\"f\":1e999,\"g\":4}",
        &(struct pretty_options){.number = show_path, .number_context = &seen},
        "{\n  \"a\": {\n    \"b\": much\n    \"c\": [\n      much  (two)\n      {\n"
        "        \"d\": much\n      }\n    ]\n  }\n  \"\\u0065\": 0\n  \"f\": 1e999\n  \"g\": much\n}\n");
    assert_string_equal(strbuf_text(&seen), "a/b/=1 a/c/=2 a/c/d/=3 g/=4 ");
    strbuf_fini(&seen);
}

static const char metron_info[] =
    "{\"schema_version\":\"1.0\",\"metron_version\":\"0.1.0\",\"status\":\"ended\",\"command\":\"x\","
    "\"start_time\":\"2026-11-15T18:21:40+00:00\",\"system\":{\"memory_total\":2147483648,\"uid\":1000},"
    "\"provenance\":{\"measurements\":{"
    "\"proc_rss_total\":{\"source\":\"proc\",\"field\":\"f\",\"unit\":\"bytes\",\"scope\":\"single\","
    "\"type\":\"gauge\",\"reduce\":\"max\"},"
    "\"gpu_power\":{\"source\":\"gpu\",\"field\":\"f\",\"unit\":\"watts\",\"scope\":\"per_device\","
    "\"type\":\"gauge\",\"reduce\":\"max\"},"
    "\"proc_stat\":{\"source\":\"proc\",\"field\":\"f\",\"unit\":\"none\",\"scope\":\"per_pid\","
    "\"type\":\"categorical\",\"reduce\":\"tally\"}}},"
    "\"execution_summary\":{\"exit_code\":0,\"wall_clock_time\":7500,\"proc_peak_rss_total\":1610612736,"
    "\"gpu_peak_power\":{\"0\":250}},"
    "\"peak_memory\":[{\"source\":\"s\",\"value\":1024}],\"stall\":{\"cpu\":{\"share\":0.25}}}";

static const char duct_info[] =
    "{\"command\":\"x\",\"duct_version\":\"0.16.0\",\"schema_version\":\"0.2.2\",\"system\":{\"memory_"
    "total\":1024},"
    "\"execution_summary\":{\"exit_code\":0,\"peak_pcpu\":50.5,\"wall_clock_time\":61}}";

static void number_is(struct pretty_units *units, const char *const names[], double number,
                      const char *expected)
{
    struct pretty_path path = {.count = 0};
    struct pretty_text text = {.text = "", .note = NULL};

    for (; names[path.count]; path.count++)
        path.names[path.count] = names[path.count];
    assert_int_equal(pretty_units_number(units, &path, number, &text), expected != NULL);
    if (expected)
        assert_string_equal(text.text, expected);
}

#define NUMBER_IS(units, number, expected, ...)                                                              \
    number_is(units, (const char *const[]){__VA_ARGS__, NULL}, number, expected)

static void units_of_an_info_are_its_own(void **state)
{
    (void)state;
    struct pretty_units units;

    assert_int_equal(pretty_units_init(&units, NULL, metron_info, strlen(metron_info), &error), 0);
    assert_true(units.is_info);
    NUMBER_IS(&units, 2147483648.0, "2 GiB", "system", "memory_total");
    NUMBER_IS(&units, 7500, "2 h 05 min", "execution_summary", "wall_clock_time");
    NUMBER_IS(&units, 1610612736, "1.5 GiB", "execution_summary", "proc_peak_rss_total");
    NUMBER_IS(&units, 250, "250 W", "execution_summary", "gpu_peak_power", "0");
    NUMBER_IS(&units, 1024, "1 KiB", "peak_memory", "value");
    NUMBER_IS(&units, 0.25, "25.0 %", "stall", "cpu", "share");
    NUMBER_IS(&units, 0, NULL, "execution_summary", "exit_code");
    NUMBER_IS(&units, 1000, NULL, "system", "uid");
    NUMBER_IS(&units, 1, NULL, "execution_summary", "unknown_peak_rss");
    NUMBER_IS(&units, 1, NULL, "execution_summary");
    NUMBER_IS(&units, 1, NULL, "elapsed"); /* a word of records, not of an info */
    number_is(&units, (const char *const[]){NULL}, 1, NULL);
    pretty_units_fini(&units);
}

/* A recording beside the file, as pretty_units_init would have it from the disk. */
static void read_beside(struct pretty_units *units, const char *info, const char *record)
{
    char folder[] = "/tmp/metron-pretty-XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/info.json", folder);

    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(info, file) >= 0 && fclose(file) == 0);
    (void)snprintf(path, sizeof(path), "%s/usage.jsonl", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(pretty_units_init(units, path, record, strlen(record), &error), 0);
    assert_false(units->is_info);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/info.json", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void units_of_a_record_are_those_of_the_info_beside_it(void **state)
{
    (void)state;
    struct pretty_units units;

    read_beside(&units, metron_info, "{\"elapsed\":1}");
    NUMBER_IS(&units, 90, "1 min 30 s", "elapsed");
    NUMBER_IS(&units, 1536, "1.5 KiB", "measurements", "proc_rss_total");
    NUMBER_IS(&units, 250, "250 W", "measurements", "gpu_power", "0");
    NUMBER_IS(&units, 3, NULL, "measurements", "proc_stat", "4711", "R");
    NUMBER_IS(&units, 3, NULL, "measurements", "proc_rss_total", "a", "b");
    NUMBER_IS(&units, 3, NULL, "proc_rss_total");
    NUMBER_IS(&units, 1024, "1 KiB", "max_rss"); /* of an event */
    NUMBER_IS(&units, 4711, NULL, "pid");
    pretty_units_fini(&units);
}

static void keys_of_con_duct_have_units_and_are_named_what_they_are(void **state)
{
    (void)state;
    struct pretty_units units;
    struct pretty_text text;
    struct pretty_path path = {.names = {"processes", "1", "pcpu"}, .count = 3};

    read_beside(&units, duct_info, "{\"totals\":{}}");
    NUMBER_IS(&units, 1048576, "1 MiB", "processes", "4711", "rss");
    NUMBER_IS(&units, 1048576, "1 MiB", "totals", "rss");
    NUMBER_IS(&units, 12.5, "12.5 %", "averages", "pmem");
    NUMBER_IS(&units, 3, "3", "averages", "num_samples");
    NUMBER_IS(&units, 3, NULL, "processes", "4711", "stat", "R");
    assert_true(pretty_units_number(&units, &path, 50, &text));
    assert_non_null(strstr(text.note, "an average over the life"));
    assert_true(pretty_units_number(&units, &path, 50, &text));
    assert_null(text.note); /* told once */
    pretty_units_fini(&units);
}

static void without_a_recording_there_are_no_units(void **state)
{
    (void)state;
    struct pretty_units units;

    assert_true(pretty_units_init(&units, NULL, "{}", 2, &error) < 0);
    assert_int_equal(units.count, 0);
    pretty_units_fini(&units);
    assert_true(pretty_units_init(&units, "/nonexistent/usage.jsonl", "{}", 2, &error) < 0);
    pretty_units_fini(&units);
}

/* -- Pieces -- */

/* The pieces of a file in a row, each with | behind it; of one that is damaged ! and the message. */
static void assert_pieces(const char *name, const char *bytes, const char *expected)
{
    struct json_pieces pieces;
    struct json_text piece;
    int code;

    strbuf_reset(&out);
    json_pieces_init(&pieces, name, bytes, strlen(bytes));
    while ((code = json_pieces_next(&pieces, &piece, &error)) != 0) {
        if (code < 0)
            strbuf_addf(&out, "!%s|", error.message);
        else
            strbuf_addf(&out, "%.*s|", (int)piece.length, piece.bytes);
        assert_in_range(out.length, 1, 4096);
    }
    assert_string_equal(strbuf_text(&out), expected);
    json_pieces_fini(&pieces);
}

static void a_file_is_a_document_or_a_value_a_line(void **state)
{
    (void)state;
    assert_pieces("f", "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}|{\"b\":2}|");
    assert_pieces("f", "\n \n{\"a\":1}\n\n{\"b\":2}", "{\"a\":1}|{\"b\":2}|");
    assert_pieces("f", "{\n\"a\":1\n}\n", "{\n\"a\":1\n}\n|");
    assert_pieces("f", "[\n{}\n]\n", "[\n{}\n]\n|");
    assert_pieces("f", "1\n2\n", "1|2|");
}

static void a_damaged_line_is_named_and_the_rest_is_there(void **state)
{
    (void)state;
    assert_pieces("f", "{}\n{\"a\":\n{}\n", "{}|!f: line 2, column 6: cut off where a value belongs|{}|");
    assert_pieces("f", "{}\n\n[1,2", "{}|!f: line 3, column 5: cut off within an array|");
    /* The first one damaged: the next tells that these are lines. */
    assert_pieces("f", "{\"a\n{}\n[]\n", "!f: line 1, column 2: a string that does not end|{}|[]|");
    assert_pieces("f.jsonl", "{\n1\n", "!f.jsonl: line 1, column 2: cut off within an object|1|");
}

static void what_is_no_json_is_told_once(void **state)
{
    (void)state;
    struct json_pieces pieces;
    struct json_text piece;

    assert_pieces("f", "", "!f: empty, there is nothing to show|");
    assert_pieces("f", " \n\n", "!f: empty, there is nothing to show|");
    assert_pieces("f", "hello\nworld\n", "!f: line 1, column 1: no JSON value|");
    assert_pieces("f", "{\n  \"a\": 1,\n  b\n}\n",
                  "!f: line 3, column 3: no key in quotes where one belongs|");
    json_pieces_init(&pieces, "f.jsonl",
                     "\x7f"
                     "ELF\0\0\n\n\n",
                     9);
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), -EILSEQ);
    assert_string_equal(error.message, "f.jsonl: binary, no JSON");
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), 0);
    json_pieces_fini(&pieces);
}

static void a_line_that_is_too_long_is_passed_over(void **state)
{
    (void)state;
    size_t size = JSON_PIECE_MAX + 16;
    char *bytes = malloc(size);
    struct json_pieces pieces;
    struct json_text piece;

    assert_non_null(bytes);
    memset(bytes, ' ', size);
    memcpy(bytes, "[1]\n[\"", 6);
    memcpy(bytes + size - 6, "\"]\n[2]", 6);
    json_pieces_init(&pieces, "f", bytes, size);
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), 1);
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), -EBADMSG);
    assert_string_equal(error.message, "f: line 2: longer than 64 MiB");
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), 1);
    assert_true(json_text_is(&piece, "[2]"));
    assert_int_equal(json_pieces_next(&pieces, &piece, &error), 0);
    json_pieces_fini(&pieces);
    free(bytes);
}

/* -- Bounds -- */

static size_t flushed;

static bool count_flush(void *context, struct strbuf *text)
{
    assert_true(text->length < (1 << 17));
    flushed += text->length;
    strbuf_reset(text);
    return context == NULL || flushed < 200000;
}

static void what_is_printed_goes_out_in_parts(void **state)
{
    (void)state;
    enum { ITEMS = 100000 };
    char *json = malloc(2 * ITEMS + 1);
    struct pretty_options options = {.flush = count_flush};

    assert_non_null(json);
    for (size_t i = 0; i < ITEMS; i++)
        memcpy(json + 2 * i, i ? ",1" : "[1", 2);
    json[2 * ITEMS] = ']';
    flushed = 0;
    strbuf_reset(&out);
    assert_int_equal(pretty_print(&out, json, 2 * ITEMS + 1, &options, &error), 0);
    assert_int_equal(flushed + out.length, 5 * ITEMS + 3); /* "[", "\n  1," each, no last comma, "\n]\n" */
    options.flush_context = &options;
    flushed = 0;
    strbuf_reset(&out);
    assert_int_equal(pretty_print(&out, json, 2 * ITEMS + 1, &options, &error), -ECANCELED);
    assert_true(flushed < 300000);
    free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_value_has_a_line, teardown),
        cmocka_unit_test_teardown(numbers_and_strings_are_as_they_stand, teardown),
        cmocka_unit_test_teardown(a_terminal_gets_no_control_characters, teardown),
        cmocka_unit_test_teardown(colours_end_where_they_begin, teardown),
        cmocka_unit_test_teardown(a_number_is_asked_for_by_its_path, teardown),
        cmocka_unit_test_teardown(units_of_an_info_are_its_own, teardown),
        cmocka_unit_test_teardown(units_of_a_record_are_those_of_the_info_beside_it, teardown),
        cmocka_unit_test_teardown(keys_of_con_duct_have_units_and_are_named_what_they_are, teardown),
        cmocka_unit_test_teardown(without_a_recording_there_are_no_units, teardown),
        cmocka_unit_test_teardown(a_file_is_a_document_or_a_value_a_line, teardown),
        cmocka_unit_test_teardown(a_damaged_line_is_named_and_the_rest_is_there, teardown),
        cmocka_unit_test_teardown(what_is_no_json_is_told_once, teardown),
        cmocka_unit_test_teardown(a_line_that_is_too_long_is_passed_over, teardown),
        cmocka_unit_test_teardown(what_is_printed_goes_out_in_parts, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
