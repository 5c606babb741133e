/*
 * YAML is JSON but for two things: some characters must be escaped that JSON lets stand, and a number with an
 * exponent needs a point, or YAML 1.1 takes it for a text.
 */
#include "view/list/value.h"

#include <string.h>

#include "base/json.h"
#include "base/json_number.h"
#include "base/json_reader.h"
#include "base/text.h"

void list_add_number(struct strbuf *out, double value, enum list_style style)
{
    char text[JSON_NUMBER_SIZE];
    const char *exponent = strchr(json_number_text(value, text), 'e');

    if (style == LIST_YAML && exponent && !strchr(text, '.'))
        strbuf_addf(out, "%.*s.0%s", (int)(exponent - text), text, exponent);
    else
        strbuf_adds(out, text);
}

/* What YAML does not let stand in a text and our JSON does: the byte order mark and what is no character; and
 * the no-break space, which nobody can see. */
static bool is_special(uint32_t character)
{
    return character == 0xA0 || character == 0xFEFF || character == 0xFFFE || character == 0xFFFF;
}

void list_add_text(struct strbuf *out, const char *bytes, size_t length, enum list_style style)
{
    struct strbuf quoted = STRBUF_INIT;
    struct json json;

    json_init(&json, style == LIST_YAML ? &quoted : out, 0);
    json_bytes(&json, bytes, length);
    for (size_t at = 0; at < quoted.length;) {
        size_t step = text_utf8_length(quoted.data + at, quoted.length - at);
        step = step > 0 ? step : 1;
        uint32_t character = text_character(quoted.data + at, step);
        if (is_special(character))
            strbuf_addf(out, "\\u%04x", (unsigned)character);
        else
            strbuf_add(out, quoted.data + at, step);
        at += step;
    }
    strbuf_fini_part(&quoted, out);
}

/* Where the copy stands in its containers. */
struct copy {
    struct strbuf *out;
    enum list_style style;
    struct json_reader reader;
    bool objects[JSON_DEPTH_MAX + 1], begun[JSON_DEPTH_MAX + 1];
    int depth;
};

/* To the next value of the innermost container that has one; its comma and key are written. False: there is
 * none left. */
static bool next_value(struct copy *copy)
{
    struct json_text key;

    for (; copy->depth > 0; copy->depth--) {
        bool object = copy->objects[copy->depth];
        bool more = object ? json_next_key(&copy->reader, &key) : json_next_item(&copy->reader);
        if (copy->reader.failed)
            return false;
        if (more) {
            if (copy->begun[copy->depth])
                strbuf_adds(copy->out, ", ");
            copy->begun[copy->depth] = true;
            if (object) {
                list_add_text(copy->out, key.bytes, key.length, copy->style);
                strbuf_adds(copy->out, ": ");
            }
            return true;
        }
        strbuf_addc(copy->out, object ? '}' : ']');
    }
    return false;
}

static void copy_value(struct copy *copy)
{
    struct json_reader *reader = &copy->reader;
    enum json_kind kind = json_peek(reader);
    struct json_text text;
    double number;
    bool boolean;

    if (kind == JSON_OBJECT || kind == JSON_ARRAY) {
        if (!(kind == JSON_OBJECT ? json_enter_object(reader) : json_enter_array(reader)))
            return;
        copy->depth++;
        copy->objects[copy->depth] = kind == JSON_OBJECT;
        copy->begun[copy->depth] = false;
        strbuf_addc(copy->out, kind == JSON_OBJECT ? '{' : '[');
    } else if (kind == JSON_NUMBER && json_read_number(reader, &number)) {
        list_add_number(copy->out, number, copy->style);
    } else if (kind == JSON_STRING && json_read_text(reader, &text)) {
        list_add_text(copy->out, text.bytes, text.length, copy->style);
    } else if (kind == JSON_BOOLEAN && json_read_boolean(reader, &boolean)) {
        strbuf_adds(copy->out, boolean ? "true" : "false");
    } else if (json_skip(reader)) { /* null; the rest is no JSON */
        strbuf_adds(copy->out, "null");
    }
}

void list_add_json(struct strbuf *out, const char *json, enum list_style style)
{
    struct strbuf text = STRBUF_INIT;
    struct copy copy = {.out = &text, .style = style};

    json_reader_init(&copy.reader, json, strlen(json));
    do
        copy_value(&copy);
    while (!copy.reader.failed && next_value(&copy));
    if (json_reader_end(&copy.reader, NULL) == 0)
        strbuf_add(out, strbuf_text(&text), text.length);
    else
        list_add_text(out, json, strlen(json), style);
    json_reader_fini(&copy.reader);
    strbuf_fini_part(&text, out);
}
