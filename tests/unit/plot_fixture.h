/*
 * A recording made by hand, and records for it.
 */
#ifndef METRON_TESTS_PLOT_FIXTURE_H
#define METRON_TESTS_PLOT_FIXTURE_H

#include <stdarg.h>
#include <string.h>

#include "schema/recording.h"
#include "view/plot/plot.h"

#define MADE_START 1794724973.5 /* 2026-11-15 06:42:53.5 UTC */

enum made_key {
    RSS,
    RSS_TOTAL,
    RSS_MEAN,
    CPU,
    CPU_TOTAL,
    CPU_MEAN,
    CMD,
    PSS_TOTAL,
    CGROUP_SECONDS,
    PROCESSES,
    MADE_KEY_COUNT,
};

#define KEY(KEY_, TOPIC, BOUND, SOURCE, STATISTIC, UNIT, SCOPE, TYPE, REDUCE)                                \
    {                                                                                                        \
        .key = (KEY_), .topic = (TOPIC), .bound = (BOUND), .source = (SOURCE), .field = "",                  \
        .statistic = (STATISTIC), .unit = (UNIT), .scope = (SCOPE), .type = (TYPE), .reduce = (REDUCE)       \
    }

static struct recorded_key made_keys[MADE_KEY_COUNT] = {
    [RSS] = KEY("proc_rss", TOPIC_MEMORY, BOUND_NONE, "proc", NULL, UNIT_BYTES, SCOPE_PER_PID, TYPE_GAUGE,
                REDUCE_MAX),
    [RSS_TOTAL] = KEY("proc_rss_total", TOPIC_MEMORY, BOUND_UPPER, "proc", NULL, UNIT_BYTES, SCOPE_SINGLE,
                      TYPE_GAUGE, REDUCE_MAX),
    [RSS_MEAN] = KEY("proc_ave_rss_total", TOPIC_MEMORY, BOUND_UPPER, "proc", "ave", UNIT_BYTES, SCOPE_SINGLE,
                     TYPE_GAUGE, REDUCE_MAX),
    [CPU] = KEY("proc_pdcpu", TOPIC_CPU, BOUND_NONE, "proc", NULL, UNIT_PERCENT, SCOPE_PER_PID, TYPE_COUNTER,
                REDUCE_MAX),
    [CPU_TOTAL] = KEY("proc_pdcpu_total", TOPIC_CPU, BOUND_NONE, "proc", NULL, UNIT_PERCENT, SCOPE_SINGLE,
                      TYPE_COUNTER, REDUCE_MAX),
    [CPU_MEAN] = KEY("proc_ave_pdcpu_total", TOPIC_CPU, BOUND_NONE, "proc", "ave", UNIT_PERCENT, SCOPE_SINGLE,
                     TYPE_COUNTER, REDUCE_MAX),
    [CMD] = KEY("proc_cmd", TOPIC_PROCESS_COMMAND, BOUND_NONE, "proc", NULL, UNIT_NONE, SCOPE_PER_PID,
                TYPE_LABEL, REDUCE_LAST),
    [PSS_TOTAL] = KEY("smaps_pss_total", TOPIC_MEMORY, BOUND_NONE, "smaps", NULL, UNIT_BYTES, SCOPE_SINGLE,
                      TYPE_GAUGE, REDUCE_MAX),
    [CGROUP_SECONDS] = KEY("cgroup_cpu_seconds", TOPIC_CPU, BOUND_NONE, "cgroup", NULL, UNIT_SECONDS,
                           SCOPE_SINGLE, TYPE_COUNTER, REDUCE_DELTA),
    [PROCESSES] = KEY("proc_processes", TOPIC_PROCESS, BOUND_NONE, "proc", NULL, UNIT_COUNT, SCOPE_SINGLE,
                      TYPE_GAUGE, REDUCE_MAX),
};

static struct recorded_field made_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .text = "python3 train.py\n  --fast"},
    {.name = "cause", .kind = FIELD_TEXT, .text = "exited with code 3"},
    {.name = "start_time", .kind = FIELD_TEXT, .text = "2026-11-15T07:42:53.5+01:00"},
    {.name = "system.may_use.cpus", .kind = FIELD_NUMBER, .number = 4},
    {.name = "system.may_use.memory", .kind = FIELD_NUMBER, .unit = UNIT_BYTES, .number = 2147483648},
    {.name = "system.memory_total", .kind = FIELD_NUMBER, .unit = UNIT_BYTES, .number = 68719476736},
    {.name = "wall", .kind = FIELD_NUMBER, .unit = UNIT_SECONDS, .number = 10},
    {.name = "peak_memory",
     .kind = FIELD_NUMBER,
     .unit = UNIT_BYTES,
     .number = 1,
     .source = "smaps_peak_pss_total"},
};

static struct recording made_recording(void)
{
    return (struct recording){.kind = RECORDING_METRON,
                              .status = RECORDING_ENDED,
                              .path = "info.json",
                              .usage_path = "usage.jsonl",
                              .start_wall = MADE_START,
                              .fields = made_fields,
                              .field_count = sizeof(made_fields) / sizeof(made_fields[0]),
                              .keys = made_keys,
                              .key_count = MADE_KEY_COUNT};
}

/* One record: `count` values of struct usage_value. */
static inline int add_record(struct plot *plot, double elapsed, size_t count, struct usage_value *values)
{
    const struct usage_record record = {
        .elapsed = elapsed, .wall = MADE_START + elapsed, .num_samples = 1, .values = values, .count = count};

    return plot_add_record(plot, &record);
}

#define RECORD(PLOT, ELAPSED, ...)                                                                           \
    add_record((PLOT), (ELAPSED), sizeof((struct usage_value[]){__VA_ARGS__}) / sizeof(struct usage_value),  \
               (struct usage_value[]){__VA_ARGS__})
#define SINGLE_VALUE(KEY_, NUMBER)                                                                           \
    {                                                                                                        \
        .key = (KEY_), .kind = FIELD_NUMBER, .number = (NUMBER)                                              \
    }
#define PROCESS_VALUE(KEY_, PID, NUMBER)                                                                     \
    {                                                                                                        \
        .key = (KEY_), .kind = FIELD_NUMBER, .subject = (PID), .number = (NUMBER)                            \
    }
#define PROCESS_TEXT(KEY_, PID, TEXT)                                                                        \
    {                                                                                                        \
        .key = (KEY_), .kind = FIELD_TEXT, .subject = (PID), .text = (TEXT)                                  \
    }

#endif
