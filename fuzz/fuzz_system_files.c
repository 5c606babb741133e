/* Any bytes as /proc/meminfo, loadavg, stat, cpuinfo and os-release: the first byte chooses, so that a seed
 * stays one file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/system_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct meminfo memory;
    struct loadavg load;
    struct system_stat stat;
    char name[SYSTEM_NAME_SIZE];

    if (size == 0)
        return 0;
    size--;
    switch (data[0]) {
    case 'm':
        (void)meminfo_parse(text, size, &memory);
        break;
    case 'l':
        if (loadavg_parse(text, size, &load) == 0 && !(load.load1 >= 0 && load.load15 >= 0))
            abort();
        break;
    case 'c':
    case 'o':
        if ((data[0] == 'c' ? cpuinfo_parse : os_release_parse)(text, size, name) == 0 &&
            (strnlen(name, sizeof(name)) == 0 || strnlen(name, sizeof(name)) == sizeof(name)))
            abort();
        break;
    default:
        (void)system_stat_parse(text, size, &stat);
    }
    return 0;
}
