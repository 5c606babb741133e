#include "view/wrap.h"

#include <string.h>

#include "view/text_width.h"

/* Columns of the first `length` bytes: colours take none. */
static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;

    while (length > 0) {
        const char *color = memchr(text, '\033', length);
        size_t plain = color ? (size_t)(color - text) : length;

        columns += text_width(text, plain);
        while (plain < length && text[plain++] != 'm')
            ;
        text += plain;
        length -= plain;
    }
    return columns;
}

static void wrap_line(struct strbuf *out, const char *line, size_t length, size_t indent, size_t width)
{
    size_t column = 0, at = 0;

    while (at < length) {
        size_t spaces = strspn(line + at, " ");
        size_t word = strcspn(line + at + spaces, " \n");
        size_t columns = columns_of(line + at + spaces, word);
        if (column > indent && column + spaces + columns > width) {
            strbuf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else {
            strbuf_add(out, line + at, spaces);
            column += spaces;
        }
        strbuf_add(out, line + at + spaces, word);
        column += columns;
        at += spaces + word;
    }
}

void wrap_lines(struct strbuf *out, const char *text, size_t indent, size_t width)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (width > indent && columns_of(text, length) > width)
            wrap_line(out, text, length, indent, width);
        else
            strbuf_add(out, text, length);
        text += length;
        if (*text == '\n') {
            strbuf_addc(out, '\n');
            text++;
        }
    }
}
