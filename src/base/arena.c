#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, capacity;
    alignas(max_align_t) unsigned char bytes[];
};

#define CHUNK_BYTES ((size_t)64 * 1024)
#define SPARE_BYTES ((size_t)256 * 1024) /* that it may hold besides twice what it handed out */

static struct arena_chunk *chunk_new(size_t size, size_t least)
{
    size_t capacity = size > least ? size : least;
    if (capacity > SIZE_MAX - sizeof(struct arena_chunk))
        return NULL;
    struct arena_chunk *chunk = malloc(sizeof(*chunk) + capacity);
    if (chunk)
        *chunk = (struct arena_chunk){.capacity = capacity};
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + align - 1) / align * align;

    struct arena_chunk **link = &arena->first;
    if (arena->current)
        link = &arena->current;
    while (*link && (*link)->capacity - (*link)->used < size)
        link = &(*link)->next;
    if (!*link && !(*link = chunk_new(size, arena->chunk_bytes ? arena->chunk_bytes : CHUNK_BYTES)))
        return NULL;
    struct arena_chunk *chunk = *link;
    arena->current = chunk;
    void *memory = memset(chunk->bytes + chunk->used, 0, size);
    chunk->used += size;
    return memory;
}

char *arena_copy(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);

    if (copy && length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void arena_reset(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        chunk->used = 0;
    arena->current = arena->first;
}

void arena_recycle(struct arena *arena)
{
    if (arena_held(arena) > 2 * arena_used(arena) + SPARE_BYTES)
        arena_fini(arena);
    else
        arena_reset(arena);
}

size_t arena_used(const struct arena *arena)
{
    size_t used = 0;

    for (const struct arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        used += chunk->used;
    return used;
}

size_t arena_held(const struct arena *arena)
{
    size_t held = 0;

    for (const struct arena_chunk *chunk = arena->first; chunk; chunk = chunk->next)
        held += sizeof(*chunk) + chunk->capacity;
    return held;
}

void arena_fini(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->first, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *arena = (struct arena){.chunk_bytes = arena->chunk_bytes};
}
