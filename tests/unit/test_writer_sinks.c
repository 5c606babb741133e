/* Sinks that fail, recover and have something to tell: what they did not take, and what is said of it. */
#include "writer_fixture.h"

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

/* A locked file: the sink waits for it before it fails, and has room for all that it did not take. */
static void what_a_full_queue_dropped_meanwhile_is_missing_in_it(void **state)
{
    (void)state;

    backlog_bytes = 1 << 20;
    start((struct writer_options){.queue_count = 4});
    submit_and_wait(1);
    SET(one->blocked, true);
    assert_true(submit(1));
    for (int i = 0; i < 60000 && figures().queue_length > 0; i++)
        (void)usleep(1000);
    for (int i = 0; i < 4; i++)
        assert_true(submit(1));
    for (int i = 0; i < 3; i++)
        assert_false(submit(1));
    SET(one->fails_with, -ENOSPC);
    SET(one->blocked, false);
    await_offered(6);
    SET(one->fails_with, 0);
    for (uint64_t count = 7; count <= 9; count++) {
        assert_true(submit(1));
        await_offered(count);
    }
    assert_int_equal(GET(one->got), 9);
    assert_string_equal(all_news(), "history failed: the disk of 2 is full; history recovered, 3 lost; ");
    /* They are no part of the next failure. */
    SET(one->fails_with, -ENOSPC);
    assert_true(submit(1));
    await_offered(10);
    SET(one->fails_with, 0);
    for (uint64_t count = 11; count <= 13; count++) {
        assert_true(submit(1));
        await_offered(count);
    }
    assert_non_null(strstr(all_news(), "history recovered, 0 lost; "));
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

static int remark_code(void)
{
    struct writer_sink_figures sink;

    assert_true(writer_sink_figures(writer, 0, &sink));
    return sink.remark.code;
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
    assert_int_equal(remark_code(), -EBADMSG);
    SET(one->takes_back, true);
    SET(one->remarks, true);
    submit_and_wait(1);
    assert_string_equal(all_news(), "");
    assert_int_equal(remark_code(), 0);
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
    const uint64_t begin_ns = clock_monotonic_ns();
    submit_and_wait(5);
    assert_false(GET(one->untidy));
    /* Once after each of them, and then once a second. */
    while (GET(one->idles) < 5 + 1)
        (void)usleep(1000);
    const unsigned idles = GET(one->idles);
    assert_true(idles <= 5 + 3 + (clock_monotonic_ns() - begin_ns) / NS_PER_SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_a_sink_did_not_take_is_offered_again),
        TEST(of_too_much_of_it_the_oldest_is_lost_and_counted),
        TEST(what_a_full_queue_dropped_meanwhile_is_missing_in_it),
        TEST(what_is_left_of_it_at_the_end_is_counted),
        TEST(what_a_sink_has_to_tell_is_told_once),
        TEST(upkeep_that_keeps_failing_is_told_once),
        TEST(a_failing_sink_is_told_once_and_the_others_go_on),
        TEST(a_failure_without_a_word_gets_one),
        TEST(a_sink_that_comes_and_goes_is_not_told_every_time),
        TEST(a_failure_that_nobody_asked_about_is_still_told),
        TEST(upkeep_is_done_between_snapshots_and_every_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
