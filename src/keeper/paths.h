/* Where the daemon's files are: in store/state_folder.h, unless a setting names another place. "off" is
 * nowhere. */
#ifndef METRON_KEEPER_PATHS_H
#define METRON_KEEPER_PATHS_H

#include "base/error.h"
#include "settings/settings.h"

struct keeper_paths {
    char *database, *log_file; /* owned; NULL: off */
    char *traces;              /* a folder beside them; owned; NULL: both are off */
};

int keeper_paths_find(struct keeper_paths *paths, const struct settings *settings,
                      struct metron_error *error);
void keeper_paths_fini(struct keeper_paths *paths);

#endif
