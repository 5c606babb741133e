/*
 * The signs that compare an amount with a bound, as filters and limits write them: == (or =) != < <= > >=.
 */
#ifndef METRON_STORE_RELATION_H
#define METRON_STORE_RELATION_H

#include <stdbool.h>

enum relation {
    RELATION_EQUAL,
    RELATION_DIFFERENT,
    RELATION_BELOW,
    RELATION_AT_MOST,
    RELATION_ABOVE,
    RELATION_AT_LEAST,
};

/* The sign at `at`: returns what is behind it, NULL if there is none. */
const char *relation_scan(const char *at, const char *end, enum relation *out);
/* Whether it holds of two whose order is below 0, 0 or above 0, as strcmp has it. */
bool relation_holds(enum relation relation, int order);
/* Whether it asks which of both is larger. */
bool relation_is_ordered(enum relation relation);

#endif
