#include "daemon/recent_events.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/socket/protocol.h"
#include "view/event_lines.h"

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

static bool is_wanted(const char *text, const char *job_id)
{
    return !job_id || event_is_of_job(text, strlen(text), job_id);
}

void recent_events_json(const struct recent_events *recent, size_t limit, const char *job_id,
                        struct json *json)
{
    uint64_t oldest = recent->count > RECENT_EVENTS_MAX ? recent->count - RECENT_EVENTS_MAX : 0;
    uint64_t first = recent->count;

    for (size_t found = 0; first > oldest && found < limit; first--)
        found += is_wanted(recent->texts[(first - 1) % RECENT_EVENTS_MAX], job_id);
    json_array_begin(json);
    for (uint64_t i = first; i < recent->count; i++) {
        const char *text = recent->texts[i % RECENT_EVENTS_MAX];
        if (is_wanted(text, job_id))
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
