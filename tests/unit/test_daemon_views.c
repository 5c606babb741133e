/* What people see of the daemon: its status, its jobs, its events, from fixed answers. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "view/daemon_status.h"
#include "view/event_lines.h"
#include "view/job_table.h"
#include "view/text_width.h"

#define NOW 1794781444.0 /* 2026-11-15 22:24:04 UTC */

static struct strbuf text;

static int begin(void **state)
{
    (void)state;
    text = (struct strbuf)STRBUF_INIT;
    (void)setenv("TZ", "UTC0", 1);
    tzset();
    return 0;
}

static int end(void **state)
{
    (void)state;
    strbuf_fini(&text);
    return 0;
}

/* As tests/golden/daemon/NAME.txt has it; METRON_UPDATE_GOLDEN=1 writes it anew, to be looked at. */
static void is_golden(const char *name)
{
    struct strbuf expected = STRBUF_INIT;
    char path[128];

    (void)snprintf(path, sizeof(path), "tests/golden/daemon/%s.txt", name);
    if (getenv("METRON_UPDATE_GOLDEN"))
        assert_int_equal(file_replace(AT_FDCWD, path, strbuf_text(&text), text.length, 0644), 0);
    assert_int_equal(file_read_all(AT_FDCWD, path, 1 << 20, &expected), 0);
    assert_string_equal(strbuf_text(&text), strbuf_text(&expected));
    strbuf_fini(&expected);
}

static size_t widest(void)
{
    size_t most = 0;

    for (const char *line = strbuf_text(&text); *line;) {
        size_t length = strcspn(line, "\n"), width = text_width(line, length);
        most = width > most ? width : most;
        line += length + (line[length] == '\n');
    }
    return most;
}

/* ---- jobs ---- */

#define USAGE(rest)                                                                                          \
    "\"usage\":{\"cpu_seconds\":161.319,\"proc_cpu_seconds\":161.319,\"peak_rss_mb\":62.574,"                \
    "\"read_bytes\":0,\"write_bytes\":4096,"                                                                 \
    "\"spawned\":42,\"exited\":40,\"unique_processes\":42,\"peak_processes\":2," rest "}"

/* clang-format off */
static const char jobs[] =
    "[{\"job_id\":\"night\",\"status\":\"running\",\"pid\":14772,\"started\":1794781341.645,"
    USAGE("\"spawned_is_exact\":true,\"peak_pss_mb\":60.5") ",\"sheets\":[]},"
    "{\"job_id\":\"a long name of a job that has to be cut somewhere, and whose end tells it apart: 17\","
    "\"status\":\"completed\",\"started\":1794681341.645,\"ended\":1794688541.645,"
    USAGE("\"spawned_is_exact\":false") ",\"sheets\":[]},"
    "{\"job_id\":\"日本語のジョブ\",\"status\":\"failed\",\"started\":1794781441.9,\"ended\":1794781442,"
    "\"usage\":{\"largest_hwm_mb\":1.5,\"spawned\":1,\"spawned_is_exact\":true}},"
    "{\"job_id\":\"bad\\u001b[31m\\n\",\"status\":\"running\",\"started\":1794781442.5,"
    "\"usage\":{\"spawned\":0,\"spawned_is_exact\":false},\"sheets\":[]}]";
/* clang-format on */

static void a_list_of_jobs_fits_80_columns(void **state)
{
    (void)state;
    job_table_write(&text, jobs, sizeof(jobs) - 1, NOW, 80);
    assert_true(widest() <= 80);
    is_golden("jobs-80");
}

static void letters_begin_with_a_in_the_order_of_the_rows(void **state)
{
    static const char list[] = "[{\"job_id\":\"x\",\"usage\":{\"largest_hwm_mb\":1.5}},"
                               "{\"job_id\":\"y\",\"usage\":{\"peak_pss_mb\":3}}]";

    (void)state;
    job_table_write(&text, list, sizeof(list) - 1, NOW, 80);
    assert_non_null(strstr(strbuf_text(&text), "MEMORY a: of the largest single process"));
    assert_non_null(strstr(strbuf_text(&text), "MEMORY b: sum of PSS"));
    strbuf_reset(&text);
}

static void a_list_into_a_file_is_not_cut(void **state)
{
    (void)state;
    job_table_write(&text, jobs, sizeof(jobs) - 1, NOW, 0);
    assert_non_null(strstr(strbuf_text(&text), "whose end tells it apart: 17"));
    assert_null(strchr(strbuf_text(&text), '\x1b'));
    is_golden("jobs");
}

