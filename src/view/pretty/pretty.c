/*
 * JSON for people. The reader checks, this only copies what lies between its positions: a key or a value is
 * never decoded and encoded again, so it cannot change on the way. Keys are decoded besides where somebody
 * asks for the unit of a number.
 */
#include "view/pretty/pretty.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "view/colors.h"

#define FLUSH_BYTES ((size_t)1 << 16)
#define INDENT      2

#define KEY_COLOR    COLOR_CYAN
#define STRING_COLOR COLOR_GREEN
#define OTHER_COLOR  COLOR_YELLOW
#define NOTE_COLOR   COLOR_DIM

struct printer {
    struct strbuf *out;
    const struct pretty_options *options;
    struct json_reader reader;
    struct strbuf names;            /* the keys of the path, each ended by NUL */
    size_t offsets[JSON_DEPTH_MAX]; /* of each in `names` */
    size_t name_count;
    size_t level;
    bool stopped; /* flush said so */
};

static void colored(struct printer *printer, const char *color, const char *bytes, size_t length)
{
    if (printer->options->colors)
        strbuf_adds(printer->out, color);
    strbuf_add(printer->out, bytes, length);
    if (printer->options->colors)
        strbuf_adds(printer->out, COLOR_END);
}

static void new_line(struct printer *printer)
{
    static const char blanks[INDENT * JSON_DEPTH_MAX + 1] =
        "                                                                "
        "                                                                ";

    strbuf_addc(printer->out, '\n');
    strbuf_add(printer->out, blanks, INDENT * printer->level);
    if (printer->options->flush && printer->out->length >= FLUSH_BYTES && !printer->stopped)
        printer->stopped = !printer->options->flush(printer->options->flush_context, printer->out);
}

/* A string in its quotes as it stands, control characters escaped. C0 cannot stand in it; others can. */
static void add_string(struct printer *printer, const char *color, const char *bytes, size_t length)
{
    struct strbuf *out = printer->out;
    size_t plain = 0;

    if (printer->options->colors)
        strbuf_adds(out, color);
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte >= 0x20 && byte < 0x7F) {
            i++;
            continue;
        }

        size_t sequence = text_utf8_length(bytes + i, length - i);
        uint32_t character = text_character(bytes + i, sequence);
        bool control = sequence > 0 && text_is_control(character);

        if (sequence > 0 && !control) {
            i += sequence;
            continue;
        }
        strbuf_add(out, bytes + plain, i - plain);
        if (control)
            strbuf_addf(out, "\\u%04x", (unsigned)character);
        else
            strbuf_addf(out, "\\\\x%02x", byte);
        i += control ? sequence : 1;
        plain = i;
    }
    strbuf_add(out, bytes + plain, length - plain);
    if (printer->options->colors)
        strbuf_adds(out, COLOR_END);
}

/* -- The path -- */

static void push_name(struct printer *printer, const struct json_text *key)
{
    if (!printer->options->number)
        return;
    printer->offsets[printer->name_count++] = printer->names.length;
    strbuf_add(&printer->names, key->bytes, key->length);
    strbuf_addc(&printer->names, '\0');
}

static void pop_name(struct printer *printer)
{
    if (printer->options->number)
        printer->names.length = printer->offsets[--printer->name_count];
}

/* -- Values -- */

static bool human_number(struct printer *printer, const struct json_text *raw, struct pretty_text *out)
{
    struct json_reader number_reader;
    struct pretty_path path = {.count = printer->name_count};
    double number;

    if (!printer->options->number || printer->names.failed)
        return false;
    json_reader_init(&number_reader, raw->bytes, raw->length);
    if (!json_read_number(&number_reader, &number))
        return false; /* larger than any double: it stays as it stands */
    for (size_t i = 0; i < path.count; i++)
        path.names[i] = printer->names.data + printer->offsets[i];
    return printer->options->number(printer->options->number_context, &path, number, out);
}

