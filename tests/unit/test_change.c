/* What lies outside the noise: single numbers, and whole recordings beside each other. */
#include "learn/change.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "learn/comparison.h"

#define MIB          1048576.0
#define COUNT(items) (sizeof(items) / sizeof((items)[0]))

static bool is_outside(enum unit unit, const double *sorted, size_t count, double now)
{
    struct change change;

    change_judge(unit, sorted, count, now, &change);
    return change.outside;
}

static void two_runs_are_judged_by_share_and_floor(void **state)
{
    (void)state;
    const double second = 1, small = 0.1, mib = 10 * MIB;

    assert_false(is_outside(UNIT_SECONDS, &second, 1, 1.05));
    assert_true(is_outside(UNIT_SECONDS, &second, 1, 1.06));
    assert_true(is_outside(UNIT_SECONDS, &second, 1, 0.94));
    assert_false(is_outside(UNIT_SECONDS, &small, 1, 0.109)); /* 9 %, but 9 ms */
    assert_true(is_outside(UNIT_SECONDS, &small, 1, 0.111));
    assert_false(is_outside(UNIT_BYTES, &mib, 1, 10.9 * MIB));
    assert_true(is_outside(UNIT_BYTES, &mib, 1, 11.1 * MIB));
}

static void from_nothing_only_the_floor_counts(void **state)
{
    (void)state;
    const double none = 0;
    struct change change;

    assert_false(is_outside(UNIT_COUNT, &none, 1, 5));
    assert_true(is_outside(UNIT_COUNT, &none, 1, 6));
    change_judge(UNIT_COUNT, &none, 1, 50, &change);
    assert_true(change.distance == 10);
}

static void noise_of_past_runs_is_allowed(void **state)
{
    (void)state;
    static const double noisy[] = {80, 90, 95, 100, 105, 110, 120};
    static const double calm[] = {99, 99.5, 100, 100, 100, 100.5, 101};
    struct change change;

    assert_false(is_outside(UNIT_SECONDS, noisy, COUNT(noisy), 130));
    assert_true(is_outside(UNIT_SECONDS, calm, COUNT(calm), 130));
    change_judge(UNIT_SECONDS, noisy, COUNT(noisy), 130, &change);
    assert_true(change.noise_known && change.before == 100);
    assert_float_equal(change.noise, sqrt(1050.0 / 6), 1e-9); /* less than 1.4826 x MAD: 14.826 */
    assert_true(change.lowest == 80 && change.highest == 120);
    change_judge(UNIT_SECONDS, calm, COUNT(calm), 130, &change);
    assert_float_equal(change.noise, sqrt(2.5 / 6), 1e-9);
}

static void what_was_there_before_is_not_outside(void **state)
{
    (void)state;
    static const double past[] = {100, 100, 100, 100, 100, 100, 500};

    assert_false(is_outside(UNIT_SECONDS, past, COUNT(past), 400));
    assert_false(is_outside(UNIT_SECONDS, past, COUNT(past), 600)); /* a quarter of 400 beyond 500 */
    assert_true(is_outside(UNIT_SECONDS, past, COUNT(past), 601));
    assert_true(is_outside(UNIT_SECONDS, past, COUNT(past), 97)); /* nothing was below before */
}

/* As a machine of two speeds gives them: the median absolute deviation alone would be 7.4, and allow 24 %. */
static void two_speeds_of_the_machine_are_no_noise_of_both(void **state)
{
    (void)state;
    double past[20];
    struct change change;

    for (int i = 0; i < 20; i++)
        past[i] = (i < 10 ? 95 : 105) + 0.01 * i;
    change_judge(UNIT_SECONDS, past, 20, 120, &change);
    assert_true(change.noise < 5.3 && change.outside);
    assert_false(is_outside(UNIT_SECONDS, past, 20, 106)); /* a new largest one, by little */
}

static void no_deviation_flags_no_dust(void **state)
{
    (void)state;
    static const double same[] = {100, 100, 100, 100};

    assert_false(is_outside(UNIT_SECONDS, same, COUNT(same), 101.9));
    assert_true(is_outside(UNIT_SECONDS, same, COUNT(same), 102.1));
}

static void few_runs_are_given_more_room(void **state)
{
    (void)state;
    static const double three[] = {99, 100, 101};

    assert_true(change_deviations(3) == 12);
    assert_true(change_deviations(5) == 6);
    assert_float_equal(change_deviations(1000), 3, 0.01);
    assert_false(is_outside(UNIT_SECONDS, three, 3, 111.9));
    assert_true(is_outside(UNIT_SECONDS, three, 3, 112.1));
}

