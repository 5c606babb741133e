/* What to request next time: the rules, rounding, and runs that were cut off. */
#include "learn/suggestion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB          1048576.0
#define GIB          (1024 * MIB)
#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

static struct past_run run_of(enum past_end end, double memory, double cpu, double wall)
{
    return (struct past_run){.end = end,
                             .memory_bytes = memory,
                             .cpu_seconds = cpu,
                             .wall_seconds = wall,
                             .cpus = ceil(cpu / wall),
                             .burst = NAN,
                             .shortage = {NAN, NAN, NAN, NAN}};
}

static struct suggestion make(const struct past_run *runs, size_t count)
{
    struct suggestion suggestion;

    assert_int_equal(suggestion_make(runs, count, 0.2, &suggestion), 0);
    return suggestion;
}

static void few_runs_take_the_largest_plus_the_margin(void **state)
{
    (void)state;
    const struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, 1 * GIB, 100, 100),
        run_of(PAST_SUCCEEDED, 2 * GIB, 300, 100),
        run_of(PAST_SUCCEEDED, 1.5 * GIB, 200, 100),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_true(made.memory.quantile == 1 && made.memory.base == 2 * GIB);
    assert_true(made.memory.value == 2.5 * GIB); /* 2.4, rounded up to 128 MiB */
    assert_true(made.wall.value == 120);
    assert_true(made.cpus.value == 3); /* 2 are enough for two of three: 67 % */
    assert_int_equal(made.memory.fitting, 3);
}

static void many_runs_take_the_99th_percentile(void **state)
{
    (void)state;
    struct past_run runs[101];

    for (size_t i = 0; i < COUNT(runs); i++)
        runs[i] = run_of(PAST_SUCCEEDED, (double)i * GIB, 1, 60 * (double)i);
    runs[100].memory_bytes = 5000 * GIB; /* one that went wild */
    struct suggestion made = make(runs, COUNT(runs));

    assert_true(made.memory.quantile == 0.99);
    assert_true(made.memory.base == 99 * GIB);
    assert_true(made.memory.value == 120 * GIB);
    assert_int_equal(made.memory.fitting, 100);
    assert_true(made.memory.largest == 5000 * GIB);
}

static void nineteen_are_few_and_twenty_are_many(void **state)
{
    (void)state;
    struct past_run runs[20];

    for (size_t i = 0; i < COUNT(runs); i++)
        runs[i] = run_of(PAST_SUCCEEDED, GIB, 1, 60);
    assert_true(make(runs, 19).memory.quantile == 1);
    assert_true(make(runs, 20).memory.quantile == 0.99);
}

static void cpus_are_enough_for_nine_of_ten_runs(void **state)
{
    (void)state;
    struct past_run runs[20];

    for (size_t i = 0; i < COUNT(runs); i++)
        runs[i] = run_of(PAST_SUCCEEDED, GIB, 200, 100);
    runs[0].cpus = 1;
    runs[1].cpus = 16;
    assert_true(make(runs, 10).cpus.value == 2); /* a number of CPUs that runs need, not one in between */
    assert_int_equal(make(runs, 10).cpus.fitting, 9);
    assert_true(make(runs, 9).cpus.value == 16);
    runs[2].cpus = 8;
    assert_true(make(runs, 19).cpus.value == 8);
    assert_true(make(runs, 20).cpus.value == 2);
    runs[0].cpus = NAN; /* not known */
    assert_int_equal(make(runs, 20).cpus.runs, 19);
    assert_false(make(runs, 1).cpus.has);
}

static void cores_in_use_are_those_of_the_runs_that_count(void **state)
{
    (void)state;
    struct past_run runs[] = {run_of(PAST_SUCCEEDED, GIB, 200, 100), run_of(PAST_SUCCEEDED, GIB, 200, 100),
                              run_of(PAST_FAILED, GIB, 200, 100), run_of(PAST_SUCCEEDED, GIB, 200, 100)};

    for (size_t i = 0; i < COUNT(runs); i++)
        runs[i].busy[2] = 60;
    runs[1].busy[1] = 40;
    runs[3].shortage.waited = 0.9;
    runs[0].burst = 3.5;
    runs[3].burst = 7;
    struct suggestion made = make(runs, COUNT(runs));
    assert_true(made.bursts == 1 && made.burst == 3.5);
    assert_true(made.busy[0] == 0 && made.busy[1] == 40 && made.busy[2] == 120);
}

