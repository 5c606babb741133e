/* What a report gathers from records and events. */
#include "report_fixture.h"

/* -- Processes of the records -- */

static void counters_are_summed_and_of_levels_the_largest_is_kept(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_processes *processes = report_processes_new(&recording);
    struct usage_value first[] = {number(HWM, "7", 100), number(READ, "7", 10), text(CMD, "7", "a b"),
                                  number(HWM, "8", 300)};
    struct usage_value second[] = {number(HWM, "7", 80), number(READ, "7", 5), text(CMD, "7", "c")};
    struct usage_record records[] = {record(1, first, 4), record(2, second, 3)};
    struct report_process top[4];

    report_processes_add(processes, &records[0], 1);
    report_processes_add(processes, &records[1], 1);
    assert_int_equal(report_processes_top(processes, REPORT_USE_MEMORY, top, 4), 2);
    assert_string_equal(top[0].subject, "8");
    assert_string_equal(top[1].subject, "7");
    assert_string_equal(top[1].command.text, "c");
    assert_int_equal(report_processes_top(processes, REPORT_USE_IO, top, 4), 1);
    const struct report_process_keys *known = report_processes_keys(processes);
    for (size_t i = 0; i < known->count; i++) {
        if (known->items[i].key == &keys[READ])
            assert_true(top[0].values[i] == 15);
        if (known->items[i].key == &keys[HWM])
            assert_true(top[0].values[i] == 100);
        if (known->items[i].key == &keys[RSS])
            assert_false(top[0].has[i]);
    }
    report_processes_free(processes);
}

static double estimate_of(struct usage_value *values, size_t count, double seconds)
{
    struct recording recording = running();
    struct report_processes *processes = report_processes_new(&recording);
    struct usage_record one = record(seconds, values, count);
    struct report_process top[1];

    report_processes_add(processes, &one, seconds);
    assert_int_equal(report_processes_top(processes, REPORT_USE_CPU, top, 1), 1);
    report_processes_free(processes);
    return top[0].cpu_seconds;
}

static void the_rate_of_a_process_counts_for_the_time_it_was_there(void **state)
{
    (void)state;
    struct usage_value old[] = {number(CPU, "7", 50), number(AGE, "7", 900)};
    struct usage_value young[] = {number(CPU, "7", 100), number(AGE, "7", 0.25)};
    struct usage_value other_way_round[] = {number(AGE, "7", 0.25), number(CPU, "7", 100)};
    struct usage_value ageless[] = {number(CPU, "7", 100)};

    assert_true(fabs(estimate_of(old, 2, 10) - 5) < 1e-9);
    assert_true(fabs(estimate_of(young, 2, 10) - 0.25) < 1e-9);
    assert_true(fabs(estimate_of(other_way_round, 2, 10) - 0.25) < 1e-9);
    assert_true(fabs(estimate_of(ageless, 1, 10) - 10) < 1e-9);
}

static void cpu_seconds_that_were_counted_are_summed_and_not_estimated(void **state)
{
    (void)state;
    enum { OWN = 0, RATE = 1, AGE_TOO = 2 };
    struct recorded_key counted[] = {
        [OWN] = {"proc_own_cpu_seconds", TOPIC_CPU, BOUND_LOWER, "proc", "clock", NULL, UNIT_SECONDS,
                 SCOPE_PER_PID, TYPE_COUNTER, REDUCE_DELTA, NULL},
        [RATE] = keys[CPU],
        [AGE_TOO] = keys[AGE],
    };
    struct recording recording = running();
    struct report_process top[2];

    recording.keys = counted;
    recording.key_count = COUNT(counted);
    struct report_processes *processes = report_processes_new(&recording);
    assert_ptr_equal(report_processes_keys(processes)->counted, &counted[OWN]);
    for (int i = 0; i < 2; i++) {
        struct usage_value values[] = {number(OWN, "7", 1.5), number(RATE, "7", 100),
                                       number(AGE_TOO, "7", 900), number(OWN, "8", 4), number(RATE, "8", 50)};
        struct usage_record one = record(10, values, COUNT(values));
        report_processes_add(processes, &one, 10);
    }
    assert_int_equal(report_processes_top(processes, REPORT_USE_CPU, top, 2), 2);
    assert_string_equal(top[0].subject, "8");
    assert_true(top[0].cpu_seconds == 8 && top[1].cpu_seconds == 3);
    report_processes_free(processes);
}

