/* A job: the words for its states, and its JSON. */
#include "schema/job.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct strbuf text = STRBUF_INIT;

static const char *json_of(const struct job *job)
{
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    job_json(&json, job);
    return strbuf_text(&text);
}

static int release(void **state)
{
    (void)state;
    strbuf_fini(&text);
    return 0;
}

static void every_state_has_a_word(void **state)
{
    (void)state;
    assert_string_equal(job_status_names[JOB_RUNNING], "running");
    assert_string_equal(job_status_names[JOB_COMPLETED], "completed");
    assert_string_equal(job_status_names[JOB_FAILED], "failed");
    assert_string_equal(job_status_names[JOB_CANCELLED], "cancelled");
    assert_string_equal(job_status_names[JOB_LOST], "lost");
    assert_string_equal(sheet_status_names[SHEET_RUNNING], "running");
    assert_string_equal(sheet_status_names[SHEET_RETRYING], "retrying");
    assert_string_equal(sheet_status_names[SHEET_COMPLETED], "completed");
    assert_string_equal(sheet_status_names[SHEET_FAILED], "failed");
    assert_string_equal(sheet_status_names[SHEET_LOST], "lost");
}

static int status_of(const char *outcome)
{
    enum job_status status = JOB_RUNNING;
    int code = job_status_of_outcome(outcome, strlen(outcome), &status);

    return code < 0 ? code : (int)status;
}

static void an_outcome_is_one_of_a_few_words(void **state)
{
    (void)state;
    enum job_status status = JOB_LOST;

    assert_int_equal(status_of("completed"), JOB_COMPLETED);
    assert_int_equal(status_of("success"), JOB_COMPLETED);
    assert_int_equal(status_of("failed"), JOB_FAILED);
    assert_int_equal(status_of("failure"), JOB_FAILED);
    assert_int_equal(status_of("cancelled"), JOB_CANCELLED);
    assert_int_equal(status_of(""), -EINVAL);
    assert_int_equal(status_of("complete"), -EINVAL);
    assert_int_equal(status_of("Failed"), -EINVAL);
    assert_int_equal(status_of("failed "), -EINVAL);
    /* nobody can say of a job that it runs, or that it is lost */
    assert_int_equal(status_of("running"), -EINVAL);
    assert_int_equal(status_of("lost"), -EINVAL);
    /* not terminated, and with a NUL inside */
    assert_int_equal(job_status_of_outcome("failedly", 6, &status), 0);
    assert_int_equal(status, JOB_FAILED);
    assert_int_equal(job_status_of_outcome("failed\0", 7, &status), -EINVAL);
}

#define NOTHING "\"spawned\":0,\"exited\":0,\"spawned_is_exact\":false,\"unique_processes\":0}"

static void what_is_not_known_of_a_job_is_left_out(void **state)
{
    (void)state;
    const struct job job = {
        .id = "night", .started = {1763192573, 0}, .usage = {.numbers = {[USAGE_CPU] = 5}}};

    assert_string_equal(json_of(&job), "{\"job_id\":\"night\",\"status\":\"running\",\"started\":1763192573,"
                                       "\"usage\":{" NOTHING ",\"sheets\":[]}");
}

