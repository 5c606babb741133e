/* Clocks: order, and the text of a time against the C library's own over years, zones and changes of offset.
 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void use_zone(const char *zone)
{
    (void)setenv("TZ", zone, 1);
    tzset();
    /* A second far from every other in this file makes the cached offset forgotten. */
    char out[CLOCK_ISO_SIZE];
    (void)clock_iso8601((struct timespec){.tv_sec = 12345678900}, 0, out);
}

static void monotonic_time_never_falls(void **state)
{
    (void)state;
    uint64_t last = clock_monotonic_ns();

    assert_true(last > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clock_monotonic_ns();

        assert_true(now >= last);
        last = now;
    }
}

static void wall_clock_is_the_systems(void **state)
{
    (void)state;
    time_t before = time(NULL);
    struct timespec wall = clock_wall();

    assert_in_range(wall.tv_sec, before, before + 2);
    assert_in_range(wall.tv_nsec, 0, 999999999);
}

static void suspension_is_not_negative(void **state)
{
    (void)state;
    int64_t suspended = clock_suspended_ns();

    assert_true(suspended >= 0);
    assert_true(clock_suspended_ns() - suspended < 1000000000);
}

static void ticks_are_the_kernels(void **state)
{
    (void)state;
    assert_in_range(clock_ticks_per_second(), 1, 10000);
    assert_int_equal(clock_ticks_per_second(), clock_ticks_per_second());
}

static void check(time_t seconds, long ns, int digits, const char *expected)
{
    char out[CLOCK_ISO_SIZE];

    assert_ptr_equal(clock_iso8601((struct timespec){.tv_sec = seconds, .tv_nsec = ns}, digits, out), out);
    assert_string_equal(out, expected);
}

static void iso_text_has_the_asked_digits(void **state)
{
    (void)state;
    use_zone("UTC0");
    check(1763192573, 123456789, 0, "2025-11-15T07:42:53+00:00");
    check(1763192573, 123456789, 3, "2025-11-15T07:42:53.123+00:00");
    check(1763192573, 123456789, 6, "2025-11-15T07:42:53.123456+00:00");
    check(1763192573, 999999999, 1, "2025-11-15T07:42:53.9+00:00"); /* cut: no step into the next second */
    check(1763192573, 5000, 6, "2025-11-15T07:42:53.000005+00:00");
    check(1763192573, 5000, 9, "2025-11-15T07:42:53.000005+00:00");
}

static void offsets_are_signed_and_change_with_the_season(void **state)
{
    (void)state;
    use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    check(1761439500, 0, 0, "2025-10-26T02:45:00+02:00");
    check(1761440399, 0, 0, "2025-10-26T02:59:59+02:00");
    check(1761440400, 0, 0, "2025-10-26T02:00:00+01:00");
    use_zone("NST3:30");
    check(0, 0, 0, "1969-12-31T20:30:00-03:30");
    use_zone("IST-5:30");
    check(0, 0, 0, "1970-01-01T05:30:00+05:30");
}

static void dates_agree_with_the_c_library(void **state)
{
    (void)state;
    use_zone("UTC0");
    for (int64_t seconds = -62000000000; seconds < 250000000000; seconds += 86399 * 97 + 12345) {
        time_t when = (time_t)seconds;
        struct tm broken;
        char expected[CLOCK_ISO_SIZE];
        char out[CLOCK_ISO_SIZE];

        assert_non_null(gmtime_r(&when, &broken));
        (void)snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d+00:00",
                       (broken.tm_year + 1900) % 10000, (broken.tm_mon + 1) % 100, broken.tm_mday % 100,
                       broken.tm_hour % 100, broken.tm_min % 100, broken.tm_sec % 100);
        (void)clock_iso8601((struct timespec){.tv_sec = when}, 0, out);
        assert_string_equal(out, expected);
    }
}

static void leap_days_are_right(void **state)
{
    (void)state;
    use_zone("UTC0");
    check(951782400, 0, 0, "2000-02-29T00:00:00+00:00");
    check(951868800, 0, 0, "2000-03-01T00:00:00+00:00");
    check(4107542400, 0, 0, "2100-03-01T00:00:00+00:00");
    check(-1, 0, 0, "1969-12-31T23:59:59+00:00");
}

static void a_broken_clock_still_fits(void **state)
{
    (void)state;
    char out[CLOCK_ISO_SIZE];

    use_zone("UTC0");
    (void)clock_iso8601((struct timespec){.tv_sec = (time_t)INT64_MAX}, 6, out);
    assert_memory_equal(out, "9999-", 5);
    (void)clock_iso8601((struct timespec){.tv_sec = (time_t)INT64_MIN}, 6, out);
    assert_memory_equal(out, "0000-", 5);
}

static void file_stamps_have_no_colons(void **state)
{
    (void)state;
    char out[CLOCK_ISO_SIZE];

    use_zone("UTC0");
    assert_string_equal(clock_file_stamp((struct timespec){.tv_sec = 1763192573}, out),
                        "2025.11.15T07.42.53");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_never_falls),
        cmocka_unit_test(wall_clock_is_the_systems),
        cmocka_unit_test(suspension_is_not_negative),
        cmocka_unit_test(ticks_are_the_kernels),
        cmocka_unit_test(iso_text_has_the_asked_digits),
        cmocka_unit_test(offsets_are_signed_and_change_with_the_season),
        cmocka_unit_test(dates_agree_with_the_c_library),
        cmocka_unit_test(leap_days_are_right),
        cmocka_unit_test(a_broken_clock_still_fits),
        cmocka_unit_test(file_stamps_have_no_colons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
