/*
 * Memory that is given back all at once: what belongs to one report lives in one arena. Resetting keeps the
 * chunks, so that the next report allocates nothing.
 */
#ifndef METRON_BASE_ARENA_H
#define METRON_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
    struct arena_chunk *first;   /* owned */
    struct arena_chunk *current; /* the one being filled */
    size_t chunk_bytes;          /* at least so many at once; 0: 64 KiB */
};

void *arena_alloc(struct arena *arena,
                  size_t size); /* zeroed, aligned for any type; NULL for want of memory */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_copy(struct arena *arena, const char *bytes, size_t length); /* ended by NUL */
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(struct arena *arena);
/* The same, but one that holds far more than it handed out is given back: the next report is as small. */
void arena_recycle(struct arena *arena);
/* Bytes handed out since the last reset, and bytes of memory that it holds for them. */
size_t arena_used(const struct arena *arena);
size_t arena_held(const struct arena *arena);
void arena_fini(struct arena *arena);

#endif
