#include "probe/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Beside what is kept of processes there are some thirty such files. */
#define DESCRIPTORS_ENOUGH 256

static bool has_descriptors_to_spare(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS_ENOUGH;
}

int kept_file_open(struct kept_file *file, const char *path)
{
    *file = (struct kept_file)KEPT_FILE_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (!has_descriptors_to_spare())
        file->path = strdup(path);
    if (file->path)
        (void)close(fd);
    else
        file->fd = fd;
    return 0;
}

ssize_t kept_file_read(const struct kept_file *file, char *text, size_t size)
{
    int fd = file->path ? open(file->path, O_RDONLY | O_CLOEXEC) : file->fd;

    if (fd < 0)
        return file->path ? -errno : -EBADF;
    ssize_t length = pread(fd, text, size, 0);
    int code = errno;
    if (file->path)
        (void)close(fd);
    return length < 0 ? -code : length;
}

void kept_file_close(struct kept_file *file)
{
    if (file->fd >= 0)
        (void)close(file->fd);
    free(file->path);
    *file = (struct kept_file)KEPT_FILE_NONE;
}