static void a_job_tells_what_it_used_and_its_sheets_too(void **state)
{
    (void)state;
    struct job_sheet sheets[] = {
        {.number = 1,
         .status = SHEET_COMPLETED,
         .pid = 42,
         .own_cgroup = OWN_CGROUP_HELD,
         .started = {100, 0},
         .ended = {101, 500000000},
         .tries = 2},
        {.number = 2, .status = SHEET_RETRYING, .started = {102, 1000}, .tries = 1},
    };
    const struct job job = {
        .id = "night\n",
        .workspace = "/work",
        .config_hash = "c0ffee",
        .has_total = true,
        .total_sheets = 9,
        .status = JOB_FAILED,
        .pid = 7,
        .own_cgroup = OWN_CGROUP_REFUSED,
        .started = {1763192573, 123456789},
        .ended = {1763192574, 0},
        .usage = {.present = USAGE_BIT(USAGE_CPU_THROTTLED_PERIODS + 1) - 1,
                  .numbers = {[USAGE_CPU] = 1.2345678,
                              [USAGE_CGROUP_CPU] = 1.25,
                              [USAGE_PEAK_RSS] = 3 << 19,
                              [USAGE_PEAK_PSS] = 1 << 20,
                              [USAGE_LARGEST_HWM] = 2 << 20,
                              [USAGE_PEAK_CGROUP] = UINT64_C(1) << 42,
                              [USAGE_OOM_KILLS] = 1,
                              [USAGE_READ] = 4096,
                              [USAGE_WRITTEN] = UINT64_C(1) << 52,
                              [USAGE_SPAWNED] = 11,
                              [USAGE_EXITED] = 10,
                              [USAGE_SPAWNED_IS_EXACT] = true,
                              [USAGE_UNIQUE_PROCESSES] = 12,
                              [USAGE_PEAK_PROCESSES] = 3,
                              [USAGE_MEMORY_LIMIT] = 64 << 20,
                              [USAGE_CPU_PERIODS] = 20,
                              [USAGE_CPU_THROTTLED_PERIODS] = 5}},
        .sheets = sheets,
        .sheet_count = 2,
    };

    assert_string_equal(
        json_of(&job),
        "{\"job_id\":\"night\\n\",\"workspace\":\"/work\",\"config_hash\":\"c0ffee\",\"total_sheets\":9,"
        "\"status\":\"failed\",\"pid\":7,\"own_cgroup\":false,\"started\":1763192573.123457,\"ended\":"
        "1763192574,"
        "\"usage\":{\"cpu_seconds\":1.25,\"cpu_source\":\"cgroup_cpu_seconds\",\"proc_cpu_seconds\":1.234568,"
        "\"cgroup_cpu_seconds\":1.25,\"peak_rss_mb\":1.5,\"peak_pss_mb\":"
        "1,"
        "\"largest_hwm_mb\":2,\"peak_cgroup_mb\":4194304,\"oom_kills\":1,\"read_bytes\":4096,\"write_bytes\":"
        "4503599627370496,"
        "\"spawned\":11,\"exited\":10,\"spawned_is_exact\":true,\"unique_processes\":12,\"peak_processes\":3,"
        "\"memory_limit_mb\":64,\"cgroup_cpu_periods\":20,\"cgroup_cpu_throttled_periods\":5}"
        ","
        "\"sheets\":[{\"sheet_num\":1,\"status\":\"completed\",\"pid\":42,\"own_cgroup\":true,\"started\":"
        "100,\"ended\":101.5,"
        "\"tries\":2,\"usage\":{" NOTHING "},{\"sheet_num\":2,\"status\":\"retrying\",\"started\":102.000001,"
        "\"tries\":1,\"usage\":{" NOTHING "}]}");
}

static void a_lower_bound_of_cpu_is_marked_unless_a_group_counted(void **state)
{
    (void)state;
    struct job job = {
        .id = "x",
        .usage = {.present = USAGE_BIT(USAGE_CPU) | USAGE_BIT(USAGE_CGROUP_CPU),
                  .numbers = {[USAGE_CPU] = 1, [USAGE_CGROUP_CPU] = 2, [USAGE_CPU_IS_LOW] = true}}};

    assert_null(strstr(json_of(&job), "cpu_is_exact"));
    job.usage.present = USAGE_BIT(USAGE_CPU);
    assert_non_null(strstr(json_of(&job),
                           "\"cpu_seconds\":1,\"cpu_source\":\"proc_cpu_seconds\",\"cpu_is_exact\":false,"));
    job.usage.numbers[USAGE_CPU_IS_LOW] = false;
    assert_null(strstr(json_of(&job), "cpu_is_exact"));
}

static void a_group_that_was_removed_early_does_not_hide_what_the_processes_used(void **state)
{
    (void)state;
    struct job job = {.id = "x",
                      .usage = {.present = USAGE_BIT(USAGE_CPU) | USAGE_BIT(USAGE_CGROUP_CPU),
                                .numbers = {[USAGE_CPU] = 4.3, [USAGE_CGROUP_CPU] = 3.6}}};

    assert_non_null(strstr(json_of(&job), "\"cpu_seconds\":4.3,\"cpu_source\":\"proc_cpu_seconds\","
                                          "\"cpu_is_exact\":false,"));
    job.usage.numbers[USAGE_CPU] = 3.62; /* within the kernel's ticks */
    assert_non_null(strstr(json_of(&job), "\"cpu_seconds\":3.6,\"cpu_source\":\"cgroup_cpu_seconds\","));
    assert_null(strstr(json_of(&job), "cpu_is_exact"));
}

static void no_number_is_no_measurement(void **state)
{
    (void)state;
    const struct job job = {.id = "x",
                            .usage = {.present = USAGE_BIT(USAGE_CPU), .numbers = {[USAGE_CPU] = NAN}}};

    assert_string_equal(json_of(&job),
                        "{\"job_id\":\"x\",\"status\":\"running\",\"usage\":{" NOTHING ",\"sheets\":[]}");
}

static const char *best_of(struct job_usage usage, double *seconds, bool *is_low)
{
    const char *source = job_usage_cpu(&usage, seconds, is_low);

    return source ? source : "";
}

