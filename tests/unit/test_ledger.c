/* The arithmetic of the conserved ledger; test_tree.c has it at work on real processes. */
#include "tree/ledger.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
    struct ledger_sum sum = ledger_of_process(&stat, 0, NULL);

    assert_near(sum.cpu_seconds, 730 * tick());
    assert_int_equal(sum.counts[LEDGER_MINOR_FAULTS], 65);
    assert_int_equal(sum.counts[LEDGER_MAJOR_FAULTS], 87);
}

static void the_cpu_clock_takes_the_place_of_the_own_part_alone(void **state)
{
    (void)state;
    const struct pid_stat stat = {
        .user_ticks = 10, .system_ticks = 20, .child_user_ticks = 300, .child_system_ticks = 400};
    struct ledger_sum sum = ledger_of_process(&stat, 123456789, NULL);

    assert_near(sum.cpu_seconds, 0.123456789 + 700 * tick());
}

static const struct pid_io some_io = {
    .rchar = 1, .wchar = 20, .syscr = 300, .syscw = 4000, .read_bytes = 50000, .write_bytes = 600000};

static void io_is(const struct ledger_sum *sum, const struct pid_io *io)
{
    assert_int_equal(sum->counts[LEDGER_RCHAR], io->rchar);
    assert_int_equal(sum->counts[LEDGER_WCHAR], io->wchar);
    assert_int_equal(sum->counts[LEDGER_SYSCR], io->syscr);
    assert_int_equal(sum->counts[LEDGER_SYSCW], io->syscw);
    assert_int_equal(sum->counts[LEDGER_READ_BYTES], io->read_bytes);
    assert_int_equal(sum->counts[LEDGER_WRITE_BYTES], io->write_bytes);
}

static void a_process_holds_what_its_io_file_says(void **state)
{
    (void)state;
    const struct pid_stat stat = {.minor_faults = 5};
    struct ledger_sum sum = ledger_of_process(&stat, 0, &some_io);

    io_is(&sum, &some_io); /* its waited-for children are in the file already */
    assert_int_equal(sum.counts[LEDGER_MINOR_FAULTS], 5);
    sum = ledger_of_process(&stat, 0, NULL);
    io_is(&sum, &(struct pid_io){0});
}

/* A sum with these parts and nothing else. */
static struct ledger_sum sum_of(double cpu_seconds, uint64_t minor_faults, uint64_t major_faults)
{
    return (struct ledger_sum){
        .cpu_seconds = cpu_seconds,
        .counts = {[LEDGER_MINOR_FAULTS] = minor_faults, [LEDGER_MAJOR_FAULTS] = major_faults}};
}

static void a_baseline_never_makes_a_part_negative(void **state)
{
    (void)state;
    struct ledger_sum now = sum_of(5, 10, 3), baseline = sum_of(2, 20, 3);
    now.counts[LEDGER_WRITE_BYTES] = 70;
    baseline.counts[LEDGER_WRITE_BYTES] = 30;
    now.counts[LEDGER_RCHAR] = 1;
    baseline.counts[LEDGER_RCHAR] = 2;
    struct ledger_sum left = ledger_minus(now, baseline);

    assert_near(left.cpu_seconds, 3);
    assert_int_equal(left.counts[LEDGER_MINOR_FAULTS], 0);
    assert_int_equal(left.counts[LEDGER_MAJOR_FAULTS], 0);
    assert_int_equal(left.counts[LEDGER_WRITE_BYTES], 40);
    assert_int_equal(left.counts[LEDGER_RCHAR], 0);
    left = ledger_minus(baseline, now);
    assert_near(left.cpu_seconds, 0);
    assert_int_equal(left.counts[LEDGER_MINOR_FAULTS], 10);
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

    ledger_reap(&ledger, &first, NULL);
    ledger_reap(&ledger, &second, NULL);
    assert_near(ledger.gone.cpu_seconds, 5.6);
    assert_near(ledger.reaped_cpu_seconds, 5.6);
    assert_int_equal(ledger.gone.counts[LEDGER_MINOR_FAULTS], 30);
    assert_int_equal(ledger.gone.counts[LEDGER_MAJOR_FAULTS], 3);
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
    struct ledger ledger = {.live = sum_of(3, 30, 3), .gone = sum_of(1, 10, 1)};

    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4);
    assert_int_equal(ledger.published.counts[LEDGER_MINOR_FAULTS], 40);
    assert_int_equal(ledger.published.counts[LEDGER_MAJOR_FAULTS], 4);
    /* a race undercounts CPU for one pass; the faults go on */
    ledger.live = sum_of(2, 35, 3);
    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4);
    assert_int_equal(ledger.published.counts[LEDGER_MINOR_FAULTS], 45);
    assert_int_equal(ledger.published.counts[LEDGER_MAJOR_FAULTS], 4);
    /* and heals */
    ledger.live = sum_of(0, 0, 0);
    ledger.gone = sum_of(4.5, 46, 5);
    ledger_publish(&ledger);
    assert_near(ledger.published.cpu_seconds, 4.5);
    assert_int_equal(ledger.published.counts[LEDGER_MINOR_FAULTS], 46);
    assert_int_equal(ledger.published.counts[LEDGER_MAJOR_FAULTS], 5);
}

