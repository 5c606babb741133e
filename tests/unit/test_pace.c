/* When a run is sampled and reported. */
#include "loop/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS     1000000ULL
#define SECOND (1000 * MS)
#define START  (5000 * SECOND)
#define CHEAP  MS
#define KIB    1024

static const struct pace_options automatic = {
    .sample_seconds = 1, .report_seconds = 60, .sample_auto = true, .report_auto = true};

static struct pace pace;

static void begin(const struct pace_options *options)
{
    pace_init(&pace, options);
    pace_begin(&pace, START);
}

/* Milliseconds since the start at which the next sample is due. */
static uint64_t due_ms(void)
{
    return (pace.next_ns - START) / MS;
}

static uint64_t sample_at_ms(uint64_t ms, uint64_t cost_ns)
{
    return pace_sampled(&pace, START + ms * MS, cost_ns);
}

/* Samples as they are due until `end_ms`, with reports of so many bytes. Returns how many reports there were.
 */
static unsigned run_until_ms(uint64_t end_ms, uint64_t bytes, uint64_t *latest_ms)
{
    unsigned reports = 0;

    while (due_ms() <= end_ms) {
        const uint64_t now_ns = pace.next_ns;
        assert_int_equal(pace_sampled(&pace, now_ns, CHEAP), 0);
        if (!pace_report_is_due(&pace, now_ns))
            continue;
        pace_reported(&pace, now_ns, bytes);
        *latest_ms = (now_ns - START) / MS;
        reports++;
    }
    return reports;
}

static void the_first_ten_seconds_are_sampled_five_times_a_second(void **state)
{
    (void)state;
    begin(&automatic);
    assert_int_equal(due_ms(), 100);
    assert_int_equal(sample_at_ms(100, CHEAP), 0);
    for (uint64_t due = 200; due <= 10000; due += 200) {
        assert_int_equal(due_ms(), due);
        assert_int_equal(sample_at_ms(due, CHEAP), 0);
    }
    for (uint64_t due = 11000; due <= 20000; due += 1000) {
        assert_int_equal(due_ms(), due);
        assert_int_equal(sample_at_ms(due, CHEAP), 0);
    }
}

static void a_sample_that_is_dear_is_followed_by_none_before_the_second(void **state)
{
    (void)state;
    begin(&automatic);
    (void)sample_at_ms(100, 4 * MS);
    assert_int_equal(due_ms(), 1000);
    assert_int_equal(sample_at_ms(1000, 4 * MS - 1), 0);
    assert_int_equal(due_ms(), 1200); /* it was the first that was */
    assert_int_equal(sample_at_ms(1200, 5 * MS), 0);
    assert_int_equal(due_ms(), 2000);
}

static void only_whole_seconds_are_missed(void **state)
{
    (void)state;
    begin(&automatic);
    (void)sample_at_ms(100, CHEAP);
    assert_int_equal(sample_at_ms(950, CHEAP), 0); /* 400, 600, 800 were not owed */
    assert_int_equal(due_ms(), 1000);
    assert_int_equal(sample_at_ms(1000, CHEAP), 0);
    assert_int_equal(sample_at_ms(4100, CHEAP), 2); /* 2000 was due, and 3000 and 4000 passed */
    assert_int_equal(due_ms(), 4200);
    pace_resume(&pace, START + 7700 * MS); /* stopped meanwhile */
    assert_int_equal(due_ms(), 7800);
    assert_int_equal(sample_at_ms(7800, CHEAP), 0);
    pace_resume(&pace, START + 12500 * MS);
    assert_int_equal(due_ms(), 13000);
    assert_int_equal(sample_at_ms(13000, CHEAP), 0);
}

static void an_interval_that_was_set_is_exact(void **state)
{
    (void)state;
    const struct pace_options exact = {.sample_seconds = 0.5, .report_seconds = 1.5};
    static const uint64_t due[] = {50, 500, 1000, 1500, 2000, 2500, 3000};

    begin(&exact);
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
        const uint64_t now_ns = START + due[i] * MS;
        assert_int_equal(due_ms(), due[i]);
        assert_int_equal(sample_at_ms(due[i], SECOND), 0); /* whatever one costs */
        assert_int_equal(pace_report_is_due(&pace, now_ns), due[i] % 1500 == 0);
        if (pace_report_is_due(&pace, now_ns))
            pace_reported(&pace, now_ns, 100 << 20); /* however large it is */
    }
    assert_true(pace_report_interval(&pace, START + 3600 * SECOND) == 1.5);
    assert_int_equal(pace_record_rate_ns(&pace), 250 * MS);
    assert_int_equal(pace_summary_rate_ns(&pace), 250 * MS);
    /* one that is late is followed by the next of the grid */
    (void)sample_at_ms(5200, 0);
    assert_true(pace_report_is_due(&pace, START + 5200 * MS));
    pace_reported(&pace, START + 5200 * MS, 1);
    assert_int_equal(pace.next_report_ns, START + 6000 * MS);
}

