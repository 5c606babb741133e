/* An older history becomes one of today, whole or not at all. */
#include "store/history/schema.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "columns_fixture.h"

static const struct schema_step steps[] = {
    {"CREATE TABLE ticks(id INTEGER PRIMARY KEY, load REAL)", NULL},
    {"ALTER TABLE ticks ADD COLUMN process_count INTEGER; UPDATE ticks SET process_count = 0", NULL},
    {"CREATE VIEW snapshots AS SELECT id, load AS load_avg_1, process_count AS child_count FROM ticks", NULL},
};

static sqlite3 *open_memory(void)
{
    sqlite3 *database = NULL;

    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    return database;
}

static int64_t number(sqlite3 *database, const char *sql)
{
    int64_t answer = -1;

    assert_int_equal(database_number(database, sql, &answer), 0);
    return answer;
}

static void older_version_is_brought_up_with_what_is_in_it(void **state)
{
    (void)state;
    sqlite3 *database = open_memory();

    assert_int_equal(schema_migrate(database, "x", steps, 1, NULL, NULL, NULL), 0);
    assert_int_equal(number(database, "PRAGMA user_version"), 1);
    assert_int_equal(database_run(database, "INSERT INTO ticks VALUES(7, 1.5)"), 0);
    assert_int_equal(schema_check(database, "x", 3, NULL), 0);
    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL, NULL), 0);
    assert_int_equal(number(database, "PRAGMA user_version"), 3);
    assert_int_equal(number(database, "SELECT id + child_count FROM snapshots WHERE load_avg_1 = 1.5"), 7);
    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL, NULL), 0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* Of the real ones: what each version before had in its tables can be read as before. */
static void every_version_there_was_is_brought_up_to_this_one(void **state)
{
    (void)state;
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        sqlite3 *database = open_memory();

        assert_int_equal(schema_migrate(database, "x", schema_steps, version, all_columns(), NULL, NULL), 0);
        assert_int_equal(
            database_run(database,
                         "INSERT INTO jobs(name, status, peak_processes) VALUES('a', 'completed', 5);"
                         "INSERT INTO sheets(job, number, status) VALUES(1, 2, 'failed');"
                         "INSERT INTO events(timestamp, type) VALUES(1.7e9, 'exit')"),
            0);
        assert_int_equal(
            schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL), 0);
        assert_int_equal(number(database, "PRAGMA user_version"), SCHEMA_VERSION);
        assert_int_equal(number(database, "SELECT peak_processes FROM jobs WHERE oom_kills IS NULL"), 5);
        assert_int_equal(number(database, "SELECT number FROM sheets WHERE hotspots IS NULL"), 2);
        assert_int_equal(number(database, "SELECT clock FROM events"), 0);
        assert_int_equal(sqlite3_close(database), SQLITE_OK);
    }
}

static void failed_step_leaves_the_older_version(void **state)
{
    (void)state;
    const struct schema_step broken[] = {
        steps[0], steps[1], {"CREATE TABLE other(id); CREATE NONSENSE", NULL}};
    sqlite3 *database = open_memory();
    struct metron_error error = {0};

    assert_int_equal(schema_migrate(database, "x", broken, 1, NULL, NULL, NULL), 0);
    assert_true(schema_migrate(database, "x", broken, 3, NULL, NULL, &error) < 0);
    assert_non_null(strstr(error.message, "NONSENSE"));
    assert_int_equal(number(database, "PRAGMA user_version"), 1);
    assert_int_equal(number(database, "SELECT count(*) FROM sqlite_master"), 1);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void newer_and_foreign_databases_are_refused(void **state)
{
    (void)state;
    sqlite3 *database = open_memory();
    struct metron_error error = {0};

    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL, NULL), 0);
    assert_int_equal(schema_check(database, "x", 2, &error), -ENOTSUP);
    assert_int_equal(database_run(database, "PRAGMA application_id = 5"), 0);
    assert_int_equal(schema_check(database, "x", 3, &error), -EINVAL);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* Process 1 has two samples and is there, and one from before the oldest snapshot that is left; 2 ended with
 * the oldest, 3 before it. */
static void ranges_of_older_versions_become_what_a_sample_holds_for(void **state)
{
    (void)state;
    sqlite3 *database = open_memory();

    assert_int_equal(schema_migrate(database, "x", schema_steps, 6, all_columns(), NULL, NULL), 0);
    assert_int_equal(
        database_run(
            database,
            "INSERT INTO processes(id, origin, pid, last_seen) VALUES(1, 1, 1, NULL), (2, 2, 2, 100), (3, 3, "
            "3, 90);"
            "INSERT INTO samples(id, process, threads) VALUES(4, 1, 9), (5, 1, 1), (6, 2, 1), (7, 3, 1), (8, "
            "1, 2);"
            "INSERT INTO ticks(id, timestamp, interval_ms, first_sample, last_sample, ranges) VALUES"
            " (3, 100, NULL, 4, 7, '{\"5\":1}'), (4, 105, 5000, 4, 7, '{\"5\":0}'),"
            " (5, 110, 5000, 8, 8, '{\"8\":0}');"
            "INSERT INTO minute_samples(id, process, threads) VALUES(1, 1, 1.5), (2, 2, 1);"
            "INSERT INTO minutes(id, minute, last_tick, num_samples, first_sample, last_sample, ranges)"
            " VALUES(1, 1, 5, 3, 1, 2, '{\"1\":1}'), (2, 2, 6, 1, 1, 2, '{\"1\":0}')"),
        0);
    assert_int_equal(schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL),
                     0);
    assert_int_equal(number(database,
                            "SELECT count(*) FROM samples WHERE (id, first_tick, last_tick) IN"
                            " (VALUES(4, 3, 0), (5, 3, 4), (6, 3, 3), (7, 3, 0), (8, 5, " SCHEMA_HOLDS "))"),
                     5);
    assert_int_equal(number(database,
                            "SELECT count(*) FROM process_metrics WHERE (snapshot_id, pid, threads) IN"
                            " (VALUES(3, 1, 1), (3, 2, 1), (4, 1, 1), (5, 1, 2))"),
                     number(database, "SELECT count(*) FROM process_metrics"));
    assert_int_equal(number(database, "SELECT count(*) FROM process_metrics"), 4);
    assert_int_equal(number(database, "SELECT group_concat(snapshot_id || pid, '') FROM process_metrics_1m"),
                     111221);
    assert_int_equal(number(database, "SELECT elapsed_ms FROM ticks WHERE id = 5"), 10000);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* They read what is made anew meanwhile. */
