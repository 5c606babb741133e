/* Limits of metron diff --fail-if: what they say, where they are wrong, when they are passed. */
#include "learn/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct limits limits;

static const struct limit *parse_one(const char *text)
{
    struct metron_error error = {0};
    size_t place = 0;

    assert_int_equal(limits_parse(text, &limits, &place, &error), 0);
    assert_int_equal(limits.count, 1);
    return &limits.items[0];
}

static void wrong_at(const char *text, size_t place_expected)
{
    struct metron_error error = {0};
    size_t place = 9999;

    assert_true(limits_parse(text, &limits, &place, &error) < 0);
    assert_int_equal(place, place_expected);
    assert_true(error.message[0] != '\0');
}

static void a_sign_makes_it_relative(void **state)
{
    (void)state;
    const struct limit *limit = parse_one(" peak_memory > +10% ");
    assert_string_equal(limit->field, "peak_memory");
    assert_string_equal(limit->text, "peak_memory > +10%");
    assert_int_equal(limit->relation, RELATION_ABOVE);
    assert_true(limit->relative && limit->amount.unit == UNIT_PERCENT && limit->amount.value == 10);

    limit = parse_one("wall<=2h");
    assert_int_equal(limit->relation, RELATION_AT_MOST);
    assert_true(!limit->relative && limit->amount.value == 7200);

    limit = parse_one("wall < -30s");
    assert_true(limit->relative && limit->amount.value == -30);
}

static void commas_separate_limits(void **state)
{
    (void)state;
    struct metron_error error = {0};
    size_t place;

    assert_int_equal(limits_parse("wall > +1h30m,cpu_seconds>=100, exit_code != 0", &limits, &place, &error),
                     0);
    assert_int_equal(limits.count, 3);
    assert_true(limits.items[0].amount.value == 5400);
    assert_int_equal(limits.items[2].relation, RELATION_DIFFERENT);
}

static void mistakes_have_a_place(void **state)
{
    (void)state;
    wrong_at("", 0);
    wrong_at("> 10", 0);
    wrong_at("wall 10", 5);
    wrong_at("wall > ", 7);
    wrong_at("wall > ten", 7);
    wrong_at("wall > +10s x", 12);
    wrong_at("wall > 1s,", 10);
    wrong_at("wall > 1s,,wall > 2s", 10);
    wrong_at("wall > +1s, peak_memory >> 1", 25);
    wrong_at("wall > 1xyz", 7);
}

static void amounts_that_cannot_suit_are_found_at_once(void **state)
{
    (void)state;
    wrong_at("wall > 2GiB", 7);
    wrong_at("peak_memory > 10%", 14);
    wrong_at("peak_memory > +10s", 14);
    wrong_at("processes > 1MiB", 12);
    wrong_at("cpu_seconds > 1MiB", 14);
    wrong_at("exit_code > 1s", 12);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    size_t length = LIMITS_LENGTH_MAX + 10, used = 0;
    char *text = calloc(length + 1, 1);
    struct metron_error error = {0};
    size_t place;

    assert_non_null(text);
    memset(text, 'a', length);
    wrong_at(text, LIMITS_LENGTH_MAX);
    text[LIMIT_FIELD_SIZE + 3] = '\0';
    wrong_at(text, 0);
    for (int i = 0; i < LIMITS_MAX + 1; i++) {
        memcpy(text + used, i ? ",a>1" : "a>1", i ? 4 : 3);
        used += i ? 4 : 3;
    }
    text[used] = '\0';
    assert_true(limits_parse(text, &limits, &place, &error) < 0);
    free(text);
}

static enum limit_result judge(const char *text, enum unit unit, double before, double now)
{
    const struct limit_numbers numbers = {
        .unit = unit, .has_before = before >= 0, .has_now = now >= 0, .before = before, .now = now};
    struct metron_error reason = {0};
    enum limit_result result = limit_judge(parse_one(text), &numbers, &reason);

