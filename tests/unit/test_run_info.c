/* info.json: from the start of a run, and when it has ended. */
#include "schema/run_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const fields[] = {"the field", "another"};
static const struct measurement table[] = {
    {.key = "t_rss", .type = TYPE_GAUGE, .unit = UNIT_BYTES, .reduce = REDUCE_MAX, .meaning = "memory"},
    {.key = "t_unselected", .field = 1, .type = TYPE_GAUGE, .reduce = REDUCE_MAX, .meaning = "not asked for"},
    {.key = "t_cpu",
     .type = TYPE_COUNTER,
     .unit = UNIT_PERCENT,
     .derive = DERIVE_RATE,
     .reduce = REDUCE_MAX,
     .meaning = "a rate"},
};
static const struct source source = {.name = "t",
                                     .title = "made up",
                                     .fields = fields,
                                     .field_count = 2,
                                     .measurements = table,
                                     .measurement_count = 3};
static const struct source *const sources[] = {&source};
static const char *const arguments[] = {"sh", "-c", "a \"b\"", NULL};

static struct registry registry;
static struct strbuf text = STRBUF_INIT;

static int setup(void **state)
{
    (void)state;
    if (registry_init(&registry, sources, 1, NULL) < 0)
        return -1;
    return registry_select(&registry, "t_rss,t_cpu", NULL, NULL);
}

static int teardown(void **state)
{
    (void)state;
    registry_fini(&registry);
    strbuf_fini(&text);
    return 0;
}

static struct run_info bare(void)
{
    return (struct run_info){
        .metron_version = "9.9",
        .metron_pid = 17,
        .uid = 1000,
        .cpu_total = 4,
        .cpu_usable = 2,
        .may_use = {.cpus = 1.5},
        .sample_interval = 1,
        .report_interval = 60,
        .report_interval_auto = true,
        .registry = &registry,
        .start_wall = {1763192573, 0},
    };
}

static const char *json_of(const struct run_info *info)
{
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    run_info_json(&json, info);
    return strbuf_text(&text);
}

static void holds(const struct run_info *info, const char *part)
{
    if (!strstr(json_of(info), part))
        fail_msg("%s\ndoes not hold\n%s", strbuf_text(&text), part);
}

static void lacks(const struct run_info *info, const char *part)
{
    if (strstr(json_of(info), part))
        fail_msg("%s\nholds\n%s", strbuf_text(&text), part);
}

static void what_is_unknown_is_absent(void **state)
{
    (void)state;
    struct run_info info = bare();

    assert_string_equal(
        json_of(&info),
        "{\"schema_version\":\"1.1\",\"metron_version\":\"9.9\",\"status\":\"running\","
        "\"recorder\":{\"pid\":17},\"arguments\":[],\"start_time\":\"2025-11-15T07:42:53.000000+00:00\","
        "\"system\":{\"uid\":1000,\"cpu_total\":4,\"cpu_usable\":2,"
        "\"may_use\":{\"cpus\":1.5,\"ancestors_hidden\":false}},\"env\":{},\"output_paths\":{},"
        "\"provenance\":{\"sample_interval\":1,\"report_interval\":60,"
        "\"sample_interval_auto\":false,\"report_interval_auto\":true,"
        "\"collectors\":{},\"measurements\":{"
        "\"t_rss\":{\"source\":\"t\",\"field\":\"the "
        "field\",\"topic\":\"other\",\"unit\":\"bytes\",\"bound\":\"exact\",\"scope\":\"single\","
        "\"type\":\"gauge\",\"reduce\":\"max\"},"
        "\"t_cpu\":{\"source\":\"t\",\"field\":\"the "
        "field\",\"topic\":\"other\",\"unit\":\"percent\",\"bound\":\"exact\",\"scope\":\"single\","
        "\"type\":\"counter\",\"reduce\":\"max\"}}}}");
}

static void a_running_run_tells_who_records_it(void **state)
{
    (void)state;
    struct run_info info = bare();

    info.metron_start_ticks = 12345;
    info.boot_id = "b-o-o-t";
    holds(&info,
          "\"status\":\"running\",\"recorder\":{\"pid\":17,\"start_ticks\":12345,\"boot_id\":\"b-o-o-t\"}");
    lacks(&info, "execution_summary");
    lacks(&info, "headline");
    lacks(&info, "survivors");
}

