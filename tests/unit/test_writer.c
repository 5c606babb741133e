/* The thread that stores snapshots: whatever its sinks do, handing one over takes no time. */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "snapshot_fixture.h"

/* What a sink of these tests does, and what it saw. */
struct sink {
    unsigned sleep_us;    /* per write; atomic */
    int fails_with;       /* atomic */
    bool blocked;         /* atomic: stays in its write */
    unsigned writes;      /* atomic */
    unsigned idles;       /* atomic */
    bool idle_fails;      /* atomic */
    bool remarks;         /* atomic */
    uint64_t ticks[4096]; /* of the snapshots it got */
    unsigned got;         /* atomic */
    struct sink *before;  /* must have had each snapshot before this one */
    bool disorder;        /* atomic */
};

#define GET(field)        __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

static struct snapshot_pool *pool;
static struct writer *writer;
static struct sink *one, *other; /* on the heap: a writer that is left behind keeps its sinks */
static uint64_t tick;
static size_t backlog_bytes; /* of the first one */

static int sink_write(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    struct sink *sink = context;

    while (GET(sink->blocked))
        (void)usleep(1000);
    if (GET(sink->sleep_us))
        (void)usleep(GET(sink->sleep_us));
    __atomic_add_fetch(&sink->writes, 1, __ATOMIC_RELEASE);
    if (sink->before && GET(sink->before->writes) < sink->writes)
        SET(sink->disorder, true);
    int code = GET(sink->fails_with);
    if (code == -EIO)
        return code; /* without a word */
    if (code < 0)
        return error_set(error, code, "the disk of %u is full", (unsigned)snapshot->tick);
    unsigned got = sink->got;
    sink->ticks[got % 4096] = snapshot->tick;
    SET(sink->got, got + 1);
    if (!GET(sink->remarks))
        return 0;
    (void)error_set(error, -EBADMSG, "begun anew with %u", (unsigned)snapshot->tick);
    return 1;
}

static int sink_idle(void *context, struct metron_error *error)
{
    struct sink *sink = context;

    __atomic_add_fetch(&sink->idles, 1, __ATOMIC_RELEASE);
    return GET(sink->idle_fails) ? error_set(error, -EIO, "cannot be cleaned up") : 0;
}

static int setup(void **state)
{
    (void)state;
    pool = snapshot_pool_new();
    one = calloc(1, sizeof(*one));
    other = calloc(1, sizeof(*other));
    tick = 0;
    backlog_bytes = 0;
    writer = NULL;
    return pool && one && other ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    int code = writer ? writer_stop(writer, -1, NULL) : 0;

    snapshot_pool_free(pool);
    free(one);
    free(other);
    return code;
}

static void start(struct writer_options options)
{
    const struct writer_sink sinks[] = {
        {"history", sink_write, sink_idle, one, backlog_bytes},
        {"log", sink_write, NULL, other, 0},
    };
    struct metron_error error = {0};

    other->before = one;
    if (writer_new(sinks, 2, &options, &writer, &error) < 0)
        fail_msg("%s", error.message);
}

static struct snapshot *next_snapshot(size_t processes)
{
    struct snapshot *snapshot = snapshot_of(pool, processes);

    assert_non_null(snapshot);
    snapshot->tick = ++tick;
    snapshot->event_count = 2;
    return snapshot;
}

static bool submit(size_t processes)
{
    struct snapshot *snapshot = next_snapshot(processes);
    bool taken = writer_submit(writer, snapshot);

    snapshot_release(snapshot);
    return taken;
}

static struct writer_figures figures(void)
{
    struct writer_figures out;

    writer_figures(writer, &out);
    return out;
}

/* Until the sinks were offered so many; a busy machine has ten seconds for it. */
static void await_offered(uint64_t count)
{
    for (int i = 0; i < 10000 && figures().offered < count; i++)
        (void)usleep(1000);
    assert_int_equal(figures().offered, count);
}

static int stop(double seconds, struct writer_figures *last)
{
    struct writer *stopped = writer;

    writer = NULL;
    return writer_stop(stopped, seconds, last);
}

