#include "store/history/database.h"

#include <errno.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

/* A quota and a limit on file sizes are full disks to whoever reads the message. SQLite knows only ENOSPC as
 * one, and does not keep the cause of a failed commit: errno has it still. */
static int full_or_broken(sqlite3 *database)
{
    int now = errno, kept = sqlite3_system_errno(database);

    return now == EDQUOT || now == EFBIG || kept == ENOSPC || kept == EDQUOT || kept == EFBIG ? -ENOSPC
                                                                                              : -EIO;
}

/* Of what failed last. */
static int last_errno(sqlite3 *database)
{
    switch (sqlite3_errcode(database) & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return -EACCES;
    case SQLITE_INTERRUPT:
        return -ECANCELED;
    case SQLITE_CANTOPEN: {
        int cause = sqlite3_system_errno(database);
        return cause == ENOSPC ? -ENOSPC : cause == ENOENT ? -ENOENT : -EACCES;
    }
    default:
        return full_or_broken(database);
    }
}

static const char *way_out(int code)
{
    switch (code) {
    case -ENOSPC:
        return "make room, or set a smaller size cap";
    case -EBUSY:
        return "another program holds it locked; end that, or wait";
    case -EBADMSG:
        return "the file is damaged";
    case -ENOMEM:
        return "give it more memory";
    case -EACCES:
    case -ENOENT:
        return "choose another path, or see who owns the folder";
    case -ECANCELED:
        return "the file is as it was, and the next start tries again";
    default:
        return "see whether the disk is sound";
    }
}

int database_failed(sqlite3 *database, const char *path, const char *what, int code,
                    struct metron_error *error)
{
    int known = database ? sqlite3_errcode(database) : SQLITE_NOMEM;
    bool theirs = known != SQLITE_OK && known != SQLITE_ROW && known != SQLITE_DONE;

    if (code == 0)
        code = theirs ? last_errno(database) : -ENOMEM;
    return error_set(error, code, "history '%s': %s: %s; %s", path, what,
                     theirs && database ? sqlite3_errmsg(database) : strerror(-code), way_out(code));
}

int database_run(sqlite3 *database, const char *sql)
{
    errno = 0;
    int result = sqlite3_exec(database, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? 0 : last_errno(database);
}

int database_prepare(sqlite3 *database, const char *sql, sqlite3_stmt **out)
{
    int result = sqlite3_prepare_v2(database, sql, -1, out, NULL);

    return result == SQLITE_OK ? 0 : last_errno(database);
}

int database_step(sqlite3 *database, sqlite3_stmt *compiled)
{
    errno = 0;
    int result = compiled ? sqlite3_step(compiled) : SQLITE_ERROR;

    if (result == SQLITE_ROW || result == SQLITE_DONE)
        return result == SQLITE_ROW;
    int code = last_errno(database);
    return code < 0 ? code : -ENOMEM;
}

int database_number(sqlite3 *database, const char *sql, int64_t *out)
{
    sqlite3_stmt *compiled = NULL;
    int code = database_prepare(database, sql, &compiled);

    if (code == 0)
        code = database_step(database, compiled);
    if (code == 1)
        *out = sqlite3_column_int64(compiled, 0);
    (void)sqlite3_finalize(compiled);
    return code == 1 ? 0 : code == 0 ? -EBADMSG : code;
}

void bind_integer(sqlite3_stmt *compiled, int index, bool there, int64_t value)
{
    if (there)
        (void)sqlite3_bind_int64(compiled, index, value);
    else
        (void)sqlite3_bind_null(compiled, index);
}

void bind_real(sqlite3_stmt *compiled, int index, bool there, double value)
{
    if (there)
        (void)sqlite3_bind_double(compiled, index, value);
    else
        (void)sqlite3_bind_null(compiled, index);
}

void bind_stored(sqlite3_stmt *compiled, int index, bool there, const struct measurement *measurement,
                 union stored_value value)
{
    if (column_is_real(measurement))
        bind_real(compiled, index, there, value.real);
    else
        bind_integer(compiled, index, there, value.whole);
}

void bind_text(sqlite3_stmt *compiled, int index, const char *text)
{
    if (!text) {
        (void)sqlite3_bind_null(compiled, index);
    } else if (text_is_utf8(text)) {
        (void)sqlite3_bind_text(compiled, index, text, -1, SQLITE_STATIC);
    } else {
        struct strbuf printable = STRBUF_INIT;

        text_printable(&printable, text, strlen(text));
        (void)sqlite3_bind_text(compiled, index, strbuf_text(&printable), -1, SQLITE_TRANSIENT);
        strbuf_fini(&printable);
    }
}

bool column_integer(sqlite3_stmt *compiled, int column, int64_t *out)
{
    if (sqlite3_column_type(compiled, column) == SQLITE_NULL)
        return false;
    *out = sqlite3_column_int64(compiled, column);
    return true;
}

bool column_real(sqlite3_stmt *compiled, int column, double *out)
{
    if (sqlite3_column_type(compiled, column) == SQLITE_NULL)
        return false;
    *out = sqlite3_column_double(compiled, column);
    return true;
}

void column_row(sqlite3_stmt *compiled, int first, const struct columns *columns, struct value_row *out)
{
    for (unsigned i = 0; i < columns->count; i++) {
        const struct measurement *measurement = columns->of[i];
        union stored_value stored;

        if (column_is_real(measurement) ? column_real(compiled, first + (int)i, &stored.real)
                                        : column_integer(compiled, first + (int)i, &stored.whole))
            value_row_set(out, i, column_load(measurement, stored));
    }
}