static void one_whose_end_was_told_is_not_ranked_again(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_processes *processes = report_processes_new(&recording);
    struct usage_value values[] = {number(HWM, "7", 100),  number(READ, "7", 1),   text(START, "7", "t1"),
                                   number(HWM, "7#2", 90), number(READ, "7#2", 2), text(START, "7#2", "t2")};
    struct usage_record one = record(1, values, COUNT(values));
    struct report_process top[4];

    report_processes_add(processes, &one, 1);
    report_processes_told(processes, 7, "t2", false);
    assert_int_equal(report_processes_top(processes, REPORT_USE_IO, top, 4), 1);
    assert_string_equal(top[0].subject, "7");
    /* Its largest RSS was not told: for memory what was sampled is all there is. */
    assert_int_equal(report_processes_top(processes, REPORT_USE_MEMORY, top, 4), 2);
    report_processes_told(processes, 7, "t1", true);
    assert_int_equal(report_processes_top(processes, REPORT_USE_MEMORY, top, 4), 1);
    assert_string_equal(top[0].subject, "7#2");
    report_processes_free(processes);
}

static void what_the_kernel_told_at_the_end_is_left_to_the_events(void **state)
{
    (void)state;
    static struct recorded_key told[] = {{"exit_cpu_seconds", TOPIC_CPU, BOUND_NONE, "exit", "", NULL,
                                          UNIT_SECONDS, SCOPE_PER_PID, TYPE_COUNTER, REDUCE_DELTA, NULL}};
    struct recording recording = {.keys = told, .key_count = 1, .events_path = "events.jsonl"};

    struct report_processes *processes = report_processes_new(&recording);
    assert_int_equal(report_processes_keys(processes)->count, 0);
    report_processes_free(processes);
    recording.events_path = NULL;
    processes = report_processes_new(&recording);
    assert_int_equal(report_processes_keys(processes)->count, 1);
    report_processes_free(processes);
}

/* -- Measures of a run without a summary -- */

static void a_run_without_a_summary_is_summed_up_from_its_records(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_measures measures;
    bool wanted[COUNT(keys)] = {false};
    struct usage_value calls = {.key = CALLS, .kind = FIELD_JSON, .text = "{\"read\":3,\"write\":1}"};
    struct usage_value more_calls = {.key = CALLS, .kind = FIELD_JSON, .text = "{\"close\":9,\"read\":4}"};
    struct usage_value first[] = {number(TOTAL_CPU, NULL, 1.5), number(TOTAL_RSS, NULL, 70),
                                  number(MEAN_RSS, NULL, 40), number(LIVE, NULL, 9), calls};
    struct usage_value second[] = {number(TOTAL_CPU, NULL, 0.25), number(TOTAL_RSS, NULL, 60),
                                   number(MEAN_RSS, NULL, 10), number(LIVE, NULL, 2), more_calls};
    struct usage_record records[] = {record(1, first, COUNT(first)), record(4, second, COUNT(second))};

    report_measures_init(&measures, &recording);
    report_measures_want(&measures, wanted);
    assert_true(wanted[TOTAL_CPU] && wanted[CALLS]);
    assert_false(wanted[RSS]);
    report_measures_add(&measures, &records[0], 1);
    report_measures_add(&measures, &records[1], 3);
    report_measures_end(&measures);
    assert_int_equal(measures.count, 5);
    assert_true(report_measure_find(&measures, "proc_cpu_seconds")->value == 1.75);
    assert_true(report_measure_find(&measures, "proc_peak_rss_total")->value == 70);
    assert_true(report_measure_find(&measures, "proc_ave_rss_total")->value == 17.5); /* (40 + 3 x 10) / 4 */
    assert_true(report_measure_find(&measures, "ledger_live_seconds")->value == 2);
    const struct report_measure *tally = report_measure_find(&measures, "syscall_counts_total");
    assert_true(report_tally_amount(&tally->tally, "read") == 7);
    assert_true(report_tally_amount(&tally->tally, "close") == 9);
    assert_true(report_tally_amount(&tally->tally, "futex") == 0);
    report_measures_fini(&measures);
}

