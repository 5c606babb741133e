/*
 * Whether a number lies outside the noise of past ones. Arithmetic over plain numbers.
 *
 * With three past values or more the noise is known: it is their median absolute deviation, which a few
 * outliers do not move. A number is outside if it is neither between the smallest and the largest of them,
 * nor within some deviations of their median (3, and more where few values tell little of the noise: 12 of
 * three values, 6 of five, 4.1 of ten; of numbers that did not change, 7 % are then called changed with three
 * values, 4 % with five, 2 % with eight), nor within 2 % of it, nor within the floor of its unit.
 *
 * With fewer there is no knowing: a number is outside if it differs by more than 5 % and by more than the
 * floor.
 */
#ifndef METRON_LEARN_CHANGE_H
#define METRON_LEARN_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/units.h"

#define CHANGE_SHARE_KNOWN   0.02 /* of the median, where the noise is known */
#define CHANGE_SHARE_UNKNOWN 0.05 /* where it is not */
enum { CHANGE_ENOUGH = 3 };       /* values that tell of noise */

struct change {
    double before; /* the median of the past values */
    double now;
    double noise;           /* robust deviation of the past values; 0 where it is not known */
    double lowest, highest; /* of the past values */
    double allowed;         /* so far from `before` it may be */
    double distance;        /* how far it is, in times of `allowed`: above 1 is outside, as a rule */
    size_t past;            /* how many past values */
    bool noise_known, outside;
};

/* `sorted` are the past values, at least one, all finite. */
void change_judge(enum unit unit, const double *sorted, size_t count, double now, struct change *out);
/* How many robust deviations are noise, of so many past values; at least CHANGE_ENOUGH. */
double change_deviations(size_t count);

#endif
