/* Jobs that are committed between two snapshots: in order, to the sinks that store jobs, and kept like a
 * snapshot where that fails. */
#include "base/worker.h"
#include "writer_fixture.h"

#define BACKLOG ((size_t)1 << 20)

static char order[256]; /* of the first sink: "w3" for snapshot 3, "c" for a commit; of the writer's thread */

static int write_noted(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    int code = sink_write(context, snapshot, error);

    if (code >= 0)
        (void)snprintf(order + strlen(order), sizeof(order) - strlen(order), "w%u", (unsigned)snapshot->tick);
    return code;
}

static int commit_noted(void *context, const struct snapshot *snapshot, struct metron_error *error)
{
    struct sink *sink = context;

    (void)snapshot;
    if (GET(sink->fails_with))
        return error_set(error, GET(sink->fails_with), "the disk is full");
    (void)snprintf(order + strlen(order), sizeof(order) - strlen(order), "c");
    return 0;
}

static void start_with(size_t kept_bytes, bool stores_jobs)
{
    const struct writer_sink sinks[] = {
        {"history", write_noted, sink_idle, one, kept_bytes, stores_jobs ? commit_noted : NULL},
        {"log", sink_write, NULL, other, 0, NULL},
    };

    order[0] = '\0';
    assert_int_equal(writer_new(sinks, 2, NULL, &writer, NULL), 0);
}

static bool commit(void)
{
    struct snapshot *snapshot = snapshot_new(pool);

    assert_non_null(snapshot);
    bool taken = writer_commit(writer, snapshot);
    snapshot_release(snapshot);
    return taken;
}

static int commit_and_wait(void)
{
    assert_true(commit());
    assert_true(wake_wait(writer_commit_fd(writer), 60000));
    return writer_commit_result(writer);
}

static void a_commit_comes_after_all_before_it_and_is_no_snapshot(void **state)
{
    (void)state;
    struct writer_figures last;
    struct writer_sink_figures history;

    start_with(BACKLOG, true);
    assert_true(submit(1));
    assert_true(submit(1));
    assert_int_equal(commit_and_wait(), 0);
    assert_true(writer_sink_figures(writer, 0, &history));
    assert_int_equal(history.written, 2);
    assert_true(submit(1));
    assert_int_equal(stop(-1, &last), 0);
    assert_string_equal(order, "w1w2cw3");
    assert_int_equal(last.written, 3);
    assert_int_equal(last.offered, 3);
    assert_int_equal(other->got, 3); /* nothing of it is for the log */
}

static void a_commit_that_failed_is_stored_before_the_next_snapshot(void **state)
{
    (void)state;
    start_with(BACKLOG, true);
    submit_and_wait(1);
    SET(one->fails_with, -ENOSPC);
    assert_int_equal(commit_and_wait(), -ENOSPC);
    assert_string_equal(all_news(), "history failed: the disk is full; ");
    SET(one->fails_with, 0);
    submit_and_wait(1);
    assert_string_equal(order, "w1cw2");
}

/* The older snapshot has the same jobs as they were then. */
static void a_commit_waits_for_what_the_sink_did_not_take(void **state)
{
    (void)state;
    start_with(BACKLOG, true);
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(1);
    assert_int_equal(commit_and_wait(), -ENOSPC);
    SET(one->fails_with, 0);
    assert_int_equal(commit_and_wait(), 0);
    assert_string_equal(order, "w1cc");
}

static void nothing_is_certain_after_a_loss_until_it_was_reported(void **state)
{
    (void)state;
    start_with(0, true); /* it keeps nothing for later */
    SET(one->fails_with, -ENOSPC);
    submit_and_wait(1);
    SET(one->fails_with, 0);
    assert_int_equal(commit_and_wait(), -EIO);
    submit_and_wait(3);
    struct writer_news news;
    assert_true(writer_next_news(writer, &news) && !news.recovered);
    assert_true(writer_next_news(writer, &news) && news.recovered);
    assert_true(news.lost_jobs);
    assert_int_equal(news.lost, 1); /* the commit was no snapshot */
    assert_int_equal(commit_and_wait(), 0);
}

static void without_a_sink_for_jobs_there_is_no_commit(void **state)
{
    (void)state;
    start_with(0, false);
    assert_false(commit());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_commit_comes_after_all_before_it_and_is_no_snapshot),
        TEST(a_commit_that_failed_is_stored_before_the_next_snapshot),
        TEST(a_commit_waits_for_what_the_sink_did_not_take),
        TEST(nothing_is_certain_after_a_loss_until_it_was_reported),
        TEST(without_a_sink_for_jobs_there_is_no_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
