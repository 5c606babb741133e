/* From readings to rates and increments: every rule of that step, a test each. */
#include "reduce/window.h"

#include "window_fixture.h"

static void each_pass_has_its_own_stamp(void **state)
{
    (void)state;
    /* The same counters, read by two collectors at different times: each divides by its own. */
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1.0, TREE_CORES, 3);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1.5, U_CORES, 3);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 3.0, TREE_CORES, 5);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 2.0, U_CORES, 5);
    report();
    is("t_tree_cores", 3);
    is("t_ave_tree_cores", 5 / 3.0);
    is("u_cores", 4);
    is("u_ave_cores", 5 / 2.0);
}

static void a_rate_divides_by_the_difference_of_its_own_rows_stamps(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    struct row *row = process(1, 0.1);
    row->stamp_ns = at_ns(1.2); /* a long pass reaches this process late */
    row_number(row, CORES, 0.5);
    fold(SOURCE_T);
    report();
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row = process(1, 0.1);
    row->stamp_ns = at_ns(2.3);
    row_number(row, CORES, 1.6);
    fold(SOURCE_T);
    report();
    is_of("t_cores", "101", 1.0);
}

static void a_newborn_has_the_rate_cputime_by_age(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 0.5); /* born after the start, the pass before */
    report();
    is_of("t_cores", "101", 1.0);
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(2, 1.5), CORES, 0.25);
    fold(SOURCE_T);
    report();
    is_of("t_cores", "102", 0.5);
}

static void a_process_born_before_the_previous_pass_has_no_rate_at_first_sight(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 0);
    report();
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(2, 0.9), CORES, 0.8); /* overlooked by the pass at 1 */
    row_number(process(3, BORN_UNKNOWN), CORES, 0.8);
    fold(SOURCE_T);
    report();
    absent_of("t_cores", "102");
    absent_of("t_cores", "103");
    (void)begin(SOURCE_T, PASS_SAMPLE, 3);
    row_number(process(2, 0.9), CORES, 1.3);
    row_number(process(3, BORN_UNKNOWN), CORES, 1.0);
    fold(SOURCE_T);
    report();
    is_of("t_cores", "102", 0.5);
    is_of("t_cores", "103", 0.2);
}

static void the_previous_pass_is_that_of_the_same_collector(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1.9, U_LOAD, 1); /* another one looked in between */
    fold_process_number(PASS_SAMPLE, 2, 2, 1.5, CORES, 0.5);
    report();
    is_of("t_cores", "102", 1.0);
}

static void the_age_of_a_newborn_is_at_least_one_tick(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    row_number(process(1, 0.999), CORES, 0.004);  /* 4 ms in 1 ms: its start was cut to a tick */
    row_number(process(2, 1.0), CORES, 0.005);    /* no age at all */
    row_number(process(3, 1.0001), CORES, 0.005); /* born "after" it was read */
    row_number(process(4, 0.98), CORES, 0.005);
    fold(SOURCE_T);
    report();
    is_of("t_cores", "101", 0.4);
    is_of("t_cores", "102", 0.5);
    is_of("t_cores", "103", 0.5);
    is_of("t_cores", "104", 0.25);
}

static void the_rate_of_a_newborn_is_at_most_the_usable_cores(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.9, CORES, 1.0); /* 10 cores */
    report();
    is_of("t_cores", "101", FIXTURE_CORES);
}

static void a_single_counter_that_fell_gives_no_value(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, GRAND, 100);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, GRAND, 150);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, GRAND, 20);
    report();
    absent("t_grand"); /* not 50, not -80, not 0 */
    fold_single_number(SOURCE_T, PASS_SAMPLE, 3, GRAND, 25);
    report();
    is("t_grand", 5); /* and the next window works again */
}

static void a_rate_of_a_counter_that_fell_gives_no_value(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 5);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, 2);
    report();
    absent("t_tree_cores");
    absent("t_ave_tree_cores");
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, TREE_CORES, 3);
    report();
    is("t_tree_cores", 1);
    is("t_ave_tree_cores", 1);
}