static void no_jobs_say_how_to_begin_one(void **state)
{
    (void)state;
    job_table_write(&text, "[]", 2, NOW, 80);
    assert_string_equal(strbuf_text(&text), "no jobs; 'metron job start NAME' begins one\n");
}

static void a_job_names_the_method_of_each_number(void **state)
{
    static const char job[] =
        "{\"job_id\":\"night\",\"workspace\":\"/data/night\",\"config_hash\":\"77ab\",\"total_sheets\":3,"
        "\"status\":\"completed\",\"pid\":14772,\"started\":1794781341.645,\"ended\":1794781343.9," USAGE(
            "\"spawned_is_exact\":true,\"peak_pss_mb\":60.5,\"largest_hwm_mb\":61,\"peak_cgroup_mb\":88,"
            "\"cgroup_cpu_seconds\":162,\"oom_kills\":2") ",\"sheets\":["
                                                          "{\"sheet_num\":1,\"status\":\"completed\",\"pid\":"
                                                          "14862,"
                                                          "\"started\":1794781341.85,"
                                                          "\"ended\":1794781343.5,\"tries\":1," USAGE(
                                                              "\"spawned_is_exact\":true") "},"
                                                                                           "{\"sheet_num\":2,"
                                                                                           "\"status\":"
                                                                                           "\"retrying\","
                                                                                           "\"started\":"
                                                                                           "1794781341.9,"
                                                                                           "\"tries\":0,"
                                                                                           "\"usage\":{"
                                                                                           "\"spawned\":0,"
                                                                                           "\"spawned_is_"
                                                                                           "exact\":false}}]"
                                                                                           "}";

    (void)state;
    job_page_write(&text, job, sizeof(job) - 1, NOW, 80);
    assert_true(widest() <= 80);
    is_golden("job-80");
}

static void cpu_that_is_a_lower_bound_is_shown_as_one(void **state)
{
    static const char list[] =
        "[{\"job_id\":\"x\",\"status\":\"running\",\"usage\":{\"cpu_seconds\":90,"
        "\"cpu_is_exact\":false}},{\"job_id\":\"y\",\"status\":\"running\",\"usage\":{\"cpu_seconds\":80}}]";
    static const char page[] =
        "{\"job_id\":\"x\",\"cpu_seconds\":90,\"cpu_is_exact\":false,\"proc_cpu_seconds\":90}";

    (void)state;
    job_table_write(&text, list, sizeof(list) - 1, NOW, 80);
    assert_non_null(strstr(strbuf_text(&text), "  ≥1 min 30 s  "));
    assert_non_null(strstr(strbuf_text(&text), "   1 min 20 s  "));
    assert_non_null(strstr(strbuf_text(&text), "CPU ≥: "));
    assert_true(widest() <= 80);
    strbuf_reset(&text);
    job_page_write(&text, page, sizeof(page) - 1, NOW, 80);
    assert_non_null(strstr(strbuf_text(&text), "at least 1 min 30 s of all its processes"));
    strbuf_reset(&text);
}

static void exits_that_are_not_known_are_no_successes(void **state)
{
    static const char job[] = "{\"job_id\":\"x\",\"status\":\"failed\",\"exit_code\":2}";
    struct job_happenings happenings = {0};

    (void)state;
    job_report_write(&text, job, sizeof(job) - 1, &happenings, NOW);
    assert_non_null(strstr(strbuf_text(&text), "failed at least 1 with another code than 0"));
    strbuf_reset(&text);
    happenings = (struct job_happenings){.failed = 3, .unknown = 2};
    job_report_write(&text, job, sizeof(job) - 1, &happenings, NOW);
    assert_non_null(strstr(strbuf_text(&text), "failed at least 3 with"));
    assert_non_null(strstr(strbuf_text(&text), "of 2 it is not known how they ended"));
    strbuf_reset(&text);
    happenings.unknown = 0;
    job_report_write(&text, job, sizeof(job) - 1, &happenings, NOW);
    assert_non_null(strstr(strbuf_text(&text), "failed 3 with"));
    strbuf_reset(&text);
}

static void a_profile_without_times_has_its_wall_time(void **state)
{
    static const char profile[] =
        "{\"job_id\":\"x\",\"status\":\"running\",\"wall_seconds\":90,\"spawned\":1,"
        "\"spawned_is_exact\":false,\"sheets\":[]}";

    (void)state;
    job_page_write(&text, profile, sizeof(profile) - 1, NOW, 80);
    is_golden("profile-80");
}

