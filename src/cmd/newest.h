/*
 * The runs that a reader means: those that are named to it, and without any the newest, or all where runs are
 * recorded unless somebody says otherwise.
 *
 * Names are looked up where the standard prefix puts runs; a name that none has there, but for last and the
 * numbers, then where con-duct puts them, and at last in the current folder itself.
 *
 * Every command that takes a RUN asks here, so that all know the same names (store/run_names.h) and have the
 * same errors.
 */
#ifndef METRON_CMD_NEWEST_H
#define METRON_CMD_NEWEST_H

#include "base/error.h"
#include "settings/settings.h"
#include "store/runs.h"

/* Adds the runs at the paths, or with these names. What cannot be found is named, and the rest goes on:
 * false.
 */
bool named_runs(const struct settings *settings, struct run_list *list, char **names, int count);
/* The same of one path, glob or name: 0, or a reason. */
int add_named_runs(const struct settings *settings, struct run_list *list, const char *name, size_t *added,
                   struct metron_error *error);

/* Whether a word is a run and no field, where either may stand (con-duct's -F and --sort-by take words): a
 * file, a folder, a run or a glob; or what no field is called: last, -1, an id, or anything that begins with
 * a digit. */
bool word_is_run(const char *word);

/* What is to be read for a RUN: the path itself if there is a file, a folder or a prefix of that name; else
 * the prefix of the one run that the name means; the newest for NULL, of which the log says which it is. 0
 * and *path, which the caller frees; -ENOENT: there is none; others of the file system. */
int named_run(const struct settings *settings, const char *name, char **path, struct metron_error *error);

/* Whether a run is found by its id alone, as it lies where ids are looked up. `here`: the current folder. */
bool run_has_known_id(const struct settings *settings, const char *info_path, const char *here);

/* Where con-duct puts runs. */
#define DUCT_FOLDER ".duct/logs"

/* The folder that the standard prefix puts runs into: what stands before its first placeholder. NULL for want
 * of memory; else the caller frees it. */
char *standard_folder(const struct settings *settings);

#endif
