/* Listings of runs: their order, their groups, the table and the formats for programs. */
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

static int set_up(void **state)
{
    (void)state;
    run_listing_init(&listing);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_listing_fini(&listing);
    strbuf_fini(&text);
    return 0;
}

/* A run as tests think of it; what is negative or NULL is absent. */
struct run {
    const char *job, *command;
    double start, exit_code, wall, cpu, memory;
    const char *cpu_source, *memory_source, *memory_note;
    enum recording_status status;
};

static void add_run(struct run run)
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
                                    .note = run.memory_note};
    struct recording recording = {.path = "run_info.json",
                                  .status = run.status,
                                  .start_wall = run.start,
                                  .fields = fields,
                                  .field_count = count};
    assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
}

#define START 1794728573.5 /* 2026-11-15 07:42:53.5 UTC */

static void add_three(void)
{
    add_run((struct run){NULL, "true", START, 0, 1.5, 0.5, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "false", START + 60, 1, 90, 120, 64 * MIB, NULL, "peak_rss",
                         "an upper bound: x", RECORDING_ENDED});
    add_run((struct run){NULL, "sleep", START + 120, -1, -1, -1, -1, NULL, NULL, NULL, RECORDING_LOST});
}

static const char *table(size_t width, bool colors)
{
    strbuf_reset(&text);
    run_columns_hide_empty(&listing);
    run_table_write(&text, &listing, width, colors);
    assert_false(text.failed);
    return strbuf_text(&text);
}

static void a_table_has_numbers_to_the_right_and_tells_methods_apart(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_three();
    run_listing_sort(&listing, -1, false);
    assert_string_equal(table(0, false),
                        "START 2026   EXIT        WALL         CPU   MEMORY    PROCS  RUN   COMMAND\n"
                        "11-15 07:42     0       1.5 s      500 ms    1 MiB a      -  run_  true\n"
                        "11-15 07:43     1  1 min 30 s  2 min 00 s  ≤64 MiB b      -  run_  false\n"
                        "11-15 07:44  lost           -           -        -        -  run_  sleep\n"
                        "\n"
                        "MEMORY a: proc_hwm_max\n"
                        "MEMORY b: peak_rss (an upper bound)\n"
                        "CPU: proc_cpu_seconds\n");
}

static void colours_are_of_the_outcome(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_three();
    run_listing_sort(&listing, -1, false);
    const char *colored = table(0, true);
    assert_non_null(strstr(colored, "\033[32m0\033[0m"));
    assert_non_null(strstr(colored, "\033[31m1\033[0m"));
    assert_non_null(strstr(colored, "\033[35mlost\033[0m"));
    assert_null(strchr(table(0, false), '\033'));
}

static void a_long_command_is_cut_to_the_screen(void **state)
{
    static const char command[] =
        "python3 /a/very/long/path/to/the/script/train.py --learning-rate 0.001 --seed 7";

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){"job", command, START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    for (size_t width = 70; width <= 150; width += 10) {
        const char *line = strchr(table(width, false), '\n') + 1;
        size_t columns = text_width(line, strcspn(line, "\n"));
        assert_true(columns <= width);
        assert_non_null(strstr(line, "train.py")); /* what ran */
        assert_true(width > 80 || !strstr(line, "seed 7"));
    }
    assert_non_null(strstr(table(0, false), command));
}

static void the_end_of_a_command_stays_where_it_tells_it_from_others(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){NULL, "python3 train.py --learning-rate 0.001 --momentum 0.9 --seed 7", START, 0, 1,
                         1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "python3 train.py --learning-rate 0.001 --momentum 0.9 --seed 8", START + 60,
                         0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "python3 test.py --learning-rate 0.001 --momentum 0.9 --seed 8", START + 120,
                         0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    const char *shown = table(80, false);
    assert_non_null(strstr(shown, "python3 train.py --l"));
    assert_non_null(strstr(shown, "seed 7\n"));
    assert_non_null(strstr(shown, "seed 8\n"));
    const char *alone = strstr(shown, "python3 test.py --learning-rate");
    assert_non_null(alone);
    assert_memory_equal(strchr(alone, '\n') - strlen("…"), "…", strlen("…")); /* the only one of its kind */
}