static void io_of_a_reaped_process_is_what_it_said_before(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    const struct rusage usage = {.ru_inblock = 8, .ru_oublock = 16};
    const struct ledger_sum alive = ledger_of_process(&(struct pid_stat){0}, 0, &some_io);

    ledger.live = alive;
    ledger_publish(&ledger);
    ledger.live = sum_of(0, 0, 0);
    ledger_reap(&ledger, &usage, &some_io);
    io_is(&ledger.gone, &some_io); /* storage too: blocks of wait4 would count it again */
    ledger_publish(&ledger);
    io_is(&ledger.published, &some_io);
}

static void without_its_io_file_a_reaped_process_has_the_blocks_of_wait4(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    const struct rusage usage = {.ru_inblock = 8, .ru_oublock = 16};

    ledger_reap(&ledger, &usage, NULL);
    io_is(&ledger.gone, &(struct pid_io){.read_bytes = 8 * 512, .write_bytes = 16 * 512});
}

/* A pass in which the living hold `cpu_seconds`; returns what is known to be dropped. */
static double pass(struct ledger *ledger, double cpu_seconds)
{
    ledger->live = sum_of(cpu_seconds, 0, 0);
    ledger_publish(ledger);
    return ledger->dropped_cpu_seconds;
}

static void cpu_that_stays_missing_is_dropped(void **state)
{
    (void)state;
    struct ledger ledger = {0};

    assert_near(pass(&ledger, 10), 0);
    for (int i = 0; i < LEDGER_PATIENCE - 1; i++)
        assert_near(pass(&ledger, 8 + 0.1 * i), 0); /* it may be a race still */
    double dropped = pass(&ledger, 8.4);
    assert_near(dropped, 1.6); /* the least of the three: at least so much */
    assert_near(ledger.published.cpu_seconds, 10);
    /* What the living go on to use makes up for the sum, not for the loss. */
    assert_near(pass(&ledger, 12), dropped);
    ledger_settle(&ledger);
    assert_near(ledger.dropped_cpu_seconds, dropped);
}

static void cpu_that_comes_back_is_not_dropped(void **state)
{
    (void)state;
    struct ledger ledger = {0};

    assert_near(pass(&ledger, 10), 0);
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < LEDGER_PATIENCE - 1; i++)
            assert_near(pass(&ledger, 8), 0);
        assert_near(pass(&ledger, 10.1 + turn), 0);
    }
    ledger_settle(&ledger);
    assert_near(ledger.dropped_cpu_seconds, 0);
}

static void what_was_reaped_is_not_missing(void **state)
{
    (void)state;
    struct ledger ledger = {0};
    const struct rusage usage = {.ru_utime = {10, 0}};

    (void)pass(&ledger, 10);
    ledger_reap(&ledger, &usage, NULL);
    for (int i = 0; i <= LEDGER_PATIENCE; i++)
        assert_near(pass(&ledger, 0), 0);
}

static void what_ticks_may_hide_is_not_called_dropped(void **state)
{
    (void)state;
    static const struct {
        double before, after;
        bool dropped;
    } cases[] = {
        {1, 0.95, false},   /* 50 ms */
        {1, 0.8, true},     /* 200 ms, a fifth of all */
        {1000, 997, false}, /* 3 s, but 3 in a thousand */
        {1000, 990, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ledger ledger = {0};

        (void)pass(&ledger, cases[i].before);
        for (int j = 0; j < LEDGER_PATIENCE; j++)
            (void)pass(&ledger, cases[i].after);
        ledger_settle(&ledger);
        assert_int_equal(ledger.dropped_cpu_seconds > 0, cases[i].dropped);
    }
}

static void after_the_last_pass_nothing_heals(void **state)
{
    (void)state;
    struct ledger ledger = {0};

    (void)pass(&ledger, 10);
    assert_near(pass(&ledger, 7), 0);
    ledger_settle(&ledger);
    assert_near(ledger.dropped_cpu_seconds, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_holds_its_own_part_and_that_of_its_waited_for_children),
        cmocka_unit_test(the_cpu_clock_takes_the_place_of_the_own_part_alone),
        cmocka_unit_test(a_process_holds_what_its_io_file_says),
        cmocka_unit_test(a_baseline_never_makes_a_part_negative),
        cmocka_unit_test(what_was_reaped_is_summed_and_the_largest_kept),
        cmocka_unit_test(the_running_maximum_is_published),
        cmocka_unit_test(io_of_a_reaped_process_is_what_it_said_before),
        cmocka_unit_test(without_its_io_file_a_reaped_process_has_the_blocks_of_wait4),
        cmocka_unit_test(cpu_that_stays_missing_is_dropped),
        cmocka_unit_test(cpu_that_comes_back_is_not_dropped),
        cmocka_unit_test(what_was_reaped_is_not_missing),
        cmocka_unit_test(what_ticks_may_hide_is_not_called_dropped),
        cmocka_unit_test(after_the_last_pass_nothing_heals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
