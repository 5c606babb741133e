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

/* What people read: lines of UTF-8 that no terminal acts on. */
static inline void check_shown(const char *text, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        step = text_utf8_length(text + at, length - at);
        check(step > 0);
        check(text[at] == '\n' || !text_is_control(text_character(text + at, step)));
    }
}

#endif
