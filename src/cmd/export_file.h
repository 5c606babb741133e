/*
 * Where `metron export` writes to: stdout, or a file that nobody ever sees half written.
 */
#ifndef METRON_CMD_EXPORT_FILE_H
#define METRON_CMD_EXPORT_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/strbuf.h"

struct export_file {
    int fd; /* -1: none */
    struct strbuf path;
    struct strbuf temporary; /* what is renamed to `path` at the end; "": it is written in place */
    bool nameless;           /* `temporary` is its name only then: who is killed before leaves nothing */
};

#define EXPORT_FILE_INIT                                                                                     \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* `path`: NULL or "-" is stdout. What exists and is no regular file (a pipe, /dev/null) is written in place.
 * `must_be_new`: an existing file is an error. `mode`: of a new file, less the umask. */
int export_file_open(struct export_file *file, const char *path, bool must_be_new, mode_t mode,
                     struct metron_error *error);
/* Whether it is going to replace this very file. */
bool export_file_replaces(const struct export_file *file, const char *path);
/* Writes all of `text` and empties it. A terminal gets control characters made visible. */
int export_file_write(struct export_file *file, struct strbuf *text, struct metron_error *error);
/* Renames it into place. */
int export_file_commit(struct export_file *file, struct metron_error *error);
/* What was not committed is removed. */
void export_file_fini(struct export_file *file);

#endif
