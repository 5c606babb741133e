/* How old something is goes by the retention clock; the wall clock plays no part. */
#include <signal.h>

#include "history_fixture.h"

#define DAY 86400

/* A snapshot with an event, with clocks of its own. */
static void put_at(double boot_seconds, double wall_step)
{
    struct snapshot *snapshot = make(2, 0);
    struct event event = {.type = EVENT_EXIT, .pid = 9};

    snapshot->wall.tv_sec += (time_t)(boot_seconds + wall_step);
    snapshot->uptime_seconds = boot_seconds;
    snapshot->boot_seconds = boot_seconds;
    event.wall = snapshot->wall;
    snapshot->events = &event;
    snapshot->event_count = 1;
    put(snapshot);
}

static void maintain(double boot_seconds, double wall_step)
{
    while (history_maintain(history, wall_base + boot_seconds + wall_step, 1, NULL) == 1)
        continue;
}

static int64_t last_clock(void)
{
    return ask("SELECT clock FROM ticks ORDER BY id DESC LIMIT 1");
}

static void step_of_the_wall_clock_takes_nothing(void **state)
{
    static const double steps[] = {40 * DAY, -40 * DAY};

    (void)state;
    for (int i = 0; i < 2; i++) {
        for (int at = 0; at < 10; at++) {
            double boot = 1000 + i * 1000 + at * 100, step = at == 5 || at == 6 ? steps[i] : 0;

            put_at(boot, step);
            maintain(boot, step);
        }
    }
    assert_int_equal(ask("SELECT count(*) FROM snapshots"), 20);
    assert_int_equal(ask("SELECT count(*) FROM process_metrics WHERE command IS NOT NULL"), 40);
    assert_int_equal(ask("SELECT count(*) FROM process_events"), 20);
    assert_int_equal(ask("SELECT sum(num_samples) FROM snapshots_1m"), 19);
    assert_int_equal(last_clock(), 1900);
}

static void time_makes_old_though_the_wall_clock_stands_still(void **state)
{
    (void)state;
    for (int at = 0; at < 100; at++) {
        put_at(at * DAY / 2.0, -at * DAY / 2.0);
        maintain(at * DAY / 2.0, at % 2 ? 1000 : -at * DAY / 2.0); /* a minute ends */
    }
    assert_int_equal(last_clock(), 99 * DAY / 2);
    /* A day of snapshots, thirty of events: and what is kept until there is enough to delete. */
    assert_in_range(ask("SELECT count(*) FROM snapshots"), 2, 4);
    assert_in_range(ask("SELECT count(*) FROM process_events"), 60, 63);
}

static void time_without_a_daemon_counts_in_the_same_boot(void **state)
{
    (void)state;
    put_at(100, 0);
    put_at(150, 0);
    assert_int_equal(last_clock(), 50);
    reopen();
    put_at(1000, 0);
    assert_int_equal(last_clock(), 900);
    reopen(); /* with an older snapshot, that was queued */
    put_at(900, 0);
    assert_int_equal(last_clock(), 900);
}

static void another_boot_goes_on_where_the_last_one_ended(void **state)
{
    sqlite3 *database = NULL;

    (void)state;
    put_at(100, 0);
    put_at(5000, 0);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(database_run(database, "UPDATE clock SET boot = 'another'"), 0);
    (void)sqlite3_close(database);
    reopen();
    put_at(30, 9 * DAY);
    put_at(90, 9 * DAY);
    assert_int_equal(last_clock(), 4900 + 60);
    reopen();
    put_at(100, 9 * DAY);
    assert_int_equal(last_clock(), 4900 + 70);
    assert_int_equal(ask("SELECT count(*) FROM clock"), 1);
}

static void write_that_failed_leaves_the_clock(void **state)
{
    sqlite3 *other = NULL;

    (void)state;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(database_run(other, "BEGIN IMMEDIATE"), 0);
    struct snapshot *snapshot = make(2, 0);
    snapshot->boot_seconds = 40;
    assert_int_equal(history_write(history, snapshot, NULL), -EBUSY);
    assert_int_equal(database_run(other, "ROLLBACK"), 0);
    (void)sqlite3_close(other);
    (void)signal(SIGXFSZ, SIG_IGN);
    set_file_limit(16384); /* fails at the end, when the clock has been advanced */
    assert_int_equal(history_write(history, snapshot, NULL), -ENOSPC);
    set_file_limit(RLIM_INFINITY);
    snapshot_release(snapshot);
    put_at(100, 0);
    put_at(130, 0);
    assert_int_equal(last_clock(), 30);
    assert_int_equal(ask("SELECT count(*) FROM clock"), 1);
}

/* The data reported with an ended job has gone: the job goes too, whatever its dates say. */
static void jobs_go_by_the_same_clock(void **state)
{
    (void)state;
    sqlite3 *other = NULL;

    put_at(100, 0);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(
        database_run(other, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10003)"
                            " INSERT INTO jobs(name, status, started_ns, ended_ns, clock)"
                            " SELECT 'job', 'completed', 1, 9e18, i * 30 * 86400 FROM n"),
        0);
    (void)sqlite3_close(other);
    for (int at = 0; at < 4; at++) {
        put_at(100 + at * 60.0 * DAY, 0);
        maintain(100 + at * 60.0 * DAY, 1000);
    }
    /* Of those that are not among the last 10,000, the clocks are at 30, 60 and 90 days; 120 are the oldest
     * left. */
    assert_int_equal(ask("SELECT count(*) FROM jobs WHERE name = 'job'"), 10000);
    assert_int_equal(ask("SELECT min(clock) FROM jobs WHERE name = 'job'"), 120 * DAY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(step_of_the_wall_clock_takes_nothing),
        HISTORY_TEST(time_makes_old_though_the_wall_clock_stands_still),
        HISTORY_TEST(time_without_a_daemon_counts_in_the_same_boot),
        HISTORY_TEST(another_boot_goes_on_where_the_last_one_ended),
        HISTORY_TEST(write_that_failed_leaves_the_clock),
        HISTORY_TEST(jobs_go_by_the_same_clock),
    };

    return cmocka_run_group_tests_name("history_clock", tests, NULL, NULL);
}
