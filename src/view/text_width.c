#include "view/text_width.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* Of the Unicode tables the blocks that matter; what is missing here is one column wide. */
static const struct {
    uint32_t first, last;
    size_t width;
} blocks[] = {
    {0x0300, 0x036F, 0},   /* combining marks */
    {0x1100, 0x115F, 2},   /* Hangul */
    {0x200B, 0x200F, 0},   /* joiners, directions */
    {0x20D0, 0x20FF, 0},   /* combining marks for symbols */
    {0x2E80, 0x303E, 2},   /* CJK radicals, punctuation */
    {0x3041, 0x33FF, 2},   /* kana, CJK compatibility */
    {0x3400, 0x4DBF, 2},   /* CJK */
    {0x4E00, 0x9FFF, 2},   /* CJK */
    {0xA000, 0xA4CF, 2},   /* Yi */
    {0xAC00, 0xD7A3, 2},   /* Hangul */
    {0xF900, 0xFAFF, 2},   /* CJK compatibility */
    {0xFE00, 0xFE0F, 0},   /* variation selectors */
    {0xFE30, 0xFE6F, 2},   /* CJK compatibility forms */
    {0xFF00, 0xFF60, 2},   /* fullwidth forms */
    {0xFFE0, 0xFFE6, 2},   /* fullwidth signs */
    {0x1F300, 0x1F64F, 2}, /* pictographs */
    {0x1F680, 0x1F6FF, 2}, /* transport */
    {0x1F900, 0x1FAFF, 2}, /* more pictographs */
    {0x20000, 0x3FFFD, 2}, /* CJK */
};

/* The character at `text` and how many bytes it has; one that is no UTF-8 is one byte and one column. */
static size_t step(const char *text, size_t length, size_t *width)
{
    size_t bytes = text_utf8_length(text, length);

    *width = 1;
    if (bytes < 2)
        return 1;
    uint32_t character = text_character(text, bytes);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]) && character >= blocks[i].first; i++)
        if (character <= blocks[i].last)
            *width = blocks[i].width;
    return bytes;
}

size_t text_width(const char *text, size_t length)
{
    size_t columns = 0, width;

    for (size_t at = 0; at < length; columns += width)
        at += step(text + at, length - at, &width);
    return columns;
}

size_t text_head(const char *text, size_t length, size_t columns)
{
    size_t at = 0, width;

    while (at < length) {
        size_t bytes = step(text + at, length - at, &width);
        if (width > columns)
            break;
        columns -= width;
        at += bytes;
    }
    return at;
}

size_t text_fit(struct strbuf *out, const char *text, size_t length, size_t width)
{
    /* What tells texts apart that begin alike mostly stands at their end. */
    return text_fit_tail(out, text, length, width, width >= 10 ? width / 3 : 0);
}

size_t text_fit_tail(struct strbuf *out, const char *text, size_t length, size_t width, size_t tail)
{
    size_t columns = text_width(text, length), each;

    if (columns <= width) {
        strbuf_add(out, text, length);
        return columns;
    }
    if (width == 0)
        return 0;
    size_t head = text_head(text, length, width - 1 - tail);
    size_t taken = text_width(text, head), from = head, rest = columns - taken;
    /* Without a tail what has no width goes as well. */
    while ((rest > tail || tail == 0) && from < length) {
        from += step(text + from, length - from, &each);
        rest -= each;
    }
    strbuf_add(out, text, head);
    strbuf_adds(out, "…");
    strbuf_add(out, text + from, length - from);
    return taken + 1 + rest;
}
