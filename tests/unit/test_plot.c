/* What a plot shows of a recording: which keys by default, which on request, and what is told in words. */
#include "view/plot/plot.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "plot_fixture.h"

static struct recording recording;
static struct plot plot;
static struct metron_error error;

static int begin(void **state)
{
    (void)state;
    recording = made_recording();
    error = (struct metron_error){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    plot_fini(&plot);
    return 0;
}

static int choose(const char *keys, const char *cpu, const char *memory)
{
    const struct plot_wish wish = {.keys = keys, .cpu = cpu, .memory = memory};

    return plot_init(&plot, &recording, &wish, &error);
}

/* "main proc_pdcpu_total, mean proc_ave_pdcpu_total" */
static const char *lines_of(size_t panel)
{
    static const char *const roles[] = {"main", "beside", "mean", "subject"};
    static char text[512];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < plot.panels[panel]->line_count; i++) {
        const struct plot_line *line = &plot.panels[panel]->lines[i];
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %s", i ? ", " : "",
                                   roles[line->role], line->label ? line->label : "");
    }
    return text;
}

static void the_default_is_cpu_above_memory(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(plot.panel_count, 2);
    assert_string_equal(plot.panels[0]->title, "CPU");
    assert_string_equal(lines_of(0), "main proc_pdcpu_total, mean proc_ave_pdcpu_total");
    assert_string_equal(plot.panels[0]->groups[0].key->key, "proc_pdcpu");
    /* Memory by the method of the headline; the sum of RSS beside it says what it is. */
    assert_string_equal(lines_of(1), "main smaps_pss_total, beside proc_rss_total (counts shared pages in "
                                     "each process)");
    assert_string_equal(plot.panels[1]->groups[0].key->key, "proc_rss");
    assert_true(plot.wanted[CPU_MEAN] && plot.wanted[RSS] && !plot.wanted[CMD] && !plot.wanted[PROCESSES]);
}

/* Whichever source reads them. */
static void devices_have_a_panel_below_them(void **state)
{
    struct recorded_key keys[] = {made_keys[CPU_TOTAL],
                                  KEY("npu_mem", TOPIC_OTHER, BOUND_NONE, "npu", NULL, UNIT_BYTES,
                                      SCOPE_PER_DEVICE, TYPE_GAUGE, REDUCE_MAX),
                                  KEY("npu_busy", TOPIC_OTHER, BOUND_NONE, "npu", NULL, UNIT_PERCENT,
                                      SCOPE_PER_DEVICE, TYPE_GAUGE, REDUCE_MAX)};
    struct usage_value values[] = {{.key = 2, .kind = FIELD_NUMBER, .subject = "0", .number = 30},
                                   {.key = 2, .kind = FIELD_NUMBER, .subject = "1", .number = 40}};

    (void)state;
    recording.keys = keys;
    recording.key_count = 3;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(plot.panel_count, 2);
    assert_int_equal(add_record(&plot, 1, 2, values), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.panels[1]->title, "npu_busy");
    assert_int_equal(plot.panels[1]->line_count, 2);
}

/* Draws nothing but the titles, as seen in a time zone. */
static void finish_in(const char *zone)
{
    plot_fini(&plot);
    assert_int_equal(setenv("TZ", zone, 1), 0);
    tzset();
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    tzset();
}

static void the_title_is_one_line_with_cause_and_duration(void **state)
{
    (void)state;
    finish_in("UTC");
    assert_string_equal(plot.command, "python3 train.py --fast");
    assert_string_equal(plot.cause, "exited with code 3");
    assert_string_equal(plot.details[PLOT_DETAILS_ALL], " · 10 s · 2026-11-15 06:42:53 UTC");
    assert_string_equal(plot.details[PLOT_DETAILS_NO_SECONDS], " · 10 s · 2026-11-15 06:42 UTC");
    assert_string_equal(plot.details[PLOT_DETAILS_NO_START], " · 10 s");
    recording.status = RECORDING_LOST;
    finish_in("UTC");
    assert_non_null(strstr(plot.cause, "lost"));
    recording.status = RECORDING_RUNNING;
    finish_in("UTC");
    assert_string_equal(plot.cause, "still running");
    assert_string_equal(plot.details[PLOT_DETAILS_NO_START], " · 10 s so far");
}

