/*
 * The end of a file of lines: what is newest in it, at a cost that does not grow with it.
 */
#ifndef METRON_STORE_RECORDING_TAIL_H
#define METRON_STORE_RECORDING_TAIL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json_reader.h"

#define TAIL_BYTES ((size_t)1 << 20) /* some records, also of a thousand processes */

struct tail {
    char *bytes; /* owned */
    size_t at, length;
    bool is_whole; /* it is all of the file, not only its end */
};

/* False: it is no regular file, or cannot be read. */
bool tail_read(struct tail *tail, const char *path);
/* The next line without its newline. The first may have been cut off at its beginning, unless the tail is
 * whole; the last may not have been written to its end yet. False: there is none left. */
bool tail_next(struct tail *tail, struct json_text *line);
void tail_fini(struct tail *tail);

#endif
