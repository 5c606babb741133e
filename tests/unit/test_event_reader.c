/* events.jsonl read back: the numbers are those that Python's json finds in the same files. */
#include "store/recording/event_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/recording/reader.h"

#define RECORDINGS METRON_FIXTURES "/recordings/"

struct counts {
    size_t events, spawns, exits, kills, ooms;
};

static struct counts count_events(const char *path)
{
    static const char *const no_fields[] = {NULL};
    const struct recording_wish wish = {.fields = no_fields};
    struct counts counts = {0};
    struct recording run;
    struct event_reader *reader;
    const struct recorded_event *event;

    assert_int_equal(recording_read(path, &wish, &run, NULL), 0);
    assert_int_equal(event_reader_open(&run, &reader, NULL), 0);
    while (event_reader_next(reader, &event) == 1) {
        counts.events++;
        counts.spawns += strcmp(event->type, "spawn") == 0;
        counts.exits += strcmp(event->type, "exit") == 0;
        counts.kills += strcmp(event->type, "kill") == 0;
        counts.ooms += strcmp(event->type, "oom") == 0;
    }
    assert_int_equal(event_reader_damaged(reader, NULL), 0);
    event_reader_free(reader);
    recording_fini(&run);
    return counts;
}

static void every_event_is_read(void **state)
{
    (void)state;
    struct counts ended = count_events(RECORDINGS "metron-ended");
    struct counts killed = count_events(RECORDINGS "metron-killed");
    struct counts oom = count_events(RECORDINGS "metron-oom");

    assert_int_equal(ended.events, 16);
    assert_int_equal(ended.spawns, 8);
    assert_int_equal(ended.exits, 8);
    assert_int_equal(killed.events, 21);
    assert_int_equal(killed.kills, 1);
    assert_int_equal(oom.events, 6);
    assert_int_equal(oom.ooms, 1);
    assert_int_equal(oom.kills, 1);
}

/* The first event of a type. */
static const struct recorded_event *seek(struct event_reader *reader, const char *type)
{
    const struct recorded_event *event;

    while (event_reader_next(reader, &event) == 1)
        if (strcmp(event->type, type) == 0)
            return event;
    fail_msg("no %s", type);
    return NULL;
}

static void what_is_told_of_a_process_is_as_in_the_file(void **state)
{
    (void)state;
    struct recording run;
    struct event_reader *reader;

    assert_int_equal(recording_read(RECORDINGS "metron-killed", NULL, &run, NULL), 0);
    assert_int_equal(event_reader_open(&run, &reader, NULL), 0);

    const struct recorded_event *event = seek(reader, "spawn");

    assert_int_equal(event->pid, 6842);
    assert_int_equal(event->ppid, 6835);
    assert_string_equal(event->seen, "event");
    assert_string_equal(event->command, "sh -c 'python3 simulate.py 3 & sleep 2.2; /bin/kill -9 $$'");
    assert_string_equal(event->start_time, "2026-11-15T18:22:44.96+00:00");
    assert_int_equal(event->sender_pid, -1);
    assert_false(event->has_exit_code || event->has_signal || event->has_use);

    event = seek(reader, "exit");
    assert_int_equal(event->pid, 6860);
    assert_true(event->has_exit_code && event->has_use && !event->has_signal);
    assert_int_equal(event->exit_code, 0);
    assert_true(event->cpu_seconds == 0.001306882);
    assert_true(event->lifetime_seconds == 0.001340893);
    assert_true(event->max_rss == 1167360);

    event = seek(reader, "kill");
    assert_int_equal(event->pid, 6842);
    assert_true(event->has_signal && !event->has_exit_code);
    assert_int_equal(event->signal_num, 9);
    assert_int_equal(event->sender_pid, 7104);
    assert_string_equal(event->sender_name, "kill");
    assert_true(event->wall > 1794766967.17144 && event->wall < 1794766967.17146);
    event_reader_free(reader);
    recording_fini(&run);
}

static void the_kernel_is_the_sender_without_a_pid(void **state)
{
    (void)state;
    struct recording run;
    struct event_reader *reader;

    assert_int_equal(recording_read(RECORDINGS "metron-oom", NULL, &run, NULL), 0);
    assert_int_equal(event_reader_open(&run, &reader, NULL), 0);

    const struct recorded_event *event = seek(reader, "kill");

    assert_int_equal(event->sender_pid, 0);
    assert_string_equal(event->sender_name, "kernel");
    event_reader_free(reader);
    recording_fini(&run);
}

/* -- Made up -- */

static struct event_reader *open_text(const char *text)
{
    struct event_reader *reader;

