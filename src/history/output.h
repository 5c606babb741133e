/*
 * The file that metron-history writes: seen under its name only when it is whole, private to its owner.
 */
#ifndef METRON_HISTORY_OUTPUT_H
#define METRON_HISTORY_OUTPUT_H

#include <stdbool.h>

#include "base/error.h"
#include "base/strbuf.h"

struct output {
    const char *path; /* borrowed */
    bool clobber;
    int fd;                  /* of the temporary file; -1: none */
    struct strbuf temporary; /* its name, in the folder of `path` */
};

#define OUTPUT_INIT                                                                                          \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* Makes the temporary file. `database`: what is exported, never to be replaced. -EEXIST: `path` exists and
 * may not be replaced; -EINVAL: it cannot be; -EBUSY: SQLite has files beside it. */
int output_open(struct output *output, const char *path, bool clobber, const char *database,
                struct metron_error *error);
/* Once everything is on the disk it gets its name. A link of that name is replaced, not followed: one that
 * leads to a plain file or nowhere, since output_open refuses others. */
int output_commit(struct output *output, struct metron_error *error);
/* Removes what was not committed. */
void output_fini(struct output *output);

#endif
