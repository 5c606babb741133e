/* Lines of any length in bounded memory: against all values kept; the largest of many processes; events. */
#include "view/plot/series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/plot/marks.h"
#include "view/plot/subjects.h"

#define ROOM 256

struct window {
    double begin, end, value;
};

static double chance(void)
{
    return (double)rand() / RAND_MAX;
}

/* Windows of uneven length, some with nothing in them. */
static size_t make_windows(struct window *windows, size_t count, double gaps)
{
    double time = 0;
    size_t made = 0;

    for (size_t i = 0; i < count; i++) {
        const double end = time + 0.2 + chance() * (rand() % 500 ? 1 : 300);
        if (chance() >= gaps)
            windows[made++] = (struct window){time, end, chance() * 1000 - 100};
        time = end;
    }
    return made;
}

static void add_all(struct plot_series *series, const struct window *windows, size_t count)
{
    plot_series_init(series, ROOM, 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(plot_series_add(series, windows[i].begin, windows[i].end, windows[i].value), 0);
}

static void a_short_line_is_kept_as_it_is(void **state)
{
    struct window windows[ROOM - 1];
    struct plot_series series;
    const size_t count = make_windows(windows, ROOM - 1, 0.3);

    (void)state;
    add_all(&series, windows, count);
    assert_int_equal(series.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(series.segments[i].begin == windows[i].begin && series.segments[i].end == windows[i].end);
        assert_true(series.segments[i].low == windows[i].value &&
                    series.segments[i].high == windows[i].value);
    }
    plot_series_fini(&series);
}

/* Each window lies in exactly one segment, which has the lowest and the highest of those in it, and nothing
 * else; and the segments stand in order. */
static void check_against_all(const struct plot_series *series, const struct window *windows, size_t count)
{
    double covered = 0, integral = 0;
    size_t at = 0;

    for (size_t i = 0; i < series->count; i++) {
        const struct plot_segment *segment = &series->segments[i];
        double low = INFINITY, high = -INFINITY, length = 0, sum = 0;
        const size_t first = at;
        for (; at < count && windows[at].end <= segment->end; at++) {
            low = fmin(low, windows[at].value);
            high = fmax(high, windows[at].value);
            length += windows[at].end - windows[at].begin;
            sum += windows[at].value * (windows[at].end - windows[at].begin);
        }
        assert_true(at > first);
        assert_true(windows[first].begin == segment->begin && windows[at - 1].end == segment->end);
        assert_true(low == segment->low && high == segment->high);
        assert_true(fabs(length - segment->covered) < 1e-6 * (1 + length));
        assert_true(fabs(sum / length - plot_segment_mean(segment)) < 1e-6 * (1 + fabs(sum / length)));
        covered += segment->covered;
        integral += segment->integral;
    }
    assert_int_equal(at, count);
    assert_true(covered > 0);
    assert_true(fabs(integral - series->integral) < 1e-6 * fabs(series->integral) + 1e-3);
}

static void a_long_line_keeps_every_low_and_high(void **state)
{
    enum { COUNT = 60000 };
    struct window *windows = malloc(COUNT * sizeof(*windows));

    (void)state;
    assert_non_null(windows);
    for (unsigned seed = 0; seed < 8; seed++) {
        struct plot_series series;
        srand(seed);
        const size_t count = make_windows(windows, (size_t)(seed % 4 == 3 ? 700 : COUNT), seed % 2 ? 0.4 : 0);
        add_all(&series, windows, count);
        assert_true(series.count <= ROOM && series.capacity <= 2 * ROOM);
        check_against_all(&series, windows, count);
        plot_series_fini(&series);
    }
    free(windows);
}

static void what_is_merged_lies_in_one_cell(void **state)
{
    enum { COUNT = 20000 };
    struct window *windows = malloc(COUNT * sizeof(*windows));
    struct plot_series series;
    double lowest_value, highest_value;

    (void)state;
    assert_non_null(windows);
    srand(77);
    const size_t count = make_windows(windows, COUNT, 0.2);
    add_all(&series, windows, count);
    lowest_value = series.low;
    highest_value = series.high;
    /* At the end a cell is no wider than a share of all: a peak moves by less than that. */
    assert_true(series.cell <= 16 * windows[count - 1].end / ROOM);
    for (size_t i = 0; i < series.count; i++) {
        const struct plot_segment *segment = &series.segments[i];
        if (segment->low < segment->high)
            assert_true(segment->end - segment->begin <= series.cell * (1 + 1e-9));
    }
    plot_series_thin(&series, windows[count - 1].end / 40);
    assert_true(series.count <= 2 * 40 + 2);
    check_against_all(&series, windows, count);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < series.count; i++) {
        low = fmin(low, series.segments[i].low);
        high = fmax(high, series.segments[i].high);
    }
    assert_true(low == lowest_value && high == highest_value);
    plot_series_fini(&series);
    free(windows);
}

