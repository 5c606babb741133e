/*
 * Settings from files: /etc/metron/metron.conf, the user's, and the one of the working folder, later ones
 * winning. `key = value` lines; `#` and `;` begin comments; keys stand without a section, or in the section
 * of a command ([run]).
 */
#ifndef METRON_SETTINGS_FILES_H
#define METRON_SETTINGS_FILES_H

#include <sys/types.h>

#include "base/error.h"
#include "settings/settings.h"

struct settings_places {
    const char *system_file; /* NULL here and below: none is read */
    const char *user_file;
    const char *local_file;
    uid_t owner; /* whose user's and local file is trusted, besides root's */
};

/* The places of this process, from HOME and XDG_CONFIG_HOME. `user_file` is written into `buffer`. */
#define SETTINGS_PATH_SIZE 4096
void settings_places_init(struct settings_places *places, char buffer[SETTINGS_PATH_SIZE]);

/* Reads them all. A file that is not there is passed over; one that may not be read, or a user's or local one
 * that somebody else could have written, is passed over with a notice in `settings`. -EINVAL: a key, a value
 * or a line that cannot be, with file, line and key; or another errno of reading. */
int settings_load_files(struct settings *settings, const struct settings_places *places,
                        struct metron_error *error);

/* Takes the text of one file. `local`: what a file of the working folder may not set is an error. */
int settings_load_text(struct settings *settings, const char *text, size_t length, const char *path,
                       bool local, struct metron_error *error);

#endif
