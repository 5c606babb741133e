/*
 * The table of numbers in metron diff: what was before, its noise, what is now, and the change.
 */
#ifndef METRON_VIEW_DIFF_ROWS_H
#define METRON_VIEW_DIFF_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "learn/comparison.h"

struct diff_rows {
    bool history; /* the noise is known: it has a column */
    bool marks;   /* * before what changed; else all of them did */
    bool colors;
    const struct comparison_field *const *fields; /* borrowed */
    size_t count;
};

void diff_rows_print(struct strbuf *out, const struct diff_rows *rows, size_t width);

/* A number as people read it; counts and numbers without a unit are not shortened. Returns out. */
char *diff_amount(enum unit unit, double value, char out[UNIT_TEXT_SIZE]);
/* Between half and double in percent, beyond that as a factor: "+12.3 %", "x 25", "÷ 17.2", "x 10^7"; "from
 * 0", "to 0". A percentage changes by points: "+9.9 points". What is below 0 by its difference. Returns out.
 */
char *diff_change(enum unit unit, double before, double now, char out[UNIT_TEXT_SIZE]);

#endif
