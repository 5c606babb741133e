/* The JSON reader: what it takes, what it refuses and where, and that a value skipped is a value read. */
#include "base/json_reader.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct json_reader reader;
static struct metron_error error;
static char *heap; /* the text without a NUL, in a block of its size: a sanitiser sees every step past it */

static int teardown(void **state)
{
    (void)state;
    json_reader_fini(&reader);
    free(heap);
    heap = NULL;
    return 0;
}

static void begin(const char *text)
{
    size_t length = strlen(text);

    (void)teardown(NULL);
    heap = malloc(length ? length : 1);
    assert_non_null(heap);
    memcpy(heap, text, length);
    error = (struct metron_error){0};
    json_reader_init(&reader, heap, length);
}

/* Reads everything; returns how many values there were. */
static int read_all(int level)
{
    struct json_text text;
    double number;
    bool boolean;
    int count = 1;

    assert_in_range(level, 0, JSON_DEPTH_MAX);
    switch (json_peek(&reader)) {
    case JSON_OBJECT:
        if (json_enter_object(&reader)) {
            while (json_next_key(&reader, &text))
                count += read_all(level + 1);
        }
        break;
    case JSON_ARRAY:
        if (json_enter_array(&reader)) {
            while (json_next_item(&reader))
                count += read_all(level + 1);
        }
        break;
    case JSON_STRING:
        (void)json_read_text(&reader, &text);
        break;
    case JSON_NUMBER:
        (void)json_read_number(&reader, &number);
        break;
    case JSON_BOOLEAN:
        (void)json_read_boolean(&reader, &boolean);
        break;
    default:
        (void)json_skip(&reader);
    }
    return count;
}

static void assert_number(const char *text, double expected)
{
    double number = NAN;

    begin(text);
    assert_true(json_read_number(&reader, &number));
    assert_int_equal(json_reader_end(&reader, &error), 0);
    assert_memory_equal(&number, &expected, sizeof(number)); /* to the bit: -0 is not 0 */
}

static void assert_text(const char *json, const char *expected, size_t length)
{
    struct json_text text;

    begin(json);
    assert_true(json_read_text(&reader, &text));
    assert_int_equal(json_reader_end(&reader, &error), 0);
    assert_int_equal(text.length, length);
    assert_memory_equal(text.bytes, expected, length);
}

/* Refused when it is read and, where skipping looks at it, when it is skipped. */
static void assert_refused(const char *json, const char *message)
{
    begin(json);
    (void)read_all(0);
    assert_int_equal(json_reader_end(&reader, &error), -EBADMSG);
    assert_string_equal(error.message, message);
    assert_int_equal(json_peek(&reader), JSON_NOTHING);
    assert_false(json_skip(&reader));
}

static void assert_skip_refused(const char *json, const char *message)
{
    begin(json);
    assert_false(json_skip(&reader));
    assert_int_equal(json_reader_end(&reader, &error), -EBADMSG);
    assert_string_equal(error.message, message);
}

static void a_record_is_read_value_by_value(void **state)
{
    (void)state;
    struct json_text key, text = {0};
    double elapsed = 0, first = 0;
    bool flag = false;
    int skipped = 0;

    begin(" {\"timestamp\": \"2026\", \"elapsed\" : 12.5,\n\t\"measurements\": {\"a\": [7, {}, []]},"
          " \"ok\": true, \"none\": null, \"empty\": {}} \r\n");
    assert_true(json_enter_object(&reader));
    while (json_next_key(&reader, &key)) {
        if (json_text_is(&key, "timestamp")) {
            assert_true(json_read_text(&reader, &text));
        } else if (json_text_is(&key, "elapsed")) {
            assert_true(json_read_number(&reader, &elapsed));
        } else if (json_text_is(&key, "ok")) {
            assert_true(json_read_boolean(&reader, &flag));
        } else if (json_text_is(&key, "measurements")) {
            assert_true(json_enter_object(&reader));
            assert_true(json_next_key(&reader, &key));
            assert_true(json_enter_array(&reader));
            assert_true(json_next_item(&reader));
            assert_true(json_read_number(&reader, &first));
            while (json_next_item(&reader))
                assert_true(json_skip(&reader));
            assert_false(json_next_key(&reader, &key));
        } else {
            assert_true(json_skip(&reader));
            skipped++;
        }
    }
    assert_int_equal(json_reader_end(&reader, &error), 0);
    assert_true(json_text_is(&text, "2026"));
    assert_false(json_text_is(&text, "20260"));
    assert_false(json_text_is(&text, "202"));
    assert_true(elapsed == 12.5 && first == 7 && flag);
    assert_int_equal(skipped, 2);
    assert_int_equal(reader.depth, 0);
}

