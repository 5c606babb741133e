#include "store/quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_MAX 64 /* characters */

#define KIBI 1024.0
#define MEBI (1024.0 * KIBI)
#define GIBI (1024.0 * MEBI)
#define TEBI (1024.0 * GIBI)
#define PEBI (1024.0 * TEBI)

static const struct {
    const char *words; /* separated by blanks */
    double factor;     /* negative: the value is divided by it, which is exact where 1e-3 is not */
    enum unit unit;
} units[] = {
    {"%", 1, UNIT_PERCENT},
    {"B", 1, UNIT_BYTES},
    {"K k Ki ki KiB kiB kib", KIBI, UNIT_BYTES},
    {"M Mi mi MiB mib", MEBI, UNIT_BYTES},
    {"G g Gi gi GiB gib", GIBI, UNIT_BYTES},
    {"T t Ti ti TiB tib", TEBI, UNIT_BYTES},
    {"P p Pi pi PiB pib", PEBI, UNIT_BYTES},
    {"kB KB kb", 1e3, UNIT_BYTES},
    {"MB mb", 1e6, UNIT_BYTES},
    {"GB gb", 1e9, UNIT_BYTES},
    {"TB tb", 1e12, UNIT_BYTES},
    {"PB pb", 1e15, UNIT_BYTES},
    {"ns", -1e9, UNIT_SECONDS},
    {"us µs μs", -1e6, UNIT_SECONDS},
    {"ms", -1e3, UNIT_SECONDS},
    {"s sec secs second seconds", 1, UNIT_SECONDS},
    {"m min mins minute minutes", 60, UNIT_SECONDS},
    {"h hour hours", 3600, UNIT_SECONDS},
    {"d day days", 86400, UNIT_SECONDS},
    {"w week weeks", 7.0 * 86400, UNIT_SECONDS},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ((unsigned char)c & 0x80);
}

static bool has_word(const char *words, const char *word, size_t length)
{
    while (*words) {
        size_t next = strcspn(words, " ");
        if (next == length && memcmp(words, word, length) == 0)
            return true;
        words += next + (words[next] == ' ');
    }
    return false;
}

/* The unit at `at`, NULL if there is none. */
static const char *scan_unit(const char *at, const char *end, double *factor, enum unit *unit)
{
    size_t length = 0, left = (size_t)(end - at);

    if (left > 0 && at[0] == '%')
        length = 1;
    else
        while (length < left && is_letter(at[length]))
            length++;
    for (size_t i = 0; length > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (!has_word(units[i].words, at, length))
            continue;
        *factor = units[i].factor;
        *unit = units[i].unit;
        bool rate = *unit == UNIT_BYTES && left >= length + 2 && at[length] == '/' && at[length + 1] == 's';
        if (rate)
            *unit = UNIT_BYTES_PER_SECOND;
        return at + length + (rate ? 2 : 0);
    }
    return NULL;
}

/* Digits, a point, an exponent; no sign. */
static const char *scan_number(const char *at, const char *end, double *out)
{
    char text[NUMBER_MAX];
    size_t length = 0, left = (size_t)(end - at);
    bool digits = false, point = false;

    for (; length < left; length++) {
        if (is_digit(at[length]))
            digits = true;
        else if (at[length] == '.' && !point)
            point = true;
        else
            break;
    }
    if (!digits)
        return NULL;
    if (length < left && (at[length] == 'e' || at[length] == 'E')) {
        size_t next = length + 1;
        if (next < left && (at[next] == '-' || at[next] == '+'))
            next++;
        if (next < left && is_digit(at[next])) {
            while (next < left && is_digit(at[next]))
                next++;
            length = next;
        }
    }
    if (length >= sizeof(text))
        return NULL;
    memcpy(text, at, length);
    text[length] = '\0';
    *out = strtod(text, NULL);
    return isfinite(*out) ? at + length : NULL;
}

/* One number and its unit. Without one it stands alone, unless letters follow at once: "2x" is no number. */
static const char *scan_part(const char *at, const char *end, struct quantity *out)
{
    double factor = 1;
    const char *behind = scan_number(at, end, &out->value);

    out->unit = UNIT_NONE;
    if (!behind)
        return NULL;
    const char *unit = scan_unit(text_skip_blanks(behind, end), end, &factor, &out->unit);
    if (unit) {
        out->value = factor < 0 ? out->value / -factor : out->value * factor;
        behind = unit;
    }
    return behind < end && (is_letter(*behind) || *behind == '%') ? NULL : behind;
}

const char *quantity_scan(const char *at, const char *end, struct quantity *out)
{
    bool negative = at < end && *at == '-';
    struct quantity next;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    at = scan_part(at, end, out);
    /* 1h30m, 1 h 30 min */
    while (at && out->unit == UNIT_SECONDS) {
        const char *behind = text_skip_blanks(at, end);
        bool apart = behind > at;
        if (behind == end || !is_digit(*behind))
            break;
        behind = scan_part(behind, end, &next);
        if (!behind || next.unit != UNIT_SECONDS) {
            if (!apart)
                return NULL;
            break;
        }
        out->value += next.value;
        at = behind;
    }
    if (negative)
        out->value = -out->value;
    return at && isfinite(out->value) ? at : NULL;
}

bool quantity_parse(const char *text, struct quantity *out)
{
    const char *end = text + strlen(text);
    const char *behind = quantity_scan(text_skip_blanks(text, end), end, out);

    return behind && text_skip_blanks(behind, end) == end;
}
