#include "learn/change.h"

#include <math.h>

#include "base/units.h"
#include "learn/quantile.h"

/* Differences up to this are dust. */
static double floor_of(enum unit unit)
{
    switch (unit) {
    case UNIT_BYTES:
        return MEBIBYTE;
    case UNIT_BYTES_PER_SECOND:
        return 65536;
    case UNIT_SECONDS:
        return 0.01;
    case UNIT_COUNT:
        return 5;
    case UNIT_PERCENT:
    case UNIT_CELSIUS:
    case UNIT_WATTS:
        return 1;
    case UNIT_JOULES:
        return 10;
    case UNIT_NONE:
        return 0.1;
    }
    return 0;
}

/* Values lie in two groups where the machine has two speeds: half of their distances from the median are then
 * nearly as long as the longest, and the median of these is larger than the standard deviation. Where a few
 * values went wild, it is the other way round. */
static double noise_of(const double *sorted, size_t count)
{
    double median = quantile_median(sorted, count), squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += (sorted[i] - median) * (sorted[i] - median);
    return fmin(QUANTILE_MAD_SCALE * quantile_mad(sorted, count), sqrt(squares / (double)(count - 1)));
}

/* Found by simulation with Gaussian noise; see the header for what it gives. */
double change_deviations(size_t count)
{
    return 3 + 9 / ((double)count - 2);
}

void change_judge(enum unit unit, const double *sorted, size_t count, double now, struct change *out)
{
    double median = quantile_median(sorted, count);
    bool known = count >= CHANGE_ENOUGH;
    double dust = fmax((known ? CHANGE_SHARE_KNOWN : CHANGE_SHARE_UNKNOWN) * fabs(median), floor_of(unit));

    *out = (struct change){
        .before = median,
        .now = now,
        .lowest = sorted[0],
        .highest = sorted[count - 1],
        .allowed = dust,
        .past = count,
        .noise_known = known,
    };
    if (known) {
        out->noise = noise_of(sorted, count);
        out->allowed = fmax(dust, change_deviations(count) * out->noise);
    }
    out->distance = fabs(now - median) / out->allowed;
    double beyond = known ? CHANGE_BEYOND : 0;
    /* 1.05 is not more than 5 % above 1, though its last bit is */
    out->outside = out->distance > 1 + 1e-9 && (now < out->lowest - beyond * (median - out->lowest) ||
                                                now > out->highest + beyond * (out->highest - median));
}
