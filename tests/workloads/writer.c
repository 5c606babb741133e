/*
 * usage: writer [-d] BYTES FILE
 *
 * Writes BYTES (rounded up to 1 MiB) to FILE; -d with O_DIRECT, so that all of them reach the device before
 * the process ends; otherwise buffered, then fsync.
 */
#include <fcntl.h>

#include "workload.h"

#define BLOCK_BYTES (1 << 20)

int main(int argc, char **argv)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    void *block;
    int option;

    while ((option = getopt(argc, argv, "d")) != -1) {
        if (option != 'd')
            workload_usage("writer [-d] BYTES FILE");
        flags |= O_DIRECT;
    }
    if (argc - optind != 2)
        workload_usage("writer [-d] BYTES FILE");
    int fd = open(argv[optind + 1], flags, 0600);
    if (fd < 0 || posix_memalign(&block, 4096, BLOCK_BYTES) != 0)
        workload_fail(argv[optind + 1]);
    memset(block, 'w', BLOCK_BYTES);
    for (double left = argument_number(argv[optind]); left > 0; left -= BLOCK_BYTES)
        if (write(fd, block, BLOCK_BYTES) != BLOCK_BYTES)
            workload_fail("write");
    if (fsync(fd) != 0 || close(fd) != 0)
        workload_fail("fsync");
    free(block);
    return 0;
}
