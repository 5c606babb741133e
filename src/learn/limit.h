/*
 * Limits on what may change between runs: 'peak_memory > +10%, wall > +30s, exit_code != 0'.
 *
 * LIMITS are separated by commas. Each is a field, one of > >= < <= == !=, and an amount (store/quantity.h).
 * With a sign the amount is relative to the run (or the median of the runs) before: +10% is a tenth more,
 * -1GiB so much less. Without one it is absolute. The limit is passed if what it says holds.
 */
#ifndef METRON_LEARN_LIMIT_H
#define METRON_LEARN_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/units.h"
#include "store/quantity.h"
#include "store/relation.h"

enum { LIMIT_FIELD_SIZE = 128, LIMIT_TEXT_SIZE = 192, LIMITS_MAX = 64, LIMITS_LENGTH_MAX = 8192 };

struct limit {
    char text[LIMIT_TEXT_SIZE]; /* as it was written, blanks around it aside */
    char field[LIMIT_FIELD_SIZE];
    enum relation relation;
    bool relative;
    struct quantity amount; /* of a relative one with its sign; a share is in percent */
};

struct limits {
    struct limit items[LIMITS_MAX];
    size_t count;
};

/* What is compared; `unit` is the field's. */
struct limit_numbers {
    enum unit unit;
    bool has_before, has_now;
    double before, now;
};

enum limit_result { LIMIT_KEPT, LIMIT_PASSED, LIMIT_NOT_JUDGED };

/* 0; -EINVAL with the place in the text (bytes from its start) in *place. */
int limits_parse(const char *text, struct limits *out, size_t *place, struct metron_error *error);
/* LIMIT_NOT_JUDGED: `reason` has why. */
enum limit_result limit_judge(const struct limit *limit, const struct limit_numbers *numbers,
                              struct metron_error *reason);

#endif
