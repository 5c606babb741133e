/*
 * The JSON reader: a position that moves over the bytes and never past their end.
 *
 * Speed comes from doing little: most values of a recording are passed over, so strings are scanned eight
 * bytes at a time, skipped containers by one table look-up a byte, and a number costs one multiplication
 * where that is exact (base/json_number.c). A string is scanned by the same code whether it is read or
 * skipped, so that both find the same strings wrong.
 */
#include "base/json_reader.h"

#include <errno.h>
#include <string.h>

#include "base/json_number.h"
#include "base/text.h"

/* What a byte is outside of strings. */
enum class { CLASS_BAD, CLASS_PLAIN, CLASS_QUOTE, CLASS_OPEN, CLASS_CLOSE };

static const unsigned char byte_class[256] = {
    [' '] = CLASS_PLAIN, ['\t'] = CLASS_PLAIN, ['\n'] = CLASS_PLAIN, ['\r'] = CLASS_PLAIN,
    [','] = CLASS_PLAIN, [':'] = CLASS_PLAIN,  ['+'] = CLASS_PLAIN,  ['-'] = CLASS_PLAIN,
    ['.'] = CLASS_PLAIN, ['E'] = CLASS_PLAIN,  ['0'] = CLASS_PLAIN,  ['1'] = CLASS_PLAIN,
    ['2'] = CLASS_PLAIN, ['3'] = CLASS_PLAIN,  ['4'] = CLASS_PLAIN,  ['5'] = CLASS_PLAIN,
    ['6'] = CLASS_PLAIN, ['7'] = CLASS_PLAIN,  ['8'] = CLASS_PLAIN,  ['9'] = CLASS_PLAIN,
    ['a'] = CLASS_PLAIN, ['e'] = CLASS_PLAIN,  ['f'] = CLASS_PLAIN,  ['l'] = CLASS_PLAIN,
    ['n'] = CLASS_PLAIN, ['r'] = CLASS_PLAIN,  ['s'] = CLASS_PLAIN,  ['t'] = CLASS_PLAIN,
    ['u'] = CLASS_PLAIN, ['"'] = CLASS_QUOTE,  ['['] = CLASS_OPEN,   ['{'] = CLASS_OPEN,
    [']'] = CLASS_CLOSE, ['}'] = CLASS_CLOSE,
};

void json_reader_reset(struct json_reader *reader, const char *bytes, size_t length)
{
    if (length == 0)
        bytes = ""; /* NULL may not be compared or moved */
    reader->begin = reader->at = bytes;
    reader->end = bytes + length;
    reader->failed = false;
    reader->complaint = NULL;
    reader->failed_at = NULL;
    reader->depth = 0;
    strbuf_reset(&reader->scratch);
}

void json_reader_init(struct json_reader *reader, const char *bytes, size_t length)
{
    reader->scratch = (struct strbuf)STRBUF_INIT;
    json_reader_reset(reader, bytes, length);
}

void json_reader_fini(struct json_reader *reader)
{
    strbuf_fini(&reader->scratch);
}

/* The first complaint stays: what follows it is its consequence. */
static bool fail(struct json_reader *reader, const char *at, const char *complaint)
{
    if (!reader->failed) {
        reader->failed = true;
        reader->complaint = complaint;
        reader->failed_at = at;
    }
    return false;
}

/* Passes over blanks; whether the byte that then stands next is this one. */
static inline bool next_is(struct json_reader *reader, char byte)
{
    reader->at = text_skip_blanks(reader->at, reader->end);
    return !reader->failed && reader->at < reader->end && *reader->at == byte;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

enum json_kind json_peek(struct json_reader *reader)
{
    if (reader->failed)
        return JSON_NOTHING;
    reader->at = text_skip_blanks(reader->at, reader->end);
    if (reader->at == reader->end)
        return JSON_NOTHING;
    switch (*reader->at) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOLEAN;
    case 'n':
        return JSON_NULL;
    default:
        return *reader->at == '-' || is_digit(*reader->at) ? JSON_NUMBER : JSON_NOTHING;
    }
}

/* -- Strings -- */

