/* Other tools' formats, from small recordings made by hand: what is written of what is there, and what of
 * what is not. The tools themselves are asked in tests/e2e/test_export.py. */
#include "publish/exporter.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_reader.h"
#include "publish/export_duct.h"
#include "publish/export_prometheus.h"
#include "publish/export_values.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { RSS_TOTAL, CPU, SCOPE, CALLS, RSS, RATE, ETIME, STAT, CMD, HWM, PERCENT, START, AT_END, LIFETIME };

static struct recorded_key keys[] = {
    [RSS_TOTAL] = {.key = "proc_rss_total", .source = "proc", .field = "statm", .unit = UNIT_BYTES},
    [CPU] = {.key = "proc_cpu_seconds",
             .source = "proc",
             .field = "ledger",
             .unit = UNIT_SECONDS,
             .type = TYPE_COUNTER,
             .reduce = REDUCE_DELTA},
    [SCOPE] =
        {.key = "cgroup_scope", .source = "cgroup", .field = "", .type = TYPE_LABEL, .reduce = REDUCE_LAST},
    [CALLS] = {.key = "syscall_counts_total",
               .source = "syscall",
               .field = "calls",
               .unit = UNIT_COUNT,
               .type = TYPE_CATEGORICAL,
               .reduce = REDUCE_TALLY},
    [RSS] =
        {.key = "proc_rss", .source = "proc", .field = "statm", .unit = UNIT_BYTES, .scope = SCOPE_PER_PID},
    [RATE] = {.key = "proc_pdcpu",
              .source = "proc",
              .field = "clock",
              .unit = UNIT_PERCENT,
              .scope = SCOPE_PER_PID,
              .type = TYPE_COUNTER},
    [ETIME] = {.key = "proc_etime",
               .topic = TOPIC_PROCESS_AGE,
               .source = "proc",
               .field = "age",
               .unit = UNIT_SECONDS,
               .scope = SCOPE_PER_PID,
               .reduce = REDUCE_LAST},
    [STAT] = {.key = "proc_stat",
              .source = "proc",
              .field = "state",
              .scope = SCOPE_PER_PID,
              .type = TYPE_CATEGORICAL,
              .reduce = REDUCE_TALLY},
    [CMD] = {.key = "proc_cmd",
             .topic = TOPIC_PROCESS_COMMAND,
             .source = "proc",
             .field = "cmdline",
             .scope = SCOPE_PER_PID,
             .type = TYPE_LABEL,
             .reduce = REDUCE_LAST},
    [HWM] = {.key = "proc_hwm_max",
             .source = "proc",
             .field = "VmHWM",
             .unit = UNIT_BYTES,
             .reduce = REDUCE_LAST},
    [PERCENT] = {.key = "psi_cpu_some_pct",
                 .source = "psi",
                 .field = "pressure",
                 .unit = UNIT_PERCENT,
                 .type = TYPE_COUNTER},
    [START] = {.key = "proc_start_time",
               .topic = TOPIC_PROCESS_START,
               .source = "proc",
               .field = "stat",
               .scope = SCOPE_PER_PID,
               .type = TYPE_LABEL,
               .reduce = REDUCE_LAST},
    [AT_END] = {.key = "exit_cpu_seconds",
                .source = "exit",
                .field = "events",
                .unit = UNIT_SECONDS,
                .scope = SCOPE_PER_PID,
                .type = TYPE_COUNTER,
                .reduce = REDUCE_DELTA},
    [LIFETIME] = {.key = "exit_lifetime_seconds",
                  .source = "exit",
                  .field = "events",
                  .unit = UNIT_SECONDS,
                  .scope = SCOPE_PER_PID,
                  .reduce = REDUCE_LAST},
};

#define NUMBER(name_, value_)                                                                                \
    {                                                                                                        \
        .name = (name_), .kind = FIELD_NUMBER, .number = (value_)                                            \
    }
