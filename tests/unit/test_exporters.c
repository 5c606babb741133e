/* Other tools' formats, from small recordings made by hand: what is written of what is there, and what of
 * what is not. The tools themselves are asked in tests/e2e/test_export.py. */
#include "publish/exporter.h"

#include <stdio.h>

#include "base/json_reader.h"
#include "export_fixture.h"
#include "publish/export_prometheus.h"
#include "publish/export_values.h"

static void number_is_read_back_the_same(void **state)
{
    static const double numbers[] = {
        0, 1, -3, 0.1, 1.0 / 3, 1794766916.5025163, 1e300, 5e-324, 9007199254740993.0, 20097496.78};
    struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT(numbers); i++) {
        strbuf_reset(&out);
        assert_true(export_number(&out, numbers[i]));
        assert_true(strtod(strbuf_text(&out), NULL) == numbers[i]);
    }
    assert_string_equal(strbuf_text(&out), "20097496.78");
    strbuf_reset(&out);
    assert_false(export_number(&out, NAN));
    assert_false(export_number(&out, INFINITY));
    assert_string_equal(strbuf_text(&out), "");
    strbuf_fini(&out);
}

static void timestamp_is_rounded_to_microseconds(void **state)
{
    struct strbuf out = STRBUF_INIT;

    (void)state;
    export_timestamp(&out, 1794766916.9999999);
    assert_string_equal(strbuf_text(&out), "2026-11-15T18:21:57.000000+00:00");
    strbuf_reset(&out);
    export_timestamp(&out, 0.25);
    assert_string_equal(strbuf_text(&out), "1970-01-01T00:00:00.250000+00:00");
    strbuf_reset(&out);
    export_timestamp(&out, INFINITY);
    export_timestamp(&out, 0); /* not told */
    assert_string_equal(strbuf_text(&out), "");
    strbuf_fini(&out);
}

static void csv_has_a_row_per_record_and_an_empty_cell_for_what_is_absent(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));

    (void)state;
    assert_string_equal(exported("csv", &ended),
                        "elapsed,timestamp,num_samples,proc_rss_total,proc_cpu_seconds,cgroup_scope,"
                        "syscall_counts_total,proc_hwm_max,psi_cpu_some_pct\n"
                        "2,1970-01-01T00:16:42.000000+00:00,2,200000,1.5,\"own, or \"\"inherited\"\"\","
                        "\"{\"\"a\"\":1}\",125000.0625,\n"
                        "4,1970-01-01T00:16:44.250000+00:00,2,130000,1,,,,\n");
}

static void csv_holds_what_is_read_less_often_and_says_how_old_it_is(void **state)
{
    struct recorded_key pss[] = {
        {.key = "smaps_pss_total", .source = "smaps", .field = "Pss", .unit = UNIT_BYTES},
        {.key = "smaps_skipped",
         .source = "smaps",
         .field = "",
         .type = TYPE_COUNTER,
         .reduce = REDUCE_DELTA},
        {.key = "smaps_uss_total", .source = "smaps", .field = "Private", .unit = UNIT_BYTES}};
    struct recorded_field fields[] = {NUMBER("provenance.collectors.smaps.interval", 5)};
    struct recording ended = recording(RECORDING_ENDED, fields, COUNT(fields));
    static const double ends[] = {0.5, 1, 5, 15, 15.5}; /* at 0.5 and 5 it was read */

    (void)state;
    ended.keys = pss;
    ended.key_count = COUNT(pss);
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("csv"), &ended, NULL, NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct usage_value values[] = {number(0, NULL, 10 + (double)i), number(1, NULL, 0),
                                       number(2, NULL, 7)};
        const struct usage_record record = {.elapsed = ends[i],
                                            .num_samples = 1,
                                            .values = values,
                                            .count = i % 2 == 0 && i < 4 ? COUNT(values) : 0};
        assert_int_equal(export_record(&done, &record), 0);
    }
    assert_string_equal(
        strbuf_text(&done.out),
        "elapsed,timestamp,num_samples,smaps_pss_total,smaps_skipped,smaps_uss_total,smaps_age\n"
        "0.5,,1,10,0,7,0\n"
        "1,,1,10,,7,0.5\n"
        "5,,1,12,0,7,0\n"
        "15,,1,12,,7,10\n"
        "15.5,,1,,,,\n"); /* longer than twice the interval ago */
}