static void two_past_runs_do_not_tell_the_noise(void **state)
{
    (void)state;
    static const double two[] = {90, 110};
    struct change change;

    change_judge(UNIT_SECONDS, two, 2, 111, &change);
    assert_false(change.noise_known);
    assert_true(change.before == 100 && change.outside);
}

/* -- Whole recordings -- */

#define NUMBER(n, u, v)                                                                                      \
    {                                                                                                        \
        .name = (n), .kind = FIELD_NUMBER, .unit = (u), .number = (v)                                        \
    }
#define TEXT(n, v)                                                                                           \
    {                                                                                                        \
        .name = (n), .kind = FIELD_TEXT, .text = (v)                                                         \
    }
#define ALIAS(n, u, v, s)                                                                                    \
    {                                                                                                        \
        .name = (n), .kind = FIELD_NUMBER, .unit = (u), .number = (v), .source = (s)                         \
    }
#define RECORDING(fields_)                                                                                   \
    {                                                                                                        \
        .fields = (fields_), .field_count = COUNT(fields_)                                                   \
    }

static void fields_are_the_recordings_own(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {
        NUMBER("io_read_bytes_total", UNIT_BYTES, 10 * MIB), NUMBER("gone_total", UNIT_COUNT, 3),
        TEXT("command", "sort a"), TEXT("start_time", "yesterday"), NUMBER("exit_code", UNIT_NONE, 0)};
    struct recorded_field now_fields[] = {NUMBER("io_read_bytes_total", UNIT_BYTES, 90 * MIB),
                                          NUMBER("came_total", UNIT_COUNT, 3), TEXT("command", "sort b"),
                                          TEXT("start_time", "today"), NUMBER("exit_code", UNIT_NONE, 1)};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    struct comparison comparison;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &before);
    assert_int_equal(comparison_finish(&comparison), 0);
    assert_int_equal(comparison_find(&comparison, "io_read_bytes_total")->state, COMPARISON_CHANGED);
    assert_int_equal(comparison_find(&comparison, "gone_total")->state, COMPARISON_ONLY_BEFORE);
    assert_int_equal(comparison_find(&comparison, "came_total")->state, COMPARISON_ONLY_NOW);
    assert_int_equal(comparison_find(&comparison, "exit_code")->state, COMPARISON_CHANGED);
    const struct comparison_field *command = comparison_find(&comparison, "command");
    assert_int_equal(command->state, COMPARISON_CHANGED);
    assert_string_equal(command->text_before, "sort a");
    assert_string_equal(command->text_now, "sort b");
    assert_null(comparison_find(&comparison, "start_time"));
    comparison_fini(&comparison);
}

static void methods_are_not_mixed(void **state)
{
    (void)state;
    struct recorded_field duct_fields[] = {ALIAS("peak_memory", UNIT_BYTES, 500 * MIB, "peak_rss")};
    struct recorded_field now_fields[] = {NUMBER("proc_hwm_max", UNIT_BYTES, 100 * MIB),
                                          ALIAS("peak_memory", UNIT_BYTES, 100 * MIB, "proc_hwm_max")};
    struct recording duct = RECORDING(duct_fields), now = RECORDING(now_fields);
    struct comparison comparison;
    struct limits limits;
    struct limit_numbers numbers;
    struct metron_error error = {0};
    size_t place;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &duct);
    assert_int_equal(comparison_finish(&comparison), 0);
    const struct comparison_field *peak = comparison_find(&comparison, "peak_memory");
    assert_int_equal(peak->state, COMPARISON_OTHER_METHOD);
    assert_string_equal(peak->source_before, "peak_rss");
    assert_int_equal(limits_parse("peak_memory > +10%", &limits, &place, &error), 0);
    assert_int_equal(comparison_judge(&comparison, &limits.items[0], &numbers, &error), LIMIT_NOT_JUDGED);
    assert_non_null(strstr(error.message, "peak_rss"));
    comparison_fini(&comparison);
}

static void a_text_is_no_number_to_compare_with(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {TEXT("env.SHARDS", "8")};
    struct recorded_field now_fields[] = {NUMBER("env.SHARDS", UNIT_NONE, 5)};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    struct comparison comparison;
    struct limits limits;
    struct limit_numbers numbers;
    struct metron_error error = {0};
    size_t place;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &before);
    assert_int_equal(comparison_finish(&comparison), 0);
    assert_int_equal(limits_parse("env.SHARDS > +1", &limits, &place, &error), 0);
    assert_int_equal(comparison_judge(&comparison, &limits.items[0], &numbers, &error), LIMIT_NOT_JUDGED);
    assert_false(numbers.has_before);
    comparison_fini(&comparison);
}

