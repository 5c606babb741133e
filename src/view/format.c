/*
 * A format is read piece by piece: literal text up to the next brace, or one field. Checking and rendering
 * share that reader, so what passed the check cannot fail later.
 *
 * A value of another kind than its format asks for is shown as it is: at the end of a run a summary that is
 * slightly off serves better than an error.
 */
#include "view/format.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "view/colors.h"

#define KEY_SIZE       128
#define WIDTH_MAX      500
#define PRECISION_MAX  100
#define DEFAULT_DIGITS 6
#define EXACT_MAX      9007199254740992.0 /* 2^53 */
#define FILL_BYTES_MAX 4

struct spec {
    char fill[FILL_BYTES_MAX];
    size_t fill_length; /* 0: a space */
    char align;         /* < > ^ = (zeros between sign and digits), or 0: by the kind of the value */
    size_t width;
    bool grouped;
    int precision; /* -1: not given */
    char type;     /* d f e g % s, or 0 */
};

struct field {
    char key[KEY_SIZE];
    char conversion; /* S E X N, or 0 */
    struct spec spec;
};

struct reader {
    const char *format;
    size_t at;
    struct metron_error *error;
};

static int malformed(const struct reader *reader, size_t at, const char *what)
{
    return error_set(reader->error, -EINVAL, "summary format, position %zu: %s", at + 1, what);
}

/* ---- reading ---- */

static bool is_align(char byte)
{
    return byte == '<' || byte == '>' || byte == '^';
}

static int read_number(struct reader *reader, size_t most, size_t *out)
{
    size_t value = 0;
    size_t start = reader->at;

    while (isdigit((unsigned char)reader->format[reader->at])) {
        value = value * 10 + (size_t)(reader->format[reader->at++] - '0');
        if (value > most)
            return malformed(reader, start, "the number is too large");
    }
    *out = value;
    return 0;
}

static void read_align(struct reader *reader, struct spec *spec)
{
    const char *here = reader->format + reader->at;
    size_t fill = text_utf8_length(here, strlen(here));

    if (fill > 0 && *here != '{' && *here != '}' && is_align(here[fill])) {
        memcpy(spec->fill, here, fill);
        spec->fill_length = fill;
        reader->at += fill;
        here += fill;
    }
    if (is_align(*here)) {
        spec->align = *here;
        reader->at++;
    }
}

/* What follows the colon, up to the closing brace. */
static int read_spec(struct reader *reader, struct spec *spec)
{
    size_t number = 0;
    int result;

    read_align(reader, spec);
    if (reader->format[reader->at] == '0' && !spec->align) {
        spec->fill[0] = '0';
        spec->fill_length = 1;
        spec->align = '=';
        reader->at++;
    }
    result = read_number(reader, WIDTH_MAX, &spec->width);
    if (result < 0)
        return result;
    if (reader->format[reader->at] == ',') {
        spec->grouped = true;
        reader->at++;
    }
    if (reader->format[reader->at] == '.') {
        reader->at++;
        if (!isdigit((unsigned char)reader->format[reader->at]))
            return malformed(reader, reader->at, "expected the digits of a precision");
        result = read_number(reader, PRECISION_MAX, &number);
        if (result < 0)
            return result;
        spec->precision = (int)number;
    }
    if (reader->format[reader->at] != '\0' && strchr("dfeg%s", reader->format[reader->at]))
        spec->type = reader->format[reader->at++];
    if (reader->format[reader->at] != '}')
        return malformed(reader, reader->at,
                         "expected [[fill]align][0][width][,][.precision][d f e g % s] and '}'");
    return 0;
}

/* From behind the opening brace to behind the closing one. */
static int read_field(struct reader *reader, struct field *field)
{
    size_t opened = reader->at - 1;
    const char *key = reader->format + reader->at;
    size_t length = strcspn(key, "{}!:");
    int result = 0;

    *field = (struct field){.spec.precision = -1};
    reader->at += length;
    if (reader->format[reader->at] == '\0' || reader->format[reader->at] == '{')
        return malformed(reader, opened, "'{' is not closed; a brace itself is written '{{'");
    if (length == 0)
        return malformed(reader, opened, "a key is missing in '{}'");
    if (length >= KEY_SIZE)
        return malformed(reader, opened + 1, "the key is too long");
    memcpy(field->key, key, length);

    if (reader->format[reader->at] == '!') {
        char conversion = reader->format[reader->at + 1];

        if (conversion == '\0' || !strchr("SEXN", conversion))
            return malformed(reader, reader->at, "'!' is followed by one of S, E, X, N");
        field->conversion = conversion;
        reader->at += 2;
    }
    if (reader->format[reader->at] == ':') {
        reader->at++;
        result = read_spec(reader, &field->spec);
    } else if (reader->format[reader->at] != '}') {
        result = malformed(reader, reader->at, "expected ':' or '}'");
    }
    if (result == 0)
        reader->at++;
    return result;
}