static void a_value_of_another_kind_is_left_where_it_is(void **state)
{
    (void)state;
    struct json_text text;
    double number;
    bool boolean;

    begin("[\"x\", 1]");
    assert_false(json_enter_object(&reader));
    assert_true(json_enter_array(&reader));
    assert_true(json_next_item(&reader));
    assert_false(json_read_number(&reader, &number));
    assert_false(json_read_boolean(&reader, &boolean));
    assert_false(json_enter_array(&reader));
    assert_false(reader.failed);
    assert_int_equal(json_peek(&reader), JSON_STRING);
    assert_true(json_skip(&reader));
    assert_true(json_next_item(&reader));
    assert_false(json_read_text(&reader, &text));
    assert_true(json_read_number(&reader, &number));
    assert_false(json_next_item(&reader));
    assert_int_equal(json_reader_end(&reader, &error), 0);
}

static void a_document_of_another_kind_is_told_at_the_end(void **state)
{
    (void)state;
    begin(" [1]");
    assert_false(json_enter_object(&reader));
    assert_int_equal(json_reader_end(&reader, &error), -EBADMSG);
    assert_string_equal(error.message, "line 1, column 2: another kind of value than expected");
}

static void numbers_are_those_of_strtod(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "10",
        "0.1",
        "12.5",
        "99.87",
        "123456.789",
        "1e5",
        "1E+5",
        "1.5e-7",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0000000000000000000000000000000000000001",
        "18446744073709551615",
        "18446744073709551616",
        "1234567890123456789012345678901234567890",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "8.5e22",
        "123456789e15",
        "1e-22",
        "1e-23",
        "4.9e-324",
        "2.4e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "0e999999999999999999999",
        "1e-999999999999999999999",
        "0.000000000000000000000000000000001",
        "100000000000000000000000000000000000000e-38",
        "1763192573.123456",
        "420777477969067740e-1",
        "9742052061673895815e8",
        "4308656462953460874e-12"}; /* the last three are wrong if rounded twice */

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_number(texts[i], strtod(texts[i], NULL));
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool found = false;

    for (size_t i = 0; i < sizeof(comma) / sizeof(*comma) && !found; i++)
        found = setlocale(LC_NUMERIC, comma[i]) != NULL;
    if (!found)
        print_message("# no locale with a decimal comma is installed: this run proves nothing about them\n");
    assert_number("1.5", 1.5);
    assert_number("9007199254740993.5", 9007199254740994.0);
    (void)setlocale(LC_NUMERIC, "C");
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_refused("-", "line 1, column 1: a minus without a number");
    assert_refused("-x", "line 1, column 1: a minus without a number");
    assert_refused("01", "line 1, column 1: a number with leading zeros");
    assert_refused("-012", "line 1, column 1: a number with leading zeros");
    assert_refused("1.", "line 1, column 1: a number without digits behind its point");
    assert_refused("1.e5", "line 1, column 1: a number without digits behind its point");
    assert_refused("1e", "line 1, column 1: a number without digits in its exponent");
    assert_refused("1e+", "line 1, column 1: a number without digits in its exponent");
    assert_refused("+1", "line 1, column 1: no JSON value");
    assert_refused(".5", "line 1, column 1: no JSON value");
    assert_refused("NaN", "line 1, column 1: no JSON value");
    assert_refused("Infinity", "line 1, column 1: no JSON value");
    assert_refused("1e999", "line 1, column 1: a number that is too large");
    assert_refused("0x10", "line 1, column 2: something behind the end of the value");
}