static void another_headline_method_is_compared_by_the_same_key(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {
        NUMBER("proc_hwm_max", UNIT_BYTES, 99 * MIB),
        ALIAS("peak_memory", UNIT_BYTES, 120 * MIB, "smaps_peak_pss_total")};
    struct recorded_field now_fields[] = {NUMBER("proc_hwm_max", UNIT_BYTES, 100 * MIB),
                                          ALIAS("peak_memory", UNIT_BYTES, 100 * MIB, "proc_hwm_max")};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    struct comparison comparison;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &before);
    assert_int_equal(comparison_finish(&comparison), 0);
    const struct comparison_field *peak = comparison_find(&comparison, "peak_memory");
    assert_int_equal(peak->state, COMPARISON_SAME);
    assert_int_equal(peak->by_key, 1);
    assert_true(peak->change.before == 99 * MIB);
    assert_true(peak->alias_before == 120 * MIB);
    assert_string_equal(peak->measure_now, "proc_hwm_max");
    assert_true(comparison_find(&comparison, "proc_hwm_max")->repeats);
    comparison_fini(&comparison);
}

/* Peaks of one pair of runs: the state, and the numbers that were compared. */
static enum comparison_state compare_peaks_of(struct recording *before, struct recording *now, char *key,
                                              size_t size, double numbers[2])
{
    struct comparison comparison;

    comparison_init(&comparison, now);
    comparison_add(&comparison, before);
    assert_int_equal(comparison_finish(&comparison), 0);
    const struct comparison_field *peak = comparison_find(&comparison, "peak_memory");
    const enum comparison_state state = peak->state;
    (void)snprintf(key, size, "%s", peak->measure_now ? peak->measure_now : "");
    numbers[0] = peak->change.before;
    numbers[1] = peak->now;
    comparison_fini(&comparison);
    return state;
}

/* A spike of one process is the kernel's word, however much of it the samples saw. */
static void peaks_are_compared_by_a_mark_where_it_is_most_of_them(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {
        NUMBER("proc_hwm_max", UNIT_BYTES, 67 * MIB), NUMBER("smaps_peak_pss_total", UNIT_BYTES, 70 * MIB),
        ALIAS("peak_memory", UNIT_BYTES, 70 * MIB, "smaps_peak_pss_total")};
    struct recorded_field now_fields[] = {NUMBER("proc_hwm_max", UNIT_BYTES, 67 * MIB),
                                          NUMBER("smaps_peak_pss_total", UNIT_BYTES, 88 * MIB),
                                          ALIAS("peak_memory", UNIT_BYTES, 88 * MIB, "smaps_peak_pss_total")};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    double numbers[2];
    char key[64];

    assert_int_equal(compare_peaks_of(&before, &now, key, sizeof(key), numbers), COMPARISON_SAME);
    assert_string_equal(key, "proc_hwm_max");
    /* Two processes of that size, and the mark knows of one. */
    now_fields[1].number = now_fields[2].number = 134 * MIB;
    assert_int_equal(compare_peaks_of(&before, &now, key, sizeof(key), numbers), COMPARISON_CHANGED);
    assert_true(numbers[0] == 70 * MIB && numbers[1] == 134 * MIB);
}

static void the_nearest_of_the_marks_is_taken(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {NUMBER("proc_hwm_max", UNIT_BYTES, 50 * MIB),
                                             NUMBER("rusage_max_rss", UNIT_BYTES, 60 * MIB),
                                             ALIAS("peak_memory", UNIT_BYTES, 60 * MIB, "rusage_max_rss")};
    struct recorded_field now_fields[] = {NUMBER("proc_hwm_max", UNIT_BYTES, 61 * MIB),
                                          NUMBER("rusage_max_rss", UNIT_BYTES, 60 * MIB),
                                          ALIAS("peak_memory", UNIT_BYTES, 61 * MIB, "proc_hwm_max")};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    double numbers[2];
    char key[64];

    assert_int_equal(compare_peaks_of(&before, &now, key, sizeof(key), numbers), COMPARISON_SAME);
    assert_string_equal(key, "rusage_max_rss");
}

