/*
 * usage: spawner FILE SECONDS
 *
 * Starts /bin/true with posix_spawn, one after the other, for SECONDS: it is in vfork most of the time. FILE
 * has the number of those that have ended, in 8 bytes.
 */
#include <fcntl.h>
#include <spawn.h>

#include "workload.h"

extern char **environ;

int main(int argc, char **argv)
{
    char *const command[] = {"true", NULL};
    uint64_t ended = 0;
    pid_t child;

    if (argc != 3)
        workload_usage("spawner FILE SECONDS");
    int fd = open(argv[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        workload_fail(argv[1]);
    double end = clock_seconds(CLOCK_MONOTONIC) + argument_number(argv[2]);
    while (clock_seconds(CLOCK_MONOTONIC) < end) {
        if (posix_spawn(&child, "/bin/true", NULL, NULL, command, environ) != 0)
            workload_fail("posix_spawn");
        (void)wait_checked(child);
        ended++;
        if (pwrite(fd, &ended, sizeof(ended), 0) != sizeof(ended))
            workload_fail("pwrite");
    }
    return 0;
}