static void a_counter_of_a_process_that_fell_gives_no_value_of_it(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    row_number(process(1, 0.5), OPS, 10);
    row_number(process(2, 0.5), OPS, 10);
    fold(SOURCE_T);
    report();
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(1, 0.5), OPS, 4);
    row_number(process(2, 0.5), OPS, 13);
    fold(SOURCE_T);
    report();
    absent_of("t_ops", "101");
    is_of("t_ops", "102", 3); /* nobody else's business */
    (void)begin(SOURCE_T, PASS_SAMPLE, 3);
    row_number(process(1, 0.5), OPS, 6);
    row_number(process(2, 0.5), OPS, 13);
    fold(SOURCE_T);
    report();
    is_of("t_ops", "101", 2);
    is_of("t_ops", "102", 0);
}

static void a_key_of_which_every_counter_fell_is_absent(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, OPS, 10);
    report();
    fold_process_number(PASS_SAMPLE, 2, 1, 0.5, OPS, 12);
    fold_process_number(PASS_SAMPLE, 3, 1, 0.5, OPS, 4);
    report();
    absent("t_ops"); /* not an empty object */
}

static void a_total_of_counters_of_which_one_fell_gives_no_value(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    row_number(process(1, 0.5), OPS, 10);
    row_number(process(2, 0.5), OPS, 10);
    fold(SOURCE_T);
    report();
    is("t_ops_total", 20);
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(1, 0.5), OPS, 4);
    row_number(process(2, 0.5), OPS, 13);
    fold(SOURCE_T);
    report();
    absent("t_ops_total");
    (void)begin(SOURCE_T, PASS_SAMPLE, 3);
    row_number(process(1, 0.5), OPS, 6);
    row_number(process(2, 0.5), OPS, 14);
    fold(SOURCE_T);
    report();
    is("t_ops_total", 3);
}

static void a_reused_pid_is_another_process(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    struct row *row = add_row(SOURCE_T, 1, 4711, 1, 0.5);
    row_number(row, OPS, 100);
    row_number(row, CORES, 0.5);
    row_text(row, NAME, "first");
    fold(SOURCE_T);
    window_end_subject(bench.window, 1);
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row = add_row(SOURCE_T, 2, 4711, 2, 1.5);
    row_number(row, OPS, 7);
    row_number(row, CORES, 0.1);
    row_text(row, NAME, "second");
    fold(SOURCE_T);
    report();
    is_of("t_ops", "4711", 100);
    is_of("t_ops", "4711#2", 7);
    is_of("t_cores", "4711", 1.0);
    is_of("t_cores", "4711#2", 0.2); /* neither fallen nor mixed */
    text_is_of("t_name", "4711", "first");
    text_is_of("t_name", "4711#2", "second");
    is("t_ops_total", 107);
}

static void a_process_born_while_we_watch_did_everything_here(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.1, OPS, 1);
    report();
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(2, 0.9), OPS, 40); /* overlooked once, born since the start all the same */
    row_number(process(3, BORN_UNKNOWN), OPS, 500);
    fold(SOURCE_T);
    report();
    is_of("t_ops", "102", 40);
    absent_of("t_ops", "103"); /* who knows when it did that */
    is("t_ops_total", 40);
    fold_process_number(PASS_SAMPLE, 3, 3, BORN_UNKNOWN, OPS, 503);
    report();
    is_of("t_ops", "103", 3);
}

static void one_from_before_a_long_suspend_did_nothing_here_yet(void **state)
{
    /* Born before the monotonic clock began. */
    const struct subject old = {.serial = 1, .id = 101, .incarnation = 1, .born_ns = (uint64_t)-5000000000};

    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    struct row *row = pass_row(&bench.pass[SOURCE_T], &old);
    assert_non_null(row);
    row_number(row, CORES, 100);
    row_number(row, OPS, 1000);
    fold(SOURCE_T);
    report();
    absent("t_cores");
    absent("t_ops");
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row = pass_row(&bench.pass[SOURCE_T], &old);
    assert_non_null(row);
    row_number(row, CORES, 100.5);
    row_number(row, OPS, 1003);
    fold(SOURCE_T);
    report();
    is_of("t_cores", "101", 0.5);
    is_of("t_ops", "101", 3);
}

static void a_rate_reaches_across_windows(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 0.5);
    report();
    fold_process_number(PASS_SAMPLE, 3, 1, 0.5, CORES, 1.5);
    report();
    is_of("t_cores", "101", 0.5);
}