static void nextflow_row_is_in_bytes_milliseconds_and_percent(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));

    (void)state;
    assert_string_equal(strchr(exported("nextflow", &ended), '\n') + 1,
                        "align\t0\t1000000\t1004000\t4000\t87.5\t20\t200000\t-\t250000\t-\t-\t-\t-\t-\t-\t-"
                        "\t-\t-\tnode17\t-\n");
}

static void snakemake_row_is_in_mebibytes(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct recorded_field reaped[] = {NUMBER("wall", 1), NUMBER("rusage_max_rss", 3 << 20)};
    struct recording only_reaped = recording(RECORDING_ENDED, reaped, COUNT(reaped));
    struct recorded_field days[] = {NUMBER("wall", 2 * 86400 + 3723.9)};
    struct recording only_wall = recording(RECORDING_ENDED, days, COUNT(days));

    (void)state;
    assert_string_equal(strchr(exported("snakemake", &ended), '\n') + 1,
                        "4.00\t0:00:04\t0.24\tNA\tNA\tNA\tNA\tNA\t87.50\t3.50\n");
    /* too short for a sample: what the kernel kept */
    assert_string_equal(strchr(exported("snakemake", &only_reaped), '\n') + 1,
                        "1.00\t0:00:01\t3.00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n");
    assert_string_equal(strchr(exported("snakemake", &only_wall), '\n') + 1,
                        "176523.90\t2 days, 1:02:03\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n");
}

static void run_without_a_summary_is_reduced_from_its_records(void **state)
{
    struct recording lost = recording(RECORDING_LOST, NULL, 0);

    (void)state;
    /* 1.5 + 1 s in 4 s; the largest sum of resident memory. */
    assert_string_equal(strchr(exported("snakemake", &lost), '\n') + 1,
                        "4.00\t0:00:04\t0.19\tNA\tNA\tNA\tNA\tNA\t62.50\t2.50\n");
    assert_non_null(strstr(exported("prometheus", &lost), "metron_proc_cpu_seconds_total{source="));
}

static void empty_recording_has_no_numbers(void **state)
{
    struct recording empty = recording(RECORDING_ENDED, NULL, 0);

    (void)state;
    empty.key_count = 0;
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("nextflow"), &empty, NULL, NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    assert_int_equal(export_end(&done), 0);
    assert_string_equal(strchr(strbuf_text(&done.out), '\n') + 1,
                        "-\t-\t1000000\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\t-\n");
}

static void prometheus_names_have_a_base_unit_and_only_counters_a_total(void **state)
{
    static const char *const expected[] = {[RSS_TOTAL] = "metron_proc_rss_bytes",
                                           [CPU] = "metron_proc_cpu_seconds_total",
                                           [CALLS] = "metron_syscall_counts_total",
                                           [HWM] = "metron_proc_hwm_max_bytes",
                                           [PERCENT] = "metron_psi_cpu_some_ratio"};
    struct recording ended = recording(RECORDING_ENDED, NULL, 0);
    struct recorded_key odd = {.key = "a b-\"c", .unit = UNIT_COUNT};
    struct strbuf name = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT(expected); i++) {
        if (!expected[i])
            continue;
        strbuf_reset(&name);
        prometheus_name(&name, &ended, &keys[i]);
        assert_string_equal(strbuf_text(&name), expected[i]);
    }
    strbuf_reset(&name);
    prometheus_name(&name, &ended, &odd);
    assert_string_equal(strbuf_text(&name), "metron_a_b__c");
    strbuf_fini(&name);
}

