/* The report of a run: what is gathered from records and events, and how a page is drawn. */
#include "view/run_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/report_methods.h"

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

enum { RSS, HWM, CPU, AGE, READ, CMD, START, TOTAL_CPU, TOTAL_RSS, MEAN_RSS, LIVE, CALLS };

static struct recorded_key keys[] = {
    [RSS] = {"proc_rss", "proc", "statm", NULL, UNIT_BYTES, SCOPE_PER_PID, TYPE_GAUGE, REDUCE_MAX, NULL},
    [HWM] = {"proc_hwm", "proc", "status", NULL, UNIT_BYTES, SCOPE_PER_PID, TYPE_GAUGE, REDUCE_MAX, NULL},
    [CPU] = {"proc_pdcpu", "proc", "clock", NULL, UNIT_PERCENT, SCOPE_PER_PID, TYPE_COUNTER, REDUCE_MAX,
             NULL},
    [AGE] = {"proc_etime", "proc", "stat", NULL, UNIT_SECONDS, SCOPE_PER_PID, TYPE_GAUGE, REDUCE_LAST, NULL},
    [READ] = {"io_read_bytes", "io", "io", NULL, UNIT_BYTES, SCOPE_PER_PID, TYPE_COUNTER, REDUCE_DELTA, NULL},
    [CMD] = {"proc_cmd", "proc", "cmdline", NULL, UNIT_NONE, SCOPE_PER_PID, TYPE_LABEL, REDUCE_LAST, NULL},
    [START] = {"proc_start_time", "proc", "stat", NULL, UNIT_NONE, SCOPE_PER_PID, TYPE_LABEL, REDUCE_LAST,
               NULL},
    [TOTAL_CPU] = {"proc_cpu_seconds", "proc", "ledger", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_COUNTER,
                   REDUCE_DELTA, NULL},
    [TOTAL_RSS] = {"proc_rss_total", "proc", "statm", NULL, UNIT_BYTES, SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX,
                   NULL},
    [MEAN_RSS] = {"proc_ave_rss_total", "proc", "statm", "ave", UNIT_BYTES, SCOPE_SINGLE, TYPE_GAUGE,
                  REDUCE_MAX, NULL},
    [LIVE] = {"ledger_live_seconds", "ledger", "live", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_GAUGE,
              REDUCE_LAST, NULL},
    [CALLS] = {"syscall_counts_total", "syscall", "", NULL, UNIT_COUNT, SCOPE_SINGLE, TYPE_CATEGORICAL,
               REDUCE_TALLY, NULL},
};

static struct recording running(void)
{
    return (struct recording){.kind = RECORDING_METRON,
                              .status = RECORDING_RUNNING,
                              .path = "run_info.json",
                              .start_wall = 1000,
                              .keys = keys,
                              .key_count = COUNT(keys)};
}

static struct usage_value number(uint32_t key, const char *subject, double value)
{
    return (struct usage_value){.key = key, .kind = FIELD_NUMBER, .subject = subject, .number = value};
}

static struct usage_value text(uint32_t key, const char *subject, const char *value)
{
    return (struct usage_value){.key = key, .kind = FIELD_TEXT, .subject = subject, .text = value};
}

