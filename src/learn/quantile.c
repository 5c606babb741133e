#include "learn/quantile.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

void quantile_sort(double *values, size_t count)
{
    if (count > 1)
        qsort(values, count, sizeof(*values), by_size);
}

/* Between two values, exact at both ends and where they are equal. */
static double between(double low, double high, double share)
{
    if (low == high || share <= 0)
        return low;
    return low * (1 - share) + high * share; /* their difference may be too large for a double */
}

double quantile_sorted(const double *sorted, size_t count, double share)
{
    if (share <= 0 || count == 1)
        return sorted[0];
    if (share >= 1)
        return sorted[count - 1];
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;

    if (below + 1 >= count)
        return sorted[count - 1];
    return between(sorted[below], sorted[below + 1], place - (double)below);
}

double quantile_reached(const double *sorted, size_t count, double share)
{
    double rank = ceil(share * (double)count - 1e-9); /* no rank more for the last bit of a product */

    return sorted[rank > 1 ? (size_t)rank - 1 : 0];
}

double quantile_median(const double *sorted, size_t count)
{
    return quantile_sorted(sorted, count, 0.5);
}

/*
 * The distances grow to both sides of the median, so the values themselves are two sorted lists of them: they
 * are merged until the middle is reached, and nothing is allocated.
 */
double quantile_mad(const double *sorted, size_t count)
{
    double median = quantile_median(sorted, count);
    double before = 0, distance = 0;
    size_t high = 0, low;

    while (high < count && sorted[high] < median)
        high++;
    low = high; /* sorted[low - 1] is the next on the left */
    for (size_t taken = 0; taken <= count / 2; taken++) {
        double left = low > 0 ? median - sorted[low - 1] : 0;
        double right = high < count ? sorted[high] - median : 0;
        before = distance;
        if (high == count || (low > 0 && left < right)) {
            distance = left;
            low--;
        } else {
            distance = right;
            high++;
        }
    }
    return count % 2 ? distance : between(before, distance, 0.5);
}
