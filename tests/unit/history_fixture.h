/* A history in a folder of its own, for the tests that write to one and read it back. */
#ifndef METRON_TESTS_HISTORY_FIXTURE_H
#define METRON_TESTS_HISTORY_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "snapshot_fixture.h"
#include "store/history/database.h"
#include "store/history/history.h"
#include "store/history/reader.h"

static char folder[64];
static char path[128];
static struct snapshot_pool *pool;
static struct history *history;
static const double wall_base = 1763192573.25;

static inline void open_history(void)
{
    struct metron_error error = {0};
    struct history_options options = {.path = path, .columns = all_columns(), .busy_timeout_ms = 20};

    if (history_open(&options, &history, &error) < 0)
        fail_msg("%s", error.message);
}

static inline void reopen(void)
{
    history_close(history);
    open_history();
}

static inline int setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/metron-history-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/state/monitor.db", folder);
    pool = snapshot_pool_new();
    open_history();
    return pool ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    char command[128];

    history_close(history);
    history = NULL;
    snapshot_pool_free(pool);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command) == 0 ? 0 : -1;
}

static inline struct snapshot *make(size_t count, unsigned tick)
{
    struct snapshot *snapshot = snapshot_of(pool, count);

    assert_non_null(snapshot);
    snapshot->wall.tv_sec += (time_t)tick * 5;
    snapshot->uptime_seconds = tick * 5;
    snapshot->boot_seconds = 1000 + tick * 5;
    set_machine(snapshot, "load_avg_1", 0.5);
    set_machine(snapshot, "load_avg_5", 0);
    set_machine(snapshot, "load_avg_15", 0);
    for (size_t i = 0; i < count; i++)
        snapshot->processes[i].age_seconds += tick * 5;
    return snapshot;
}

static inline void put(struct snapshot *snapshot)
{
    struct metron_error error = {0};

    if (history_write(history, snapshot, &error) < 0)
        fail_msg("%s", error.message);
    snapshot_release(snapshot);
}

static inline struct history_reader *open_reader(void)
{
    struct history_reader *reader = NULL;
    struct metron_error error = {0};

    if (history_reader_open(path, &reader, &error) < 0)
        fail_msg("%s", error.message);
    return reader;
}

static inline int64_t ask(const char *sql)
{
    sqlite3 *database = NULL;
    int64_t answer = -1;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(database_number(database, sql, &answer), 0);
    (void)sqlite3_close(database);
    return answer;
}

static inline int64_t last_id(void)
{
    return ask("SELECT max(id) FROM ticks");
}

/* Snapshots that a visitor keeps. */
struct kept {
    struct snapshot *snapshots[16];
    size_t count;
};

static inline int keep(void *context, struct snapshot *snapshot)
{
    struct kept *kept = context;

    assert_true(kept->count < 16);
    kept->snapshots[kept->count++] = snapshot_hold(snapshot);
    return 0;
}

static inline struct kept read_back(double since, size_t limit)
{
    struct history_reader *reader = open_reader();
    struct kept kept = {0};
    struct metron_error error = {0};

    struct history_span span = {since, 1e11, limit};

    if (history_read_snapshots(reader, all_columns(), &span, pool, keep, &kept, &error) < 0)
        fail_msg("%s", error.message);
    history_reader_close(reader);
    return kept;
}

static inline void let_go(struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        snapshot_release(kept->snapshots[i]);
}

/* As JSON, which holds every field; the daemon's numbers of its processes are others. */
static inline void assert_same(const struct snapshot *a, const struct snapshot *b)
{
    struct strbuf texts[2] = {STRBUF_INIT, STRBUF_INIT};
    const struct snapshot *both[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        struct json json;

        json_init(&json, &texts[i], 0);
        snapshot_json(&json, both[i], NULL);
    }
    assert_string_equal(strbuf_text(&texts[0]), strbuf_text(&texts[1]));
    strbuf_fini(&texts[0]);
    strbuf_fini(&texts[1]);
}

#define HISTORY_TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

/* As a full disk; SIGXFSZ has to be ignored. */
__attribute__((unused)) static void set_file_limit(rlim_t limit)
{
    struct rlimit limits;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
    limits.rlim_cur = limit < limits.rlim_max ? limit : limits.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

#endif
