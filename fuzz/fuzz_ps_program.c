/* A line of ps: any bytes; the arguments lie within the line, and the numbers are such as a process has. */
#include <stdint.h>
#include <stdlib.h>

#include "probe/ps_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data;
    struct ps_process process;

    if (ps_line_parse(line, size, &process) < 0)
        return 0;
    if (process.pid <= 0 || process.ppid < 0 || !(process.memory_fraction >= 0))
        abort();
    if (process.arguments < line || process.arguments + process.arguments_length != line + size)
        abort();
    return 0;
}