static void a_number_of_any_length_is_skipped_and_a_mad_one_not_read(void **state)
{
    (void)state;
    size_t size = 100000;
    char *digits = malloc(size + 1);

    assert_non_null(digits);
    memset(digits, '1', size);
    digits[size] = '\0';
    begin(digits);
    assert_true(json_skip(&reader));
    assert_int_equal(json_reader_end(&reader, &error), 0);
    assert_refused(digits, "line 1, column 1: a number of more than 2,000 characters");
    digits[300] = '\0';
    assert_number(digits, strtod(digits, NULL));
    free(digits);
}

static void strings_are_borrowed_unless_they_have_escapes(void **state)
{
    (void)state;
    struct json_text text;

    begin("[\"plain text of more than eight bytes, äöü \xF0\x9F\x98\x80\", \"\\n\"]");
    assert_true(json_enter_array(&reader));
    assert_true(json_next_item(&reader));
    assert_true(json_read_text(&reader, &text));
    assert_ptr_equal(text.bytes, heap + 2);
    assert_true(json_next_item(&reader));
    assert_true(json_read_text(&reader, &text));
    assert_true(json_text_is(&text, "\n"));
    assert_false(json_next_item(&reader));
    assert_int_equal(json_reader_end(&reader, &error), 0);
}

static void escapes_become_what_they_stand_for(void **state)
{
    (void)state;
    assert_text("\"\"", "", 0);
    assert_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
    assert_text("\"a\\u0041z\"", "aAz", 3);
    assert_text("\"\\u00e4\\u00E4\"", "ää", 4);
    assert_text("\"\\u20ac\"", "€", 3);
    assert_text("\"\\ud83d\\ude00!\"", "\xF0\x9F\x98\x80!", 5);
    assert_text("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7f\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF",
                11);
    assert_text("\"\\udbff\\udfff\"", "\xF4\x8F\xBF\xBF", 4);
    assert_text("\"\xFF\x80\"", "\xFF\x80", 2); /* as it stands, right or not */
}

static void what_utf8_cannot_say_becomes_the_replacement_character(void **state)
{
    (void)state;
    assert_text("\"\\u0000\"", "\xEF\xBF\xBD", 3);
    assert_text("\"\\ud800\"", "\xEF\xBF\xBD", 3);
    assert_text("\"\\ude00\"", "\xEF\xBF\xBD", 3);
    assert_text("\"\\ud83dx\"", "\xEF\xBF\xBDx", 4);
    assert_text("\"\\ud83d\\n\"", "\xEF\xBF\xBD\n", 4);
    assert_text("\"\\ud83d\\u0041\"",
                "\xEF\xBF\xBD"
                "A",
                4);
    assert_text("\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD\xF0\x9F\x98\x80", 7);
}

static void strings_that_are_wrong_are_refused_read_or_skipped(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
    } wrong[] = {
        {"\"", "line 1, column 1: a string that does not end"},
        {"\"abc", "line 1, column 1: a string that does not end"},
        {"\"abc\\", "line 1, column 1: a string that does not end"},
        {"\"abc\\\"", "line 1, column 1: a string that does not end"},
        {"\"a\nb\"", "line 1, column 3: a control character in a string"},
        {"\"12345678901234567\x1f\"", "line 1, column 19: a control character in a string"},
        {"\"\\x\"", "line 1, column 2: a backslash with something that JSON does not know"},
        {"\"\\u12\"", "line 1, column 2: a backslash with something that JSON does not know"},
        {"\"\\u12g4\"", "line 1, column 2: a backslash with something that JSON does not know"},
        {"\"\\u", "line 1, column 2: a backslash with something that JSON does not know"},
        {"\"\\ud83d\\u\"", "line 1, column 8: a backslash with something that JSON does not know"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_refused(wrong[i].json, wrong[i].message);
        assert_skip_refused(wrong[i].json, wrong[i].message);
    }
    begin("\"a\0b\"");
    json_reader_reset(&reader, "\"a\0b\"", 5);
    assert_false(json_skip(&reader));
}

