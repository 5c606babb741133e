/* From readings to records: every rule of the pipeline, a test each. */
#include "reduce/window.h"

#include "window_fixture.h"

#include "base/json.h"

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

static void an_exited_process_keeps_what_it_did(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    row_number(process(1, 0.5), OPS, 30);
    row_number(process(2, 0.5), OPS, 7);
    row_number(process(1, 0.5), LEVEL, 1000);
    fold(SOURCE_T);
    window_end_subject(bench.window, 1);
    fold_process_number(PASS_SAMPLE, 2, 2, 0.5, OPS, 9);
    report();
    is_of("t_ops", "101", 30);
    is_of("t_level", "101", 1000);
    is_of("t_ops", "102", 9);
    is("t_ops_total", 39);

    fold_process_number(PASS_SAMPLE, 3, 2, 0.5, OPS, 10);
    report();
    absent_of("t_ops", "101"); /* it ended before this window */
    absent("t_level");
    is("t_ops_total", 1);
    summarise();
    is("t_ops_total", 40);
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

static void categorical_values_are_tallied(void **state)
{
    (void)state;
    static const char *const first[] = {"R", "S", "S"}, *const second[] = {"S", "S", "D"};

    for (size_t i = 0; i < 3; i++) {
        row_text(begin(SOURCE_T, PASS_SAMPLE, 1 + (double)i), MOOD, first[i]);
        row_text(process(1, 0.5), STATE, first[i]);
        row_text(process(2, 0.5), STATE, second[i]);
        fold(SOURCE_T);
    }
    report();
    assert_float_equal(tallied("t_state", "101", "R"), 1, 0);
    assert_float_equal(tallied("t_state", "101", "S"), 2, 0);
    assert_float_equal(tallied("t_state", "102", "S"), 2, 0);
    assert_float_equal(tallied("t_state", "102", "D"), 1, 0);
    assert_float_equal(tallied("t_state", "102", "R"), 0, 0);
    assert_float_equal(tallied("t_mood", NULL, "S"), 2, 0);
    /* collapsed: how many processes were in each state, summed over the samples */
    assert_float_equal(tallied("t_states", NULL, "R"), 1, 0);
    assert_float_equal(tallied("t_states", NULL, "S"), 4, 0);
    assert_float_equal(tallied("t_states", NULL, "D"), 1, 0);
    row_text(begin(SOURCE_T, PASS_SAMPLE, 4), MOOD, "R");
    row_text(process(1, 0.5), STATE, "R");
    fold(SOURCE_T);
    report();
    assert_float_equal(tallied("t_state", "101", "R"), 1, 0);
    assert_float_equal(tallied("t_states", NULL, "S"), 0, 0);
    summarise();
    assert_float_equal(tallied("t_states", NULL, "R"), 2, 0);
    assert_float_equal(tallied("t_states", NULL, "S"), 4, 0);
    assert_float_equal(tallied("t_mood", NULL, "R"), 2, 0);
    absent("t_state");
}

/* A pass of every kind of reading. */
static void fold_everything(enum pass_kind kind, double seconds, double number, const char *text)
{
    struct row *single = begin(SOURCE_T, kind, seconds);
    struct row *row = process(1, 0.5);

    row_number(row, LEVEL, number);
    row_number(row, OPS, number);
    row_text(row, STATE, text);
    row_text(row, NAME, text);
    row_number(single, GRAND, number);
    row_number(single, FREE, number);
    row_number(single, NOW, number);
    row_number(single, LOAD, number);
    row_text(single, MOOD, text);
    fold(SOURCE_T);
}

static void a_pass_that_found_nobody_is_no_sample_but_the_last_counters_are_kept(void **state)
{
    (void)state;
    fold_everything(PASS_SAMPLE, 1, 10, "R");
    window_count_sample(bench.window);
    report();
    assert_int_equal(bench.record.num_samples, 1);
    fold_everything(PASS_FINAL, 2, 25, "Z");
    report();
    assert_int_equal(bench.record.num_samples, 0);
    is("t_grand", 15);
    is_of("t_ops", "101", 15);
    is("t_ops_total", 15);
    is("t_now", 25); /* a running value is as good as a counter */
    absent("t_level");
    absent("t_level_total");
    absent("t_free");
    absent("t_load");
    absent("t_ave_load");
    absent("t_state");
    absent("t_states");
    absent("t_name");
    absent("t_mood");
    summarise();
    assert_int_equal(bench.record.num_samples, 1);
    is("t_grand", 15);
    is("t_peak_load", 10);
    is("t_ave_load", 10);
    is("t_low_free", 10);
    is("t_now", 25);
}

static void the_baseline_is_no_sample(void **state)
{
    (void)state;
    fold_everything(PASS_SEED, 0, 10, "R");
    report();
    assert_int_equal(bench.record.num_samples, 0);
    assert_int_equal(bench.record.count, 0);
    fold_everything(PASS_SAMPLE, 1, 12, "S");
    report();
    is("t_grand", 2);
    is_of("t_ops", "101", 2); /* what it had done before is not ours */
    is("t_ops_total", 2);
    assert_float_equal(tallied("t_mood", NULL, "R"), 0, 0);
    assert_float_equal(tallied("t_states", NULL, "R"), 0, 0);
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

static void percent_is_made_at_the_edge(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;
    struct json json;
    double number = 0;

    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, TREE_CORES, 3);
    report();
    is("t_tree_cores", 1.5); /* cores inside */
    assert_true(record_number(&bench.record, "t_tree_cores", &number));
    assert_float_equal(number, 150, 1e-9);
    json_init(&json, &text, 0);
    record_json(&json, &bench.record);
    assert_non_null(strstr(strbuf_text(&text), "\"t_tree_cores\":150,\"t_ave_tree_cores\":150"));
    strbuf_fini(&text);
}

static void a_key_is_present_if_and_only_if_it_was_measured(void **state)
{
    (void)state;
    struct strbuf text = STRBUF_INIT;
    struct json json;

    row_number(begin(SOURCE_T, PASS_SAMPLE, 1), LOAD, 0); /* zero was measured */
    row_number(process(1, 0.5), LEVEL, 5);
    row_number(process(2, 0.5), OPS, 5); /* its level could not be read */
    fold(SOURCE_T);
    report();
    is("t_load", 0);
    is("t_level_total", 5);
    is_of("t_level", "101", 5);
    absent_of("t_level", "102");
    absent_of("t_ops", "101");
    absent("t_free");
    absent("t_now");
    absent("t_grand");
    absent("t_banner");
    absent("u_load");
    absent("d_temperature");
    json_init(&json, &text, 0);
    record_json(&json, &bench.record);
    assert_null(strstr(strbuf_text(&text), "null"));
    assert_non_null(strstr(strbuf_text(&text), "\"t_level\":{\"101\":5}"));
    strbuf_fini(&text);
    summarise();
    is("t_peak_load", 0);
    absent("t_low_free");
    absent("t_grand");
    absent("u_peak_load");
    absent("u_ave_load");
    report(); /* nothing was read in this window */
    assert_int_equal(bench.record.count, 0);
}

static void what_is_no_number_is_no_value(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, LOAD, (double)NAN);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, FREE, (double)INFINITY);
    report();
    assert_int_equal(bench.record.count, 0); /* JSON has no word for them */
    fold_single_number(SOURCE_T, PASS_SAMPLE, 3, LOAD, 2);
    report();
    is("t_load", 2);
    is("t_ave_load", 2);
}

