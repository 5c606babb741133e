/*
 * Settings from the environment: METRON_ and the setting's name in upper case.
 */
#ifndef METRON_SETTINGS_ENVIRONMENT_H
#define METRON_SETTINGS_ENVIRONMENT_H

#include <stddef.h>

#include "base/error.h"
#include "settings/settings.h"

/* Takes every variable of `environment` ("NAME=value", NULL-terminated) that is a setting, whichever command
 * it is for, as keys of files without a section are. An empty one counts as not there. -EINVAL: a bad value,
 * with the variable's name. */
int settings_load_environment(struct settings *settings, char *const *environment,
                              struct metron_error *error);

/* Walks the variables that begin with METRON_ and mean nothing: the next one from *cursor on, the length of
 * its name in *length; NULL at the end. Start with *cursor 0. */
const char *settings_unknown_variable(char *const *environment, size_t *cursor, size_t *length);

#endif
