/*
 * The history as plain tables, for tools that create indexes: snapshots, process_metrics and process_events
 * have the rows and ids of the views of these names, and exactly the columns of the format.
 */
#ifndef METRON_STORE_HISTORY_TABLES_H
#define METRON_STORE_HISTORY_TABLES_H

#include <signal.h>

#include "base/error.h"

enum history_table { HISTORY_SNAPSHOTS, HISTORY_PROCESSES, HISTORY_EVENTS, HISTORY_TABLES };

struct history_tables {
    const char *database;              /* the daemon's, which may be writing it */
    const char *path;                  /* an empty file, to be filled */
    int fd;                            /* of that file, open for writing */
    const char *name;                  /* of that file, in messages */
    const volatile sig_atomic_t *stop; /* not 0: give up */
};

/* Fills the file with the history as it is at one instant, in bounded memory; sorts in $SQLITE_TMPDIR. The
 * database is only read. `rows`: how many each table has.
 * Fails if it was stopped. -ENOSPC: no space for the file; -ENOENT: there is no history; -EPERM: it is
 * another user's than the caller's or root's; -ELOOP: a symbolic link; -EINVAL: no history; -ENOTSUP: of
 * another version; -EBADMSG: damaged. The file is then to be thrown away. */
int history_write_tables(const struct history_tables *tables, int rows[HISTORY_TABLES],
                         struct metron_error *error);

#endif
