/* An older history becomes one of today, whole or not at all; and which samples make up a snapshot. */
#include "store/history/schema.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "columns_fixture.h"
#include "store/history/ranges.h"

static const char *const steps[] = {
    "CREATE TABLE ticks(id INTEGER PRIMARY KEY, load REAL)",
    "ALTER TABLE ticks ADD COLUMN process_count INTEGER; UPDATE ticks SET process_count = 0",
    "CREATE VIEW snapshots AS SELECT id, load AS load_avg_1, process_count AS child_count FROM ticks",
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

    assert_int_equal(schema_migrate(database, "x", steps, 1, NULL, NULL), 0);
    assert_int_equal(number(database, "PRAGMA user_version"), 1);
    assert_int_equal(database_run(database, "INSERT INTO ticks VALUES(7, 1.5)"), 0);
    assert_int_equal(schema_check(database, "x", 3, NULL), 0);
    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL), 0);
    assert_int_equal(number(database, "PRAGMA user_version"), 3);
    assert_int_equal(number(database, "SELECT id + child_count FROM snapshots WHERE load_avg_1 = 1.5"), 7);
    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL), 0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* Of the real ones: what each version before had in its tables can be read as before. */
static void every_version_there_was_is_brought_up_to_this_one(void **state)
{
    (void)state;
    for (int version = 1; version < SCHEMA_VERSION; version++) {
        sqlite3 *database = open_memory();

        assert_int_equal(schema_migrate(database, "x", schema_steps, version, all_columns(), NULL), 0);
        assert_int_equal(
            database_run(database,
                         "INSERT INTO jobs(name, status, peak_processes) VALUES('a', 'completed', 5);"
                         "INSERT INTO sheets(job, number, status) VALUES(1, 2, 'failed');"
                         "INSERT INTO events(timestamp, type) VALUES(1.7e9, 'exit')"),
            0);
        assert_int_equal(schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), NULL), 0);
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
    const char *const broken[] = {steps[0], steps[1], "CREATE TABLE other(id); CREATE NONSENSE"};
    sqlite3 *database = open_memory();
    struct metron_error error = {0};

    assert_int_equal(schema_migrate(database, "x", broken, 1, NULL, NULL), 0);
    assert_true(schema_migrate(database, "x", broken, 3, NULL, &error) < 0);
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

    assert_int_equal(schema_migrate(database, "x", steps, 3, NULL, NULL), 0);
    assert_int_equal(schema_check(database, "x", 2, &error), -ENOTSUP);
    assert_int_equal(database_run(database, "PRAGMA application_id = 5"), 0);
    assert_int_equal(schema_check(database, "x", 3, &error), -EINVAL);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static int add(void *context, int64_t first, int64_t last)
{
    int64_t *sum = context;

    for (int64_t id = first; id <= last; id++)
        *sum += id;
    return 0;
}

static void ids_become_ranges_and_ranges_ids(void **state)
{
    (void)state;
    static const int64_t ids[] = {130, 3, 4, 5, 64, 63, 200, 129, 128};
    struct id_set set = {0};
    struct strbuf text = STRBUF_INIT;
    int64_t sum = 0;

    assert_int_equal(id_set_begin(&set, 3, 200), 0);
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        id_set_add(&set, ids[i]);
    assert_int_equal(id_set_ranges(&set, &text), 4);
    assert_string_equal(strbuf_text(&text), "{\"3\":2,\"63\":1,\"128\":2,\"200\":0}");
    assert_int_equal(ranges_read(strbuf_text(&text), text.length, add, &sum), 0);
    assert_int_equal(sum, 130 + 3 + 4 + 5 + 64 + 63 + 200 + 129 + 128);
    assert_int_equal(id_set_begin(&set, 9, 8), 0);
    assert_int_equal(id_set_ranges(&set, &text), 0);
    assert_string_equal(strbuf_text(&text), "{}");
    strbuf_fini(&text);
    id_set_fini(&set);
}

static void ranges_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"x\":1}",
                                        "{\"1\":-1}",
                                        "{\"1\":1e99}",
                                        "{\"1\":1",
                                        "{\"-1\":1}",
                                        "{\"1\":\"1\"}",
                                        "{\"9999999999999999\":1}"};
    int64_t sum = 0;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        assert_int_equal(ranges_read(texts[i], strlen(texts[i]), add, &sum), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_version_is_brought_up_with_what_is_in_it),
        cmocka_unit_test(every_version_there_was_is_brought_up_to_this_one),
        cmocka_unit_test(failed_step_leaves_the_older_version),
        cmocka_unit_test(newer_and_foreign_databases_are_refused),
        cmocka_unit_test(ids_become_ranges_and_ranges_ids),
        cmocka_unit_test(ranges_that_are_none_are_refused),
    };

    return cmocka_run_group_tests_name("history_schema", tests, NULL, NULL);
}
