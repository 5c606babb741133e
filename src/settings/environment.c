/*
 * One pass over the environment. A METRON_ variable that is no setting is no error, because another version
 * of metron, or a program that uses it, may know it; it can be listed, since it may as well be a misspelling.
 */
#include "settings/environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool may_come_from_environment(const struct setting *setting)
{
    return !(setting->traits & SETTING_OPTION_ONLY);
}

int settings_load_environment(struct settings *settings, char *const *environment, struct metron_error *error)
{
    for (; *environment; environment++) {
        const char *equals = strchr(*environment, '=');

        if (!equals || equals[1] == '\0')
            continue;

        int id = setting_find_variable(*environment, (size_t)(equals - *environment));

        if (id < 0 || !may_come_from_environment(&settings_table[id]))
            continue;

        struct metron_error reason = {0};
        char *name = strndup(*environment, (size_t)(equals - *environment));

        if (!name)
            return error_set(error, -ENOMEM, "out of memory");
        int result = settings_set_id(settings, (enum setting_id)id, equals + 1, SETTING_ORIGIN_ENVIRONMENT,
                                     name, &reason);

        if (result < 0)
            (void)error_set(error, result, "environment variable %s: %s", name, reason.message);
        free(name);
        if (result < 0)
            return result;
    }
    return 0;
}

const char *settings_unknown_variable(char *const *environment, size_t *cursor, size_t *length)
{
    /* Not settings, but metron's own: what its test programs are told. */
    static const char *const known[] = {"METRON_WORKLOADS", "METRON_SANITIZED", "METRON_TEST_INTERVAL",
                                        "METRON_TEST_LOST_AFTER", "METRON_TEST_GPU_DEVICE"};

    while (environment[*cursor]) {
        const char *entry = environment[(*cursor)++];
        size_t name_length = strcspn(entry, "=");
        bool unknown = strncmp(entry, "METRON_", 7) == 0;
        int id = setting_find_variable(entry, name_length);

        if (id >= 0 && may_come_from_environment(&settings_table[id]))
            unknown = false;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strlen(known[i]) == name_length && memcmp(entry, known[i], name_length) == 0)
                unknown = false;
        }
        if (unknown) {
            *length = name_length;
            return entry;
        }
    }
    return NULL;
}
