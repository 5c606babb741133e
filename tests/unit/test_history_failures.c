/* Writes that fail: nothing is left of them, and what comes after is whole. */
#include <signal.h>
#include <sys/resource.h>

#include "history_fixture.h"

static void failed_write_leaves_nothing_and_the_next_is_whole(void **state)
{
    (void)state;
    sqlite3 *other = NULL;
    struct metron_error error = {0};

    put(make(10, 0));
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(database_run(other, "BEGIN IMMEDIATE"), 0);
    struct snapshot *refused = make(12, 1);
    add_to_value(&refused->processes[3], "rss_mb", 4096);
    assert_int_equal(history_write(history, refused, &error), -EBUSY);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(database_run(other, "ROLLBACK"), 0);
    (void)sqlite3_close(other);
    struct snapshot *next = make(12, 2);
    add_to_value(&next->processes[3], "rss_mb", 4096);
    assert_int_equal(history_write(history, next, &error), 0);
    assert_int_equal(last_id(), 2);
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 2);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE snapshot_id = 2"), 12);
    assert_int_equal(ask("SELECT count(*) FROM samples"), 13);
    snapshot_release(refused);
    snapshot_release(next);
}

/* A trigger that refuses stands for a disk that is full in the middle of a transaction. */
static void write_that_fails_half_way_is_undone(void **state)
{
    (void)state;
    struct event event = {.type = EVENT_OOM, .pid = 5, .job_id = "new job"};
    struct job new_job = {.id = "new job", .started = {1763190000, 1}};
    struct snapshot *snapshot = make(10, 1);

    put(make(5, 0));
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 1);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(database_run(other, "CREATE TRIGGER refuse BEFORE INSERT ON ticks BEGIN"
                                         " SELECT raise(ABORT, 'no'); END"),
                     0);
    snapshot->changed_jobs = &new_job;
    snapshot->changed_job_count = 1;
    snapshot->events = &event;
    snapshot->event_count = 1;
    assert_true(history_write(history, snapshot, NULL) < 0);
    assert_true(history_write(history, snapshot, NULL) < 0);
    assert_int_equal(ask("SELECT count(*) FROM processes") + ask("SELECT count(*) FROM events"), 5);
    assert_int_equal(database_run(other, "DROP TRIGGER refuse"), 0);
    (void)sqlite3_close(other);
    assert_int_equal(history_write(history, snapshot, NULL), 0);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE snapshot_id = 2"), 10);
    assert_int_equal(ask("SELECT count(*) FROM process_events WHERE job_id = 'new job'"), 1);
    snapshot_release(snapshot);
}

static void snapshot_that_found_no_room_leaves_no_gap(void **state)
{
    (void)state;
    struct snapshot_job jobs[] = {{.job_id = "night", .status = "running"}};
    struct metron_error error = {0};
    struct snapshot *snapshot = make(500, 1);

    (void)signal(SIGXFSZ, SIG_IGN);
    put(make(3, 0));
    snapshot->jobs = jobs;
    snapshot->job_count = 1;
    set_file_limit(256 * 1024);
    int code = 0;
    for (int i = 0; i < 100 && code == 0; i++) {
        add_to_value(&snapshot->processes[i], "rss_mb", 4096);
        code = history_write(history, snapshot, &error);
        jobs[0].job_id = "day"; /* the last one tells of a new one */
    }
    int64_t written = last_id();
    assert_int_equal(code, -ENOSPC);
    jobs[0].job_id = "noon";
    assert_int_equal(history_write(history, snapshot, &error), -ENOSPC);
    set_file_limit(RLIM_INFINITY);
    snapshot->wall.tv_sec += 5;
    assert_int_equal(history_write(history, snapshot, &error), 0);
    assert_int_equal(last_id(), written + 1);
    assert_int_equal(ask("SELECT max(id) = count(*) FROM snapshots"), 1);
    struct kept kept = read_back(wall_base + 10, 1);
    assert_int_equal(kept.snapshots[0]->job_count, 1);
    assert_string_equal(kept.snapshots[0]->jobs[0].job_id, "noon");
    assert_int_equal(kept.snapshots[0]->process_count, 500);
    let_go(&kept);
    snapshot_release(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(failed_write_leaves_nothing_and_the_next_is_whole),
        HISTORY_TEST(write_that_fails_half_way_is_undone),
        HISTORY_TEST(snapshot_that_found_no_room_leaves_no_gap),
    };

    return cmocka_run_group_tests_name("history_failures", tests, NULL, NULL);
}
