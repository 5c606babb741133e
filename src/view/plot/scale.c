#include "view/plot/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MINUTE 60.0
#define HOUR   3600.0
#define DAY    86400.0

/* The smallest of 1, 2, 5, 10, 20 … (and 0.5, 0.2 …) that is not below `least`. */
static double decimal_step(double least)
{
    static const double parts[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(least)));

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i] * power >= least * (1 - 1e-9))
            return parts[i] * power;
    return 10 * power;
}

static double binary_step(double least)
{
    return least <= 1 ? decimal_step(least) : exp2(ceil(log2(least) - 1e-9));
}

static double time_step(double least)
{
    static const double steps[] = {1,   2,   5,    10,   15,       30,       MINUTE,   120,      300,
                                   600, 900, 1800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR};

    if (least < 1)
        return decimal_step(least);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i] >= least * (1 - 1e-9))
            return steps[i];
    return DAY * decimal_step(fmax(least / DAY, 1));
}

static double step_of(enum unit unit, double least)
{
    switch (unit) {
    case UNIT_BYTES:
        return binary_step(fmax(least, 1)); /* half a byte is none */
    case UNIT_BYTES_PER_SECOND:
        return binary_step(least);
    case UNIT_SECONDS:
        return time_step(least);
    case UNIT_COUNT:
        return decimal_step(fmax(least, 1)); /* nor half a process */
    default:
        return decimal_step(least);
    }
}

/* The largest of the units that `high` still fills. */
static void pick_prefix(struct plot_scale *scale, double base, const char *const *names, size_t count)
{
    const double reach = fmax(fabs(scale->low), fabs(scale->high));
    size_t i = 0;

    scale->divisor = 1;
    while (i + 1 < count && reach >= scale->divisor * base) {
        scale->divisor *= base;
        i++;
    }
    scale->unit = names[i];
}

/* By the step, not by the end: ticks every 15 minutes are 0, 15, 30 … 120 minutes, not 0, 0.25 … 2 hours. */
static void pick_time(struct plot_scale *scale)
{
    const double reach = fmax(fabs(scale->low), fabs(scale->high));
    static const struct {
        double from, divisor;
        const char *unit;
    } units[] = {{DAY, DAY, "days"}, {HOUR, HOUR, "hours"}, {MINUTE, MINUTE, "minutes"}, {0, 1, "seconds"}};
    size_t i = 0;

    while (scale->step < units[i].from)
        i++;
    scale->divisor = units[i].divisor;
    scale->unit = units[i].unit;
    if (reach < 1 && scale->step < 1) {
        scale->divisor = 1e-3;
        scale->unit = "milliseconds";
    }
}

static void pick_unit(struct plot_scale *scale, enum unit unit)
{
    static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const char *const rates[] = {"B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s", "EiB/s"};
    static const char *const counts[] = {"", "thousands", "millions", "billions"};
    static const char *const watts[] = {"W", "kW", "MW"};
    static const char *const joules[] = {"J", "kJ", "MJ", "GJ"};

    switch (unit) {
    case UNIT_BYTES:
        pick_prefix(scale, 1024, bytes, 7);
        break;
    case UNIT_BYTES_PER_SECOND:
        pick_prefix(scale, 1024, rates, 7);
        break;
    case UNIT_SECONDS:
        pick_time(scale);
        break;
    case UNIT_COUNT:
        pick_prefix(scale, 1000, counts, 4);
        break;
    case UNIT_WATTS:
        pick_prefix(scale, 1000, watts, 3);
        break;
    case UNIT_JOULES:
        pick_prefix(scale, 1000, joules, 4);
        break;
    default:
        scale->divisor = 1;
        scale->unit = unit == UNIT_PERCENT ? "%" : unit == UNIT_CELSIUS ? "°C" : "";
        break;
    }
}

/* As many as the step needs to be told apart. */
static int decimals_of(double step)
{
    for (int decimals = 0; decimals < 9; decimals++) {
        const double scaled = step * pow(10, decimals);
        if (fabs(scaled - round(scaled)) < 1e-6 * scaled)
            return decimals;
    }
    return 9;
}

void plot_scale_init(struct plot_scale *scale, enum unit unit, double low, double high, size_t most_ticks)
{
    const double room = (double)(most_ticks < 2                ? 2
                                 : most_ticks > PLOT_TICKS_MAX ? PLOT_TICKS_MAX
                                                               : most_ticks);

    if (!isfinite(low))
        low = 0;
    if (!isfinite(high) || high <= low)
        high = low + 1;
    *scale = (struct plot_scale){.low = low, .high = high};
    double count;
    double least = (high - low) / room;
    do {
        scale->step = step_of(unit, least);
        scale->first = ceil(low / scale->step - 1e-9) * scale->step;
        count = floor((high - scale->first) / scale->step + 1e-9) + 1;
        least = scale->step * 1.01;
    } while (count > room);
    scale->tick_count = count > 0 ? (size_t)count : 0;
    pick_unit(scale, unit);
    scale->decimals = decimals_of(scale->step / scale->divisor);
}

double plot_scale_tick(const struct plot_scale *scale, size_t index)
{
    return scale->first + (double)index * scale->step;
}

char *plot_scale_label(const struct plot_scale *scale, size_t index, char out[PLOT_LABEL_SIZE])
{
    const double value = plot_scale_tick(scale, index) / scale->divisor;

    if (fabs(value) < 1e-9 * scale->step / scale->divisor)
        (void)snprintf(out, PLOT_LABEL_SIZE, "0");
    else if (fabs(value) >= 1e7)
        (void)snprintf(out, PLOT_LABEL_SIZE, "%.4g", value);
    else
        (void)snprintf(out, PLOT_LABEL_SIZE, "%.*f", scale->decimals, value);
    return out;
}

double plot_scale_place(const struct plot_scale *scale, double value)
{
    return (value - scale->low) / (scale->high - scale->low);
}
