/*
 * The JSON writer. State is a comma flag, a depth and one bit per level (object or array), which only the
 * assertions look at. Numbers are written with a point in every locale.
 */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define EXACT_MAX   9007199254740992.0 /* 2^53: every integer up to it is a double */
#define NUMBER_SIZE 32

void json_init(struct json *json, struct strbuf *out, int indent)
{
    *json = (struct json){.out = out, .indent = indent};
}

static void new_line(const struct json *json)
{
    static const char spaces[] = "                                ";
    size_t missing = (size_t)json->indent * (size_t)json->depth;

    if (json->indent == 0)
        return;
    strbuf_addc(json->out, '\n');
    while (missing > 0) {
        size_t part = missing < sizeof(spaces) - 1 ? missing : sizeof(spaces) - 1;

        strbuf_add(json->out, spaces, part);
        missing -= part;
    }
}

static uint64_t level_bit(const struct json *json)
{
    return UINT64_C(1) << ((unsigned)json->depth & 63);
}

static bool in_object(const struct json *json)
{
    return json->depth > 0 && (json->objects & level_bit(json)) != 0;
}

/* What stands before a value: nothing after a key, else a comma and a line of its own. */
static void before_value(struct json *json)
{
    assert(json->after_key || !in_object(json));
    if (!json->after_key) {
        if (json->comma)
            strbuf_addc(json->out, ',');
        if (json->depth > 0)
            new_line(json);
    }
    json->after_key = false;
    json->comma = true;
}

static void begin(struct json *json, char bracket, bool object)
{
    before_value(json);
    strbuf_addc(json->out, bracket);
    json->depth++;
    assert(json->depth < 64);
    if (object)
        json->objects |= level_bit(json);
    else
        json->objects &= ~level_bit(json);
    json->comma = false;
}

static void end(struct json *json, char bracket)
{
    bool empty = !json->comma;

    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    if (!empty)
        new_line(json);
    strbuf_addc(json->out, bracket);
    json->comma = true;
}

void json_object_begin(struct json *json)
{
    begin(json, '{', true);
}

void json_object_end(struct json *json)
{
    assert(in_object(json));
    end(json, '}');
}

void json_array_begin(struct json *json)
{
    begin(json, '[', false);
}

void json_array_end(struct json *json)
{
    assert(!in_object(json));
    end(json, ']');
}

/* One byte that cannot stand as it is, NUL included: NUL and what is no UTF-8 as \xNN text, the rest as JSON
 * escapes. */
static void add_escaped(struct strbuf *out, unsigned char byte)
{
    char escape[8];

    switch (byte) {
    case '"':
        strbuf_adds(out, "\\\"");
        return;
    case '\\':
        strbuf_adds(out, "\\\\");
        return;
    case '\n':
        strbuf_adds(out, "\\n");
        return;
    case '\r':
        strbuf_adds(out, "\\r");
        return;
    case '\t':
        strbuf_adds(out, "\\t");
        return;
    default:
        break;
    }
    (void)snprintf(escape, sizeof(escape), byte == 0 || byte >= 0x80 ? "\\\\x%02x" : "\\u%04x", byte);
    strbuf_adds(out, escape);
}

static void add_quoted(struct strbuf *out, const char *bytes, size_t length)
{
    size_t plain = 0;

    strbuf_addc(out, '"');
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)bytes[i];
        bool special = byte < 0x20 || byte == '"' || byte == '\\';
        size_t sequence = special ? 0 : text_utf8_length(bytes + i, length - i);

        if (sequence > 0) {
            i += sequence;
            continue;
        }
        if (i > plain)
            strbuf_add(out, bytes + plain, i - plain);
        add_escaped(out, byte);
        i++;
        plain = i;
    }
    if (length > plain)
        strbuf_add(out, bytes + plain, length - plain);
    strbuf_addc(out, '"');
}

void json_key(struct json *json, const char *key)
{
    assert(in_object(json) && !json->after_key);
    if (json->comma)
        strbuf_addc(json->out, ',');
    new_line(json);
    add_quoted(json->out, key, strlen(key));
    strbuf_adds(json->out, json->indent > 0 ? ": " : ":");
    json->after_key = true;
}

void json_bytes(struct json *json, const char *bytes, size_t length)
{
    before_value(json);
    add_quoted(json->out, bytes, length);
}

void json_string(struct json *json, const char *text)
{
    json_bytes(json, text, strlen(text));
}

/* A locale may have put a comma, or several bytes, where JSON has a point. */
static void force_point(char *number)
{
    char *put = number;
    bool point = false;

    for (const char *get = number; *get != '\0'; get++) {
        if ((*get >= '0' && *get <= '9') || *get == '-' || *get == '+' || *get == 'e') {
            *put++ = *get;
        } else if (!point) {
            *put++ = '.';
            point = true;
        }
    }
    *put = '\0';
}

void json_number(struct json *json, double value)
{
    char number[NUMBER_SIZE];

    /* There is no JSON for these; callers leave such a value out, as they do what was not measured. */
    assert(isfinite(value));
    if (!isfinite(value))
        value = 0;
    if (fabs(value) <= EXACT_MAX && value == (double)(int64_t)value) {
        json_integer(json, (int64_t)value);
        return;
    }
    /* Ten digits say more than was measured; a large mean of bytes still reads as a number of bytes. */
    (void)snprintf(number, sizeof(number), fabs(value) < 1e9 || fabs(value) > EXACT_MAX ? "%.10g" : "%.0f",
                   value);
    force_point(number);
    before_value(json);
    strbuf_adds(json->out, number);
}

void json_integer(struct json *json, int64_t value)
{
    char number[NUMBER_SIZE];
    int length = snprintf(number, sizeof(number), "%" PRId64, value);

    before_value(json);
    strbuf_add(json->out, number, (size_t)length);
}

void json_boolean(struct json *json, bool value)
{
    before_value(json);
    strbuf_adds(json->out, value ? "true" : "false");
}

void json_key_string(struct json *json, const char *key, const char *text)
{
    if (!text)
        return;
    json_key(json, key);
    json_string(json, text);
}

void json_key_number(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_number(json, value);
}

void json_key_integer(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_integer(json, value);
}

void json_key_boolean(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_boolean(json, value);
}
