#include "store/history/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_reader.h"
#include "store/history/reader_state.h"
#include "store/history/schema.h"
#include "store/history/sql.h"

#define BUSY_MS            2000
#define WATCH_INSTRUCTIONS 10000 /* of SQLite's machine: less than a millisecond */
#define CALLS_MAX          4096  /* no kernel has as many */

/* schema_check lets an older version pass, because the writer brings it up to date. */
static int check_version(struct history_reader *reader, struct metron_error *error)
{
    int64_t version = 0;
    int code = schema_check(reader->database, reader->path, SCHEMA_VERSION, error);

    if (code == 0)
        code = database_number(reader->database, "PRAGMA user_version", &version);
    if (code == 0 && version < SCHEMA_VERSION)
        return error_set(error, -ENOTSUP,
                         "history '%s' is of an older version; start the daemon once to bring it up to date",
                         reader->path);
    return code;
}

int reader_over(sqlite3 *database, const char *path, struct history_reader **out, struct metron_error *error)
{
    struct history_reader *reader = calloc(1, sizeof(*reader));

    *out = NULL;
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        (void)sqlite3_close(database);
        return error_set(error, -ENOMEM, "no memory for reading the history");
    }
    reader->database = database;
    (void)sqlite3_extended_result_codes(database, 1);
    (void)sqlite3_busy_timeout(database, BUSY_MS);
    int code = check_version(reader, error);
    if (code < 0)
        history_reader_close(reader);
    else
        *out = reader;
    return code;
}

int history_reader_open(const char *path, struct history_reader **out, struct metron_error *error)
{
    sqlite3 *database = NULL;

    *out = NULL;
    if (access(path, F_OK) < 0)
        return error_set(error, -errno, "history '%s': %s; `metron daemon` writes one", path,
                         strerror(errno));
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        int code = database_failed(database, path, "cannot be opened", 0, error);

        (void)sqlite3_close(database);
        return code;
    }
    return reader_over(database, path, out, error);
}

void history_reader_close(struct history_reader *reader)
{
    if (!reader)
        return;
    (void)sqlite3_close(reader->database);
    free(reader->path);
    free(reader);
}

void history_reader_watch(struct history_reader *reader, int (*is_to_stop)(void *context), void *context)
{
    sqlite3_progress_handler(reader->database, WATCH_INSTRUCTIONS, is_to_stop, context);
}

int reader_begin(struct history_reader *reader, struct metron_error *error)
{
    int code = database_run(reader->database, "BEGIN");

    return code < 0 ? database_failed(reader->database, reader->path, "cannot be read", code, error) : 0;
}

int reader_end(struct history_reader *reader, int code, bool visited, struct metron_error *error)
{
    if (code < 0 && !visited && code != -ENOENT)
        (void)database_failed(reader->database, reader->path, "cannot be read", code, error);
    (void)database_run(reader->database, "COMMIT");
    return code;
}

sqlite3_stmt *reader_prepare(struct history_reader *reader, const char *template, int *code)
{
    return reader_prepare_columns(reader, template, NULL, code);
}

sqlite3_stmt *reader_prepare_columns(struct history_reader *reader, const char *template,
                                     const struct snapshot_columns *columns, int *code)
{
    struct strbuf sql = STRBUF_INIT;
    sqlite3_stmt *statement = NULL;

    sql_expand(&sql, template, columns);
    if (sql.failed)
        *code = -ENOMEM;
    else if (*code == 0)
        *code = database_prepare(reader->database, strbuf_text(&sql), &statement);
    strbuf_fini(&sql);
    return statement;
}

void reader_bind_span(sqlite3_stmt *statement, const struct history_span *span)
{
    bind_real(statement, 1, true, span->since);
    bind_real(statement, 2, true, span->until);
    bind_integer(statement, 3, true, span->limit < INT64_MAX ? (int64_t)span->limit : INT64_MAX);
}

const char *column_copy(sqlite3_stmt *statement, int column, struct arena *arena, int *code)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    if (!text)
        return NULL;
    const char *copy = arena_strdup(arena, text);
    if (!copy)
        *code = -ENOMEM;
    return copy;
}

bool is_within(double number, double lowest, double bound)
{
    return number >= lowest && number < bound;
}

/* 0: the text is no such call, or has a count that none can have; 1: it is one; or -ENOMEM. */
static int call_read(struct json_reader *reader, struct arena *arena, const struct json_text *name,
                     struct snapshot_call *out)
{
    double count = 0;
    const char *copy = arena_copy(arena, name->bytes, name->length);

    if (!copy)
        return -ENOMEM;
    if (!json_enter_array(reader) || !json_next_item(reader) || !json_read_number(reader, &count) ||
        !json_next_item(reader) || !json_read_number(reader, &out->seconds) || json_next_item(reader) ||
        !is_within(count, 0, 0x1p63))
        return 0;
    out->name = copy;
    out->count = (uint64_t)count;
    return 1;
}

int calls_read(const char *text, size_t length, struct arena *arena, const struct snapshot_call **out,
               size_t *count)
{
    struct json_reader reader;
    struct json_text key;
    size_t room = 1, found = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < length; i++)
        room += text[i] == '[';
    if (room > CALLS_MAX)
        return 0;
    struct snapshot_call *calls = arena_alloc(arena, room * sizeof(*calls));
    if (!calls)
        return -ENOMEM;
    json_reader_init(&reader, text, length);
    int code = json_enter_object(&reader);
    while (code == 1 && found < room && json_next_key(&reader, &key))
        code = call_read(&reader, arena, &key, &calls[found++]);
    bool is_whole = code == 1 && json_reader_end(&reader, NULL) == 0;
    json_reader_fini(&reader);
    if (is_whole && found > 0) {
        *out = calls;
        *count = found;
    }
    return code < 0 ? code : 0;
}