static void every_sink_gets_every_snapshot_in_order(void **state)
{
    (void)state;
    struct writer_figures last;

    start((struct writer_options){0});
    for (unsigned i = 0; i < 1000; i++) {
        while (!submit(2))
            (void)usleep(1000);
    }
    struct writer_figures before_stop = figures();
    assert_int_equal(stop(-1, &last), 0);
    assert_int_equal(last.written, 1000);
    assert_int_equal(last.dropped, before_stop.dropped);
    assert_int_equal(last.queue_length, 0);
    assert_int_equal(last.queue_bytes, 0);
    assert_int_equal(one->got, 1000);
    assert_int_equal(other->got, 1000);
    assert_false(other->disorder);
    for (unsigned i = 1; i < 1000; i++)
        assert_true(one->ticks[i] > one->ticks[i - 1] && other->ticks[i] > other->ticks[i - 1]);
}

static void a_slow_disk_never_delays_a_sample(void **state)
{
    (void)state;
    uint64_t longest_ns = 0, own_ns = 0;
    unsigned taken = 0;

    one->sleep_us = 20000;
    start((struct writer_options){.queue_count = 4});
    /* What the thread itself used is looked at besides: on a busy machine others may have the CPU. */
    for (unsigned i = 0; i < 400; i++) {
        struct snapshot *snapshot = snapshot_of(pool, 50);
        struct timespec before, after;

        assert_non_null(snapshot);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
        uint64_t begin_ns = clock_monotonic_ns();
        taken += writer_submit(writer, snapshot);
        uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
        snapshot_release(snapshot);
        uint64_t cpu_ns = (uint64_t)(after.tv_sec - before.tv_sec) * NS_PER_SECOND + (uint64_t)after.tv_nsec -
                          (uint64_t)before.tv_nsec;
        longest_ns = taken_ns > longest_ns ? taken_ns : longest_ns;
        own_ns = cpu_ns > own_ns ? cpu_ns : own_ns;
        (void)usleep(1000);
    }
    print_message("# writer_submit took %.3f ms at most, %.3f ms of CPU; %u of 400 were taken\n",
                  (double)longest_ns / 1e6, (double)own_ns / 1e6, taken);
    assert_true(own_ns < NS_PER_SECOND / 1000);
    /* far less than a write takes, even if somebody else had the CPU meanwhile */
    assert_true(longest_ns < 15 * NS_PER_SECOND / 1000);
    assert_true(taken >= 5 && taken < 400);
    assert_int_equal(figures().dropped, 400 - taken);
    assert_true(figures().longest_delay_seconds >= 0.02);
}

/* With the sink's hands full, so that all the others wait. */
static void start_blocked(struct writer_options options)
{
    SET(one->blocked, true);
    start(options);
    assert_true(submit(1));
    while (figures().queue_length > 0)
        (void)usleep(1000);
}

static void an_overflow_drops_the_newest_and_counts_it(void **state)
{
    (void)state;
    start_blocked((struct writer_options){.queue_count = 3});
    for (unsigned i = 0; i < 3; i++)
        assert_true(submit(1));
    assert_int_equal(figures().queue_length, 3);
    assert_false(submit(7));
    assert_false(submit(4));
    assert_int_equal(figures().dropped, 2);
    assert_int_equal(figures().dropped_processes, 11);
    assert_int_equal(figures().dropped_events, 0); /* they are still the caller's */
    SET(one->blocked, false);
    await_offered(4);
    assert_true(submit(1));
    await_offered(5);
    assert_int_equal(one->ticks[3], 4);
    assert_int_equal(one->ticks[4], 7);
    assert_int_equal(figures().dropped, 2);
}

/* It has the events of those that found no room: with it nothing is lost at the end. */
static void the_last_one_is_taken_in_any_case(void **state)
{
    (void)state;
    start_blocked((struct writer_options){.queue_count = 2, .queue_bytes = 300000});
    for (unsigned i = 0; i < 2; i++)
        assert_true(submit(1));
    assert_false(submit(1));
    struct snapshot *last = next_snapshot(5000);
    writer_submit_last(writer, last);
    writer_submit_last(writer, last); /* against the rules: nothing is overwritten */
    snapshot_release(last);
    assert_int_equal(figures().dropped_events, 2);
    SET(one->blocked, false);
    await_offered(4);
    assert_int_equal(one->ticks[3], 5);
    assert_int_equal(figures().queue_bytes, 0);
}

