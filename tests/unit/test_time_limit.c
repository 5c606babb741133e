/* When the time of a batch job is up, by the variables of its scheduler. */
#include "loop/time_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"

static const char *const names[] = {"SLURM_JOB_END_TIME", "COBALT_ENDTIME", "PBS_WALLTIME",
                                    "OAR_JOB_WALLTIME_SECONDS"};

static struct time_limit limit_with(const char *name, const char *value, double session_start)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
    if (name)
        (void)setenv(name, value, 1);
    return time_limit_find(session_start);
}

static void the_environment_says_when_or_how_long(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        double session_start, end;
    } cases[] = {
        {"SLURM_JOB_END_TIME", "1763235773", 0, 1763235773},
        {"COBALT_ENDTIME", "1763235773", 1763230000, 1763235773},
        {"PBS_WALLTIME", "3600", 1763230000, 1763233600},
        {"OAR_JOB_WALLTIME_SECONDS", "7200", 1763230000, 1763237200},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct time_limit limit = limit_with(cases[i].name, cases[i].value, cases[i].session_start);

        assert_string_equal(limit.source, cases[i].name);
        assert_true(limit.end_wall == cases[i].end);
    }
}

static void what_is_no_number_says_nothing(void **state)
{
    (void)state;
    static const char *const values[] = {"", "0", "-5", "3600s", "01:00:00", "1e9", " 5", "UNLIMITED"};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
            assert_null(limit_with(names[j], values[i], 1763230000).source);
    assert_null(limit_with(NULL, NULL, 1763230000).source);
    assert_null(limit_with("PBS_WALLTIME", "3600", 0).source); /* since when? */
}

static void only_about_that_time_it_is_the_reason(void **state)
{
    (void)state;
    const struct time_limit limit = {"SLURM_JOB_END_TIME", 1000}, none = {0};
    static const struct {
        double wall;
        bool explained;
    } cases[] = {{0, false},   {994, false}, {995, true},  {1000, true},
                 {1030, true}, {1600, true}, {1601, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(time_limit_explains(&limit, cases[i].wall), cases[i].explained);
        assert_false(time_limit_explains(&none, cases[i].wall));
    }
    const struct time_limit never = limit_with("SLURM_JOB_END_TIME", "99999999999999999999", 0);
    assert_false(time_limit_explains(&never, clock_wall_seconds()));
}

static void the_session_began_before_now(void **state)
{
    (void)state;
    double start = time_limit_session_start("/proc");

    if (start == 0)
        skip(); /* its leader has ended, or is in another pid namespace */
    assert_true(start < clock_wall_seconds() + 1);
    assert_true(start > clock_wall_seconds() - clock_boot_seconds() - 1);
    assert_true(time_limit_session_start("/nowhere") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_says_when_or_how_long),
        cmocka_unit_test(what_is_no_number_says_nothing),
        cmocka_unit_test(only_about_that_time_it_is_the_reason),
        cmocka_unit_test(the_session_began_before_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