static void what_others_added_to_the_file_outlives_an_upgrade(void **state)
{
    (void)state;
    sqlite3 *database = open_memory();

    assert_int_equal(schema_migrate(database, "x", schema_steps, 6, all_columns(), NULL, NULL), 0);
    assert_int_equal(
        database_run(database, "CREATE VIEW mine AS SELECT snapshot_id, pid, threads FROM process_metrics;"
                               "CREATE VIEW mine_too AS SELECT count(*) AS number FROM mine JOIN snapshots ON"
                               " snapshots.id = snapshot_id;"
                               "CREATE VIEW of_what_goes AS SELECT ranges FROM ticks;"
                               "CREATE INDEX my_index ON processes(pid);"
                               "CREATE TABLE my_table(pid INTEGER);"
                               "INSERT INTO processes(id, origin, pid) VALUES(1, 1, 11);"
                               "INSERT INTO samples(id, process, threads) VALUES(1, 1, 3);"
                               "INSERT INTO ticks(id, timestamp, first_sample, last_sample, ranges)"
                               " VALUES(1, 100, 1, 1, '{\"1\":1}');"
                               "CREATE TRIGGER my_trigger AFTER INSERT ON processes BEGIN"
                               " INSERT INTO my_table SELECT pid FROM process_metrics; END"),
        0);
    assert_int_equal(schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL),
                     0);
    assert_int_equal(number(database, "SELECT pid FROM mine WHERE threads = 3"), 11);
    assert_int_equal(number(database, "SELECT number FROM mine_too"), 1);
    assert_int_equal(database_run(database, "INSERT INTO processes(id, origin, pid) VALUES(2, 2, 12)"), 0);
    assert_int_equal(number(database, "SELECT pid FROM my_table"), 11);
    assert_int_equal(
        number(database, "SELECT count(*) FROM sqlite_master WHERE name IN ('of_what_goes', 'my_index')"), 2);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

struct watched {
    double stop_at, done;
    unsigned calls;
};

static bool watch(void *context, double done)
{
    struct watched *watched = context;

    assert_true(done >= watched->done && done <= 1);
    watched->calls++;
    watched->done = done;
    return done >= watched->stop_at;
}

static void an_upgrade_that_is_stopped_leaves_the_file_as_it_was(void **state)
{
    (void)state;
    static const char is_new[] =
        "SELECT count(*) FROM pragma_table_info('samples') WHERE name = 'first_tick'";
    const double stops[] = {0, 0.3, 0.5};
    sqlite3 *database = open_memory();

    assert_int_equal(schema_migrate(database, "x", schema_steps, 6, all_columns(), NULL, NULL), 0);
    assert_int_equal(
        database_run(
            database,
            "WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 50000) "
            "INSERT INTO samples(id, process) SELECT n, n FROM n;"
            "INSERT INTO processes(id, origin, pid, last_seen) SELECT id, id, id, 100 FROM samples;"
            "INSERT INTO ticks(id, timestamp, first_sample, last_sample, ranges) SELECT id / 100, 100,"
            " 1, id, '{}' FROM samples WHERE id % 100 = 0"),
        0);
    for (size_t i = 0; i < sizeof(stops) / sizeof(*stops); i++) {
        struct watched watched = {.stop_at = stops[i]};
        const struct history_upgrade upgrade = {watch, &watched};
        struct metron_error error = {0};

        assert_int_equal(
            schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), &upgrade, &error),
            -ECANCELED);
        assert_non_null(strstr(error.message, "the next start tries again"));
        assert_true(watched.done >= stops[i] && watched.done < 0.7);
        assert_int_equal(number(database, "PRAGMA user_version"), 6);
        assert_int_equal(number(database, is_new), 0);
    }
    struct watched watched = {.stop_at = 2};
    const struct history_upgrade upgrade = {watch, &watched};
    assert_int_equal(
        schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), &upgrade, NULL), 0);
    assert_true(watched.calls > 3);
    assert_int_equal(number(database, "SELECT count(*) FROM samples WHERE first_tick > 0"), 50000);
    assert_int_equal(
        schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), &upgrade, NULL), 0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_version_is_brought_up_with_what_is_in_it),
        cmocka_unit_test(every_version_there_was_is_brought_up_to_this_one),
        cmocka_unit_test(failed_step_leaves_the_older_version),
        cmocka_unit_test(newer_and_foreign_databases_are_refused),
        cmocka_unit_test(ranges_of_older_versions_become_what_a_sample_holds_for),
        cmocka_unit_test(what_others_added_to_the_file_outlives_an_upgrade),
        cmocka_unit_test(an_upgrade_that_is_stopped_leaves_the_file_as_it_was),
    };

    return cmocka_run_group_tests_name("history_schema", tests, NULL, NULL);
}
