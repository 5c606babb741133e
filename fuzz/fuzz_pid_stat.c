/* Any bytes as /proc/PID/stat: never a read past the end, and what is accepted holds together. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/pid/stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pid_stat stat;

    if (pid_stat_parse((const char *)data, size, &stat) == 0) {
        if (stat.pid < 0 || memchr(stat.comm, '\0', sizeof(stat.comm)) == NULL)
            abort();
    }
    return 0;
}
