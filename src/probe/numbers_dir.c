/*
 * getdents64 by hand: readdir(3) wants a DIR, which is an allocation each time, and a kept-open folder is
 * listed again by seeking to its beginning.
 */
#include "probe/numbers_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "probe/digits.h"

/* /proc of a machine with a thousand processes in one call, and still small on a stack. */
#define ENTRIES_SIZE 32768

int numbers_dir_visit(int fd, void (*visit)(void *context, pid_t number), void *context)
{
    char entries[ENTRIES_SIZE] __attribute__((aligned(_Alignof(struct dirent64))));
    int count = 0;

    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        ssize_t length = getdents64(fd, entries, sizeof(entries));

        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length < 0 ? -errno : count;
        for (ssize_t at = 0; at < length;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            const char *end = entry->d_name + strlen(entry->d_name);
            uint64_t number;

            at += entry->d_reclen;
            if (digits_read(entry->d_name, end, &number) != end || number > INT_MAX)
                continue;
            if (visit != NULL)
                visit(context, (pid_t)number);
            count++;
        }
    }
}
