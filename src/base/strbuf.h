/*
 * A growable byte string. It is always NUL-terminated, may hold NUL bytes, and remembers a failed
 * allocation (`failed`), so that a long chain of appends needs one check at its end.
 */
#ifndef METRON_BASE_STRBUF_H
#define METRON_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct strbuf {
    char *data;      /* owned; never NULL after the first append that succeeded */
    size_t length;   /* bytes used, without the NUL */
    size_t capacity; /* bytes allocated */
    bool failed;     /* an append was dropped for want of memory */
};

#define STRBUF_INIT                                                                                          \
    {                                                                                                        \
        0                                                                                                    \
    }

void strbuf_fini(struct strbuf *buffer); /* frees; safe on STRBUF_INIT and twice */
/* Frees a part whose text went into a whole: a part that ran out of memory makes the whole fail, too. */
void strbuf_fini_part(struct strbuf *part, struct strbuf *whole);
void strbuf_reset(struct strbuf *buffer);                /* empties, keeps the memory, clears `failed` */
int strbuf_reserve(struct strbuf *buffer, size_t extra); /* 0 or -ENOMEM (also sets failed) */
void strbuf_add(struct strbuf *buffer, const void *bytes, size_t length);
void strbuf_adds(struct strbuf *buffer, const char *text);
void strbuf_addc(struct strbuf *buffer, char byte);
void strbuf_addf(struct strbuf *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *buffer, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
const char *strbuf_text(const struct strbuf *buffer); /* never NULL; "" when empty */

#endif
