/*
 * The units of the numbers in a file of a recorded run, from the registry of that run: for pretty.h.
 */
#ifndef METRON_VIEW_PRETTY_UNITS_H
#define METRON_VIEW_PRETTY_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "schema/recording.h"
#include "view/pretty/pretty.h"

struct pretty_unit {
    const char *name; /* borrowed from the recording */
    enum unit unit;
    const char *note; /* what to know about it; NULL: nothing, or it was told */
};

struct pretty_units {
    struct recording recording;
    bool is_info;              /* the file is the info.json itself, not one beside it */
    struct pretty_unit *units; /* owned; by name: fields of info.json, or keys of a record */
    size_t count;
};

/* `bytes` is the first value of the file. If it is an info.json, it has the registry; else the one that lies
 * beside `path` is read (NULL: there is none). On failure *out is empty, and nothing has a unit. */
int pretty_units_init(struct pretty_units *out, const char *path, const char *bytes, size_t length,
                      struct metron_error *error);
void pretty_units_fini(struct pretty_units *units);

/* A pretty_number; the context is a struct pretty_units. A note is told once, where its key comes first. */
bool pretty_units_number(void *context, const struct pretty_path *path, double number,
                         struct pretty_text *out);

#endif
