/*
 * A thin cover over SQLite: opening with the settings that all of metron's connections share, errors as
 * negative errno with a message, binding of values that may be absent. Only this folder includes sqlite3.h.
 */
#ifndef METRON_STORE_HISTORY_DATABASE_H
#define METRON_STORE_HISTORY_DATABASE_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/error.h"
#include "schema/columns.h"

/* Sets `error` to "'PATH': what failed: why; what to do" and returns its code: `code`, or where that is 0
 * what the connection says. */
int database_failed(sqlite3 *database, const char *path, const char *what, int code,
                    struct metron_error *error);

/* Runs statements that give no rows. As with all that return a code here, -EBADMSG: the file is damaged or no
 * database. */
int database_run(sqlite3 *database, const char *sql);
/* The number that a statement gives; -EBADMSG if it gives none, *out is 0 for NULL. */
int database_number(sqlite3 *database, const char *sql, int64_t *out);

int database_prepare(sqlite3 *database, const char *sql, sqlite3_stmt **out);
/* Steps a statement (NULL: it could not be prepared): 1: there is a row; 0: there is none, or no more. */
int database_step(sqlite3 *database, sqlite3_stmt *compiled);

/* Values are counted from 1. What is not `there` is NULL. */
void bind_integer(sqlite3_stmt *compiled, int index, bool there, int64_t value);
void bind_real(sqlite3_stmt *compiled, int index, bool there, double value);
void bind_stored(sqlite3_stmt *compiled, int index, bool there, const struct measurement *measurement,
                 union stored_value value);
/* NULL for none. The text must live until the statement is run. In text that is no UTF-8 each byte that is
 * not becomes \xNN: readers in other languages refuse a text column that is no text. */
void bind_text(sqlite3_stmt *compiled, int index, const char *text);

/* A column that may be absent: whether it is there. */
bool column_integer(sqlite3_stmt *compiled, int column, int64_t *out);
bool column_real(sqlite3_stmt *compiled, int column, double *out);
/* The values of all columns, the first of them in `first`. */
void column_row(sqlite3_stmt *compiled, int first, const struct columns *columns, struct value_row *out);

#endif
