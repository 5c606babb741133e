/* Lines that are too long for the screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "view/wrap.h"

static void wraps_to(const char *text, size_t indent, size_t width, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    wrap_lines(&out, text, indent, width);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void a_line_that_fits_stays_as_it_is(void **state)
{
    (void)state;
    wraps_to("  cpu   3 s\n", 4, 11, "  cpu   3 s\n");
    wraps_to("", 4, 11, "");
    wraps_to("no newline", 4, 80, "no newline");
}

static void a_longer_one_goes_on_below_its_text(void **state)
{
    (void)state;
    wraps_to("  memory  peak of a tree\n  next\n", 10, 18, "  memory  peak of\n          a tree\n  next\n");
}

static void every_part_is_within_the_width(void **state)
{
    (void)state;
    wraps_to("ab cd ef gh ij kl", 2, 8, "ab cd ef\n  gh ij\n  kl");
}

static void a_word_wider_than_the_screen_is_left_whole(void **state)
{
    (void)state;
    wraps_to("  a /a/very/long/path b\n", 4, 10, "  a /a/very/long/path\n    b\n");
}

static void without_a_width_nothing_is_broken(void **state)
{
    (void)state;
    wraps_to("one two three\n", 2, 0, "one two three\n");
}

static void colours_and_the_bytes_of_a_character_take_no_column(void **state)
{
    (void)state;
    wraps_to("\033[32mab\033[0m \xc2\xb5s cd", 1, 8, "\033[32mab\033[0m \xc2\xb5s cd");
    wraps_to("\033[32mab\033[0m \xc2\xb5s cd", 1, 7, "\033[32mab\033[0m \xc2\xb5s\n cd");
}

static void wide_characters_take_two_columns(void **state)
{
    (void)state;
    wraps_to("\u65e5\u672c \u8a9e", 1, 7, "\u65e5\u672c \u8a9e");
    wraps_to("\u65e5\u672c \u8a9e", 1, 6, "\u65e5\u672c\n \u8a9e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_that_fits_stays_as_it_is),
        cmocka_unit_test(a_longer_one_goes_on_below_its_text),
        cmocka_unit_test(every_part_is_within_the_width),
        cmocka_unit_test(a_word_wider_than_the_screen_is_left_whole),
        cmocka_unit_test(without_a_width_nothing_is_broken),
        cmocka_unit_test(colours_and_the_bytes_of_a_character_take_no_column),
        cmocka_unit_test(wide_characters_take_two_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
