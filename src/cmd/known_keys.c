#include "cmd/known_keys.h"

#include <string.h>

#include "collect/collectors.h"
#include "schema/run_info.h"

void describe_known_key(struct json *json, const char *key)
{
    const struct source *const *sources = collector_sources();

    for (size_t i = 0; i < collector_count; i++)
        for (size_t j = 0; j < sources[i]->measurement_count; j++)
            if (strcmp(sources[i]->measurements[j].key, key) == 0) {
                run_info_measurement_json(json, sources[i], &sources[i]->measurements[j]);
                return;
            }
}
