/*
 * Listing /proc. The folder is opened for each scan: scans are rare.
 */
#include "probe/proc_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include "probe/numbers_dir.h"

int proc_scan(struct pid_reader *reader, void (*visit)(void *context, pid_t pid), void *context)
{
    int fd = pid_reader_open(reader, ".", O_RDONLY | O_DIRECTORY);
    int count;

    if (fd < 0)
        return fd;
    count = numbers_dir_visit(fd, visit, context);
    pid_reader_close(reader, fd);
    return count;
}