static void add_human(struct printer *printer, const struct pretty_text *human)
{
    colored(printer, OTHER_COLOR, human->text, strlen(human->text));
    if (!human->note)
        return;
    strbuf_adds(printer->out, printer->options->colors ? "  " NOTE_COLOR "(" : "  (");
    strbuf_adds(printer->out, human->note);
    strbuf_adds(printer->out, printer->options->colors ? ")" COLOR_END : ")");
}

static void print_scalar(struct printer *printer)
{
    struct json_text raw;
    struct pretty_text human = {.note = NULL};
    enum json_kind kind = json_peek(&printer->reader);

    if (!json_read_raw(&printer->reader, &raw))
        return;
    if (kind == JSON_STRING)
        add_string(printer, STRING_COLOR, raw.bytes, raw.length);
    else if (kind == JSON_NUMBER && human_number(printer, &raw, &human))
        add_human(printer, &human);
    else
        colored(printer, OTHER_COLOR, raw.bytes, raw.length);
}

/* The key in its quotes: before it stand a comma and blanks at most, behind it blanks and the colon. */
static void print_key(struct printer *printer, const char *before)
{
    const char *first = memchr(before, '"', (size_t)(printer->reader.at - before));
    const char *last = printer->reader.at;

    while (*--last != '"')
        ;
    add_string(printer, KEY_COLOR, first, (size_t)(last + 1 - first));
    strbuf_adds(printer->out, ": ");
}

/* -- Objects and arrays -- */

/* A bit a level, the innermost lowest. */
struct levels {
    uint64_t objects; /* it is an object */
    uint64_t filled;  /* it has members */
};

static bool open_level(struct printer *printer, struct levels *levels)
{
    bool object = json_enter_object(&printer->reader);

    if (!object && !json_enter_array(&printer->reader))
        return false;
    strbuf_addc(printer->out, object ? '{' : '[');
    levels->objects = levels->objects << 1 | object;
    levels->filled <<= 1;
    printer->level++;
    return true;
}

static void close_level(struct printer *printer, struct levels *levels)
{
    printer->level--;
    if (levels->filled & 1) {
        new_line(printer);
        if (levels->objects & 1)
            pop_name(printer);
    }
    strbuf_addc(printer->out, levels->objects & 1 ? '}' : ']');
    levels->objects >>= 1;
    levels->filled >>= 1;
}

/* Whether the innermost level has another member; then all that stands before its value is printed. */
static bool next_member(struct printer *printer, struct levels *levels)
{
    const char *before = printer->reader.at;
    bool object = levels->objects & 1, first = !(levels->filled & 1);
    struct json_text key;

    if (object ? !json_next_key(&printer->reader, &key) : !json_next_item(&printer->reader))
        return false;
    if (!first && !printer->options->number)
        strbuf_addc(printer->out, ',');
    if (!first && object)
        pop_name(printer);
    levels->filled |= 1;
    new_line(printer);
    if (object) {
        push_name(printer, &key);
        print_key(printer, before);
    }
    return true;
}

/* The reader holds the levels to JSON_DEPTH_MAX, which is as many as there are bits. */
static void print_value(struct printer *printer)
{
    struct levels levels = {0};

    do {
        if (!open_level(printer, &levels))
            print_scalar(printer);
        while (printer->level > 0 && !next_member(printer, &levels)) {
            if (printer->reader.failed)
                return;
            close_level(printer, &levels);
        }
    } while (printer->level > 0 && !printer->stopped);
}

int pretty_print(struct strbuf *out, const char *bytes, size_t length, const struct pretty_options *options,
                 struct metron_error *error)
{
    struct printer printer = {.out = out, .options = options};

    json_reader_init(&printer.reader, bytes, length);
    print_value(&printer);

    int code = printer.stopped ? -ECANCELED : json_reader_end(&printer.reader, error);

    strbuf_addc(out, '\n');
    if (code == 0 && out->failed)
        code = error_set(error, -ENOMEM, "no memory to print it");
    json_reader_fini(&printer.reader);
    strbuf_fini(&printer.names);
    return code;
}
