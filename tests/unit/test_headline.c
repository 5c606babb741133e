/* Which number is shown first, what is said about it, and what the other methods say. */
#include "headline_fixture.h"

static void what_was_not_measured_has_no_answer(void **state)
{
    (void)state;
    const struct headline headline = headline_from(NULL, 0, &own_group);

    assert_false(headline.cpu_seconds.has);
    assert_false(headline.peak_memory_bytes.has);
    assert_false(headline.memory_upper_bound.has);
    assert_false(headline.processes.has);
    for (int i = 0; i < STALL_COUNT; i++)
        assert_false(headline.stalls[i].has);
    assert_int_equal(headline.memory_method_count, 0);
}

/* ---- CPU seconds ---- */

static void cpu_seconds_come_from_the_ledger(void **state)
{
    (void)state;
    static const struct known known[] = {{"rusage_cpu_user_seconds", 9}, {"proc_cpu_seconds", 6.25}};
    const struct headline headline = HEADLINE(known, &exact);

    answer_is(&headline.cpu_seconds, 6.25, "proc_cpu_seconds", NULL);
}

static void cpu_that_is_not_conserved_is_said_to_be_so(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}};
    static const struct headline_method_facts lossy = {.cpu_note = &note_ended_unseen};
    const struct headline headline = HEADLINE(known, &lossy);

    answer_is(&headline.cpu_seconds, 1, "proc_cpu_seconds", "not conserved");
    assert_int_equal(headline.cpu_seconds.note.bound, BOUND_LOWER);
}

static void an_own_group_counts_cpu_before_the_ledger(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}, {"cgroup_cpu_seconds", 2}};
    static const struct headline_method_facts lossy = {.cpu_note = &note_ended_unseen, .own_cgroup = true};
    const struct headline headline = HEADLINE(known, &lossy);

    answer_is(&headline.cpu_seconds, 2, "cgroup_cpu_seconds", NULL); /* the ledger's loss is not its own */
}

static void cpu_of_an_inherited_group_is_not_the_targets(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}, {"cgroup_cpu_seconds", 2}};
    const struct headline headline = HEADLINE(known, &exact);

    answer_is(&headline.cpu_seconds, 1, "proc_cpu_seconds", NULL);
}

static void an_own_group_that_does_not_count_cpu_leaves_it_to_the_ledger(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}, {"cgroup_mem_peak", 2}};
    static const struct headline_method_facts lossy = {.cpu_note = &note_ended_unseen, .own_cgroup = true};
    const struct headline headline = HEADLINE(known, &lossy);

    answer_is(&headline.cpu_seconds, 1, "proc_cpu_seconds", "not conserved");
}

/* ---- peak memory ---- */

static void without_group_and_shares_the_peak_is_the_largest_with_its_method(void **state)
{
    (void)state;
    static const struct {
        double rss_total, hwm_max, max_rss;
        const char *source, *note;
        enum bound bound;
    } cases[] = {
        {30, 20, 10, "proc_peak_rss_total", "upper bound", BOUND_UPPER},
        {10, 30, 20, "proc_hwm_max", "largest single process", BOUND_LOWER},
        {10, 20, 30, "rusage_max_rss", "largest single process", BOUND_LOWER},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"proc_peak_rss_total", cases[i].rss_total},
                                      {"proc_hwm_max", cases[i].hwm_max},
                                      {"rusage_max_rss", cases[i].max_rss},
                                      {"proc_ave_rss_total", 99}};
        const struct headline headline = HEADLINE(known, &exact);

        answer_is(&headline.peak_memory_bytes, 30, cases[i].source, cases[i].note);
        assert_int_equal(headline.peak_memory_bytes.note.bound, cases[i].bound);
        assert_false(headline.memory_upper_bound.has);
    }
}

