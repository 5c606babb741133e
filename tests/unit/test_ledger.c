/* The arithmetic of the conserved ledger; test_tree.c has it at work on real processes. */
#include "tree/ledger.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

/* cmocka compares floats; these are doubles. */
#define assert_near(A, B) assert_true(fabs((A) - (B)) < 1e-9)

static double tick(void)
{
    return 1.0 / (double)clock_ticks_per_second();
}

static void a_process_holds_its_own_part_and_that_of_its_waited_for_children(void **state)
{
    (void)state;
    const struct pid_stat stat = {.user_ticks = 10,
                                  .system_ticks = 20,
                                  .child_user_ticks = 300,
                                  .child_system_ticks = 400,
                                  .minor_faults = 5,
                                  .child_minor_faults = 60,
                                  .major_faults = 7,
                                  .child_major_faults = 80};
    struct ledger_sum sum = ledger_of_process(&stat, 0);

    assert_near(sum.cpu_seconds, 730 * tick());
    assert_int_equal(sum.minor_faults, 65);
    assert_int_equal(sum.major_faults, 87);
}

static void the_cpu_clock_takes_the_place_of_the_own_part_alone(void **state)
{
    (void)state;
    const struct pid_stat stat = {
        .user_ticks = 10, .system_ticks = 20, .child_user_ticks = 300, .child_system_ticks = 400};
    struct ledger_sum sum = ledger_of_process(&stat, 123456789);

    assert_near(sum.cpu_seconds, 0.123456789 + 700 * tick());
}

static void a_baseline_never_makes_a_part_negative(void **state)
{
    (void)state;
    const struct ledger_sum now = {5, 10, 3}, baseline = {2, 20, 3};
    struct ledger_sum left = ledger_minus(now, baseline);

    assert_near(left.cpu_seconds, 3);
    assert_int_equal(left.minor_faults, 0);
    assert_int_equal(left.major_faults, 0);
    left = ledger_minus(baseline, now);
    assert_near(left.cpu_seconds, 0);
    assert_int_equal(left.minor_faults, 10);
}

static void what_was_reaped_is_summed_and_the_largest_kept(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    const struct rusage first = {.ru_utime = {1, 700000},
                                 .ru_stime = {0, 600000},
                                 .ru_maxrss = 500,
                                 .ru_minflt = 10,
                                 .ru_majflt = 1,
                                 .ru_nvcsw = 3,
                                 .ru_nivcsw = 4,
                                 .ru_inblock = 8,
                                 .ru_oublock = 16};
    const struct rusage second = {.ru_utime = {2, 800000},
                                  .ru_stime = {0, 500000},
                                  .ru_maxrss = 400,
                                  .ru_minflt = 20,
                                  .ru_majflt = 2,
                                  .ru_nvcsw = 30,
                                  .ru_nivcsw = 40,
                                  .ru_inblock = 80,
                                  .ru_oublock = 160};

    ledger_reap(&ledger, &first);
    ledger_reap(&ledger, &second);
    assert_near(ledger.gone.cpu_seconds, 5.6);
    assert_near(ledger.reaped_cpu_seconds, 5.6);
    assert_int_equal(ledger.gone.minor_faults, 30);
    assert_int_equal(ledger.gone.major_faults, 3);
    assert_int_equal(ledger.reaped_count, 2);
    assert_int_equal(ledger.reaped.ru_utime.tv_sec, 4); /* microseconds carry over */
    assert_int_equal(ledger.reaped.ru_utime.tv_usec, 500000);
    assert_int_equal(ledger.reaped.ru_stime.tv_sec, 1);
    assert_int_equal(ledger.reaped.ru_stime.tv_usec, 100000);
    assert_int_equal(ledger.reaped.ru_nvcsw, 33);
    assert_int_equal(ledger.reaped.ru_nivcsw, 44);
    assert_int_equal(ledger.reaped.ru_inblock, 88);
    assert_int_equal(ledger.reaped.ru_oublock, 176);
    assert_int_equal(ledger.reaped.ru_maxrss, 500);
}

static void the_running_maximum_is_published(void **state)
{
    (void)state;
    struct ledger ledger = {.live = {3, 30, 3}, .gone = {1, 10, 1}};

    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4);
    assert_int_equal(ledger.published.minor_faults, 40);
    assert_int_equal(ledger.published.major_faults, 4);
    /* a race undercounts CPU for one pass; the faults go on */
    ledger.live = (struct ledger_sum){2, 35, 3};
    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4);
    assert_int_equal(ledger.published.minor_faults, 45);
    assert_int_equal(ledger.published.major_faults, 4);
    /* and heals */
    ledger.live = (struct ledger_sum){0, 0, 0};
    ledger.gone = (struct ledger_sum){4.5, 46, 5};
    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4.5);
    assert_int_equal(ledger.published.minor_faults, 46);
    assert_int_equal(ledger.published.major_faults, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_holds_its_own_part_and_that_of_its_waited_for_children),
        cmocka_unit_test(the_cpu_clock_takes_the_place_of_the_own_part_alone),
        cmocka_unit_test(a_baseline_never_makes_a_part_negative),
        cmocka_unit_test(what_was_reaped_is_summed_and_the_largest_kept),
        cmocka_unit_test(the_running_maximum_is_published),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