static void what_was_asked_for_is_told(void **state)
{
    (void)state;
    struct run_info info = bare();

    info.command = "sh -c 'a \"b\"'";
    info.arguments = arguments;
    info.working_directory = "/home/me";
    info.message = "hello";
    info.job = "align";
    info.config_hash = "c0ffee";
    info.has_sheet = true; /* sheet 0 is a sheet */
    holds(&info, "\"command\":\"sh -c 'a \\\"b\\\"'\",\"arguments\":[\"sh\",\"-c\",\"a \\\"b\\\"\"],"
                 "\"working_directory\":\"/home/me\",\"message\":\"hello\",\"job\":\"align\",\"sheet\":0,"
                 "\"config_hash\":\"c0ffee\",");
}

static void the_machine_and_the_files_are_told(void **state)
{
    (void)state;
    static const struct run_variable environment[] = {{"SLURM_JOB_ID", "7"}, {"SLURM_TOKEN", "***"}};
    struct run_info info = bare();

    info.hostname = "node1";
    info.user = "me";
    info.kernel = "6.1";
    info.memory_total_bytes = UINT64_C(1) << 40;
    info.may_use = (struct run_allowance){.cpus = 1.5,
                                          .cpus_by = "quota of /a",
                                          .memory_bytes = 1 << 20,
                                          .memory_by = "limit of /b",
                                          .ancestors_hidden = true};
    info.environment = environment;
    info.environment_count = 2;
    info.prefix = "logs/x_";
    info.stdout_path = "logs/x_stdout";
    info.info_path = "logs/x_info.json";
    holds(
        &info,
        "\"system\":{\"hostname\":\"node1\",\"uid\":1000,\"user\":\"me\",\"kernel\":\"6.1\",\"cpu_total\":4,"
        "\"cpu_usable\":2,\"memory_total\":1099511627776,\"may_use\":{\"cpus\":1.5,\"cpus_by\":\"quota of "
        "/a\","
        "\"memory\":1048576,\"memory_by\":\"limit of /b\",\"ancestors_hidden\":true}},"
        "\"env\":{\"SLURM_JOB_ID\":\"7\",\"SLURM_TOKEN\":\"***\"},"
        "\"output_paths\":{\"prefix\":\"logs/x_\",\"stdout\":\"logs/x_stdout\",\"info\":\"logs/"
        "x_info.json\"}");
}

static void how_the_numbers_were_got_is_told(void **state)
{
    (void)state;
    static const struct run_collector collectors[] = {{.name = "t"}, {.name = "gpu", .reason = "no driver"}};
    struct run_info info = bare();

    info.mode = "new-session";
    info.wait = "root";
    info.tier = "plain";
    info.tier_reason = "none higher";
    info.cgroup_scope = "inherited";
    info.cgroup_reason = "read-only";
    info.processes_seen_by = "listings";
    info.processes_seen_reason = "not permitted";
    info.ended = info.spawned_is_exact = info.cpu_is_conserved = true;
    info.events_lost = 3;
    info.collectors = collectors;
    info.collector_count = 2;
    holds(&info,
          "\"mode\":\"new-session\",\"wait\":\"root\",\"tier\":\"plain\",\"tier_reason\":\"none higher\","
          "\"cgroup_scope\":\"inherited\",\"cgroup_reason\":\"read-only\","
          "\"processes_seen_by\":\"listings\",\"processes_seen_reason\":\"not permitted\","
          "\"cpu_is_conserved\":true,\"spawned_is_exact\":true,\"events_lost\":3,"
          "\"collectors\":{\"t\":{\"available\":true},"
          "\"gpu\":{\"available\":false,\"reason\":\"no driver\"}}");
}

static void what_of_a_source_cannot_be_measured_is_told_with_the_reason(void **state)
{
    (void)state;
    static const struct run_collector collectors[] = {{.name = "t"}};
    static const char *const second[] = {NULL, "from Linux 9.9"}, *const both[] = {"no file", "no file"};
    static const char *const none[2];
    static const struct run_collector away[] = {{.name = "t", .reason = "no file"}};
    struct run_info info = bare();

    info.collectors = collectors;
    info.collector_count = 1;
    lacks(&info, "absent");
    registry_set_reasons(&registry, 0, second);
    holds(&info, "\"t\":{\"available\":true,\"absent\":{\"t_unselected\":\"from Linux 9.9\"}}");
    registry_set_reasons(&registry, 0, both);
    info.collectors = away; /* said once for all of it */
    holds(&info, "\"t\":{\"available\":false,\"reason\":\"no file\"}");
    registry_set_reasons(&registry, 0, none);
}