static void the_peak_is_the_largest_of_group_shares_and_high_water_mark(void **state)
{
    (void)state;
    static const struct {
        double anon_shmem, shares, hwm_max, max_rss;
        const char *source, *note;
    } cases[] = {
        {40, 30, 20, 10, "cgroup_peak_mem_anon_shmem", "sampled"},
        {30, 40, 20, 10, "smaps_peak_pss_total", "sampled"},
        {30, 20, 40, 10, "proc_hwm_max", "largest single process"},
        {30, 20, 10, 40, "rusage_max_rss", "largest single process"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"proc_peak_rss_total", 999}, /* shared pages count again and again */
                                      {"cgroup_mem_peak", 888},     /* page cache */
                                      {"cgroup_peak_mem_anon_shmem", cases[i].anon_shmem},
                                      {"smaps_peak_pss_total", cases[i].shares},
                                      {"proc_hwm_max", cases[i].hwm_max},
                                      {"rusage_max_rss", cases[i].max_rss}};
        const struct headline headline = HEADLINE(known, &own_group);

        answer_is(&headline.peak_memory_bytes, 40, cases[i].source, cases[i].note);
        answer_is(&headline.memory_upper_bound, 888, "cgroup_mem_peak", NULL);
        assert_int_equal(headline.memory_upper_bound.note.bound, BOUND_UPPER);
    }
}

static void either_of_group_and_shares_puts_the_sum_of_rss_aside(void **state)
{
    (void)state;
    static const struct known shares[] = {{"proc_peak_rss_total", 999}, {"smaps_peak_pss_total", 40}};
    static const struct known group[] = {{"proc_peak_rss_total", 999}, {"cgroup_peak_mem_anon_shmem", 40}};
    struct headline headline = HEADLINE(shares, &exact);

    answer_is(&headline.peak_memory_bytes, 40, "smaps_peak_pss_total", "sampled");
    headline = HEADLINE(group, &own_group);
    answer_is(&headline.peak_memory_bytes, 40, "cgroup_peak_mem_anon_shmem", "sampled");
}

static void shares_that_were_only_read_while_the_tree_was_small_say_nothing_of_its_peak(void **state)
{
    (void)state;
    const struct known early[] = {{"proc_hwm_max", 300},
                                  {"smaps_peak_pss_total", 70},
                                  {"smaps_peak_rss_total", 80},
                                  {"proc_peak_rss_total", 1800}};
    const struct known near[] = {{"proc_hwm_max", 300},
                                 {"smaps_peak_pss_total", 700},
                                 {"smaps_peak_rss_total", 1650},
                                 {"proc_peak_rss_total", 1800}};
    const struct headline missed = HEADLINE(early, &exact), read = HEADLINE(near, &exact);

    answer_is(&missed.peak_memory_bytes, 1800, "proc_peak_rss_total", "could not be read at the peak");
    answer_is(&read.peak_memory_bytes, 700, "smaps_peak_pss_total", "sampled");
}

static void of_two_upper_bounds_the_lower_is_taken(void **state)
{
    (void)state;
    const struct known lower[] = {
        {"proc_hwm_max", 300}, {"proc_peak_rss_total", 1800}, {"cgroup_peak_mem_anon_shmem", 900}};
    const struct known higher[] = {
        {"proc_hwm_max", 300}, {"proc_peak_rss_total", 1800}, {"cgroup_peak_mem_anon_shmem", 2000}};
    const struct known lowest[] = {
        {"proc_hwm_max", 300}, {"proc_peak_rss_total", 1800}, {"cgroup_peak_mem_anon_shmem", 200}};
    const struct headline group = HEADLINE(lower, &exact), sum = HEADLINE(higher, &exact),
                          one = HEADLINE(lowest, &exact);

    answer_is(&group.peak_memory_bytes, 900, "cgroup_peak_mem_anon_shmem", "whoever else is in its group");
    answer_is(&sum.peak_memory_bytes, 1800, "proc_peak_rss_total", "upper bound");
    answer_is(&one.peak_memory_bytes, 300, "proc_hwm_max", "largest single process");
}

