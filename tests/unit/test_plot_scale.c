/* Axes of a plot: steps that people count in, one unit per axis, never more ticks than fit. */
#include "view/plot/scale.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

/* "0 0.5 1.0 GiB" */
static void reads(enum unit unit, double low, double high, size_t most, const char *expected)
{
    struct plot_scale scale;
    char text[512] = "", label[PLOT_LABEL_SIZE];
    size_t length = 0;

    plot_scale_init(&scale, unit, low, high, most);
    for (size_t i = 0; i < scale.tick_count; i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s ", plot_scale_label(&scale, i, label));
    (void)snprintf(text + length, sizeof(text) - length, "%s", scale.unit);
    assert_string_equal(text, expected);
}

static void bytes_step_in_powers_of_two(void **state)
{
    (void)state;
    reads(UNIT_BYTES, 0, 1.6 * GIB, 5, "0 0.5 1.0 1.5 GiB");
    reads(UNIT_BYTES, 0, 800 * MIB, 8, "0 128 256 384 512 640 768 MiB");
    reads(UNIT_BYTES, 0, 259 * MIB, 5, "0 64 128 192 256 MiB");
    reads(UNIT_BYTES, 0, 700 * GIB, 6, "0 128 256 384 512 640 GiB");
    reads(UNIT_BYTES, 0, 900, 5, "0 256 512 768 B");
    reads(UNIT_BYTES, 0, 1, 5, "0 1 B"); /* half a byte is none */
    reads(UNIT_BYTES_PER_SECOND, 0, 3.1 * MIB, 4, "0 1 2 3 MiB/s");
}

static void time_steps_as_clocks_do(void **state)
{
    (void)state;
    reads(UNIT_SECONDS, 0, 0.3, 4, "0 100 200 300 milliseconds");
    reads(UNIT_SECONDS, 0, 5.2, 6, "0 1 2 3 4 5 seconds");
    reads(UNIT_SECONDS, 0, 1.3, 8, "0 0.2 0.4 0.6 0.8 1.0 1.2 seconds");
    reads(UNIT_SECONDS, 0, 100, 8, "0 15 30 45 60 75 90 seconds");
    reads(UNIT_SECONDS, 0, 600, 6, "0 2 4 6 8 10 minutes");
    reads(UNIT_SECONDS, 0, 7200, 9, "0 15 30 45 60 75 90 105 120 minutes");
    reads(UNIT_SECONDS, 0, 3 * 86400, 8, "0 12 24 36 48 60 72 hours");
    reads(UNIT_SECONDS, 0, 7 * 86400, 8, "0 1 2 3 4 5 6 7 days");
    reads(UNIT_SECONDS, 0, 400.0 * 86400, 6, "0 100 200 300 400 days");
}

static void the_rest_steps_by_one_two_and_five(void **state)
{
    (void)state;
    reads(UNIT_PERCENT, 0, 212, 6, "0 50 100 150 200 %");
    reads(UNIT_PERCENT, 0, 0.07, 4, "0 0.02 0.04 0.06 %");
    reads(UNIT_COUNT, 0, 3, 8, "0 1 2 3 ");
    reads(UNIT_COUNT, 0, 2600, 4, "0 1 2 thousands");
    reads(UNIT_COUNT, 0, 1.5e6, 4, "0 0.5 1.0 1.5 millions");
    reads(UNIT_COUNT, 0, 3e9, 4, "0 1 2 3 billions");
    reads(UNIT_COUNT, 0, 4e12, 5, "0 1000 2000 3000 4000 billions");
    reads(UNIT_WATTS, 0, 350, 4, "0 100 200 300 W");
    reads(UNIT_NONE, -1, 1, 5, "-1.0 -0.5 0 0.5 1.0 ");
}

static void no_range_becomes_one(void **state)
{
    static const double ends[][2] = {{0, 0},           {5, 5},           {5, 1},
                                     {0, (double)NAN}, {(double)NAN, 3}, {0, (double)INFINITY}};
    struct plot_scale scale;

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        plot_scale_init(&scale, UNIT_BYTES, ends[i][0], ends[i][1], 5);
        assert_true(isfinite(scale.low) && scale.high > scale.low && scale.step > 0);
        assert_true(scale.tick_count >= 1 && scale.tick_count <= 5);
    }
}

static void ticks_are_within_the_axis_and_few_enough(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        const enum unit unit = (enum unit)(rand() % (UNIT_JOULES + 1));
        const size_t most = 2 + (size_t)(rand() % (PLOT_TICKS_MAX - 1));
        const double high = pow(10, rand() % 4000 / 100.0 - 8);
        const double low = rand() % 3 ? 0 : -high * (rand() % 100) / 30;
        struct plot_scale scale;
        plot_scale_init(&scale, unit, low, high, most);
        assert_true(scale.tick_count <= most);
        for (size_t j = 0; j < scale.tick_count; j++) {
            const double place = plot_scale_place(&scale, plot_scale_tick(&scale, j));
            assert_true(place > -1e-6 && place < 1 + 1e-6);
        }
    }
}

static void labels_of_one_axis_differ(void **state)
{
    (void)state;
    srand(2);
    for (int i = 0; i < 5000; i++) {
        const enum unit unit = (enum unit)(rand() % (UNIT_JOULES + 1));
        const double high = pow(10, rand() % 1800 / 100.0 - 3);
        struct plot_scale scale;
        char before[PLOT_LABEL_SIZE], label[PLOT_LABEL_SIZE];
        plot_scale_init(&scale, unit, 0, high, 2 + (size_t)(rand() % 10));
        for (size_t j = 1; j < scale.tick_count; j++)
            assert_string_not_equal(plot_scale_label(&scale, j, label),
                                    plot_scale_label(&scale, j - 1, before));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_step_in_powers_of_two),
        cmocka_unit_test(time_steps_as_clocks_do),
        cmocka_unit_test(the_rest_steps_by_one_two_and_five),
        cmocka_unit_test(no_range_becomes_one),
        cmocka_unit_test(ticks_are_within_the_axis_and_few_enough),
        cmocka_unit_test(labels_of_one_axis_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
