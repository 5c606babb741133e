/*
 * Quantities for people. Inside metron everything is bytes, seconds and plain counts; these make the text at
 * the edge.
 */
#ifndef METRON_BASE_UNITS_H
#define METRON_BASE_UNITS_H

#include "base/strbuf.h"

enum unit {
    UNIT_NONE,
    UNIT_BYTES,
    UNIT_SECONDS,
    UNIT_PERCENT, /* held as a fraction or as cores; 100 x that is printed: see unit_edge */
    UNIT_COUNT,
    UNIT_BYTES_PER_SECOND,
    UNIT_CELSIUS,
    UNIT_WATTS,
    UNIT_JOULES,
};

#define UNIT_TEXT_SIZE 48
#define MEBIBYTE       1048576.0

const char *unit_name(enum unit unit); /* "bytes", "seconds", "bytes_per_second", "none" … */
/* The number as records show it: percent is 100 x the inner value, all others unchanged. */
double unit_edge(enum unit unit, double value);
/* "1.5 GiB", "2 h 05 min", "12.3 s", "350 ms", "98.2 %", "1,234", "3.1 MiB/s"; `value` is the edge value.
 * Returns out. */
char *unit_human(enum unit unit, double value, char out[UNIT_TEXT_SIZE]);
/* Appends the same with a text on either side. */
void unit_add(struct strbuf *out, const char *before, enum unit unit, double value, const char *after);

#endif
