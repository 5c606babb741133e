/*
 * Pressure stall information: how long tasks waited for a resource. Bytes in, struct out; the files of the
 * machine (/proc/pressure/cpu) and those of a control group (cpu.pressure) are alike.
 */
#ifndef METRON_PROBE_PRESSURE_H
#define METRON_PROBE_PRESSURE_H

#include <stdbool.h>
#include <stddef.h>

#define PRESSURE_SIZE 512 /* a buffer this long holds every pressure file */

/* Seconds since boot, or since the group was made. */
struct pressure {
    bool has_some, has_full;
    double some_seconds; /* at least one task waited */
    double full_seconds; /* every task that was not idle waited */
};

/* 0, or -EBADMSG if it is not a whole pressure file. */
int pressure_parse(const char *text, size_t length, struct pressure *out);

#endif