/* The eight-byte steps: the one special byte at every place of a string, before and after odd bytes. */
static void every_byte_is_judged_at_every_place_of_a_string(void **state)
{
    (void)state;
    char text[24];

    for (size_t length = 1; length < 20; length++) {
        for (size_t at = 0; at < length; at++) {
            for (int byte = 0; byte < 256; byte++) {
                memset(text, at % 2 ? 0xA2 : '!', sizeof(text)); /* 0xA2: a quote with its top bit set */
                text[0] = '"';
                text[1 + at] = (char)byte;
                text[1 + length] = '"';
                json_reader_reset(&reader, text, length + 2);

                /* A backslash is wrong too: \! is nothing, and behind \" no quote follows. */
                bool good = byte >= 0x20 && byte != '\\';
                bool taken = json_skip(&reader);

                assert_int_equal(taken, good);
                if (good)
                    assert_int_equal(reader.at - text, byte == '"' ? at + 2 : length + 2);
            }
        }
    }
}

static void structure_that_is_wrong_is_refused(void **state)
{
    (void)state;
    assert_refused("", "line 1, column 1: nothing in it");
    assert_refused(" \n ", "line 1, column 1: nothing in it");
    assert_refused("{", "line 1, column 2: cut off within an object");
    assert_refused("[1,\n 2", "line 2, column 3: cut off within an array");
    assert_refused("[1 2]", "line 1, column 4: neither a comma nor ] behind a value of an array");
    assert_refused("[1,]", "line 1, column 4: no JSON value");
    assert_refused("[,1]", "line 1, column 2: no JSON value");
    assert_refused("[1}", "line 1, column 3: neither a comma nor ] behind a value of an array");
    assert_refused("{\"a\":1]", "line 1, column 7: neither a comma nor } behind a value of an object");
    assert_refused("{\"a\" 1}", "line 1, column 6: no colon behind a key");
    assert_refused("{\"a\":}", "line 1, column 6: no JSON value");
    assert_refused("{\"a\":", "line 1, column 6: cut off where a value belongs");
    assert_refused("{\"a\":1,}", "line 1, column 8: no key in quotes where one belongs");
    assert_refused("{a:1}", "line 1, column 2: no key in quotes where one belongs");
    assert_refused("{1:1}", "line 1, column 2: no key in quotes where one belongs");
    assert_refused("1 2", "line 1, column 3: something behind the end of the value");
    assert_refused("{} x", "line 1, column 4: something behind the end of the value");
    assert_refused("tru", "line 1, column 1: a word that is not true, false or null");
    assert_refused("[truth]", "line 1, column 2: a word that is not true, false or null");
    assert_refused("nul", "line 1, column 1: a word that is not true, false or null");
    assert_refused("True", "line 1, column 1: no JSON value");
    assert_refused("/* a */ 1", "line 1, column 1: no JSON value");
    assert_refused("\"ä\" x", "line 1, column 5: something behind the end of the value");
}

static void skipping_checks_nesting_and_strings(void **state)
{
    (void)state;
    assert_skip_refused("[{]}", "line 1, column 3: a bracket that closes another one than is open");
    assert_skip_refused("[}", "line 1, column 2: a bracket that closes another one than is open");
    assert_skip_refused("{\"a\": [1, 2}",
                        "line 1, column 12: a bracket that closes another one than is open");
    assert_skip_refused("[[]", "line 1, column 4: cut off within an array");
    assert_skip_refused("{\"a\": {}", "line 1, column 9: cut off within an object");
    assert_skip_refused("[\"a]", "line 1, column 2: a string that does not end");
    assert_skip_refused("[\x01]", "line 1, column 2: something that is no JSON");
    assert_skip_refused("[x]", "line 1, column 2: something that is no JSON");
    assert_skip_refused("]", "line 1, column 1: no JSON value");
    begin("[\"]\", {\"}\": \"\\\"]\"}]");
    assert_true(json_skip(&reader));
    assert_int_equal(json_reader_end(&reader, &error), 0);
}

