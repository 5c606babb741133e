#include "store/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/history/sql.h"
#include "store/history/state.h"

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

/* A file with other readers' limits is none of ours: every setting has a least value that makes sense. */
static void fill_in(struct history_options *options)
{
    if (!(options->full_hours > 0))
        options->full_hours = 24;
    if (!(options->minute_days > 0))
        options->minute_days = 7;
    if (!(options->event_days > 0))
        options->event_days = 30;
    if (options->busy_timeout_ms == 0)
        options->busy_timeout_ms = 2000;
}

sqlite3_stmt *history_statement(struct history *history, enum history_statement which)
{
    sqlite3_stmt **compiled = &history->statements[which].compiled;

    if (*compiled)
        (void)sqlite3_reset(*compiled);
    else
        (void)sqlite3_prepare_v3(history->database, history->statements[which].sql, -1,
                                 SQLITE_PREPARE_PERSISTENT, compiled, NULL);
    return *compiled;
}

int history_run(struct history *history, sqlite3_stmt *compiled)
{
    int code = database_step(history->database, compiled);

    (void)sqlite3_reset(compiled);
    return code < 0 ? code : 0;
}

static int expand_statements(struct history *history)
{
    struct strbuf sql = STRBUF_INIT;
    bool failed = false;

    for (size_t i = 0; i < SQL_COUNT && !failed; i++) {
        strbuf_reset(&sql);
        sql_expand(&sql, history_sql[i], history->options.columns);
        history->statements[i].sql = sql.failed ? NULL : strdup(strbuf_text(&sql));
        failed = !history->statements[i].sql;
    }
    strbuf_fini(&sql);
    return failed ? -ENOMEM : 0;
}

int history_open(const struct history_options *options, struct history **out, struct metron_error *error)
{
    struct history *history = calloc(1, sizeof(*history));

    *out = NULL;
    if (!history || !(history->path = strdup(options->path))) {
        free(history);
        return error_set(error, -ENOMEM, "no memory for the history");
    }
    history->fd = -1;
    history->options = *options;
    history->options.path = history->path;
    fill_in(&history->options);
    int code = expand_statements(history);
    if (code < 0) {
        history_close(history);
        return error_set(error, code, "no memory for the history");
    }
    code = history_connect(history, error);
    /* What was alive when the last daemon ended is marked, and a lock is noticed now rather than later. */
    if (code == 0) {
        code = history_begin(history);
        if (code == 0)
            code = history_commit(history);
        if (code < 0) {
            code = database_failed(history->database, history->path, "cannot be written", code, error);
            history_rollback(history);
        }
    }
    bool is_full = code == -ENOSPC || code == -EDQUOT;
    if (code < 0 && !is_full) {
        history_close(history);
        return code;
    }
    history->options.upgrade = (struct history_upgrade){0};
    history->remark = (struct metron_error){0}; /* the caller asks for it */
    *out = history;
    return is_full ? 1 : 0;
}

const char *history_set_aside(const struct history *history)
{
    return history->set_aside;
}

int history_maintain(struct history *history, double now, double budget_seconds, struct metron_error *error)
{
    uint64_t budget_ns = budget_seconds > 0 ? (uint64_t)(budget_seconds * 1e9) : 0;
    uint64_t deadline = clock_monotonic_ns() + budget_ns;

    if (!history->database)
        return 0; /* the next write opens it */
    for (;;) {
        int code = minutes_step(history, now);

        if (code == 0)
            code = retention_step(history);
        if (code < 0) {
            (void)database_failed(history->database, history->path, "cannot be cleaned up", code, error);
            history_rollback(history);
        }
        if (code == -EBADMSG) /* the next write begins a new file */
            return history_put_aside(history, error);
        if (code <= 0)
            return code;
        if (clock_monotonic_ns() >= deadline)
            return 1;
    }
}

void history_close(struct history *history)
{
    if (!history)
        return;
    history_disconnect(history);
    for (size_t i = 0; i < SQL_COUNT; i++)
        free(history->statements[i].sql);
    minutes_free(history);
    retention_free(history);
    known_processes_fini(&history->known);
    known_processes_fini(&history->next);
    strbuf_fini(&history->text);
    free(history->path);
    free(history->set_aside);
    free(history);
}
