/* Text from outside: every class of invalid UTF-8, shell quoting that a shell undoes, distances, globs. */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/suggest.h"

static void check_length(const char *bytes, size_t length, size_t expected)
{
    assert_int_equal(text_utf8_length(bytes, length), expected);
}

static void valid_sequences_have_their_length(void **state)
{
    (void)state;
    check_length("a", 1, 1);
    check_length("\0", 1, 1);
    check_length("\xc2\x80", 2, 2);
    check_length("\xdf\xbf", 2, 2);
    check_length("\xe0\xa0\x80", 3, 3);
    check_length("\xed\x9f\xbf", 3, 3);
    check_length("\xee\x80\x80", 3, 3);
    check_length("\xef\xbf\xbf", 3, 3);
    check_length("\xf0\x90\x80\x80", 4, 4);
    check_length("\xf4\x8f\xbf\xbf", 4, 4);
    check_length("\xe2\x82\xac and more", 12, 3);
}

static void invalid_sequences_have_none(void **state)
{
    (void)state;
    check_length("", 0, 0);
    check_length("\x80", 1, 0);                 /* continuation alone */
    check_length("\xc0\x80", 2, 0);             /* overlong NUL */
    check_length("\xc1\xbf", 2, 0);             /* overlong */
    check_length("\xe0\x9f\xbf", 3, 0);         /* overlong */
    check_length("\xf0\x8f\xbf\xbf", 4, 0);     /* overlong */
    check_length("\xed\xa0\x80", 3, 0);         /* surrogate */
    check_length("\xed\xbf\xbf", 3, 0);         /* surrogate */
    check_length("\xf4\x90\x80\x80", 4, 0);     /* past U+10FFFF */
    check_length("\xf5\x80\x80\x80", 4, 0);     /* never a first byte */
    check_length("\xf8\x88\x80\x80\x80", 5, 0); /* five bytes */
    check_length("\xff", 1, 0);
    check_length("\xc3", 1, 0); /* cut off */
    check_length("\xe2\x82", 2, 0);
    check_length("\xf0\x9f\x98", 3, 0);
    check_length("\xc3\x28", 2, 0); /* no continuation */
    check_length("\xe2\x28\xa1", 3, 0);
    check_length("\xe2\x82\x28", 3, 0);
    check_length("\xf0\x9f\x98\x28", 4, 0);
    check_length("\xf0\x9f\x28\x80", 4, 0);
}

static void every_code_point_is_accepted_and_nothing_else(void **state)
{
    (void)state;
    size_t accepted = 0;

    /* All of the two- and three-byte space; the four-byte space by its first two bytes. */
    for (unsigned first = 0xC0; first < 0xF0; first++) {
        for (unsigned second = 0; second < 256; second++) {
            for (unsigned third = 0; third < 256; third++) {
                char bytes[3] = {(char)first, (char)second, (char)third};
                size_t length = text_utf8_length(bytes, 3);

                accepted += length == 3;
                if (length == 2 && third == 0)
                    accepted += 1;
            }
        }
    }
    /* U+0080..U+07FF and U+0800..U+FFFF without the 2048 surrogates */
    assert_int_equal(accepted, 0x780 + 0xF800 - 0x800);
}

