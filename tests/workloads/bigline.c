/*
 * usage: bigline MEGABYTES
 *
 * Prints MEGABYTES x 1,000,000 bytes of 'x' and one newline: a single line. Exits 1 if a write fails.
 */
#include "workload.h"

static int write_all(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(1, bytes, length);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char block[1000000];

    if (argc != 2)
        workload_usage("bigline MEGABYTES");
    memset(block, 'x', sizeof(block));
    for (long i = argument_integer(argv[1]); i > 0; i--)
        if (write_all(block, sizeof(block)) != 0)
            return 1;
    return write_all("\n", 1) == 0 ? 0 : 1;
}