/* The next piece: 1 a field, 2 literal text (already in `literal`), 0 the end, or -EINVAL. */
static int read_piece(struct reader *reader, struct field *field, struct strbuf *literal)
{
    bool any = false;

    for (;;) {
        char byte = reader->format[reader->at];
        char next = byte == '\0' ? '\0' : reader->format[reader->at + 1];

        if (byte == '\0')
            return any ? 2 : 0;
        if (byte == '{' && next != '{') {
            if (any)
                return 2;
            reader->at++;

            int result = read_field(reader, field);

            return result < 0 ? result : 1;
        }
        if (byte == '}' && next != '}')
            return malformed(reader, reader->at, "'}' without '{'; a brace itself is written '}}'");

        bool escape = byte == '\\' && (next == 'n' || next == 't' || next == '\\');

        if (escape)
            byte = next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
        strbuf_addc(literal, byte);
        reader->at += escape || byte == '{' || byte == '}' ? 2 : 1;
        any = true;
    }
}

/* ---- rendering ---- */

/* Commas into the whole part of the number that begins at `start`. */
static void group_digits(struct strbuf *text, size_t start)
{
    struct strbuf grouped = STRBUF_INIT;
    size_t first = start;

    while (first < text->length && !isdigit((unsigned char)text->data[first]))
        first++;
    size_t end = first;

    while (end < text->length && isdigit((unsigned char)text->data[end]))
        end++;
    for (size_t i = first; i < text->length; i++) {
        if (i > first && i < end && (end - i) % 3 == 0)
            strbuf_addc(&grouped, ',');
        strbuf_addc(&grouped, text->data[i]);
    }
    text->length = first;
    strbuf_add(text, strbuf_text(&grouped), grouped.length);
    strbuf_fini_part(&grouped, text);
}

static bool is_numeric_type(char type)
{
    return type != '\0' && type != 's';
}

static void add_number(struct strbuf *text, const struct spec *spec, double value)
{
    int precision = spec->precision < 0 ? DEFAULT_DIGITS : spec->precision;

    if (!isfinite(value)) {
        strbuf_addc(text, '-');
        return;
    }
    switch (spec->type) {
    case 'd':
        strbuf_addf(text, "%.0f", value);
        break;
    case 'f':
        strbuf_addf(text, "%.*f", precision, value);
        break;
    case 'e':
        strbuf_addf(text, "%.*e", precision, value);
        break;
    case 'g':
        strbuf_addf(text, "%.*g", precision, value);
        break;
    case '%':
        strbuf_addf(text, "%.*f%%", precision, 100 * value);
        break;
    default:
        if (spec->precision >= 0)
            strbuf_addf(text, "%.*g", precision, value);
        else if (fabs(value) <= EXACT_MAX && value == (double)(long long)value)
            strbuf_addf(text, "%.0f", value);
        else
            strbuf_addf(text, "%.10g", value);
        break;
    }
    /* A zero has no sign, nor has what was rounded to one. */
    if (text->length > 1 && text->data[0] == '-' && !strpbrk(text->data, "123456789")) {
        memmove(text->data, text->data + 1, text->length);
        text->length--;
    }
    if (spec->grouped)
        group_digits(text, 0);
}

/* The value without padding and colour; true if it is a number. */
static bool add_value(struct strbuf *text, const struct field *field, const struct format_value *value)
{
    char human[UNIT_TEXT_SIZE];

    switch (value->kind) {
    case FORMAT_NUMBER:
        if (field->conversion == 'S') {
            strbuf_adds(text, unit_human(UNIT_BYTES, value->number, human));
            return false;
        }
        add_number(text, &field->spec, value->number);
        return true;
    case FORMAT_BOOLEAN:
        if (is_numeric_type(field->spec.type)) {
            add_number(text, &field->spec, value->number != 0);
            return true;
        }
        strbuf_adds(text, value->number != 0 ? "true" : "false");
        return false;
    case FORMAT_TEXT: {
        const char *end = value->text;

        /* A precision counts characters, and cuts none in two. */
        for (int i = 0; *end != '\0' && (field->spec.precision < 0 || is_numeric_type(field->spec.type) ||
                                         i < field->spec.precision);
             i++) {
            size_t sequence = text_utf8_length(end, strnlen(end, 4));

            end += sequence > 0 ? sequence : 1;
        }
        text_printable(text, value->text, (size_t)(end - value->text));
        return false;
    }
    case FORMAT_ABSENT:
        break;
    }
    strbuf_addc(text, '-');
    return is_numeric_type(field->spec.type); /* keeps to its column */
}

