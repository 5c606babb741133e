/* What fuzz targets check alike. */
#ifndef METRON_FUZZ_CHECK_H
#define METRON_FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* Lines that a terminal can show: valid UTF-8 without control characters. */
static inline void check_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = text_utf8_length(text + i, length - i);
        unsigned char byte = (unsigned char)text[i];

        check(sequence > 0 && byte != 0x7F && (byte >= 0x20 || byte == '\n'));
        check(sequence != 2 || byte != 0xC2 || (unsigned char)text[i + 1] >= 0xA0);
        i += sequence;
    }
}

#endif
