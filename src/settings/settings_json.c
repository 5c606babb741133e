#include "settings/settings_json.h"

#include <string.h>

static void value_json(struct json *json, const char *key, const struct settings *settings,
                       enum setting_id id)
{
    switch (settings_table[id].kind) {
    case SETTING_KIND_BOOLEAN:
        json_key_boolean(json, key, settings_flag(settings, id));
        break;
    case SETTING_KIND_INTEGER:
        json_key_integer(json, key, settings_integer(settings, id));
        break;
    case SETTING_KIND_REAL:
        json_key_number(json, key, settings_real(settings, id));
        break;
    default:
        json_key_string(json, key, settings_text(settings, id));
        break;
    }
}

bool settings_is_later(const struct settings *settings, const struct settings *later, enum setting_id id)
{
    const char *now = settings_text(settings, id), *then = later ? settings_text(later, id) : now;

    return !(later && later->values[id].moved) && (now && then ? strcmp(now, then) != 0 : now != then);
}

void settings_json(struct json *json, const struct settings *settings, const struct settings *later)
{
    json_object_begin(json);
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        bool is_later = settings_is_later(settings, later, (enum setting_id)id);
        char key[SETTING_KEY_SIZE];
        if (!(setting->commands & settings->commands) || (setting->traits & SETTING_OPTION_ONLY) ||
            (!settings_has(settings, (enum setting_id)id) && !is_later))
            continue;
        json_key_object(json, setting_key(setting, key));
        if (settings_has(settings, (enum setting_id)id)) {
            value_json(json, "value", settings, (enum setting_id)id);
            json_key_string(json, "origin", settings_origin_text(settings, (enum setting_id)id));
        }
        if (is_later && settings_has(later, (enum setting_id)id))
            value_json(json, "with_next_start", later, (enum setting_id)id);
        else if (is_later)
            json_key_string(json, "with_next_start", "(none)");
        json_object_end(json);
    }
    json_object_end(json);
}