/* proc_swap_total counts a shared page in each process, smaps_swap_total once. */
static void of_one_topic_an_exact_number_goes_before_a_bound(void **state)
{
    (void)state;
    struct recorded_key two[] = {keys[TOTAL_RSS], keys[TOTAL_RSS]};
    struct recorded_field fields[] = {{.name = "proc_peak_swap_total", .kind = FIELD_NUMBER, .number = 9},
                                      {.name = "smaps_peak_swap_total", .kind = FIELD_NUMBER, .number = 4}};
    struct recording recording = {.keys = two, .key_count = 2, .fields = fields, .field_count = 2};
    struct report_measures measures;

    two[0].key = "proc_swap_total";
    two[1].key = "smaps_swap_total";
    two[1].source = "smaps";
    two[0].topic = two[1].topic = TOPIC_MEMORY_SWAP;
    two[1].bound = BOUND_NONE;
    report_measures_init(&measures, &recording);
    assert_true(report_measure_of(&measures, TOPIC_MEMORY_SWAP, "peak")->value == 4);
    measures.count = 1;
    assert_true(report_measure_of(&measures, TOPIC_MEMORY_SWAP, "peak")->value == 9);
    report_measures_fini(&measures);
}

/* Whatever else its name says. */
static void the_mean_of_a_peak_is_a_mean(void **state)
{
    (void)state;
    struct recorded_key key = keys[TOTAL_RSS];
    struct recorded_field field = {.name = "cgroup_ave_mem_interval_peak", .kind = FIELD_NUMBER, .number = 4};
    struct recording recording = {.keys = &key, .key_count = 1, .fields = &field, .field_count = 1};
    struct report_measures measures;

    key.key = "cgroup_mem_interval_peak";
    key.source = "cgroup";
    report_measures_init(&measures, &recording);
    assert_int_equal(measures.count, 1);
    assert_string_equal(measures.items[0].statistic, "ave");
    assert_false(report_measure_in(&measures.items[0], TOPIC_MEMORY, UNIT_BYTES));
    report_measures_fini(&measures);
}

static void a_summary_is_taken_as_it_stands(void **state)
{
    (void)state;
    struct recording recording = running();
    struct recorded_field fields[] = {
        {.name = "proc_peak_rss_total", .kind = FIELD_NUMBER, .number = 5},
        {.name = "proc_ave_rss_total", .kind = FIELD_NUMBER, .number = 4},
        {.name = "proc_cpu_seconds", .kind = FIELD_NUMBER, .number = 3},
        {.name = "exit_code", .kind = FIELD_NUMBER, .number = 2},
    };
    struct report_measures measures;

    recording.fields = fields;
    recording.field_count = COUNT(fields);
    report_measures_init(&measures, &recording);
    assert_false(measures.from_records);
    assert_int_equal(measures.count, 3);
    assert_string_equal(report_measure_find(&measures, "proc_peak_rss_total")->statistic, "peak");
    assert_string_equal(report_measure_find(&measures, "proc_ave_rss_total")->statistic, "ave");
    assert_null(report_measure_find(&measures, "proc_cpu_seconds")->statistic);
    assert_true(report_measure_of(&measures, TOPIC_MEMORY, "peak")->value == 5);
    assert_null(report_measure_of(&measures, TOPIC_IO, "peak"));
    report_measures_fini(&measures);
}

/* -- Events -- */

static void the_largest_ends_are_kept_in_order(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;

    assert_int_equal(report_events_init(&events, &recording), 0);
    for (int i = 0; i < 100; i++) {
        struct recorded_event end = event("exit", 100 + i, 1000);
        end.has_use = true;
        end.cpu_seconds = (i * 37) % 100;
        end.max_rss = i;
        end.command = i % 2 ? "/usr/bin/cc1 -quiet" : "sh";
        report_events_add(&events, &end, NULL);
    }
    report_events_end(&events);
    assert_int_equal(events.top_counts[REPORT_USE_CPU], REPORT_ENDS_MAX);
    for (size_t i = 0; i < REPORT_ENDS_MAX; i++) {
        assert_true(events.tops[REPORT_USE_CPU][i].cpu_seconds == 99 - (double)i);
        assert_true(events.tops[REPORT_USE_MEMORY][i].max_rss == 99 - (double)i);
    }
    assert_int_equal(events.top_counts[REPORT_USE_IO], 0); /* nobody moved a byte */
    assert_true(events.cpu_seconds == 4950);
    struct report_program programs[4];
    assert_int_equal(report_programs_top(&events, programs, 4), 2);
    assert_int_equal(programs[0].with_use, 50);
    assert_true(programs[0].cpu_seconds + programs[1].cpu_seconds == 4950);
    report_events_fini(&events);
}

