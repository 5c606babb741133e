/*
 * Runs that are to be removed: shown, agreed to, removed and reported, for metron rm and metron gc.
 */
#ifndef METRON_CMD_REMOVAL_H
#define METRON_CMD_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>

#include "schema/recording.h"
#include "settings/settings.h"

struct removal {
    struct removal_run *runs; /* owned */
    size_t count, capacity;
    bool trouble; /* something could not be removed, and was named */
};

/* Reads the run for what a removal has to know: 0 or a reason. */
int removal_read(const char *path, struct recording *out, struct metron_error *error);
/* Takes a run that was read; twice the same stays one. What may not be removed is named. */
void removal_add(struct removal *removal, const struct recording *recording);
/* Asks, and removes: the exit code. */
int removal_do(struct removal *removal, const struct settings *settings, const char *command);
void removal_fini(struct removal *removal);

#endif
