/*
 * Where the daemon keeps its files unless a setting names another place: $XDG_STATE_HOME/metron/
 * (~/.local/state without it), root's in /var/lib/metron/.
 */
#ifndef METRON_STORE_STATE_FOLDER_H
#define METRON_STORE_STATE_FOLDER_H

#include "base/strbuf.h"

#define STATE_FOLDER_OF_ROOT "/var/lib/metron"
#define STATE_DATABASE       "monitor.db"

/* Appends the path of a file in this user's folder. -ENOENT: the environment names no home. */
int state_folder_file(struct strbuf *out, const char *name);

#endif