/* Whoever wrote it: metron's start has a zone of its own, con-duct's is unix seconds. */
static void the_start_is_in_the_zone_of_the_reader_and_names_it(void **state)
{
    (void)state;
    finish_in("XYZ-01:30"); /* POSIX counts from there to UTC */
    assert_string_equal(plot.details[PLOT_DETAILS_ALL], " · 10 s · 2026-11-15 08:12:53 +01:30");
    recording.kind = RECORDING_DUCT;
    finish_in("XYZ-01:30");
    assert_string_equal(plot.details[PLOT_DETAILS_ALL], " · 10 s · 2026-11-15 08:12:53 +01:30");
    finish_in("XYZ+08");
    assert_string_equal(plot.details[PLOT_DETAILS_ALL], " · 10 s · 2026-11-14 22:42:53 -08:00");
    recording.start_wall = 0;
    finish_in("UTC");
    assert_string_equal(plot.details[PLOT_DETAILS_ALL], " · 10 s");
}

static void another_method_can_be_asked_for(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, "cgroup_cpu_seconds", "proc_rss_total"), 0);
    assert_string_equal(lines_of(0), "main cgroup_cpu_seconds / window");
    assert_non_null(strstr(lines_of(1), "main proc_rss_total"));
    /* Half a second of CPU in a window of two: 25 % of a core. */
    assert_int_equal(RECORD(&plot, 2, SINGLE_VALUE(CGROUP_SECONDS, 0.5)), 0);
    assert_true(fabs(plot.panels[0]->lines[0].series.high - 25) < 1e-9);
}

static void without_a_rate_the_seconds_of_each_window_do(void **state)
{
    struct recorded_key keys[] = {made_keys[CGROUP_SECONDS], made_keys[RSS]};
    struct recorded_field source = {
        .name = "headline.cpu_seconds.source", .kind = FIELD_TEXT, .text = "cgroup_cpu_seconds"};

    (void)state;
    recording.keys = keys;
    recording.key_count = 2;
    recording.fields = &source;
    recording.field_count = 1;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_string_equal(lines_of(0), "main cgroup_cpu_seconds / window");
    assert_string_equal(plot.panels[1]->groups[0].key->key, "proc_rss");
}

static void keys_of_one_unit_share_a_panel(void **state)
{
    (void)state;
    assert_int_equal(choose("proc_*_total, proc_processes,proc_rss_total", NULL, NULL), 0);
    assert_int_equal(plot.panel_count, 3);
    assert_string_equal(plot.panels[0]->title, "bytes");
    assert_int_equal(plot.panels[0]->line_count, 1); /* named twice, drawn once; means were not asked for */
    assert_string_equal(lines_of(1), "main proc_pdcpu_total");
    assert_string_equal(lines_of(2), "main proc_processes");
    assert_int_not_equal(plot.panels[1]->lines[0].color, plot.panels[2]->lines[0].color);
}

static void wrong_keys_are_named_with_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, "proc_pdcpu_totl", NULL), -EINVAL);
    assert_string_equal(error.message, "--cpu: the recording has no key 'proc_pdcpu_totl' (did you mean "
                                       "'proc_pdcpu_total'?)");
    plot_fini(&plot);
    assert_int_equal(choose("proc_cmd", NULL, NULL), -EINVAL);
    assert_non_null(strstr(error.message, "'proc_cmd' is told in words"));
    plot_fini(&plot);
    assert_int_equal(choose("gpu_*", NULL, NULL), -EINVAL);
    assert_non_null(strstr(error.message, "no key of the recording matches 'gpu_*'"));
    plot_fini(&plot);
    assert_int_equal(choose(NULL, NULL, "proc_pdcpu_total"), -EINVAL);
    assert_non_null(strstr(error.message, "is in percent, not in bytes"));
    plot_fini(&plot);
    assert_int_equal(choose(" , ", NULL, NULL), -EINVAL);
}

