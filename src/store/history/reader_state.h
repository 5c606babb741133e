/* What the files that read share. */
#ifndef METRON_STORE_HISTORY_READER_STATE_H
#define METRON_STORE_HISTORY_READER_STATE_H

#include "store/history/database.h"
#include "store/history/reader.h"

struct history_reader {
    char *path; /* owned */
    sqlite3 *database;
};

/* history_reader_open over a connection, which is the reader's from now on, also on failure. `path` names the
 * file in messages. */
int reader_over(sqlite3 *database, const char *path, struct history_reader **out, struct metron_error *error);

/* Everything between the two is read from the file as it was at the beginning. The end fills in `error` for a
 * `code` of this folder's and gives it back; what a visitor returned is given back as it is. */
int reader_begin(struct history_reader *reader, struct metron_error *error);
int reader_end(struct history_reader *reader, int code, bool visited, struct metron_error *error);
/* Of a template (sql.h). NULL: *code says why. */
sqlite3_stmt *reader_prepare(struct history_reader *reader, const char *template, int *code);
/* The same of one over the columns of snapshots. */
sqlite3_stmt *reader_prepare_columns(struct history_reader *reader, const char *template,
                                     const struct snapshot_columns *columns, int *code);

/* Its three values, as ?1, ?2 and ?3. */
void reader_bind_span(sqlite3_stmt *statement, const struct history_span *span);

/* Whether a number can be converted: out of the bounds of the type C does not say what becomes of it. */
bool is_within(double number, double lowest, double bound);
/* Text of a column, copied; NULL for NULL. Sets *code to -ENOMEM. */
const char *column_copy(sqlite3_stmt *statement, int column, struct arena *arena, int *code);
/* {"name": [count, seconds], …} as calls, in their order; none if the text is damaged or has a count that
 * cannot be: the rest of the job, sheet or process is read all the same. 0 or -ENOMEM. */
int calls_read(const char *text, size_t length, struct arena *arena, const struct snapshot_call **out,
               size_t *count);

/* The members of a job; none if the text is no such, or has a number that no process can have. 0 or -ENOMEM.
 */
int members_read(const char *text, size_t length, struct arena *arena, struct job *job);

/* A process at one instant, of a row that was selected with these columns and tables (templates, sql.h). */
enum {
    PROCESS_SAMPLE,
    PROCESS_STATE,
    PROCESS_ORIGIN,
    PROCESS_PID,
    PROCESS_PPID,
    PROCESS_START_TICKS,
    PROCESS_STARTED,
    PROCESS_COMMAND,
    PROCESS_TEXT,
    PROCESS_JOB,
    PROCESS_SHEET,
    PROCESS_MEMBERSHIP,
    PROCESS_CALLS,
    PROCESS_VALUES, /* the first of them */
};
#define PROCESS_COLUMNS                                                                                      \
    "s.id, s.state, p.origin, p.pid, p.ppid, p.start_ticks, p.started, p.command, c.text, j.name, p.sheet,"  \
    " p.membership, l.calls{P, s.$s}"
#define PROCESS_JOINS                                                                                        \
    " LEFT JOIN commands AS c ON c.id = p.command LEFT JOIN jobs AS j ON j.id = p.job"                       \
    " LEFT JOIN calls AS l ON l.sample = s.id"
/* `out` has a row for the values of these columns. */
int process_read(sqlite3_stmt *row, const struct columns *columns, struct arena *arena, double timestamp,
                 struct snapshot_process *out);

#endif
