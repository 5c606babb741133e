/* Format strings: fields, formats as Python has them, conversions and colours, and what is malformed. */
#include "view/format.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *key;
    struct format_value value;
} known[] = {
    {"n", {.kind = FORMAT_NUMBER, .number = 1234.5678}},
    {"i", {.kind = FORMAT_NUMBER, .number = 1234567}},
    {"neg", {.kind = FORMAT_NUMBER, .number = -42}},
    {"tiny", {.kind = FORMAT_NUMBER, .number = -0.0001}},
    {"zero", {.kind = FORMAT_NUMBER, .number = -0.0}},
    {"big", {.kind = FORMAT_NUMBER, .number = 1e300}},
    {"nan", {.kind = FORMAT_NUMBER, .number = (double)NAN}},
    {"half", {.kind = FORMAT_NUMBER, .number = 0.5}},
    {"bytes", {.kind = FORMAT_NUMBER, .number = 1610612736}},
    {"exit_code", {.kind = FORMAT_NUMBER, .number = 0}},
    {"bad_code", {.kind = FORMAT_NUMBER, .number = 3}},
    {"t", {.kind = FORMAT_TEXT, .text = "text"}},
    {"empty", {.kind = FORMAT_TEXT, .text = ""}},
    {"utf8", {.kind = FORMAT_TEXT, .text = "h\xc3\xa9llo"}},
    {"dirty", {.kind = FORMAT_TEXT, .text = "a\n\033[2J\xff"}},
    {"yes", {.kind = FORMAT_BOOLEAN, .number = 1}},
    {"no", {.kind = FORMAT_BOOLEAN, .number = 0}},
    {"absent", {.kind = FORMAT_ABSENT}},
    {"proc_peak_rss_total", {.kind = FORMAT_NUMBER, .number = 1}},
};

#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

static bool lookup(void *context, const char *key, struct format_value *out)
{
    (void)context;
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (strcmp(known[i].key, key) == 0) {
            *out = known[i].value;
            return true;
        }
    }
    return false;
}

static const char *names(void *context, size_t index)
{
    (void)context;
    return index < KNOWN_COUNT ? known[index].key : NULL;
}

static void check_with(const char *format, const char *expected, bool colors)
{
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(format_check(format, names, NULL, NULL), 0);
    assert_int_equal(format_render(&out, format, lookup, NULL, colors), 0);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void check(const char *format, const char *expected)
{
    check_with(format, expected, false);
}

static void plain_fields_are_filled_in(void **state)
{
    (void)state;
    check("", "");
    check("no fields", "no fields");
    check("{t}", "text");
    check("a {t} b {i} c", "a text b 1234567 c");
    check("{n} {neg} {half} {big}", "1234.5678 -42 0.5 1e+300");
    check("{yes} {no} {empty}|", "true false |");
    check("{absent}", "-");
}

static void braces_and_escapes_are_themselves(void **state)
{
    (void)state;
    check("{{{t}}}", "{text}");
    check("{{}}", "{}");
    check("a\\nb\\tc\\\\d", "a\nb\tc\\d");
    check("\\x \\", "\\x \\");
    check("\\\\n", "\\n");
}

static void numbers_have_types_and_precision(void **state)
{
    (void)state;
    check("{n:.2f} {n:f} {n:.0f}", "1234.57 1234.567800 1235");
    check("{n:d} {n:e} {n:.1e}", "1235 1.234568e+03 1.2e+03");
    check("{n:g} {n:.2g} {n:.3}", "1234.57 1.2e+03 1.23e+03");
    check("{half:%} {half:.1%}", "50.000000% 50.0%");
    check("{i:,} {i:,.2f} {n:,d} {neg:,} {half:,}", "1,234,567 1,234,567.00 1,235 -42 0.5");
    check("{n:s}", "1234.5678");
    check("{yes:d} {no:.1f}", "1 0.0");
}

static void zeros_have_no_sign_and_nan_no_digits(void **state)
{
    (void)state;
    check("{zero} {zero:.2f} {tiny:.2f} {tiny:d} {tiny:.1%}", "0 0.00 0.00 0 0.0%");
    check("{tiny:e}", "-1.000000e-04");
    check("{nan} {nan:.2f} {nan!S}", "- - -");
}

static void widths_and_alignment(void **state)
{
    (void)state;
    check("[{t:6}] [{neg:6}]", "[text  ] [   -42]"); /* texts left, numbers right */
    check("[{t:>6}] [{neg:<6}] [{t:^7}]", "[  text] [-42   ] [ text  ]");
    check("[{t:*^8}] [{t:->6}] [{t:\xc2\xb7<6}]", "[**text**] [--text] [text\xc2\xb7\xc2\xb7]");
    check("[{neg:06}] [{half:06.2f}] [{neg:01}]", "[-00042] [000.50] [-42]");
    check("[{half:07.1%}]", "[0050.0%]");
    check("[{t:2}]", "[text]");
    check("[{utf8:7}] [{utf8:.3}] [{utf8:>4.2s}]", "[h\xc3\xa9llo  ] [h\xc3\xa9l] [  h\xc3\xa9]");
    check("[{absent:6}] [{absent:6.1f}] [{absent:06d}]", "[-     ] [     -] [     -]");
    check("[{t:08}]", "[text    ]");
}

static void sizes_are_human(void **state)
{
    (void)state;
    check("{bytes!S} [{bytes!S:>10}] [{bytes!S:10}] {absent!S} {t!S}",
          "1.5 GiB [   1.5 GiB] [1.5 GiB   ] - text");
}

static void colours_tell_good_from_bad(void **state)
{
    (void)state;
    check("{exit_code!E} {bad_code!E}", "0 3");
    check_with("{exit_code!E} {bad_code!E} {absent!E}", "\033[32m0\033[0m \033[31m3\033[0m \033[31m-\033[0m",
               true);
    check_with("{yes!X} {no!X} {t!X} {empty!X}",
               "\033[32mtrue\033[0m \033[31mfalse\033[0m \033[32mtext\033[0m \033[31m\033[0m", true);
    check_with("{bad_code!N} {absent!N} {exit_code!N}", "\033[32m3\033[0m \033[31m-\033[0m \033[32m0\033[0m",
               true);
    check_with("[{bad_code!E:>4}]", "[   \033[31m3\033[0m]", true); /* colours take no width */
    check_with("{t} {bytes!S}", "text 1.5 GiB", true);
}

static void texts_cannot_reach_the_terminal(void **state)
{
    (void)state;
    check("{dirty}", "a\\x0a\\x1b[2J\\xff");
    check("{dirty:.2}", "a\\x0a");
}

static void a_kind_that_does_not_fit_is_shown_as_it_is(void **state)
{
    (void)state;
    check("{t:.2f} {t:d} {t:%}", "text text text");
}

static void unknown_keys_render_as_absent(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(format_render(&out, "{never} {t}", lookup, NULL, false), 0);
    assert_string_equal(strbuf_text(&out), "- text");
    strbuf_fini(&out);
}

static void unknown_keys_are_refused_with_the_nearest(void **state)
{
    (void)state;
    struct metron_error error = {0};

    assert_int_equal(format_check("{t} {exit_cod}", names, NULL, &error), -EINVAL);
    assert_string_equal(error.message, "summary format: unknown key 'exit_cod' (did you mean 'exit_code'?)");
    assert_int_equal(format_check("{peak_rss}", names, NULL, &error), -EINVAL);
    assert_non_null(strstr(error.message, "'proc_peak_rss_total'"));
}

static void check_malformed(const char *format, size_t position)
{
    struct metron_error error = {0};
    struct strbuf out = STRBUF_INIT;
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "position %zu: ", position);
    assert_int_equal(format_check(format, names, NULL, &error), -EINVAL);
    if (!strstr(error.message, expected))
        fail_msg("'%s': '%s' is not in '%s'", format, expected, error.message);
    assert_int_equal(format_render(&out, format, lookup, NULL, false), -EINVAL);
    strbuf_fini(&out);
}

