/* The table of a listing of runs, as a person reads it. */
#include "listing_fixture.h"

static void a_table_has_numbers_to_the_right_and_tells_methods_apart(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_three();
    run_listing_sort(&listing, NULL, 0, false);
    assert_string_equal(table(0, false),
                        "ID     START 2026   EXIT        WALL         CPU   MEMORY    RUN   COMMAND\n"
                        "00000  11-15 07:42     0       1.5 s      500 ms    1 MiB a  run_  true\n"
                        "00000  11-15 07:43     1  1 min 30 s  2 min 00 s  ≤64 MiB b  run_  false\n"
                        "00000  11-15 07:44  lost           -           -        -    run_  sleep\n"
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
    run_listing_sort(&listing, NULL, 0, false);
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
    const char *shown = table(87, false);
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
        {"/usr/lib/gcc/12/cc1 -quiet -I include -D X src/a.c -quiet -o /tmp/a.s", "…/cc1 -quiet -… src/a.c…",
         24, true},
        {"/usr/lib/gcc/12/cc1 -quiet -I include -D X src/a.c -quiet -o /tmp/a.s",
         "…/cc1 -quiet -I … src/a.c…", 26, false},
        {"gcc -O2 -Wall -Wextra -o build/a.o -c lib/src/a.c", "gcc -O2 -Wa… lib/src/a.c", 24, true},
        {"gcc -O2 -Wall -o build/a.o -c a/very/long/way/to/a.c", "gcc …ong/way/to/a.c", 20, true},
        {"gcc -c lib/src/a.c -O2 -Wall -Wextra -o build/a.o", "gcc -c lib/src/a.c -O2…", 23, true},
        {"/usr/bin/ld --eh-frame-hdr -m elf_x86_64 -o prog a.o b.o", "…/ld --eh-fra… prog…", 20, true},
        {"as --64 -I include -o build/a.o /tmp/x.s", "as --64… build/a.o…", 19, true},
        {"cc1plus -quiet -I include src/table.cc", "cc1plus -…", 10, false},
        {"gcc    -O2    -Wall   -o build/a.o -c lib/src/a.c", "gcc    -O2 … lib/src/a.c", 24, true},
        {"gcc -c a.c                                      ", "gcc -c a.c          …", 21, false},
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
    assert_non_null(strstr(table(0, false), "\n00000  11-15 07:42     0"));
    add_run((struct run){NULL, "c", START + 5, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_non_null(strstr(table(0, false), "\n00000  11-15 07:42:53     0"));
    assert_non_null(strstr(table(0, false), "\n00000  11-15 07:44:23     0"));
}

static void columns_are_left_out_for_the_command_and_named(void **state)
{
    static const char command[] = "python3 train.py --learning-rate 0.001 --momentum 0.9";

    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    processes = 3;
    add_run((struct run){"night", command, START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    add_run((struct run){"night", command, START + 60, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    const char *shown = table(81, false);
    assert_null(strstr(shown, "night")); /* the same in all */
    assert_non_null(strstr(shown, "PROCS"));
    assert_non_null(strstr(shown, "\nno room for JOB, RUN\n"));
    shown = table(71, false);
    assert_non_null(strstr(shown, "  python3 train.py --learn"));
    assert_non_null(strstr(shown, "\nno room for PROCS, JOB, RUN"));
    assert_non_null(strstr(table(PREFIX_SCREEN, false), "  run_  python3 train.py"));
    add_run((struct run){"day", command, START + 120, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    assert_non_null(strstr(table(79, false), "night")); /* it tells them apart now */
    assert_null(strstr(table(72, false), "night"));     /* but the id tells more */
    assert_non_null(strstr(table(30, false), "00000"));
}

static void the_prefix_goes_first_on_a_narrow_screen_and_an_empty_column_before_it(void **state)
{
    (void)state;
    assert_int_equal(run_columns_add_usual(&listing, true), 0);
    add_run((struct run){"night", "true", START, 0, 1, 1, MIB, NULL, NULL, NULL, RECORDING_ENDED});
    const char *shown = table(80, false); /* no process was counted */
    assert_non_null(strstr(shown, "  night  run_  true\n"));
    assert_null(strstr(shown, "no room"));
    assert_null(strstr(shown, "PROCS"));
    processes = 3;
    add_run((struct run){"day", "python3 train.py --learning-rate 0.1", START, 0, 1, 1, MIB, NULL, NULL, NULL,
                         RECORDING_ENDED});
    assert_non_null(strstr(table(100, false), "  RUN   COMMAND\n"));
    assert_null(strstr(table(0, false), "no room"));
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

static void ids_have_as_many_digits_as_tell_them_apart(void **state)
{
    static const struct {
        uint64_t id;
        size_t digits;
    } cases[] = {{0x1234500000, 5},  {0x123ff00000, 7},  {0x123ff01000, 8}, {0x123ff01fff, 8},
                 {0xfedcba9876, 10}, {0xfedcba9875, 10}, {0xabcde00000, 5}, {0xabcde00000, 5}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(run_listing_note_id(&listing, cases[i].id), 0);
    run_listing_sort(&listing, NULL, 0, false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(run_listing_id_digits(&listing, cases[i].id), cases[i].digits);
}

static void the_oom_killer_is_seen_beside_the_exit_code(void **state)
{
    static const struct {
        const char *victim; /* "": nobody; NULL: the recording has no outcome */
        double kills, exit_code;
        bool oom;
    } cases[] = {
        {"processes", 1, 137, true}, {"processes", 1, 0, true}, {"group", 1, 0, false}, /* maybe another's */
        {"group", 1, 1, true},       {"", 0, 0, false},         {NULL, 2, 9, true},     {NULL, 0, 9, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct recorded_field fields[] = {
            {.name = "exit_code", .kind = FIELD_NUMBER, .number = cases[i].exit_code},
            {.name = "cgroup_oom_kills", .kind = FIELD_NUMBER, .number = cases[i].kills},
            {.name = "outcome.kind", .kind = FIELD_TEXT, .text = "exited"},
            {.name = "outcome.oom_victim", .kind = FIELD_TEXT, .text = cases[i].victim},
        };
        size_t count = !cases[i].victim ? 2 : cases[i].victim[0] ? 4 : 3;
        struct recording recording = {.path = "p", .fields = fields, .field_count = count};
        run_listing_fini(&listing);
        assert_int_equal(run_columns_add_usual(&listing, true), 0);
        assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
        assert_int_equal(strstr(table(0, false), " oom ") != NULL, cases[i].oom);
        assert_int_equal(strstr(table(0, true), "\033[31m") != NULL, cases[i].oom || cases[i].exit_code != 0);
    }
}

static void a_time_limit_is_seen_beside_the_exit_code(void **state)
{
    struct recorded_field fields[] = {
        {.name = "exit_code", .kind = FIELD_NUMBER, .number = 143},
        {.name = "outcome.time_limit.source", .kind = FIELD_TEXT, .text = "SLURM_JOB_END_TIME"},
    };

    (void)state;
    for (size_t count = 1; count <= 2; count++) {
        struct recording recording = {.path = "p", .fields = fields, .field_count = count};
        run_listing_fini(&listing);
        assert_int_equal(run_columns_add_usual(&listing, true), 0);
        assert_int_equal(run_listing_add(&listing, &recording, NULL), 0);
        assert_int_equal(strstr(table(0, false), " 143 time ") != NULL, count == 2);
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
                                       .bound = BOUND_UPPER,
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
    const struct CMUnitTest tests[] = {
        TEST(a_table_has_numbers_to_the_right_and_tells_methods_apart),
        TEST(colours_are_of_the_outcome),
        TEST(a_long_command_is_cut_to_the_screen),
        TEST(the_end_of_a_command_stays_where_it_tells_it_from_others),
        TEST(a_command_is_cut_so_that_what_ran_is_seen),
        TEST(a_script_on_a_command_line_is_one_line),
        TEST(seconds_are_told_where_two_runs_share_a_minute),
        TEST(columns_are_left_out_for_the_command_and_named),
        TEST(the_prefix_goes_first_on_a_narrow_screen_and_an_empty_column_before_it),
        TEST(a_row_is_broken_between_columns_on_the_narrowest_screens),
        TEST(ids_have_as_many_digits_as_tell_them_apart),
        TEST(the_oom_killer_is_seen_beside_the_exit_code),
        TEST(a_time_limit_is_seen_beside_the_exit_code),
        TEST(a_prefix_is_told_as_it_is_pasted),
        TEST(parts_are_told_once_and_bounds_by_a_word),
        TEST(control_characters_do_not_reach_the_screen),
        TEST(texts_are_cut_by_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
