/*
 * Growable byte strings. Memory doubles, so that a chain of appends costs what its bytes cost; a size that
 * would overflow counts as an allocation that failed. After a failure the content stays as it was and later
 * appends are dropped until strbuf_reset, so that no half of a text is ever taken for the whole.
 */
#include "base/strbuf.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FORMATTED 64 /* bytes; few formats make more */

void strbuf_fini(struct strbuf *buffer)
{
    free(buffer->data);
    *buffer = (struct strbuf)STRBUF_INIT;
}

void strbuf_fini_part(struct strbuf *part, struct strbuf *whole)
{
    whole->failed |= part->failed;
    strbuf_fini(part);
}

void strbuf_reset(struct strbuf *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

int strbuf_reserve(struct strbuf *buffer, size_t extra)
{
    if (buffer->failed)
        return -ENOMEM;
    if (extra >= SIZE_MAX - buffer->length)
        goto failed;

    if (ARRAY_RESERVE(buffer->data, buffer->capacity, buffer->length + extra + 1) < 0)
        goto failed;
    buffer->data[buffer->length] = '\0';
    return 0;

failed:
    buffer->failed = true;
    return -ENOMEM;
}

void strbuf_add(struct strbuf *buffer, const void *bytes, size_t length)
{
    if (strbuf_reserve(buffer, length) < 0)
        return;
    if (length > 0)
        memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void strbuf_adds(struct strbuf *buffer, const char *text)
{
    strbuf_add(buffer, text, strlen(text));
}

void strbuf_addc(struct strbuf *buffer, char byte)
{
    strbuf_add(buffer, &byte, 1);
}

void strbuf_vaddf(struct strbuf *buffer, const char *format, va_list arguments)
{
    if (strbuf_reserve(buffer, FORMATTED) < 0)
        return;

    va_list again;
    size_t room = buffer->capacity - buffer->length;

    va_copy(again, arguments);
    /* The caller has started `arguments`; the analyser does not see it.
     * NOLINTNEXTLINE(*-valist.Uninitialized) */
    int length = vsnprintf(buffer->data + buffer->length, room, format, arguments);

    if (length >= 0 && (size_t)length >= room) {
        buffer->data[buffer->length] = '\0';
        if (strbuf_reserve(buffer, (size_t)length) < 0)
            length = -1;
        else
            length = vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
    }
    va_end(again);

    if (length < 0) {
        buffer->failed = true;
        buffer->data[buffer->length] = '\0';
        return;
    }
    buffer->length += (size_t)length;
}

void strbuf_addf(struct strbuf *buffer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    strbuf_vaddf(buffer, format, arguments);
    va_end(arguments);
}

const char *strbuf_text(const struct strbuf *buffer)
{
    return buffer->data ? buffer->data : "";
}
