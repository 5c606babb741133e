/*
 * A file that is read again and again: kept open, unless descriptors are so few that others need them more;
 * then it is opened for each reading.
 */
#ifndef METRON_PROBE_KEPT_FILE_H
#define METRON_PROBE_KEPT_FILE_H

#include <stddef.h>
#include <sys/types.h>

struct kept_file {
    int fd;     /* -1: not kept open */
    char *path; /* NULL while it is kept open, or was never there */
};

#define KEPT_FILE_NONE                                                                                       \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* 0, or a negative errno: then it reads -EBADF. */
int kept_file_open(struct kept_file *file, const char *path);
/* From its beginning, in one call: the kernel gives such files whole. The length, or a negative errno. */
ssize_t kept_file_read(const struct kept_file *file, char *text, size_t size);
/* May be called twice. */
void kept_file_close(struct kept_file *file);

#endif
