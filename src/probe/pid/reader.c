/*
 * The shared part of reading process files.
 *
 * Running out of descriptors must not stop a sample: one is held in reserve, given up to open a file when
 * the kernel refuses (EMFILE, ENFILE), and taken back when that file is closed. From then on nothing is kept
 * open until descriptors were given back.
 */
#include "probe/pid/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int pid_reader_init(struct pid_reader *reader, const char *proc_root, const struct kernel_facts *facts,
                    int kept_descriptors)
{
    *reader = (struct pid_reader){
        .root_fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC),
        .reserve_fd = -1,
        .live = facts->live,
        .fd_count_in_size = facts->fd_count_in_size,
        .has_children_files = facts->has_children_files,
        .budget = {.left = kept_descriptors > 0 ? kept_descriptors : 0},
    };
    if (reader->root_fd < 0)
        return -errno;
    /* Not a duplicate: ThreadSanitizer does not see those being made, and reports their end as a race. */
    reader->reserve_fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (reader->reserve_fd < 0) {
        int status = -errno;

        pid_reader_fini(reader);
        return status;
    }
    return 0;
}

void pid_reader_fini(struct pid_reader *reader)
{
    if (reader->root_fd >= 0)
        close(reader->root_fd);
    if (reader->reserve_fd >= 0)
        close(reader->reserve_fd);
    reader->root_fd = reader->reserve_fd = -1;
    free(reader->scratch.text);
    free(reader->scratch.tids);
    reader->scratch = (struct pid_scratch){0};
}

int pid_reader_open(struct pid_reader *reader, const char *path, int flags)
{
    int fd = openat(reader->root_fd, path, flags | O_CLOEXEC);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && reader->reserve_fd >= 0) {
        reader->budget.left = 0;
        close(reader->reserve_fd);
        reader->reserve_fd = -1;
        fd = openat(reader->root_fd, path, flags | O_CLOEXEC);
    }
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    return fd;
}

void pid_reader_close(struct pid_reader *reader, int fd)
{
    close(fd);
    if (reader->reserve_fd < 0)
        reader->reserve_fd = fcntl(reader->root_fd, F_DUPFD_CLOEXEC, 0);
}