static void prometheus_samples_tell_their_source_and_escape_their_labels(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const char *out = exported("prometheus", &ended);

    (void)state;
#define COMMON "run=\"r1_\",metron_job=\"align\",host=\"node17\",command=\"say \\\"hi\\\"\\n\\\\\","
    assert_non_null(
        strstr(out, "metron_run_cpu_seconds_total{" COMMON "source=\"cgroup_cpu_seconds\"} 3.5\n"));
    assert_non_null(strstr(out, "metron_run_memory_bytes{" COMMON "memtype=\"resident\",statistic=\"peak\","
                                "source=\"proc_peak_rss_total\"} 200000\n"));
    assert_non_null(strstr(out, "metron_psi_cpu_some_ratio{" COMMON "statistic=\"peak\","
                                "source=\"psi_cpu_some_pct\"} 0.5\n"));
    assert_non_null(strstr(out, "metron_syscall_counts_total{" COMMON "source=\"syscall_counts_total\","
                                "name=\"write\"} 3\n"));
    /* R was seen 3 times in 4 samples, D and S once. */
    assert_non_null(strstr(out, "state=\"Running\",statistic=\"average\",source=\"proc_stat\"} 0.75\n"));
    assert_non_null(strstr(out, "state=\"Waiting\",statistic=\"average\",source=\"proc_stat\"} 0.25\n"));
    assert_null(strstr(out, "read_bytes"));
    assert_null(strstr(out, "num_procs"));
}

static void prometheus_run_is_named_by_its_prefix(void **state)
{
    static const struct {
        const char *prefix, *recorded, *label;
    } cases[] = {
        {"logs/2026-812_", NULL, "{run=\"2026-812_\","},
        {"/logs/align//", NULL, "{run=\"align\","},
        {"./", "logs/x_", "{run=\"x_\","},
        {"", "../", "{run=\"2026-11-15\","},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct recorded_field fields[] = {TEXT("start_time", "2026-11-15"), NUMBER("exit_code", 0),
                                          TEXT("output_paths.prefix", cases[i].recorded),
                                          TEXT("prefix", cases[i].prefix)};
        struct recording ended = recording(RECORDING_ENDED, fields, COUNT(fields));
        assert_non_null(strstr(exported("prometheus", &ended), cases[i].label));
    }
}

static void perfetto_levels_stand_from_the_window_and_fall_when_a_process_is_gone(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const char *out = exported("perfetto", &ended);

    (void)state;
    assert_non_null(strstr(out, "{\"ph\":\"C\",\"pid\":4194305,\"tid\":4194305,\"ts\":2000000,"
                                "\"name\":\"proc_rss_total\",\"args\":{\"bytes\":130000}}"));
    assert_non_null(strstr(out, "\"ts\":4000000,\"name\":\"proc_cpu_seconds\",\"args\":{\"seconds\":2.5}}"));
    assert_non_null(strstr(out, "{\"ph\":\"C\",\"pid\":8,\"tid\":8,\"ts\":2000000,\"name\":\"proc_rss\","
                                "\"args\":{\"bytes\":0}}"));
    assert_null(
        strstr(out, "\"pid\":7,\"tid\":7,\"ts\":2000000,\"name\":\"proc_rss\",\"args\":{\"bytes\":0}"));
    /* No events: lifetimes as they were seen; 8 was a second old at the end of its only window. */
    assert_non_null(
        strstr(out, "{\"ph\":\"X\",\"pid\":7,\"tid\":7,\"ts\":0,\"dur\":4000000,\"name\":\"sh\""));
    assert_non_null(
        strstr(out, "{\"ph\":\"X\",\"pid\":8,\"tid\":8,\"ts\":1000000,\"dur\":1000000,\"name\":\"process\""));
}