static void too_short_an_interval_is_carried(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 1);
    report();
    fold_process_number(PASS_SAMPLE, 1.004, 1, 0.5, CORES, 1.01); /* a late tick: it would be 2.5 cores */
    report();
    absent("t_cores");
    absent("t_cores_sum");
    fold_process_number(PASS_SAMPLE, 2, 1, 0.5, CORES, 1.5);
    report();
    is_of("t_cores", "101", 0.5); /* over the whole second */
    is("t_cores_sum", 0.5);
    fold_process_number(PASS_SAMPLE, 2.0051, 1, 0.5, CORES, 1.502); /* half a tick is enough */
    report();
    is_of("t_cores", "101", 0.002 / 0.0051);
}

static void a_fallen_counter_ends_what_is_carried(void **state)
{
    (void)state;
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 0.004, U_CORES, 3);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_CORES, 1);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 2, U_CORES, 2);
    report();
    is("u_cores", 1); /* without the 3 of before */
}

static void a_rate_spans_what_it_is_asked_to(void **state)
{
    (void)state;
    bench_rates(0.5, 0.9);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 0.1, U_CORES, 0.4); /* 4 cores, of 0.1 s */
    report();
    absent("u_cores");
    fold_single_number(SOURCE_U, PASS_SAMPLE, 0.5, U_CORES, 0.5);
    report();
    is("u_cores", 1);
    summarise();
    absent("u_peak_cores");
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_CORES, 0.6);
    report();
    is("u_cores", 0.2);
    is("u_ave_cores", 0.2);
    summarise();
    is("u_peak_cores", 0.6);
    is("u_ave_cores", 0.6);
}

static void the_rest_at_the_end_sets_a_peak_with_the_rate_before_it(void **state)
{
    (void)state;
    bench_rates(0.5, 0.9);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_CORES, 0.1);
    report();
    fold_single_number(SOURCE_U, PASS_FINAL, 1.02, U_CORES, 0.12); /* one core, for 20 ms */
    report();
    absent("u_cores");
    absent("u_ave_cores");
    summarise();
    is("u_peak_cores", 0.12 / 1.02);
    is("u_ave_cores", 0.12 / 1.02);
}

static void no_mean_is_above_its_peak(void **state)
{
    (void)state;
    bench_rates(0.5, 0.9);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_CORES, 0.01);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1.3, U_CORES, 0.02);
    fold_single_number(SOURCE_U, PASS_FINAL, 1.6, U_CORES, 0.32);
    report();
    summarise();
    is("u_peak_cores", 0.32 / 1.6);
    is("u_ave_cores", 0.32 / 1.6);
}

static void a_rest_that_is_all_there_was_is_a_rate(void **state)
{
    (void)state;
    bench_rates(0.5, 0.9);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 0.1, U_CORES, 0.1);
    fold_single_number(SOURCE_U, PASS_FINAL, 0.3, U_CORES, 0.15);
    report();
    is("u_cores", 0.5); /* of the whole run, not the 1 of its first tenth */
    is("u_ave_cores", 0.5);
    summarise();
    is("u_peak_cores", 0.5);
    is("u_ave_cores", 0.5);
}

static void a_newborn_has_its_rate_however_young(void **state)
{
    (void)state;
    bench_rates(0.5, 0.9);
    fold_process_number(PASS_SAMPLE, 1, 1, 0.9, CORES, 0.05);
    fold_process_number(PASS_SAMPLE, 1.1, 1, 0.9, CORES, 0.25); /* 2 cores, of 0.1 s */
    report();
    is_of("t_cores", "101", 0.5);
}

/* Those of the machine had counted before, and go on from their seed. */
static void a_counter_of_the_command_begins_with_it(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_MACHINE, 7);
    window_begin(bench.window, at_ns(0.5));
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, 1);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_MACHINE, 8);
    report();
    is("t_tree_cores", 2);
    is("t_ave_tree_cores", 2);
    is("u_machine", 1);
}

static void a_last_interval_too_short_for_a_rate_still_counts_in_the_mean(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, 1);
    fold_single_number(SOURCE_T, PASS_FINAL, 1.004, TREE_CORES, 1.012);
    report();
    is("t_tree_cores", 1); /* not 3 */
    is("t_ave_tree_cores", 1.012 / 1.004);
}

