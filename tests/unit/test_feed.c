/* What a run tells whoever started it, over a real socket. */
#include "loop/feed.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS = 500000 };

static const struct event spawn = {.type = EVENT_SPAWN, .seen = SEEN_SAMPLED, .pid = 4711, .command = "make"};

static void open_pair(int ends[2])
{
    struct metron_error error;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(feed_open(ends[1], &error), 0);
    assert_non_null(feed_current());
}

struct reader {
    FILE *file;
    unsigned long events, logs, others;
    char last[256];
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    char *line = NULL;
    size_t size = 0;

    while (getline(&line, &size, reader->file) > 0) {
        if (strncmp(line, "{\"event\":{", 10) == 0)
            reader->events++;
        else if (strncmp(line, "{\"log\":{\"level\":\"warning\",", 26) == 0)
            reader->logs++;
        else
            reader->others++;
        (void)snprintf(reader->last, sizeof(reader->last), "%s", line);
        if (strncmp(line, "{\"error\":", 9) == 0 || strncmp(line, "{\"end\":", 7) == 0)
            break;
    }
    free(line);
    return NULL;
}

/* Nobody reads: nothing waits. What is kept comes whole and in lines, what is not is counted. */
static void what_a_slow_reader_loses_is_counted(void **state)
{
    struct reader reader = {0};
    struct run_info info = {.metron_version = "0", .command = "make", .ended = true};
    struct registry registry = {0};
    unsigned long long dropped = 0;
    pthread_t thread;
    int ends[2];

    (void)state;
    info.registry = &registry;
    open_pair(ends);
    for (int i = 0; i < EVENTS; i++)
        feed_event(feed_current(), &spawn);
    reader.file = fdopen(ends[0], "r");
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
    feed_end(feed_current(), &info, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sscanf(reader.last, "{\"end\":{\"dropped\":%llu,\"discarded\":false,", &dropped), 1);
    assert_true(dropped > 0);
    assert_int_equal(reader.events + dropped, EVENTS);
    assert_int_equal(reader.others, 1);
    (void)fclose(reader.file);
    (void)close(ends[1]);
}

static void messages_go_there_and_not_to_stderr(void **state)
{
    const struct metron_error error = {.code = -2, .message = "no such thing"};
    struct reader reader = {0};
    int ends[2], printed[2], kept = dup(STDERR_FILENO);
    char byte;

    (void)state;
    open_pair(ends);
    assert_int_equal(pipe(printed), 0);
    (void)dup2(printed[1], STDERR_FILENO);
    log_warning("tell\tthem");
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(printed[1]);
    assert_int_equal(read(printed[0], &byte, 1), 0);
    (void)close(printed[0]);
    feed_fail(feed_current(), &error);
    reader.file = fdopen(ends[0], "r");
    (void)read_all(&reader);
    assert_int_equal(reader.logs, 1);
    assert_string_equal(reader.last, "{\"error\":{\"code\":-2,\"message\":\"no such thing\"}}\n");
    (void)fclose(reader.file);
    (void)close(ends[1]);
}

static void a_descriptor_that_is_no_socket_is_refused(void **state)
{
    struct metron_error error;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(feed_open(ends[1], &error), -EINVAL);
    assert_non_null(strstr(error.message, "is no stream socket"));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The last one: it stays gone. */
static void a_reader_that_has_gone_is_no_trouble(void **state)
{
    const struct metron_error error = {.code = -2, .message = "no such thing"};
    int ends[2];

    (void)state;
    open_pair(ends);
    (void)close(ends[0]);
    feed_started(feed_current(), 1);
    feed_event(feed_current(), &spawn);
    feed_fail(feed_current(), &error);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_that_is_no_socket_is_refused),
        cmocka_unit_test(messages_go_there_and_not_to_stderr),
        cmocka_unit_test(what_a_slow_reader_loses_is_counted),
        cmocka_unit_test(a_reader_that_has_gone_is_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