static void what_is_no_json_does_no_harm(void **state)
{
    static const char *const wrong[] = {"", "[", "3", "{}", "[3,{\"usage\":7}]", "null", "{"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        job_table_write(&text, wrong[i], strlen(wrong[i]), NOW, 80);
        job_page_write(&text, wrong[i], strlen(wrong[i]), NOW, 80);
        daemon_status_write(&text, wrong[i], strlen(wrong[i]));
    }
}

/* No calendar has it. */
static void a_time_out_of_bounds_is_not_shown(void **state)
{
    static const char job[] = "{\"job_id\":\"x\",\"status\":\"running\",\"started\":1e300,\"ended\":1e300}";
    static const char event[] = "{\"timestamp\":1e300,\"event_type\":\"exit\",\"pid\":7}";
    struct event_lines lines = {.width = 80, .day = -1};

    (void)state;
    job_page_write(&text, job, sizeof(job) - 1, NOW, 80);
    assert_null(strstr(strbuf_text(&text), "started"));
    strbuf_reset(&text);
    assert_true(event_lines_add(&lines, event, sizeof(event) - 1, &text));
    assert_true(strncmp(strbuf_text(&text), "-  ", 3) == 0);
}

static void a_report_shows_no_control_characters(void **state)
{
    static const char job[] = "{\"job_id\":\"a\\u001b[31mb\",\"status\":\"running\",\"syscall_hotspots\":"
                              "{\"re\\u001b[31mad\":{\"count\":7,\"seconds\":1}}}";

    (void)state;
    job_report_write(&text, job, sizeof(job) - 1, NULL, NOW);
    assert_null(strchr(strbuf_text(&text), '\x1b'));
    assert_non_null(strstr(strbuf_text(&text), "re\\x1b[31mad"));
}

/* ---- status ---- */

static void the_status_shows_no_control_characters(void **state)
{
    static const char status[] = "{\"version\":\"9\",\"store\":{\"a\\u001b[31mb\\n\":\"disk full\"}}";

    (void)state;
    daemon_status_write(&text, status, sizeof(status) - 1);
    assert_null(strchr(strbuf_text(&text), '\x1b'));
    assert_non_null(strstr(strbuf_text(&text), "  trouble   a\\x1b[31mb\\x0a: disk full\n"));
}

static void the_status_tells_figures_with_units(void **state)
{
    static const char status[] =
        "{\"pid\":14723,\"uptime_seconds\":7384.7,\"running_jobs\":1,\"total_jobs_active\":1,"
        "\"memory_usage_mb\":13.133,\"version\":\"0.1.0\",\"interval\":5,\"ticks\":1476,\"missed_ticks\":2,"
        "\"tick_seconds\":0.000322,\"longest_tick_seconds\":0.003327,\"cpu_seconds\":10.25,"
        "\"events_lost\":3,\"processes_seen_by\":\"bpf\",\"processes\":1200,\"clients\":1,\"store\":{"
        "\"snapshots_written\":1474,"
        "\"snapshots_dropped\":1,\"events_dropped\":7,\"queue_length\":1,\"longest_delay_seconds\":0.0019,"
        "\"history\":\"disk full\\u001b\",\"history_remark\":\"it was removed; a new one is begun\"}}";

    (void)state;
    daemon_status_write(&text, status, sizeof(status) - 1);
    is_golden("status");
}

static void what_the_status_lacks_is_not_shown_as_zero(void **state)
{
    (void)state;
    daemon_status_write(&text, "{\"pid\":5,\"version\":\"9\"}", 23);
    is_golden("status-bare");
}

/* ---- events ---- */