    assert_true((result == LIMIT_NOT_JUDGED) == (reason.message[0] != '\0'));
    return result;
}

static void relative_limits_compare_with_before(void **state)
{
    (void)state;
    assert_int_equal(judge("peak_memory > +10%", UNIT_BYTES, 100, 111), LIMIT_PASSED);
    assert_int_equal(judge("peak_memory > +10%", UNIT_BYTES, 100, 109), LIMIT_KEPT);
    assert_int_equal(judge("wall > +30s", UNIT_SECONDS, 100, 131), LIMIT_PASSED);
    assert_int_equal(judge("wall > +30s", UNIT_SECONDS, 100, 130), LIMIT_KEPT);
    assert_int_equal(judge("wall >= +30s", UNIT_SECONDS, 100, 130), LIMIT_PASSED);
    assert_int_equal(judge("wall < -10%", UNIT_SECONDS, 100, 89), LIMIT_PASSED);
    assert_int_equal(judge("wall < -10%", UNIT_SECONDS, 100, 91), LIMIT_KEPT);
    assert_int_equal(judge("processes > +2", UNIT_COUNT, 1, 4), LIMIT_PASSED);
    assert_int_equal(judge("proc_peak_pdcpu_total > +10%", UNIT_PERCENT, 50, 56), LIMIT_PASSED);
}

static void absolute_limits_need_nothing_before(void **state)
{
    (void)state;
    assert_int_equal(judge("cpu_seconds > 100", UNIT_SECONDS, -1, 101), LIMIT_PASSED);
    assert_int_equal(judge("peak_memory < 2GiB", UNIT_BYTES, -1, 3e9), LIMIT_KEPT);
    assert_int_equal(judge("exit_code != 0", UNIT_NONE, -1, 1), LIMIT_PASSED);
    assert_int_equal(judge("exit_code == 0", UNIT_NONE, -1, 1), LIMIT_KEPT);
    assert_int_equal(judge("psi_ave_cpu_some_pct > 10%", UNIT_PERCENT, -1, 11), LIMIT_PASSED);
}

static void every_relation_is_what_it_says(void **state)
{
    (void)state;
    /* passed with a number below, at and above the bound */
    static const struct {
        const char *text;
        bool below, at, above;
    } relations[] = {
        {"a > 5", false, false, true}, {"a >= 5", false, true, true},  {"a < 5", true, false, false},
        {"a <= 5", true, true, false}, {"a == 5", false, true, false}, {"a = 5", false, true, false},
        {"a != 5", true, false, true},
    };

    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
        const bool expected[] = {relations[i].below, relations[i].at, relations[i].above};

        for (int now = 4; now <= 6; now++)
            if (judge(relations[i].text, UNIT_NONE, -1, now) !=
                (expected[now - 4] ? LIMIT_PASSED : LIMIT_KEPT))
                fail_msg("%s with %d", relations[i].text, now);
    }
}

static void what_cannot_be_judged_says_why(void **state)
{
    (void)state;
    assert_int_equal(judge("peak_memory > +10%", UNIT_BYTES, -1, 100), LIMIT_NOT_JUDGED);
    assert_int_equal(judge("peak_memory > +10%", UNIT_BYTES, 100, -1), LIMIT_NOT_JUDGED);
    assert_int_equal(judge("io_rchar_total > 10s", UNIT_BYTES, 100, 100), LIMIT_NOT_JUDGED);
    assert_int_equal(judge("io_rchar_total > 10%", UNIT_BYTES, 100, 100), LIMIT_NOT_JUDGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sign_makes_it_relative),
        cmocka_unit_test(commas_separate_limits),
        cmocka_unit_test(mistakes_have_a_place),
        cmocka_unit_test(amounts_that_cannot_suit_are_found_at_once),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(relative_limits_compare_with_before),
        cmocka_unit_test(absolute_limits_need_nothing_before),
        cmocka_unit_test(every_relation_is_what_it_says),
        cmocka_unit_test(what_cannot_be_judged_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
