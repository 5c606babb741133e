/* A plot on a terminal: exactly what is on the screen, and never more than fits on it. */
#include "view/plot/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "plot_fixture.h"
#include "view/plot/canvas.h"

static struct recording recording;
static struct plot plot;
static struct strbuf text;
static struct metron_error error;

static int begin(void **state)
{
    const struct plot_wish wish = {0};

    (void)state;
    (void)setenv("TZ", "UTC", 1);
    recording = made_recording();
    error = (struct metron_error){0};
    return plot_init(&plot, &recording, &wish, &error);
}

static int end(void **state)
{
    (void)state;
    plot_fini(&plot);
    strbuf_fini(&text);
    return 0;
}

/* Twenty windows of half a second: CPU up and down, memory that grows, an OOM kill at the end. */
static void add_run(void)
{
    static const double cpu[] = {20, 90, 100, 100, 40, 40, 200, 390, 380, 10};

    for (int j = 0, i; j < 20; j++) {
        i = j / 2;
        assert_int_equal(RECORD(&plot, (j + 1) / 2.0, SINGLE_VALUE(CPU_TOTAL, cpu[i]),
                                SINGLE_VALUE(CPU_MEAN, cpu[i] / 2), SINGLE_VALUE(RSS_TOTAL, 2e8 * (i + 1)),
                                SINGLE_VALUE(PSS_TOTAL, 1.5e8 * (i + 1)), PROCESS_VALUE(CPU, "7", cpu[i] / 4),
                                PROCESS_VALUE(CPU, "8", 10)),
                         0);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(plot_add_event(&plot, &(struct recorded_event){.wall = MADE_START + 2 + 0.1 * i,
                                                                        .type = "spawn"}),
                         0);
    assert_int_equal(
        plot_add_event(&plot, &(struct recorded_event){.wall = MADE_START + 9.95, .type = "oom"}), 0);
    assert_int_equal(plot_finish(&plot), 0);
}

/* The screen as tests/golden/plot/NAME.txt has it; METRON_UPDATE_GOLDEN=1 writes it anew, to be looked at. */
static void draws_as(struct plot_terminal terminal, const char *name)
{
    struct strbuf expected = STRBUF_INIT;
    char path[128];

    (void)snprintf(path, sizeof(path), "tests/golden/plot/%s.txt", name);
    strbuf_reset(&text);
    assert_int_equal(plot_terminal_draw(&plot, &terminal, &text, &error), 0);
    if (getenv("METRON_UPDATE_GOLDEN"))
        assert_int_equal(file_replace(AT_FDCWD, path, strbuf_text(&text), text.length, 0644), 0);
    assert_int_equal(file_read_all(AT_FDCWD, path, 1 << 20, &expected), 0);
    assert_string_equal(strbuf_text(&text), strbuf_text(&expected));
    strbuf_fini(&expected);
}

static void draws(unsigned columns, unsigned rows, bool colors, const char *name)
{
    draws_as((struct plot_terminal){columns, rows, colors, false}, name);
}

static void without_colours_only_the_main_lines_are_drawn(void **state)
{
    (void)state;
    add_run();
    draws(60, 20, false, "made-60x20");
}

static void colours_show_the_mean_and_the_processes_too(void **state)
{
    (void)state;
    add_run();
    draws(50, 20, true, "made-50x20-color");
}

static void one_record_is_a_line_of_its_window(void **state)
{
    (void)state;
    assert_int_equal(RECORD(&plot, 10, SINGLE_VALUE(CPU_TOTAL, 50)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    draws(40, 16, false, "made-one-record");
}

static void few_records_are_hatched_from_mean_to_highest(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(RECORD(&plot, i + 1, SINGLE_VALUE(CPU_TOTAL, 100),
                                SINGLE_VALUE(CPU_MEAN, 20 + 30 * i), SINGLE_VALUE(RSS_TOTAL, 2e8 * (i + 1))),
                         0);
    assert_int_equal(plot_finish(&plot), 0);
    draws(60, 20, false, "made-few");
}

static void lines_that_are_alike_have_letters(void **state)
{
    (void)state;
    plot_fini(&plot);
    assert_int_equal(plot_init(&plot, &recording, &(struct plot_wish){.keys = "proc_rss"}, &error), 0);
    for (int i = 0; i < 15; i++)
        assert_int_equal(RECORD(&plot, i + 1, PROCESS_VALUE(RSS, "7", 1e8), PROCESS_VALUE(RSS, "8", 9e7 + i),
                                PROCESS_VALUE(RSS, "9", 1e8 + i), PROCESS_TEXT(CMD, "9", "sh -c 'sleep 7'"),
                                PROCESS_VALUE(RSS, "10", 1e7 * (i + 1))),
                         0);
    assert_int_equal(plot_finish(&plot), 0);
    draws(60, 16, false, "made-letters");
}

static void ascii_is_all_that_is_written_on_demand(void **state)
{
    struct recorded_field fields[sizeof(made_fields) / sizeof(made_fields[0])];

    (void)state;
    plot_fini(&plot);
    memcpy(fields, made_fields, sizeof(fields));
    fields[0].text = "python3 über.py 中文 …";
    recording.fields = fields;
    assert_int_equal(plot_init(&plot, &recording, &(struct plot_wish){0}, &error), 0);
    add_run();
    draws_as((struct plot_terminal){60, 20, false, true}, "made-ascii");
    for (const char *each = strbuf_text(&text); *each; each++)
        assert_true((unsigned char)*each < 0x7f);
}

/* Columns of one line, without what only colours. */
static size_t line_columns(const char *line, size_t length)
{
    size_t columns = 0;

    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\033')
            i += strcspn(line + i, "m");
        else
            columns += ((unsigned char)line[i] & 0xc0) != 0x80;
    }
    return columns;
}

static void nothing_is_wider_or_higher_than_the_screen(void **state)
{
    (void)state;
    add_run();
    for (unsigned columns = 30; columns <= 300; columns += 7)
        for (unsigned rows = 16; rows <= 70; rows += 9)
            for (unsigned how = 0; how < 4; how++) {
                strbuf_reset(&text);
                if (plot_terminal_draw(&plot, &(struct plot_terminal){columns, rows, how & 1, how & 2}, &text,
                                       &error) == -ENOSPC)
                    continue;
                size_t lines = 0;
                for (const char *line = strbuf_text(&text); *line; lines++) {
                    const size_t length = strcspn(line, "\n");
                    assert_true(line_columns(line, length) <= columns);
                    line += length + 1;
                }
                assert_int_equal(lines, rows);
            }
}

static void too_few_lines_are_told(void **state)
{
    (void)state;
    add_run();
    assert_int_equal(plot_terminal_draw(&plot, &(struct plot_terminal){80, 10, false, false}, &text, &error),
                     -ENOSPC);
    assert_string_equal(error.message, "10 lines are too few for 2 panels: 16 would do (--size)");
    assert_int_equal(plot_terminal_draw(&plot, &(struct plot_terminal){80, 16, false, false}, &text, &error),
                     0);
}

static void a_dot_is_a_bit_of_a_braille_pattern(void **state)
{
    struct plot_canvas canvas;

    (void)state;
    assert_int_equal(plot_canvas_init(&canvas, 2, 1, false), 0);
    plot_canvas_dot(&canvas, 0, 0, 5);
    plot_canvas_dot(&canvas, 1, 3, 4);
    plot_canvas_column(&canvas, 3, 9, -4, 7);
    plot_canvas_dot(&canvas, 4, 0, 1); /* beyond */
    plot_canvas_dot(&canvas, 0, -1, 1);
    plot_canvas_character(&canvas, 0, 0, &text);
    plot_canvas_character(&canvas, 1, 0, &text);
    assert_string_equal(strbuf_text(&text), "⢁⢸");
    assert_int_equal(plot_canvas_ink(&canvas, 0, 0), 4);
    plot_canvas_fini(&canvas);
}

static void inks_apart_do_not_share_a_character(void **state)
{
    struct plot_canvas canvas;

    (void)state;
    assert_int_equal(plot_canvas_init(&canvas, 1, 1, true), 0);
    plot_canvas_dot(&canvas, 0, 0, 5);
    plot_canvas_dot(&canvas, 1, 3, 4);
    plot_canvas_dot(&canvas, 0, 1, 6);
    plot_canvas_character(&canvas, 0, 0, &text);
    assert_string_equal(strbuf_text(&text), "⢀");
    plot_canvas_fini(&canvas);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_colours_only_the_main_lines_are_drawn),
        TEST(colours_show_the_mean_and_the_processes_too),
        TEST(one_record_is_a_line_of_its_window),
        TEST(few_records_are_hatched_from_mean_to_highest),
        TEST(lines_that_are_alike_have_letters),
        TEST(ascii_is_all_that_is_written_on_demand),
        TEST(nothing_is_wider_or_higher_than_the_screen),
        TEST(too_few_lines_are_told),
        TEST(a_dot_is_a_bit_of_a_braille_pattern),
        TEST(inks_apart_do_not_share_a_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
