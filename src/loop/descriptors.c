#include "loop/descriptors.h"

#include <stddef.h>

/* Descriptors that metron needs beside the files it keeps open of each process. */
#define RESERVED 64
/* More would only cost kernel memory: five files each of thirteen thousand processes. */
#define WANTED 65536

int descriptors_to_keep(struct rlimit *found)
{
    struct rlimit before, limit;

    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        before = (struct rlimit){1024, 1024};
    if (found)
        *found = before;
    limit = before;
    rlim_t wanted = limit.rlim_max < WANTED ? limit.rlim_max : WANTED;
    if (wanted > limit.rlim_cur) {
        limit.rlim_cur = wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            limit = before;
    }
    rlim_t usable = limit.rlim_cur < WANTED ? limit.rlim_cur : WANTED;
    return usable > RESERVED ? (int)(usable - RESERVED) : 0;
}
