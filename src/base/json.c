/*
 * The JSON writer. State is a comma flag, a depth and one bit per level (object or array), which only the
 * assertions look at. Numbers are written with a point in every locale.
 *
 * A snapshot of 4,000 processes has 60,000 keys and values and is written at every tick: what is written
 * most, plain ASCII, integers and decimals, goes straight into the buffer, and printf is left to the rest.
 */
#include "base/json.h"

#include <assert.h>
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

/* As strbuf_add does, without its calls while there is room: a key is ten bytes. */
static inline void add(struct strbuf *out, const char *bytes, size_t length)
{
    if (out->failed || out->capacity - out->length <= length) {
        strbuf_add(out, bytes, length);
        return;
    }
    memcpy(out->data + out->length, bytes, length);
    out->length += length;
    out->data[out->length] = '\0';
}

static inline void add_byte(struct strbuf *out, char byte)
{
    add(out, &byte, 1);
}

static void new_line(const struct json *json)
{
    static const char spaces[] = "                                ";
    size_t missing = (size_t)json->indent * (size_t)json->depth;

    add_byte(json->out, '\n');
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
            add_byte(json->out, ',');
        if (json->indent > 0 && json->depth > 0)
            new_line(json);
    }
    json->after_key = false;
    json->comma = true;
}

static void begin(struct json *json, char bracket, bool object)
{
    before_value(json);
    add_byte(json->out, bracket);
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
    if (json->indent > 0 && !empty)
        new_line(json);
    add_byte(json->out, bracket);
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

/* Whether eight bytes are ASCII that can stand in a JSON text as it is: no control character, no '"', no '\'.
 * In each term the top bit of some byte is set if and only if one of the eight is such a one. */
static inline bool eight_are_plain(const char *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t eight;

    memcpy(&eight, bytes, sizeof(eight));

    uint64_t quotes = eight ^ (ones * '"');
    uint64_t slashes = eight ^ (ones * '\\');

    return ((eight | (eight - ones * 0x20) | (eight + ones) | (quotes - ones) | (slashes - ones)) &
            (ones << 7)) == 0;
}

/* How many bytes from here can stand in a JSON text as they are. */
static size_t plain_length(const char *bytes, size_t length)
{
    size_t i = 0;

    while (length - i >= 8 && eight_are_plain(bytes + i))
        i += 8;
    for (; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte < 0x20 || byte >= 0x7F || byte == '"' || byte == '\\')
            break;
    }
    return i;
}

static void add_quoted(struct strbuf *out, const char *bytes, size_t length)
{
    add_byte(out, '"');
    for (size_t i = 0; i < length;) {
        size_t plain = plain_length(bytes + i, length - i);

        if (plain > 0) {
            add(out, bytes + i, plain);
            i += plain;
            continue;
        }

        unsigned char byte = (unsigned char)bytes[i];
        bool special = byte < 0x20 || byte == '"' || byte == '\\';
        size_t sequence = special ? 0 : text_utf8_length(bytes + i, length - i);

        /* People read JSON with cat, too: a terminal must not act on it. */
        if (sequence > 0 && text_is_control(text_character(bytes + i, sequence)))
            strbuf_addf(out, "\\u%04x", (unsigned)text_character(bytes + i, sequence));
        else if (sequence > 0)
            add(out, bytes + i, sequence);
        else
            add_escaped(out, byte);
        i += sequence > 0 ? sequence : 1;
    }
    add_byte(out, '"');
}

void json_key(struct json *json, const char *key)
{
    assert(in_object(json) && !json->after_key);
    if (json->comma)
        add_byte(json->out, ',');
    if (json->indent > 0)
        new_line(json);
    add_quoted(json->out, key, strlen(key));
    add_byte(json->out, ':');
    if (json->indent > 0)
        add_byte(json->out, ' ');
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

/* The digits of a number, at least `least` of them, ending before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t number, unsigned least)
{
    char *digit = end;

    while (number > 0 || end - digit < (ptrdiff_t)least) {
        *--digit = (char)('0' + number % 10);
        number /= 10;
    }
    return digit;
}

void json_decimal(struct json *json, double value, unsigned digits)
{
    static const uint32_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    char number[NUMBER_SIZE];
    char *end = number + sizeof(number);

    assert(digits < sizeof(powers) / sizeof(powers[0]));

    const uint32_t power = powers[digits];

    /* Beyond 2^53 there is nothing after the point; and what is no number the other refuses. */
    if (!(fabs(value) * power <= EXACT_MAX)) {
        json_number(json, value);
        return;
    }

    const uint64_t scaled = (uint64_t)(fabs(value) * power + 0.5);
    uint64_t fraction = scaled % power;
    char *begin = end;

    while (digits > 0 && fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    if (digits > 0) {
        begin = digits_before(begin, fraction, digits);
        *--begin = '.';
    }
    begin = digits_before(begin, scaled / power, 1);
    if (value < 0 && scaled > 0)
        *--begin = '-';
    before_value(json);
    add(json->out, begin, (size_t)(end - begin));
}

void json_raw(struct json *json, const char *bytes, size_t length)
{
    before_value(json);
    add(json->out, bytes, length);
}

void json_integer(struct json *json, int64_t value)
{
    char number[NUMBER_SIZE];
    char *end = number + sizeof(number);
    /* The magnitude of INT64_MIN is no int64_t. */
    char *begin = digits_before(end, value < 0 ? -(uint64_t)value : (uint64_t)value, 1);

    if (value < 0)
        *--begin = '-';
    before_value(json);
    add(json->out, begin, (size_t)(end - begin));
}

void json_boolean(struct json *json, bool value)
{
    before_value(json);
    strbuf_adds(json->out, value ? "true" : "false");
}

void json_key_object(struct json *json, const char *key)
{
    json_key(json, key);
    json_object_begin(json);
}

void json_key_array(struct json *json, const char *key)
{
    json_key(json, key);
    json_array_begin(json);
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

void json_key_decimal(struct json *json, const char *key, double value, unsigned digits)
{
    json_key(json, key);
    json_decimal(json, value, digits);
}

void json_key_integer(struct json *json, const char *key, int64_t value)
{
    json_key(json, key);
    json_integer(json, value);
}

void json_key_nonzero(struct json *json, const char *key, int64_t value)
{
    if (value != 0)
        json_key_integer(json, key, value);
}

void json_key_boolean(struct json *json, const char *key, bool value)
{
    json_key(json, key);
    json_boolean(json, value);
}
