/* Quantiles, median and median absolute deviation. The expected values are those of Python's
 * statistics.quantiles(values, n=100, method="inclusive") and statistics.median. */
#include "learn/quantile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(values) (sizeof(values) / sizeof((values)[0]))

static void equal(double value, double expected)
{
    assert_float_equal(value, expected, 1e-9);
}

static void quantiles_are_pythons(void **state)
{
    (void)state;
    double powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    static const double shares[] = {0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99};
    static const double expected[] = {1.5, 6, 32, 192, 512, 768, 972.8};

    for (size_t i = 0; i < COUNT(shares); i++)
        equal(quantile_sorted(powers, COUNT(powers), shares[i]), expected[i]);
}

static void quantiles_lie_between_two_values(void **state)
{
    (void)state;
    double two[] = {1, 2};

    equal(quantile_sorted(two, 2, 0.05), 1.05);
    equal(quantile_sorted(two, 2, 0.9), 1.9);
    equal(quantile_median(two, 2), 1.5);
}

static void ends_are_the_smallest_and_the_largest(void **state)
{
    (void)state;
    double values[] = {-3, 0.1, 0.2, 1e300};

    assert_true(quantile_sorted(values, 4, 0) == -3);
    assert_true(quantile_sorted(values, 4, 1) == 1e300);
    assert_true(quantile_sorted(values, 4, 2) == 1e300);
    assert_true(quantile_sorted(values, 4, -1) == -3);
}

static void one_value_is_every_quantile(void **state)
{
    (void)state;
    double one[] = {0.1};

    assert_true(quantile_sorted(one, 1, 0.99) == 0.1);
    assert_true(quantile_median(one, 1) == 0.1);
    assert_true(quantile_mad(one, 1) == 0);
}

static void equal_values_are_not_changed_by_interpolation(void **state)
{
    (void)state;
    double same[] = {0.1, 0.1, 0.1, 0.1};

    assert_true(quantile_sorted(same, 4, 0.37) == 0.1);
    assert_true(quantile_mad(same, 4) == 0);
}

static void huge_values_do_not_overflow(void **state)
{
    (void)state;
    double values[] = {-1.7e308, 1.7e308};

    equal(quantile_median(values, 2), 0);
}

static void a_value_is_reached_by_a_share_of_them(void **state)
{
    (void)state;
    double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

    assert_true(quantile_reached(values, 10, 0.9) == 9); /* 9.000000000000002 are not 10 */
    assert_true(quantile_reached(values, 9, 0.9) == 9);
    assert_true(quantile_reached(values, 2, 0.5) == 1);
    assert_true(quantile_reached(values, 3, 0.5) == 2);
    assert_true(quantile_reached(values, 10, 0) == 1);
    assert_true(quantile_reached(values, 10, 1) == 10);
    assert_true(quantile_reached(values, 1, 0.9) == 1);
}

static void sorting_is_by_size(void **state)
{
    (void)state;
    double values[] = {7, -1, 100, 2.5, 7};
    static const double expected[] = {-1, 2.5, 7, 7, 100};

    quantile_sort(values, COUNT(values));
    assert_memory_equal(values, expected, sizeof(expected));
    quantile_sort(NULL, 0);
}

static void deviation_is_the_median_of_the_distances(void **state)
{
    (void)state;
    double odd[] = {-1, 2.5, 7, 7, 100};
    double even[] = {1, 2, 4, 8};
    double powers[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

    equal(quantile_mad(odd, COUNT(odd)), 4.5);
    equal(quantile_mad(even, COUNT(even)), 1.5);
    equal(quantile_mad(powers, COUNT(powers)), 31);
}

static void deviation_is_not_moved_by_outliers(void **state)
{
    (void)state;
    double values[] = {9, 10, 11, 12, 1e12};

    equal(quantile_mad(values, COUNT(values)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_pythons),
        cmocka_unit_test(quantiles_lie_between_two_values),
        cmocka_unit_test(ends_are_the_smallest_and_the_largest),
        cmocka_unit_test(one_value_is_every_quantile),
        cmocka_unit_test(equal_values_are_not_changed_by_interpolation),
        cmocka_unit_test(huge_values_do_not_overflow),
        cmocka_unit_test(a_value_is_reached_by_a_share_of_them),
        cmocka_unit_test(sorting_is_by_size),
        cmocka_unit_test(deviation_is_the_median_of_the_distances),
        cmocka_unit_test(deviation_is_not_moved_by_outliers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