#define TEXT(name_, text_)                                                                                   \
    {                                                                                                        \
        .name = (name_), .kind = FIELD_TEXT, .text = (text_)                                                 \
    }

static struct recorded_field summary[] = {
    TEXT("command", "say \"hi\"\n\\"),
    TEXT("job", "align"),
    TEXT("prefix", "logs/r1_"),
    TEXT("system.hostname", "node17"),
    NUMBER("system.memory_total", 1000000),
    NUMBER("exit_code", 0),
    NUMBER("proc_peak_rss_total", 200000),
    NUMBER("proc_ave_rss_total", 150000),
    NUMBER("proc_hwm_max", 250000),
    NUMBER("proc_cpu_seconds", 3),
    NUMBER("psi_peak_cpu_some_pct", 50),
    {.name = "syscall_counts_total", .kind = FIELD_JSON, .text = "{\"read\":12,\"write\":3}"},
    NUMBER("wall", 4),
    {.name = "cpu_seconds", .kind = FIELD_NUMBER, .number = 3.5, .source = "cgroup_cpu_seconds"},
};

static struct recording recording(enum recording_status status, struct recorded_field *fields, size_t count)
{
    return (struct recording){.kind = RECORDING_METRON,
                              .status = status,
                              .start_wall = 1000,
                              .fields = fields,
                              .field_count = count,
                              .keys = keys,
                              .key_count = COUNT(keys)};
}

static struct usage_value number(uint32_t key, const char *subject, double value)
{
    return (struct usage_value){.key = key, .kind = FIELD_NUMBER, .subject = subject, .number = value};
}

static struct usage_value text(uint32_t key, const char *subject, const char *value)
{
    bool is_tally = keys[key].type == TYPE_CATEGORICAL;

    return (struct usage_value){
        .key = key, .kind = is_tally ? FIELD_JSON : FIELD_TEXT, .subject = subject, .text = value};
}

/* Two records: process 7 lives through both, 8 only in the first. */
static void feed(struct export *export)
{
    struct usage_value first[] = {number(RSS_TOTAL, NULL, 200000),
                                  number(CPU, NULL, 1.5),
                                  text(SCOPE, NULL, "own, or \"inherited\""),
                                  text(CALLS, NULL, "{\"a\":1}"),
                                  number(RSS, "7", 120000),
                                  number(RSS, "8", 80000),
                                  number(RATE, "7", 100),
                                  number(RATE, "8", 50),
                                  number(ETIME, "7", 2),
                                  number(ETIME, "8", 1),
                                  text(STAT, "7", "{\"R\":2}"),
                                  text(STAT, "8", "{\"S\":1}"),
                                  text(CMD, "7", "sh"),
                                  number(HWM, NULL, 125000.0625)};
    struct usage_value second[] = {number(RSS_TOTAL, NULL, 130000),
                                   number(CPU, NULL, 1),
                                   number(RSS, "7", 130000),
                                   number(RATE, "7", 100),
                                   number(ETIME, "7", 4),
                                   text(STAT, "7", "{\"R\":1,\"D\":1}"),
                                   text(CMD, "7", "sh")};
    struct usage_record one = {
        .elapsed = 2, .wall = 1002, .num_samples = 2, .values = first, .count = COUNT(first)};
    struct usage_record two = {
        .elapsed = 4, .wall = 1004.25, .num_samples = 2, .values = second, .count = COUNT(second)};

    assert_int_equal(export_record(export, &one), 0);
    assert_int_equal(export_record(export, &two), 0);
}

static struct export done;

static const char *exported(const char *format, const struct recording *from)
{
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find(format), from, "p/", NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    feed(&done);
    assert_int_equal(export_end(&done), 0);
    return strbuf_text(&done.out);
}

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

static void nextflow_row_is_in_bytes_milliseconds_and_percent(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));

    (void)state;
    assert_string_equal(strchr(exported("nextflow", &ended), '\n') + 1,
                        "align\t0\t1000000\t1004000\t4000\t87.5\t20\t200000\t-\t250000\t-\t-\t-\t-\t-\t-\t-\t-\t-\tnode17\t-\n");
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