static void a_charge_below_the_peak_is_no_bound(void **state)
{
    (void)state;
    const struct known below[] = {{"proc_hwm_max", 300}, {"cgroup_mem_peak", 290}};
    const struct known above[] = {{"proc_hwm_max", 300}, {"cgroup_mem_peak", 310}};
    const struct headline without = HEADLINE(below, &own_group), with_bound = HEADLINE(above, &own_group);

    assert_false(without.memory_upper_bound.has);
    answer_is(&with_bound.memory_upper_bound, 310, "cgroup_mem_peak", NULL);
}

static void cpu_that_left_the_group_is_the_ledgers(void **state)
{
    (void)state;
    const struct known left[] = {{"cgroup_cpu_seconds", 0.1}, {"proc_cpu_seconds", 5}};
    const struct headline headline = HEADLINE(left, &own_group);

    answer_is(&headline.cpu_seconds, 5, "proc_cpu_seconds", "left its control group");
}

static void ends_that_were_all_told_count_cpu_before_the_ledger(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}, {"exit_cpu_seconds_total", 60}};
    static const struct headline_method_facts lossy = {.cpu_note = &note_ended_unseen};
    const struct headline headline = HEADLINE(known, &lossy);

    answer_is(&headline.cpu_seconds, 60, "exit_cpu_seconds_total",
              NULL); /* the ledger's loss is not theirs */
}

static void the_living_are_added_to_the_ends_and_it_is_said(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 1}, {"exit_cpu_seconds_total", 60}};
    static const struct headline_method_facts some_live = {.living_cpu_seconds = 2.5};
    const struct headline headline = HEADLINE(known, &some_live);

    answer_is(&headline.cpu_seconds, 62.5, "exit_cpu_seconds_total", "with what living processes had used");
}

static void without_totals_of_the_ends_the_living_are_the_ledgers(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_cpu_seconds", 7}, {"exit_max_rss_max", 60}};
    static const struct headline_method_facts some_live = {.living_cpu_seconds = 2.5};
    const struct headline headline = HEADLINE(known, &some_live);

    answer_is(&headline.cpu_seconds, 7, "proc_cpu_seconds", NULL);
    assert_false(headline_from(NULL, 0, &some_live).cpu_seconds.has);
}

static void an_own_group_counts_cpu_before_the_ends(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"proc_cpu_seconds", 1}, {"exit_cpu_seconds_total", 59.9}, {"cgroup_cpu_seconds", 60}};
    const struct headline headline = HEADLINE(known, &own_group), inherited = HEADLINE(known, &exact);

    answer_is(&headline.cpu_seconds, 60, "cgroup_cpu_seconds", NULL);
    answer_is(&inherited.cpu_seconds, 59.9, "exit_cpu_seconds_total", NULL);
}

static void cpu_that_left_the_group_is_that_of_the_ends(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"proc_cpu_seconds", 1}, {"exit_cpu_seconds_total", 60}, {"cgroup_cpu_seconds", 0.5}};
    const struct headline headline = HEADLINE(known, &own_group);

    answer_is(&headline.cpu_seconds, 60, "exit_cpu_seconds_total", "left its control group");
}

static void the_peak_of_one_that_ended_is_a_single_peak(void **state)
{
    (void)state;
    static const struct known largest[] = {{"proc_hwm_max", 20},
                                           {"rusage_max_rss", 10},
                                           {"exit_max_rss_max", 300},
                                           {"smaps_peak_pss_total", 25}};
    static const struct known alone[] = {
        {"proc_hwm_max", 20}, {"exit_max_rss_max", 300}, {"proc_spawned", 1}};
    static const struct known smaller[] = {{"proc_hwm_max", 20}, {"exit_max_rss_max", 10}};
    const struct headline several = HEADLINE(largest, &exact), one = HEADLINE(alone, &exact),
                          beside = HEADLINE(smaller, &exact);

    answer_is(&several.peak_memory_bytes, 300, "exit_max_rss_max", "largest single process");
    answer_is(&one.peak_memory_bytes, 300, "exit_max_rss_max", NULL);
    answer_is(&beside.peak_memory_bytes, 20, "proc_hwm_max", "largest single process");
}