static void a_command_is_cut_so_that_what_ran_is_seen(void **state)
{
    static const struct {
        const char *command, *expected;
        size_t width;
        bool end_matters;
    } cases[] = {
        {"python3 train.py --epochs 30", "python3 train.py --epochs 30", 28, false},
        {"python3 train.py --epochs 30 --x", "python3 train.py --epochs 3…", 28, false},
        {"/usr/bin/python3 -u /data/a/b/train.py --epochs 30", "…/train.py --epochs 30", 28, false},
        {"python3 /data/a/b/train.py --epochs 30", "python3 …/train.py --epochs…", 28, false},
        {"python3 train.py --epochs 30 --seed 7", "python3 train.py …--seed 7", 26, true},
        {"python3 train.py --epochs 30 --seed 7", "… train.py --epo…", 17, false},
        {"python3 -m unittest tests.all --verbose", "python3 -m unittest tests.…", 27, false},
        {"sh -c 'echo /a/b; sleep 10'", "sh -c 'echo /a/b; s…", 20, false},
        {"/opt/tools/bin/align --threads 8", "…/align --threads 8", 20, false},
        {"./align --threads 80", "./align --thr…", 14, false},
        {"python3", "pyt…", 4, true},
        {"x", "", 0, true},
        {"", "", 4, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strbuf_reset(&text);
        size_t taken = command_fit(&text, cases[i].command, strlen(cases[i].command), cases[i].width,
                                   cases[i].end_matters);
        assert_string_equal(strbuf_text(&text), cases[i].expected);
        assert_int_equal(taken, text_width(cases[i].expected, strlen(cases[i].expected)));
        assert_true(taken <= cases[i].width);
    }
}

static void a_script_on_a_command_line_is_one_line(void **state)
{
    static const char *const cases[][2] = {
        {"python3 -c 'a = 1 \n\twhile a:\\x0a    b()\\x09\\x0a'", "python3 -c 'a = 1 while a: b() '"},
        {"\n leading and trailing \r\n", "leading and trailing"},
        {"two  blanks and \\x41 stay", "two  blanks and \\x41 stay"},
        {"\033[2J", "\\x1b[2J"},
        {"", ""},
    };
    struct strbuf line = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        strbuf_reset(&line);
        text_one_line(&line, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(strbuf_text(&line), cases[i][1]);
    }
    strbuf_reset(&line);
    text_one_line(&line, "cut\nshort", 4); /* no more than it was given */
    assert_string_equal(strbuf_text(&line), "cut");
    strbuf_fini(&line);
}

static void seconds_are_told_where_two_runs_share_a_minute(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){NULL, "a", START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "b", START + 90, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_non_null(strstr(table(0, false), "\n11-15 07:42     0"));
    add_run((struct run){NULL, "c", START + 5, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_non_null(strstr(table(0, false), "\n11-15 07:42:53     0"));
    assert_non_null(strstr(table(0, false), "\n11-15 07:44:23     0"));
}

static void columns_are_left_out_for_the_command_and_named(void **state)
{
    static const char command[] = "python3 train.py --learning-rate 0.001 --momentum 0.9";

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){"night", command, START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"night", command, START + 60, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    const char *shown = table(74, false);
    assert_null(strstr(shown, "night")); /* the same in all */
    assert_non_null(strstr(shown, "PROCS"));
    assert_non_null(strstr(shown, "\nno room for JOB, RUN (which run is which: ls -F prefix,command)\n"));
    shown = table(64, false);
    assert_non_null(strstr(shown, "  python3 train.py --learn"));
    assert_non_null(strstr(shown, "\nno room for PROCS, JOB, RUN"));
    assert_non_null(strstr(table(PREFIX_SCREEN, false), "  run_  python3 train.py"));
    add_run((struct run){"day", command, START + 120, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_non_null(strstr(table(72, false), "night")); /* it tells them apart now */
}

static void a_row_is_broken_between_columns_on_the_narrowest_screens(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_three();
    for (size_t width = 20; width <= 60; width++) {
        const char *shown = table(width, false);
        const char *legend = strstr(shown, "\n\n");
        for (const char *line = shown; line < legend; line += strcspn(line, "\n") + 1)
            assert_true(text_width(line, strcspn(line, "\n")) <= width);
        assert_non_null(strstr(shown, "1 min 30 s")); /* whole */
    }
}

static void the_oom_killer_is_seen_beside_the_exit_code(void **state)
{
    static const struct {
        const char *cause;
        double kills, exit_code;
        bool oom;
    } cases[] = {
        {"exited with code 137; the OOM killer killed 1 of its processes", 1, 137, true},
        {"exited with code 0; the OOM killer killed 1 of its processes", 1, 0, true},
        {"exited with code 0; the OOM killer killed 1 in its group", 1, 0, false}, /* maybe another's */
        {"exited with code 0", 0, 0, false},
        {NULL, 2, 9, true},
        {NULL, 0, 9, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recorded_field fields[] = {
            {.name = "exit_code", .kind = FIELD_NUMBER, .number = cases[i].exit_code},
            {.name = "cgroup_oom_kills", .kind = FIELD_NUMBER, .number = cases[i].kills},
            {.name = "cause", .kind = FIELD_TEXT, .text = cases[i].cause},
        };
        struct recording recording = {.path = "p", .fields = fields, .field_count = cases[i].cause ? 3 : 2};
        run_listing_fini(&listing);
        assert_int_equal(run_columns_add_usual(&listing, true), 0);
        assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
        assert_int_equal(strstr(table(0, false), " oom ") != NULL, cases[i].oom);
        assert_int_equal(strstr(table(0, true), "\033[31m") != NULL, cases[i].oom || cases[i].exit_code != 0);
    }
}

static void a_prefix_is_told_as_it_is_pasted(void **state)
{
    static const struct {
        const char *path, *expected;
    } cases[] = {
        {".metron/logs/a_info.json", ".metron/logs/a_"},
        {"/home/u/x/logs/a_info.json", "logs/a_"},
        {"/home/u/xy/a_info.json", "/home/u/xy/a_"},
        {"./a_info.json", "a_"},
        {"a b/info.json", "'a b/'"},
        {"info.json", "info.json"},
        {"other", "other"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recording recording = {.path = cases[i].path};
        char expected[64];
        run_listing_fini(&listing);
        strbuf_reset(&text);
        listing.folder = "/home/u/x";
        assert_int_equal(run_columns_add_usual(&listing, true), 0);
        assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
        (void)snprintf(expected, sizeof(expected), "  %s ", cases[i].expected);
        assert_non_null(strstr(table(0, false), expected));
    }
}

static void parts_are_told_once_and_bounds_by_a_word(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_named(&listing, "peak_memory", false, false, false), 0);
    assert_int_equal(run_columns_add_named(&listing, "peak_memory_source", false, false, false), 0);
    struct recorded_field fields[] = {{.name = "peak_memory",
                                       .kind = FIELD_NUMBER,
                                       .number = 5,
                                       .source = "peak_rss",
                                       .note = "upper bound: x"},
                                      {.name = "peak_memory_source", .kind = FIELD_TEXT, .text = "peak_rss"}};
    struct recording recording = {.path = "p", .fields = fields, .field_count = 2};
    assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
    run_list_jsonl(&text, &listing);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text),
                        "{\"peak_memory\": 5, \"peak_memory_note\": \"upper bound: x\", "
                        "\"peak_memory_bound\": \"upper\", \"peak_memory_source\": \"peak_rss\"}\n"
                        "peak_memory,peak_memory_note,peak_memory_bound,peak_memory_source\n"
                        "5,upper bound: x,upper,peak_rss\n");
}

static void control_characters_do_not_reach_the_screen(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){NULL, "a\n\tb\033[31m\x80", START, 0, 1, 1, MIB, NULL, "x\033", "\007",
                         RECORDING_ENDED});
    const char *shown = table(0, false);
    assert_non_null(strstr(shown, "a b\\x1b[31m\\x80"));
    assert_null(strchr(shown, '\033'));
    assert_null(strchr(shown, '\007'));
}

static void rows_without_the_value_stand_last_either_way(void **state)
{
    static const double walls[] = {5, -1, 1, 9, -1, 3};
    static const double up[] = {1, 3, 5, 9}, down[] = {9, 5, 3, 1};

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    for (size_t i = 0; i < 6; i++)
        add_run((struct run){NULL, "x", START, 0, walls[i], 1, 1, NULL, NULL, NULL, RECORDING_ENDED});
    ptrdiff_t wall = run_listing_column(&listing, "wall");
    for (int reverse = 0; reverse < 2; reverse++) {
        run_listing_sort(&listing, wall, reverse);
        for (size_t i = 0; i < 4; i++)
            assert_true(listing.rows[i]->cells[wall].number == (reverse ? down[i] : up[i]));
        assert_false(listing.rows[4]->cells[wall].there);
        assert_false(listing.rows[5]->cells[wall].there);
    }
}

static void add_ranks(void)
{
    add_run((struct run){"a", "x 1", START + 5, 0, 10, 2, 10 * MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){NULL, "y", START + 9, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"a", "x 2", START, 3, 30, 4, 30 * MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"b", "z", START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"a", "x 3", START + 2, 1, 20, 3, 20 * MIB, NULL, NULL, NULL, RECORDING_ENDED});
}

static void ranks_of_a_job_fold_into_one_row(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_group(&listing, "job", false), 0);
    add_ranks();
    assert_int_equal(run_listing_group(&listing, 0), 0);
    assert_int_equal(listing.count, 3); /* a, b, and those without */
    run_list_jsonl(&text, &listing);
    assert_string_equal(
        strbuf_text(&text),
        "{\"job\": \"a\", \"runs\": 3, \"failed\": 2, \"worst_exit_code\": 3, \"max_wall\": 30, "
        "\"max_wall_source\": \"wall_clock_time\", \"sum_cpu_seconds\": 9, \"sum_cpu_seconds_source\": "
        "\"proc_cpu_seconds\", \"max_peak_memory\": 31457280, \"max_peak_memory_source\": \"proc_hwm_max\", "
        "\"sum_peak_memory\": 62914560, \"sum_peak_memory_source\": \"proc_hwm_max\"}\n"
        "{\"job\": \"b\", \"runs\": 1, \"failed\": 0, \"worst_exit_code\": 0, \"max_wall\": 1, "
        "\"max_wall_source\": "
        "\"wall_clock_time\", \"sum_cpu_seconds\": 1, \"sum_cpu_seconds_source\": \"proc_cpu_seconds\", "
        "\"max_peak_memory\": 1048576, \"max_peak_memory_source\": \"proc_hwm_max\", \"sum_peak_memory\": "
        "1048576, "
        "\"sum_peak_memory_source\": \"proc_hwm_max\", \"command\": \"z\"}\n"
        "{\"runs\": 1, \"failed\": 0, \"worst_exit_code\": 0, \"max_wall\": 1, \"max_wall_source\": "
        "\"wall_clock_time\", \"sum_cpu_seconds\": 1, \"sum_cpu_seconds_source\": \"proc_cpu_seconds\", "
        "\"max_peak_memory\": 1048576, \"max_peak_memory_source\": \"proc_hwm_max\", \"sum_peak_memory\": "
        "1048576, "
        "\"sum_peak_memory_source\": \"proc_hwm_max\", \"command\": \"y\"}\n");
    assert_true(listing.rows[0]->start_wall == START);
}

static void a_group_says_where_values_are_missing_or_of_several_methods(void **state)
{
    char source[LISTING_SOURCE_SIZE];

    (void)state;
    assert_int_equal(run_columns_add_group(&listing, "job", true), 0);
    add_run((struct run){"a", "x", START, 0, 1, 2, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run(
        (struct run){"a", "x", START, 0, 1, 2, 2 * MIB, NULL, "peak_rss", "upper bound", RECORDING_ENDED});
    add_run((struct run){"a", "x", START, -1, -1, -1, -1, NULL, NULL, NULL, RECORDING_LOST});
    assert_int_equal(run_listing_group(&listing, 0), 0);
    ptrdiff_t cpu = run_listing_column(&listing, "sum_cpu_seconds");
    ptrdiff_t memory = run_listing_column(&listing, "max_peak_memory");
    const struct listing_cell *cells = listing.rows[0]->cells;
    assert_int_equal(cells[cpu].bound, BOUND_LOWER);
    assert_string_equal(cells[cpu].note, "of 2 of 3 runs; the others have none");
    assert_int_equal(cells[memory].bound, BOUND_ABOUT);
    assert_string_equal(listing_cell_source(&listing.columns[memory], &cells[memory], source),
                        "proc_hwm_max+peak_rss");
    assert_non_null(strstr(table(0, false), "≥4 s"));
    assert_non_null(strstr(table(0, false), "~2 MiB ab"));
    assert_non_null(strstr(table(0, false), "lost ×1"));
}

static void what_is_missing_makes_the_least_an_upper_bound(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_named(&listing, "job", true, false, false), 0);
    assert_int_equal(run_columns_add_named(&listing, "min_wall", true, false, false), 0);
    add_run((struct run){"a", "x", START, 0, 5, 2, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"a", "x", START, -1, -1, -1, -1, NULL, NULL, NULL, RECORDING_LOST});
    assert_int_equal(run_listing_group(&listing, 0), 0);
    assert_int_equal(listing.rows[0]->cells[1].bound, BOUND_UPPER);
}

static void a_group_with_runs_that_go_on_has_used_so_much_at_least(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_group(&listing, "job", true), 0);
    add_run((struct run){"a", "x", START, 0, 1, 2, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"a", "x", START, -1, 3, 2, MIB, NULL, NULL, NULL, RECORDING_RUNNING});
    add_run((struct run){"b", "x", START, 0, 1, 2, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_int_equal(run_listing_group(&listing, 0), 0);
    ptrdiff_t cpu = run_listing_column(&listing, "sum_cpu_seconds");
    assert_int_equal(listing.rows[0]->cells[cpu].bound, BOUND_LOWER);
    assert_string_equal(listing.rows[0]->cells[cpu].note, "so far; some of the runs go on");
    assert_int_equal(listing.rows[1]->cells[cpu].bound, BOUND_NONE);
    assert_non_null(strstr(table(0, false), "  running ×1  ≥3 s  ≥4 s"));
}

static void named_columns_of_a_group_are_folds(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_named(&listing, "job", true, false, false), 0);
    assert_int_equal(run_columns_add_named(&listing, "min_wall", true, false, false), 0);
    assert_int_equal(run_columns_add_named(&listing, "runs", true, false, false), 0);
    assert_int_equal(run_columns_add_named(&listing, "exit_code", true, false, false), 0);
    add_ranks();
    assert_int_equal(run_listing_group(&listing, 0), 0);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text), "job,min_wall,min_wall_source,runs,exit_code\n"
                                            "a,10,wall_clock_time,3,\n" /* they differ */
                                            "b,1,wall_clock_time,1,0\n"
                                            ",1,wall_clock_time,1,0\n");
}

