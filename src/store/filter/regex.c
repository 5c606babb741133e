/*
 * How large a regular expression becomes when it is compiled: a{9} is nine times a, a+ is aa*, and a repeat
 * within a repeat multiplies. glibc takes any, and some lines of them take all the memory there is.
 *
 * This is an estimate from above; what it does not understand regcomp refuses.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "store/filter/inner.h"

#define LENGTH_MAX 512
#define LEVELS_MAX 32
#define PARTS_MAX  2000.0 /* parts, all repeats written out */

/* Past a bracket expression, of which ] is no end where it stands first; at its last character. */
static const char *past_bracket(const char *at)
{
    at += at[1] == '^';
    at += at[1] == ']';
    while (at[1] && at[1] != ']') {
        /* [:alpha:], [.x.], [=x=] */
        const char *end = at[1] == '[' && at[2] && strchr(":.=", at[2]) ? strchr(at + 3, at[2]) : NULL;
        at = end ? end + (end[1] == ']') : at + 1;
    }
    return at[1] ? at + 1 : at;
}

/* The larger bound of {n}, {n,} or {n,m}; at its last character. */
static const char *read_repeat(const char *at, double *factor)
{
    *factor = 1;
    while (at[1] && strchr("0123456789,", at[1])) {
        char *behind = NULL;
        double bound = isdigit((unsigned char)*++at) ? (double)strtoul(at, &behind, 10) : 1;
        /* {n,} is n copies and one more */
        *factor = *at == ',' ? *factor + 1 : bound > *factor ? bound : *factor;
        at = behind ? behind - 1 : at;
    }
    return at[1] == '}' ? at + 1 : at;
}

const char *filter_regex_trouble(const char *text)
{
    double sums[LEVELS_MAX + 1] = {0}, item = 0, factor;
    int level = 0;

    if (strlen(text) > LENGTH_MAX)
        return "it is too long";
    for (const char *c = text; *c; c++) {
        factor = 0; /* not zero: a repeat of what stood before */
        if (*c == '(') {
            if (level == LEVELS_MAX)
                return "it is nested too deep";
            sums[level++] += item;
            sums[level] = item = 0;
        } else if (*c == ')' && level > 0) {
            item = sums[level] + item + 1;
            level--;
        } else if (*c == '+' || *c == '*' || *c == '?') {
            factor = *c == '+' ? 2 : 1;
            item += 1;
        } else if (*c == '{') {
            c = read_repeat(c, &factor);
        } else {
            if (*c == '\\' && isdigit((unsigned char)c[1]))
                return "back references are not supported";
            if (*c == '[')
                c = past_bracket(c);
            else if (*c == '\\' && c[1])
                c++;
            sums[level] += item;
            item = 1;
        }
        if (factor > 0)
            item *= factor;
        if (sums[level] + item > PARTS_MAX)
            return "it repeats too often";
    }
    return NULL;
}