static void the_ledger_misses_what_the_group_or_the_ends_have(void **state)
{
    (void)state;
    static const struct {
        double ledger, ends, group, living;
        bool own, misses;
    } cases[] = {
        {10, 10, 10, 0, true, false}, {10, 20, 10, 0, true, true},   {10, 20, 10, 0, false, true},
        {10, 10, 20, 0, true, true},  {10, 10, 20, 0, false, false}, {10, 10, 10, 5, false, true},
        {10, 9, 9, 0, true, false},   {10, 5, 10, 5, true, false},   {10, 10.02, 10, 0, true, false},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct known known[] = {{"proc_cpu_seconds", cases[i].ledger},
                                      {"exit_cpu_seconds_total", cases[i].ends},
                                      {"cgroup_cpu_seconds", cases[i].group}};
        const struct headline_method_facts facts = {.own_cgroup = cases[i].own,
                                                    .living_cpu_seconds = cases[i].living};
        struct record summary = summary_of(known, COUNT(known));

        if (headline_ledger_misses(&summary, &facts) != cases[i].misses)
            fail_msg("case %zu", i);
        summary.entries++; /* without the ledger there is nothing to miss */
        summary.count--;
        assert_false(headline_ledger_misses(&summary, &facts));
    }
}

static void memory_of_an_inherited_group_is_not_the_targets(void **state)
{
    (void)state;
    static const struct known known[] = {{"cgroup_peak_mem_anon_shmem", 999},
                                         {"cgroup_mem_peak", 9999},
                                         {"proc_peak_rss_total", 50},
                                         {"proc_hwm_max", 20}};
    const struct headline headline = HEADLINE(known, &exact);

    answer_is(&headline.peak_memory_bytes, 50, "proc_peak_rss_total", "upper bound");
    assert_false(headline.memory_upper_bound.has);
}

static void a_single_process_is_not_called_an_upper_bound(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_peak_rss_total", 20}, {"proc_hwm_max", 20}};

    assert_string_equal(HEADLINE(known, &exact).peak_memory_bytes.source, "proc_hwm_max");
}

static void one_process_in_all_needs_no_warning(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_peak_rss_total", 20}, {"proc_spawned", 1}};
    static const struct known two[] = {{"proc_peak_rss_total", 20}, {"proc_spawned", 2}};

    assert_null(HEADLINE(known, &exact).peak_memory_bytes.note.text);
    assert_non_null(HEADLINE(known, &inexact).peak_memory_bytes.note.text); /* at least one */
    assert_non_null(HEADLINE(two, &exact).peak_memory_bytes.note.text);
}

static void every_method_stands_beside_the_others_with_its_bias(void **state)
{
    (void)state;
    static const struct known known[] = {{"rusage_max_rss", 1},       {"exit_max_rss_max", 8},
                                         {"proc_hwm_max", 2},         {"proc_peak_rss_total", 3},
                                         {"smaps_peak_pss_total", 4}, {"cgroup_peak_mem_anon_shmem", 5},
                                         {"cgroup_mem_peak", 6},      {"proc_cpu_seconds", 7}};
    static const struct {
        const char *source;
        double value;
        const char *method, *bias;
    } wanted[] = {
        {"cgroup_mem_peak", 6, "kept by the kernel", "page cache is included"},
        {"cgroup_peak_mem_anon_shmem", 5, "sampled", "between two samples is missed"},
        {"smaps_peak_pss_total", 4, "proportional shares", "between two readings is missed"},
        {"proc_peak_rss_total", 3, "sum of resident memory", "once per process"},
        {"proc_hwm_max", 2, "largest high-water mark of a single process", "one process only"},
        {"exit_max_rss_max", 8, "at its end, kept by the kernel", "one process only"},
        {"rusage_max_rss", 1, "wait4", "one process only"},
    };
    const struct headline headline = HEADLINE(known, &own_group);

    assert_int_equal(headline.memory_method_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const struct headline_method *method = &headline.memory_methods[i];
        assert_string_equal(method->source, wanted[i].source);
        assert_true(fabs(method->value - wanted[i].value) < 1e-9);
        assert_non_null(strstr(method->method, wanted[i].method));
        assert_non_null(strstr(method->bias, wanted[i].bias));
    }
}

