/* Listings of runs that tests make up. */
#ifndef METRON_TESTS_LISTING_FIXTURE_H
#define METRON_TESTS_LISTING_FIXTURE_H

#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/json_number.h"
#include "view/command_line.h"
#include "view/list/columns.h"
#include "view/list/listing.h"
#include "view/list/table.h"
#include "view/list/text.h"
#include "view/list/value.h"
#include "view/text_width.h"

#define MIB           (1024.0 * 1024)
#define PREFIX_SCREEN 112 /* columns of one that has room for prefixes */

static struct run_listing listing;
static struct strbuf text;
static double processes; /* of every run that is added; 0: not measured */

static inline int set_up(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    tzset();
    text = (struct strbuf)STRBUF_INIT;
    run_listing_init(&listing);
    processes = 0;
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    run_listing_fini(&listing);
    strbuf_fini(&text);
    return 0;
}

/* A run as tests think of it; what is negative or NULL is absent. A note is of an upper bound. */
struct run {
    const char *job, *command;
    double start, exit_code, wall, cpu, memory;
    const char *cpu_source, *memory_source, *memory_note;
    enum recording_status status;
};

static inline void add_run(struct run run)
{
    struct recorded_field fields[8];
    size_t count = 0;

    if (run.job)
        fields[count++] = (struct recorded_field){.name = "job", .kind = FIELD_TEXT, .text = run.job};
    if (run.command)
        fields[count++] = (struct recorded_field){.name = "command", .kind = FIELD_TEXT, .text = run.command};
    if (run.exit_code >= 0)
        fields[count++] =
            (struct recorded_field){.name = "exit_code", .kind = FIELD_NUMBER, .number = run.exit_code};
    if (run.wall >= 0)
        fields[count++] = (struct recorded_field){.name = "wall",
                                                  .kind = FIELD_NUMBER,
                                                  .unit = UNIT_SECONDS,
                                                  .number = run.wall,
                                                  .source = "wall_clock_time"};
    if (run.cpu >= 0)
        fields[count++] =
            (struct recorded_field){.name = "cpu_seconds",
                                    .kind = FIELD_NUMBER,
                                    .unit = UNIT_SECONDS,
                                    .number = run.cpu,
                                    .source = run.cpu_source ? run.cpu_source : "proc_cpu_seconds"};
    if (run.memory >= 0)
        fields[count++] =
            (struct recorded_field){.name = "peak_memory",
                                    .kind = FIELD_NUMBER,
                                    .unit = UNIT_BYTES,
                                    .number = run.memory,
                                    .source = run.memory_source ? run.memory_source : "proc_hwm_max",
                                    .bound = run.memory_note ? BOUND_UPPER : BOUND_NONE,
                                    .note = run.memory_note};
    if (processes > 0)
        fields[count++] =
            (struct recorded_field){.name = "processes", .kind = FIELD_NUMBER, .number = processes};
    struct recording recording = {.path = "run_info.json",
                                  .status = run.status,
                                  .start_wall = run.start,
                                  .fields = fields,
                                  .field_count = count};
    assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
}

#define START 1794728573.5 /* 2026-11-15 07:42:53.5 UTC */

static inline void add_three(void)
{
    add_run((struct run){NULL, "true", START, 0, 1.5, 0.5, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "false", START + 60, 1, 90, 120, 64 * MIB, NULL, "peak_rss",
                         "an upper bound: x", RECORDING_ENDED});
    add_run((struct run){NULL, "sleep", START + 120, -1, -1, -1, -1, NULL, NULL, NULL, RECORDING_LOST});
}

static inline const char *table(size_t width, bool colors)
{
    strbuf_reset(&text);
    run_columns_hide_empty(&listing);
    run_table_write(&text, &listing, width, colors);
    assert_false(text.failed);
    return strbuf_text(&text);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, set_up, tear_down)

#endif
