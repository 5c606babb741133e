/*
 * The fields of a recording while they are gathered: which are wanted, and the list that grows.
 *
 * Most of what stands in an info.json is not wanted when thousands are listed, so the question "is this name
 * wanted?" has to be cheap: a small filter of hashes says no to nearly all.
 */
#ifndef METRON_STORE_RECORDING_FIELDS_H
#define METRON_STORE_RECORDING_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_reader.h"
#include "schema/recording.h"

/* A recording has not more fields, and not more keys. */
#define RECORDING_FIELDS_MAX 4096

struct field_wish {
    const char *const *names;  /* NULL-terminated; NULL: all. Borrowed */
    const char *const *always; /* NULL-terminated: wanted in any case. Borrowed */
    uint64_t filter[4];        /* a bit for each hash that is wanted */
};

struct field_mark {
    uint32_t hash;   /* of the name */
    bool in_summary; /* stood in execution_summary */
};

struct field_list {
    struct recorded_field *items; /* owned; texts are in the arena */
    struct field_mark *marks;     /* owned; of each item */
    size_t count, item_capacity, mark_capacity;
    struct arena *arena; /* borrowed */
    bool too_many, no_memory;
};

void field_wish_init(struct field_wish *wish, const char *const *names, const char *const *always);
bool field_wish_takes(const struct field_wish *wish, const char *name, size_t length);
/* Whether something below this path ("headline" of "headline.processes.value") is wanted. */
bool field_wish_takes_below(const struct field_wish *wish, const char *path, size_t length);
/* Whether the caller asked for it, be it wanted in any case or not. */
bool field_wish_names(const struct field_wish *wish, const char *name);

/* NULL: there is none of this kind. */
const struct recorded_field *field_list_find(const struct field_list *list, const char *name,
                                             enum field_kind kind);
const char *field_list_text(const struct field_list *list, const char *name);
/* Takes the value that stands next under this name (not ended by NUL); null is passed over, arrays and
 * objects are kept as they stand. A name that is there already has the new value then. */
void field_list_read(struct field_list *list, struct json_reader *json, const char *name, size_t length,
                     bool in_summary);
/* Adds a field whose texts live as long as the arena. */
void field_list_add(struct field_list *list, const struct recorded_field *field);
void field_list_fini(struct field_list *list);

#endif