static void check_printable(const char *bytes, size_t length, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    text_printable(&out, bytes, length);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void printable_text_passes_unchanged(void **state)
{
    (void)state;
    check_printable("", 0, "");
    check_printable("plain (text) \\x41", 17, "plain (text) \\x41");
    check_printable("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    check_printable("\xc2\xa0", 2, "\xc2\xa0"); /* the first past C1 */
}

static void control_and_invalid_bytes_are_shown(void **state)
{
    (void)state;
    check_printable("a\nb\tc", 5, "a\\x0ab\\x09c");
    check_printable("\033[31m", 5, "\\x1b[31m");
    check_printable("\x7f\0z", 3, "\\x7f\\x00z");
    check_printable("\xc2\x9b\xc2\x80", 4, "\\xc2\\x9b\\xc2\\x80"); /* C1: CSI as one character */
    check_printable("\x9b", 1, "\\x9b");
    check_printable("x\xff\xfey", 4, "x\\xff\\xfey");
}

/* U+2028 and U+202E as their bytes; each range at its ends, and its neighbours. */
static void marks_of_direction_and_separators_are_shown(void **state)
{
    static const uint32_t shown[] = {0x80,   0x85,   0x9B,   0x9F,   0x061C, 0x200E, 0x200F,
                                     0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069};
    static const uint32_t kept[] = {0xA0,   0x061B, 0x061D, 0x200D, 0x2010, 0x2027,
                                    0x202F, 0x2065, 0x206A, 0x20AC, 0x1F600};

    (void)state;
    check_printable("a\xe2\x80\xae"
                    "b",
                    5, "a\\xe2\\x80\\xaeb");
    check_printable("\xe2\x80\xa8\xd8\x9c", 5, "\\xe2\\x80\\xa8\\xd8\\x9c");
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        assert_true(text_is_control(shown[i]));
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        assert_false(text_is_control(kept[i]));
}

static void characters_are_decoded(void **state)
{
    (void)state;
    assert_int_equal(text_character("a", 1), 'a');
    assert_int_equal(text_character("\xc2\x9b", 2), 0x9B);
    assert_int_equal(text_character("\xe2\x80\xae", 3), 0x202E);
    assert_int_equal(text_character("\xf0\x9f\x98\x80", 4), 0x1F600);
}

static void lines_keep_their_ends_and_tabs(void **state)
{
    static const char text[] = "a\tb\n\033[2J\r\n\xe2\x80\xa8\0";
    struct strbuf out = STRBUF_INIT;

    (void)state;
    text_printable_lines(&out, text, sizeof(text) - 1);
    assert_string_equal(strbuf_text(&out), "a\tb\n\\x1b[2J\\x0d\n\\xe2\\x80\\xa8\\x00");
    strbuf_fini(&out);
}

static void errors_are_one_printable_line(void **state)
{
    (void)state;
    struct metron_error error = {0};
    char longer[2000];

    assert_int_equal(error_set(&error, -22, "bad %s", "a\nb\033"), -22);
    assert_int_equal(error.code, -22);
    assert_string_equal(error.message, "bad a\\x0ab\\x1b");
    assert_int_equal(error_set(NULL, -2, "nobody reads this"), -2);

    /* 511 is odd: a two-byte character would be cut in the middle. */
    for (size_t i = 0; i + 1 < sizeof(longer); i += 2)
        memcpy(longer + i, "\xc3\xa9", 2);
    longer[sizeof(longer) - 2] = '\0';
    (void)error_set(&error, -1, "%s", longer);
    assert_int_equal(strlen(error.message), 510);
}

static void check_quote(const char *argument, const char *expected)
{
    struct strbuf out = STRBUF_INIT;

    text_shell_quote(&out, argument);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_fini(&out);
}

static void shell_quotes_stand_where_needed(void **state)
{
    (void)state;
    check_quote("plain", "plain");
    check_quote("--a=b/c.d,e:f@g%h+i-j_k", "--a=b/c.d,e:f@g%h+i-j_k");
    check_quote("", "''");
    check_quote("a b", "'a b'");
    check_quote("it's", "'it'\\''s'");
    check_quote("'", "''\\'''");
    check_quote("$HOME", "'$HOME'");
    check_quote("~", "'~'");
    check_quote("\xc3\xa9", "'\xc3\xa9'");
}

static void command_lines_that_differ_in_their_quotes_are_the_same(void **state)
{
    (void)state;
    assert_true(text_shell_is_same("sort -n x", "sort -n x"));
    assert_true(text_shell_is_same("sh -c 'sort x; echo'", "sh -c \"sort x; echo\""));
    assert_true(text_shell_is_same("sh -c 'sort x; echo'", "sh -c sort x; echo"));
    assert_true(text_shell_is_same("sh -c 'it'\\''s'", "sh -c \"it's\""));
    assert_true(text_shell_is_same("echo a\\ b", "echo 'a b'"));
    assert_false(text_shell_is_same("sort x", "sort y"));
    assert_false(text_shell_is_same("awk '{print \"a\"}'", "awk '{print a}'"));
    assert_false(text_shell_is_same("echo ''", "echo"));
    assert_true(text_shell_is_same("echo 'unended", "echo unended"));
    assert_true(text_shell_is_same("echo \\", "echo \\"));
}

/* The one judge of quoting is a shell. */
static void a_shell_reads_back_every_byte(void **state)
{
    (void)state;
    char nasty[256];
    size_t length = 0;
    struct strbuf command = STRBUF_INIT;
    char seen[512] = "";

    for (int byte = 1; byte < 256; byte++)
        nasty[length++] = (char)byte;
    nasty[length] = '\0';
    strbuf_adds(&command, "printf %s ");
    text_shell_quote(&command, nasty);

    FILE *shell = popen(strbuf_text(&command), "r");

    assert_non_null(shell);
    size_t count = fread(seen, 1, sizeof(seen) - 1, shell);

    assert_int_equal(pclose(shell), 0);
    assert_int_equal(count, length);
    assert_memory_equal(seen, nasty, length);
    strbuf_fini(&command);
}

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("abc", "abc"), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("flaw", "lawn"), 2);
    assert_int_equal(text_distance("sample-interval", "sample_interval"), 1);
}