static void one_peak_in_a_million_is_there(void **state)
{
    struct plot_series series;
    size_t found = 0;

    (void)state;
    plot_series_init(&series, 4096, 0);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(plot_series_add(&series, i, i + 1, i == 654321 ? 5000 : i % 7), 0);
    plot_series_thin(&series, 1000000.0 / 1100);
    for (size_t i = 0; i < series.count; i++)
        if (series.segments[i].high == 5000) {
            assert_true(fabs(series.segments[i].begin - 654321) < 1000);
            found++;
        }
    assert_int_equal(found, 1);
    assert_true(series.count <= 2 * 1100 + 2);
    plot_series_fini(&series);
}

static void a_value_is_held_until_the_next_if_that_is_near(void **state)
{
    struct plot_series series;

    (void)state;
    plot_series_init(&series, ROOM, 10);
    assert_int_equal(plot_series_hold(&series, 1), 0); /* nothing yet */
    assert_int_equal(plot_series_add(&series, 0, 0.2, 7), 0);
    assert_int_equal(plot_series_add(&series, 5, 5.2, 9), 0);
    assert_true(series.held);
    assert_int_equal(series.added, 2);
    assert_int_equal(series.count, 3);
    assert_true(series.segments[1].begin == 0.2 && series.segments[1].end == 5);
    assert_true(series.segments[1].low == 7 && series.segments[1].high == 7);
    assert_int_equal(plot_series_add(&series, 15.3, 15.5, 8), 0); /* too long ago: nothing is known */
    assert_int_equal(series.count, 4);
    assert_int_equal(plot_series_hold(&series, 15.5), 0);
    assert_int_equal(series.count, 4);
    assert_int_equal(plot_series_hold(&series, 18), 0); /* the end */
    assert_true(series.segments[4].begin == 15.5 && series.segments[4].end == 18);
    plot_series_fini(&series);
    plot_series_init(&series, ROOM, 0);
    assert_int_equal(plot_series_add(&series, 0, 1, 7), 0);
    assert_int_equal(plot_series_add(&series, 2, 3, 7), 0);
    assert_false(series.held);
    assert_int_equal(series.count, 2);
    plot_series_fini(&series);
}

static void what_is_no_number_is_left_out(void **state)
{
    struct plot_series series;

    (void)state;
    plot_series_init(&series, ROOM, 0);
    assert_int_equal(plot_series_add(&series, 0, 1, (double)NAN), 0);
    assert_int_equal(plot_series_add(&series, 0, (double)INFINITY, 1), 0);
    assert_int_equal(plot_series_add(&series, 0, 1e300, 1), 0);
    assert_int_equal(plot_series_add(&series, 0, 1, 1e300), 0);
    assert_int_equal(series.count, 0);
    for (int i = 0; i < 3000; i++) /* all at one instant, and very far apart */
        assert_int_equal(plot_series_add(&series, i < 2000 ? 5 : 1e11 + i, i < 2000 ? 5 : 1e11 + i, i), 0);
    assert_true(series.count <= ROOM && series.count >= 1);
    assert_true(series.high == 2999);
    plot_series_fini(&series);
}