static void a_method_that_was_not_in_force_is_left_out(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_hwm_max", 2}, {"cgroup_mem_peak", 6}};
    const struct headline headline = HEADLINE(known, &own_group);

    assert_int_equal(headline.memory_method_count, 2);
    assert_string_equal(headline.memory_methods[0].source, "cgroup_mem_peak");
    assert_string_equal(headline.memory_methods[1].source, "proc_hwm_max");
}

static void no_method_contradicts_a_mark_of_the_kernel(void **state)
{
    (void)state;
    static const struct known several[] = {{"cgroup_mem_peak", 400},    {"smaps_peak_pss_total", 77},
                                           {"proc_peak_rss_total", 82}, {"proc_hwm_max", 313},
                                           {"exit_max_rss_max", 300},   {"proc_spawned", 5}};
    static const struct known one[] = {{"cgroup_mem_peak", 400},     {"smaps_peak_pss_total", 77},
                                       {"proc_peak_rss_total", 313}, {"proc_hwm_max", 313},
                                       {"exit_max_rss_max", 300},    {"proc_spawned", 1}};
    static const enum bound wanted[][5] = {
        {BOUND_UPPER, BOUND_LOWER, BOUND_LOWER, BOUND_LOWER, BOUND_LOWER},
        {BOUND_UPPER, BOUND_LOWER, BOUND_UPPER, BOUND_NONE, BOUND_LOWER},
    };
    const struct headline headlines[] = {HEADLINE(several, &own_group), HEADLINE(one, &own_group)};

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(headlines[i].memory_method_count, 5);
        assert_int_equal(headlines[i].peak_memory_bytes.note.bound, wanted[i][3]);
        for (size_t k = 0; k < 5; k++)
            assert_int_equal(headlines[i].memory_methods[k].bound, wanted[i][k]);
    }
}

static void an_inherited_group_is_said_to_hold_others(void **state)
{
    (void)state;
    static const struct known known[] = {{"cgroup_mem_peak", 6}, {"cgroup_peak_mem_anon_shmem", 5}};
    const struct headline own = HEADLINE(known, &own_group), inherited = HEADLINE(known, &exact);

    for (size_t i = 0; i < 2; i++) {
        assert_null(strstr(own.memory_methods[i].bias, "whoever else is in the group"));
        assert_non_null(strstr(inherited.memory_methods[i].bias, "whoever else is in the group"));
    }
}

/* ---- processes and stalls ---- */

static void processes_are_a_lower_bound_unless_every_spawn_was_told(void **state)
{
    (void)state;
    static const struct known known[] = {{"proc_spawned", 41}};
    const struct headline told = HEADLINE(known, &exact), seen = HEADLINE(known, &inexact);

    answer_is(&told.processes, 41, "proc_spawned", NULL);
    answer_is(&seen.processes, 41, "proc_spawned", "lower bound");
}

static void stalls_are_those_of_the_own_group(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"cgroup_ave_psi_cpu_some_pct", 0.25},  {"cgroup_ave_psi_memory_some_pct", 0.125},
        {"cgroup_ave_psi_io_some_pct", 0.0625}, {"psi_ave_cpu_some_pct", 0.9},
        {"psi_ave_memory_some_pct", 0.9},       {"psi_ave_io_some_pct", 0.9},
    };
    const struct headline headline = HEADLINE(known, &own_group);

    answer_is(&headline.stalls[STALL_CPU], 0.25, "cgroup_ave_psi_cpu_some_pct", NULL); /* of 1, not of 100 */
    answer_is(&headline.stalls[STALL_MEMORY], 0.125, "cgroup_ave_psi_memory_some_pct", NULL);
    answer_is(&headline.stalls[STALL_IO], 0.0625, "cgroup_ave_psi_io_some_pct", NULL);
}