static void add_text_run(const char *name, enum field_kind kind, const char *value, double number)
{
    struct recorded_field field = {.name = name, .kind = kind, .text = value, .number = number};
    struct recording recording = {.path = "p", .fields = &field, .field_count = 1};

    if (listing.column_count == 0)
        assert_int_equal(run_columns_add_named(&listing, name, false, false, false), 0);
    assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
}

static void csv_is_quoted_as_rfc_4180_wants_it(void **state)
{
    (void)state;
    add_text_run("a,b", FIELD_TEXT, "plain", 0);
    add_text_run("a,b", FIELD_TEXT, "say \"x\", please", 0);
    add_text_run("a,b", FIELD_TEXT, "two\nlines", 0);
    add_text_run("a,b", FIELD_JSON, "[\n  1,\n  \"a b\"\n]", 0);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text), "\"a,b\"\n"
                                            "plain\n"
                                            "\"say \"\"x\"\", please\"\n"
                                            "\"two\nlines\"\n"
                                            "\"[1, \"\"a b\"\"]\"\n");
}

static void json_of_a_field_is_copied_or_becomes_a_text(void **state)
{
    (void)state;
    add_text_run("x", FIELD_JSON, "{\"a\": [1, 2.50, true, null, {}], \"b\\u0041\": \"\\n\"}", 0);
    add_text_run("x", FIELD_JSON, "[1 2]", 0);
    add_text_run("x", FIELD_JSON, "[1.2.3]", 0);
    run_list_jsonl(&text, &listing);
    assert_string_equal(strbuf_text(&text), "{\"x\": {\"a\": [1, 2.5, true, null, {}], \"bA\": \"\\n\"}}\n"
                                            "{\"x\": \"[1 2]\"}\n"
                                            "{\"x\": \"[1.2.3]\"}\n");
}

