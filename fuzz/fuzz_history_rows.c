/* A history whose rows hold any values: all that is read of it can be sent and shown. A line of the input is
 * a row: the name of a table, then its columns from the first on, each after a tab; nothing is NULL. SQLite
 * takes text for a column of any type, and makes a number of it where it can. */
#include "history_use.h"

#include <stdio.h>

#include "store/history/schema.h"

#define TABLE_COUNT       11
#define TABLE_COLUMNS_MAX 64

static const char *const tables[TABLE_COUNT] = {"commands", "jobs",   "sheets",        "processes",
                                                "samples",  "calls",  "process_calls", "progress",
                                                "ticks",    "events", "job_members"};
static const char clear[] =
    "DELETE FROM commands; DELETE FROM jobs; DELETE FROM sheets; DELETE FROM processes; DELETE FROM samples;"
    "DELETE FROM calls; DELETE FROM process_calls; DELETE FROM progress; DELETE FROM ticks; DELETE FROM "
    "events;"
    "DELETE FROM job_members";

/* One history for all inputs: to make it takes longer than to read it. */
static struct history_reader *reader;
static sqlite3_stmt *inserts[TABLE_COUNT];

static sqlite3_stmt *prepare_insert(const char *table)
{
    char sql[64 + 2 * TABLE_COLUMNS_MAX];
    int code = 0;

    (void)snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
    sqlite3_stmt *all = reader_prepare(reader, sql, &code);
    int columns = sqlite3_column_count(all);
    (void)sqlite3_finalize(all);
    check(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    int length = snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s VALUES (?", table);
    for (int i = 1; i < columns; i++)
        length += snprintf(sql + length, sizeof(sql) - (size_t)length, ",?");
    (void)snprintf(sql + length, sizeof(sql) - (size_t)length, ")");
    sqlite3_stmt *insert = reader_prepare(reader, sql, &code);
    check(code == 0);
    return insert;
}

static void make_history(void)
{
    sqlite3 *database = NULL;

    check(sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
          SQLITE_OK);
    check(schema_migrate(database, "monitor.db", schema_steps, SCHEMA_VERSION, all_columns(), NULL, NULL) ==
          0);
    check(reader_over(database, "monitor.db", &reader, NULL) == 0);
    for (int i = 0; i < TABLE_COUNT; i++)
        inserts[i] = prepare_insert(tables[i]);
}

static void insert_row(const char *line, const char *end)
{
    const char *tab = memchr(line, '\t', (size_t)(end - line));
    size_t length = tab ? (size_t)(tab - line) : 0;
    int which = 0;

    while (which < TABLE_COUNT &&
           (strlen(tables[which]) != length || memcmp(tables[which], line, length) != 0))
        which++;
    if (which == TABLE_COUNT)
        return;
    sqlite3_stmt *insert = inserts[which];
    (void)sqlite3_clear_bindings(insert);
    for (int i = 1; tab && i <= sqlite3_bind_parameter_count(insert); i++) {
        const char *value = tab + 1;

        tab = memchr(value, '\t', (size_t)(end - value));
        if ((tab ? tab : end) > value)
            (void)sqlite3_bind_text(insert, i, value, (int)((tab ? tab : end) - value), SQLITE_STATIC);
    }
    (void)sqlite3_step(insert);
    (void)sqlite3_reset(insert);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;

    if (!reader)
        make_history();
    check(database_run(reader->database, clear) == 0 && database_run(reader->database, "BEGIN") == 0);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        insert_row(at, stop ? stop : end);
        at = stop ? stop + 1 : end;
    }
    check(database_run(reader->database, "COMMIT") == 0);
    use_history(reader);
    return 0;
}
