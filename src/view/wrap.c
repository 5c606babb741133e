#include "view/wrap.h"

#include <string.h>

/* Columns of the first `length` bytes: continuation bytes of UTF-8 and colours take none. */
static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\033') {
            while (i < length && text[i] != 'm')
                i++;
        } else if (((unsigned char)text[i] & 0xC0) != 0x80) {
            columns++;
        }
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
