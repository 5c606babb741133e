/*
 * What a run that still runs has used so far, by the end of its usage.jsonl. Its headline comes only when it
 * ends.
 */
#ifndef METRON_STORE_RECORDING_SO_FAR_H
#define METRON_STORE_RECORDING_SO_FAR_H

#include <stdbool.h>

#include "schema/note.h"

/* The source is named as the headline names it; the note says that it is so far, and what it lacks. */
struct so_far_answer {
    bool has;
    double value;
    const char *source;
    const struct note *note;
};

struct so_far {
    struct so_far_answer cpu_seconds, peak_memory;
};

/* Looks at no more than TAIL_BYTES. False: there is no record to be read. */
bool so_far_read(const char *usage_path, struct so_far *out);

#endif