static void passes_that_failed_are_counted_with_the_last_reason(void **state)
{
    (void)state;
    static const struct run_collector collectors[] = {
        {.name = "t", .failures = 12, .failure = "Input/output error"}};
    struct run_info info = bare();

    info.collectors = collectors;
    info.collector_count = 1;
    holds(&info, "\"t\":{\"available\":true,\"failed_passes\":12,\"failure\":\"Input/output error\"}");
}

static void only_selected_keys_are_in_the_provenance(void **state)
{
    (void)state;
    struct run_info info = bare();

    holds(&info, "\"t_rss\":{");
    lacks(&info, "t_unselected");
}

static struct run_info ended(void)
{
    struct run_info info = bare();

    info.ended = true;
    info.command = "false";
    info.prefix = "p_";
    info.working_directory = "/";
    info.end_wall = (struct timespec){1763192574, 500000000};
    info.wall_seconds = 1.5;
    info.outcome.exit_code = 1;
    info.num_samples = 2;
    info.num_reports = 1;
    return info;
}

static void an_ended_run_has_its_summary(void **state)
{
    (void)state;
    struct run_info info = ended();

    info.cause = "exited";
    holds(&info, "\"status\":\"ended\"");
    holds(&info, "\"execution_summary\":{\"exit_code\":1,\"cause\":\"exited\",\"command\":\"false\","
                 "\"logs_prefix\":\"p_\",\"wall_clock_time\":1.5,"
                 "\"start_time\":\"2025-11-15T07:42:53.000000+00:00\","
                 "\"end_time\":\"2025-11-15T07:42:54.500000+00:00\",\"num_samples\":2,\"num_reports\":1,"
                 "\"working_directory\":\"/\"},\"headline\":{},\"peak_memory\":[],\"stall\":{}}");
}

static void a_signal_is_there_only_when_there_was_one(void **state)
{
    (void)state;
    struct run_info info = ended();

    lacks(&info, "\"signal\"");
    info.outcome.exit_code = 137;
    info.outcome.signal = 9;
    holds(&info, "\"exit_code\":137,\"signal\":9,");
}

static void summarised_measurements_stand_flat_and_at_the_edge(void **state)
{
    (void)state;
    struct record_value peak = {.number = 4096}, rate = {.number = 1.5};
    struct record_entry entries[] = {
        {.key = "t_peak_rss", .measurement = &table[0], .values = &peak, .count = 1},
        {.key = "t_peak_cpu", .measurement = &table[2], .values = &rate, .count = 1},
    };
    const struct record summary = {.entries = entries, .count = 2};
    struct run_info info = ended();

    info.summary = &summary;
    holds(&info, "\"working_directory\":\"/\",\"t_peak_rss\":4096,\"t_peak_cpu\":150},");
}

static void a_headline_names_its_source(void **state)
{
    (void)state;
    struct run_info info = ended();

    info.headline.cpu_seconds =
        (struct headline_answer){.has = true, .value = 6.31, .source = "proc_cpu_seconds"};
    info.headline.processes = (struct headline_answer){
        .has = true, .value = 3, .source = "proc_spawned", .note = {BOUND_LOWER, "made up"}};
    holds(
        &info,
        "\"headline\":{\"cpu_seconds\":{\"value\":6.31,\"source\":\"proc_cpu_seconds\",\"bound\":\"exact\"},"
        "\"processes\":{\"value\":3,\"source\":\"proc_spawned\",\"bound\":\"lower\",\"note\":\"made up\"}}");
    lacks(&info, "peak_memory_bytes");
}