static void the_queue_is_bounded_in_bytes(void **state)
{
    (void)state;
    start_blocked((struct writer_options){.queue_bytes = 300000});
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(submit(1), i < 4); /* 64 KiB each */
    assert_int_equal(figures().queue_length, 4);
    assert_true(figures().queue_bytes <= 300000);
    SET(one->blocked, false);
    await_offered(5);
    assert_int_equal(figures().queue_bytes, 0);
}

static void one_always_fits_into_an_empty_queue(void **state)
{
    (void)state;
    start_blocked((struct writer_options){.queue_bytes = 300000});
    assert_true(submit(5000)); /* else a large machine would never be stored */
    assert_true(figures().queue_bytes > 300000);
    assert_false(submit(1));
    SET(one->blocked, false);
    await_offered(2);
}

/* Tells all news, as "history failed: why; " and "history recovered; ". */
static const char *all_news(void)
{
    static char text[2048];
    struct writer_news news;
    size_t length = 0;

    text[0] = '\0';
    while (writer_next_news(writer, &news)) {
        if (news.remark)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s: %s; ", news.sink,
                                       news.error.message);
        else if (news.recovered)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s recovered, %u lost; ",
                                       news.sink, (unsigned)news.lost);
        else
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s failed: %s; ", news.sink,
                                       news.error.message);
    }
    return text;
}

static void submit_and_wait(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(submit(1));
        await_offered(tick);
    }
}

static void what_a_sink_did_not_take_is_offered_again(void **state)
{
    (void)state;
    struct writer_sink_figures of_sink;

    backlog_bytes = 1 << 20;
    start((struct writer_options){0});
    submit_and_wait(1);
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(5);
    assert_int_equal(GET(one->got), 1);
    assert_int_equal(GET(other->got), 6);
    assert_int_equal(figures().written, 1);
    SET(one->fails_with, 0);
    submit_and_wait(1);
    assert_int_equal(GET(one->got), 7);
    assert_int_equal(figures().written, 7);
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(one->ticks[i], i + 1);
    assert_string_equal(all_news(), "history failed: the disk of 2 is full; history recovered, 0 lost; ");
    assert_int_equal(figures().dropped_events, 0);
    assert_true(writer_sink_figures(writer, 0, &of_sink));
    assert_false(of_sink.failing);
    assert_int_equal(of_sink.written, 7);
}

static void of_too_much_of_it_the_oldest_is_lost_and_counted(void **state)
{
    (void)state;

    backlog_bytes = 300000; /* four of 64 KiB */
    start((struct writer_options){0});
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(10);
    assert_int_equal(figures().dropped_events, 6 * 2);
    SET(one->fails_with, 0);
    submit_and_wait(3);
    assert_int_equal(GET(one->got), 4 + 3);
    assert_int_equal(one->ticks[0], 7);
    assert_string_equal(all_news(), "history failed: the disk of 6 is full; history recovered, 6 lost; ");
}

static void what_is_left_of_it_at_the_end_is_counted(void **state)
{
    (void)state;
    struct writer_figures last;

    backlog_bytes = 1 << 20;
    start((struct writer_options){0});
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(3);
    assert_int_equal(figures().dropped_events, 0);
    assert_int_equal(stop(-1, &last), 0);
    assert_int_equal(last.dropped_events, 3 * 2);
    assert_int_equal(last.written, 0);
}

static void what_a_sink_has_to_tell_is_told_once(void **state)
{
    (void)state;

    start((struct writer_options){0});
    SET(one->remarks, true);
    submit_and_wait(1);
    SET(one->remarks, false);
    assert_string_equal(all_news(), "history: begun anew with 1; ");
    submit_and_wait(2);
    assert_string_equal(all_news(), "");
    assert_int_equal(figures().written, 3);
}