static void duct_pcpu_is_conserved_cpu_over_age(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    const char *out = exported("duct", &ended);

    (void)state;
    /* By their rates 2 s + 0.5 s in the first window, but the ledger counted 1.5: 1.2 s in 2 s, 0.3 s in 1 s.
     */
    assert_non_null(strstr(out, "\"7\":{\"pcpu\":60,\"pmem\":12,\"rss\":120000,"));
    assert_non_null(strstr(out, "\"8\":{\"pcpu\":30,\"pmem\":8,\"rss\":80000,"));
    /* Then 1 s of 2 s more: 2.2 s in 4 s. */
    assert_non_null(strstr(out, "\"7\":{\"pcpu\":55"));
    assert_non_null(strstr(out, "\"etime\":\"00:04\",\"stat\":{\"R\":1,\"D\":1},\"cmd\":\"sh\"}"));
    assert_non_null(strstr(out, "\"totals\":{\"pmem\":20,\"pcpu\":90,\"rss\":200000,\"vsz\":null}"));
    const char *info = strbuf_text(&done.second);
    assert_non_null(strstr(info, "\"schema_version\":\"0.2.2\""));
    assert_non_null(strstr(info, "\"peak_rss\":200000,\"average_rss\":150000,\"peak_vsz\":null"));
    assert_non_null(strstr(info, "\"peak_pcpu\":90,"));
    assert_non_null(strstr(info, "\"usage\":\"p/usage.jsonl\",\"info\":\"p/info.json\",\"prefix\":\"p/\""));
}

/* A record of ten seconds for con-duct. */
static const char *duct_of(const struct recording *from, struct usage_value *values, size_t count)
{
    struct usage_record record = {
        .elapsed = 10, .wall = 1010, .num_samples = 10, .values = values, .count = count};

    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("duct"), from, "p/", NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    assert_int_equal(export_record(&done, &record), 0);
    assert_int_equal(export_end(&done), 0);
    return strbuf_text(&done.out);
}

/* It was 85 us old when it was sampled, and had used 3 ms when it ended at the age of 4 ms. */
static void duct_pcpu_of_what_has_ended_is_over_its_whole_life(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct usage_value values[] = {number(RSS_TOTAL, NULL, 1), number(RSS, "7", 1),
                                   number(ETIME, "7", 0.000085), number(AT_END, "7", 0.003),
                                   number(LIFETIME, "7", 0.004)};

    (void)state;
    assert_non_null(strstr(duct_of(&ended, values, COUNT(values)), "\"7\":{\"pcpu\":75,"));
    assert_non_null(strstr(strbuf_text(&done.second), "\"peak_pcpu\":75,"));
}

/* Two that followed each other, and one that lived beside both. */
static void duct_totals_add_only_what_lived_at_once(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct usage_value values[] = {
        number(RSS_TOTAL, NULL, 1),
        text(START, "6", "1970-01-01T00:16:40Z"),
        text(START, "7", "1970-01-01T00:16:41Z"),
        text(START, "8", "1970-01-01T00:16:45Z"),
        number(RSS, "6", 1),
        number(RSS, "7", 1),
        number(RSS, "8", 1),
        number(ETIME, "6", 10),
        number(ETIME, "7", 3.5),
        number(ETIME, "8", 3.5),
        number(AT_END, "7", 2.8),
        number(AT_END, "8", 3),
        number(LIFETIME, "7", 4.005), /* the clock ticks: not after the next began */
        number(LIFETIME, "8", 4),
        number(RATE, "6", 1),
    };

    (void)state;
    assert_non_null(
        strstr(duct_of(&ended, values, COUNT(values)), "\"totals\":{\"pmem\":0.0001,\"pcpu\":76,"));
}

