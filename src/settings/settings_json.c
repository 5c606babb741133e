#include "settings/settings_json.h"

static void value_json(struct json *json, const struct settings *settings, enum setting_id id)
{
    switch (settings_table[id].kind) {
    case SETTING_KIND_BOOLEAN:
        json_key_boolean(json, "value", settings_flag(settings, id));
        break;
    case SETTING_KIND_INTEGER:
        json_key_integer(json, "value", settings_integer(settings, id));
        break;
    case SETTING_KIND_REAL:
        json_key_number(json, "value", settings_real(settings, id));
        break;
    default:
        json_key_string(json, "value", settings_text(settings, id));
        break;
    }
}

void settings_json(struct json *json, const struct settings *settings)
{
    json_object_begin(json);
    for (int id = 0; id < SETTING_COUNT; id++) {
        const struct setting *setting = &settings_table[id];
        char key[SETTING_KEY_SIZE];
        if (!(setting->commands & settings->commands) || (setting->traits & SETTING_OPTION_ONLY) ||
            !settings_has(settings, (enum setting_id)id))
            continue;
        json_key_object(json, setting_key(setting, key));
        value_json(json, settings, (enum setting_id)id);
        json_key_string(json, "origin", settings_origin_text(settings, (enum setting_id)id));
        json_object_end(json);
    }
    json_object_end(json);
}
