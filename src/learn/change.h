/*
 * Whether a number lies outside the noise of past ones. Arithmetic over plain numbers.
 *
 * With three past values or more the noise is known: it is their median absolute deviation, which a few
 * outliers do not move, or their standard deviation where that is less. A number is outside if it is neither
 * between the smallest and the largest of them, nor beyond them by less than a quarter of their distance from
 * the median, nor within some deviations of the median (3, and more where few values tell little of the
 * noise: 12 of three values, 6 of five, 4.1 of ten), nor within 2 % of it, nor within the floor of its unit.
 *
 * Of Gaussian numbers that did not change, 7 % are then called changed with three values, 3 % with five, 2 %
 * with eight, 1 % with nineteen. The quarter is for those that are not Gaussian, as CPU times are on a
 * machine of two speeds: the next one is the largest so far in one of n + 1 cases, whatever their noise.
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
#define CHANGE_BEYOND        0.25 /* of the distance of the farthest past value from their median */
enum { CHANGE_ENOUGH = 3 };       /* values that tell of noise */

struct change {
    double before; /* the median of the past values */
    double now;
    double noise;           /* deviation of the past values; 0 where it is not known */
    double lowest, highest; /* of the past values */
    double allowed;         /* so far from `before` it may be */
    double distance;        /* how far it is, in times of `allowed`: above 1 is outside, as a rule */
    size_t past;            /* how many past values */
    bool noise_known, outside;
};

/* `sorted` are the past values, at least one, all finite. */
void change_judge(enum unit unit, const double *sorted, size_t count, double now, struct change *out);
/* How many deviations are noise, of so many past values; at least CHANGE_ENOUGH. */
double change_deviations(size_t count);

#endif