static void yaml_escapes_what_yaml_does_not_let_stand(void **state)
{
    (void)state;
    add_text_run("x", FIELD_TEXT, "\x7f\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\xc3\xa9: # ok", 0);
    add_text_run("x", FIELD_NUMBER, NULL, 1e300);
    add_text_run("x", FIELD_NUMBER, NULL, 1.5e-7);
    add_text_run("x", FIELD_BOOLEAN, NULL, 1);
    run_list_yaml(&text, &listing);
    assert_string_equal(strbuf_text(&text), "- x: \"\\u007f\\u0085\\u2028\\ufeff\xc3\xa9: # ok\"\n"
                                            "- x: 1.0e+300\n"
                                            "- x: 1.5e-07\n"
                                            "- x: true\n");
}

static void yaml_names_that_are_words_are_quoted(void **state)
{
    (void)state;
    add_text_run("yes", FIELD_BOOLEAN, NULL, 0);
    run_list_yaml(&text, &listing);
    assert_string_equal(strbuf_text(&text), "- \"yes\": false\n");
}

static void nothing_is_still_a_whole_document(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_named(&listing, "wall", false, false, false), 0);
    run_list_json(&text, &listing);
    run_list_yaml(&text, &listing);
    run_list_csv(&text, &listing);
    assert_string_equal(strbuf_text(&text), "[]\n[]\nwall\n");
}