static void a_group_that_is_shared_measures_no_run(void **state)
{
    (void)state;
    struct recorded_field before_fields[] = {
        TEXT("provenance.cgroup_scope", "shared"), NUMBER("cgroup_peak_mem_anon_shmem", UNIT_BYTES, 90 * MIB),
        NUMBER("proc_peak_rss_total", UNIT_BYTES, 70 * MIB),
        ALIAS("peak_memory", UNIT_BYTES, 70 * MIB, "proc_peak_rss_total")};
    struct recorded_field now_fields[] = {
        TEXT("provenance.cgroup_scope", "own"), NUMBER("cgroup_peak_mem_anon_shmem", UNIT_BYTES, 60 * MIB),
        NUMBER("proc_peak_rss_total", UNIT_BYTES, 71 * MIB),
        ALIAS("peak_memory", UNIT_BYTES, 60 * MIB, "cgroup_peak_mem_anon_shmem")};
    struct recording before = RECORDING(before_fields), now = RECORDING(now_fields);
    double numbers[2];
    char key[64];

    assert_int_equal(compare_peaks_of(&before, &now, key, sizeof(key), numbers), COMPARISON_SAME);
    assert_string_equal(key, "proc_peak_rss_total");
    before_fields[0].text = "own";
    assert_int_equal(compare_peaks_of(&before, &now, key, sizeof(key), numbers), COMPARISON_CHANGED);
    assert_string_equal(key, "cgroup_peak_mem_anon_shmem");
}

static void facts_that_always_vary_are_no_change(void **state)
{
    (void)state;
    struct recorded_field first_fields[] = {TEXT("env.SLURM_JOB_ID", "1"), TEXT("system.hostname", "a")};
    struct recorded_field second_fields[] = {TEXT("env.SLURM_JOB_ID", "2"), TEXT("system.hostname", "a")};
    struct recorded_field now_fields[] = {TEXT("env.SLURM_JOB_ID", "3"), TEXT("system.hostname", "b")};
    struct recording first = RECORDING(first_fields), second = RECORDING(second_fields);
    struct recording now = RECORDING(now_fields);
    struct comparison comparison;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &first);
    comparison_add(&comparison, &second);
    assert_int_equal(comparison_finish(&comparison), 0);
    assert_int_equal(comparison_find(&comparison, "env.SLURM_JOB_ID")->state, COMPARISON_VARIES);
    assert_int_equal(comparison_find(&comparison, "system.hostname")->state, COMPARISON_CHANGED);
    comparison_fini(&comparison);
}

static void an_exit_code_is_new_or_was_there(void **state)
{
    (void)state;
    struct recorded_field zero_fields[] = {NUMBER("exit_code", UNIT_NONE, 0)};
    struct recorded_field two_fields[] = {NUMBER("exit_code", UNIT_NONE, 2)};
    struct recorded_field now_fields[] = {NUMBER("exit_code", UNIT_NONE, 1)};
    struct recording zero = RECORDING(zero_fields), two = RECORDING(two_fields), now = RECORDING(now_fields);
    struct comparison comparison;

    comparison_init(&comparison, &now);
    comparison_add(&comparison, &zero);
    comparison_add(&comparison, &two);
    comparison_add(&comparison, &zero);
    assert_int_equal(comparison_finish(&comparison), 0);
    assert_int_equal(comparison_find(&comparison, "exit_code")->state, COMPARISON_CHANGED);
    comparison_fini(&comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_are_judged_by_share_and_floor),
        cmocka_unit_test(from_nothing_only_the_floor_counts),
        cmocka_unit_test(noise_of_past_runs_is_allowed),
        cmocka_unit_test(what_was_there_before_is_not_outside),
        cmocka_unit_test(two_speeds_of_the_machine_are_no_noise_of_both),
        cmocka_unit_test(no_deviation_flags_no_dust),
        cmocka_unit_test(few_runs_are_given_more_room),
        cmocka_unit_test(two_past_runs_do_not_tell_the_noise),
        cmocka_unit_test(fields_are_the_recordings_own),
        cmocka_unit_test(methods_are_not_mixed),
        cmocka_unit_test(a_text_is_no_number_to_compare_with),
        cmocka_unit_test(another_headline_method_is_compared_by_the_same_key),
        cmocka_unit_test(peaks_are_compared_by_a_mark_where_it_is_most_of_them),
        cmocka_unit_test(the_nearest_of_the_marks_is_taken),
        cmocka_unit_test(a_group_that_is_shared_measures_no_run),
        cmocka_unit_test(facts_that_always_vary_are_no_change),
        cmocka_unit_test(an_exit_code_is_new_or_was_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