static void distance_of_long_names_is_bounded_in_work(void **state)
{
    (void)state;
    char a[1001];
    char b[501];

    memset(a, 'x', 1000);
    a[1000] = '\0';
    memset(b, 'x', 500);
    b[500] = '\0';
    assert_int_equal(text_distance(a, b), 500);
    assert_int_equal(text_distance(a, "xx"), 998);
    assert_int_equal(text_distance("xx", a), 998);
}

static void globs_match_whole_texts(void **state)
{
    (void)state;
    assert_true(text_glob("", ""));
    assert_false(text_glob("", "a"));
    assert_true(text_glob("*", ""));
    assert_true(text_glob("proc_*", "proc_rss"));
    assert_true(text_glob("proc_*", "proc_"));
    assert_false(text_glob("proc_*", "sys_rss"));
    assert_true(text_glob("*_total", "proc_rss_total"));
    assert_false(text_glob("*_total", "proc_rss_totals"));
    assert_true(text_glob("p??c", "proc"));
    assert_false(text_glob("p?c", "proc"));
    assert_true(text_glob("*a*b*", "xxaxxbxx"));
    assert_true(text_glob("a*ab", "aaab")); /* needs to go back */
    assert_true(text_glob("**", "abc"));
    assert_false(text_glob("[a]", "a")); /* brackets are themselves */
    assert_true(text_glob("[a]", "[a]"));
}

