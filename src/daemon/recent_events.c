#include "daemon/recent_events.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/socket/protocol.h"

void recent_events_add(struct recent_events *recent, const char *text, size_t length)
{
    char **place = &recent->texts[recent->count % RECENT_EVENTS_MAX];
    char *copy = strndup(text, length);

    if (!copy)
        return;
    free(*place);
    *place = copy;
    recent->count++;
}

void recent_events_json(const struct recent_events *recent, size_t limit, struct json *json)
{
    uint64_t wanted = recent->count;

    if (wanted > RECENT_EVENTS_MAX)
        wanted = RECENT_EVENTS_MAX;
    if (wanted > limit)
        wanted = limit;
    json_array_begin(json);
    for (uint64_t i = recent->count - wanted; i < recent->count; i++) {
        const char *text = recent->texts[i % RECENT_EVENTS_MAX];
        rpc_raw_value(json, &(struct json_text){text, strlen(text)});
    }
    json_array_end(json);
}

void recent_events_fini(struct recent_events *recent)
{
    for (size_t i = 0; i < RECENT_EVENTS_MAX; i++)
        free(recent->texts[i]);
    *recent = (struct recent_events){0};
}
