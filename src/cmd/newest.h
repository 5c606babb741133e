/*
 * Where runs are recorded unless somebody says otherwise, and the newest of them: what a reader takes that
 * was given no run.
 */
#ifndef METRON_CMD_NEWEST_H
#define METRON_CMD_NEWEST_H

#include "base/error.h"
#include "settings/settings.h"

/* The folder that the standard prefix puts runs into: what stands before its first placeholder. NULL for want
 * of memory; else the caller frees it. */
char *standard_folder(const struct settings *settings);

/* The run below that folder that began last, as its prefix; the log says which. 0 and *path, which the caller
 * frees; -ENOENT: there is none; others of the file system. */
int newest_run(const struct settings *settings, char **path, struct metron_error *error);

#endif
