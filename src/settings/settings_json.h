/* The settings in force, as JSON. */
#ifndef METRON_SETTINGS_SETTINGS_JSON_H
#define METRON_SETTINGS_SETTINGS_JSON_H

#include "base/json.h"
#include "settings/settings.h"

/* An object: each setting of the commands that these are of, by its name in files, with its value and where
 * it comes from; one that is absent is left out. */
void settings_json(struct json *json, const struct settings *settings);

#endif
