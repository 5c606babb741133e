/* Which number is shown first, and what is said about it. */
#include "reduce/headline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct measurement number = {.key = "t_any", .type = TYPE_GAUGE, .unit = UNIT_BYTES};

struct known {
    const char *key;
    double value;
};

static struct headline headline_from(const struct known *known, size_t count, bool conserved, bool exact)
{
    struct record_value values[8];
    struct record_entry entries[8];
    struct record summary = {.entries = entries, .count = count};

    assert_in_range(count, 0, 8);
    for (size_t i = 0; i < count; i++) {
        values[i] = (struct record_value){.number = known[i].value};
        entries[i] = (struct record_entry){
            .key = known[i].key, .measurement = &number, .values = &values[i], .count = 1};
    }
    return headline_of(&summary, conserved ? NULL : "not conserved", exact);
}

static void what_was_not_measured_has_no_answer(void **state)
{
    (void)state;
    struct headline headline = headline_from(NULL, 0, true, true);

    assert_false(headline.cpu_seconds.has);
    assert_false(headline.peak_memory_bytes.has);
    assert_false(headline.processes.has);
}

static void cpu_seconds_come_from_the_ledger(void **state)
{
    (void)state;
    static const struct known known[] = {{"rusage_cpu_user_seconds", 9}, {"proc_cpu_seconds", 6.25}};
    struct headline headline = headline_from(known, 2, true, true);

    assert_true(headline.cpu_seconds.has);
    assert_float_equal(headline.cpu_seconds.value, 6.25, 0);
    assert_string_equal(headline.cpu_seconds.source, "proc_cpu_seconds");
    assert_null(headline.cpu_seconds.note);
}

static void cpu_that_is_not_conserved_is_said_to_be_so(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}};
    struct headline headline = headline_from(known, 1, false, true);

    assert_non_null(strstr(headline.cpu_seconds.note, "not conserved"));
}

static void peak_memory_is_the_largest_with_its_method(void **state)
{
    (void)state;
    static const struct {
        double rss_total, hwm_max, max_rss;
        const char *source, *note;
    } cases[] = {
        {30, 20, 10, "proc_peak_rss_total", "upper bound"},
        {10, 30, 20, "proc_hwm_max", "largest single process"},
        {10, 20, 30, "rusage_max_rss", "largest single process"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct known known[] = {{"proc_peak_rss_total", cases[i].rss_total},
                                      {"proc_hwm_max", cases[i].hwm_max},
                                      {"rusage_max_rss", cases[i].max_rss},
                                      {"proc_ave_rss_total", 99}};
        struct headline headline = headline_from(known, 4, true, true);

        assert_true(headline.peak_memory_bytes.has);
        assert_float_equal(headline.peak_memory_bytes.value, 30, 0);
        assert_string_equal(headline.peak_memory_bytes.source, cases[i].source);
        assert_non_null(strstr(headline.peak_memory_bytes.note, cases[i].note));
    }
}

static void a_single_process_is_not_called_an_upper_bound(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_peak_rss_total", 20}, {"proc_hwm_max", 20}};
    struct headline headline = headline_from(known, 2, true, true);

    assert_string_equal(headline.peak_memory_bytes.source, "proc_hwm_max");
}

static void processes_are_a_lower_bound_unless_every_spawn_was_told(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_spawned", 41}};
    struct headline exact = headline_from(known, 1, true, true);
    struct headline bound = headline_from(known, 1, true, false);

    assert_true(exact.processes.has);
    assert_float_equal(exact.processes.value, 41, 0);
    assert_string_equal(exact.processes.source, "proc_spawned");
    assert_null(exact.processes.note);
    assert_string_equal(bound.processes.note, "lower bound");
}

static void one_process_in_all_needs_no_warning(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_peak_rss_total", 20}, {"proc_spawned", 1}};

    assert_null(headline_from(known, 2, true, true).peak_memory_bytes.note);
    assert_non_null(headline_from(known, 2, true, false).peak_memory_bytes.note); /* at least one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_measured_has_no_answer),
        cmocka_unit_test(cpu_seconds_come_from_the_ledger),
        cmocka_unit_test(cpu_that_is_not_conserved_is_said_to_be_so),
        cmocka_unit_test(peak_memory_is_the_largest_with_its_method),
        cmocka_unit_test(a_single_process_is_not_called_an_upper_bound),
        cmocka_unit_test(one_process_in_all_needs_no_warning),
        cmocka_unit_test(processes_are_a_lower_bound_unless_every_spawn_was_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