static void the_largest_width_and_precision_are_taken(void **state)
{
    (void)state;
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(format_render(&out, "{t:500}", lookup, NULL, false), 0);
    assert_int_equal(out.length, 500);
    strbuf_reset(&out);
    assert_int_equal(format_render(&out, "{half:.100f}", lookup, NULL, false), 0);
    assert_int_equal(out.length, strlen("0.") + 100);
    strbuf_fini(&out);
}

static void malformed_formats_name_the_position(void **state)
{
    (void)state;
    check_malformed("{", 1);
    check_malformed("abc {t", 5);
    check_malformed("{t{i}", 1);
    check_malformed("{}", 1);
    check_malformed("{:d}", 1);
    check_malformed("}", 1);
    check_malformed("a } b", 3);
    check_malformed("{t}}", 4);
    check_malformed("{t!Z}", 3);
    check_malformed("{t!}", 3);
    check_malformed("{t!", 3);
    check_malformed("{t!S", 5);
    check_malformed("{t!SS}", 5);
    check_malformed("{t:x}", 4);
    check_malformed("{t:.}", 5);
    check_malformed("{t:.f}", 5);
    check_malformed("{t:", 4);
    check_malformed("{t:5", 5);
    check_malformed("{t:501}", 4);
    check_malformed("{t:99999999999999999999}", 4);
    check_malformed("{t:.101f}", 5);
    check_malformed("{t:5dd}", 6);
    check_malformed("{t:,,}", 5);
}

static void very_long_keys_are_refused(void **state)
{
    (void)state;
    char format[512];

    memset(format, 'k', sizeof(format));
    format[0] = '{';
    format[sizeof(format) - 2] = '}';
    format[sizeof(format) - 1] = '\0';
    check_malformed(format, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_fields_are_filled_in),
        cmocka_unit_test(braces_and_escapes_are_themselves),
        cmocka_unit_test(numbers_have_types_and_precision),
        cmocka_unit_test(zeros_have_no_sign_and_nan_no_digits),
        cmocka_unit_test(widths_and_alignment),
        cmocka_unit_test(sizes_are_human),
        cmocka_unit_test(colours_tell_good_from_bad),
        cmocka_unit_test(texts_cannot_reach_the_terminal),
        cmocka_unit_test(a_kind_that_does_not_fit_is_shown_as_it_is),
        cmocka_unit_test(unknown_keys_render_as_absent),
        cmocka_unit_test(unknown_keys_are_refused_with_the_nearest),
        cmocka_unit_test(the_largest_width_and_precision_are_taken),
        cmocka_unit_test(malformed_formats_name_the_position),
        cmocka_unit_test(very_long_keys_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