static void upkeep_that_keeps_failing_is_told_once(void **state)
{
    (void)state;

    start((struct writer_options){0});
    SET(one->idle_fails, true);
    submit_and_wait(10);
    assert_string_equal(all_news(), ""); /* it may come right by itself */
    submit_and_wait(40);
    assert_string_equal(all_news(), "history: cannot be cleaned up; ");
    submit_and_wait(40);
    assert_string_equal(all_news(), "");
}

static void a_failing_sink_is_told_once_and_the_others_go_on(void **state)
{
    (void)state;
    struct writer_sink_figures of_sink;

    start((struct writer_options){0});
    assert_string_equal(all_news(), "");
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(1);
    assert_string_equal(all_news(), "history failed: the disk of 1 is full; ");
    submit_and_wait(5);
    assert_string_equal(all_news(), "");
    assert_int_equal(GET(other->got), 6);
    assert_true(writer_sink_figures(writer, 0, &of_sink));
    assert_string_equal(of_sink.name, "history");
    assert_true(of_sink.failing);
    assert_int_equal(of_sink.failures, 6);
    assert_int_equal(of_sink.written, 0);
    assert_int_equal(of_sink.last.code, -ENOSPC);
    assert_string_equal(of_sink.last.message, "the disk of 6 is full");
    assert_true(llabs((long long)(clock_wall().tv_sec - of_sink.since.tv_sec)) < 60);
    assert_true(writer_sink_figures(writer, 1, &of_sink));
    assert_false(of_sink.failing);
    assert_int_equal(of_sink.written, 6);
    assert_int_equal(of_sink.last.code, 0);
    assert_false(writer_sink_figures(writer, 2, &of_sink));

    SET(one->fails_with, 0);
    submit_and_wait(2);
    assert_string_equal(all_news(), ""); /* not sure yet */
    assert_true(writer_sink_figures(writer, 0, &of_sink));
    assert_false(of_sink.failing);
    submit_and_wait(1);
    assert_string_equal(all_news(), "history recovered, 6 lost; ");
    submit_and_wait(3);
    assert_string_equal(all_news(), "");
}

static void a_failure_without_a_word_gets_one(void **state)
{
    (void)state;
    start((struct writer_options){0});
    SET(other->fails_with, -EIO);
    submit_and_wait(1);
    assert_string_equal(all_news(), "log failed: log: Input/output error; ");
}

static void a_sink_that_comes_and_goes_is_not_told_every_time(void **state)
{
    (void)state;
    start((struct writer_options){0});
    for (int i = 0; i < 10; i++) {
        SET(one->fails_with, i % 2 ? 0 : -ENOSPC);
        submit_and_wait(1);
        if (i > 0)
            assert_string_equal(all_news(), "");
        else
            assert_string_equal(all_news(), "history failed: the disk of 1 is full; ");
    }
    SET(one->fails_with, 0);
    submit_and_wait(2);
    assert_string_equal(all_news(), "history recovered, 5 lost; ");
}

static void a_failure_that_nobody_asked_about_is_still_told(void **state)
{
    (void)state;
    start((struct writer_options){0});
    for (int i = 0; i < 2; i++) { /* twice before anybody asks: told as one */
        SET(one->fails_with, -ENOSPC);
        submit_and_wait(1);
        SET(one->fails_with, 0);
        submit_and_wait(3);
    }
    assert_string_equal(all_news(), "history failed: the disk of 5 is full; history recovered, 2 lost; ");
    SET(one->fails_with, -ENOSPC); /* and a new one is told anew */
    submit_and_wait(1);
    assert_string_equal(all_news(), "history failed: the disk of 9 is full; ");
}

static void upkeep_is_done_between_snapshots_and_every_second(void **state)
{
    (void)state;
    start((struct writer_options){0});
    submit_and_wait(5);
    (void)usleep(100000);
    const unsigned between = GET(one->idles);
    assert_true(between >= 5 && between <= 7);
    (void)usleep(2300000);
    assert_true(GET(one->idles) >= between + 1 && GET(one->idles) <= between + 3);
}

static void the_rest_is_written_before_the_end(void **state)
{
    (void)state;
    struct writer_figures last;

    one->sleep_us = 5000;
    start((struct writer_options){0});
    for (unsigned i = 0; i < 50; i++)
        assert_true(submit(1));
    assert_int_equal(stop(-1, &last), 0);
    assert_int_equal(last.written, 50);
    assert_int_equal(last.dropped, 0);
    assert_int_equal(other->got, 50);
}