static void stalls_of_a_shared_group_or_of_the_machine_are_said_to_be_so(void **state)
{
    (void)state;
    static const struct known known[] = {{"cgroup_ave_psi_cpu_some_pct", 0.5},
                                         {"psi_ave_cpu_some_pct", 0.9},
                                         {"psi_ave_memory_some_pct", 0.1}};
    struct headline headline = HEADLINE(known, &exact);

    answer_is(&headline.stalls[STALL_CPU], 0.5, "cgroup_ave_psi_cpu_some_pct", "group metron was started in");
    answer_is(&headline.stalls[STALL_MEMORY], 0.1, "psi_ave_memory_some_pct", "of the whole machine");
    assert_false(headline.stalls[STALL_IO].has);
    headline = HEADLINE(known, &own_group); /* a group without memory.pressure */
    answer_is(&headline.stalls[STALL_MEMORY], 0.1, "psi_ave_memory_some_pct", "of the whole machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_measured_has_no_answer),
        cmocka_unit_test(cpu_seconds_come_from_the_ledger),
        cmocka_unit_test(cpu_that_is_not_conserved_is_said_to_be_so),
        cmocka_unit_test(an_own_group_counts_cpu_before_the_ledger),
        cmocka_unit_test(cpu_of_an_inherited_group_is_not_the_targets),
        cmocka_unit_test(an_own_group_that_does_not_count_cpu_leaves_it_to_the_ledger),
        cmocka_unit_test(without_group_and_shares_the_peak_is_the_largest_with_its_method),
        cmocka_unit_test(the_peak_is_the_largest_of_group_shares_and_high_water_mark),
        cmocka_unit_test(either_of_group_and_shares_puts_the_sum_of_rss_aside),
        cmocka_unit_test(shares_that_were_only_read_while_the_tree_was_small_say_nothing_of_its_peak),
        cmocka_unit_test(of_two_upper_bounds_the_lower_is_taken),
        cmocka_unit_test(a_charge_below_the_peak_is_no_bound),
        cmocka_unit_test(cpu_that_left_the_group_is_the_ledgers),
        cmocka_unit_test(ends_that_were_all_told_count_cpu_before_the_ledger),
        cmocka_unit_test(the_living_are_added_to_the_ends_and_it_is_said),
        cmocka_unit_test(without_totals_of_the_ends_the_living_are_the_ledgers),
        cmocka_unit_test(an_own_group_counts_cpu_before_the_ends),
        cmocka_unit_test(cpu_that_left_the_group_is_that_of_the_ends),
        cmocka_unit_test(the_peak_of_one_that_ended_is_a_single_peak),
        cmocka_unit_test(the_ledger_misses_what_the_group_or_the_ends_have),
        cmocka_unit_test(memory_of_an_inherited_group_is_not_the_targets),
        cmocka_unit_test(a_single_process_is_not_called_an_upper_bound),
        cmocka_unit_test(one_process_in_all_needs_no_warning),
        cmocka_unit_test(every_method_stands_beside_the_others_with_its_bias),
        cmocka_unit_test(a_method_that_was_not_in_force_is_left_out),
        cmocka_unit_test(no_method_contradicts_a_mark_of_the_kernel),
        cmocka_unit_test(an_inherited_group_is_said_to_hold_others),
        cmocka_unit_test(processes_are_a_lower_bound_unless_every_spawn_was_told),
        cmocka_unit_test(stalls_are_those_of_the_own_group),
        cmocka_unit_test(stalls_of_a_shared_group_or_of_the_machine_are_said_to_be_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
