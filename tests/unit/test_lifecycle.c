/*
 * How many events were lost: a listener with hardly any room, beside one that has room for all of them.
 */
#include "probe/lifecycle.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/connector.h"

enum { STORM = 1500 };

static void count_visit(void *context, const struct lifecycle_event *event)
{
    (void)event;
    ++*(uint64_t *)context;
}

static void count_any(void *context, const struct connector_event *event)
{
    (void)event;
    ++*(uint64_t *)context;
}

static void count_all(int fd, uint64_t *count)
{
    int code;

    while ((code = connector_read(fd, count_any, count)) > 0)
        ;
    assert_int_equal(code, 0);
}

static void have_child(void)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* One more event on every CPU: what was lost on it shows by the number of the next. */
static void have_child_on_every_cpu(void)
{
    cpu_set_t all, one;

    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        have_child();
    }
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void what_the_connector_had_no_room_for_is_counted(void **state)
{
    (void)state;
    struct metron_error error = {0};
    struct lifecycle *roomy = lifecycle_connector(&error), *narrow = lifecycle_connector(&error);
    int outer = connector_open(&error); /* also receives events that lifecycle ignores; they are lost too */
    uint64_t all = 0, seen = 0, any = 0;
    int least = 0, much = 1 << 20;

    if (!roomy || !narrow || outer < 0) {
        print_message("skip what_the_connector_had_no_room_for_is_counted: %s\n", error.message);
        lifecycle_free(roomy);
        lifecycle_free(narrow);
        if (outer >= 0)
            connector_close(outer);
        skip();
    }
    have_child_on_every_cpu();
    /* Others have children meanwhile: the narrow one listens a little longer at both ends, the outer one
     * longer still. */
    count_all(outer, &any);
    assert_int_equal(lifecycle_read(narrow, count_visit, &seen), 0);
    assert_int_equal(lifecycle_read(roomy, count_visit, &all), 0);
    assert_int_equal(lifecycle_lost(narrow), 0);
    all = seen = any = 0;
    assert_int_equal(setsockopt(lifecycle_fd(narrow), SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)), 0);
    for (int i = 0; i < STORM; i++) {
        have_child();
        assert_int_equal(lifecycle_read(roomy, count_visit, &all), 0);
        count_all(outer, &any);
    }
    assert_int_equal(lifecycle_read(narrow, count_visit, &seen), -ENOBUFS);
    assert_int_equal(setsockopt(lifecycle_fd(narrow), SOL_SOCKET, SO_RCVBUF, &much, sizeof(much)), 0);
    have_child_on_every_cpu();
    assert_int_equal(lifecycle_read(roomy, count_visit, &all), 0);
    (void)lifecycle_read(narrow, count_visit, &seen);
    count_all(outer, &any);
    assert_int_equal(lifecycle_lost(roomy), 0);
    assert_true(all >= 2 * STORM);
    assert_in_range(seen + lifecycle_lost(narrow), all, any);
    connector_close(outer);
    lifecycle_free(narrow);
    lifecycle_free(roomy);
}

/* Each event brings two more, for a while. */
static void have_child_and_count(void *context, const struct lifecycle_event *event)
{
    count_visit(context, event);
    if (*(uint64_t *)context < STORM)
        have_child();
}

static void a_read_of_the_connector_ends_in_a_storm(void **state)
{
    (void)state;
    struct metron_error error = {0};
    struct lifecycle *source = lifecycle_connector(&error);
    uint64_t seen = 0;
    int small = 64 << 10; /* holds 170 messages, the kernel doubles it */

    if (!source) {
        print_message("skip a_read_of_the_connector_ends_in_a_storm: %s\n", error.message);
        skip();
    }
    assert_int_equal(setsockopt(lifecycle_fd(source), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    have_child();
    (void)lifecycle_read(source, have_child_and_count, &seen);
    assert_in_range(seen, 1, STORM - 1);
    lifecycle_free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_of_the_connector_ends_in_a_storm),
        cmocka_unit_test(what_the_connector_had_no_room_for_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
