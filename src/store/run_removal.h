/*
 * Removing a recorded run: the files that a recorder writes under its prefix (store/run_files.h), and nothing
 * else. Every file is looked at before the first is removed: where one is a link, no plain file, or belongs
 * to another user, all stay. No link is followed but in the folder that a person typed. info.json, or
 * the usage file that stands in for it, goes last, so that a run of which something stays is still listed.
 * Folders stay.
 */
#ifndef METRON_STORE_RUN_REMOVAL_H
#define METRON_STORE_RUN_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct run_removal {
    size_t files;
    uint64_t bytes;
    uint64_t device, inode; /* of info.json, or of the usage file where there is none */
};

/* What would be removed of the run with this info.json: 0, or why nothing may be: -EPERM, -ELOOP, -EINVAL, …
 */
int run_removal_survey(const char *info_path, struct run_removal *out, struct metron_error *error);
/* Removes it if it is still the one that was surveyed. *out is what is gone, also where that was not all. */
int run_remove(const char *info_path, const struct run_removal *surveyed, struct run_removal *out,
               struct metron_error *error);
/* Whether the info.json is of another user than the one who asks. */
bool run_is_of_another_user(const char *info_path);

#endif