/* 64 levels, of which `outer` are entered by hand and the rest is skipped. */
static void assert_depth(int levels, int outer, bool taken)
{
    char text[2 * (JSON_DEPTH_MAX + 1) + 1];

    memset(text, '[', (size_t)levels);
    memset(text + levels, ']', (size_t)levels);
    text[2 * levels] = '\0';
    begin(text);
    for (int i = 0; i < outer; i++) {
        assert_true(json_enter_array(&reader));
        assert_true(json_next_item(&reader));
    }
    assert_int_equal(json_skip(&reader), taken);
    for (int i = 0; taken && i < outer; i++)
        assert_false(json_next_item(&reader));
    assert_int_equal(json_reader_end(&reader, &error), taken ? 0 : -EBADMSG);
    if (!taken)
        assert_string_equal(error.message, "line 1, column 65: more than 64 levels of nesting");
}

static void nesting_ends_at_the_limit_read_or_skipped(void **state)
{
    (void)state;
    char deep[200000];

    for (int outer = 0; outer < JSON_DEPTH_MAX; outer++) {
        assert_depth(JSON_DEPTH_MAX, outer, true);
        assert_depth(JSON_DEPTH_MAX + 1, outer, false);
    }
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_refused(deep, "line 1, column 65: more than 64 levels of nesting");
    assert_skip_refused(deep, "line 1, column 65: more than 64 levels of nesting");
}

static void raw_text_is_as_it_stands(void **state)
{
    (void)state;
    struct json_text key, raw;

    begin("{\"a\":  1.50e+3 , \"b\":\n[ 1,\"\\u0041\" ] }");
    assert_true(json_enter_object(&reader));
    assert_true(json_next_key(&reader, &key));
    assert_true(json_read_raw(&reader, &raw));
    assert_true(json_text_is(&raw, "1.50e+3"));
    assert_true(json_next_key(&reader, &key));
    assert_true(json_read_raw(&reader, &raw));
    assert_true(json_text_is(&raw, "[ 1,\"\\u0041\" ]"));
    assert_false(json_next_key(&reader, &key));
    assert_false(json_read_raw(&reader, &raw));
}

static void a_value_that_was_not_taken_does_not_loop(void **state)
{
    (void)state;
    struct json_text key;
    int keys = 0;

    begin("{\"a\": 1, \"b\": 2}");
    assert_true(json_enter_object(&reader));
    while (json_next_key(&reader, &key))
        keys++;
    assert_int_equal(keys, 1);
    assert_int_equal(json_reader_end(&reader, &error), -EBADMSG);
}

static void after_a_failure_everything_is_refused(void **state)
{
    (void)state;
    struct json_text text;
    double number;
    bool boolean;

    begin("[1 \"x\"]");
    (void)read_all(0);
    assert_true(reader.failed);
    assert_false(json_read_text(&reader, &text));
    assert_false(json_read_number(&reader, &number));
    assert_false(json_read_boolean(&reader, &boolean));
    assert_false(json_enter_object(&reader));
    assert_false(json_enter_array(&reader));
    assert_false(json_next_item(&reader));
    assert_false(json_next_key(&reader, &text));
    assert_false(json_read_raw(&reader, &text));
    assert_string_equal(reader.complaint, "neither a comma nor ] behind a value of an array");
}

static void a_reader_is_used_again(void **state)
{
    (void)state;
    struct json_text text;

    begin("[1");
    (void)read_all(0);
    assert_true(reader.failed);
    json_reader_reset(&reader, "\"\\t\"", 4);
    assert_true(json_read_text(&reader, &text));
    assert_int_equal(json_reader_end(&reader, &error), 0);
    json_reader_reset(&reader, NULL, 0);
    assert_int_equal(json_peek(&reader), JSON_NOTHING);
    assert_int_equal(json_reader_end(&reader, NULL), -EBADMSG);
}