/* The name of a process is whole; that of its slices is cut, and says so. */
static void perfetto_marks_a_name_that_is_cut(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const ptrdiff_t key = recording_key_index(&ended, "proc_cmd");
    const struct recorded_event spawn = {.wall = 1000.5, .type = "spawn", .pid = 99, .sender_pid = -1};
    char command[400] = "cc1 ";
    char name[420];

    (void)state;
    assert_true(key >= 0);
    memset(command + 4, 'x', sizeof(command) - 5);
    struct usage_value value = {.key = (uint32_t)key, .kind = FIELD_TEXT, .subject = "99", .text = command};
    const struct usage_record record = {.elapsed = 1, .wall = 1001, .values = &value, .count = 1};
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("perfetto"), &ended, NULL, NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    assert_int_equal(export_record(&done, &record), 0);
    assert_int_equal(export_event(&done, &spawn), 0);
    assert_int_equal(export_end(&done), 0);
    (void)snprintf(name, sizeof(name), "\"args\":{\"name\":\"%.380s", command);
    assert_non_null(strstr(strbuf_text(&done.out), name));
    assert_non_null(strstr(strbuf_text(&done.out), "xxx…\""));
}

static void perfetto_slice_follows_the_events(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const struct recorded_event spawn = {
        .wall = 1000.5, .type = "spawn", .pid = 7, .ppid = 3, .sender_pid = -1, .seen = "event"};
    const struct recorded_event kill = {.wall = 1001,
                                        .type = "kill",
                                        .pid = 7,
                                        .has_signal = true,
                                        .signal_num = 9,
                                        .sender_pid = 0,
                                        .sender_name = "kernel"};
    const struct recorded_event end = {
        .wall = 1001, .type = "exit", .pid = 7, .has_exit_code = true, .exit_code = 3, .sender_pid = -1};

    (void)state;
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("perfetto"), &ended, NULL, NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    feed(&done);
    assert_int_equal(export_event(&done, &spawn), 0);
    assert_int_equal(export_event(&done, &kill), 0);
    assert_int_equal(export_event(&done, &end), 0);
    assert_int_equal(export_end(&done), 0);
    const char *out = strbuf_text(&done.out);
    assert_non_null(strstr(out, "{\"ph\":\"B\",\"pid\":7,\"tid\":7,\"ts\":500000,\"name\":\"sh\","
                                "\"args\":{\"ppid\":3,\"seen\":\"event\"}}"));
    assert_non_null(strstr(out, "\"ts\":1000000,\"s\":\"p\",\"name\":\"killed by SIGKILL\",\"args\":"
                                "{\"signal_num\":9,\"sender_pid\":0,\"sender\":\"kernel\"}}"));
    assert_non_null(
        strstr(out, "{\"ph\":\"E\",\"pid\":7,\"tid\":7,\"ts\":1000000,\"args\":{\"exit_code\":3}}"));
    assert_null(strstr(out, "{\"ph\":\"X\",\"pid\":7,"));
}

static void perfetto_event_without_a_pid_is_none_of_a_process(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const struct recorded_event spawn = {.wall = 1000.5, .type = "spawn", .command = "x", .sender_pid = -1};
    const struct recorded_event end = {.wall = 1001, .type = "exit", .sender_pid = -1};

    (void)state;
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("perfetto"), &ended, NULL, NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    assert_int_equal(export_event(&done, &spawn), 0);
    assert_int_equal(export_event(&done, &end), 0);
    const char *out = strbuf_text(&done.out);
    assert_null(strstr(out, "\"pid\":0,"));
    assert_null(strstr(out, "\"ph\":\"B\""));
    assert_non_null(strstr(out, "{\"ph\":\"i\",\"pid\":4194305,\"tid\":4194305,\"ts\":500000,\"s\":\"g\","
                                "\"name\":\"spawn\"}"));
}

