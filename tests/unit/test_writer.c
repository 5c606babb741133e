/* The thread that stores snapshots: whatever its sinks do, handing one over takes no time. */
#include "process_state.h"
#include "writer_fixture.h"

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

/* With the sink's hands full, so that all the others wait. */
static void start_blocked(struct writer_options options)
{
    SET(one->blocked, true);
    start(options);
    assert_true(submit(1));
    while (figures().queue_length > 0)
        (void)usleep(1000);
}

static void a_slow_disk_never_delays_a_sample(void **state)
{
    (void)state;
    unsigned taken = 0;

    start_blocked((struct writer_options){.queue_count = 4});
    /* The disk answers only after the last of them: a caller that waited for it would wait for ever. */
    for (unsigned i = 0; i < 400; i++)
        taken += submit(50);
    assert_int_equal(taken, 4);
    assert_int_equal(figures().dropped, 400 - taken);
    (void)usleep(20000); /* the delay that is to be reported */
    SET(one->blocked, false);
    await_offered(1 + taken);
    assert_true(figures().longest_delay_seconds >= 0.02);
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
    assert_int_equal(stop(0.3, &last), 0);
    assert_true(last.written < 100); /* all of them would take five seconds */
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
    const unsigned threads = thread_count();
    assert_true(submit(1));
    assert_true(submit(1));
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(stop(0.1, &last), -ETIMEDOUT);
    const uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
    assert_true(taken_ns >= NS_PER_SECOND);
    assert_int_equal(last.written, 0);
    /* It comes to its end after all, for this test's sake, with what it was left with. */
    SET(one->blocked, false);
    while (thread_count() >= threads) /* its thread ends, and frees what is its own */
        (void)usleep(1000);
    assert_int_equal(GET(other->got), 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_sink_gets_every_snapshot_in_order),
        TEST(a_slow_disk_never_delays_a_sample),
        TEST(an_overflow_drops_the_newest_and_counts_it),
        TEST(the_last_one_is_taken_in_any_case),
        TEST(the_queue_is_bounded_in_bytes),
        TEST(one_always_fits_into_an_empty_queue),
        TEST(the_rest_is_written_before_the_end),
        TEST(the_end_does_not_wait_for_ever),
        TEST(a_stuck_sink_is_left_behind),
        TEST(a_signal_does_not_cut_the_end_short),
        TEST(the_thread_begins_as_asked),
        TEST(a_writer_without_sinks_takes_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
