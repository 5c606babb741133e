/* A line of events.jsonl: what is known is there, what is not is absent. */
#include "schema/event.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define STAMP "\"timestamp\":\"2025-11-15T07:42:53.000001+00:00\","

static const struct timespec wall = {1763192573, 1000};
static struct strbuf text = STRBUF_INIT;

static const char *json_of(struct event event)
{
    struct json json;

    event.wall = wall;
    strbuf_reset(&text);
    json_init(&json, &text, 0);
    event_json(&json, &event);
    return strbuf_text(&text);
}

static void a_spawn_tells_who_and_by_whom(void **state)
{
    (void)state;
    const struct event event = {
        .type = EVENT_SPAWN,
        .seen = SEEN_EVENT,
        .pid = 4711,
        .start_time = "2025-11-15T07:42:53.00+00:00",
        .ppid = 4700,
        .command = "sleep 1",
    };

    assert_string_equal(json_of(event), "{" STAMP "\"event_type\":\"spawn\",\"pid\":4711,"
                                        "\"start_time\":\"2025-11-15T07:42:53.00+00:00\",\"ppid\":4700,"
                                        "\"command\":\"sleep 1\",\"seen\":\"event\"}");
}

static void what_is_unknown_is_absent(void **state)
{
    (void)state;
    assert_string_equal(json_of((struct event){.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .pid = 1}),
                        "{" STAMP "\"event_type\":\"spawn\",\"pid\":1,\"seen\":\"sampled\"}");
    /* an unknown status is not an exit with code 0 */
    assert_string_equal(
        json_of((struct event){.type = EVENT_EXIT, .seen = SEEN_SAMPLED, .pid = 1, .wait_status = 0}),
        "{" STAMP "\"event_type\":\"exit\",\"pid\":1,\"seen\":\"sampled\"}");
}

static void an_exit_tells_its_code(void **state)
{
    (void)state;
    struct event event = {.type = EVENT_EXIT, .seen = SEEN_REAPED, .pid = 1, .has_status = true};

    assert_string_equal(json_of(event),
                        "{" STAMP "\"event_type\":\"exit\",\"pid\":1,\"exit_code\":0,\"seen\":\"reaped\"}");
    event.wait_status = 42 << 8;
    assert_non_null(strstr(json_of(event), "\"exit_code\":42,"));
    assert_null(strstr(json_of(event), "signal_num"));
}

static void a_kill_tells_its_signal(void **state)
{
    (void)state;
    struct event event = {
        .type = EVENT_KILL, .seen = SEEN_REAPED, .pid = 1, .has_status = true, .wait_status = SIGKILL};

    assert_string_equal(json_of(event),
                        "{" STAMP "\"event_type\":\"kill\",\"pid\":1,\"signal_num\":9,\"seen\":\"reaped\"}");
    event.wait_status = SIGSEGV | 0x80;
    assert_non_null(strstr(json_of(event), "\"signal_num\":11,\"core_dumped\":true,"));
    assert_null(strstr(json_of(event), "exit_code"));
}

static void a_signal_tells_which_and_by_whom(void **state)
{
    (void)state;
    const struct event_sender sender = {99, "na\xffme"};
    const struct event event = {
        .type = EVENT_SIGNAL, .seen = SEEN_EVENT, .pid = 1, .signal_num = SIGUSR1, .sender = &sender};

    assert_string_equal(json_of(event), "{" STAMP "\"event_type\":\"signal\",\"pid\":1,\"signal_num\":10,"
                                        "\"sender_pid\":99,\"sender\":\"na\\\\xffme\",\"seen\":\"event\"}");
}

static void a_sender_is_told_as_far_as_it_is_known(void **state)
{
    (void)state;
    const struct event_sender kernel = {0, NULL}, named_kernel = {0, "init"}, nameless = {99, NULL},
                              poser = {99, "kernel"};
    struct event event = {.type = EVENT_KILL,
                          .seen = SEEN_EVENT,
                          .pid = 1,
                          .has_status = true,
                          .wait_status = SIGKILL,
                          .signal_num = SIGTERM}; /* sent, but it is not what it died of */

    assert_null(strstr(json_of(event), "sender"));
    event.sender = &kernel;
    assert_string_equal(json_of(event), "{" STAMP "\"event_type\":\"kill\",\"pid\":1,\"signal_num\":9,"
                                        "\"sender\":\"kernel\",\"seen\":\"event\"}");
    event.sender = &named_kernel;
    assert_non_null(strstr(json_of(event), "\"sender\":\"kernel\""));
    event.sender = &nameless;
    assert_non_null(strstr(json_of(event), "\"sender_pid\":99,\"seen\""));
    event.sender = &poser;
    assert_non_null(strstr(json_of(event), "\"sender_pid\":99,\"sender\":\"kernel\""));
    event.type = EVENT_EXIT; /* who killed it stands in the kill */
    assert_null(strstr(json_of(event), "sender"));
}

static void a_kill_without_status_still_has_its_signal(void **state)
{
    (void)state;
    struct event event = {.type = EVENT_KILL, .seen = SEEN_EVENT, .pid = 1, .signal_num = SIGTERM};

    assert_string_equal(json_of(event),
                        "{" STAMP "\"event_type\":\"kill\",\"pid\":1,\"signal_num\":15,\"seen\":\"event\"}");
    event.type = EVENT_EXIT; /* one that it was sent is not how it ended */
    assert_null(strstr(json_of(event), "signal_num"));
}