/* A damaged recording: seconds that are a number, and no number any more as microseconds. */
static void perfetto_leaves_out_what_is_past_all_numbers(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct usage_value values[] = {number(RSS, "7", 1), text(CMD, "7", "sh")};
    const double elapsed[] = {2, 1e305, 1e300, 1e308, -1e308};
    const struct recorded_event late = {.wall = 1e305, .type = "signal", .pid = 7, .sender_pid = -1};

    (void)state;
    for (size_t i = 0; i < COUNT(elapsed); i++) {
        struct usage_record one = {.elapsed = 1, .values = values, .count = COUNT(values)};
        struct usage_record two = {.elapsed = elapsed[i], .values = values, .count = COUNT(values)};
        struct json_reader reader;

        export_fini(&done);
        assert_int_equal(export_init(&done, exporter_find("perfetto"), &ended, NULL, NULL), 0);
        assert_int_equal(export_begin(&done, NULL), 0);
        assert_int_equal(export_record(&done, &one), 0);
        assert_int_equal(export_record(&done, &two), 0);
        assert_int_equal(export_event(&done, &late), 0);
        assert_int_equal(export_end(&done), 0);
        json_reader_init(&reader, strbuf_text(&done.out), done.out.length);
        assert_true(json_skip(&reader));
        assert_int_equal(json_reader_end(&reader, NULL), 0);
        json_reader_fini(&reader);
        assert_null(strstr(strbuf_text(&done.out), "\"name\":\"signal\"")); /* not at another time */
    }
}

/* CSI as one character, and a mark that turns the direction of text. */
static void a_table_or_a_label_has_nothing_that_a_terminal_acts_on(void **state)
{
    struct recorded_field fields[] = {TEXT("system.hostname", "a\xc2\x9b"
                                                              "31m\xe2\x80\xae"),
                                      TEXT("prefix", "logs/r1_"), NUMBER("wall", 1)};
    struct recording ended = recording(RECORDING_ENDED, fields, COUNT(fields));
    static const char *const formats[] = {"nextflow", "prometheus"};

    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *out = exported(formats[i], &ended);
        assert_non_null(strstr(out, "xc2"));
        assert_null(strstr(out, "\xc2\x9b"));
        assert_null(strstr(out, "\xe2\x80\xae"));
    }
}

static void only_known_formats_are_found(void **state)
{
    (void)state;
    assert_ptr_equal(exporter_find("csv"), &exporter_csv);
    assert_null(exporter_find("xml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_is_read_back_the_same),
        cmocka_unit_test(timestamp_is_rounded_to_microseconds),
        cmocka_unit_test_teardown(csv_has_a_row_per_record_and_an_empty_cell_for_what_is_absent, free_it),
        cmocka_unit_test_teardown(csv_holds_what_is_read_less_often_and_says_how_old_it_is, free_it),
        cmocka_unit_test_teardown(nextflow_row_is_in_bytes_milliseconds_and_percent, free_it),
        cmocka_unit_test_teardown(snakemake_row_is_in_mebibytes, free_it),
        cmocka_unit_test_teardown(run_without_a_summary_is_reduced_from_its_records, free_it),
        cmocka_unit_test_teardown(empty_recording_has_no_numbers, free_it),
        cmocka_unit_test(prometheus_names_have_a_base_unit_and_only_counters_a_total),
        cmocka_unit_test_teardown(prometheus_samples_tell_their_source_and_escape_their_labels, free_it),
        cmocka_unit_test_teardown(prometheus_run_is_named_by_its_prefix, free_it),
        cmocka_unit_test_teardown(perfetto_levels_stand_from_the_window_and_fall_when_a_process_is_gone,
                                  free_it),
        cmocka_unit_test_teardown(perfetto_marks_a_name_that_is_cut, free_it),
        cmocka_unit_test_teardown(perfetto_slice_follows_the_events, free_it),
        cmocka_unit_test_teardown(perfetto_event_without_a_pid_is_none_of_a_process, free_it),
        cmocka_unit_test_teardown(perfetto_leaves_out_what_is_past_all_numbers, free_it),
        cmocka_unit_test_teardown(a_table_or_a_label_has_nothing_that_a_terminal_acts_on, free_it),
        cmocka_unit_test(only_known_formats_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