static const char *const happened[] = {
    "{\"timestamp\":1794695041.5,\"event_type\":\"spawn\",\"pid\":77,\"command\":\"make\",\"seen\":"
    "\"event\"}",
    "{\"timestamp\":1794781342.027691,\"event_type\":\"spawn\",\"pid\":14907,\"ppid\":1,\"command\":"
    "\"/usr/bin/readlink pip-rehash.bash\",\"job_id\":\"night\",\"sheet_num\":1,\"seen\":\"event\"}",
    "{\"timestamp\":1794781342.029212,\"event_type\":\"exit\",\"pid\":14907,\"exit_code\":1,\"cpu_seconds\":"
    "0.0015,\"command\":\"/usr/bin/readlink pip-rehash.bash\",\"job_id\":\"night\",\"sheet_num\":1}",
    "{\"timestamp\":1794781343,\"event_type\":\"kill\",\"pid\":8,\"signal_num\":9,\"sender_pid\":77,"
    "\"sender\":\"ba\\u0007sh\",\"command\":\"x\",\"job_id\":\"a job with a very long "
    "name\",\"sheet_num\":12}",
    "{\"timestamp\":1794781343.1,\"event_type\":\"exit\",\"pid\":4194303,\"signal_num\":34}",
    "{\"event\":\"oom\",\"timestamp\":1794781343.1,\"event_type\":\"oom\",\"pid\":9,\"job_id\":\"night\","
    "\"details\":{\"command\":\"日本語日本語日本語日本語\",\"seen\":\"event\"}}",
    "{\"event\":\"sheet.completed\",\"timestamp\":1794781343.3,\"job_id\":\"night\",\"sheet_num\":1,\"data\":"
    "{\"pid\":9,\"command\":\"not the daemon's word\",\"resource_context\":{\"rss_mb\":3}}}",
    "{\"timestamp\":1794781343.35,\"event_type\":\"sheet.failed\",\"job_id\":\"night\",\"sheet_num\":2,"
    "\"details\":{\"data\":{\"pid\":9,\"command\":\"not the daemon's word\"}}}",
    "{\"event\":\"job.finished\",\"timestamp\":1794781343.4,\"job_id\":\"night\"}",
};

static void add_all(size_t width)
{
    struct event_lines lines;

    event_lines_begin(&lines, width, (time_t)NOW, &text);
    for (size_t i = 0; i < sizeof(happened) / sizeof(happened[0]); i++)
        assert_true(event_lines_add(&lines, happened[i], strlen(happened[i]), &text));
}

static void events_fit_80_columns(void **state)
{
    (void)state;
    add_all(80);
    assert_true(widest() <= 80);
    is_golden("events-80");
}

static void events_into_a_file_are_not_cut(void **state)
{
    (void)state;
    add_all(0);
    assert_null(strchr(strbuf_text(&text), '\a'));
    is_golden("events");
}

static void what_is_no_event_adds_no_line(void **state)
{
    struct event_lines lines = {.width = 80, .day = -1};

    (void)state;
    assert_false(event_lines_add(&lines, "{}", 2, &text));
    assert_false(event_lines_add(&lines, "[1]", 3, &text));
    assert_false(event_lines_add(&lines, "{\"event_type\":\"exit\"", 20, &text));
    assert_int_equal(text.length, 0);
}

static void an_event_is_of_the_job_it_names(void **state)
{
    (void)state;
    assert_true(event_is_of_job(happened[1], strlen(happened[1]), "night"));
    assert_false(event_is_of_job(happened[1], strlen(happened[1]), "nigh"));
    assert_false(event_is_of_job(happened[0], strlen(happened[0]), "night"));
    assert_true(event_is_of_job(happened[7], strlen(happened[7]), "night"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_list_of_jobs_fits_80_columns, begin, end),
        cmocka_unit_test_setup_teardown(letters_begin_with_a_in_the_order_of_the_rows, begin, end),
        cmocka_unit_test_setup_teardown(a_list_into_a_file_is_not_cut, begin, end),
        cmocka_unit_test_setup_teardown(exits_that_are_not_known_are_no_successes, begin, end),
        cmocka_unit_test_setup_teardown(no_jobs_say_how_to_begin_one, begin, end),
        cmocka_unit_test_setup_teardown(a_job_names_the_method_of_each_number, begin, end),
        cmocka_unit_test_setup_teardown(cpu_that_is_a_lower_bound_is_shown_as_one, begin, end),
        cmocka_unit_test_setup_teardown(a_profile_without_times_has_its_wall_time, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_json_does_no_harm, begin, end),
        cmocka_unit_test_setup_teardown(a_time_out_of_bounds_is_not_shown, begin, end),
        cmocka_unit_test_setup_teardown(a_report_shows_no_control_characters, begin, end),
        cmocka_unit_test_setup_teardown(the_status_shows_no_control_characters, begin, end),
        cmocka_unit_test_setup_teardown(the_status_tells_figures_with_units, begin, end),
        cmocka_unit_test_setup_teardown(what_the_status_lacks_is_not_shown_as_zero, begin, end),
        cmocka_unit_test_setup_teardown(events_fit_80_columns, begin, end),
        cmocka_unit_test_setup_teardown(events_into_a_file_are_not_cut, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_event_adds_no_line, begin, end),
        cmocka_unit_test_setup_teardown(an_event_is_of_the_job_it_names, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
