/* Where two methods measure the same and do not agree, it is said. */
#include "headline_fixture.h"

#define MIB 1048576.0

/* What is said about these; good until the next call. */
static const char *said(const struct known *known, size_t count, const struct headline_method_facts *facts)
{
    static struct strbuf text = STRBUF_INIT;
    static char copy[1024];
    struct record summary = summary_of(known, count);

    strbuf_reset(&text);
    headline_disagreements(&text, &summary, facts);
    assert_in_range(text.length, 0, sizeof(copy) - 1);
    memcpy(copy, strbuf_text(&text), text.length + 1);
    strbuf_fini(&text);
    return copy;
}

static void cpu_beyond_its_tolerance_is_a_disagreement(void **state)
{
    (void)state;
    static const struct {
        double group, ledger;
        const char *part; /* NULL: they agree */
    } cases[] = {
        {10, 10, NULL},
        {10, 9.91, NULL},  /* 0.9 % */
        {0.1, 0.06, NULL}, /* 40 %, but 40 ms: a few ticks */
        {100, 99.1, NULL},
        {10, 9.8, "the group is right"},
        {0.2, 0.1, "the group is right"},
        {50, 0.6, "the group is right"},
        {9.8, 10, "the /proc readings are right"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"cgroup_cpu_seconds", cases[i].group},
                                      {"proc_cpu_seconds", cases[i].ledger}};
        const char *text = said(known, 2, &own_group);

        if (!cases[i].part) {
            assert_string_equal(text, "");
        } else {
            assert_non_null(strstr(text, "CPU: "));
            assert_non_null(strstr(text, cases[i].part));
            assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
        }
    }
}

static void ends_and_the_group_are_compared_as_well(void **state)
{
    (void)state;
    static const struct {
        double group, ends, living;
        const char *part; /* NULL: they agree */
    } cases[] = {
        {10, 10, 0, NULL},
        {10, 5, 5, NULL}, /* the living belong to it */
        {10, 9.91, 0, NULL},
        {0.1, 0.06, 0, NULL},
        {10, 9.8, 0, "the group is right"},
        {10, 5, 0, "the group is right"},
        {9.8, 5, 5, "the exit reports are right"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"cgroup_cpu_seconds", cases[i].group},
                                      {"exit_cpu_seconds_total", cases[i].ends},
                                      {"proc_cpu_seconds", cases[i].group}};
        const struct headline_method_facts facts = {.own_cgroup = true,
                                                    .living_cpu_seconds = cases[i].living};
        const char *text = said(known, 3, &facts);

        if (!cases[i].part) {
            assert_string_equal(text, "");
        } else {
            assert_non_null(strstr(text, "CPU: "));
            assert_non_null(strstr(text, ", exit reports "));
            assert_non_null(strstr(text, cases[i].part));
            assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
        }
    }
}

static void without_a_group_ends_and_the_ledger_are_compared(void **state)
{
    (void)state;
    static const struct {
        double ends, living, ledger;
        const char *part; /* NULL: they agree */
    } cases[] = {
        {10, 0, 10, NULL},
        {5, 5, 10, NULL}, /* the living belong to both */
        {10, 0, 9.91, NULL},
        {0.1, 0, 0.06, NULL},
        {10, 0, 0.2, "the kernel dropped the times of processes that ended; the exit reports are right"},
        {5, 5, 9, "the exit reports are right"},
        {0.2, 0, 10, "the exit of a process was not reported; the /proc readings are right"},
        {10, -1, 0.2, NULL}, /* what the living have used is not known */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"exit_cpu_seconds_total", cases[i].ends},
                                      {"proc_cpu_seconds", cases[i].ledger},
                                      {"cgroup_cpu_seconds", 100}, /* with others */
                                      {"rusage_cpu_user_seconds", 1}};
        const struct headline_method_facts facts = {.began_in_cgroup = true,
                                                    .living_cpu_seconds = cases[i].living};
        const char *text = said(known, 4, &facts);

        if (!cases[i].part) {
            assert_string_equal(text, "");
        } else {
            assert_non_null(strstr(text, "CPU: exit reports count "));
            assert_non_null(strstr(text, cases[i].part));
            assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
        }
    }
}