static void memory_is_rounded_up_in_steps_that_grow(void **state)
{
    (void)state;
    static const double cases[][2] = {
        {0, 64},        {1, 64},        {64, 64},           {65, 128},      {1000, 1024},
        {1025, 1152},   {4000, 4096},   {4097, 4608},       {16384, 16384}, {16385, 17408},
        {65536, 65536}, {65537, 69632}, {1048576, 1048576},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_true(suggestion_round_memory(cases[i][0] * MIB) == cases[i][1] * MIB);
    /* a product that is a little above for want of digits is no step more */
    assert_true(suggestion_round_memory(1.2 * (1280 / 1.2) * MIB) == 1280 * MIB);
}

static void time_is_rounded_up_to_minutes(void **state)
{
    (void)state;
    assert_true(suggestion_round_time(0.3) == 60);
    assert_true(suggestion_round_time(60) == 60);
    assert_true(suggestion_round_time(61) == 120);
}

static void only_runs_that_succeeded_count(void **state)
{
    (void)state;
    const struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 50, 100),
        run_of(PAST_FAILED, 0.5 * GIB, 1, 5000),
        run_of(PAST_RUNNING, 9 * GIB, 1, 9000),
        run_of(PAST_LOST, NAN, NAN, NAN),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_int_equal(made.found, 4);
    assert_int_equal(made.counted, 1);
    assert_false(made.none_succeeded);
    assert_true(made.wall.value == 120);
    assert_true(made.memory.base == GIB);
    assert_int_equal(made.ended[PAST_FAILED], 1);
    assert_true(made.failed_peak == 0);
}

static void others_count_if_none_succeeded(void **state)
{
    (void)state;
    const struct past_run runs[] = {
        run_of(PAST_FAILED, GIB, 50, 100),
        run_of(PAST_RUNNING, 9 * GIB, 1, 9000),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_true(made.none_succeeded);
    assert_int_equal(made.counted, 1);
    assert_true(made.memory.base == GIB);
    assert_true(made.wall.value == 120);
}

static void a_limit_that_killed_raises_the_memory(void **state)
{
    (void)state;
    struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, 0.5 * GIB, 50, 100),
        run_of(PAST_OUT_OF_MEMORY, 0.9 * GIB, 50, 100),
    };

    runs[1].memory_limit_bytes = GIB;
    struct suggestion made = make(runs, COUNT(runs));
    assert_true(made.memory.raised);
    assert_int_equal(made.memory.floor_by, FLOOR_LIMIT);
    assert_true(made.memory.floor_of == GIB);
    assert_true(made.memory.value == 1.5 * GIB);
    assert_int_equal(made.memory.runs, 1); /* its peak is no peak of a whole run */

    runs[1].memory_limit_bytes = 0; /* not known: its peak then */
    made = make(runs, COUNT(runs));
    assert_int_equal(made.memory.floor_by, FLOOR_PEAK);
    assert_float_equal(made.memory.floor, 1.35 * GIB, 1);

    runs[0].memory_bytes = 8 * GIB; /* succeeded with more since */
    made = make(runs, COUNT(runs));
    assert_false(made.memory.raised);
    assert_true(made.memory.value == 10 * GIB);
}

static void a_killed_run_alone_still_gives_a_floor(void **state)
{
    (void)state;
    struct past_run killed = run_of(PAST_OUT_OF_MEMORY, NAN, NAN, NAN);

    killed.memory_limit_bytes = GIB;
    struct suggestion made = make(&killed, 1);
    assert_true(made.memory.has && made.memory.raised);
    assert_int_equal(made.memory.runs, 0);
    assert_true(made.memory.value == 1.5 * GIB);
    assert_false(made.wall.has);
}

static void a_wider_margin_goes_beyond_limits_as_well(void **state)
{
    (void)state;
    struct past_run killed = run_of(PAST_OUT_OF_MEMORY, NAN, NAN, NAN);
    struct suggestion made;

    killed.memory_limit_bytes = GIB;
    assert_int_equal(suggestion_make(&killed, 1, 1.0, &made), 0);
    assert_true(made.memory.value == 2 * GIB);
}

static void a_time_limit_raises_the_time(void **state)
{
    (void)state;
    struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 50, 600),
        run_of(PAST_OUT_OF_TIME, GIB, 50, 3590),
    };

    runs[1].requested_seconds = 3600;
    struct suggestion made = make(runs, COUNT(runs));
    assert_true(made.wall.raised && made.wall.value == 5400);
    assert_false(made.memory.raised);
}

static void a_signal_raises_the_memory_to_the_peak_it_cut_off(void **state)
{
    (void)state;
    const struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 50, 100),
        run_of(PAST_SIGNALLED, 10 * GIB, 50, 100),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_true(made.memory.raised);
    assert_true(made.memory.value == 12 * GIB);
}

static void a_failed_run_with_more_memory_is_told(void **state)
{
    (void)state;
    const struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 50, 100),
        run_of(PAST_FAILED, 10 * GIB, 50, 100),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_false(made.memory.raised);
    assert_true(made.failed_peak == 10 * GIB);
}

