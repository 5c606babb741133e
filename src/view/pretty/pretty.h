/*
 * JSON for people: a value a line, with an indent of two. Nothing is lost: numbers and strings are as they
 * stand in the file, but for control characters and bytes that are no UTF-8, which a terminal must not get:
 * the former are written \uXXXX, the latter \\xNN, as metron's own files have them.
 *
 * With a function for numbers the result is no JSON any more, but reads like it: "rss": 1.5 GiB. Lines have
 * no comma at their ends then, because numbers have commas within.
 */
#ifndef METRON_VIEW_PRETTY_PRETTY_H
#define METRON_VIEW_PRETTY_PRETTY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json_reader.h"
#include "base/strbuf.h"
#include "base/units.h"

/* The keys that lead to a value, outermost first; arrays have none. */
struct pretty_path {
    const char *names[JSON_DEPTH_MAX];
    size_t count;
};

/* What people write for a number, and what to know about it, to be shown behind it (NULL: nothing). */
struct pretty_text {
    char text[UNIT_TEXT_SIZE];
    const char *note;
};

/* False: the number is shown as it stands. */
typedef bool pretty_number(void *context, const struct pretty_path *path, double number,
                           struct pretty_text *out);
/* Takes what stands in `out` so far and empties it. False: nothing more is wanted. */
typedef bool pretty_flush(void *context, struct strbuf *out);

struct pretty_options {
    bool colors;
    pretty_number *number; /* NULL: all numbers as they stand */
    void *number_context;
    pretty_flush *flush; /* NULL: all stays in `out`. Called now and then, so that `out` stays small */
    void *flush_context;
};

/* Appends a whole value and a newline. 0; -EBADMSG and where: it is no JSON (what came before it is there);
 * -ENOMEM; -ECANCELED: flush said so. */
int pretty_print(struct strbuf *out, const char *bytes, size_t length, const struct pretty_options *options,
                 struct metron_error *error);

#endif
