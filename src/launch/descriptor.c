/*
 * The kernel gives out the lowest free number. In a process started with stdin closed, the first pipe end is
 * therefore 0, and arranging the command's stdio would overwrite it.
 */
#include "launch/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/numbers_dir.h"

void descriptor_reserve_stdio(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    file_close(&fd);
}

int descriptor_above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;

    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int code = errno;

    close(fd);
    return moved < 0 ? -code : moved;
}

int descriptor_new_null(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    return descriptor_above_stdio(fd);
}

struct kept {
    const int *fds;
    size_t count;
    int folder; /* that lists them; -1: none */
};

/* The smallest descriptor kept from `first` on; INT_MAX: none. */
static int next_kept(const struct kept *kept, int first)
{
    int next = INT_MAX;

    for (size_t i = 0; i < kept->count; i++)
        if (kept->fds[i] >= first && kept->fds[i] < next)
            next = kept->fds[i];
    return next;
}

static int close_ranges(const struct kept *kept)
{
#ifdef SYS_close_range
    for (int first = STDERR_FILENO + 1;;) {
        int next = next_kept(kept, first);

        if (next > first && syscall(SYS_close_range, first, next - 1, 0) != 0)
            return -errno;
        if (next == INT_MAX)
            return 0;
        first = next + 1;
    }
#else
    (void)kept;
    return -ENOSYS;
#endif
}

static void close_unless_kept(void *context, pid_t fd)
{
    const struct kept *kept = context;

    if (fd > STDERR_FILENO && fd != kept->folder && next_kept(kept, fd) != fd)
        (void)close(fd);
}

/* The folder lists by number: what was closed before does not disturb it. */
static int close_listed(struct kept *kept)
{
    kept->folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (kept->folder < 0)
        return -errno;
    int code = numbers_dir_visit(kept->folder, close_unless_kept, kept);
    (void)close(kept->folder);
    return code < 0 ? code : 0;
}

int descriptor_close_others(const int *kept, size_t count)
{
    struct kept all = {kept, count, -1};

    return close_ranges(&all) == 0 ? 0 : close_listed(&all); /* before Linux 5.9, or in an old sandbox */
}