static void lives_and_failures_and_the_busiest_second_are_told(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    struct report_group groups[4];

    assert_int_equal(report_events_init(&events, &recording), 0);
    for (int i = 0; i < 5; i++) {
        struct recorded_event birth = event("spawn", 10 + i, i < 3 ? 1002.1 : 1004 + i);
        birth.command = "grep -q x";
        report_events_add(&events, &birth, NULL);
    }
    for (int i = 0; i < 4; i++) {
        struct recorded_event end = event("exit", 10 + i, 1010 + i);
        end.has_exit_code = true;
        end.exit_code = i == 0 ? 0 : 1;
        report_events_add(&events, &end, NULL);
    }
    report_events_end(&events);
    assert_int_equal(events.spawned, 5);
    assert_int_equal(events.ended, 4);
    assert_int_equal(events.root, 10);
    assert_true(events.spawn_rate_peak == 3);
    assert_true(events.spawn_rate_peak_at == 2);
    assert_false(events.lives_are_exact);
    assert_true(fabs(events.shortest.seconds - 6) < 1e-9); /* born at 1007, ended at 1013 */
    assert_true(fabs(events.longest.seconds - 9.9) < 1e-6);
    assert_string_equal(events.longest.command.text, "grep -q x"); /* from its spawn */
    assert_int_equal(report_groups_top(events.failures, NULL, groups, 4), 1);
    assert_int_equal(groups[0].count, 3);
    assert_int_equal(groups[0].number, 1);
    assert_string_equal(groups[0].whom, "grep");
    assert_string_equal(groups[0].first.text, "grep -q x");
    report_events_fini(&events);
}

static void end_badly(struct report_events *events, int pid, int code, const char *command)
{
    struct recorded_event end = event("exit", pid, 1001);

    end.has_exit_code = true;
    end.exit_code = code;
    end.command = command;
    report_events_add(events, &end, NULL);
}

static void failures_are_counted_by_program(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    struct report_group groups[4];
    struct recorded_event birth = event("spawn", 10, 1000);
    char command[64];

    assert_int_equal(report_events_init(&events, &recording), 0);
    report_events_add(&events, &birth, NULL);
    end_badly(&events, 20, 2, "/bin/ls /nowhere");
    for (int i = 0; i < 50; i++) {
        (void)snprintf(command, sizeof(command), "/usr/bin/grep -q word%d", i);
        end_badly(&events, 100 + i, i < 48 ? 1 : 2, command);
    }
    assert_false(events.root_failed);
    end_badly(&events, 10, 3, "sh all.sh");
    assert_true(events.root_failed);
    assert_int_equal(report_groups_top(events.failing, NULL, groups, 4), 3);
    assert_int_equal(groups[0].count, 50);
    assert_string_equal(groups[0].whom, "grep");
    assert_string_equal(groups[0].first.text, "/usr/bin/grep -q word0");
    assert_string_equal(groups[1].whom, "ls");
    assert_int_equal(report_groups_top(events.failures, "grep", groups, 4), 2);
    assert_int_equal(groups[0].number, 1);
    assert_int_equal(groups[0].count, 48);
    assert_int_equal(groups[1].count, 2);
    assert_int_equal(report_groups_top(events.failures, "cc", groups, 4), 0);
    report_events_fini(&events);
}

static void who_killed_the_command_is_told(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    struct recorded_event birth = event("spawn", 10, 1000), other = event("spawn", 11, 1000);
    struct recorded_event kill = event("kill", 11, 1001), fatal = event("kill", 10, 1002);

    assert_int_equal(report_events_init(&events, &recording), 0);
    report_events_add(&events, &birth, NULL);
    report_events_add(&events, &other, NULL);
    kill.has_signal = fatal.has_signal = true;
    kill.signal_num = 15;
    kill.sender_name = "nobody";
    report_events_add(&events, &kill, NULL);
    assert_false(events.root_killer_is_told);
    fatal.signal_num = 9;
    fatal.sender_name = "bash";
    fatal.sender_pid = 77;
    report_events_add(&events, &fatal, NULL);
    assert_true(events.root_killer_is_told);
    assert_int_equal(events.root_killer, 77);
    assert_string_equal(events.root_killer_name, "bash");
    assert_int_equal(report_groups_total(events.kills), 2);
    report_events_fini(&events);
}

static void a_program_is_the_last_part_of_the_first_word(void **state)
{
    (void)state;
    char name[REPORT_GROUP_TEXT_MAX];

    assert_string_equal(report_program_name("/usr/lib/gcc/cc1 -quiet a/b.c", name), "cc1");
    assert_string_equal(report_program_name("sh -c 'x /y'", name), "sh");
    assert_string_equal(report_program_name("'/opt/my tools/run me' x", name), "run me");
    assert_string_equal(report_program_name("", name), "");
    char endless[4096];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    assert_int_equal(strlen(report_program_name(endless, name)), REPORT_GROUP_TEXT_MAX - 1);
}