static int hex_value(char byte)
{
    if (is_digit(byte))
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The four digits of \uXXXX; -1: they are not. */
static int32_t hex_unit(const char *at, const char *end)
{
    int32_t unit = 0;

    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(at[i]);

        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* Whether one of eight bytes ends a plain run: a quote, a backslash or a control character. Exact for what it
 * denies; the top bit of a byte past 0x7F is masked out. */
static inline bool has_special(uint64_t word)
{
    uint64_t quote = word ^ EACH_BYTE(0x22);
    uint64_t slash = word ^ EACH_BYTE(0x5C);
    uint64_t found = (word - EACH_BYTE(0x20)) | (quote - EACH_BYTE(1)) | (slash - EACH_BYTE(1));

    return (found & ~word & EACH_BYTE(0x80)) != 0;
}

static inline const char *past_plain(const char *at, const char *end)
{
    uint64_t word;

    for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        if (has_special(word))
            break;
    }
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return at;
}

/* From behind the opening quote to the closing one, which is returned. NULL: the string is wrong. */
static const char *scan_string(struct json_reader *reader, const char *at, bool *escapes)
{
    const char *start = at - 1;
    const char *end = reader->end;

    for (*escapes = false;;) {
        at = past_plain(at, end);
        if (at < end && *at == '"')
            return at;
        if (at == end || (*at == '\\' && at + 1 == end)) {
            (void)fail(reader, start, "a string that does not end");
            return NULL;
        }
        if (*at != '\\') {
            (void)fail(reader, at, "a control character in a string");
            return NULL;
        }
        *escapes = true;
        if (at[1] == 'u' ? hex_unit(at + 2, end) < 0 : !at[1] || !strchr("\"\\/bfnrt", at[1])) {
            (void)fail(reader, at, "a backslash with something that JSON does not know");
            return NULL;
        }
        at += at[1] == 'u' ? 6 : 2;
    }
}

static void add_utf8(struct strbuf *out, uint32_t point)
{
    char bytes[4];
    size_t count = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

    for (size_t i = count; i-- > 1; point >>= 6)
        bytes[i] = (char)(0x80 | (point & 0x3F));
    bytes[0] = (char)(lead[count] | point);
    strbuf_add(out, bytes, count);
}

/* `at` stands behind "\u" of a string that is known to be right; returns what is behind it, and behind the
 * second half where it has one. */
static const char *decode_unit(struct strbuf *out, const char *at, const char *end)
{
    uint32_t point = (uint32_t)hex_unit(at, end);

    at += 4;
    if (point >= 0xD800 && point < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        uint32_t low = (uint32_t)hex_unit(at + 2, end);

        if (low >= 0xDC00 && low < 0xE000) {
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    add_utf8(out, point == 0 || (point >= 0xD800 && point < 0xE000) ? 0xFFFD : point);
    return at;
}

static bool decode_string(struct json_reader *reader, const char *at, const char *end, struct json_text *text)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    struct strbuf *out = &reader->scratch;

    strbuf_reset(out);
    (void)strbuf_reserve(out, (size_t)(end - at));
    while (at < end) {
        const char *run = memchr(at, '\\', (size_t)(end - at));

        if (!run)
            run = end;
        strbuf_add(out, at, (size_t)(run - at));
        if (run == end)
            break;
        if (run[1] == 'u') {
            at = decode_unit(out, run + 2, end);
        } else {
            strbuf_addc(out, to[strchr(from, run[1]) - from]);
            at = run + 2;
        }
    }
    if (out->failed)
        return fail(reader, at, "no memory for a string");
    *text = (struct json_text){strbuf_text(out), out->length};
    return true;
}

/* `reader->at` is a quote. */
static inline bool take_string(struct json_reader *reader, struct json_text *out)
{
    bool escapes;
    const char *start = reader->at + 1;
    const char *quote = scan_string(reader, start, &escapes);

    if (!quote)
        return false;
    reader->at = quote + 1;
    if (escapes)
        return decode_string(reader, start, quote, out);
    *out = (struct json_text){start, (size_t)(quote - start)};
    return true;
}

bool json_read_text(struct json_reader *reader, struct json_text *out)
{
    return next_is(reader, '"') && take_string(reader, out);
}

/* -- Numbers and words -- */

bool json_read_number(struct json_reader *reader, double *out)
{
    struct json_number number;

    if (json_peek(reader) != JSON_NUMBER)
        return false;

    const char *complaint;
    const char *end = json_number_scan(reader->at, reader->end, &number, &complaint);

    if (!end || !json_number_value(&number, reader->at, end, out, &complaint))
        return fail(reader, reader->at, complaint);
    reader->at = end;
    return true;
}

static bool take_word(struct json_reader *reader, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return fail(reader, reader->at, "a word that is not true, false or null");
    reader->at += length;
    return true;
}

bool json_read_boolean(struct json_reader *reader, bool *out)
{
    if (json_peek(reader) != JSON_BOOLEAN)
        return false;

    bool value = *reader->at == 't';

    if (!take_word(reader, value ? "true" : "false"))
        return false;
    *out = value;
    return true;
}

/* -- Objects and arrays -- */

static bool enter(struct json_reader *reader, char open)
{
    if (!next_is(reader, open))
        return false;
    if (reader->depth == JSON_DEPTH_MAX)
        return fail(reader, reader->at, "more than 64 levels of nesting");
    reader->first[reader->depth++] = true;
    reader->at++;
    return true;
}

bool json_enter_object(struct json_reader *reader)
{
    return enter(reader, '{');
}

bool json_enter_array(struct json_reader *reader)
{
    return enter(reader, '[');
}

/* Whether another member follows; past the comma before it, or past the end of the container. */
static inline bool next_member(struct json_reader *reader, char close, const char *open_end,
                               const char *no_comma)
{
    if (reader->failed || reader->depth == 0)
        return false;

    bool *first = &reader->first[reader->depth - 1];

    reader->at = text_skip_blanks(reader->at, reader->end);
    if (reader->at == reader->end)
        return fail(reader, reader->at, open_end);
    if (*reader->at == close) {
        reader->at++;
        reader->depth--;
        return false;
    }
    if (*first) {
        *first = false;
        return true;
    }
    if (*reader->at != ',')
        return fail(reader, reader->at, no_comma);
    reader->at++;
    return true;
}

bool json_next_key(struct json_reader *reader, struct json_text *key)
{
    if (!next_member(reader, '}', "cut off within an object",
                     "neither a comma nor } behind a value of an object"))
        return false;
    if (!next_is(reader, '"'))
        return fail(reader, reader->at, "no key in quotes where one belongs");
    if (!take_string(reader, key))
        return false;
    if (!next_is(reader, ':'))
        return fail(reader, reader->at, "no colon behind a key");
    reader->at++;
    return true;
}

bool json_next_item(struct json_reader *reader)
{
    return next_member(reader, ']', "cut off within an array",
                       "neither a comma nor ] behind a value of an array");
}

/* -- Passing over -- */

/* `reader->at` opens an object or an array. A bit a level says which, for the bracket that closes it. */
static bool skip_container(struct json_reader *reader)
{
    const char *at = reader->at, *end = reader->end;
    uint64_t objects = 0;
    int depth = 0;
    bool escapes;

    for (; at < end; at++) {
        switch (byte_class[(unsigned char)*at]) {
        case CLASS_PLAIN:
            break;
        case CLASS_QUOTE:
            at = scan_string(reader, at + 1, &escapes);
            if (!at)
                return false;
            break;
        case CLASS_OPEN:
            if (reader->depth + depth == JSON_DEPTH_MAX)
                return fail(reader, at, "more than 64 levels of nesting");
            objects = objects << 1 | (*at == '{');
            depth++;
            break;
        case CLASS_CLOSE:
            if ((objects & 1) != (*at == '}'))
                return fail(reader, at, "a bracket that closes another one than is open");
            objects >>= 1;
            if (--depth == 0) {
                reader->at = at + 1;
                return true;
            }
            break;
        default:
            return fail(reader, at, "something that is no JSON");
        }
    }
    return fail(reader, end, *reader->at == '{' ? "cut off within an object" : "cut off within an array");
}

bool json_skip(struct json_reader *reader)
{
    struct json_number number;
    const char *end, *complaint;
    bool escapes;

    switch (json_peek(reader)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return skip_container(reader);
    case JSON_STRING:
        end = scan_string(reader, reader->at + 1, &escapes);
        if (!end)
            return false;
        reader->at = end + 1;
        return true;
    case JSON_NUMBER:
        end = json_number_scan(reader->at, reader->end, &number, &complaint);
        if (!end)
            return fail(reader, reader->at, complaint);
        reader->at = end;
        return true;
    case JSON_BOOLEAN:
        return take_word(reader, *reader->at == 't' ? "true" : "false");
    case JSON_NULL:
        return take_word(reader, "null");
    case JSON_NOTHING:
        break;
    }
    if (reader->at < reader->end)
        return fail(reader, reader->at, "no JSON value");
    if (reader->depth > 0)
        return fail(reader, reader->at, "cut off where a value belongs");
    return fail(reader, reader->begin, "nothing in it");
}

bool json_read_raw(struct json_reader *reader, struct json_text *out)
{
    reader->at = text_skip_blanks(reader->at, reader->end);

    const char *start = reader->at;

    if (!json_skip(reader))
        return false;
    *out = (struct json_text){start, (size_t)(reader->at - start)};
    return true;
}

/* A bit a level says whether it is an object. */
void json_check_value(struct json_reader *reader, bool numbers_fit)
{
    const int depth = reader->depth;
    struct json_text key;
    uint64_t objects = 0;
    double number;

    do {
        if (json_enter_object(reader))
            objects = objects << 1 | 1;
        else if (json_enter_array(reader))
            objects <<= 1;
        else if (!numbers_fit || !json_read_number(reader, &number))
            (void)json_skip(reader);
        while (!reader->failed && reader->depth > depth &&
               !(objects & 1 ? json_next_key(reader, &key) : json_next_item(reader)))
            objects >>= 1;
    } while (!reader->failed && reader->depth > depth);
}

/* -- The end -- */

void json_reader_place(const struct json_reader *reader, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (const char *at = reader->begin; at < reader->failed_at; at++) {
        if (*at == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*at & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static int complain(const struct json_reader *reader, struct metron_error *error)
{
    int code = reader->scratch.failed ? -ENOMEM : -EBADMSG;
    size_t line, column;

    if (!error)
        return code; /* nobody asks where */
    json_reader_place(reader, &line, &column);
    return error_set(error, code, "line %zu, column %zu: %s", line, column, reader->complaint);
}

int json_reader_end(struct json_reader *reader, struct metron_error *error)
{
    if (!reader->failed) {
        reader->at = text_skip_blanks(reader->at, reader->end);

        const char *start = text_skip_blanks(reader->begin, reader->end);

        if (start == reader->end)
            (void)fail(reader, reader->begin, "nothing in it");
        else if (reader->at == start)
            (void)fail(reader, start,
                       json_peek(reader) == JSON_NOTHING ? "no JSON value"
                                                         : "another kind of value than expected");
        else if (reader->at < reader->end)
            (void)fail(reader, reader->at, "something behind the end of the value");
        else if (reader->depth > 0)
            (void)fail(reader, reader->at, "cut off within a value");
    }
    return reader->failed ? complain(reader, error) : 0;
}

bool json_text_is(const struct json_text *text, const char *word)
{
    size_t length = strlen(word);

    return text->length == length && memcmp(text->bytes, word, length) == 0;
}

bool json_find(const struct json_text *object, const char *key, struct json_text *out)
{
    struct json_reader reader;
    struct json_text name, value;
    bool found = false;

    json_reader_init(&reader, object->bytes, object->length);
    if (json_enter_object(&reader))
        while (json_next_key(&reader, &name)) {
            bool is_it = json_text_is(&name, key);

            if (json_read_raw(&reader, &value) && is_it) {
                *out = value;
                found = true;
            }
        }
    json_reader_fini(&reader);
    return found;
}

/* A reader at the value of a member. */
static bool find_value(const struct json_text *object, const char *key, struct json_reader *reader)
{
    struct json_text value;

    if (!json_find(object, key, &value))
        return false;
    json_reader_init(reader, value.bytes, value.length);
    return true;
}

bool json_find_number(const struct json_text *object, const char *key, double *out)
{
    struct json_reader reader;

    return find_value(object, key, &reader) && json_read_number(&reader, out);
}

bool json_find_boolean(const struct json_text *object, const char *key, bool *out)
{
    struct json_reader reader;

    return find_value(object, key, &reader) && json_read_boolean(&reader, out);
}

bool json_find_text(const struct json_text *object, const char *key, struct strbuf *out)
{
    struct json_reader reader;
    struct json_text text;

    if (!find_value(object, key, &reader))
        return false;
    bool is_text = json_read_text(&reader, &text);
    if (is_text)
        strbuf_add(out, text.bytes, text.length);
    json_reader_fini(&reader);
    return is_text;
}