static void a_last_interval_too_short_makes_no_peak_of_a_total(void **state)
{
    (void)state;
    fold_process_number(PASS_SAMPLE, 1, 1, 0.5, CORES, 0.5);
    fold_process_number(PASS_FINAL, 1.004, 1, 0.5, CORES, 0.512);
    report();
    is_of("t_cores", "101", 1);
    is("t_cores_sum", 1);
}

static void a_mean_above_the_usable_cores_is_cut(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, FIXTURE_CORES + 1); /* counted late: before 0 */
    report();
    is("t_tree_cores", FIXTURE_CORES);
    is("t_ave_tree_cores", FIXTURE_CORES);
}

static void a_rate_above_the_usable_cores_is_cut_in_the_peak_and_counts_whole_in_a_mean_below(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, 2);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, TREE_CORES, 8); /* part of it was done before 1 */
    report();
    is("t_tree_cores", FIXTURE_CORES);
    is("t_ave_tree_cores", 4);
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_CORES, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_CORES, 8);
    report();
    is("u_cores", 8); /* without a ceiling nothing is cut */
    fold_single_number(SOURCE_U, PASS_SAMPLE, 2, U_MACHINE, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 3, U_MACHINE, 8);
    report();
    is("u_machine", FIXTURE_ONLINE); /* a rate of the whole machine has the machine's cores */
    is("u_ave_machine", FIXTURE_ONLINE);
    summarise();
    is("t_peak_tree_cores", FIXTURE_CORES);
    is("t_ave_tree_cores", 4);
}

static void a_share_of_time_is_at_most_all_of_it(void **state)
{
    (void)state;
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_STALLED, 0);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 1, U_STALLED, 0.5);
    report();
    is("u_stalled", 0.5);
    fold_single_number(SOURCE_U, PASS_SAMPLE, 2, U_STALLED, 1.75); /* a late reading: part of it was before */
    report();
    is("u_stalled", 1);
    is("u_ave_stalled", 1);
    summarise();
    is("u_peak_stalled", 1);
    is("u_ave_stalled", 1.75 / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(each_pass_has_its_own_stamp),
        RULE(a_rate_divides_by_the_difference_of_its_own_rows_stamps),
        RULE(a_newborn_has_the_rate_cputime_by_age),
        RULE(a_process_born_before_the_previous_pass_has_no_rate_at_first_sight),
        RULE(the_previous_pass_is_that_of_the_same_collector),
        RULE(the_age_of_a_newborn_is_at_least_one_tick),
        RULE(the_rate_of_a_newborn_is_at_most_the_usable_cores),
        RULE(a_single_counter_that_fell_gives_no_value),
        RULE(a_rate_of_a_counter_that_fell_gives_no_value),
        RULE(a_counter_of_a_process_that_fell_gives_no_value_of_it),
        RULE(a_key_of_which_every_counter_fell_is_absent),
        RULE(a_total_of_counters_of_which_one_fell_gives_no_value),
        RULE(a_reused_pid_is_another_process),
        RULE(a_process_born_while_we_watch_did_everything_here),
        RULE(one_from_before_a_long_suspend_did_nothing_here_yet),
        RULE(a_rate_reaches_across_windows),
        RULE(too_short_an_interval_is_carried),
        RULE(a_fallen_counter_ends_what_is_carried),
        RULE(a_rate_spans_what_it_is_asked_to),
        RULE(the_rest_at_the_end_sets_a_peak_with_the_rate_before_it),
        RULE(no_mean_is_above_its_peak),
        RULE(a_rest_that_is_all_there_was_is_a_rate),
        RULE(a_newborn_has_its_rate_however_young),
        RULE(a_counter_of_the_command_begins_with_it),
        RULE(a_last_interval_too_short_for_a_rate_still_counts_in_the_mean),
        RULE(a_last_interval_too_short_makes_no_peak_of_a_total),
        RULE(a_mean_above_the_usable_cores_is_cut),
        RULE(a_rate_above_the_usable_cores_is_cut_in_the_peak_and_counts_whole_in_a_mean_below),
        RULE(a_share_of_time_is_at_most_all_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