static void requests_stand_beside_what_was_used(void **state)
{
    (void)state;
    struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, 1 * GIB, 100, 100),
        run_of(PAST_SUCCEEDED, 2 * GIB, 100, 100),
        run_of(PAST_SUCCEEDED, 3 * GIB, 100, 100),
    };

    runs[0].requested_bytes = 4 * GIB;
    runs[1].requested_bytes = 4 * GIB;
    runs[1].requested_cpus = 8;
    struct suggestion made = make(runs, COUNT(runs));
    assert_int_equal(made.memory.requested.runs, 2);
    assert_true(made.memory.requested.lowest == 4 * GIB && made.memory.requested.highest == 4 * GIB);
    assert_float_equal(made.memory.requested.used_median, 0.375, 1e-9);
    assert_float_equal(made.cpus.requested.used_median, 0.125, 1e-9);
    assert_int_equal(made.wall.requested.runs, 0);
}

static void methods_are_counted_apart(void **state)
{
    (void)state;
    struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 1, 1), run_of(PAST_SUCCEEDED, GIB, 1, 1),
        run_of(PAST_SUCCEEDED, GIB, 1, 1), run_of(PAST_SUCCEEDED, NAN, 1, 1), /* not measured: no method */
    };

    runs[0].memory_source = "peak_rss";
    runs[1].memory_source = runs[2].memory_source = "smaps_peak_pss_total";
    struct suggestion made = make(runs, COUNT(runs));
    assert_int_equal(made.source_count, 2);
    assert_string_equal(made.sources[0].source, "smaps_peak_pss_total");
    assert_int_equal(made.sources[0].runs, 2);
    assert_int_equal(made.memory.runs, 3);
    assert_int_equal(made.wall.runs, 4);
}

static void different_work_is_noticed(void **state)
{
    (void)state;
    struct past_run runs[5];

    for (size_t i = 0; i < COUNT(runs); i++) {
        static const char *const names[] = {"sort", "sort", "cat", "grep", "awk"};
        runs[i] = run_of(PAST_SUCCEEDED, GIB, 1, 1);
        runs[i].work = names[i];
    }
    assert_int_equal(make(runs, 2).work_count, 1);
    assert_int_equal(make(runs, 3).work_count, 2);
    assert_int_equal(make(runs, 5).work_count, 3);
    assert_true(make(runs, 5).more_work);
}

static void methods_are_of_the_runs_that_count(void **state)
{
    (void)state;
    struct past_run runs[] = {
        run_of(PAST_SUCCEEDED, GIB, 1, 1),
        run_of(PAST_FAILED, GIB, 1, 1),
        run_of(PAST_SIGNALLED, 3 * GIB, 1, 1),
    };

    for (size_t i = 0; i < COUNT(runs); i++) {
        runs[i].memory_source = "peak_rss";
        runs[i].memory_sampled = runs[i].memory_of_one = true;
    }
    runs[2].memory_source = "proc_hwm_max";
    struct suggestion made = make(runs, COUNT(runs));
    assert_int_equal(made.source_count, 1);
    assert_int_equal(made.sources[0].runs, made.memory.runs);
    assert_int_equal(made.memory_sampled, 1);
    assert_int_equal(made.memory_of_one, 1);
    assert_string_equal(made.memory.floor_source, "proc_hwm_max"); /* the one that raised it */
}

static void what_was_never_started_does_not_count(void **state)
{
    (void)state;
    const struct past_run runs[] = {run_of(PAST_NOT_STARTED, NAN, 0.001, 0.01),
                                    run_of(PAST_FAILED, GIB, 50, 100)};
    struct suggestion made = make(runs, COUNT(runs));

    assert_int_equal(made.counted, 1);
    assert_int_equal(made.wall.runs, 1);
    assert_int_equal(make(runs, 1).counted, 0);
}

static void runs_that_lacked_cpu_count_for_the_cpus_only_if_all_did(void **state)
{
    (void)state;
    struct past_run runs[5];

    for (size_t i = 0; i < COUNT(runs); i++) {
        static const double waits[] = {0.3, 0.2, 0.6, NAN, NAN};
        runs[i] = run_of(PAST_SUCCEEDED, GIB, 1, 1);
        runs[i].shortage.waited = waits[i];
        runs[i].requested_cpus = 4;
    }
    runs[1].cpus = runs[3].cpus = 4;
    runs[4].shortage.throttled = 0.5;
    struct suggestion made = make(runs, COUNT(runs));
    assert_int_equal(made.waited, 2);
    assert_int_equal(made.throttled, 1);
    assert_true(made.wait_lowest == 0.3 && made.wait_highest == 0.6);
    assert_false(made.cpus_are_lower_bound);
    assert_int_equal(made.cpus.runs, 2);
    assert_true(made.cpus.value == 4);
    assert_int_equal(made.cpus.requested.runs, 5); /* what was used of the request is known of all */
    assert_int_equal(made.memory.runs, 5);
    runs[1] = runs[0];
    runs[3] = runs[4];
    made = make(runs, COUNT(runs));
    assert_true(made.cpus_are_lower_bound);
    assert_int_equal(made.cpus.runs, 5);
    assert_true(made.cpus.value == 1);
}

