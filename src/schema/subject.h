/*
 * Whom a reading is about: a process or a device. A pid alone is no identity: a reused one is another
 * subject, with another serial.
 */
#ifndef METRON_SCHEMA_SUBJECT_H
#define METRON_SCHEMA_SUBJECT_H

#include <stdint.h>
#include <stdio.h>

#define SUBJECT_FIRST_DEVICE (UINT64_C(1) << 63) /* serials of devices begin where no process gets to */

struct subject {
    uint64_t serial;      /* unique in a run, never reused; from 1 */
    int32_t id;           /* pid or device index */
    uint32_t incarnation; /* 1 for the first process of this pid in the run, then 2, … */
    uint64_t born_ns;     /* monotonic start, may be below 0 (clock_elapsed_ns); 0 if it is not known */
};

static inline struct subject subject_of_device(unsigned index)
{
    return (struct subject){.serial = SUBJECT_FIRST_DEVICE + index, .id = (int32_t)index, .incarnation = 1};
}

#define SUBJECT_NAME_SIZE 24
/* "4711", or "4711#2" for a pid used again. Returns out. */
static inline char *subject_name(const struct subject *subject, char out[SUBJECT_NAME_SIZE])
{
    if (subject->incarnation > 1)
        (void)snprintf(out, SUBJECT_NAME_SIZE, "%d#%u", (int)subject->id, (unsigned)subject->incarnation);
    else
        (void)snprintf(out, SUBJECT_NAME_SIZE, "%d", (int)subject->id);
    return out;
}

#endif