static void what_is_read_less_often_is_held_between_its_readings(void **state)
{
    (void)state;
    struct recorded_field fields[] = {
        {.name = "provenance.collectors.smaps.interval", .kind = FIELD_NUMBER, .number = 5}};
    recording.fields = fields;
    recording.field_count = 1;
    assert_int_equal(choose("smaps_pss_total,proc_rss_total", NULL, NULL), 0);
    for (int i = 0; i < 14; i++) {
        struct usage_value values[] = {SINGLE_VALUE(RSS_TOTAL, 100), SINGLE_VALUE(PSS_TOTAL, 50)};
        size_t count = i % 5 == 0 ? 2 : i == 7 ? 0 : 1; /* one record has neither */
        assert_int_equal(add_record(&plot, i + 1, count, values), 0);
    }
    assert_int_equal(plot_finish(&plot), 0);
    const struct plot_series *pss = &plot.panels[0]->lines[0].series, *rss = &plot.panels[0]->lines[1].series;
    assert_string_equal(plot.panels[0]->lines[0].label, "smaps_pss_total, held between readings");
    double end = 0;
    for (size_t i = 0; i < pss->count; i++) {
        assert_true(pss->segments[i].begin == end && pss->segments[i].low == 50);
        end = pss->segments[i].end;
    }
    assert_true(end == 14);
    assert_false(rss->held); /* it is read at every sample: what is not there is not known */
    assert_int_equal(rss->count, 13);
}

