/* Pressure files: recorded, with one line only, of a control group, cut off anywhere. */
#include "probe/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"

static const char recorded[] = "some avg10=0.17 avg60=0.23 avg300=1.21 total=2906386116\n"
                               "full avg10=0.00 avg60=0.00 avg300=0.00 total=22314939\n";

static bool near(double a, double b)
{
    return a > b - 1e-9 && a < b + 1e-9;
}

static void totals_are_in_seconds(void **state)
{
    (void)state;
    struct pressure pressure;

    assert_int_equal(pressure_parse(recorded, sizeof(recorded) - 1, &pressure), 0);
    assert_true(pressure.has_some && pressure.has_full);
    assert_true(near(pressure.some_seconds, 2906.386116));
    assert_true(near(pressure.full_seconds, 22.314939));
}

static void a_recorded_machine_has_all_three_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double some, full;
    } files[] = {{"cpu", 2918.930291, 0}, {"memory", 0.001688, 0.001411}, {"io", 34.097262, 22.961761}};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[256], text[PRESSURE_SIZE];
        struct pressure pressure;

        (void)snprintf(path, sizeof(path), "%s/linux-6.18/proc/pressure/%s", METRON_FIXTURES, files[i].name);
        ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));
        assert_true(length > 0);
        assert_int_equal(pressure_parse(text, (size_t)length, &pressure), 0);
        assert_true(near(pressure.some_seconds, files[i].some));
        assert_true(near(pressure.full_seconds, files[i].full));
    }
}

static void one_line_alone_is_told_alone(void **state)
{
    (void)state;
    static const char some[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n"; /* cpu before 5.13 */
    static const char full[] = "full avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"; /* irq */
    struct pressure pressure;

    assert_int_equal(pressure_parse(some, sizeof(some) - 1, &pressure), 0);
    assert_true(pressure.has_some && !pressure.has_full);
    assert_true(near(pressure.some_seconds, 1.5));
    assert_int_equal(pressure_parse(full, sizeof(full) - 1, &pressure), 0);
    assert_true(!pressure.has_some && pressure.has_full);
    assert_true(near(pressure.full_seconds, 2.5));
}

static void lines_not_known_are_passed_over(void **state)
{
    (void)state;
    static const char text[] = "most avg10=0.00 total=7\n\nsome avg10=0.00 extra=5 total=9000000\n";
    struct pressure pressure;

    assert_int_equal(pressure_parse(text, sizeof(text) - 1, &pressure), 0);
    assert_true(pressure.has_some && !pressure.has_full);
    assert_true(near(pressure.some_seconds, 9));
}

static void a_file_cut_off_is_refused_or_right(void **state)
{
    (void)state;
    const size_t length = sizeof(recorded) - 1;
    const size_t first_line = (size_t)(strchr(recorded, '\n') - recorded) + 1;

    for (size_t cut = 0; cut <= length; cut++) {
        char *prefix = malloc(cut > 0 ? cut : 1); /* of exactly this size: a byte too many is seen */
        struct pressure pressure;

        assert_non_null(prefix);
        memcpy(prefix, recorded, cut);
        int status = pressure_parse(prefix, cut, &pressure);
        free(prefix);
        assert_int_equal(status, cut == first_line || cut == length ? 0 : -EBADMSG);
        if (status == 0) {
            assert_true(near(pressure.some_seconds, 2906.386116));
            assert_int_equal(pressure.has_full, cut == length);
        }
    }
}

static void a_line_without_its_total_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 total=\n",
        "some avg10=0.00 total=-5\n",
        "some avg10=0.00 total=5 \n",
        "some avg10=0.00 total=5\nfull avg10=0.00 total=x\n",
        "nothing\n",
        "\n",
    };
    struct pressure pressure;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(pressure_parse(texts[i], strlen(texts[i]), &pressure), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_in_seconds),
        cmocka_unit_test(a_recorded_machine_has_all_three_files),
        cmocka_unit_test(one_line_alone_is_told_alone),
        cmocka_unit_test(lines_not_known_are_passed_over),
        cmocka_unit_test(a_file_cut_off_is_refused_or_right),
        cmocka_unit_test(a_line_without_its_total_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
