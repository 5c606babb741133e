/* Settings files: whatever the bytes, they are taken or refused with a message that names the file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "settings/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings;
    struct metron_error error = {0};
    /* The first byte says whether the file is one of the working folder. */
    bool local = size > 0 && (data[0] & 1);

    if (settings_init(&settings, COMMAND_RUN) == 0) {
        int result = settings_load_text(&settings, (const char *)data, size, "f.conf", local, &error);

        if (result < 0 && strncmp(error.message, "f.conf:", 7) != 0)
            abort();
        /* What was taken can be read back: a choice is one of its words, a real is in its range. */
        for (int id = 0; id < SETTING_COUNT; id++) {
            const struct setting *setting = &settings_table[id];
            const char *text = settings_text(&settings, (enum setting_id)id);

            if (setting->kind == SETTING_KIND_CHOICE &&
                strcmp(text, setting->choices[settings_choice(&settings, (enum setting_id)id)]) != 0)
                abort();
            if (setting->kind == SETTING_KIND_REAL &&
                !(settings_real(&settings, (enum setting_id)id) >= setting->lowest))
                abort();
        }
        if (local && !settings_flag(&settings, SETTING_MASK_SECRETS))
            abort();
    }
    settings_fini(&settings);
    return 0;
}
