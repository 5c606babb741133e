/* Listings of runs: their order and their groups. */
#include "listing_fixture.h"

static void rows_without_the_value_stand_last_either_way(void **state)
{
    static const double walls[] = {5, -1, 1, 9, -1, 3};
    static const double up[] = {1, 3, 5, 9}, down[] = {9, 5, 3, 1};

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    for (size_t i = 0; i < 6; i++)
        add_run((struct run){NULL, "x", START, 0, walls[i], 1, 1, NULL, NULL, NULL, RECORDING_ENDED});
    const size_t wall = (size_t)run_listing_column(&listing, "wall");
    for (int reverse = 0; reverse < 2; reverse++) {
        run_listing_sort(&listing, &wall, 1, reverse);
        for (size_t i = 0; i < 4; i++)
            assert_true(listing.rows[i]->cells[wall].number == (reverse ? down[i] : up[i]));
        assert_false(listing.rows[4]->cells[wall].there);
        assert_false(listing.rows[5]->cells[wall].there);
    }
}

static void equals_are_in_the_order_of_the_next_column(void **state)
{
    static const double walls[] = {2, 1, 2, 1};
    static const double cpus[] = {5, 6, 3, 7};
    static const double up[] = {6, 7, 3, 5}, down[] = {5, 3, 7, 6};

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    for (size_t i = 0; i < 4; i++)
        add_run((struct run){NULL, "x", START, 0, walls[i], cpus[i], 1, NULL, NULL, NULL, RECORDING_ENDED});
    const size_t columns[] = {(size_t)run_listing_column(&listing, "wall"),
                              (size_t)run_listing_column(&listing, "cpu_seconds")};
    for (int reverse = 0; reverse < 2; reverse++) {
        run_listing_sort(&listing, columns, 2, reverse);
        for (size_t i = 0; i < 4; i++)
            assert_true(listing.rows[i]->cells[columns[1]].number == (reverse ? down[i] : up[i]));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_without_the_value_stand_last_either_way),
        TEST(equals_are_in_the_order_of_the_next_column),
        TEST(ranks_of_a_job_fold_into_one_row),
        TEST(a_group_says_where_values_are_missing_or_of_several_methods),
        TEST(what_is_missing_makes_the_least_an_upper_bound),
        TEST(a_group_with_runs_that_go_on_has_used_so_much_at_least),
        TEST(named_columns_of_a_group_are_folds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