static void a_run_on_busy_cpus_counts_as_one_that_waited(void **state)
{
    (void)state;
    struct past_run run = run_of(PAST_SUCCEEDED, GIB, 1, 1);

    run.shortage.others = 0.9;
    struct suggestion made = make(&run, 1);
    assert_int_equal(made.waited_perhaps, 1);
    assert_true(made.cpus_are_lower_bound);
    run.shortage.others = NAN;
    run.shortage.busy = 0.9;
    assert_true(make(&run, 1).cpus_are_lower_bound);
    run.shortage.busy = 0.1;
    made = make(&run, 1);
    assert_true(made.waited_perhaps == 0 && !made.cpus_are_lower_bound);
    run.end = PAST_ATTACHED; /* what it did before and after is not known */
    assert_true(make(&run, 1).cpus_are_lower_bound);
}

static struct past_run rank_of(const char *job, const char *batch, double start, double wall)
{
    struct past_run run = run_of(PAST_SUCCEEDED, GIB, 2 * wall, wall);

    run.job = job;
    run.batch = batch;
    run.start_wall = start;
    return run;
}

static void ranks_are_runs_of_a_job_at_the_same_time(void **state)
{
    (void)state;
    struct past_run runs[] = {
        rank_of("train", "1", 1000, 50), rank_of("train", "1", 1010, 50), rank_of("train", "1", 1020, 40),
        rank_of("train", "1", 1060, 50), /* began when others ended */
        rank_of("train", "2", 1010, 50), /* another job of the scheduler */
        rank_of("other", "1", 1010, 50), rank_of(NULL, "1", 1010, 50),    rank_of(NULL, "1", 1010, 50),
    };
    struct suggestion made = make(runs, COUNT(runs));

    assert_int_equal(made.together.runs, 3);
    assert_string_equal(made.together.job, "train");
    assert_true(made.together.memory_bytes == 3 * GIB);
    assert_float_equal(made.together.cpus, 6, 1e-9);
    runs[1].end = PAST_FAILED; /* a rank that failed was there all the same */
    assert_int_equal(make(runs, COUNT(runs)).together.runs, 3);
    runs[1].end = PAST_NOT_STARTED;
    assert_int_equal(make(runs, COUNT(runs)).together.runs, 2);
    assert_int_equal(make(runs + 4, 4).together.runs, 1);
}

static void no_runs_suggest_nothing(void **state)
{
    (void)state;
    struct suggestion made = make(NULL, 0);

    assert_int_equal(made.counted, 0);
    assert_false(made.memory.has || made.cpus.has || made.wall.has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_runs_take_the_largest_plus_the_margin),
        cmocka_unit_test(many_runs_take_the_99th_percentile),
        cmocka_unit_test(nineteen_are_few_and_twenty_are_many),
        cmocka_unit_test(cpus_are_enough_for_nine_of_ten_runs),
        cmocka_unit_test(cores_in_use_are_those_of_the_runs_that_count),
        cmocka_unit_test(memory_is_rounded_up_in_steps_that_grow),
        cmocka_unit_test(time_is_rounded_up_to_minutes),
        cmocka_unit_test(only_runs_that_succeeded_count),
        cmocka_unit_test(others_count_if_none_succeeded),
        cmocka_unit_test(a_limit_that_killed_raises_the_memory),
        cmocka_unit_test(a_killed_run_alone_still_gives_a_floor),
        cmocka_unit_test(a_wider_margin_goes_beyond_limits_as_well),
        cmocka_unit_test(a_time_limit_raises_the_time),
        cmocka_unit_test(a_signal_raises_the_memory_to_the_peak_it_cut_off),
        cmocka_unit_test(a_failed_run_with_more_memory_is_told),
        cmocka_unit_test(requests_stand_beside_what_was_used),
        cmocka_unit_test(methods_are_counted_apart),
        cmocka_unit_test(methods_are_of_the_runs_that_count),
        cmocka_unit_test(what_was_never_started_does_not_count),
        cmocka_unit_test(runs_that_lacked_cpu_count_for_the_cpus_only_if_all_did),
        cmocka_unit_test(a_run_on_busy_cpus_counts_as_one_that_waited),
        cmocka_unit_test(ranks_are_runs_of_a_job_at_the_same_time),
        cmocka_unit_test(different_work_is_noticed),
        cmocka_unit_test(no_runs_suggest_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
