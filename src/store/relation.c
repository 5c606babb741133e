#include "store/relation.h"

#include <stddef.h>
#include <string.h>

const char *relation_scan(const char *at, const char *end, enum relation *out)
{
    static const struct {
        const char *sign;
        enum relation relation;
    } signs[] = {
        /* the longer ones first */
        {"==", RELATION_EQUAL},    {"!=", RELATION_DIFFERENT}, {"<=", RELATION_AT_MOST},
        {">=", RELATION_AT_LEAST}, {"<", RELATION_BELOW},      {">", RELATION_ABOVE},
        {"=", RELATION_EQUAL},
    };

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t length = strlen(signs[i].sign);

        if ((size_t)(end - at) < length || memcmp(at, signs[i].sign, length) != 0)
            continue;
        *out = signs[i].relation;
        return at + length;
    }
    return NULL;
}

bool relation_holds(enum relation relation, int order)
{
    switch (relation) {
    case RELATION_EQUAL:
        return order == 0;
    case RELATION_DIFFERENT:
        return order != 0;
    case RELATION_BELOW:
        return order < 0;
    case RELATION_AT_MOST:
        return order <= 0;
    case RELATION_ABOVE:
        return order > 0;
    case RELATION_AT_LEAST:
        return order >= 0;
    }
    return false;
}

bool relation_is_ordered(enum relation relation)
{
    return relation != RELATION_EQUAL && relation != RELATION_DIFFERENT;
}
