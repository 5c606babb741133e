/* What is known of one quantity over one span of time. */
#include "reduce/statistic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEAR 1e-12

static double folded(enum reduce reduce, const double *numbers, size_t count)
{
    struct statistic statistic = {0};

    assert_false(statistic.has);
    for (size_t i = 0; i < count; i++)
        statistic_fold(&statistic, reduce, numbers[i], 1);
    assert_true(statistic.has);
    return statistic.value;
}

static void numbers_are_reduced_as_asked(void **state)
{
    (void)state;
    static const double above[] = {3, 7, 5}, below[] = {-3, -7, -5};

    assert_float_equal(folded(REDUCE_MAX, above, 3), 7, NEAR);
    assert_float_equal(folded(REDUCE_MIN, above, 3), 3, NEAR);
    assert_float_equal(folded(REDUCE_LAST, above, 3), 5, NEAR);
    assert_float_equal(folded(REDUCE_DELTA, above, 3), 15, NEAR);
    /* the first reading counts, whatever an empty statistic holds */
    assert_float_equal(folded(REDUCE_MAX, below, 3), -3, NEAR);
    assert_float_equal(folded(REDUCE_MIN, below, 3), -7, NEAR);
}

static void the_mean_is_weighted_by_time(void **state)
{
    (void)state;
    struct statistic statistic = {0};

    statistic_fold(&statistic, REDUCE_MAX, 100, 1);
    statistic_fold(&statistic, REDUCE_MAX, 10, 9);
    assert_float_equal(statistic_mean(&statistic), 19, NEAR);
    assert_float_equal(statistic.value, 100, NEAR);
}

static void without_time_the_mean_is_the_value(void **state)
{
    (void)state;
    struct statistic statistic = {0};

    statistic_fold(&statistic, REDUCE_MAX, 4, 0);
    assert_float_equal(statistic_mean(&statistic), 4, NEAR);
}

static void what_goes_into_the_mean_alone_is_no_value(void **state)
{
    (void)state;
    struct statistic statistic = {0};

    statistic_fold_mean(&statistic, 50, 1);
    assert_false(statistic.has);
    statistic_fold(&statistic, REDUCE_MAX, 2, 1);
    assert_float_equal(statistic.value, 2, NEAR);
    assert_float_equal(statistic_mean(&statistic), 26, NEAR);
}

static void the_last_text_is_kept(void **state)
{
    (void)state;
    struct statistic statistic = {0};
    struct arena arena = {0};
    struct record_value value;
    char text[16] = "first";

    assert_int_equal(statistic_fold_text(&statistic, text), 0);
    (void)snprintf(text, sizeof(text), "second"); /* the reading was borrowed */
    assert_int_equal(statistic_value(&statistic, TYPE_LABEL, &arena, &value), 0);
    assert_string_equal(value.text, "first");
    assert_int_equal(statistic_fold_text(&statistic, text), 0);
    assert_int_equal(statistic_fold_text(&statistic, text), 0);
    assert_int_equal(statistic_value(&statistic, TYPE_LABEL, &arena, &value), 0);
    assert_string_equal(value.text, "second");
    statistic_fini(&statistic, TYPE_LABEL);
    assert_string_equal(value.text, "second"); /* the record's copy is its own */
    arena_fini(&arena);
}

static void states_are_tallied(void **state)
{
    (void)state;
    static const char *const seen[] = {"S", "R", "S", "D", "T", "Z", "S", "I", "R", "X", "t", "K"};
    static const struct tally_item wanted[] = {{"S", 3}, {"R", 2}, {"D", 1}, {"T", 1}, {"Z", 1},
                                               {"I", 1}, {"X", 1}, {"t", 1}, {"K", 1}};
    struct state_names names = {0};
    struct statistic statistic = {0};
    struct arena arena = {0};
    struct record_value value;

    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
        assert_int_equal(statistic_fold_state(&statistic, &names, seen[i]), 0);
    assert_true(statistic.has);
    assert_int_equal(statistic_value(&statistic, TYPE_CATEGORICAL, &arena, &value), 0);
    assert_int_equal(value.tally.count, sizeof(wanted) / sizeof(wanted[0]));
    for (size_t i = 0; i < value.tally.count; i++) {
        assert_string_equal(value.tally.items[i].state, wanted[i].state);
        assert_float_equal(value.tally.items[i].count, wanted[i].count, 0);
    }
    statistic_fini(&statistic, TYPE_CATEGORICAL);
    state_names_fini(&names);
    arena_fini(&arena);
}

static void a_state_of_an_earlier_span_is_not_told_again(void **state)
{
    (void)state;
    struct state_names names = {0};
    struct statistic statistic = {0};
    struct arena arena = {0};
    struct record_value value;

    (void)statistic_fold_state(&statistic, &names, "R");
    (void)statistic_fold_state(&statistic, &names, "R");
    (void)statistic_fold_state(&statistic, &names, "S");
    statistic_reset(&statistic, TYPE_CATEGORICAL);
    assert_false(statistic.has);
    (void)statistic_fold_state(&statistic, &names, "S");
    assert_int_equal(statistic_value(&statistic, TYPE_CATEGORICAL, &arena, &value), 0);
    assert_int_equal(value.tally.count, 1);
    assert_string_equal(value.tally.items[0].state, "S");
    assert_float_equal(value.tally.items[0].count, 1, 0);
    statistic_fini(&statistic, TYPE_CATEGORICAL);
    state_names_fini(&names);
    arena_fini(&arena);
}

static void a_reset_statistic_knows_nothing(void **state)
{
    (void)state;
    struct statistic statistic = {0};

    statistic_fold(&statistic, REDUCE_MAX, 9, 5);
    statistic.fell = true;
    statistic_reset(&statistic, TYPE_GAUGE);
    assert_false(statistic.has);
    assert_false(statistic.fell);
    statistic_fold(&statistic, REDUCE_MAX, 2, 1);
    assert_float_equal(statistic.value, 2, NEAR);
    assert_float_equal(statistic_mean(&statistic), 2, NEAR);
    statistic_reset(&statistic, TYPE_COUNTER);
    statistic_fold(&statistic, REDUCE_DELTA, 1, 0);
    assert_float_equal(statistic.value, 1, NEAR);

    struct statistic label = {0};
    (void)statistic_fold_text(&label, "name");
    statistic_reset(&label, TYPE_LABEL);
    assert_false(label.has); /* its memory may stay, the label is not told */
    statistic_fini(&label, TYPE_LABEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_reduced_as_asked),
        cmocka_unit_test(the_mean_is_weighted_by_time),
        cmocka_unit_test(without_time_the_mean_is_the_value),
        cmocka_unit_test(what_goes_into_the_mean_alone_is_no_value),
        cmocka_unit_test(the_last_text_is_kept),
        cmocka_unit_test(states_are_tallied),
        cmocka_unit_test(a_state_of_an_earlier_span_is_not_told_again),
        cmocka_unit_test(a_reset_statistic_knows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