/* A text cut anywhere is refused or, cut behind its value, taken; and never read past its end. */
static void every_cut_of_a_text_is_refused(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"a\\u00e4\": [1.5e-3, true, false, null, {\"b\": \"\\ud83d\\ude00\"}], \"c\": -12}";

    for (size_t length = 0; length < sizeof(whole); length++) {
        char cut[sizeof(whole)];

        memcpy(cut, whole, length);
        cut[length] = '\0';
        begin(cut);
        (void)read_all(0);
        assert_int_equal(json_reader_end(&reader, &error), length + 1 == sizeof(whole) ? 0 : -EBADMSG);
        begin(cut);
        assert_int_equal(json_skip(&reader), length + 1 == sizeof(whole));
    }
}

static void one_member_is_found_without_a_walk(void **state)
{
    static const char json[] =
        "{\"a\": 1, \"t\": \"x\\ny\", \"b\": true, \"o\": {\"a\": 3}, \"a\": 2, \"n\": null}";
    const struct json_text object = {json, sizeof(json) - 1}, array = {"[1]", 3};
    struct strbuf text = STRBUF_INIT;
    struct json_text raw;
    double number = 0;
    bool boolean = false;

    (void)state;
    assert_true(json_find_number(&object, "a", &number));
    assert_true(number == 2); /* the last one */
    assert_true(json_find(&object, "o", &raw));
    assert_true(json_text_is(&raw, "{\"a\": 3}"));
    assert_true(json_find_number(&raw, "a", &number));
    assert_true(number == 3);
    assert_true(json_find_boolean(&object, "b", &boolean));
    assert_true(boolean);
    assert_true(json_find_text(&object, "t", &text));
    assert_string_equal(strbuf_text(&text), "x\ny");
    assert_false(json_find(&object, "x", &raw));
    assert_false(json_find(&array, "a", &raw));
    assert_false(json_find_number(&object, "t", &number));
    assert_false(json_find_text(&object, "n", &text));
    assert_false(json_find_boolean(&object, "a", &boolean));
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_record_is_read_value_by_value, teardown),
        cmocka_unit_test_teardown(a_value_of_another_kind_is_left_where_it_is, teardown),
        cmocka_unit_test_teardown(a_document_of_another_kind_is_told_at_the_end, teardown),
        cmocka_unit_test_teardown(numbers_are_those_of_strtod, teardown),
        cmocka_unit_test_teardown(numbers_do_not_depend_on_the_locale, teardown),
        cmocka_unit_test_teardown(numbers_that_are_none_are_refused, teardown),
        cmocka_unit_test_teardown(a_number_of_any_length_is_skipped_and_a_mad_one_not_read, teardown),
        cmocka_unit_test_teardown(strings_are_borrowed_unless_they_have_escapes, teardown),
        cmocka_unit_test_teardown(escapes_become_what_they_stand_for, teardown),
        cmocka_unit_test_teardown(what_utf8_cannot_say_becomes_the_replacement_character, teardown),
        cmocka_unit_test_teardown(strings_that_are_wrong_are_refused_read_or_skipped, teardown),
        cmocka_unit_test_teardown(every_byte_is_judged_at_every_place_of_a_string, teardown),
        cmocka_unit_test_teardown(structure_that_is_wrong_is_refused, teardown),
        cmocka_unit_test_teardown(skipping_checks_nesting_and_strings, teardown),
        cmocka_unit_test_teardown(nesting_ends_at_the_limit_read_or_skipped, teardown),
        cmocka_unit_test_teardown(raw_text_is_as_it_stands, teardown),
        cmocka_unit_test_teardown(a_value_that_was_not_taken_does_not_loop, teardown),
        cmocka_unit_test_teardown(after_a_failure_everything_is_refused, teardown),
        cmocka_unit_test_teardown(a_reader_is_used_again, teardown),
        cmocka_unit_test_teardown(every_cut_of_a_text_is_refused, teardown),
        cmocka_unit_test(one_member_is_found_without_a_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
