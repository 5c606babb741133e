#include "loop/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Descriptors that metron needs beside the files it keeps open of each process. */
#define RESERVED 64
/* More would only cost kernel memory: five files each of thirteen thousand processes. */
#define WANTED 65536
/* With so many left none need be held. */
#define PLENTY 128

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

int descriptors_hold(struct descriptors_held *held, struct metron_error *error)
{
    struct rlimit limit;

    held->count = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    while (held->count < DESCRIPTORS_NEEDED) {
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            size_t count = held->count;
            descriptors_release(held);
            return error_set(error, -EMFILE,
                             "%d descriptors are needed, and only %zu are available (ulimit -n)",
                             DESCRIPTORS_NEEDED, count);
        }
        held->fds[held->count++] = fd;
        if ((rlim_t)fd + PLENTY <= limit.rlim_cur)
            break;
    }
    return 0;
}

void descriptors_release(struct descriptors_held *held)
{
    while (held->count > 0)
        (void)close(held->fds[--held->count]);
}
