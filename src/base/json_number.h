/*
 * Numbers as JSON writes them: where one ends, and its value, the same as strtod's in the C locale.
 */
#ifndef METRON_BASE_JSON_NUMBER_H
#define METRON_BASE_JSON_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define JSON_NUMBER_SIZE 40

struct json_number {
    uint64_t mantissa; /* its first 19 digits */
    int64_t digits;    /* significant ones, all of them */
    int64_t exponent;  /* of ten */
    bool negative;
};

/* `at` is a digit or a minus. Returns what is behind the number, which may be `end`; NULL: it is no number,
 * and *complaint (static text) says why. */
const char *json_number_scan(const char *at, const char *end, struct json_number *out,
                             const char **complaint);
/* The value of the number that was scanned from `at` to `end`; always finite. False: it has none, as above.
 */
bool json_number_value(const struct json_number *number, const char *at, const char *end, double *out,
                       const char **complaint);

/* The shortest decimal that is read back as the very same number, which is finite: 0 for -0, whole numbers
 * up to 2^53 without an exponent. Returns out. */
char *json_number_text(double value, char out[JSON_NUMBER_SIZE]);

#endif
