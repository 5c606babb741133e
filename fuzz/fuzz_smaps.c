/* smaps_rollup: any bytes; what is accepted has all its parts. */
#include <stdint.h>
#include <stdlib.h>

#include "probe/smaps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct smaps smaps;

    /* The kernel's numbers are KiB: a byte between them was made up. */
    if (smaps_parse((const char *)data, size, &smaps) == 0 &&
        (smaps.pss_bytes | smaps.uss_bytes | smaps.swap_bytes) % 1024 != 0)
        abort();
    return 0;
}
