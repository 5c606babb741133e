/*
 * Lines and decimal numbers out of kernel text: no locale, no NUL needed, never past the end.
 *
 * These run for every field of every process at every sample, so they are inline and do nothing else.
 */
#ifndef METRON_PROBE_DIGITS_H
#define METRON_PROBE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The newline that ends the line; NULL: there is none before `end`, because the text is over or cut off. */
static inline const char *line_end_of(const char *line, const char *end)
{
    return line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
}

/* Reads the digits at `at`. Returns where they end, or NULL if there is none before `end`. A number too large
 * for 64 bits becomes UINT64_MAX. */
static inline const char *digits_read(const char *at, const char *end, uint64_t *value)
{
    uint64_t sum = 0;
    const char *start = at;

    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';

        if (digit > 9)
            break;
        if (__builtin_mul_overflow(sum, 10U, &sum) || __builtin_add_overflow(sum, digit, &sum)) {
            sum = UINT64_MAX;
            while (at < end && (unsigned)(unsigned char)*at - '0' <= 9)
                at++;
            break;
        }
    }
    *value = sum;
    return at == start ? NULL : at;
}

/* Writes a number without NUL; returns where it ends. `out` has room for 20 bytes. */
static inline char *digits_write(char *out, uint64_t value)
{
    char reversed[20];
    size_t length = 0;

    do {
        reversed[length++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (length > 0)
        *out++ = reversed[--length];
    return out;
}

#endif
