/* The JSON writer: commas, indentation, numbers at their edges, and any byte in a text. */
#include "base/json.h"

#include <float.h>
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

static struct strbuf out;
static struct json json;

static int setup(void **state)
{
    (void)state;
    out = (struct strbuf)STRBUF_INIT;
    json_init(&json, &out, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    strbuf_fini(&out);
    return 0;
}

static void commas_stand_between_values_only(void **state)
{
    (void)state;
    json_object_begin(&json);
    json_key_integer(&json, "a", 1);
    json_key(&json, "b");
    json_array_begin(&json);
    json_integer(&json, 1);
    json_object_begin(&json);
    json_object_end(&json);
    json_boolean(&json, false);
    json_array_begin(&json);
    json_array_end(&json);
    json_array_end(&json);
    json_key_boolean(&json, "c", true);
    json_object_end(&json);
    assert_string_equal(strbuf_text(&out), "{\"a\":1,\"b\":[1,{},false,[]],\"c\":true}");
    assert_int_equal(json.depth, 0);
}

static void indented_objects_have_a_line_per_member(void **state)
{
    (void)state;
    json_init(&json, &out, 2);
    json_object_begin(&json);
    json_key_string(&json, "a", "x");
    json_key(&json, "b");
    json_array_begin(&json);
    json_integer(&json, 1);
    json_integer(&json, 2);
    json_array_end(&json);
    json_key(&json, "c");
    json_object_begin(&json);
    json_object_end(&json);
    json_object_end(&json);
    assert_string_equal(strbuf_text(&out),
                        "{\n  \"a\": \"x\",\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
}

static void deep_indentation_is_whole(void **state)
{
    (void)state;
    json_init(&json, &out, 8);
    for (int i = 0; i < 20; i++)
        json_array_begin(&json);
    json_integer(&json, 7);
    for (int i = 0; i < 20; i++)
        json_array_end(&json);

    const char *seven = strchr(strbuf_text(&out), '7');

    assert_non_null(seven);
    for (int i = 1; i <= 160; i++)
        assert_int_equal(seven[-i], ' ');
    assert_int_equal(seven[-161], '\n');
}

static void absent_text_writes_neither_key_nor_value(void **state)
{
    (void)state;
    json_object_begin(&json);
    json_key_string(&json, "gone", NULL);
    json_key_string(&json, "here", "");
    json_object_end(&json);
    assert_string_equal(strbuf_text(&out), "{\"here\":\"\"}");
}

static void check_number(double value, const char *expected)
{
    strbuf_reset(&out);
    json_init(&json, &out, 0);
    json_number(&json, value);
    assert_string_equal(strbuf_text(&out), expected);
}

static void integral_numbers_are_exact_up_to_2_53(void **state)
{
    (void)state;
    check_number(0, "0");
    check_number(-0.0, "0");
    check_number(1099511627776.0, "1099511627776");
    check_number(9007199254740992.0, "9007199254740992");
    check_number(-9007199254740991.0, "-9007199254740991");
}

static void other_numbers_have_ten_digits(void **state)
{
    (void)state;
    check_number(0.1, "0.1");
    check_number(1.0 / 3, "0.3333333333");
    check_number(-2.5, "-2.5");
    check_number(1e300, "1e+300");
    check_number(DBL_MAX, "1.797693135e+308");
    check_number(5e-324, "4.940656458e-324");
    check_number(18446744073709551616.0, "1.844674407e+19");
}

static void check_decimal(double value, unsigned digits, const char *expected)
{
    strbuf_reset(&out);
    json_init(&json, &out, 0);
    json_decimal(&json, value, digits);
    assert_string_equal(strbuf_text(&out), expected);
}

static void decimals_have_so_many_digits_and_no_zeros_at_the_end(void **state)
{
    (void)state;
    check_decimal(0, 3, "0");
    check_decimal(12, 3, "12");
    check_decimal(1200, 0, "1200");
    check_decimal(1.5, 0, "2");
    check_decimal(1.5, 9, "1.5");
    check_decimal(0.000000001, 9, "0.000000001");
    check_decimal(48.22265625, 3, "48.223");
    check_decimal(0.0499, 1, "0");
    check_decimal(0.05, 1, "0.1");
    check_decimal(9.9996, 3, "10");
    check_decimal(-2.25, 2, "-2.25");
    check_decimal(-0.0004, 3, "0");
    check_decimal(1763192573.000001, 6, "1763192573.000001");
    check_decimal(1763192573.25, 6, "1763192573.25");
    check_decimal(9007199254740992.0, 0, "9007199254740992");
    check_decimal(1e300, 3, "1e+300");
    check_decimal(-1e15, 9, "-1000000000000000");
}

/* The C library rounds the exact value; here it is the product, which may fall on the other side of a half.
 */
static void decimals_are_those_of_printf(void **state)
{
    (void)state;
    unsigned seed = 7, different = 0;

    for (int i = 0; i < 200000; i++) {
        const unsigned digits = (unsigned)rand_r(&seed) % 7;
        const double value =
            ((double)rand_r(&seed) - RAND_MAX / 2.0) / (1 + (double)(rand_r(&seed) % 100000));
        char expected[64];
        size_t length = (size_t)snprintf(expected, sizeof(expected), "%.*f", (int)digits, value);

        while (digits > 0 && expected[length - 1] == '0')
            expected[--length] = '\0';
        if (expected[length - 1] == '.')
            expected[--length] = '\0';
        strbuf_reset(&out);
        json_init(&json, &out, 0);
        json_decimal(&json, value, digits);
        different += strcmp(strbuf_text(&out), strcmp(expected, "-0") == 0 ? "0" : expected) != 0;
        assert_true(fabs(strtod(strbuf_text(&out), NULL) - value) <
                    0.5000001 * pow(10, -(double)digits) + fabs(value) * DBL_EPSILON);
    }
    assert_true(different < 200);
}

static void numbers_have_a_point_in_every_locale(void **state)
{
    (void)state;
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
    bool found = false;

    for (size_t i = 0; i < sizeof(commas) / sizeof(commas[0]) && !found; i++)
        found = setlocale(LC_NUMERIC, commas[i]) != NULL;
    if (!found)
        print_message("# no locale with a decimal comma is installed: this run proves nothing about them\n");
    check_number(1.5, "1.5");
    (void)setlocale(LC_NUMERIC, "C");
}

static void integers_reach_their_limits(void **state)
{
    (void)state;
    json_array_begin(&json);
    json_integer(&json, INT64_MIN);
    json_integer(&json, INT64_MAX);
    json_integer(&json, 0);
    json_integer(&json, -10);
    json_array_end(&json);
    assert_string_equal(strbuf_text(&out), "[-9223372036854775808,9223372036854775807,0,-10]");
}

static void check_bytes(const char *bytes, size_t length, const char *expected)
{
    strbuf_reset(&out);
    json_init(&json, &out, 0);
    json_bytes(&json, bytes, length);
    assert_string_equal(strbuf_text(&out), expected);
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    check_bytes("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    check_bytes("\n\r\t\033\001\x1f", 6, "\"\\n\\r\\t\\u001b\\u0001\\u001f\"");
    check_bytes("\x7f", 1, "\"\\u007f\"");
    check_bytes("\xc2\x9b\xc2\xa0", 4, "\"\\u009b\xc2\xa0\""); /* CSI as one character */
    check_bytes("\xe2\x80\xae\xe2\x80\xa8\xd8\x9c", 8, "\"\\u202e\\u2028\\u061c\"");
}

static void what_is_no_utf8_becomes_text(void **state)
{
    (void)state;
    check_bytes("a\0b", 3, "\"a\\\\x00b\"");
    check_bytes("\xff\x80", 2, "\"\\\\xff\\\\x80\"");
    check_bytes("\xc3\xa9\xc3", 3, "\"\xc3\xa9\\\\xc3\"");
    check_bytes("\xed\xa0\x80", 3, "\"\\\\xed\\\\xa0\\\\x80\"");
    check_bytes("\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"");
    check_bytes("", 0, "\"\"");
}

/* Eight plain bytes are looked at together: each byte in each place. */
static void a_special_byte_is_found_wherever_it_stands(void **state)
{
    (void)state;
    static const struct {
        char byte;
        const char *written;
    } specials[] = {{'"', "\\\""},     {'\\', "\\\\"},      {'\n', "\\n"},       {'\x1f', "\\u001f"},
                    {'\0', "\\\\x00"}, {'\x80', "\\\\x80"}, {'\xff', "\\\\xff"}, {'\x7f', "\\u007f"},
                    {' ', " "},        {'!', "!"},          {'#', "#"},          {'[', "["},
                    {']', "]"}};

    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        for (size_t place = 0; place < 20; place++) {
            char bytes[20], expected[64];

            memset(bytes, 'a', sizeof(bytes));
            bytes[place] = specials[i].byte;
            (void)snprintf(expected, sizeof(expected), "\"%.*s%s%.*s\"", (int)place, "aaaaaaaaaaaaaaaaaaaa",
                           specials[i].written, (int)(19 - place), "aaaaaaaaaaaaaaaaaaaa");
            check_bytes(bytes, sizeof(bytes), expected);
        }
    }
}

static void keys_are_escaped_like_values(void **state)
{
    (void)state;
    json_object_begin(&json);
    json_key_integer(&json, "a\"\n", 1);
    json_object_end(&json);
    assert_string_equal(strbuf_text(&out), "{\"a\\\"\\n\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commas_stand_between_values_only, setup, teardown),
        cmocka_unit_test_setup_teardown(indented_objects_have_a_line_per_member, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_indentation_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(absent_text_writes_neither_key_nor_value, setup, teardown),
        cmocka_unit_test_setup_teardown(integral_numbers_are_exact_up_to_2_53, setup, teardown),
        cmocka_unit_test_setup_teardown(other_numbers_have_ten_digits, setup, teardown),
        cmocka_unit_test_setup_teardown(decimals_have_so_many_digits_and_no_zeros_at_the_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(decimals_are_those_of_printf, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_have_a_point_in_every_locale, setup, teardown),
        cmocka_unit_test_setup_teardown(integers_reach_their_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(control_characters_are_escaped, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_utf8_becomes_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_special_byte_is_found_wherever_it_stands, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_are_escaped_like_values, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
