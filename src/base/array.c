#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 64
#define FIRST_ITEMS 8

/* The pointer is copied: it has a type of its own, which a void ** may not stand for. */
static int resize(void *items, size_t item_size, size_t *capacity, size_t wanted)
{
    void *before, *after;
    size_t bytes;

    if (__builtin_mul_overflow(wanted, item_size, &bytes))
        return -ENOMEM;
    memcpy(&before, items, sizeof(before));
    after = realloc(before, bytes);
    if (!after)
        return -ENOMEM;
    memcpy(items, &after, sizeof(after));
    *capacity = wanted;
    /* cppcheck-suppress memleak ; `items` has it now */
    return 0;
}

int array_grow(void *items, size_t item_size, size_t *capacity, size_t wanted)
{
    size_t larger = *capacity * 2;

    if (larger < FIRST_BYTES / item_size)
        larger = FIRST_BYTES / item_size;
    if (larger < FIRST_ITEMS)
        larger = FIRST_ITEMS;
    return resize(items, item_size, capacity, wanted > larger ? wanted : larger);
}

int array_refit(void *items, size_t item_size, size_t *capacity, size_t wanted)
{
    return resize(items, item_size, capacity, wanted < SIZE_MAX / 2 ? wanted + wanted / 4 + 1 : wanted);
}
