/* Pressure files: any bytes; what is accepted tells of something, and of no time before the beginning. */
#include <stdint.h>
#include <stdlib.h>

#include "probe/pressure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pressure pressure;

    if (pressure_parse((const char *)data, size, &pressure) == 0 &&
        ((!pressure.has_some && !pressure.has_full) ||
         !(pressure.some_seconds >= 0 && pressure.full_seconds >= 0)))
        abort();
    return 0;
}
