/* Quantities for people: digits, borders between units, and values nobody expects. */
#include "base/units.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void check(enum unit unit, double value, const char *expected)
{
    char out[UNIT_TEXT_SIZE];

    memset(out, 'x', sizeof(out));
    assert_ptr_equal(unit_human(unit, value, out), out);
    assert_string_equal(out, expected);
}

static void bytes_have_three_digits_and_binary_units(void **state)
{
    (void)state;
    check(UNIT_BYTES, 0, "0 B");
    check(UNIT_BYTES, 1, "1 B");
    check(UNIT_BYTES, 812, "812 B");
    check(UNIT_BYTES, 1023, "1023 B");
    check(UNIT_BYTES, 1024, "1 KiB");
    check(UNIT_BYTES, 1536, "1.5 KiB");
    check(UNIT_BYTES, 812.0 * 1048576, "812 MiB");
    check(UNIT_BYTES, 1.5 * 1073741824, "1.5 GiB");
    check(UNIT_BYTES, 12.34 * 1073741824, "12.3 GiB");
    check(UNIT_BYTES, 1.239 * 1099511627776, "1.24 TiB");
    check(UNIT_BYTES, 18446744073709551616.0, "16 EiB");
}

static void rounding_moves_to_the_next_unit(void **state)
{
    (void)state;
    check(UNIT_BYTES, 1023.7 * 1048576, "1 GiB");
    check(UNIT_BYTES, 9.996 * 1024, "10 KiB");
    check(UNIT_BYTES, 99.96 * 1024, "100 KiB");
    check(UNIT_SECONDS, 0.9996, "1 s");
    check(UNIT_SECONDS, 0.0009996, "1 ms");
    check(UNIT_SECONDS, 59.96, "1 min 00 s");
    check(UNIT_SECONDS, 3599.6, "1 h 00 min");
    check(UNIT_SECONDS, 86399, "1 d 00 h");
}

static void durations_read_as_people_write(void **state)
{
    (void)state;
    check(UNIT_SECONDS, 0, "0 s");
    check(UNIT_SECONDS, 4e-9, "4 ns");
    check(UNIT_SECONDS, 0.0000015, "1.5 µs");
    check(UNIT_SECONDS, 0.35, "350 ms");
    check(UNIT_SECONDS, 0.00312, "3.12 ms");
    check(UNIT_SECONDS, 1, "1 s");
    check(UNIT_SECONDS, 12.34, "12.3 s");
    check(UNIT_SECONDS, 245, "4 min 05 s");
    check(UNIT_SECONDS, 7500, "2 h 05 min");
    check(UNIT_SECONDS, 3 * 86400 + 4 * 3600, "3 d 04 h");
    check(UNIT_SECONDS, 400.0 * 86400, "400 d 00 h");
}

static void a_value_read_back_rounds_as_it_did(void **state)
{
    (void)state;
    check(UNIT_SECONDS, 0.003765, "3.77 ms");
    check(UNIT_SECONDS, 0.00376499999999995, "3.77 ms"); /* what a difference of two counters may be */
    check(UNIT_PERCENT, 0.35, "0.4 %");
    check(UNIT_PERCENT, 0.34999999999, "0.4 %");
    check(UNIT_PERCENT, 0.3499999, "0.3 %");
}

static void percent_has_one_decimal(void **state)
{
    (void)state;
    check(UNIT_PERCENT, 98.24, "98.2 %");
    check(UNIT_PERCENT, 0, "0.0 %");
    check(UNIT_PERCENT, 1600, "1600.0 %");
    assert_true(unit_edge(UNIT_PERCENT, 0.5) == 50);
    assert_true(unit_edge(UNIT_BYTES, 0.5) == 0.5);
}

static void counts_are_grouped(void **state)
{
    (void)state;
    check(UNIT_COUNT, 0, "0");
    check(UNIT_COUNT, 999, "999");
    check(UNIT_COUNT, 1234, "1,234");
    check(UNIT_COUNT, 1234567, "1,234,567");
    check(UNIT_COUNT, 123456, "123,456");
    check(UNIT_COUNT, 123456789, "123,456,789");
    check(UNIT_COUNT, 1e12, "1,000,000,000,000");
    check(UNIT_COUNT, 1234.5, "1,234.5");
    check(UNIT_COUNT, 999.96, "1,000");
}

static void other_units_carry_their_sign(void **state)
{
    (void)state;
    check(UNIT_BYTES_PER_SECOND, 3.1 * 1048576, "3.1 MiB/s");
    check(UNIT_CELSIUS, 45, "45 °C");
    check(UNIT_CELSIUS, -3.5, "-3.5 °C");
    check(UNIT_WATTS, 250.4, "250 W");
    check(UNIT_JOULES, 123456, "123 kJ");
    check(UNIT_NONE, 0.53, "0.53");
    check(UNIT_NONE, 12.345, "12.3");
}

static void negative_values_keep_their_sign(void **state)
{
    (void)state;
    check(UNIT_BYTES, -1536, "-1.5 KiB");
    check(UNIT_SECONDS, -245, "-4 min 05 s");
    check(UNIT_COUNT, -1234, "-1,234");
    check(UNIT_BYTES, -0.0, "0 B");
    check(UNIT_SECONDS, -0.0, "0 s");
}

static void any_double_fits(void **state)
{
    (void)state;
    static const double values[] = {DBL_MAX,    -DBL_MAX, DBL_MIN, 5e-324, 1e12,
                                    9.99999e11, 1e15,     9.99e14, 1e18};
    char out[UNIT_TEXT_SIZE];

    for (enum unit unit = UNIT_NONE; unit <= UNIT_JOULES; unit++) {
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            (void)unit_human(unit, values[i], out);
            assert_in_range(strlen(out), 1, UNIT_TEXT_SIZE - 2);
        }
        check(unit, (double)NAN, "-");
        check(unit, (double)INFINITY, "-");
        check(unit, (double)-INFINITY, "-");
    }
}

static void every_unit_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(unit_name(UNIT_NONE), "none");
    assert_string_equal(unit_name(UNIT_BYTES), "bytes");
    assert_string_equal(unit_name(UNIT_BYTES_PER_SECOND), "bytes_per_second");
    for (enum unit unit = UNIT_NONE; unit <= UNIT_JOULES; unit++)
        assert_non_null(unit_name(unit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits_and_binary_units),
        cmocka_unit_test(rounding_moves_to_the_next_unit),
        cmocka_unit_test(durations_read_as_people_write),
        cmocka_unit_test(a_value_read_back_rounds_as_it_did),
        cmocka_unit_test(percent_has_one_decimal),
        cmocka_unit_test(counts_are_grouped),
        cmocka_unit_test(other_units_carry_their_sign),
        cmocka_unit_test(negative_values_keep_their_sign),
        cmocka_unit_test(any_double_fits),
        cmocka_unit_test(every_unit_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