static void duct_begins_with_the_run(void **state)
{
    struct recording ended = recording(RECORDING_ENDED, summary, COUNT(summary));
    static const char start[] = "{\"timestamp\":\"1970-01-01T00:16:40.000000+00:00\",\"num_samples\":0,"
                                "\"processes\":{},\"totals\":{\"pmem\":0,\"pcpu\":0,\"rss\":0,\"vsz\":0},"
                                "\"averages\":{}}\n{\"timestamp\":\"1970-01-01T00:16:42";

    (void)state;
    assert_memory_equal(exported("duct", &ended), start, sizeof(start) - 1);
    assert_non_null(strstr(strbuf_text(&done.second), "\"num_samples\":4,\"num_reports\":3,"));
}

static void duct_of_con_duct_is_refused(void **state)
{
    struct recording duct = recording(RECORDING_ENDED, summary, COUNT(summary));
    struct metron_error error = {0};

    (void)state;
    duct.kind = RECORDING_DUCT;
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find("duct"), &duct, "p/", &error), 0);
    assert_true(export_begin(&done, &error) < 0);
    assert_non_null(strstr(error.message, "con-duct's own"));
}

static void duct_age_is_as_ps_writes_it(void **state)
{
    static const struct {
        double seconds;
        const char *text;
    } ages[] = {{0.9, "00:00"},        {83, "01:23"},       {3600, "01:00:00"},
                {93784, "1-02:03:04"}, {INFINITY, "00:00"}, {-1, "00:00"}};
    struct strbuf out = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT(ages); i++) {
        strbuf_reset(&out);
        duct_age(&out, ages[i].seconds);
        assert_string_equal(strbuf_text(&out), ages[i].text);
    }
    strbuf_fini(&out);
}

static void only_known_formats_are_found(void **state)
{
    (void)state;
    assert_ptr_equal(exporter_find("csv"), &exporter_csv);
    assert_null(exporter_find("xml"));
}

static int free_it(void **state)
{
    (void)state;
    export_fini(&done);
    done = (struct export){0};
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_is_read_back_the_same),
        cmocka_unit_test(timestamp_is_rounded_to_microseconds),
        cmocka_unit_test_teardown(csv_has_a_row_per_record_and_an_empty_cell_for_what_is_absent, free_it),
        cmocka_unit_test_teardown(nextflow_row_is_in_bytes_milliseconds_and_percent, free_it),
        cmocka_unit_test_teardown(snakemake_row_is_in_mebibytes, free_it),
        cmocka_unit_test_teardown(run_without_a_summary_is_reduced_from_its_records, free_it),
        cmocka_unit_test_teardown(empty_recording_has_no_numbers, free_it),
        cmocka_unit_test(prometheus_names_have_a_base_unit_and_only_counters_a_total),
        cmocka_unit_test_teardown(prometheus_samples_tell_their_source_and_escape_their_labels, free_it),
        cmocka_unit_test_teardown(prometheus_run_is_named_by_its_prefix, free_it),
        cmocka_unit_test_teardown(perfetto_levels_stand_from_the_window_and_fall_when_a_process_is_gone,
                                  free_it),
        cmocka_unit_test_teardown(perfetto_slice_follows_the_events, free_it),
        cmocka_unit_test_teardown(perfetto_event_without_a_pid_is_none_of_a_process, free_it),
        cmocka_unit_test_teardown(perfetto_leaves_out_what_is_past_all_numbers, free_it),
        cmocka_unit_test_teardown(duct_pcpu_is_conserved_cpu_over_age, free_it),
        cmocka_unit_test_teardown(duct_pcpu_of_what_has_ended_is_over_its_whole_life, free_it),
        cmocka_unit_test_teardown(duct_totals_add_only_what_lived_at_once, free_it),
        cmocka_unit_test_teardown(duct_begins_with_the_run, free_it),
        cmocka_unit_test_teardown(duct_of_con_duct_is_refused, free_it),
        cmocka_unit_test(duct_age_is_as_ps_writes_it),
        cmocka_unit_test(only_known_formats_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