    assert_int_equal(event_reader_open_bytes(text, strlen(text), &reader, NULL), 0);
    return reader;
}

static void an_anomaly_has_its_type_severity_and_description(void **state)
{
    (void)state;
    struct event_reader *reader =
        open_text("{\"timestamp\":\"2026-11-15T18:21:42+00:00\",\"event_type\":\"monitor.anomaly\",\"pid\":7,"
                  "\"anomaly_type\":\"memory_spike\",\"severity\":\"high\",\"metric_value\":3.5,"
                  "\"description\":\"RSS grew\"}\n"
                  "{\"timestamp\":\"2026-11-15T18:21:43+00:00\",\"event_type\":\"monitor.anomaly\","
                  "\"severity\":4}\n");
    const struct recorded_event *event = seek(reader, "monitor.anomaly");

    assert_int_equal(event->pid, 7);
    assert_string_equal(event->anomaly_type, "memory_spike");
    assert_string_equal(event->severity, "high");
    assert_string_equal(event->description, "RSS grew");
    event = seek(reader, "monitor.anomaly");
    assert_null(event->anomaly_type);
    assert_null(event->severity); /* a number is no text */
    assert_null(event->description);
    assert_int_equal(event_reader_damaged(reader, NULL), 0);
    event_reader_free(reader);
}

#define STAMP "\"timestamp\":\"2026-01-01T00:00:00Z\""

static void damaged_lines_are_passed_over_and_counted(void **state)
{
    (void)state;
    struct event_reader *reader = open_text("{" STAMP ",\"event_type\":\"new\",\"x\":[{}]}\n"
                                            "\x7f\x45\x4c\x46\n"
                                            "{" STAMP "}\n"
                                            "{\"event_type\":\"exit\"}\n"
                                            "{\"timestamp\":\"late\",\"event_type\":\"exit\"}\n"
                                            "\n"
                                            "{" STAMP ",\"event_type\":\"exit\",\"pid\":5}\n"
                                            "{" STAMP ",\"event_type\":\"exi");
    const struct recorded_event *event;
    size_t first;

    assert_int_equal(event_reader_next(reader, &event), 1);
    assert_string_equal(event->type, "new");
    assert_int_equal(event_reader_next(reader, &event), 1);
    assert_int_equal(event->pid, 5);
    assert_int_equal(event_reader_next(reader, &event), 0);
    assert_int_equal(event_reader_damaged(reader, &first), 5);
    assert_int_equal(first, 2);
    event_reader_free(reader);
}

static void wrong_types_are_passed_over(void **state)
{
    (void)state;
    static const char *const words[] = {
        "seen",      "start_time", "command",     "sender",           "pid",     "ppid",       "sender_pid",
        "exit_code", "signal_num", "cpu_seconds", "lifetime_seconds", "max_rss", "read_bytes", "write_bytes",
    };
    static const char *const values[] = {"null", "true",  "[[]]",   "{\"a\": 1}",
                                         "\"\"", "1e300", "-1e300", "0.5"};
    char line[256];
    const struct recorded_event *event;

    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
        for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
            (void)snprintf(line, sizeof(line), "{\"%s\":%s," STAMP ",\"event_type\":\"exit\"}", words[w],
                           values[v]);

            struct event_reader *reader = open_text(line);

            assert_int_equal(event_reader_next(reader, &event), 1);
            assert_int_equal(event->pid, 0);
            assert_int_equal(event->ppid, 0);
            assert_int_equal(event->sender_pid, -1);
            assert_false(event->has_exit_code || event->has_signal);
            assert_int_equal(event_reader_next(reader, &event), 0);
            event_reader_free(reader);
        }
}

static void a_run_without_events_says_so(void **state)
{
    (void)state;
    struct recording run;
    struct event_reader *reader;
    struct metron_error error = {0};

    assert_int_equal(recording_read(RECORDINGS "duct-jsonl", NULL, &run, NULL), 0);
    assert_int_equal(event_reader_open(&run, &reader, &error), -ENOENT);
    assert_null(reader);
    assert_non_null(strstr(error.message, "no events.jsonl"));
    recording_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_is_read),
        cmocka_unit_test(what_is_told_of_a_process_is_as_in_the_file),
        cmocka_unit_test(the_kernel_is_the_sender_without_a_pid),
        cmocka_unit_test(an_anomaly_has_its_type_severity_and_description),
        cmocka_unit_test(damaged_lines_are_passed_over_and_counted),
        cmocka_unit_test(wrong_types_are_passed_over),
        cmocka_unit_test(a_run_without_events_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
