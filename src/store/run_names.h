/*
 * What a person may call a recorded run besides its files. In this order:
 *
 *   last, -1       the newest, by its start; -2 the one before, and so on
 *   a name         of a run, whole: its prefix below the folder, or the last part of that, with or without
 *                  the _ or / that it ends in
 *   a job          all runs of a job have its name
 *   an id          or the beginning of one, four hex digits at least (schema/recording.h)
 *   a beginning    of a name
 *
 * The last two have to mean one run. A file, folder or prefix of that name comes before all of these: ask
 * run_list_is_name() first (store/runs.h).
 */
#ifndef METRON_STORE_RUN_NAMES_H
#define METRON_STORE_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/runs.h"

enum { RUN_ID_TYPED_LEAST = 4 }; /* hex digits of an id that is typed */

/* Adds the runs in `folder`, or in one below it, that `name` means; NULL: those in the current folder itself.
 * `name` may begin with a folder of its own
 * ("logs/last"), which then takes the place of `folder`. 0; -ENOENT: none, with what was meant perhaps;
 * -ENOTUNIQ: it may mean several, which are named; -EBADMSG: nothing in the folder can be read; others of the
 * file system. A job adds all of its runs. */
int run_names_find(const char *name, const char *folder, struct run_list *found, struct metron_error *error);
/* The same, where one run is meant: of a job with several -ENOTUNIQ. */
int run_names_find_one(const char *name, const char *folder, struct run_list *found,
                       struct metron_error *error);
/* How many runs before the newest: "last" and "-1" are 1; 0: it is no such word. */
size_t run_names_place(const char *name);
/* Whether it looks like an id or the beginning of one. */
bool run_names_is_id(const char *word);

#endif
