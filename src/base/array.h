/*
 * Growable arrays. The struct that has one holds a pointer to its items, the number in use and the capacity:
 * the number that there is memory for. All begin as 0, and free() releases the items.
 *
 *     if (ARRAY_RESERVE(list->items, list->capacity, list->count + 1) < 0)
 *         return -ENOMEM;
 *     list->items[list->count++] = item;
 *
 * The macros take the variables themselves and change them. On -ENOMEM, also where the size would overflow,
 * the array is as it was.
 */
#ifndef METRON_BASE_ARRAY_H
#define METRON_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Makes room for `wanted` items, and for as many again: adding one after the other costs little. 0 or
 * -ENOMEM.
 */
#define ARRAY_RESERVE(items, capacity, wanted)                                                               \
    ((wanted) <= (capacity) ? 0 : array_grow(&(items), sizeof(*(items)), &(capacity), (wanted)))

/* Makes room for `wanted` items and few more, and gives back what an array that was far longer took. 0 or
 * -ENOMEM. */
#define ARRAY_FIT(items, capacity, wanted)                                                                   \
    ((wanted) <= (capacity) && !capacity_is_spare((capacity), (wanted))                                      \
         ? 0                                                                                                 \
         : array_refit(&(items), sizeof(*(items)), &(capacity), (wanted)))

/* Whether there is room for far more items than are in use. Far: it does not grow and shrink by turns. */
static inline bool capacity_is_spare(size_t capacity, size_t used)
{
    return capacity > 4 * used + 1024;
}

/* For the macros. `items` is where the pointer is. */
int array_grow(void *items, size_t item_size, size_t *capacity, size_t wanted);
int array_refit(void *items, size_t item_size, size_t *capacity, size_t wanted);

#endif