static void the_end_does_not_wait_for_ever(void **state)
{
    (void)state;
    struct writer_figures last;

    one->sleep_us = 50000;
    start((struct writer_options){0});
    for (unsigned i = 0; i < 100; i++)
        assert_true(submit(3));
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(stop(0.3, &last), 0);
    assert_true(clock_monotonic_ns() - begin_ns < 2 * NS_PER_SECOND);
    assert_true(last.written >= 1 && last.written < 50);
    assert_int_equal(last.written + last.dropped, 100);
    assert_int_equal(last.dropped_processes, 3 * last.dropped);
    assert_int_equal(last.dropped_events, 2 * last.dropped); /* nobody can offer them again */
}

static void a_stuck_sink_is_left_behind(void **state)
{
    (void)state;
    struct writer_figures last;

    SET(one->blocked, true);
    start((struct writer_options){0});
    assert_true(submit(1));
    assert_true(submit(1));
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(stop(0.1, &last), -ETIMEDOUT);
    const uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
    assert_true(taken_ns >= NS_PER_SECOND && taken_ns < 5 * NS_PER_SECOND);
    assert_int_equal(last.written, 0);
    /* It comes to its end after all, for this test's sake, with what it was left with. */
    SET(one->blocked, false);
    for (int i = 0; i < 5000 && GET(other->got) < 1; i++)
        (void)usleep(1000);
    assert_int_equal(GET(other->got), 1);
    (void)usleep(100000);
}

static void on_alarm(int signal)
{
    (void)signal;
}

static void a_signal_does_not_cut_the_end_short(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_alarm};
    struct writer_figures last;

    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    one->sleep_us = 300000;
    start((struct writer_options){0});
    assert_true(submit(1));
    (void)ualarm(50000, 50000);
    int code = stop(-1, &last);
    (void)ualarm(0, 0);
    assert_int_equal(code, 0);
    assert_int_equal(last.written, 1);
}

static unsigned begun;

static void on_begin(void)
{
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
}

static void the_thread_begins_as_asked(void **state)
{
    (void)state;
    start((struct writer_options){.begin = on_begin});
    submit_and_wait(1);
    assert_int_equal(GET(begun), 1);
}

static void a_writer_without_sinks_takes_all_the_same(void **state)
{
    (void)state;
    struct writer_sink many[WRITER_SINKS_MAX + 1] = {0};

    assert_int_equal(writer_new(many, WRITER_SINKS_MAX + 1, NULL, &writer, NULL), -E2BIG);
    assert_null(writer);
    assert_int_equal(writer_new(NULL, 0, NULL, &writer, NULL), 0);
    submit_and_wait(3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_sink_gets_every_snapshot_in_order),
        TEST(a_slow_disk_never_delays_a_sample),
        TEST(an_overflow_drops_the_newest_and_counts_it),
        TEST(the_last_one_is_taken_in_any_case),
        TEST(the_queue_is_bounded_in_bytes),
        TEST(one_always_fits_into_an_empty_queue),
        TEST(a_failing_sink_is_told_once_and_the_others_go_on),
        TEST(what_a_sink_did_not_take_is_offered_again),
        TEST(of_too_much_of_it_the_oldest_is_lost_and_counted),
        TEST(what_is_left_of_it_at_the_end_is_counted),
        TEST(what_a_sink_has_to_tell_is_told_once),
        TEST(upkeep_that_keeps_failing_is_told_once),
        TEST(a_failure_without_a_word_gets_one),
        TEST(a_sink_that_comes_and_goes_is_not_told_every_time),
        TEST(a_failure_that_nobody_asked_about_is_still_told),
        TEST(upkeep_is_done_between_snapshots_and_every_second),
        TEST(the_rest_is_written_before_the_end),
        TEST(the_end_does_not_wait_for_ever),
        TEST(a_stuck_sink_is_left_behind),
        TEST(a_signal_does_not_cut_the_end_short),
        TEST(the_thread_begins_as_asked),
        TEST(a_writer_without_sinks_takes_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
