#include "store/history/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_reader.h"

#define WORD_BITS 64
#define SPAN_MAX  (INT64_C(1) << 26) /* 8 MiB of bits: what holds is written anew long before */

int id_set_begin(struct id_set *set, int64_t first, int64_t last)
{
    if (last < first)
        last = first;
    if (last - first > SPAN_MAX)
        return -E2BIG;
    size_t count = (size_t)(last - first) / WORD_BITS + 1;

    if (ARRAY_RESERVE(set->words, set->capacity, count) < 0)
        return -ENOMEM;
    set->count = count;
    set->base = first;
    memset(set->words, 0, count * sizeof(*set->words));
    return 0;
}

void id_set_add(struct id_set *set, int64_t id)
{
    uint64_t bit = (uint64_t)(id - set->base);

    if (bit / WORD_BITS < set->count)
        set->words[bit / WORD_BITS] |= UINT64_C(1) << (bit % WORD_BITS);
}

/* The first bit from `bit` on that is set (or clear); the number of all bits if there is none. */
static size_t next_bit(const struct id_set *set, size_t bit, uint64_t flip)
{
    size_t word = bit / WORD_BITS;
    uint64_t mask = ~UINT64_C(0) << (bit % WORD_BITS);

    for (; word < set->count; word++, mask = ~UINT64_C(0)) {
        uint64_t found = (set->words[word] ^ flip) & mask;

        if (found)
            return word * WORD_BITS + (size_t)__builtin_ctzll(found);
    }
    return set->count * WORD_BITS;
}

static void add_number(struct strbuf *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    strbuf_add(out, digits + at, sizeof(digits) - at);
}

size_t id_set_ranges(const struct id_set *set, struct strbuf *out)
{
    size_t ranges = 0, bits = set->count * WORD_BITS;

    strbuf_reset(out);
    strbuf_addc(out, '{');
    for (size_t bit = next_bit(set, 0, 0); bit < bits; ranges++) {
        size_t end = next_bit(set, bit, ~UINT64_C(0));

        strbuf_adds(out, ranges ? ",\"" : "\"");
        add_number(out, (uint64_t)set->base + bit);
        strbuf_adds(out, "\":");
        add_number(out, end - bit - 1);
        bit = end < bits ? next_bit(set, end, 0) : bits;
    }
    strbuf_addc(out, '}');
    return ranges;
}

void id_set_fini(struct id_set *set)
{
    free(set->words);
    *set = (struct id_set){0};
}

static int read_id(const struct json_text *text, int64_t *out)
{
    int64_t id = 0;

    if (text->length == 0 || text->length > 15)
        return -EBADMSG;
    for (size_t i = 0; i < text->length; i++) {
        if (text->bytes[i] < '0' || text->bytes[i] > '9')
            return -EBADMSG;
        id = id * 10 + (text->bytes[i] - '0');
    }
    *out = id;
    return 0;
}

int ranges_read(const char *text, size_t length, int (*visit)(void *context, int64_t first, int64_t last),
                void *context)
{
    struct json_reader reader;
    struct json_text key;
    int code = 0;

    json_reader_init(&reader, text, length);
    if (!json_enter_object(&reader))
        code = -EBADMSG;
    while (code == 0 && json_next_key(&reader, &key)) {
        int64_t first = 0;
        double more = 0;

        code = read_id(&key, &first);
        if (code == 0 && (!json_read_number(&reader, &more) || more < 0 || more > (double)SPAN_MAX))
            code = -EBADMSG;
        if (code == 0)
            code = visit(context, first, first + (int64_t)more);
    }
    if (code == 0)
        code = json_reader_end(&reader, NULL);
    json_reader_fini(&reader);
    return code;
}
