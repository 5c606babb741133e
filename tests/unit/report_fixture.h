/* A recording made up for the tests of reports: its keys, and values of them. */
#ifndef METRON_TESTS_REPORT_FIXTURE_H
#define METRON_TESTS_REPORT_FIXTURE_H

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

#include "view/report/methods.h"
#include "view/report/report.h"

#define COUNT(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

enum { RSS, HWM, CPU, AGE, READ, CMD, START, TOTAL_CPU, TOTAL_RSS, MEAN_RSS, LIVE, CALLS };

static struct recorded_key keys[] = {
    [RSS] = {"proc_rss", TOPIC_MEMORY, BOUND_NONE, "proc", "statm", NULL, UNIT_BYTES, SCOPE_PER_PID,
             TYPE_GAUGE, REDUCE_MAX, NULL},
    [HWM] = {"proc_hwm", TOPIC_MEMORY_MARK, BOUND_NONE, "proc", "status", NULL, UNIT_BYTES, SCOPE_PER_PID,
             TYPE_GAUGE, REDUCE_MAX, NULL},
    [CPU] = {"proc_pdcpu", TOPIC_CPU, BOUND_NONE, "proc", "clock", NULL, UNIT_PERCENT, SCOPE_PER_PID,
             TYPE_COUNTER, REDUCE_MAX, NULL},
    [AGE] = {"proc_etime", TOPIC_PROCESS_AGE, BOUND_NONE, "proc", "stat", NULL, UNIT_SECONDS, SCOPE_PER_PID,
             TYPE_GAUGE, REDUCE_LAST, NULL},
    [READ] = {"io_read_bytes", TOPIC_IO_READ, BOUND_NONE, "io", "io", NULL, UNIT_BYTES, SCOPE_PER_PID,
              TYPE_COUNTER, REDUCE_DELTA, NULL},
    [CMD] = {"proc_cmd", TOPIC_PROCESS_COMMAND, BOUND_NONE, "proc", "cmdline", NULL, UNIT_NONE, SCOPE_PER_PID,
             TYPE_LABEL, REDUCE_LAST, NULL},
    [START] = {"proc_start_time", TOPIC_PROCESS_START, BOUND_NONE, "proc", "stat", NULL, UNIT_NONE,
               SCOPE_PER_PID, TYPE_LABEL, REDUCE_LAST, NULL},
    [TOTAL_CPU] = {"proc_cpu_seconds", TOPIC_CPU, BOUND_NONE, "proc", "ledger", NULL, UNIT_SECONDS,
                   SCOPE_SINGLE, TYPE_COUNTER, REDUCE_DELTA, NULL},
    [TOTAL_RSS] = {"proc_rss_total", TOPIC_MEMORY, BOUND_UPPER, "proc", "statm", NULL, UNIT_BYTES,
                   SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, NULL},
    [MEAN_RSS] = {"proc_ave_rss_total", TOPIC_MEMORY, BOUND_UPPER, "proc", "statm", "ave", UNIT_BYTES,
                  SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX, NULL},
    [LIVE] = {"ledger_live_seconds", TOPIC_CPU_PART, BOUND_NONE, "ledger", "live", NULL, UNIT_SECONDS,
              SCOPE_SINGLE, TYPE_GAUGE, REDUCE_LAST, NULL},
    [CALLS] = {"syscall_counts_total", TOPIC_SYSCALL, BOUND_NONE, "syscall", "", NULL, UNIT_COUNT,
               SCOPE_SINGLE, TYPE_CATEGORICAL, REDUCE_TALLY, NULL},
};

static inline struct recording running(void)
{
    return (struct recording){.kind = RECORDING_METRON,
                              .status = RECORDING_RUNNING,
                              .path = "run_info.json",
                              .start_wall = 1000,
                              .keys = keys,
                              .key_count = COUNT(keys)};
}

static inline struct usage_value number(uint32_t key, const char *subject, double value)
{
    return (struct usage_value){.key = key, .kind = FIELD_NUMBER, .subject = subject, .number = value};
}

static inline struct usage_value text(uint32_t key, const char *subject, const char *value)
{
    return (struct usage_value){.key = key, .kind = FIELD_TEXT, .subject = subject, .text = value};
}

static inline struct usage_record record(double elapsed, struct usage_value *values, size_t count)
{
    return (struct usage_record){.elapsed = elapsed, .num_samples = 1, .values = values, .count = count};
}

static inline struct recorded_event event(const char *type, int64_t pid, double wall)
{
    return (struct recorded_event){.type = type, .pid = pid, .wall = wall, .seen = "event", .sender_pid = -1};
}

#endif
