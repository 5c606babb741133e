/*
 * usage: join FILE... -- COMMAND [ARGUMENT...]
 *
 * Writes "0" into each FILE (a cgroup's tasks or cgroup.procs: this very process joins), then execs COMMAND.
 * Costs well under a millisecond, so that what the group counts is what COMMAND used.
 */
#include <fcntl.h>

#include "workload.h"

int main(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        int fd = open(argv[i], O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            workload_fail(argv[i]);
        (void)close(fd);
    }
    if (i + 1 >= argc)
        workload_usage("join FILE... -- COMMAND [ARGUMENT...]");
    (void)execvp(argv[i + 1], argv + i + 1);
    workload_fail(argv[i + 1]);
}