static struct usage_record record(double elapsed, struct usage_value *values, size_t count)
{
    return (struct usage_record){.elapsed = elapsed, .num_samples = 1, .values = values, .count = count};
}

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
    const struct report_process_key *known;

    report_processes_add(processes, &records[0], 1);
    report_processes_add(processes, &records[1], 1);
    assert_int_equal(report_processes_top(processes, REPORT_USE_MEMORY, top, 4), 2);
    assert_string_equal(top[0].subject, "8");
    assert_string_equal(top[1].subject, "7");
    assert_string_equal(top[1].command, "c");
    assert_int_equal(report_processes_top(processes, REPORT_USE_IO, top, 4), 1);
    size_t count = report_processes_keys(processes, &known);
    for (size_t i = 0; i < count; i++) {
        if (known[i].key == &keys[READ])
            assert_true(top[0].values[i] == 15);
        if (known[i].key == &keys[HWM])
            assert_true(top[0].values[i] == 100);
        if (known[i].key == &keys[RSS])
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
        [OWN] = {"proc_own_cpu_seconds", "proc", "clock", NULL, UNIT_SECONDS, SCOPE_PER_PID, TYPE_COUNTER,
                 REDUCE_DELTA, NULL},
        [RATE] = keys[CPU],
        [AGE_TOO] = keys[AGE],
    };
    struct recording recording = running();
    struct report_process top[2];

    recording.keys = counted;
    recording.key_count = COUNT(counted);
    struct report_processes *processes = report_processes_new(&recording);
    assert_ptr_equal(report_processes_counted(processes), &counted[OWN]);
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
    static struct recorded_key told[] = {{"exit_cpu_seconds", "exit", "", NULL, UNIT_SECONDS, SCOPE_PER_PID,
                                          TYPE_COUNTER, REDUCE_DELTA, NULL}};
    struct recording recording = {.keys = told, .key_count = 1, .events_path = "events.jsonl"};
    const struct report_process_key *known;

    struct report_processes *processes = report_processes_new(&recording);
    assert_int_equal(report_processes_keys(processes, &known), 0);
    report_processes_free(processes);
    recording.events_path = NULL;
    processes = report_processes_new(&recording);
    assert_int_equal(report_processes_keys(processes, &known), 1);
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
    assert_true(report_measure_part(&measures, "proc", "rss_total", "peak")->value == 5);
    assert_null(report_measure_part(&measures, "io", "rss_total", "peak"));
    report_measures_fini(&measures);
}

/* -- Events -- */

static struct recorded_event event(const char *type, int64_t pid, double wall)
{
    return (struct recorded_event){.type = type, .pid = pid, .wall = wall, .seen = "event", .sender_pid = -1};
}

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
    assert_string_equal(events.longest.command, "grep -q x"); /* its birth told it */
    assert_int_equal(report_groups_top(events.failures, groups, 4), 1);
    assert_int_equal(groups[0].count, 3);
    assert_int_equal(groups[0].number, 1);
    assert_string_equal(groups[0].whom, "grep -q x");
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

static void groups_past_the_limit_are_only_counted(void **state)
{
    (void)state;
    struct report_groups *groups = report_groups_new();
    struct report_group top[2];
    char name[32];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < REPORT_GROUPS_MAX + 10; i++) {
            (void)snprintf(name, sizeof(name), "command %d", i);
            report_groups_count(groups, 1, NULL, name);
        }
    report_groups_count(groups, 1, NULL, "command 3");
    assert_int_equal(report_groups_size(groups), REPORT_GROUPS_MAX);
    assert_int_equal(report_groups_total(groups), 2 * (REPORT_GROUPS_MAX + 10) + 1);
    assert_int_equal(report_groups_top(groups, top, 2), 2);
    assert_string_equal(top[0].whom, "command 3");
    assert_int_equal(top[0].count, 3);
    assert_string_equal(top[1].whom, "command 0");
    report_groups_free(groups);
}

/* -- The page -- */

static const struct report_column columns[] = {
    {"value", "SIZE", UNIT_BYTES, "t_key", REPORT_CUT},
    {"never", "NEVER", UNIT_COUNT, NULL, REPORT_CUT},
    {"more", "A LUXURY", UNIT_NONE, NULL, REPORT_LUXURY},
    {"what", "WHAT", UNIT_NONE, NULL, REPORT_CUT},
};

