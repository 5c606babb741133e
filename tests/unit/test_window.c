/* From rates and levels to records and the summary: every rule of collapsing and reducing, a test each. */
#include "reduce/window.h"

#include "window_fixture.h"

#include "base/json.h"

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

static void a_gauge_that_the_kernel_kept_counts_at_the_last_look(void **state)
{
    (void)state;
    struct row *single = begin(SOURCE_U, PASS_SAMPLE, 1);
    row_number(single, U_KEPT, 10);
    row_number(single, U_LOAD, 10);
    fold(SOURCE_U);
    report();
    single = begin(SOURCE_U, PASS_FINAL, 2);
    row_number(single, U_KEPT, 30); /* a peak since the sample, though nobody is there any more */
    row_number(single, U_LOAD, 30); /* a level of nobody */
    fold(SOURCE_U);
    report();
    is("u_kept", 30);
    absent("u_load");
    summarise();
    is("u_peak_kept", 30);
    is("u_peak_load", 10);
}

static void a_kept_gauge_before_the_start_is_not_ours(void **state)
{
    (void)state;
    fold_single_number(SOURCE_U, PASS_SEED, 0, U_KEPT, 99);
    report();
    absent("u_kept");
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

static void a_device_is_not_the_process_of_the_same_number(void **state)
{
    const struct subject device = subject_of_device(1);

    (void)state;
    for (int i = 1; i <= 2; i++) {
        (void)begin(SOURCE_T, PASS_SAMPLE, i);
        row_number(process(1, 0.5), LEVEL, 10 * i);
        fold(SOURCE_T);
        (void)begin(SOURCE_D, PASS_SAMPLE, i);
        row_number(add_row(SOURCE_D, device.serial, device.id, 1, BORN_UNKNOWN), D_TEMPERATURE, 40 + i);
        fold(SOURCE_D);
        report();
        is_of("t_level", "101", 10 * i);
        is_of("d_temperature", "1", 40 + i);
        absent_of("t_level", "1");
    }
    window_end_subject(bench.window, 1); /* the process */
    report();
    summarise();
    is_of("d_peak_temperature", "1", 42);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(an_exited_process_keeps_what_it_did),
        RULE(categorical_values_are_tallied),
        RULE(a_pass_that_found_nobody_is_no_sample_but_the_last_counters_are_kept),
        RULE(a_gauge_that_the_kernel_kept_counts_at_the_last_look),
        RULE(a_kept_gauge_before_the_start_is_not_ours),
        RULE(the_baseline_is_no_sample),
        RULE(percent_is_made_at_the_edge),
        RULE(a_key_is_present_if_and_only_if_it_was_measured),
        RULE(what_is_no_number_is_no_value),
        RULE(what_nobody_selected_is_not_recorded),
        RULE(means_are_weighted_by_time),
        RULE(the_mean_of_a_rate_is_weighted_by_its_own_interval),
        RULE(the_seed_of_a_window_is_the_last_reading_before_it),
        RULE(a_total_is_the_sum_of_increments_never_the_increment_of_a_sum),
        RULE(the_peak_of_a_sum_is_never_a_sum_of_peaks),
        RULE(min_and_last_are_kept),
        RULE(the_last_label_wins),
        RULE(samples_are_counted_by_window_and_by_run),
        RULE(a_mean_stands_beside_each_single_key_reduced_by_max),
        RULE(the_summary_names_its_statistics),
        RULE(devices_have_an_object_each_in_the_summary),
        RULE(a_device_is_not_the_process_of_the_same_number),
        RULE(a_record_is_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