static bool is_true(const struct format_value *value)
{
    if (value->kind == FORMAT_TEXT)
        return value->text[0] != '\0';
    return value->kind != FORMAT_ABSENT && value->number != 0;
}

static const char *color_of(char conversion, const struct format_value *value)
{
    bool good;

    switch (conversion) {
    case 'E':
        good = value->kind != FORMAT_ABSENT && !is_true(value);
        break;
    case 'X':
        good = is_true(value);
        break;
    case 'N':
        good = value->kind != FORMAT_ABSENT;
        break;
    default:
        return NULL;
    }
    return good ? COLOR_GREEN : COLOR_RED;
}

static void add_fill(struct strbuf *out, const struct spec *spec, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (spec->fill_length > 0)
            strbuf_add(out, spec->fill, spec->fill_length);
        else
            strbuf_addc(out, ' ');
    }
}

static size_t count_characters(const struct strbuf *text)
{
    size_t count = 0;

    for (size_t i = 0; i < text->length; i++)
        count += ((unsigned char)text->data[i] & 0xC0) != 0x80;
    return count;
}

static void add_field(struct strbuf *out, const struct field *field, const struct format_value *value,
                      bool colors)
{
    struct strbuf text = STRBUF_INIT;
    struct spec spec = field->spec;
    bool number = add_value(&text, field, value);
    size_t width = count_characters(&text);
    size_t padding = spec.width > width ? spec.width - width : 0;
    const char *color = colors ? color_of(field->conversion, value) : NULL;
    size_t before = 0; /* padding before the text, and within it behind `sign` bytes */
    size_t within = 0;
    size_t sign = 0;

    if (spec.align == '=' && !(number && strpbrk(strbuf_text(&text), "0123456789"))) {
        /* Zeros are for digits: what has none is filled with spaces. */
        spec.align = '\0';
        spec.fill_length = 0;
    }
    if (spec.align == '>' || (spec.align == '\0' && number)) {
        before = padding;
    } else if (spec.align == '^') {
        before = padding / 2;
    } else if (spec.align == '=') {
        within = padding;
        sign = strbuf_text(&text)[0] == '-';
    }

    add_fill(out, &spec, before);
    if (color)
        strbuf_adds(out, color);
    strbuf_add(out, strbuf_text(&text), sign);
    add_fill(out, &spec, within);
    strbuf_add(out, strbuf_text(&text) + sign, text.length - sign);
    if (color)
        strbuf_adds(out, COLOR_END);
    add_fill(out, &spec, padding - before - within);
    strbuf_fini_part(&text, out);
}

int format_render(struct strbuf *out, const char *format, format_lookup *lookup, void *context, bool colors)
{
    struct reader reader = {.format = format};
    struct field field;
    int piece;

    while ((piece = read_piece(&reader, &field, out)) > 0) {
        struct format_value value = {0};

        if (piece != 1)
            continue;
        if (!lookup(context, field.key, &value))
            value.kind = FORMAT_ABSENT;
        add_field(out, &field, &value, colors);
    }
    if (piece < 0)
        return piece;
    return out->failed ? -ENOMEM : 0;
}

/* ---- checking ---- */

static int check_key(const char *key, format_known *known, void *context, struct metron_error *error)
{
    struct suggest suggest;
    char nearest[SUGGEST_TEXT_SIZE];
    const char *name;

    suggest_init(&suggest, key);
    for (size_t i = 0; (name = known(context, i)) != NULL; i++) {
        if (strcmp(name, key) == 0)
            return 0;
        suggest_offer(&suggest, name);
    }
    return error_set(error, -EINVAL, "summary format: unknown key '%s'%s", key,
                     suggest_text(&suggest, "", nearest));
}

int format_check(const char *format, format_known *known, void *context, struct metron_error *error)
{
    struct reader reader = {.format = format, .error = error};
    struct strbuf literal = STRBUF_INIT;
    struct field field;
    int result;

    while ((result = read_piece(&reader, &field, &literal)) > 0) {
        if (result == 1) {
            result = check_key(field.key, known, context, error);
            if (result < 0)
                break;
        }
    }
    strbuf_fini(&literal);
    return result;
}
