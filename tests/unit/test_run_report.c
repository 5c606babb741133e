/* How the page of a report is drawn, and what it advises. */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "report_fixture.h"

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
    struct report_item *item =
        report_add_number(section, "memory", "memory", UNIT_BYTES, 1 << 20, NULL, NULL);

    item->source = "t_peak";
    item->note = "a note";
    (void)report_add_number(section, "exit_code", "exit code", UNIT_NONE, 3, NULL, NULL);
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

static void devices_have_a_row_each_whatever_the_file_says(void **state)
{
    static struct recorded_key device_keys[] = {
        {"gpu_util", TOPIC_GPU, BOUND_NONE, "gpu", "", NULL, UNIT_PERCENT, SCOPE_PER_DEVICE, TYPE_GAUGE,
         REDUCE_MAX, NULL},
        {"gpu_energy", TOPIC_GPU, BOUND_NONE, "gpu", "", NULL, UNIT_JOULES, SCOPE_PER_DEVICE, TYPE_COUNTER,
         REDUCE_DELTA, NULL},
    };
    struct recorded_field fields[] = {
        {.name = "gpu_peak_util", .kind = FIELD_JSON, .text = "{\"0\":99,\"10\":12.5}"},
        {.name = "gpu_ave_util", .kind = FIELD_JSON, .text = "{\"0\":37,\"10\":\"x\"}"},
        {.name = "gpu_energy", .kind = FIELD_JSON, .text = "{\"2\":1500,\"0\":[1,{\"0\":2}]}"},
        {.name = "gpu_energy", .kind = FIELD_JSON, .text = "[1, 2"},
        {.name = "gpu_peak_util", .kind = FIELD_NUMBER, .number = 5},
    };
    struct recording recording = running();
    struct report_evidence evidence = {.recording = &recording};
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;

    (void)state;
    recording.keys = device_keys;
    recording.key_count = COUNT(device_keys);
    recording.fields = fields;
    recording.field_count = COUNT(fields);
    report_devices(&page, &evidence);
    assert_false(page.failed);
    report_page_text(&out, &page, 30, false);
    assert_string_equal(strbuf_text(&out), "GPUs (all processes of the machine)\n"
                                           "  GPU  AVE_UTIL  ENERGY\n"
                                           "  0      37.0 %       -\n"
                                           "  10          -       -\n"
                                           "  2           -  1.5 kJ\n");
    strbuf_reset(&out);
    report_page_text(&out, &page, 100, false);
    assert_non_null(strstr(strbuf_text(&out), "GPU  PEAK_UTIL  AVE_UTIL"));
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
    (void)report_add_number(section, "first", NULL, UNIT_NONE, 1, NULL, NULL);
    struct report_item *cut = report_say(section, "cut", "a line that ends where the screen ends", NULL);
    cut->one_line = true;
    /* Without a title: in the section before it, with its labels. */
    section = report_section_add(&page, "two", NULL);
    (void)report_say(section, "longer", "joined", NULL);
    report_add_remark(section, "A remark.")->for_people = true;
    section = report_section_add(&page, "three", NULL);
    (void)report_add_number(section, "third", "third", UNIT_NONE, 3, NULL, NULL);
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
    parallelism_init(&evidence.parallelism, &recording);
    assert_int_equal(parallelism_end(&evidence.parallelism, &recording), 0);
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
                                      TEXT("outcome.kind", "oom"),
                                      TEXT("outcome.oom_victim", "command"),
                                      TEXT("outcome.limit_of", "own"),
                                      NUMBER("exit_code", 137),
                                      NUMBER("peak_memory", 63 << 20),
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
    struct recorded_field fields[] = {NUMBER("wall", 100), NUMBER("cpu_seconds", 130),
                                      NUMBER("system.may_use.cpus", 8)};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_non_null(strstr(
        page, "It kept 1.30 of its 8 CPUs busy on average. With 2 it would take no longer: request 2."));
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

static void a_run_that_waited_for_a_cpu_is_not_told_to_request_fewer(void **state)
{
    (void)state;
    struct recorded_field fields[] = {NUMBER("wall", 100), NUMBER("cpu_seconds", 27),
                                      NUMBER("system.may_use.cpus", 2), NUMBER("stall.cpu.share", 0.733),
                                      TEXT("stall.cpu.of", "run")};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_non_null(strstr(page, "73.3 % of the time it waited for a CPU. The 0.27 cores that it used are a "
                                 "lower bound"));
    assert_null(strstr(page, "request 1"));
    free(page);
    fields[1].number = 190; /* for each other */
    page = page_of(fields, COUNT(fields), 0);
    assert_non_null(strstr(page, "It kept the 2 CPUs it may use busy"));
    free(page);
    fields[1].number = 27;
    fields[4].text = "machine"; /* perhaps for others, perhaps it did not */
    page = page_of(fields, COUNT(fields), 0);
    assert_non_null(
        strstr(page, "It ran on busy CPUs and may have waited for one: that it used 0.27 of its 2"));
    assert_null(strstr(page, "request 1"));
    free(page);
    fields[3].number = 0.1;
    page = page_of(fields, COUNT(fields), 0);
    assert_null(strstr(page, "waited for a CPU"));
    free(page);
}

static void a_run_that_was_cut_short_says_nothing_of_cores(void **state)
{
    (void)state;
    struct recorded_field fields[] = {NUMBER("wall", 100), NUMBER("cpu_seconds", 130),
                                      NUMBER("system.may_use.cpus", 8), NUMBER("exit_code", 137),
                                      NUMBER("signal", 9)};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_null(strstr(page, "request"));
    free(page);
    page = page_of(fields, COUNT(fields) - 1, 1); /* one of its processes was, for want of memory */
    assert_null(strstr(page, "request"));
    free(page);
    page = page_of(fields, COUNT(fields) - 1, 0); /* it failed, but it came to its own end */
    assert_non_null(strstr(page, "request 2"));
    free(page);
}

static void a_failure_is_told_where_to_look(void **state)
{
    (void)state;
    char folder[] = "/tmp/metron-report-XXXXXX", prefix[64], path[80];
    struct recorded_field fields[] = {TEXT("cause", "killed by SIGSEGV"), NUMBER("exit_code", 139),
                                      TEXT("output_paths.stderr", "then/x_stderr"), TEXT("prefix", prefix),
                                      NUMBER("signal", SIGSEGV)};

    assert_non_null(mkdtemp(folder));
    (void)snprintf(prefix, sizeof(prefix), "%s/x_", folder);
    (void)snprintf(path, sizeof(path), "%sstderr", prefix);
    assert_int_equal(file_replace(AT_FDCWD, path, "why\n", 4, 0644), 0);
    char *page = page_of(fields, COUNT(fields), 0);

    assert_non_null(strstr(page, "SIGSEGV is a fault of the program itself"));
    assert_non_null(strstr(page, "x_stderr, where its stderr was captured"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(page);
    fields[4].number = SIGTERM;
    page = page_of(fields, COUNT(fields), 0);
    assert_null(strstr(page, "fault of the program"));
    free(page);
    fields[1].number = 0;
    page = page_of(fields, 4, 0);
    assert_null(strstr(page, "captured"));
    free(page);
}

static void an_oom_kill_of_the_command_is_said_once(void **state)
{
    (void)state;
    struct recorded_field fields[] = {TEXT("cause", "killed by the OOM killer at its own limit of 64 MiB"),
                                      TEXT("outcome.kind", "oom"),
                                      TEXT("outcome.oom_victim", "command"),
                                      TEXT("outcome.limit_of", "own"),
                                      NUMBER("exit_code", 137),
                                      NUMBER("signal", SIGKILL)};
    char *page = page_of(fields, COUNT(fields), 0);

    assert_non_null(strstr(page, "64 MiB; exit code 137\n"));
    assert_null(strstr(page, "SIGKILL"));
    free(page);
}

static void a_command_is_cut_to_what_is_left_of_the_line(void **state)
{
    (void)state;
    struct report_page page = {0};
    struct strbuf out = STRBUF_INIT;
    struct report_section *section = report_section_add(&page, "one", "One");

    (void)report_say_command(section, "failed",
                             "2 of train: ", "/data/project/code/train --epochs 3 --seed 7");
    (void)report_say_command(section, "", "1 with code 1: ", NULL);
    report_page_text(&out, &page, 46, false);
    assert_string_equal(strbuf_text(&out), "One\n"
                                           "  failed  2 of train: …/train --epoch…--seed 7\n"
                                           "          1 with code 1: (command not told)\n");
    strbuf_fini(&out);
    report_page_fini(&page);
}

static void nothing_to_say_is_nothing_said(void **state)
{
    (void)state;
    struct recorded_field fields[] = {TEXT("cause", "exited with code 0"), TEXT("outcome.kind", "exited"),
                                      NUMBER("exit_code", 0), NUMBER("wall", 3)};
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
        {"proc_cpu_seconds", TOPIC_CPU, BOUND_NONE, "proc", "", NULL, UNIT_SECONDS, SCOPE_SINGLE,
         TYPE_COUNTER, REDUCE_DELTA, NULL},
        {"rusage_cpu_user_seconds", TOPIC_CPU_USER, BOUND_NONE, "rusage", "", NULL, UNIT_SECONDS,
         SCOPE_SINGLE, TYPE_COUNTER, REDUCE_DELTA, NULL},
        {"rusage_cpu_system_seconds", TOPIC_CPU_SYSTEM, BOUND_NONE, "rusage", "", NULL, UNIT_SECONDS,
         SCOPE_SINGLE, TYPE_COUNTER, REDUCE_DELTA, NULL},
        {"ledger_live_seconds", TOPIC_CPU_PART, BOUND_NONE, "ledger", "", NULL, UNIT_SECONDS, SCOPE_SINGLE,
         TYPE_GAUGE, REDUCE_LAST, NULL},
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
        cmocka_unit_test(a_page_on_a_narrow_screen),
        cmocka_unit_test(a_wide_screen_has_room_for_luxury),
        cmocka_unit_test(programs_get_everything_exactly),
        cmocka_unit_test(devices_have_a_row_each_whatever_the_file_says),
        cmocka_unit_test(lines_for_people_are_not_for_programs),
        cmocka_unit_test(a_clause_that_fits_stands_for_a_long_text),
        cmocka_unit_test(a_script_on_a_command_line_is_one_line),
        cmocka_unit_test(names_that_differ_in_one_place_are_one),
        cmocka_unit_test(an_anomaly_keeps_its_words),
        cmocka_unit_test(the_largest_by_each_use_are_one_table),
        cmocka_unit_test(methods_that_agree_are_a_line_and_others_a_table),
        cmocka_unit_test(a_run_killed_at_its_limit_is_told_to_begin_with_more),
        cmocka_unit_test(idle_cores_are_told_and_short_runs_are_left_alone),
        cmocka_unit_test(a_run_that_waited_for_a_cpu_is_not_told_to_request_fewer),
        cmocka_unit_test(a_run_that_was_cut_short_says_nothing_of_cores),
        cmocka_unit_test(a_failure_is_told_where_to_look),
        cmocka_unit_test(an_oom_kill_of_the_command_is_said_once),
        cmocka_unit_test(a_command_is_cut_to_what_is_left_of_the_line),
        cmocka_unit_test(nothing_to_say_is_nothing_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