static void a_report_comes_with_the_first_sample_and_then_at_one_percent(void **state)
{
    (void)state;
    uint64_t latest = 0;

    begin(&automatic);
    assert_int_equal(run_until_ms(100, KIB, &latest), 1);
    assert_int_equal(latest, 100);
    assert_int_equal(run_until_ms(9800, KIB, &latest), 49); /* with every sample */
    assert_true(pace_report_interval(&pace, START + 9800 * MS) == 0.2);
    (void)run_until_ms(11000, KIB, &latest);
    assert_int_equal(latest, 11000);
    assert_int_equal(run_until_ms(100000, KIB, &latest), 89);
    (void)run_until_ms(1000000, KIB, &latest); /* now every 10 s */
    assert_in_range(run_until_ms(1100000, KIB, &latest), 9, 10);
    assert_true(pace_report_interval(&pace, START + 1100 * SECOND) == 11);
    (void)run_until_ms(10000000, KIB, &latest); /* once a minute */
    assert_int_equal(run_until_ms(13600000, KIB, &latest), 60);
    assert_true(pace_report_interval(&pace, START + 13600 * SECOND) == 60);
}

static void a_report_is_not_put_off_because_a_sample_came_a_little_early(void **state)
{
    (void)state;
    begin(&automatic);
    pace_reported(&pace, START + 30040 * MS, KIB);
    (void)sample_at_ms(30400, CHEAP);
    assert_false(pace_report_is_due(&pace, START + 30400 * MS));
    (void)sample_at_ms(31001, CHEAP);
    assert_true(pace_report_is_due(&pace, START + 31001 * MS));
}

static void there_is_no_report_of_no_sample(void **state)
{
    (void)state;
    begin(&automatic);
    (void)sample_at_ms(100, 0); /* nobody was there */
    assert_false(pace_report_is_due(&pace, START + 100 * MS));
    (void)sample_at_ms(200, CHEAP);
    assert_true(pace_report_is_due(&pace, START + 200 * MS));
    pace_reported(&pace, START + 200 * MS, KIB);
    (void)sample_at_ms(1000, 0);
    assert_false(pace_report_is_due(&pace, START + 1000 * MS));
}

static void samples_that_are_far_apart_have_a_report_each(void **state)
{
    (void)state;
    const struct pace_options rare = {.sample_seconds = 120, .report_seconds = 60, .report_auto = true};
    uint64_t latest = 0;

    begin(&rare);
    assert_int_equal(run_until_ms(120000, KIB, &latest), 2); /* 12 s, 120 s */
    assert_int_equal(run_until_ms(1200000, KIB, &latest), 9);
    assert_true(pace_report_interval(&pace, START + 1200 * SECOND) == 120);
}

static void large_records_come_less_often(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {16, 64, 640, 6400};
    uint64_t latest = 0;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        begin(&automatic);
        const uint64_t bytes = sizes[i] * KIB;
        uint64_t reports = run_until_ms(100, bytes, &latest); /* the first one in any case */
        assert_int_equal(reports, 1);
        for (uint64_t end = 1000; end <= 600000; end += 1000) {
            reports += run_until_ms(end, bytes, &latest);
            if (reports > 1)
                assert_true(reports * bytes <= end * PACE_BYTES_PER_SECOND / 1000);
        }
        assert_true(latest > 400000); /* and they never cease */
    }
    assert_true(pace_report_interval(&pace, START + 600 * SECOND) == 100);
    pace_reported(&pace, START + 601 * SECOND, KIB); /* the rest at the end */
    assert_true(pace_report_interval(&pace, START + 601 * SECOND) == 100);
}

static void peaks_span_a_second_where_no_interval_was_set(void **state)
{
    (void)state;
    begin(&automatic);
    assert_int_equal(pace_summary_rate_ns(&pace), 900 * MS); /* five fast samples, less their lateness */
    assert_int_equal(pace_record_rate_ns(&pace), 50 * MS);
}

static void before_the_start_the_first_intervals_are_known(void **state)
{
    (void)state;
    pace_init(&pace, &automatic);
    assert_true(pace_report_interval(&pace, 0) == 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ten_seconds_are_sampled_five_times_a_second),
        cmocka_unit_test(a_sample_that_is_dear_is_followed_by_none_before_the_second),
        cmocka_unit_test(only_whole_seconds_are_missed),
        cmocka_unit_test(an_interval_that_was_set_is_exact),
        cmocka_unit_test(a_report_comes_with_the_first_sample_and_then_at_one_percent),
        cmocka_unit_test(a_report_is_not_put_off_because_a_sample_came_a_little_early),
        cmocka_unit_test(there_is_no_report_of_no_sample),
        cmocka_unit_test(samples_that_are_far_apart_have_a_report_each),
        cmocka_unit_test(large_records_come_less_often),
        cmocka_unit_test(peaks_span_a_second_where_no_interval_was_set),
        cmocka_unit_test(before_the_start_the_first_intervals_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
