/*
 * Quantities as people write them: three significant digits and a unit for sizes, two neighbouring units for
 * times. A value that rounds up to the next unit is shown in that unit ("1 GiB", never "1024 MiB").
 */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [UNIT_NONE] = "none",       [UNIT_BYTES] = "bytes", [UNIT_SECONDS] = "seconds",
    [UNIT_PERCENT] = "percent", [UNIT_COUNT] = "count", [UNIT_BYTES_PER_SECOND] = "bytes_per_second",
    [UNIT_CELSIUS] = "celsius", [UNIT_WATTS] = "watts", [UNIT_JOULES] = "joules",
};

const char *unit_name(enum unit unit)
{
    return names[unit];
}

double unit_edge(enum unit unit, double value)
{
    return unit == UNIT_PERCENT ? 100 * value : value;
}

#define DIGITS_SIZE 24

static void trim_zeros(char *digits)
{
    if (!strchr(digits, '.') || strchr(digits, 'e'))
        return;

    size_t length = strlen(digits);

    while (digits[length - 1] == '0')
        length--;
    if (digits[length - 1] == '.')
        length--;
    digits[length] = '\0';
}

/* Three significant digits without trailing zeros; whole numbers up to four digits stay whole. */
static void three_digits(double value, char out[DIGITS_SIZE])
{
    if (value >= 9999.5 || (value != 0 && value < 0.9995))
        (void)snprintf(out, DIGITS_SIZE, "%.3g", value);
    else if (value < 9.995)
        (void)snprintf(out, DIGITS_SIZE, "%.2f", value);
    else if (value < 99.95)
        (void)snprintf(out, DIGITS_SIZE, "%.1f", value);
    else
        (void)snprintf(out, DIGITS_SIZE, "%.0f", value);
    trim_zeros(out);
}

static void scaled(double value, double step, const char *const *suffixes, size_t count,
                   char out[UNIT_TEXT_SIZE])
{
    size_t i = 0;
    char digits[DIGITS_SIZE];

    while (i + 1 < count && value >= step - 0.5) {
        value /= step;
        i++;
    }
    three_digits(value, digits);
    (void)snprintf(out, UNIT_TEXT_SIZE, "%s %s", digits, suffixes[i]);
}

/* "4 min 05 s": the smaller unit always has two digits, so that columns of them compare at a glance. */
static void two_units(long long small_total, int per_large, const char *large, const char *small,
                      char out[UNIT_TEXT_SIZE])
{
    (void)snprintf(out, UNIT_TEXT_SIZE, "%lld %s %02d %s", small_total / per_large, large,
                   (int)(small_total % per_large), small);
}

/* For values below 1e12, without the mathematical library: metron loads as little as it can. */
static long long nearest(double value)
{
    return (long long)(value + 0.5);
}

static void duration(double seconds, char out[UNIT_TEXT_SIZE])
{
    static const char *const below[] = {"ns", "µs", "ms", "s"};
    char digits[DIGITS_SIZE];

    if (seconds == 0) {
        (void)snprintf(out, UNIT_TEXT_SIZE, "0 s");
    } else if (seconds < 0.9995) {
        scaled(seconds * 1e9, 1000, below, 4, out);
    } else if (seconds < 59.95) {
        three_digits(seconds, digits);
        (void)snprintf(out, UNIT_TEXT_SIZE, "%s s", digits);
    } else if (seconds >= 1e12) {
        (void)snprintf(out, UNIT_TEXT_SIZE, "%.3g d", seconds / 86400);
    } else if (nearest(seconds) < 3600) {
        two_units(nearest(seconds), 60, "min", "s", out);
    } else if (nearest(seconds / 60) < 24LL * 60) {
        two_units(nearest(seconds / 60), 60, "h", "min", out);
    } else {
        two_units(nearest(seconds / 3600), 24, "d", "h", out);
    }
}

/* 1,234,567; a mean of counts keeps one decimal. */
static void grouped(double value, char out[UNIT_TEXT_SIZE])
{
    char plain[UNIT_TEXT_SIZE];
    size_t used = 0;

    if (value >= 1e15) {
        (void)snprintf(out, UNIT_TEXT_SIZE, "%.3g", value);
        return;
    }
    (void)snprintf(plain, sizeof(plain), "%.1f", value);
    trim_zeros(plain);

    size_t whole = strcspn(plain, ".");

    for (size_t i = 0; plain[i] != '\0'; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = plain[i];
    }
    out[used] = '\0';
}

char *unit_human(enum unit unit, double value, char out[UNIT_TEXT_SIZE])
{
    static const char *const bytes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static const char *const rates[] = {"B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s", "PiB/s", "EiB/s"};
    static const char *const watts[] = {"W", "kW", "MW"};
    static const char *const joules[] = {"J", "kJ", "MJ", "GJ"};
    char digits[DIGITS_SIZE];
    char *start = out;

    if (!isfinite(value)) {
        (void)snprintf(out, UNIT_TEXT_SIZE, "-");
        return out;
    }
    /* The sign goes first and the rest is of the magnitude: nothing below needs to know of it. */
    if (value < 0)
        *out++ = '-';
    value = fabs(value);
    /* Many quantities are whole microseconds, so a half is common, and a record keeps ten digits: lift the
     * value a little, so that it rounds the same before and after it was stored. Counts show all digits. */
    if (unit != UNIT_COUNT && value < 1e300)
        value *= 1 + 1e-9;

    char text[UNIT_TEXT_SIZE] = "";

    switch (unit) {
    case UNIT_BYTES:
        scaled(value, 1024, bytes, 7, text);
        break;
    case UNIT_BYTES_PER_SECOND:
        scaled(value, 1024, rates, 7, text);
        break;
    case UNIT_SECONDS:
        duration(value, text);
        break;
    case UNIT_PERCENT:
        if (value < 1e12)
            (void)snprintf(text, sizeof(text), "%.1f %%", value);
        else
            (void)snprintf(text, sizeof(text), "%.3g %%", value);
        break;
    case UNIT_WATTS:
        scaled(value, 1000, watts, 3, text);
        break;
    case UNIT_JOULES:
        scaled(value, 1000, joules, 4, text);
        break;
    case UNIT_CELSIUS:
        three_digits(value, digits);
        (void)snprintf(text, sizeof(text), "%s °C", digits);
        break;
    case UNIT_COUNT:
        grouped(value, text);
        break;
    case UNIT_NONE:
        three_digits(value, text);
        break;
    }

    size_t length = strnlen(text, UNIT_TEXT_SIZE - 2);

    memcpy(out, text, length);
    out[length] = '\0';
    return start;
}

void unit_add(struct strbuf *out, const char *before, enum unit unit, double value, const char *after)
{
    char text[UNIT_TEXT_SIZE];

    strbuf_addf(out, "%s%s%s", before, unit_human(unit, value, text), after);
}
