/*
 * Events, as the objects they were.
 */
#include "store/history/reader_state.h"

#include <errno.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"

#define DEPTH_MAX 16 /* of the details; an answer that holds them has a few more levels */

/* Whether JSON can be part of an answer: SQLite takes any bytes for text, and more levels than a client
 * reads.
 */
static bool can_be_sent(const char *json, size_t length)
{
    bool in_string = false;
    int depth = 0;

    for (size_t i = 0, step; i < length; i += step) {
        step = text_utf8_length(json + i, length - i);
        if (step == 0)
            return false;
        if (json[i] == '"')
            in_string = !in_string;
        else if (in_string && json[i] == '\\')
            step = 2; /* what follows is ASCII */
        else if (!in_string && (json[i] == '{' || json[i] == '['))
            depth++;
        else if (!in_string && (json[i] == '}' || json[i] == ']'))
            depth--;
        if (depth > DEPTH_MAX)
            return false;
    }
    return true;
}

/* The named columns first, then what the details hold: the object as it was before the store took it apart.
 */
static void event_text(sqlite3_stmt *row, struct strbuf *out)
{
    static const struct {
        int column;
        const char *key;
    } integers[] = {{3, "pid"}, {4, "exit_code"}, {5, "signal_num"}, {7, "sheet_num"}};
    struct json json;

    strbuf_reset(out);
    json_init(&json, out, 0);
    json_object_begin(&json);
    json_key_decimal(&json, "timestamp", sqlite3_column_double(row, 1), 6);
    json_key_string(&json, "event_type", (const char *)sqlite3_column_text(row, 2));
    for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++) {
        int64_t number = 0;

        if (column_integer(row, integers[i].column, &number))
            json_key_integer(&json, integers[i].key, number);
    }
    json_key_string(&json, "job_id", (const char *)sqlite3_column_text(row, 6));
    const char *details = (const char *)sqlite3_column_text(row, 8);
    size_t length = (size_t)sqlite3_column_bytes(row, 8);
    if (details && length > 2 && can_be_sent(details, length)) { /* its own braces left off */
        strbuf_addc(out, ',');
        strbuf_add(out, details + 1, length - 2);
    }
    json_object_end(&json);
}

int history_read_events(struct history_reader *reader, double since, const char *job_id, size_t limit,
                        history_visit_event *visit, void *context, struct metron_error *error)
{
    static const char sql[] =
        "SELECT * FROM (SELECT id, timestamp, event_type, pid, exit_code, signal_num, job_id, sheet_num,"
        " CASE WHEN json_valid(details) AND json_type(details) = 'object' THEN json(details) END FROM"
        " process_events WHERE timestamp >= ?1 AND timestamp < 1e11 AND event_type IS NOT NULL"
        " AND (?2 IS NULL OR job_id = ?2) ORDER BY id DESC LIMIT ?3) ORDER BY id";
    struct strbuf text = STRBUF_INIT;
    bool visited = false;
    int code = reader_begin(reader, error);

    if (code < 0)
        return code;
    sqlite3_stmt *rows = reader_prepare(reader, sql, &code);
    bind_real(rows, 1, true, since);
    bind_text(rows, 2, job_id);
    bind_integer(rows, 3, true, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
    while (code == 0 && (code = database_step(reader->database, rows)) == 1) {
        event_text(rows, &text);
        struct history_event event = {
            .id = sqlite3_column_int64(rows, 0),
            .timestamp = sqlite3_column_double(rows, 1),
            .event_type = (const char *)sqlite3_column_text(rows, 2),
            .json = strbuf_text(&text),
            .json_length = text.length,
        };
        code = text.failed ? -ENOMEM : 0;
        if (code == 0) {
            code = visit(context, &event);
            visited = code != 0;
        }
    }
    (void)sqlite3_finalize(rows);
    strbuf_fini(&text);
    return reader_end(reader, code, visited, error);
}
