#include "view/recorded_list.h"

#include <string.h>

void recorded_list_begin(struct json_reader *reader, const struct recording *recording, const char *field)
{
    const struct recorded_field *list = recording_field(recording, field);
    const char *text = list && list->kind == FIELD_JSON && list->text[0] == '[' ? list->text : "[]";

    json_reader_init(reader, text, strlen(text));
    (void)json_enter_array(reader);
}

bool recorded_list_next(struct json_reader *reader, struct json_text *object)
{
    while (json_next_item(reader)) {
        bool is_object = json_peek(reader) == JSON_OBJECT;
        if (json_read_raw(reader, object) && is_object)
            return true;
    }
    return false;
}
