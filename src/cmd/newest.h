/*
 * The runs that a reader means: those at the paths it was given, and without any where runs are recorded
 * unless somebody says otherwise, or the newest of those.
 */
#ifndef METRON_CMD_NEWEST_H
#define METRON_CMD_NEWEST_H

#include "base/error.h"
#include "settings/settings.h"
#include "store/runs.h"

/* Adds the runs at the paths. What cannot be found is named, and the rest goes on: false. */
bool named_runs(struct run_list *list, char **paths, int count);

/* The folder that the standard prefix puts runs into: what stands before its first placeholder. NULL for want
 * of memory; else the caller frees it. */
char *standard_folder(const struct settings *settings);

/* The run below that folder that began last, as its prefix; the log says which. 0 and *path, which the caller
 * frees; -ENOENT: there is none; others of the file system. */
int newest_run(const struct settings *settings, char **path, struct metron_error *error);

#endif