static void hostile_times_and_endless_commands_do_no_harm(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    static char endless[100000];
    const double times[] = {NAN, INFINITY, -INFINITY, -1e300, 1e300, 0};

    memset(endless, 'e', sizeof(endless) - 1);
    assert_int_equal(report_events_init(&events, &recording), 0);
    for (size_t i = 0; i < COUNT(times); i++) {
        struct recorded_event birth = event("spawn", 1, times[i]), end = event("exit", 1, times[i]);
        birth.command = end.command = endless;
        end.has_exit_code = true;
        end.exit_code = 1;
        report_events_add(&events, &birth, NULL);
        report_events_add(&events, &end, NULL);
    }
    report_events_end(&events);
    assert_true(events.spawn_rate_peak <= 1);
    report_events_fini(&events);
}

static void commands_are_whole_until_they_would_take_too_much(void **state)
{
    (void)state;
    struct report_command command = {0};
    static char endless[REPORT_COMMAND_BYTES + 10];
    size_t kept = 0;

    memset(endless, 'e', sizeof(endless) - 1);
    report_command_keep(&command, (struct report_command){"cc1 a.c", false}, &kept);
    assert_string_equal(command.text, "cc1 a.c");
    assert_false(command.is_truncated);
    report_command_keep(&command, (struct report_command){"cc1…", true}, &kept);
    assert_true(command.is_truncated);
    assert_int_equal(kept, strlen("cc1…"));
    report_command_keep(&command, (struct report_command){endless, false}, &kept);
    assert_true(command.is_truncated);
    assert_int_equal(strlen(command.text), REPORT_COMMAND_BYTES + strlen("…"));
    assert_int_equal(kept, strlen(command.text));
    kept = REPORT_COMMANDS_BYTES + strlen(command.text);
    report_command_keep(&command, (struct report_command){endless, false}, &kept);
    assert_int_equal(strlen(command.text), REPORT_COMMAND_SHORT + strlen("…"));
    assert_string_equal(command.text + REPORT_COMMAND_SHORT, "…");
    report_command_free(&command, &kept);
    assert_int_equal(kept, REPORT_COMMANDS_BYTES);
}

static void groups_past_the_limit_are_only_counted(void **state)
{
    (void)state;
    struct report_groups *groups = report_groups_new();
    struct report_group top[2];
    char name[32];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < REPORT_GROUPS_MAX + 10; i++) {
            (void)snprintf(name, sizeof(name), "command %d", i);
            report_groups_count(groups, 1, NULL, name, (struct report_command){0});
        }
    report_groups_count(groups, 1, NULL, "command 3", (struct report_command){0});
    assert_int_equal(report_groups_size(groups), REPORT_GROUPS_MAX);
    assert_int_equal(report_groups_total(groups), 2 * (REPORT_GROUPS_MAX + 10) + 1);
    assert_int_equal(report_groups_top(groups, NULL, top, 2), 2);
    assert_string_equal(top[0].whom, "command 3");
    assert_int_equal(top[0].count, 3);
    assert_string_equal(top[1].whom, "command 0");
    report_groups_free(groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_summed_and_of_levels_the_largest_is_kept),
        cmocka_unit_test(the_rate_of_a_process_counts_for_the_time_it_was_there),
        cmocka_unit_test(cpu_seconds_that_were_counted_are_summed_and_not_estimated),
        cmocka_unit_test(one_whose_end_was_told_is_not_ranked_again),
        cmocka_unit_test(what_the_kernel_told_at_the_end_is_left_to_the_events),
        cmocka_unit_test(a_run_without_a_summary_is_summed_up_from_its_records),
        cmocka_unit_test(of_one_topic_an_exact_number_goes_before_a_bound),
        cmocka_unit_test(the_mean_of_a_peak_is_a_mean),
        cmocka_unit_test(a_summary_is_taken_as_it_stands),
        cmocka_unit_test(the_largest_ends_are_kept_in_order),
        cmocka_unit_test(lives_and_failures_and_the_busiest_second_are_told),
        cmocka_unit_test(failures_are_counted_by_program),
        cmocka_unit_test(who_killed_the_command_is_told),
        cmocka_unit_test(a_program_is_the_last_part_of_the_first_word),
        cmocka_unit_test(hostile_times_and_endless_commands_do_no_harm),
        cmocka_unit_test(commands_are_whole_until_they_would_take_too_much),
        cmocka_unit_test(groups_past_the_limit_are_only_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
