/* A history whose rows no metron wrote: what is read of it can be sent and shown, or it is damaged. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "columns_fixture.h"
#include "daemon/socket/request.h"
#include "schema/job.h"
#include "store/history/reader_state.h"
#include "store/history/schema.h"
#include "store/history/tables.h"

static struct history_reader *reader;
static struct snapshot_pool *pool;
static struct strbuf seen;

static int setup(void **state)
{
    sqlite3 *database = NULL;

    (void)state;
    pool = snapshot_pool_new();
    seen = (struct strbuf)STRBUF_INIT;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(schema_migrate(database, "x", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL),
                     0);
    return reader_over(database, "x", &reader, NULL);
}

static int teardown(void **state)
{
    (void)state;
    history_reader_close(reader);
    snapshot_pool_free(pool);
    strbuf_fini(&seen);
    return 0;
}

static void run(const char *sql)
{
    assert_int_equal(database_run(reader->database, sql), 0);
}

static int see_event(void *context, const struct history_event *event)
{
    (void)context;
    assert_non_null(event->event_type);
    assert_null(memchr(event->json, '\n', event->json_length));
    assert_int_equal(request_check(event->json, event->json_length, NULL), 0);
    strbuf_addf(&seen, "%s\n", event->json);
    return 0;
}

static const char *events(void)
{
    strbuf_reset(&seen);
    assert_int_equal(history_read_events(reader, 0, NULL, 100, see_event, NULL, NULL), 0);
    return strbuf_text(&seen);
}

static void an_event_is_one_line_of_json_whatever_its_details(void **state)
{
    (void)state;
    run("INSERT INTO events(timestamp, type, details) VALUES (1, 'a', char(10) || ' { \"x\" :' || char(10)"
        " || ' 1 } ')");
    assert_string_equal(events(), "{\"timestamp\":1,\"event_type\":\"a\",\"x\":1}\n");
    run("UPDATE events SET details = '{ }'");
    assert_string_equal(events(), "{\"timestamp\":1,\"event_type\":\"a\"}\n");
    run("UPDATE events SET details = CAST(x'7B2278223A2222FF227D' AS TEXT)"); /* no UTF-8 */
    assert_string_equal(events(), "{\"timestamp\":1,\"event_type\":\"a\"}\n");
    run("UPDATE events SET details = '{\"x\":\"]}\\\"[\",\"y\":[{}]}'");
    assert_string_equal(events(), "{\"timestamp\":1,\"event_type\":\"a\",\"x\":\"]}\\\"[\",\"y\":[{}]}\n");
    run("UPDATE events SET details = '{\"x\":' || replace(hex(zeroblob(50)), '00', '[') ||"
        " replace(hex(zeroblob(50)), '00', ']') || '}'");
    assert_string_equal(events(), "{\"timestamp\":1,\"event_type\":\"a\"}\n");
}

static void an_event_without_a_time_or_a_type_is_left_out(void **state)
{
    (void)state;
    run("INSERT INTO events(timestamp, type) VALUES (9e999, 'a'), ('then', 'b'), (5, 'c')");
    assert_string_equal(events(), "{\"timestamp\":5,\"event_type\":\"c\"}\n");
    run("DROP VIEW process_events; CREATE VIEW process_events AS SELECT 1 AS id, 1 AS timestamp, NULL AS pid,"
        " NULL AS event_type, 0 AS exit_code, 0 AS signal_num, 'j' AS job_id, 1 AS sheet_num, '{}' AS "
        "details");
    assert_string_equal(events(), "");
}

static int see_job(void *context, const struct job *job)
{
    (void)context;
    assert_non_null(job->id);
    strbuf_addf(&seen, "%s\n", job->id);
    return 0;
}

static void a_job_without_a_name_is_left_out(void **state)
{
    (void)state;
    run("PRAGMA legacy_alter_table = ON; ALTER TABLE jobs RENAME TO named; CREATE TABLE jobs AS SELECT * FROM"
        " named; INSERT INTO jobs(name, status) VALUES (NULL, 'running'), ('night', 'running')");
    assert_int_equal(history_read_running_jobs(reader, see_job, NULL, NULL), 0);
    assert_string_equal(strbuf_text(&seen), "night\n");
}

static int see_calls_and_members(void *context, const struct job *job)
{
    (void)context;
    strbuf_addf(&seen, "%s: %zu calls, %zu members", job->id, job->call_count, job->member_count);
    for (size_t i = 0; i < job->sheet_count; i++)
        strbuf_addf(&seen, ", %zu calls of sheet %d", job->sheets[i].call_count, (int)job->sheets[i].number);
    strbuf_adds(&seen, "\n");
    return 0;
}

