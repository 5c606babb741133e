/* The prefix of a run's files: what its placeholders become. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/run_folder.h"

static const struct prefix_values values = {
    .wall = {1763192573, 0}, .pid = 4711, .host = "node/1", .job = "align/a b"};

static const char *expanded(const char *pattern)
{
    static char kept[512];
    struct strbuf out = STRBUF_INIT;
    struct metron_error error = {0};

    if (run_folder_expand(pattern, &values, &out, &error) < 0)
        fail_msg("'%s': %s", pattern, error.message);
    (void)snprintf(kept, sizeof(kept), "%s", strbuf_text(&out));
    strbuf_fini(&out);
    return kept;
}

static const char *refused(const char *pattern, const struct prefix_values *with)
{
    static struct metron_error error;
    struct strbuf out = STRBUF_INIT;

    error = (struct metron_error){0};
    assert_int_equal(run_folder_expand(pattern, with, &out, &error), -EINVAL);
    strbuf_fini(&out);
    return error.message;
}

static void placeholders_are_filled(void **state)
{
    (void)state;
    (void)setenv("METRON_TEST_RANK", "3", 1);
    assert_string_equal(expanded(".metron/logs/{datetime}-{pid}_"), ".metron/logs/2025.11.15T07.42.53-4711_");
    assert_string_equal(expanded("{env:METRON_TEST_RANK}{pid}{pid}"), "347114711");
    assert_string_equal(expanded("plain/text"), "plain/text");
    assert_string_equal(expanded(""), "");
    assert_string_equal(expanded("{{pid}}{{{pid}}}"), "{pid}{4711}");
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    struct prefix_values again = values;
    struct strbuf out = STRBUF_INIT;

    again.number = 1;
    assert_int_equal(run_folder_expand("{pid}_", &again, &out, NULL), 0);
    again.number = 12;
    assert_int_equal(run_folder_expand("{pid}_", &again, &out, NULL), 0);
    assert_string_equal(strbuf_text(&out), "4711_4711-12_");
    strbuf_fini(&out);
}

static void a_slash_in_a_value_makes_no_folder(void **state)
{
    (void)state;
    (void)setenv("METRON_TEST_RANK", "../../etc/x", 1);
    assert_string_equal(expanded("a/{host}/{job}_"), "a/node_1/align_a b_");
    assert_string_equal(expanded("{env:METRON_TEST_RANK}"), ".._.._etc_x");
}

/* A value alone, or with what stands beside it, is never a place above or at the root. */
static void a_value_never_leaves_its_folder(void **state)
{
    (void)state;
    (void)setenv("METRON_TEST_RANK", "..", 1);
    assert_string_equal(expanded("jd/{env:METRON_TEST_RANK}/"), "jd/__/");
    assert_string_equal(expanded("{env:METRON_TEST_RANK}/{pid}_"), "__/4711_");
    assert_string_equal(expanded("{env:METRON_TEST_RANK}x/_"), "..x/_");
    assert_string_equal(expanded("jd/{env:METRON_TEST_RANK}"), "jd/.."); /* "..info.json" is a name */
    (void)setenv("METRON_TEST_RANK", ".", 1);
    assert_string_equal(expanded("jd/{env:METRON_TEST_RANK}/x"), "jd/_/x");
    assert_string_equal(expanded("jd/.{env:METRON_TEST_RANK}/x"), "jd/__/x");
    assert_string_equal(expanded("jd/{env:METRON_TEST_RANK}./{env:METRON_TEST_RANK}/x"), "jd/__/_/x");
    (void)setenv("METRON_TEST_RANK", "", 1);
    assert_string_equal(expanded("{env:METRON_TEST_RANK}/etc/x"), "_/etc/x");
    assert_string_equal(expanded("a/.{env:METRON_TEST_RANK}./x"), "a/__/x");
    assert_string_equal(expanded("{env:METRON_TEST_RANK}"), "");
    assert_string_equal(expanded("../{pid}/./x"), "../4711/./x"); /* as the pattern says */
}

static void a_value_is_not_expanded_again(void **state)
{
    (void)state;
    (void)setenv("METRON_TEST_RANK", "{pid}{", 1);
    assert_string_equal(expanded("{env:METRON_TEST_RANK}"), "{pid}{");
}

static void what_cannot_be_filled_is_named(void **state)
{
    (void)state;
    struct prefix_values without_job = values;

    without_job.job = NULL;
    (void)unsetenv("METRON_TEST_ABSENT");
    assert_non_null(strstr(refused("x{jobs}", &values), "{jobs} is not known"));
    assert_non_null(strstr(refused("x{jobs}", &values), "{datetime}, {pid}, {host}, {job}, {env:NAME}"));
    assert_non_null(strstr(refused("{}", &values), "{} is not known"));
    assert_non_null(strstr(refused("{job}", &without_job), "--job"));
    assert_non_null(strstr(refused("{env:METRON_TEST_ABSENT}", &values), "METRON_TEST_ABSENT"));
    assert_non_null(strstr(refused("{env:}", &values), "{env:}"));
}

static void braces_without_a_partner_are_found(void **state)
{
    (void)state;
    char longest[300] = "a{";

    assert_non_null(strstr(refused("ab{pid", &values), "'{' at position 3"));
    assert_non_null(strstr(refused("ab}c", &values), "'}' at position 3"));
    assert_non_null(strstr(refused("{pid}}", &values), "'}' at position 6"));
    memset(longest + 2, 'x', sizeof(longest) - 3);
    longest[sizeof(longest) - 2] = '}';
    assert_non_null(strstr(refused(longest, &values), "position 2 is too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placeholders_are_filled),
        cmocka_unit_test(a_name_that_is_taken_gets_a_number),
        cmocka_unit_test(a_slash_in_a_value_makes_no_folder),
        cmocka_unit_test(a_value_never_leaves_its_folder),
        cmocka_unit_test(a_value_is_not_expanded_again),
        cmocka_unit_test(what_cannot_be_filled_is_named),
        cmocka_unit_test(braces_without_a_partner_are_found),
    };

    (void)setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
