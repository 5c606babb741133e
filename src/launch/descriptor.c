/*
 * The kernel gives out the lowest free number. In a process started with stdin closed, the first pipe end is
 * therefore 0, and arranging the command's stdio would overwrite it.
 */
#include "launch/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "probe/numbers_dir.h"

void descriptor_reserve_stdio(void)
{
    int fd;

    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
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

int descriptor_new_event(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return -errno;
    return descriptor_above_stdio(fd);
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
};

static void close_unless_kept(void *context, pid_t fd)
{
    const struct kept *kept = context;

    for (size_t i = 0; i < kept->count; i++)
        if (kept->fds[i] == fd)
            return;
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

/* close_range came with Linux 5.9. The folder lists by number: what was closed before does not disturb it. */
int descriptor_close_others(const int *kept, size_t count)
{
    int fds[16];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return -errno;
    if (count + 1 > sizeof(fds) / sizeof(*fds)) {
        (void)close(folder);
        return -E2BIG;
    }
    for (size_t i = 0; i < count; i++)
        fds[i] = kept[i];
    fds[count] = folder;
    struct kept all = {fds, count + 1};
    int code = numbers_dir_visit(folder, close_unless_kept, &all);
    (void)close(folder);
    return code < 0 ? code : 0;
}

void descriptor_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
