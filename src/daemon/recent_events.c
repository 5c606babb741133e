#include "daemon/recent_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "daemon/socket/protocol.h"
#include "view/event_lines.h"

#define KEY_MAX 64

static bool has_column(const struct json_text *key)
{
    static const char *const columns[] = {"timestamp",  "event_type", "pid",      "exit_code",
                                          "signal_num", "job_id",     "sheet_num"};

    for (size_t i = 0; i < ARRAY_LENGTH(columns); i++)
        if (json_text_is(key, columns[i]))
            return true;
    return false;
}

/* Those that have a column, or the others. */
static void copy_members(struct json *json, struct json_reader *reader, bool with_column)
{
    struct json_text key, value;

    if (!json_enter_object(reader))
        return;
    while (json_next_key(reader, &key)) {
        char name[KEY_MAX];
        bool wanted = key.length < sizeof(name) && has_column(&key) == with_column;

        if (wanted) {
            memcpy(name, key.bytes, key.length);
            name[key.length] = '\0';
        }
        if (!json_read_raw(reader, &value) || !wanted)
            continue;
        json_key(json, name);
        json_raw(json, value.bytes, value.length);
    }
}

void recent_event_json(struct json *json, const char *text, size_t length)
{
    struct json_reader reader;

    json_reader_init(&reader, text, length);
    json_object_begin(json);
    copy_members(json, &reader, true);
    json_key_object(json, "details");
    json_reader_reset(&reader, text, length);
    copy_members(json, &reader, false);
    json_object_end(json);
    json_object_end(json);
    json_reader_fini(&reader);
}

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