static void an_oom_tells_the_victim(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_OOM, .seen = SEEN_EVENT, .pid = 7, .command = "hog"};

    assert_string_equal(json_of(event), "{" STAMP "\"event_type\":\"oom\",\"pid\":7,\"command\":\"hog\","
                                        "\"seen\":\"event\"}");
}

static void an_exit_tells_what_was_used(void **state)
{
    (void)state;
    struct event_use use = {.cpu_seconds = 0.0012345,
                            .lifetime_seconds = 1.5,
                            .max_rss_bytes = 1048576,
                            .read_bytes = 4096,
                            .write_bytes = UINT64_C(5) << 40,
                            .minor_faults = 77,
                            .major_faults = 3};
    struct event event = {.type = EVENT_EXIT, .seen = SEEN_EVENT, .pid = 1, .has_status = true, .use = &use};

    assert_string_equal(json_of(event),
                        "{" STAMP "\"event_type\":\"exit\",\"pid\":1,\"exit_code\":0,"
                        "\"cpu_seconds\":0.0012345,\"lifetime_seconds\":1.5,\"max_rss\":1048576,"
                        "\"read_bytes\":4096,\"write_bytes\":5497558138880,\"minor_faults\":77,"
                        "\"major_faults\":3,\"seen\":\"event\"}");
    use.max_rss_bytes = 0; /* nobody has none: it was not told */
    assert_null(strstr(json_of(event), "max_rss"));
    use.lifetime_seconds = 0;
    assert_null(strstr(json_of(event), "lifetime"));
    use.cpu_seconds = 0; /* nothing used was told too */
    assert_non_null(strstr(json_of(event), "\"cpu_seconds\":0,"));
    event.type = EVENT_KILL; /* it stands in the exit, once */
    assert_null(strstr(json_of(event), "cpu_seconds"));
}

static void every_type_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(event_name(&(struct event){.type = EVENT_SPAWN}), "spawn");
    assert_string_equal(event_name(&(struct event){.type = EVENT_EXIT}), "exit");
    assert_string_equal(event_name(&(struct event){.type = EVENT_KILL}), "kill");
    assert_string_equal(event_name(&(struct event){.type = EVENT_SIGNAL}), "signal");
    assert_string_equal(event_name(&(struct event){.type = EVENT_OOM}), "oom");
    assert_string_equal(event_name(&(struct event){.type = EVENT_OF_JOB, .name = "job.started"}),
                        "job.started");
}

static void the_start_of_a_sheet_is_of_no_process(void **state)
{
    (void)state;
    struct event event = {
        .type = EVENT_OF_JOB, .name = "sheet.started", .job_id = "night", .has_sheet = true, .sheet_num = 4};

    assert_string_equal(json_of(event),
                        "{" STAMP "\"event_type\":\"sheet.started\",\"job_id\":\"night\",\"sheet_num\":4}");
    event.data = "{\"pid\": 7}";
    assert_non_null(strstr(json_of(event), ",\"sheet_num\":4,\"data\":{\"pid\": 7}}"));
}

static void an_event_of_a_job_tells_which(void **state)
{
    (void)state;
    struct event event = {
        .type = EVENT_SPAWN, .seen = SEEN_EVENT, .pid = 1, .job_id = "night", .sheet_num = 4};

    assert_string_equal(json_of(event), "{" STAMP "\"event_type\":\"spawn\",\"pid\":1,\"job_id\":\"night\","
                                        "\"seen\":\"event\"}");
    event.has_sheet = true;
    assert_non_null(strstr(json_of(event), "\"job_id\":\"night\",\"sheet_num\":4,"));
    event.sheet_num = 0; /* a number like any other */
    assert_non_null(strstr(json_of(event), "\"sheet_num\":0,"));
}

static void the_socket_has_the_time_in_unix_seconds(void **state)
{
    (void)state;
    const struct event event = {.type = EVENT_EXIT,
                                .seen = SEEN_REAPED,
                                .wall = wall,
                                .pid = 1,
                                .job_id = "night",
                                .has_status = true};
    struct json json;

    strbuf_reset(&text);
    json_init(&json, &text, 0);
    event_json_unix(&json, &event);
    assert_string_equal(strbuf_text(&text),
                        "{\"timestamp\":1763192573.000001,\"event_type\":\"exit\",\"pid\":1,\"exit_code\":0,"
                        "\"job_id\":\"night\",\"seen\":\"reaped\"}");
}

static int end(void **state)
{
    (void)state;
    strbuf_fini(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spawn_tells_who_and_by_whom),
        cmocka_unit_test(what_is_unknown_is_absent),
        cmocka_unit_test(an_exit_tells_its_code),
        cmocka_unit_test(a_kill_tells_its_signal),
        cmocka_unit_test(a_signal_tells_which_and_by_whom),
        cmocka_unit_test(a_sender_is_told_as_far_as_it_is_known),
        cmocka_unit_test(a_kill_without_status_still_has_its_signal),
        cmocka_unit_test(an_oom_tells_the_victim),
        cmocka_unit_test(an_exit_tells_what_was_used),
        cmocka_unit_test(every_type_has_its_name),
        cmocka_unit_test(the_start_of_a_sheet_is_of_no_process),
        cmocka_unit_test(an_event_of_a_job_tells_which),
        cmocka_unit_test(the_socket_has_the_time_in_unix_seconds),
    };

    (void)setenv("TZ", "UTC", 1);
    return cmocka_run_group_tests(tests, NULL, end);
}
