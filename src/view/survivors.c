#include "view/survivors.h"

#include <string.h>

#include "base/json_reader.h"
#include "base/strbuf.h"

void survivors_walk(const struct recording *recording, survivor_named *named, void *context)
{
    const struct recorded_field *field = recording_field(recording, "survivors.processes");
    struct strbuf command = STRBUF_INIT;
    struct json_reader reader;
    struct json_text key, text;

    if (!field || field->kind != FIELD_JSON)
        return;
    json_reader_init(&reader, field->text, strlen(field->text));
    if (json_enter_array(&reader))
        while (json_next_item(&reader)) {
            double pid = -1;
            strbuf_reset(&command);
            if (!json_enter_object(&reader)) {
                json_skip(&reader);
                continue;
            }
            while (json_next_key(&reader, &key)) {
                bool is_pid = json_text_is(&key, "pid");
                if (is_pid && json_read_number(&reader, &pid))
                    continue;
                if (!is_pid && json_text_is(&key, "command") && json_read_text(&reader, &text))
                    strbuf_add(&command, text.bytes, text.length);
                else
                    json_skip(&reader);
            }
            named(context, pid, strbuf_text(&command), command.length);
        }
    json_reader_fini(&reader);
    strbuf_fini(&command);
}
