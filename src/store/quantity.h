/*
 * Amounts as people write them: 2GiB, 1.5 GB, 1h30m, 2 min, 350ms, 10%, 12MiB/s, 1e6.
 *
 * Sizes: B; K M G T P (also k g t p, Ki, KiB, kib, …) by 1024, as most tools of this system have them; kB KB
 * MB GB TB PB (and kb, …) by 1000. `m` is minutes and `M` MiB. Times: ns us ms s min m h d w and their words,
 * also several of them one after the other. A size with /s behind is a rate.
 */
#ifndef METRON_STORE_QUANTITY_H
#define METRON_STORE_QUANTITY_H

#include <stdbool.h>

#include "base/units.h"

struct quantity {
    double value;   /* bytes, seconds, bytes per second, percent, or the plain number */
    enum unit unit; /* UNIT_BYTES, UNIT_SECONDS, UNIT_BYTES_PER_SECOND, UNIT_PERCENT; UNIT_NONE: plain */
};

/* The amount at `at`: returns what is behind it, NULL if there is none. Of what follows after a blank only a
 * unit is taken. */
const char *quantity_scan(const char *at, const char *end, struct quantity *out);
/* The same if the whole text, blanks around it aside, is one. */
bool quantity_parse(const char *text, struct quantity *out);

#endif
