/*
 * Format strings, as --summary-format takes them: text with {key}, {key:.2f}, {key!S}, {key!S:>10}; {{ and }}
 * are braces; \n, \t and \\ are what they are in C, because a newline is hard to type in a shell.
 *
 * Conversions: !S a human size (of bytes), !E an exit code (green 0, red else), !X green if true, !N green if
 * there; red else. Formats are Python's, in part: [[fill]align][0][width][,][.precision][d f e g % s].
 */
#ifndef METRON_VIEW_FORMAT_H
#define METRON_VIEW_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

enum format_kind { FORMAT_ABSENT, FORMAT_NUMBER, FORMAT_TEXT, FORMAT_BOOLEAN };

struct format_value {
    enum format_kind kind;
    double number;    /* of a number; 0 or 1 of a boolean */
    const char *text; /* of a text; borrowed until the next lookup */
};

/* Finds the value of a key. False: there is no such key, which is shown as an absent value is, "-". */
typedef bool format_lookup(void *context, const char *key, struct format_value *out);
/* The known key at `index`, from 0; NULL past the last. */
typedef const char *format_known(void *context, size_t index);

/* Whether a format can be rendered: 0, or -EINVAL with the position (from 1) of what is malformed, or the
 * unknown key and the nearest known ones. */
int format_check(const char *format, format_known *known, void *context, struct metron_error *error);

/* Appends the format filled in. Text values are made printable. -EINVAL: malformed (what came before is
 * there), -ENOMEM. */
int format_render(struct strbuf *out, const char *format, format_lookup *lookup, void *context, bool colors);

#endif