static void a_shared_group_disagrees_only_if_it_has_less(void **state)
{
    (void)state;
    static const struct headline_method_facts shared = {.began_in_cgroup = true};
    static const struct {
        double group, ledger, charge_mib, shares_mib;
        bool cpu, memory;
    } cases[] = {
        {10, 10, 100, 100, false, false},  {50, 1, 5000, 100, false, false}, /* others use the rest */
        {9.91, 10, 90, 100, false, false}, {1, 10, 100, 200, true, true},
        {9.8, 10, 1000, 1150, true, true},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"cgroup_cpu_seconds", cases[i].group},
                                      {"proc_cpu_seconds", cases[i].ledger},
                                      {"cgroup_mem_peak", cases[i].charge_mib * MIB},
                                      {"smaps_peak_pss_total", cases[i].shares_mib * MIB}};
        const char *text = said(known, 4, &shared);

        assert_int_equal(strstr(text, "CPU: the control group it began in counts ") != NULL, cases[i].cpu);
        assert_int_equal(strstr(text, "some of its processes left the group; the /proc readings are right") !=
                             NULL,
                         cases[i].cpu);
        assert_int_equal(strstr(text, "charged to another group") != NULL, cases[i].memory);
        /* Attached, or in a session: they may have been in other groups from the beginning. */
        assert_string_equal(said(known, 4, &exact), "");
    }
}

static void a_disagreement_tells_both_numbers(void **state)
{
    (void)state;
    static const struct known known[] = {{"cgroup_cpu_seconds", 12.5},
                                         {"proc_cpu_seconds", 2.25},
                                         {"cgroup_mem_peak", 100 << 20},
                                         {"smaps_peak_pss_total", 200 << 20}};
    const char *text = said(known, 4, &own_group);

    assert_non_null(strstr(text, "12.5"));
    assert_non_null(strstr(text, "2.25"));
    assert_non_null(strstr(text, "200"));
    assert_non_null(strstr(text, "100"));
    assert_non_null(strstr(text, "\nmemory: ")); /* a line each */
}

static void shares_beyond_the_charge_are_a_disagreement(void **state)
{
    (void)state;
    static const struct {
        double charge_mib, shares_mib;
        bool disagree;
    } cases[] = {
        {1000, 900, false}, {1000, 1100, false}, /* a tenth */
        {10, 60, false}, /* a lot more, but only libraries: charged to whoever read them first */
        {1000, 1150, true}, {10, 100, true},
        {1000, 100, false}, /* page cache: that is what an upper bound is for */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"cgroup_mem_peak", cases[i].charge_mib * MIB},
                                      {"smaps_peak_pss_total", cases[i].shares_mib * MIB}};
        assert_int_equal(strstr(said(known, 2, &own_group), "charged to another group") != NULL,
                         cases[i].disagree);
    }
}

static void what_measures_something_else_does_not_disagree(void **state)
{
    (void)state;
    static const struct known known[] = {{"cgroup_cpu_seconds", 50},
                                         {"proc_cpu_seconds", 1},
                                         {"cgroup_mem_peak", MIB},
                                         {"smaps_peak_pss_total", 500 * MIB}};

    assert_string_equal(said(known, 4, &exact), ""); /* the group is of others, too */
    assert_string_equal(said(known, 1, &own_group), "");
    assert_string_equal(said(NULL, 0, &own_group), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_beyond_its_tolerance_is_a_disagreement),
        cmocka_unit_test(ends_and_the_group_are_compared_as_well),
        cmocka_unit_test(without_a_group_ends_and_the_ledger_are_compared),
        cmocka_unit_test(a_shared_group_disagrees_only_if_it_has_less),
        cmocka_unit_test(a_disagreement_tells_both_numbers),
        cmocka_unit_test(shares_beyond_the_charge_are_a_disagreement),
        cmocka_unit_test(what_measures_something_else_does_not_disagree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