static void make_page(struct report_page *page)
{
    struct report_section *section = report_section_add(page, "one", "One");
    struct report_item *item = report_add_number(section, "memory", "memory", UNIT_BYTES, 1 << 20);

    item->source = "t_peak";
    item->note = "a note";
    (void)report_add_number(section, "exit_code", "exit code", UNIT_NONE, 3);
    report_add_text(section, "hidden", "hidden", "for programs")->for_programs = true;
    (void)report_add_text(section, "absent", "absent", NULL);
    struct report_item *table = report_add_table(section, "table", NULL, columns, COUNT(columns), 2);
    table->hides_zero_rows = true;
    struct report_value *row = report_add_row(table);
    row[0] = report_number(2048);
    row[2] = report_text("luxury that needs much room on the screen");
    row[3] = report_text("an \033[31mevil\n command");
    row = report_add_row(table);
    row[0] = report_number(0);
    row[3] = report_text("nothing");
    assert_null(report_add_row(table));
    (void)report_add_table(report_section_add(page, "two", "Two"), "empty", "Empty", columns, 1, 0);
}

static void a_page_on_a_narrow_screen(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    make_page(&page);
    report_page_text(&out, &page, 40, false);
    assert_string_equal(strbuf_text(&out), "One\n"
                                           "  memory     1 MiB (t_peak; a note)\n"
                                           "  exit code  3\n"
                                           "   SIZE  WHAT\n"
                                           "  2 KiB  an \\x1b[31mevil command\n");
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void a_wide_screen_has_room_for_luxury(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    make_page(&page);
    report_page_text(&out, &page, 120, false);
    assert_non_null(strstr(strbuf_text(&out), "   SIZE  A LUXURY"));
    assert_non_null(strstr(strbuf_text(&out), "luxury that needs much room"));
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void programs_get_everything_exactly(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    make_page(&page);
    report_page_json(&out, &page);
    const char *json = strbuf_text(&out);
    assert_non_null(
        strstr(json, "\"value\": 1048576,\n      \"unit\": \"bytes\",\n      \"source\": \"t_peak\""));
    assert_non_null(strstr(json, "\"exit_code\": 3"));
    assert_non_null(strstr(json, "\"hidden\": \"for programs\""));
    assert_non_null(strstr(json, "\"what\": \"nothing\"")); /* the row of zeros too */
    assert_non_null(strstr(json, "\\u001b"));
    assert_null(strstr(json, "never"));
    assert_null(strstr(json, "absent"));
    assert_null(strstr(json, "two"));
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void lines_for_people_are_not_for_programs(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;
    struct report_section *section = report_section_add(&page, "one", "One");

    (void)report_say(section, "all", "1 and 2", "t_*");
    report_add_number(section, "first", "first", UNIT_NONE, 1)->for_programs = true;
    struct report_item *cut = report_say(section, "cut", "a line that ends where the screen ends", NULL);
    cut->one_line = true;
    /* Without a title: in the section before it, with its labels. */
    section = report_section_add(&page, "two", NULL);
    (void)report_say(section, "longer", "joined", NULL);
    report_add_remark(section, "A remark.")->for_people = true;
    section = report_section_add(&page, "three", NULL);
    (void)report_add_number(section, "third", "third", UNIT_NONE, 3);
    report_page_text(&out, &page, 30, false);
    assert_string_equal(strbuf_text(&out), "One\n"
                                           "  all     1 and 2 (t_*)\n"
                                           "  cut     a line that e…n ends\n"
                                           "  longer  joined\n"
                                           "  A remark.\n"
                                           "  third   3\n");
    strbuf_reset(&out);
    report_page_json(&out, &page);
    assert_string_equal(strbuf_text(&out), "{\n  \"one\": {\n    \"first\": 1\n  },\n"
                                           "  \"three\": {\n    \"third\": 3\n  }\n}\n");
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void a_clause_that_fits_stands_for_a_long_text(void **state)
{
    (void)state;
    static const struct report_column one[] = {{"bias", "BIAS", UNIT_NONE, NULL, REPORT_CLAUSE}};
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;
    struct report_item *table =
        report_add_table(report_section_add(&page, "one", "One"), "table", NULL, one, 1, 4);

    report_add_row(table)[0] = report_text("it is short: so");
    report_add_row(table)[0] = report_text("one process only: too low where several hold memory");
    report_add_row(table)[0] = report_text("a shared page is counted once per process: too high");
    report_add_row(table)[0] = report_text("nobody sees this row");
    table->rows_shown = 3;
    report_page_text(&out, &page, 25, false);
    assert_string_equal(strbuf_text(&out),
                        "One\n  BIAS\n  it is short: so\n  one process only\n  too high\n");
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void a_script_on_a_command_line_is_one_line(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    (void)report_say(report_section_add(&page, "one", "One"), "command",
                     "\n python3 -c 'a = 1 \n\twhile a:\\x0a    b()\\x09\\x0a'\033\n", NULL);
    report_page_text(&out, &page, 0, false);
    assert_string_equal(strbuf_text(&out), "One\n  command  python3 -c 'a = 1 while a: b() '\\x1b\n");
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void names_that_differ_in_one_place_are_one(void **state)
{
    (void)state;
    struct report_page page = {0};
    const char *const bytes[] = {"io_read_bytes_total", "io_write_bytes_total"};
    const char *const stalls[] = {"cgroup_ave_psi_cpu_some_pct", "cgroup_ave_psi_memory_some_pct",
                                  "cgroup_ave_psi_io_some_pct"};
    const char *const overlap[] = {"t_aaaa_total", "t_aa_total"};
    const char *const strangers[] = {"abc", "xyz"};

    assert_string_equal(report_names(&page, bytes, 2), "io_*_bytes_total");
    assert_string_equal(report_names(&page, bytes, 1), "io_read_bytes_total");
    assert_string_equal(report_names(&page, stalls, 3), "cgroup_ave_psi_*_some_pct");
    assert_string_equal(report_names(&page, overlap, 2), "t_aa*_total");
    assert_string_equal(report_names(&page, strangers, 2), "abc, xyz");
    assert_null(report_names(&page, NULL, 0));
    report_page_fini(&page);
}

static void the_largest_by_each_use_are_one_table(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    assert_int_equal(report_events_init(&events, &recording), 0);
    /* Eight: the later, the more CPU and the less memory; the fifth alone moved anything. */
    for (int i = 0; i < 8; i++) {
        struct recorded_event end = event("exit", 101 + i, 1000);
        end.has_use = true;
        end.cpu_seconds = i + 1;
        end.max_rss = (9 - i) << 20;
        end.write_bytes = i == 4 ? 1 << 20 : 0;
        end.command = "x";
        report_events_add(&events, &end, NULL);
    }
    report_largest_ends(report_section_add(&page, "one", "One"), &events);
    report_page_text(&out, &page, 0, false);
    assert_string_equal(strbuf_text(&out),
                        "One\n"
                        "  By the kernel's word at their end (C, M, I: first 3 by CPU, memory, I/O):\n"
                        "     CPU  PEAK RSS  READ  WRITTEN  LIVED  PID  COMMAND\n"
                        "  C  8 s     2 MiB   0 B      0 B    0 s  108  x\n"
                        "  C  7 s     3 MiB   0 B      0 B    0 s  107  x\n"
                        "  C  6 s     4 MiB   0 B      0 B    0 s  106  x\n"
                        "  I  5 s     5 MiB   0 B    1 MiB    0 s  105  x\n"
                        "  M  2 s     8 MiB   0 B      0 B    0 s  102  x\n"
                        "  M  1 s     9 MiB   0 B      0 B    0 s  101  x\n");
    strbuf_fini(&out);
    report_page_fini(&page);
    report_events_fini(&events);
}

static void an_anomaly_keeps_its_words(void **state)
{
    (void)state;
    struct recording recording = running();
    struct report_events events;
    struct recorded_event anomaly = event("monitor.anomaly", 7, 1003);
    static char endless[1000];

    memset(endless, 'd', sizeof(endless) - 1);
    anomaly.anomaly_type = "memory_spike";
    anomaly.severity = "high";
    anomaly.description = endless;
    assert_int_equal(report_events_init(&events, &recording), 0);
    report_events_add(&events, &anomaly, NULL);
    assert_int_equal(events.anomaly_count, 1);
    assert_string_equal(events.anomalies[0].type, "memory_spike");
    assert_string_equal(events.anomalies[0].severity, "high");
    assert_int_equal(strlen(events.anomalies[0].description), sizeof(events.anomalies[0].description) - 1);
    report_events_fini(&events);
}

/* -- Advice: what the page says for given fields -- */

static struct recorded_key *keys_of_page = keys;
static size_t key_count_of_page = COUNT(keys);

static char *page_of(struct recorded_field *fields, size_t count, double oom_events)
{
    struct recording recording = running();
    struct report_evidence evidence = {
        .recording = &recording, .last_elapsed = -1, .has_usage = true, .has_events = true};
    struct report_page page;
    struct strbuf out = STRBUF_INIT;

    recording.status = RECORDING_ENDED;
    recording.keys = keys_of_page;
    recording.key_count = key_count_of_page;
    recording.fields = fields;
    recording.field_count = count;
    report_measures_init(&evidence.measures, &recording);
    report_measures_end(&evidence.measures);
    evidence.processes = report_processes_new(&recording);
    assert_int_equal(report_events_init(&evidence.events, &recording), 0);
    struct recorded_event oom = event("oom", 5, 1001);
    for (int i = 0; i < (int)oom_events; i++)
        report_events_add(&evidence.events, &oom, NULL);
    report_events_end(&evidence.events);
    assert_int_equal(run_report_page(&evidence, &page), 0);
    report_page_text(&out, &page, 0, false);
    report_page_fini(&page);
    report_evidence_fini(&evidence);
    return out.data;
}

#define NUMBER(NAME, VALUE)                                                                                  \
    {                                                                                                        \
        .name = (NAME), .kind = FIELD_NUMBER, .number = (VALUE)                                              \
    }
#define TEXT(NAME, VALUE)                                                                                    \
    {                                                                                                        \
        .name = (NAME), .kind = FIELD_TEXT, .text = (VALUE)                                                  \
    }

static void a_run_killed_at_its_limit_is_told_to_begin_with_more(void **state)
{
    (void)state;
    struct recorded_field fields[] = {TEXT("cause", "killed by the OOM killer at its own limit of 64 MiB"),
                                      NUMBER("exit_code", 137), NUMBER("peak_memory", 63 << 20),
                                      NUMBER("system.may_use.memory", 64 << 20)};
    char *page = page_of(fields, COUNT(fields), 1);

    assert_non_null(strstr(page, "at a limit of 64 MiB, when at least 63 MiB was held"));
    assert_non_null(strstr(page, "begin with 128 MiB")); /* 1.5 x the limit, rounded as people request it */
    assert_null(strstr(page, "slightly larger input"));
    free(page);
}

static void idle_cores_are_told_and_short_runs_are_left_alone(void **state)
{
    (void)state;
    struct recorded_field fields[] = {NUMBER("wall", 100), NUMBER("cpu_seconds", 110),
                                      NUMBER("system.may_use.cpus", 8)};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_non_null(strstr(page, "It used 1.10 of its 8 cores on average: request 2."));
    free(page);
    fields[0].number = 0.5;
    fields[1].number = 0.55;
    page = page_of(fields, COUNT(fields), 0);
    assert_null(strstr(page, "request"));
    free(page);
    fields[0].number = 100;
    fields[1].number = 450; /* 5 of 8 */
    page = page_of(fields, COUNT(fields), 0);
    assert_null(strstr(page, "request"));
    free(page);
}

static void nothing_to_say_is_nothing_said(void **state)
{
    (void)state;
    struct recorded_field fields[] = {TEXT("cause", "exited with code 0"), NUMBER("exit_code", 0),
                                      NUMBER("wall", 3)};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_null(strstr(page, "What to do next"));
    assert_null(strstr(page, "Memory"));
    assert_null(strstr(page, "Stalls"));
    assert_non_null(strstr(page, "exited with code 0"));
    free(page);
}

static void methods_that_agree_are_a_line_and_others_a_table(void **state)
{
    (void)state;
    static struct recorded_key methods[] = {
        {"proc_cpu_seconds", "proc", "", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_COUNTER, REDUCE_DELTA, NULL},
        {"rusage_cpu_user_seconds", "rusage", "", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_COUNTER,
         REDUCE_DELTA, NULL},
        {"rusage_cpu_system_seconds", "rusage", "", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_COUNTER,
         REDUCE_DELTA, NULL},
        {"ledger_live_seconds", "ledger", "", NULL, UNIT_SECONDS, SCOPE_SINGLE, TYPE_GAUGE, REDUCE_LAST,
         NULL},
    };
    struct recorded_field fields[] = {
        NUMBER("wall", 10),
        NUMBER("proc_cpu_seconds", 8),
        NUMBER("rusage_cpu_user_seconds", 5),
        NUMBER("rusage_cpu_system_seconds", 2.95),
        NUMBER("ledger_live_seconds", 1),
        {.name = "cpu_seconds", .kind = FIELD_NUMBER, .number = 8, .source = "proc_cpu_seconds"}};
    struct recorded_key *before = keys_of_page;
    size_t count_before = key_count_of_page;

    keys_of_page = methods;
    key_count_of_page = COUNT(methods);
    char *page = page_of(fields, COUNT(fields), 0);
    assert_non_null(strstr(page, "the same by  rusage, within 0.7 %")); /* 0.05 of 8, rounded up */
    assert_null(strstr(page, "DIFFERS"));
    free(page);
    fields[2].number = 3;
    page = page_of(fields, COUNT(fields), 0);
    assert_null(strstr(page, "the same by"));
    assert_non_null(strstr(page, "     8 s           -  proc_cpu_seconds\n"
                                 "  5.95 s     -25.6 %  rusage_cpu_*_seconds\n"));
    free(page);
    keys_of_page = before;
    key_count_of_page = count_before;
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
        cmocka_unit_test(a_summary_is_taken_as_it_stands),
        cmocka_unit_test(the_largest_ends_are_kept_in_order),
        cmocka_unit_test(lives_and_failures_and_the_busiest_second_are_told),
        cmocka_unit_test(who_killed_the_command_is_told),
        cmocka_unit_test(a_program_is_the_last_part_of_the_first_word),
        cmocka_unit_test(hostile_times_and_endless_commands_do_no_harm),
        cmocka_unit_test(groups_past_the_limit_are_only_counted),
        cmocka_unit_test(a_page_on_a_narrow_screen),
        cmocka_unit_test(a_wide_screen_has_room_for_luxury),
        cmocka_unit_test(programs_get_everything_exactly),
        cmocka_unit_test(lines_for_people_are_not_for_programs),
        cmocka_unit_test(a_clause_that_fits_stands_for_a_long_text),
        cmocka_unit_test(a_script_on_a_command_line_is_one_line),
        cmocka_unit_test(names_that_differ_in_one_place_are_one),
        cmocka_unit_test(an_anomaly_keeps_its_words),
        cmocka_unit_test(the_largest_by_each_use_are_one_table),
        cmocka_unit_test(methods_that_agree_are_a_line_and_others_a_table),
        cmocka_unit_test(a_run_killed_at_its_limit_is_told_to_begin_with_more),
        cmocka_unit_test(idle_cores_are_told_and_short_runs_are_left_alone),
        cmocka_unit_test(nothing_to_say_is_nothing_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
