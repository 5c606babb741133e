/*
 * The one measure of memory that every recording has, of metron and of con-duct: the largest sum of resident
 * memory over the processes that a sample saw. Peaks that were taken from keys of which the other side has
 * none can still be compared by it.
 */
#ifndef METRON_LEARN_RESIDENT_H
#define METRON_LEARN_RESIDENT_H

#include <stddef.h>

#include "schema/recording.h"

struct resident {
    const char *key_now, *key_before; /* what it is called there, of the first that has it; NULL: none has */
    double now;                       /* if key_now */
    double *past;                     /* owned */
    size_t count, capacity;
};

void resident_init(struct resident *resident, const struct recording *now);
/* 0 or -ENOMEM. */
int resident_add(struct resident *resident, const struct recording *earlier);
void resident_fini(struct resident *resident);

#endif