static void few_records_are_bands_between_mean_and_highest(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            RECORD(&plot, 60 * (i + 1), SINGLE_VALUE(CPU_TOTAL, 100), SINGLE_VALUE(CPU_MEAN, 20)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_non_null(strstr(plot.details[PLOT_DETAILS_NO_START], " · 3 records of up to 1 min 00 s"));
    assert_string_equal(lines_of(0), "main proc_pdcpu_total, highest in each record, mean its mean");
    assert_true(plot.panels[0]->lines[0].banded && plot.panels[0]->lines[1].banded);
    assert_false(plot.panels[1]->lines[0].banded); /* no mean of it was recorded */
    assert_true(plot_advice(&plot, &error));
    assert_string_equal(error.message,
                        "only 3 records: metron run records more often with its default intervals");
}

static void what_would_record_more_often_is_said_once(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(RECORD(&plot, 9.5, SINGLE_VALUE(CPU_TOTAL, 100)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_non_null(strstr(plot.details[PLOT_DETAILS_NO_START], " · 1 record of 9.5 s"));
    assert_true(plot_advice(&plot, &error));
    assert_string_equal(error.message,
                        "only 1 record: metron run records more often with its default intervals");
    recording.kind = RECORDING_DUCT; /* it was not metron that recorded it */
    assert_false(plot_advice(&plot, &error));
    recording.kind = RECORDING_METRON;
    struct recorded_field intervals[] = {
        {.name = "provenance.report_interval_auto", .kind = FIELD_BOOLEAN, .number = 1},
        {.name = "provenance.sample_interval_auto", .kind = FIELD_BOOLEAN, .number = 0}};
    recording.fields = intervals;
    recording.field_count = 2;
    assert_true(plot_advice(&plot, &error));
    intervals[1].number = 1; /* as often as that goes by itself */
    assert_false(plot_advice(&plot, &error));
}

static void enough_records_are_lines_without_a_word(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    for (int i = 0; i < PLOT_FEW_RECORDS; i++)
        assert_int_equal(
            RECORD(&plot, 60 * (i + 1), SINGLE_VALUE(CPU_TOTAL, 100), SINGLE_VALUE(CPU_MEAN, 20)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_null(strstr(plot.details[PLOT_DETAILS_ALL], "record"));
    assert_string_equal(lines_of(0), "main proc_pdcpu_total, mean proc_ave_pdcpu_total");
    assert_false(plot.panels[0]->lines[0].banded || plot_advice(&plot, &error));
}

/* A recording whose headline is `source`, with `methods` as its list. */
static void headline_is(struct recorded_field fields[2], const char *source, const char *methods)
{
    fields[0] = (struct recorded_field){
        .name = "peak_memory", .kind = FIELD_NUMBER, .unit = UNIT_BYTES, .number = 900, .source = source};
    fields[1] = (struct recorded_field){.name = "peak_memory_methods", .kind = FIELD_JSON, .text = methods};
    recording.fields = fields;
    recording.field_count = 2;
}

static void a_high_water_mark_has_no_curve(void **state)
{
    struct recorded_key keys[] = {made_keys[RSS_TOTAL], made_keys[PSS_TOTAL], made_keys[PSS_TOTAL]};
    struct recorded_field fields[2];

    (void)state;
    keys[2].key = "rusage_max_rss";
    keys[2].source = "rusage";
    keys[2].reduce = REDUCE_LAST;
    recording.keys = keys;
    recording.key_count = 3;
    headline_is(fields, "rusage_max_rss",
                "[7, {\"source\": \"rusage_max_rss\"}, {\"value\": 1}, {\"source\": "
                "\"smaps_peak_pss_total\", \"value\": 5}, {\"source\": \"proc_peak_rss_total\"}]");
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_string_equal(lines_of(0), "main smaps_pss_total, beside proc_rss_total (counts shared pages in "
                                     "each process)");
    /* Its peak is a level, as long as the curve stays below. */
    assert_int_equal(RECORD(&plot, 1, SINGLE_VALUE(1, 600)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_int_equal(plot.panels[0]->level_count, 1);
    assert_true(plot.panels[0]->levels[0].kind == PLOT_PEAK && !plot.panels[0]->levels[0].off_scale);
    assert_string_equal(plot.panels[0]->levels[0].label, "peak 900 B, rusage_max_rss");
    assert_true(plot.panels[0]->high > 900);
    plot_fini(&plot);
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(RECORD(&plot, 1, SINGLE_VALUE(1, 901)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_int_equal(plot.panels[0]->level_count, 0);
    plot_fini(&plot);
    headline_is(fields, "rusage_max_rss", "[{\"source\": \"rusage_max_rss\"}, {\"source\""); /* cut off */
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_string_equal(lines_of(0), "main proc_rss_total (counts shared pages in each process)");
}

static void too_many_keys_are_refused(void **state)
{
    struct recorded_key keys[PLOT_KEYS_MAX + 1];
    char names[PLOT_KEYS_MAX + 1][8];

    (void)state;
    for (size_t i = 0; i <= PLOT_KEYS_MAX; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "a_%zu", i);
        keys[i] = made_keys[PROCESSES];
        keys[i].key = names[i];
    }
    recording.keys = keys;
    recording.key_count = PLOT_KEYS_MAX + 1;
    assert_int_equal(choose("a_*", NULL, NULL), -EINVAL);
    assert_non_null(strstr(error.message, "25 keys are too many"));
    plot_fini(&plot);
    recording.key_count--;
    assert_int_equal(choose("a_*", NULL, NULL), 0);
}

static void con_ducts_lifetime_average_is_drawn_on_request_only(void **state)
{
    struct recorded_key keys[] = {made_keys[CPU_TOTAL], made_keys[CPU_TOTAL], made_keys[RSS_TOTAL]};

    (void)state;
    keys[0].key = "total_pcpu";
    keys[0].type = TYPE_GAUGE;
    keys[0].note = "an average over the life of each process, not a rate";
    keys[1].key = "total_pcpu_rate";
    keys[1].note = "an estimate";
    keys[2].key = "total_rss";
    keys[2].note = "a sum";
    recording.kind = RECORDING_DUCT;
    recording.keys = keys;
    recording.key_count = 3;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_string_equal(lines_of(0), "main total_pcpu_rate (an estimate)");
    assert_string_equal(lines_of(1), "main total_rss (a sum)");
    plot_fini(&plot);
    assert_int_equal(choose(NULL, "total_pcpu", NULL), 0);
    assert_string_equal(lines_of(0),
                        "main total_pcpu (an average over the life of each process, not a rate)");
    plot_fini(&plot);
    recording.key_count = 1; /* without the rate there is none */
    assert_int_equal(choose(NULL, NULL, NULL), -ENODATA);
}

static void a_window_reaches_from_the_record_before(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(RECORD(&plot, 1, SINGLE_VALUE(RSS_TOTAL, 10)), 0);
    assert_int_equal(RECORD(&plot, 3, SINGLE_VALUE(CPU_TOTAL, 50)), 0); /* no memory in it */
    assert_int_equal(RECORD(&plot, 4, SINGLE_VALUE(RSS_TOTAL, 30)), 0);
    assert_int_equal(RECORD(&plot, 2, SINGLE_VALUE(RSS_TOTAL, 99)), 0); /* goes back: left out, and told */
    assert_int_equal(RECORD(&plot, 1e300, SINGLE_VALUE(RSS_TOTAL, 99)), 0);
    assert_int_equal(RECORD(&plot, (double)NAN, SINGLE_VALUE(RSS_TOTAL, 99)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    const struct plot_series *series = &plot.panels[1]->lines[1].series;
    assert_int_equal(series->count, 2);
    assert_true(series->segments[0].begin == 0 && series->segments[0].end == 1);
    assert_true(series->segments[1].begin == 3 && series->segments[1].end == 4);
    assert_int_equal(plot.disordered, 3);
    assert_true(plot_damage(&plot, 0, &error) && strstr(error.message, "3 records left out"));
    assert_false(plot_damage(&plot, 1, &error));
    assert_true(plot.end == 10); /* the wall time: the run was longer than its records */
}

static void levels_near_are_drawn_and_far_ones_told(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(RECORD(&plot, 1, SINGLE_VALUE(RSS_TOTAL, 1.5e9), SINGLE_VALUE(CPU_TOTAL, 20)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.panels[0]->levels[0].label, "may use 4 CPUs");
    assert_true(plot.panels[0]->levels[0].off_scale && plot.panels[0]->high < 30);
    assert_string_equal(plot.panels[1]->levels[0].label, "limit 2 GiB");
    assert_true(!plot.panels[1]->levels[0].off_scale && plot.panels[1]->high > 2147483648.0);
    assert_string_equal(plot.panels[1]->levels[1].label, "host memory 64 GiB");
    assert_true(plot.panels[1]->levels[1].off_scale);
}

static void of_many_processes_the_largest_are_shown_and_the_rest_counted(void **state)
{
    char pid[16];

    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(pid, sizeof(pid), "%d", 100 + i);
        assert_int_equal(RECORD(&plot, i + 1, SINGLE_VALUE(RSS_TOTAL, 1000), PROCESS_VALUE(RSS, pid, i),
                                PROCESS_VALUE(CPU, "7", 5)),
                         0);
    }
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.panels[1]->groups[0].label,
                        "proc_rss of the 7 largest of 20 processes, each at its own peak");
    assert_int_equal(plot.panels[1]->line_count, 2 + PLOT_SHOWN_MAX);
    assert_true(plot.panels[1]->lines[2].role == PLOT_SUBJECT && plot.panels[1]->lines[2].series.high == 19);
    assert_null(plot.panels[0]->groups[0].label); /* one process is the whole: nothing to add */
}

static void processes_alone_have_names(void **state)
{
    (void)state;
    assert_int_equal(choose("proc_rss", NULL, NULL), 0);
    assert_true(plot.wanted[CMD]);
    assert_int_equal(RECORD(&plot, 1, PROCESS_VALUE(RSS, "7", 5), PROCESS_TEXT(CMD, "7", "sh\t-c"),
                            PROCESS_VALUE(RSS, "8", 9)),
                     0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.panels[0]->title, "proc_rss");
    assert_string_equal(lines_of(0), "main 8, main 7 sh -c");
}

static void a_panel_of_processes_says_of_how_many_it_shows_the_largest(void **state)
{
    char pid[16];

    (void)state;
    assert_int_equal(choose("proc_rss", NULL, NULL), 0);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(pid, sizeof(pid), "%d", 100 + i);
        assert_int_equal(RECORD(&plot, i + 1, PROCESS_VALUE(RSS, pid, i)), 0);
    }
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.panels[0]->note, "the 7 largest of 20 processes");
    assert_null(plot.panels[0]->groups[0].label);
    for (size_t i = 0; i < plot.panels[0]->line_count; i++)
        for (size_t j = 0; j < i; j++) /* no two of them alike */
            assert_int_not_equal(plot.panels[0]->lines[i].color % PLOT_COLOR_COUNT,
                                 plot.panels[0]->lines[j].color % PLOT_COLOR_COUNT);
}

static void a_line_without_values_is_not_promised(void **state)
{
    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    for (int i = 0; i < PLOT_FEW_RECORDS; i++)
        assert_int_equal(RECORD(&plot, i + 1, SINGLE_VALUE(CPU_TOTAL, 9), SINGLE_VALUE(RSS_TOTAL, 9)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_null(plot.panels[0]->lines[1].label); /* the mean */
    assert_string_equal(plot.panels[1]->lines[0].label, "smaps_pss_total: no values");
    plot_fini(&plot);
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(RECORD(&plot, 1, SINGLE_VALUE(CPU_TOTAL, 9)), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_false(plot.panels[1]->has_values); /* the panel says so itself */
    assert_string_equal(plot.panels[1]->lines[0].label, "smaps_pss_total");
}

static void events_are_placed_from_the_start(void **state)
{
    const struct recorded_event oom = {.wall = MADE_START + 4.5, .type = "oom"},
                                spawn = {.wall = MADE_START + 0.1, .type = "spawn"},
                                other = {.wall = MADE_START + 1, .type = "sheet.started"};

    (void)state;
    assert_int_equal(choose(NULL, NULL, NULL), 0);
    assert_int_equal(plot_add_event(&plot, &oom), 0);
    assert_int_equal(plot_add_event(&plot, &spawn), 0);
    assert_int_equal(plot_add_event(&plot, &other), 0);
    assert_int_equal(plot_marks_between(&plot.marks[PLOT_MARK_OOM], 4, 5), 1);
    assert_int_equal(plot.marks[PLOT_MARK_SPAWN].count, 1);
    assert_int_equal(plot.marks[PLOT_MARK_SIGNAL].count, 0);
}

static void sizes_are_two_numbers_within_bounds(void **state)
{
    static const char *const wrong[] = {"",        "x",    "80",      "80x",    "x24", "80x24x",
                                        "80 x 24", "9x24", "80x2001", "-80x24", "0x0", "99999999999x24",
                                        "80*24"};
    unsigned width = 0, height = 0;

    (void)state;
    assert_true(plot_parse_size("80x24", 10, 2000, &width, &height));
    assert_true(width == 80 && height == 24);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(plot_parse_size(wrong[i], 10, 2000, &width, &height));
}

/* Whoever made the recording may have put anything into it. */
static void no_control_character_reaches_the_picture(void **state)
{
    (void)state;
    struct recorded_key keys[] = {KEY("e\033[31m_total", TOPIC_OTHER, BOUND_NONE, "e", NULL, UNIT_BYTES,
                                      SCOPE_SINGLE, TYPE_GAUGE, REDUCE_MAX),
                                  KEY("e\033[31m", TOPIC_OTHER, BOUND_NONE, "e", NULL, UNIT_COUNT,
                                      SCOPE_PER_PID, TYPE_GAUGE, REDUCE_MAX)};
    struct recorded_field fields[] = {
        {.name = "start_time", .kind = FIELD_TEXT, .text = "\033[31;1m123T\033[5mabcdefgh"}};
    struct usage_value values[] = {{.key = 1, .kind = FIELD_NUMBER, .subject = "7\033", .number = 1}};

    recording.path = "a\033[31m\nb/info.json";
    recording.fields = fields;
    recording.field_count = 1;
    recording.start_wall = 0; /* such a start cannot be read */
    recording.keys = keys;
    recording.key_count = 2;
    assert_int_equal(choose("e*", NULL, NULL), 0);
    assert_int_equal(add_record(&plot, 1, 1, values), 0);
    assert_int_equal(plot_finish(&plot), 0);
    assert_string_equal(plot.command, "a\\x1b[31m b/info.json");
    assert_null(strchr(plot.cause, '\033'));
    assert_string_equal(lines_of(0), "main e\\x1b[31m_total");
    assert_string_equal(lines_of(1), "main 7\\x1b");
    assert_string_equal(plot.panels[1]->title, "e\\x1b[31m");
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_control_character_reaches_the_picture),
        TEST(the_default_is_cpu_above_memory),
        TEST(devices_have_a_panel_below_them),
        TEST(the_title_is_one_line_with_cause_and_duration),
        TEST(the_start_is_in_the_zone_of_the_reader_and_names_it),
        TEST(another_method_can_be_asked_for),
        TEST(without_a_rate_the_seconds_of_each_window_do),
        TEST(keys_of_one_unit_share_a_panel),
        TEST(wrong_keys_are_named_with_the_nearest),
        TEST(what_is_read_less_often_is_held_between_its_readings),
        TEST(few_records_are_bands_between_mean_and_highest),
        TEST(what_would_record_more_often_is_said_once),
        TEST(enough_records_are_lines_without_a_word),
        TEST(a_high_water_mark_has_no_curve),
        TEST(too_many_keys_are_refused),
        TEST(con_ducts_lifetime_average_is_drawn_on_request_only),
        TEST(a_window_reaches_from_the_record_before),
        TEST(levels_near_are_drawn_and_far_ones_told),
        TEST(of_many_processes_the_largest_are_shown_and_the_rest_counted),
        TEST(processes_alone_have_names),
        TEST(a_panel_of_processes_says_of_how_many_it_shows_the_largest),
        TEST(a_line_without_values_is_not_promised),
        TEST(events_are_placed_from_the_start),
        TEST(sizes_are_two_numbers_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