static const char *running_jobs(void)
{
    strbuf_reset(&seen);
    assert_int_equal(history_read_running_jobs(reader, see_calls_and_members, NULL, NULL), 0);
    return strbuf_text(&seen);
}

/* The job is read without its calls, and so are the jobs after it. */
static void calls_with_a_count_that_cannot_be_are_not_known(void **state)
{
    static const char *const wrong[] = {
        "{\"read\":[-1,0.5]}",
        "{\"read\":[1e300,0.5]}",
        "{\"read\":[9223372036854775808,0.5]}",
        "{\"read\":[3,0.5],",
        "[]",
        "{\"read\":[3,0.5],\"write\":[-1,0.5]}",
        "{\"read\":[3,0.5,1]}",
    };
    char sql[256];

    (void)state;
    run("INSERT INTO jobs(id, name, status, hotspots) VALUES (1, 'a', 'running', '{\"read\":[3,0.5]}'),"
        " (2, 'b', 'running', '{\"read\":[3,0.5]}'), (3, 'c', 'running', '{\"read\":[3,0.5]}');"
        "INSERT INTO sheets(job, number, status, hotspots) VALUES (2, 7, 'running', '{\"read\":[3,0.5]}')");
    assert_string_equal(running_jobs(), "a: 1 calls, 0 members\n"
                                        "b: 1 calls, 0 members, 1 calls of sheet 7\n"
                                        "c: 1 calls, 0 members\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct arena arena = {0};
        struct history_profile profile;

        (void)snprintf(sql, sizeof(sql),
                       "UPDATE jobs SET hotspots = '%s' WHERE name = 'b'; UPDATE sheets SET hotspots = '%s'",
                       wrong[i], wrong[i]);
        run(sql);
        assert_string_equal(running_jobs(), "a: 1 calls, 0 members\n"
                                            "b: 0 calls, 0 members, 0 calls of sheet 7\n"
                                            "c: 1 calls, 0 members\n");
        assert_int_equal(history_read_profile(reader, "b", &arena, &profile, NULL), 0);
        assert_int_equal(profile.call_count, 0);
        assert_null(profile.calls);
        arena_fini(&arena);
    }
}

/* As of a text that is damaged otherwise: the job goes on, without what its members had used. */
static void members_with_a_number_that_cannot_be_are_not_known(void **state)
{
    static const char *const wrong[] = {
        "[-5,[7,8,0.5,0.5,9,9]]",    "[5,[-7,8,0.5,0.5,9,9]]",      "[5,[0,8,0.5,0.5,9,9]]",
        "[5,[1e10,8,0.5,0.5,9,9]]",  "[5,[7,-8,0.5,0.5,9,9]]",      "[5,[7,1e300,0.5,0.5,9,9]]",
        "[5,[7,8,-0.5,0.5,9,9]]",    "[5,[7,8,0.5,1e300,9,9]]",     "[5,[7,8,0.5,0.5,-9,9]]",
        "[5,[7,8,0.5,0.5,9,1e300]]", "[5,[7,8,0.5,0.5,9,9,1e300]]", "[1e300,[7,8,0.5,0.5,9,9]]",
    };
    char sql[128];

    (void)state;
    run("INSERT INTO jobs(id, name, status) VALUES (1, 'night', 'running');"
        "INSERT INTO job_members(job, members) VALUES (1, '[5,[7,8,0.5,0.5,9,9],[8,8,0.5,0.5,9,9,-3]]')");
    assert_string_equal(running_jobs(), "night: 0 calls, 2 members\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        (void)snprintf(sql, sizeof(sql), "UPDATE job_members SET members = '%s'", wrong[i]);
        run(sql);
        assert_string_equal(running_jobs(), "night: 0 calls, 0 members\n");
    }
}

static int see_snapshot(void *context, struct snapshot *snapshot)
{
    (void)context;
    assert_true(snapshot_bytes(snapshot) < 1 << 20);
    strbuf_adds(&seen, "one\n");
    return 0;
}

static int read_snapshots(void)
{
    strbuf_reset(&seen);
    return history_read_snapshots(reader, all_columns(), &(struct history_span){0, 1e11, 10}, pool,
                                  see_snapshot, NULL, NULL);
}