static void the_best_count_of_cpu_is_whole_and_else_the_largest(void **state)
{
    (void)state;
    struct job_usage usage = {0};
    double seconds;
    bool is_low;

    assert_string_equal(best_of(usage, &seconds, &is_low), "");
    usage_set(&usage, USAGE_CPU, 0.5);
    usage_set(&usage, USAGE_CPU_IS_LOW, true);
    usage_set(&usage, USAGE_RUSAGE_CPU, 0.52);
    assert_string_equal(best_of(usage, &seconds, &is_low), "rusage_cpu_seconds");
    assert_true(is_low);
    usage_set(&usage, USAGE_SHEETS_CPU, 0.53);
    assert_string_equal(best_of(usage, &seconds, &is_low), "sheets_cpu_seconds");
    assert_true(is_low);
    usage_set(&usage, USAGE_CPU_IS_LOW, false); /* within the kernel's ticks all of them agree */
    assert_string_equal(best_of(usage, &seconds, &is_low), "proc_cpu_seconds");
    assert_false(is_low);
    usage_set(&usage, USAGE_EXIT_CPU, 0.51);
    assert_string_equal(best_of(usage, &seconds, &is_low), "exit_cpu_seconds");
    usage_set(&usage, USAGE_RUSAGE_CPU, 0.9); /* nobody counts what was not used */
    assert_string_equal(best_of(usage, &seconds, &is_low), "rusage_cpu_seconds");
    assert_true(is_low);
}

static int parse(const char *object, struct job_usage *usage)
{
    struct metron_error error;

    return job_usage_parse(&(struct json_text){object, strlen(object)}, usage, &error);
}

static void what_a_client_reports_is_taken_by_method(void **state)
{
    (void)state;
    struct job_usage usage;

    assert_int_equal(
        parse("{\"proc_cpu_seconds\":1.5,\"peak_rss_mb\":2,\"spawned\":3,"
              "\"spawned_is_exact\":true,\"cpu_seconds\":1.5,\"cpu_source\":\"proc_cpu_seconds\","
              "\"cpu_is_exact\":false,\"unknown\":[{}]}",
              &usage),
        0);
    assert_true(usage.numbers[USAGE_CPU] == 1.5 && usage.numbers[USAGE_PEAK_RSS] == 2 << 20);
    assert_true(usage.numbers[USAGE_SPAWNED] == 3 && usage.numbers[USAGE_SPAWNED_IS_EXACT] == 1);
    assert_true(usage.numbers[USAGE_CPU_IS_LOW] == 1);
    assert_false(usage_has(&usage, USAGE_EXITED));
    assert_int_equal(parse("{\"cpu_source\":\"rusage_cpu_seconds\",\"cpu_seconds\":0.25}", &usage), 0);
    assert_true(usage.present == USAGE_BIT(USAGE_RUSAGE_CPU) && usage.numbers[USAGE_RUSAGE_CPU] == 0.25);
}

static void what_cannot_have_been_measured_is_refused(void **state)
{
    static const char *const wrong[] = {
        "[]",
        "{\"proc_cpu_seconds\":-0.1}",
        "{\"proc_cpu_seconds\":1e999}",
        "{\"proc_cpu_seconds\":\"1\"}",
        "{\"proc_cpu_seconds\":NaN}",
        "{\"spawned\":1.5}",
        "{\"spawned\":true}",
        "{\"spawned_is_exact\":1}",
        "{\"peak_rss_mb\":1e300}",
        "{\"cpu_seconds\":1}",
        "{\"cpu_seconds\":1,\"cpu_source\":\"guessed\"}",
        "{\"cpu_seconds\":1,\"cpu_source\":\"sheets_cpu_seconds\"}",
        "{\"cpu_is_exact\":null}",
    };
    struct job_usage usage;
    (void)state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(parse(wrong[i], &usage), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_a_word),
        cmocka_unit_test(an_outcome_is_one_of_a_few_words),
        cmocka_unit_test(what_is_not_known_of_a_job_is_left_out),
        cmocka_unit_test(a_job_tells_what_it_used_and_its_sheets_too),
        cmocka_unit_test(a_lower_bound_of_cpu_is_marked_unless_a_group_counted),
        cmocka_unit_test(a_group_that_was_removed_early_does_not_hide_what_the_processes_used),
        cmocka_unit_test(no_number_is_no_measurement),
        cmocka_unit_test(the_best_count_of_cpu_is_whole_and_else_the_largest),
        cmocka_unit_test(what_a_client_reports_is_taken_by_method),
        cmocka_unit_test(what_cannot_have_been_measured_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
