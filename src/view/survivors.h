/*
 * The processes that outlived a recorded command, as its info.json names them: survivors.processes, a list of
 * {pid, command}.
 */
#ifndef METRON_VIEW_SURVIVORS_H
#define METRON_VIEW_SURVIVORS_H

#include <stddef.h>

#include "schema/recording.h"

/* One of them. `pid` is -1 if it is not told; `command` has `length` bytes, 0 if it is not told, and is only
 * there during the call. */
typedef void survivor_named(void *context, double pid, const char *command, size_t length);

/* Calls `named` for each, in the order of the file. */
void survivors_walk(const struct recording *recording, survivor_named *named, void *context);

#endif