static void numbers_are_read_back_as_they_were(void **state)
{
    static const double values[] = {
        0,    -0.0,  1,       0.1,     1.0 / 3,  9007199254740991.0, 82542919.68,
        1e22, 1e300, DBL_MIN, DBL_MAX, 4.9e-324, 97396817.92000002,  1794766974.1290178};
    char number[JSON_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_true(strtod(json_number_text(values[i], number), NULL) == values[i]);
    assert_string_equal(json_number_text(86134784, number), "86134784");
    assert_string_equal(json_number_text(-0.0, number), "0");
    assert_string_equal(json_number_text(0.1, number), "0.1");
}

static void fits(const char *from, size_t width, const char *expected)
{
    strbuf_reset(&text);
    size_t taken = text_fit(&text, from, strlen(from), width);
    assert_string_equal(strbuf_text(&text), expected);
    assert_int_equal(taken, text_width(expected, strlen(expected)));
    assert_true(taken <= width);
}

static void texts_are_cut_by_columns(void **state)
{
    (void)state;
    fits("abcdef", 6, "abcdef");
    fits("abcdefg", 6, "abcde…");
    fits("abcdefghijklmnopqrstuvwxyz", 12, "abcdefg…wxyz");
    fits("日本語", 6, "日本語");
    fits("日本語", 5, "日本…");
    fits("日本語", 4, "日…");
    fits("e\xcc\x81", 1, "e\xcc\x81");
    fits("abc", 0, "");
    fits("abc", 1, "…");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_table_has_numbers_to_the_right_and_tells_methods_apart),
        TEST(colours_are_of_the_outcome),
        TEST(a_long_command_is_cut_to_the_screen),
        TEST(the_end_of_a_command_stays_where_it_tells_it_from_others),
        TEST(a_command_is_cut_so_that_what_ran_is_seen),
        TEST(a_script_on_a_command_line_is_one_line),
        TEST(seconds_are_told_where_two_runs_share_a_minute),
        TEST(columns_are_left_out_for_the_command_and_named),
        TEST(a_row_is_broken_between_columns_on_the_narrowest_screens),
        TEST(the_oom_killer_is_seen_beside_the_exit_code),
        TEST(a_prefix_is_told_as_it_is_pasted),
        TEST(parts_are_told_once_and_bounds_by_a_word),
        TEST(control_characters_do_not_reach_the_screen),
        TEST(rows_without_the_value_stand_last_either_way),
        TEST(ranks_of_a_job_fold_into_one_row),
        TEST(a_group_says_where_values_are_missing_or_of_several_methods),
        TEST(what_is_missing_makes_the_least_an_upper_bound),
        TEST(a_group_with_runs_that_go_on_has_used_so_much_at_least),
        TEST(named_columns_of_a_group_are_folds),
        TEST(csv_is_quoted_as_rfc_4180_wants_it),
        TEST(json_of_a_field_is_copied_or_becomes_a_text),
        TEST(yaml_escapes_what_yaml_does_not_let_stand),
        TEST(yaml_names_that_are_words_are_quoted),
        TEST(nothing_is_still_a_whole_document),
        TEST(numbers_are_read_back_as_they_were),
        TEST(texts_are_cut_by_columns),
    };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    text = (struct strbuf)STRBUF_INIT;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