static void hard_globs_end_soon(void **state)
{
    (void)state;
    char text[4096];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(text_glob("a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static void check_suggestion(const char *wrong, const char *expected)
{
    static const char *const known[] = {
        "sample-interval", "report-interval", "proc_rss", "proc_rss_total", "proc_vsz", "f-t", "job", "json"};
    struct suggest suggest;
    char out[SUGGEST_TEXT_SIZE];

    suggest_init(&suggest, wrong);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        suggest_offer(&suggest, known[i]);
    assert_string_equal(suggest_text(&suggest, "", out), expected);
}

static void nearest_names_are_suggested(void **state)
{
    (void)state;
    check_suggestion("sampel-interval", " (did you mean 'sample-interval'?)");
    check_suggestion("jon", " (did you mean 'job' or 'json'?)");
    check_suggestion("rss", " (did you mean 'proc_rss' or 'proc_rss_total'?)"); /* contained whole */
    check_suggestion("proc_rsz", " (did you mean 'proc_rss' or 'proc_vsz'?)");
    check_suggestion("nothing-like-it", "");
    check_suggestion("", "");
}

static void at_most_three_names_are_suggested(void **state)
{
    (void)state;
    static const char *const known[] = {"ad", "abd", "ab", "abc", "ac", "abcd"};
    struct suggest suggest;
    char out[SUGGEST_TEXT_SIZE];

    suggest_init(&suggest, "abc");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        suggest_offer(&suggest, known[i]);
    assert_string_equal(suggest_text(&suggest, "--", out), " (did you mean '--abc', '--abd' or '--ab'?)");
}

static void a_name_that_is_offered_twice_is_suggested_once(void **state)
{
    (void)state;
    struct suggest suggest;
    char out[SUGGEST_TEXT_SIZE];
    char again[] = "command";

    suggest_init(&suggest, "comand");
    suggest_offer(&suggest, "command");
    suggest_offer(&suggest, "commands");
    suggest_offer(&suggest, again);
    assert_string_equal(suggest_text(&suggest, "", out), " (did you mean 'command' or 'commands'?)");
}

static void text_is_cut_between_characters(void **state)
{
    (void)state;
    assert_int_equal(text_cut("abc", 3), 3);
    assert_int_equal(text_cut("abcd", 3), 3);
    assert_int_equal(text_cut("ab\xc3\xa9", 3), 2);
    assert_int_equal(text_cut("\xff\xff\xff\xff", 3), 3);
    assert_int_equal(text_cut("", 0), 0);
}

static void cut_bytes_end_with_a_whole_character(void **state)
{
    (void)state;
    static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* of 1, 2, 3, 4 and 1 bytes */
    static const size_t whole[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        assert_int_equal(text_whole_characters(text, i), whole[i]);
    assert_int_equal(text_whole_characters("\x80\x80\x80\x80\x80", 5), 5); /* no UTF-8 */
}

static void the_end_of_a_text_is_known(void **state)
{
    (void)state;
    assert_true(text_ends_with("run_info.json", "info.json"));
    assert_true(text_ends_with("info.json", "info.json"));
    assert_true(text_ends_with("x", ""));
    assert_false(text_ends_with("nfo.json", "info.json"));
    assert_false(text_ends_with("info.jsonl", "info.json"));
}

static void csv_is_quoted_only_where_needed(void **state)
{
    static const char *const cells[][2] = {
        {"", ""},
        {"plain text", "plain text"},
        {"a,b", "\"a,b\""},
        {"\"", "\"\"\"\""},
        {"say \"x\"!", "\"say \"\"x\"\"!\""},
        {"two\nlines", "\"two\nlines\""},
        {" x", "\" x\""},
        {"x ", "\"x \""},
    };
    struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        strbuf_reset(&out);
        text_csv(&out, cells[i][0]);
        assert_string_equal(strbuf_text(&out), cells[i][1]);
    }
    strbuf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_sequences_have_their_length),
        cmocka_unit_test(invalid_sequences_have_none),
        cmocka_unit_test(every_code_point_is_accepted_and_nothing_else),
        cmocka_unit_test(printable_text_passes_unchanged),
        cmocka_unit_test(control_and_invalid_bytes_are_shown),
        cmocka_unit_test(marks_of_direction_and_separators_are_shown),
        cmocka_unit_test(characters_are_decoded),
        cmocka_unit_test(lines_keep_their_ends_and_tabs),
        cmocka_unit_test(errors_are_one_printable_line),
        cmocka_unit_test(shell_quotes_stand_where_needed),
        cmocka_unit_test(command_lines_that_differ_in_their_quotes_are_the_same),
        cmocka_unit_test(csv_is_quoted_only_where_needed),
        cmocka_unit_test(a_shell_reads_back_every_byte),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(distance_of_long_names_is_bounded_in_work),
        cmocka_unit_test(globs_match_whole_texts),
        cmocka_unit_test(hard_globs_end_soon),
        cmocka_unit_test(nearest_names_are_suggested),
        cmocka_unit_test(at_most_three_names_are_suggested),
        cmocka_unit_test(a_name_that_is_offered_twice_is_suggested_once),
        cmocka_unit_test(text_is_cut_between_characters),
        cmocka_unit_test(cut_bytes_end_with_a_whole_character),
        cmocka_unit_test(the_end_of_a_text_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
