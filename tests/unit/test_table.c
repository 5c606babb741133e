/* Tables on a screen: as wide as their texts, and what gives way where there is no room. */
#include "view/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"

static void expect(struct table_column *columns, size_t count, const char *const *texts, size_t text_count,
                   size_t width, const char *expected)
{
    struct table table = {.columns = columns, .column_count = count};
    struct strbuf out = STRBUF_INIT;

    table_titles(&table);
    for (size_t i = 0; i < text_count; i++)
        table_add(&table, texts[i]);
    table_write(&table, &out, width, false);
    assert_false(out.failed);
    assert_string_equal(strbuf_text(&out), expected);
    table_fini(&table);
    strbuf_fini(&out);
}

#define EXPECT(COLUMNS, TEXTS, WIDTH, EXPECTED)                                                              \
    expect(COLUMNS, ARRAY_LENGTH(COLUMNS), TEXTS, ARRAY_LENGTH(TEXTS), WIDTH, EXPECTED)

static void columns_are_as_wide_as_their_texts(void **state)
{
    (void)state;
    struct table_column columns[] = {{.title = "NAME"}, {.title = "N", .right = true}, {.title = "LONG"}};
    static const char *const texts[] = {"a", "12", "x", "日本語", "7", ""};

    EXPECT(columns, texts, 0,
           "NAME     N  LONG\n"
           "a       12  x\n"
           "日本語   7\n");
}

static void columns_that_can_be_missed_are_left_out_first(void **state)
{
    (void)state;
    /* Those with the same place in the order go together. */
    static const struct {
        size_t width;
        const char *expected;
    } screens[] = {
        {23, "COMMAND   A    B    C\none two…  aaa  bbb  ccc\n"},
        {20, "COMMAND     A    C\none two t…  aaa  ccc\n"},
        {17, "COMMAND\none two three\n"},
        {9, "COMMAND\none two …\n"},
    };
    static const char *const texts[] = {"one two three", "aaa", "bbb", "ccc"};

    for (size_t i = 0; i < ARRAY_LENGTH(screens); i++) {
        struct table_column columns[] = {{.title = "COMMAND", .fit = TABLE_CUT_END, .least = 8},
                                         {.title = "A", .drop = 2},
                                         {.title = "B", .drop = 1},
                                         {.title = "C", .drop = 2}};
        EXPECT(columns, texts, screens[i].width, screens[i].expected);
    }
}

static void a_column_that_is_the_same_in_all_rows_says_little(void **state)
{
    (void)state;
    struct table_column same[] = {{.title = "A"}, {.title = "JOB", .drop = 1, .drop_if_same = true}};
    struct table_column differ[] = {{.title = "A"}, {.title = "JOB", .drop = 1, .drop_if_same = true}};
    static const char *const one[] = {"aaaa", "x", "bbbb", "x"}, *const two[] = {"aaaa", "x", "bbbb", "y"};

    EXPECT(same, one, 8, "A\naaaa\nbbbb\n");
    EXPECT(differ, two, 8, "A\n  JOB\naaaa\n  x\nbbbb\n  y\n"); /* at last rows are broken */
}

static void a_last_column_may_go_on_below_itself(void **state)
{
    (void)state;
    struct table_column columns[] = {{.title = "KEY"}, {.title = "MEANING", .fit = TABLE_WRAPPED}};
    static const char *const texts[] = {"wall", "seconds from start to end"};

    EXPECT(columns, texts, 20,
           "KEY   MEANING\n"
           "wall  seconds from\n"
           "      start to end\n");
}

static void a_clause_that_fits_stays_whole(void **state)
{
    (void)state;
    struct table_column columns[] = {{.title = "BIAS", .fit = TABLE_CLAUSE, .least = 8}};
    static const char *const texts[] = {"a clause that is far too wide: short", "short",
                                        "no clause of it fits"};

    EXPECT(columns, texts, 9, "BIAS\nshort\nshort\nno claus…\n");
}

static void lines_between_rows_are_broken_and_letters_have_a_column(void **state)
{
    (void)state;
    struct table_column columns[] = {{.title = "N", .right = true}};
    struct table table = {
        .columns = columns, .column_count = 1, .indent = 2, .title_color = "<t>", .colors_gaps = true};
    struct strbuf out = STRBUF_INIT;

    table_text(&table, "what it is about\n", 4);
    table_titles(&table);
    table_add_cell(&table, "1", "a", NULL);
    table_add_cell(&table, "20", "", "<c>");
    table_write(&table, &out, 12, true);
    assert_string_equal(strbuf_text(&out), "what it is\n"
                                           "    about\n"
                                           "<t>   N\033[0m\n"
                                           "   1 \033[2ma\033[0m\n"
                                           "<c>  20\033[0m\n");
    table_fini(&table);
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_texts),
        cmocka_unit_test(columns_that_can_be_missed_are_left_out_first),
        cmocka_unit_test(a_column_that_is_the_same_in_all_rows_says_little),
        cmocka_unit_test(a_last_column_may_go_on_below_itself),
        cmocka_unit_test(a_clause_that_fits_stays_whole),
        cmocka_unit_test(lines_between_rows_are_broken_and_letters_have_a_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