/* ---- the largest of many ---- */

static void the_largest_are_found_among_thousands(void **state)
{
    struct plot_subjects subjects;
    char name[16];

    (void)state;
    for (int by_integral = 0; by_integral < 2; by_integral++) {
        assert_int_equal(plot_subjects_init(&subjects, by_integral), 0);
        for (int second = 0; second < 3000; second++) {
            for (int i = 0; i < 5; i++) { /* thousands of short ones, each high for a moment */
                (void)snprintf(name, sizeof(name), "%d", 1000 + second * 5 + i);
                assert_int_equal(
                    plot_subjects_add(&subjects, name, second, second + 1, 50 + (second * 7 + i) % 50), 0);
            }
            /* And one that is there for long: it grows, or uses a little all the time. */
            if (second >= 1000)
                assert_int_equal(plot_subjects_add(&subjects, "7", second, second + 1,
                                                   by_integral ? 5 : 20 + second / 10.0),
                                 0);
        }
        plot_subjects_sort(&subjects);
        assert_string_equal(subjects.followed[0].name, "7");
        assert_int_equal(subjects.seen_count, 15001);
        assert_true(subjects.count <= PLOT_SUBJECTS_FOLLOWED);
        assert_true(subjects.followed[0].series.high == (by_integral ? 5 : 20 + 2999 / 10.0));
        for (size_t i = 1; i < subjects.count; i++)
            assert_true(subjects.followed[i - 1].rank >= subjects.followed[i].rank);
        plot_subjects_fini(&subjects);
    }
}

static void a_process_is_named_once(void **state)
{
    struct plot_subjects subjects;

    (void)state;
    assert_int_equal(plot_subjects_init(&subjects, false), 0);
    assert_int_equal(plot_subjects_add(&subjects, "4711", 0, 1, 5), 0);
    plot_subjects_name(&subjects, "4711", "sh");
    plot_subjects_name(&subjects, "4711", "python3");
    plot_subjects_name(&subjects, "1", "init");
    assert_int_equal(subjects.count, 1);
    assert_string_equal(subjects.followed[0].command, "sh");
    plot_subjects_fini(&subjects);
}

/* ---- events ---- */

static void events_are_counted_where_they_happened(void **state)
{
    struct plot_marks marks = {0};
    size_t sum = 0;

    (void)state;
    assert_int_equal(plot_marks_between(&marks, 0, 10), 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(plot_marks_add(&marks, i < 9000 ? 3000 : i * 0.5), 0);
    assert_int_equal(plot_marks_add(&marks, -1), 0);
    assert_int_equal(plot_marks_add(&marks, (double)NAN), 0);
    assert_int_equal(marks.count, 10001);
    assert_true(plot_marks_between(&marks, 2990, 3010) == 9000);
    assert_true(plot_marks_between(&marks, 0, 10) == 1);
    for (int i = 0; i < 100; i++)
        sum += plot_marks_between(&marks, i * 53.0, i == 99 ? (double)INFINITY : (i + 1) * 53.0);
    assert_int_equal(sum, marks.count);
    plot_marks_fini(&marks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_line_is_kept_as_it_is),
        cmocka_unit_test(a_long_line_keeps_every_low_and_high),
        cmocka_unit_test(what_is_merged_lies_in_one_cell),
        cmocka_unit_test(one_peak_in_a_million_is_there),
        cmocka_unit_test(a_value_is_held_until_the_next_if_that_is_near),
        cmocka_unit_test(what_is_no_number_is_left_out),
        cmocka_unit_test(the_largest_are_found_among_thousands),
        cmocka_unit_test(a_process_is_named_once),
        cmocka_unit_test(events_are_counted_where_they_happened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
