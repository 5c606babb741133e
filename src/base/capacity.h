/*
 * Tables that grow with a crowd of processes, and give the room back once it has gone.
 */
#ifndef METRON_BASE_CAPACITY_H
#define METRON_BASE_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a table has room for far more entries than are in use. Far: it does not grow and shrink by turns.
 */
static inline bool capacity_is_spare(size_t capacity, size_t used)
{
    return capacity > 4 * used + 1024;
}

#endif
