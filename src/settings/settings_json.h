/* The settings in force, as JSON. */
#ifndef METRON_SETTINGS_SETTINGS_JSON_H
#define METRON_SETTINGS_SETTINGS_JSON_H

#include "base/json.h"
#include "settings/settings.h"

/* Whether this setting was read anew and has another value by now. */
bool settings_is_later(const struct settings *settings, const struct settings *later, enum setting_id id);
/* An object: each setting of the commands that these are of, by its name in files, with its value and where
 * it comes from; one that is absent is left out. `later`: as they were read since, for `with_next_start`;
 * NULL: they were not. */
void settings_json(struct json *json, const struct settings *settings, const struct settings *later);

#endif