static void numbers_that_nothing_can_be_are_damage(void **state)
{
    static const char *const wrong[] = {
        "UPDATE ticks SET gpus = '[{\"index\":1e300}]'",
        "UPDATE ticks SET gpus = '[{\"index\":-1}]'",
        "UPDATE ticks SET gpus = '[{\"index\":0,\"memory_used_mb\":1e300}]'",
        "UPDATE ticks SET gpus = '[{\"index\":0,\"memory_total_mb\":-1e300}]'",
        "UPDATE progress SET jobs = '[{\"job_id\":\"a\",\"status\":\"b\",\"total_sheets\":1e300}]'",
    };
    struct timespec last;

    (void)state;
    run("INSERT INTO ticks(timestamp, process_count, first_sample, last_sample, progress)"
        " VALUES (7.5, 0, 1, 1, 1); INSERT INTO progress(jobs) VALUES ('[]')");
    assert_int_equal(read_snapshots(), 0);
    assert_string_equal(strbuf_text(&seen), "one\n");
    assert_int_equal(history_read_last_time(reader, 8, &last, NULL), 0);
    assert_true(last.tv_sec == 7 && last.tv_nsec == 500000000);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        run("UPDATE ticks SET gpus = NULL; UPDATE progress SET jobs = '[]'");
        run(wrong[i]);
        assert_int_equal(read_snapshots(), -EBADMSG);
    }
    run("UPDATE ticks SET timestamp = -9e999");
    assert_int_equal(history_read_last_time(reader, 8, &last, NULL), -EBADMSG);
}

static void a_snapshot_takes_the_memory_of_the_processes_it_has(void **state)
{
    (void)state;
    run("INSERT INTO ticks(timestamp, process_count, first_sample, last_sample)"
        " VALUES (7.5, 4000000, 1, 1000); INSERT INTO processes(id, origin, pid) VALUES (1, 1, 7);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
        " INSERT INTO samples(id, process, last_tick) SELECT i, 1, i FROM n");
    assert_int_equal(read_snapshots(), 0);
    assert_string_equal(strbuf_text(&seen), "one\n");
    run("UPDATE ticks SET process_count = 999");
    assert_int_equal(read_snapshots(), -EBADMSG);
}

/* ---- exports ---- */

static int swapping_open(const char *path, int flags, int mode)
{
    int fd = open(path, flags, mode);

    if (strcmp(path, "victim") == 0 || strstr(path, "/victim"))
        (void)rename("kept", "output"); /* in place of the link that led here */
    return fd;
}

static void make_history(const char *path)
{
    sqlite3 *database = NULL;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(schema_migrate(database, path, schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL),
                     0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* A user who owns the folder has the file back in place as soon as SQLite has opened the other one. */
static void an_export_writes_to_no_file_that_a_link_led_to(void **state)
{
    char folder[] = "/tmp/metron-unit-XXXXXX", before[PATH_MAX];
    const volatile sig_atomic_t stop = 0;
    struct history_tables tables = {.database = "source", .path = "output", .name = "output", .stop = &stop};
    int rows[HISTORY_TABLES];
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr own = vfs->xGetSystemCall(vfs, "open");
    sqlite3 *victim = NULL;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    make_history("source");
    assert_int_equal(sqlite3_open("victim", &victim), SQLITE_OK);
    assert_int_equal(database_run(victim, "CREATE TABLE precious(id)"), 0);
    assert_int_equal(sqlite3_close(victim), SQLITE_OK);
    tables.fd = open("kept", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_equal(symlink("victim", "output"), 0);

    assert_int_equal(vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)swapping_open), SQLITE_OK);
    int code = history_write_tables(&tables, rows, NULL);
    assert_int_equal(vfs->xSetSystemCall(vfs, "open", own), SQLITE_OK);
    assert_int_equal(code, -EAGAIN);
    assert_int_equal(access("kept", F_OK), -1); /* it was put back in time */
    assert_int_equal(sqlite3_open("victim", &victim), SQLITE_OK);
    assert_int_equal(database_run(victim, "CREATE TABLE snapshots(id)"), 0); /* no export has made it */
    assert_int_equal(sqlite3_close(victim), SQLITE_OK);

    assert_int_equal(close(tables.fd), 0);
    assert_int_equal(unlink("source") + unlink("victim") + unlink("output"), 0);
    assert_int_equal(chdir(before) + rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_one_line_of_json_whatever_its_details, setup, teardown),
        cmocka_unit_test_setup_teardown(an_event_without_a_time_or_a_type_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_without_a_name_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(calls_with_a_count_that_cannot_be_are_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(members_with_a_number_that_cannot_be_are_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(a_snapshot_takes_the_memory_of_the_processes_it_has, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_nothing_can_be_are_damage, setup, teardown),
        cmocka_unit_test(an_export_writes_to_no_file_that_a_link_led_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