static void what_nobody_selected_is_not_recorded(void **state)
{
    (void)state;
    bench_select("t_load,t_ops");
    fold_everything(PASS_SAMPLE, 1, 10, "R");
    report();
    assert_int_equal(bench.record.count, 3); /* t_ops, t_load, t_ave_load */
    is_of("t_ops", "101", 10);
    is("t_load", 10);
    is("t_ave_load", 10);
}

static void means_are_weighted_by_time(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, LOAD, 100);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 2, LOAD, 60);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 10, LOAD, 10);
    report();
    is("t_load", 100);
    is("t_ave_load", (100 + 60 + 80) / 10.0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 30, LOAD, 0); /* weighs from the last pass on */
    report();
    is("t_ave_load", 0);
    summarise();
    is("t_ave_load", 240 / 30.0);
    is("t_peak_load", 100);
}

static void the_mean_of_a_rate_is_weighted_by_its_own_interval(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, TREE_CORES, 0);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 1, TREE_CORES, 2);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 5, TREE_CORES, 3);
    report();
    is("t_tree_cores", 2);
    is("t_ave_tree_cores", 3 / 5.0);
}

static void the_seed_of_a_window_is_the_last_reading_before_it(void **state)
{
    (void)state;
    double recorded = 0, counter = 12345;

    fold_single_number(SOURCE_T, PASS_SEED, 0, GRAND, counter);
    for (int window = 0; window < 20; window++) {
        for (int sample = 0; sample < window % 4; sample++) { /* also windows without any sample */
            counter += 1 + (window * 7 + sample * 3) % 11;
            fold_single_number(SOURCE_T, PASS_SAMPLE, 1 + window + sample / 8.0, GRAND, counter);
        }
        report();
        if (entry_of("t_grand"))
            recorded += value_of("t_grand", NULL)->number;
    }
    counter += 1000;
    fold_single_number(SOURCE_T, PASS_FINAL, 30, GRAND, counter);
    report();
    recorded += value_of("t_grand", NULL)->number;
    summarise();
    assert_true(recorded == counter - 12345);
    assert_true(value_of("t_grand", NULL)->number == counter - 12345);
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

static void a_total_is_the_sum_of_increments_never_the_increment_of_a_sum(void **state)
{
    (void)state;
    (void)begin(SOURCE_T, PASS_SAMPLE, 1);
    row_number(process(1, 0.1), OPS, 1000);
    row_number(process(2, 0.1), OPS, 10);
    fold(SOURCE_T);
    report();
    is("t_ops_total", 1010);
    window_end_subject(bench.window, 1); /* the sum over the living falls by 1000 */
    (void)begin(SOURCE_T, PASS_SAMPLE, 2);
    row_number(process(2, 0.1), OPS, 15);
    row_number(process(3, 1.5), OPS, 4);
    fold(SOURCE_T);
    report();
    is("t_ops_total", 9);
    summarise();
    is("t_ops_total", 1019);
}

static void the_peak_of_a_sum_is_never_a_sum_of_peaks(void **state)
{
    (void)state;
    static const double levels[][2] = {{10, 1}, {1, 10}, {4, 8}};

    for (size_t i = 0; i < 3; i++) {
        (void)begin(SOURCE_T, PASS_SAMPLE, 1 + (double)i);
        row_number(process(1, 0.5), LEVEL, levels[i][0]);
        row_number(process(2, 0.5), LEVEL, levels[i][1]);
        fold(SOURCE_T);
    }
    report();
    is("t_level_total", 12);
    is("t_level_largest", 10);
    is("t_ave_level_total", (11 + 11 + 12) / 3.0);
    is_of("t_level", "101", 10);
    is_of("t_level", "102", 10);
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

static void a_rate_above_the_usable_cores_is_cut_in_the_peak_but_not_in_the_mean(void **state)
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
    is("u_ave_machine", 8);
    summarise();
    is("t_peak_tree_cores", FIXTURE_CORES);
    is("t_ave_tree_cores", 4);
}

static void min_and_last_are_kept(void **state)
{
    (void)state;
    static const double numbers[] = {30, 10, 20};

    for (size_t i = 0; i < 3; i++) {
        struct row *single = begin(SOURCE_T, PASS_SAMPLE, 1 + (double)i);
        row_number(single, FREE, numbers[i]);
        row_number(single, NOW, numbers[i]);
        fold(SOURCE_T);
    }
    report();
    is("t_free", 10);
    is("t_now", 20);
    fold_single_number(SOURCE_T, PASS_SAMPLE, 4, FREE, 25);
    report();
    is("t_free", 25); /* not the least of the window before */
    absent("t_now");
    summarise();
    is("t_low_free", 10);
    is("t_now", 20);
}

static void the_last_label_wins(void **state)
{
    (void)state;
    static const char *const names[] = {"sh", "python", "python"};

    for (size_t i = 0; i < 3; i++) {
        row_text(begin(SOURCE_T, PASS_SAMPLE, 1 + (double)i), BANNER, names[i]);
        row_text(process(1, 0.5), NAME, names[i]);
        fold(SOURCE_T);
    }
    report();
    text_is_of("t_name", "101", "python");
    text_is_of("t_banner", NULL, "python");
    report();
    absent("t_name");
    absent("t_banner");
}

static void samples_are_counted_by_window_and_by_run(void **state)
{
    (void)state;
    for (unsigned window = 1; window <= 3; window++) {
        for (unsigned sample = 0; sample < window; sample++)
            window_count_sample(bench.window);
        report();
        assert_int_equal(bench.record.num_samples, window);
    }
    summarise();
    assert_int_equal(bench.record.num_samples, 6);
}

static void a_mean_stands_beside_each_single_key_reduced_by_max(void **state)
{
    (void)state;
    fold_everything(PASS_SAMPLE, 1, 10, "R");
    fold_everything(PASS_SAMPLE, 2, 20, "R");
    report();
    is("t_ave_load", 15);
    is("t_ave_level_total", 15);
    absent("t_ave_level"); /* of a process */
    absent("t_ave_free");
    absent("t_ave_now");
    absent("t_ave_grand");
    absent("t_ave_ops_total");
}

static void the_summary_names_its_statistics(void **state)
{
    (void)state;
    fold_single_number(SOURCE_T, PASS_SEED, 0, GRAND, 0);
    fold_everything(PASS_SAMPLE, 1, 10, "R");
    report();
    fold_everything(PASS_SAMPLE, 2, 20, "R");
    report();
    summarise();
    is("t_peak_level_total", 20);
    is("t_ave_level_total", 15);
    is("t_peak_load", 20);
    is("t_ave_load", 15);
    is("t_low_free", 10);
    is("t_now", 20);
    is("t_grand", 20);
    is("t_ops_total", 20);
    absent("t_load");
    absent("t_level_total");
    absent("t_free");
    absent("t_peak_now");
    absent("t_peak_grand");
    /* per-process values and labels stay out of it */
    absent("t_level");
    absent("t_peak_level");
    absent("t_ops");
    absent("t_state");
    absent("t_name");
    absent("t_banner");
}

static void devices_have_an_object_each_in_the_summary(void **state)
{
    (void)state;
    static const double temperatures[][2] = {{40, 50}, {60, 50}, {50, 50}};
    struct strbuf text = STRBUF_INIT;
    struct json json;

    for (size_t i = 0; i < 3; i++) {
        (void)begin(SOURCE_D, PASS_SAMPLE, 1 + (double)i);
        for (int32_t index = 0; index < 2; index++) {
            struct row *row = add_row(SOURCE_D, 1000 + (uint64_t)index, index, 1, BORN_UNKNOWN);
            row_number(row, D_TEMPERATURE, temperatures[i][index]);
            if (index == 1)
                row_number(row, D_ENERGY, 1000 + 100 * (double)i);
        }
        fold(SOURCE_D);
        report();
        is_of("d_temperature", "0", temperatures[i][0]);
    }
    summarise();
    is_of("d_peak_temperature", "0", 60);
    is_of("d_ave_temperature", "0", 50);
    is_of("d_peak_temperature", "1", 50);
    is_of("d_energy", "1", 200);
    absent_of("d_energy", "0");
    absent("d_temperature");
    json_init(&json, &text, 0);
    record_entry_json(&json, entry_of("d_peak_temperature"));
    assert_string_equal(strbuf_text(&text), "{\"0\":60,\"1\":50}");
    strbuf_fini(&text);
}

static void a_record_is_used_again(void **state)
{
    (void)state;
    /* Its memory is kept, its content is not: thousands of reports must neither grow nor mix. */
    for (int i = 1; i <= 2000; i++) {
        fold_process_number(PASS_SAMPLE, i, 1, 0.5, LEVEL, i);
        report();
        is("t_level_total", i);
        is_of("t_level", "101", i);
    }
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(each_pass_has_its_own_stamp),
        RULE(a_rate_divides_by_the_difference_of_its_own_rows_stamps),
        RULE(an_exited_process_keeps_what_it_did),
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
        RULE(categorical_values_are_tallied),
        RULE(a_pass_that_found_nobody_is_no_sample_but_the_last_counters_are_kept),
        RULE(the_baseline_is_no_sample),
        RULE(a_process_born_while_we_watch_did_everything_here),
        RULE(percent_is_made_at_the_edge),
        RULE(a_key_is_present_if_and_only_if_it_was_measured),
        RULE(what_is_no_number_is_no_value),
        RULE(what_nobody_selected_is_not_recorded),
        RULE(means_are_weighted_by_time),
        RULE(the_mean_of_a_rate_is_weighted_by_its_own_interval),
        RULE(the_seed_of_a_window_is_the_last_reading_before_it),
        RULE(a_rate_reaches_across_windows),
        RULE(a_total_is_the_sum_of_increments_never_the_increment_of_a_sum),
        RULE(the_peak_of_a_sum_is_never_a_sum_of_peaks),
        RULE(too_short_an_interval_is_carried),
        RULE(a_last_interval_too_short_for_a_rate_still_counts_in_the_mean),
        RULE(a_last_interval_too_short_makes_no_peak_of_a_total),
        RULE(a_rate_above_the_usable_cores_is_cut_in_the_peak_but_not_in_the_mean),
        RULE(min_and_last_are_kept),
        RULE(the_last_label_wins),
        RULE(samples_are_counted_by_window_and_by_run),
        RULE(a_mean_stands_beside_each_single_key_reduced_by_max),
        RULE(the_summary_names_its_statistics),
        RULE(devices_have_an_object_each_in_the_summary),
        RULE(a_record_is_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