static void the_upper_bound_of_memory_stands_in_its_peak(void **state)
{
    (void)state;
    struct run_info info = ended();

    info.headline.memory_upper_bound = (struct headline_answer){
        .has = true, .value = 9, .source = "cgroup_mem_peak", .note = note_page_cache};
    lacks(&info, "upper_bound"); /* of nothing */
    info.headline.peak_memory_bytes = (struct headline_answer){
        .has = true, .value = 5, .source = "smaps_peak_pss_total", .note = {BOUND_NONE, "made up"}};
    holds(&info, "\"headline\":{\"peak_memory_bytes\":{\"value\":5,\"source\":\"smaps_peak_pss_total\","
                 "\"bound\":\"exact\",\"note\":\"made "
                 "up\",\"upper_bound\":{\"value\":9,\"source\":\"cgroup_mem_peak\","
                 "\"bound\":\"upper\"}}}");
    info.headline.memory_upper_bound.has = false;
    lacks(&info, "upper_bound");
}

static void every_method_of_the_peak_is_told_with_its_bias(void **state)
{
    (void)state;
    struct run_info info = ended();

    info.headline.memory_methods[0] = (struct headline_method){
        .source = "t_a", .value = 7, .bound = BOUND_UPPER, .method = "read", .bias = "too high"};
    info.headline.memory_methods[1] =
        (struct headline_method){.source = "t_b", .value = 6, .method = "guessed", .bias = "too low"};
    info.headline.memory_method_count = 2;
    holds(
        &info,
        "\"peak_memory\":["
        "{\"source\":\"t_a\",\"value\":7,\"bound\":\"upper\",\"method\":\"read\",\"bias\":\"too high\"},"
        "{\"source\":\"t_b\",\"value\":6,\"bound\":\"exact\",\"method\":\"guessed\",\"bias\":\"too low\"}]");
}

static void stalls_are_shares_of_the_wall_time_by_what_was_waited_for(void **state)
{
    (void)state;
    struct run_info info = ended();

    info.headline.stalls[STALL_CPU] =
        (struct headline_answer){.has = true, .value = 0.25, .source = "cgroup_ave_psi_cpu_some_pct"};
    info.headline.stalls[STALL_IO] = (struct headline_answer){.has = true,
                                                              .value = 0,
                                                              .source = "psi_ave_io_some_pct",
                                                              .note = {BOUND_NONE, "made up"},
                                                              .of = "machine"};
    holds(&info,
          "\"stall\":{\"cpu\":{\"share\":0.25,\"source\":\"cgroup_ave_psi_cpu_some_pct\"},"
          "\"io\":{\"share\":0,\"source\":\"psi_ave_io_some_pct\",\"of\":\"machine\",\"note\":\"made up\"}}");
    assert_string_equal(stall_name(STALL_MEMORY), "memory");
}

static void who_outlived_the_command_is_counted_and_named(void **state)
{
    (void)state;
    static const struct run_survivor survivors[] = {
        {44, "sleep 9", false}, {45, NULL, true}, {46, "sh a…", true}};
    struct run_info info = ended();

    info.survivors = survivors;
    info.survivor_count = 3;
    info.survivors_in_all = 12;
    holds(&info,
          "\"survivors\":{\"count\":12,\"processes\":[{\"pid\":44,\"command\":\"sleep 9\"},{\"pid\":45},"
          "{\"pid\":46,\"command\":\"sh a…\",\"command_truncated\":true}]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_unknown_is_absent),
        cmocka_unit_test(a_running_run_tells_who_records_it),
        cmocka_unit_test(what_was_asked_for_is_told),
        cmocka_unit_test(the_machine_and_the_files_are_told),
        cmocka_unit_test(how_the_numbers_were_got_is_told),
        cmocka_unit_test(what_of_a_source_cannot_be_measured_is_told_with_the_reason),
        cmocka_unit_test(passes_that_failed_are_counted_with_the_last_reason),
        cmocka_unit_test(only_selected_keys_are_in_the_provenance),
        cmocka_unit_test(an_ended_run_has_its_summary),
        cmocka_unit_test(a_signal_is_there_only_when_there_was_one),
        cmocka_unit_test(summarised_measurements_stand_flat_and_at_the_edge),
        cmocka_unit_test(a_headline_names_its_source),
        cmocka_unit_test(the_upper_bound_of_memory_stands_in_its_peak),
        cmocka_unit_test(every_method_of_the_peak_is_told_with_its_bias),
        cmocka_unit_test(stalls_are_shares_of_the_wall_time_by_what_was_waited_for),
        cmocka_unit_test(who_outlived_the_command_is_counted_and_named),
    };

    (void)setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
