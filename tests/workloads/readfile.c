/*
 * usage: readfile FILE SECONDS
 *
 * Reads FILE through a small buffer, so that all of it is in the page cache and none in this process, then
 * sleeps SECONDS.
 */
#include <fcntl.h>

#include "workload.h"

int main(int argc, char **argv)
{
    static char block[64 * 1024];
    ssize_t length;

    if (argc != 3)
        workload_usage("readfile FILE SECONDS");
    int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        workload_fail(argv[1]);
    while ((length = read(fd, block, sizeof(block))) > 0)
        ;
    if (length < 0)
        workload_fail("read");
    sleep_seconds(argument_number(argv[2]));
    return 0;
}
