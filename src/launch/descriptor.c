/*
 * The kernel gives out the lowest free number. In a process started with stdin closed, the first pipe end is
 * therefore 0, and arranging the command's stdio would overwrite it.
 */
#include "launch/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

void descriptor_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
