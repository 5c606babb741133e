/*
 * Which samples make up a snapshot, as the text its row has: {"first id": how many more follow it, …}.
 */
#ifndef METRON_STORE_HISTORY_RANGES_H
#define METRON_STORE_HISTORY_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* A set of ids as a bit each, because they lie close together and come in any order. */
struct id_set {
    uint64_t *words; /* owned */
    size_t capacity; /* words allocated */
    size_t count;    /* words in use */
    int64_t base;    /* the id of the first bit */
};

/* Empties it, and makes room for the ids from `first` to `last`. -ENOMEM; -E2BIG: too far apart. */
int id_set_begin(struct id_set *set, int64_t first, int64_t last);
void id_set_add(struct id_set *set, int64_t id); /* one that it has room for */
/* Writes the text (replacing what is there); returns the number of ranges. */
size_t id_set_ranges(const struct id_set *set, struct strbuf *out);
void id_set_fini(struct id_set *set);

/* Reads such a text from outside: calls `visit` for each range (ids from first to last); -EBADMSG. */
int ranges_read(const char *text, size_t length, int (*visit)(void *context, int64_t first, int64_t last),
                void *context);

#endif
