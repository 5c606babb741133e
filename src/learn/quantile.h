/*
 * Order statistics of plain numbers: quantiles, the median, and the median's own measure of noise.
 *
 * Quantiles are interpolated linearly between the two nearest values (Hyndman and Fan's type 7), as Python's
 * statistics.quantiles(method="inclusive") and numpy.quantile have them: the smallest value is the quantile
 * at 0, the largest the one at 1. Values must be finite.
 */
#ifndef METRON_LEARN_QUANTILE_H
#define METRON_LEARN_QUANTILE_H

#include <stddef.h>

/* Turns a median absolute deviation into what a standard deviation would be, were the noise Gaussian. */
#define QUANTILE_MAD_SCALE 1.4826

/* Smallest first, in place. */
void quantile_sort(double *values, size_t count);
/* Of sorted values, at least one; `share` from 0 to 1. */
double quantile_sorted(const double *sorted, size_t count, double share);
/* The smallest of them that at least that share of them does not exceed; not interpolated. */
double quantile_reached(const double *sorted, size_t count, double share);
double quantile_median(const double *sorted, size_t count);
/* The median of the distances from the median (not scaled): half of the values lie within it, whatever the
 * others do. */
double quantile_mad(const double *sorted, size_t count);

#endif
