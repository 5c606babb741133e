/* What the tests of export formats share: a small recording made by hand, and how it is exported. */
#ifndef METRON_TESTS_EXPORT_FIXTURE_H
#define METRON_TESTS_EXPORT_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "publish/exporter.h"

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

static inline struct recording recording(enum recording_status status, struct recorded_field *fields,
                                         size_t count)
{
    return (struct recording){.kind = RECORDING_METRON,
                              .status = status,
                              .start_wall = 1000,
                              .fields = fields,
                              .field_count = count,
                              .keys = keys,
                              .key_count = COUNT(keys)};
}

static inline struct usage_value number(uint32_t key, const char *subject, double value)
{
    return (struct usage_value){.key = key, .kind = FIELD_NUMBER, .subject = subject, .number = value};
}

static inline struct usage_value text(uint32_t key, const char *subject, const char *value)
{
    bool is_tally = keys[key].type == TYPE_CATEGORICAL;

    return (struct usage_value){
        .key = key, .kind = is_tally ? FIELD_JSON : FIELD_TEXT, .subject = subject, .text = value};
}

/* Two records: process 7 lives through both, 8 only in the first. */
static inline void feed(struct export *export)
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

static inline const char *exported(const char *format, const struct recording *from)
{
    export_fini(&done);
    assert_int_equal(export_init(&done, exporter_find(format), from, "p/", NULL), 0);
    assert_int_equal(export_begin(&done, NULL), 0);
    feed(&done);
    assert_int_equal(export_end(&done), 0);
    return strbuf_text(&done.out);
}

static inline int free_it(void **state)
{
    (void)state;
    export_fini(&done);
    done = (struct export){0};
    return 0;
}

#endif
