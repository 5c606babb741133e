/*
 * Numbers as JSON writes them. To read: those that people and programs write are a whole number below 2^53
 * times or through a small power of ten: both are exact doubles, so that one operation rounds once and is
 * exact (Clinger's fast path). All others go through strtod.
 */
#include "base/json_number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest that says anything, the smallest double in full, has 1,077 characters. */
#define LENGTH_MAX      2000
#define EXACT_MANTISSA  (UINT64_C(1) << 53)
#define EXACT_POWER     22 /* 10^22 is the largest power of ten that a double holds exactly */
#define MANTISSA_DIGITS 19 /* as many as always fit 64 bits */
#define POWER_MAX       1000000

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static const char *scan_digits(const char *at, const char *end, struct json_number *number)
{
    for (; at < end && is_digit(*at); at++) {
        if (number->digits > 0 || *at != '0')
            number->digits++;
        if (number->digits <= MANTISSA_DIGITS)
            number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

/* NULL: there are no digits. */
static const char *scan_exponent(const char *at, const char *end, struct json_number *number)
{
    int64_t power = 0;
    bool negative = at < end && *at == '-';

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end || !is_digit(*at))
        return NULL;
    for (; at < end && is_digit(*at); at++) {
        if (power < POWER_MAX)
            power = power * 10 + (*at - '0');
    }
    number->exponent += negative ? -power : power;
    return at;
}

const char *json_number_scan(const char *at, const char *end, struct json_number *out, const char **complaint)
{
    *out = (struct json_number){.negative = *at == '-'};
    at += out->negative;

    const char *whole = at;

    at = scan_digits(at, end, out);
    if (at == whole) {
        *complaint = "a minus without a number";
        return NULL;
    }
    if (*whole == '0' && at - whole > 1) {
        *complaint = "a number with leading zeros";
        return NULL;
    }
    if (at < end && *at == '.') {
        const char *fraction = at + 1;

        at = scan_digits(fraction, end, out);
        out->exponent = fraction - at;
        if (at == fraction) {
            *complaint = "a number without digits behind its point";
            return NULL;
        }
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at = scan_exponent(at + 1, end, out);
        if (!at)
            *complaint = "a number without digits in its exponent";
    }
    return at;
}

/* strtod obeys the locale, so the point is made the locale's. */
static bool by_library(const char *at, const char *end, double *out, const char **complaint)
{
    char copy[LENGTH_MAX + 1];
    size_t length = (size_t)(end - at);

    if (length > LENGTH_MAX) {
        *complaint = "a number of more than 2,000 characters";
        return false;
    }
    memcpy(copy, at, length);
    copy[length] = '\0';

    char *dot = strchr(copy, '.');
    const char *point = localeconv()->decimal_point;

    if (dot && strlen(point) == 1)
        *dot = *point;
    *out = strtod(copy, NULL);
    if (isfinite(*out))
        return true;
    *complaint = "a number that is too large";
    return false;
}

bool json_number_value(const struct json_number *number, const char *at, const char *end, double *out,
                       const char **complaint)
{
    static const double powers[EXACT_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (number->digits > MANTISSA_DIGITS || number->mantissa > EXACT_MANTISSA ||
        number->exponent < -EXACT_POWER || number->exponent > EXACT_POWER)
        return by_library(at, end, out, complaint);

    double value = (double)number->mantissa;

    value = number->exponent < 0 ? value / powers[-number->exponent] : value * powers[number->exponent];
    *out = number->negative ? -value : value;
    return true;
}

char *json_number_text(double value, char out[JSON_NUMBER_SIZE])
{
    if (fabs(value) <= (double)EXACT_MANTISSA && value == floor(value)) {
        (void)snprintf(out, JSON_NUMBER_SIZE, "%.0f", value == 0 ? 0.0 : value);
        return out;
    }
    /* 15 digits are exact for whatever was written with so few; 17 for every number. */
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, JSON_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return out;
}
