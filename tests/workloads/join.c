/*
 * usage: join [-c FILE] FILE... -- COMMAND [ARGUMENT...]
 *
 * Writes "0" into each FILE (a cgroup's tasks or cgroup.procs: this very process joins), then execs COMMAND.
 * What it has used until then no group has counted: with -c it is appended to that file, in seconds.
 */
#include <fcntl.h>

#include "workload.h"

static int open_for_writing(const char *path, int how)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | how);

    if (fd < 0)
        workload_fail(path);
    return fd;
}

static void tell_used(const char *path, int fd)
{
    if (dprintf(fd, "%.9f\n", clock_seconds(CLOCK_PROCESS_CPUTIME_ID)) < 0)
        workload_fail(path);
    (void)close(fd);
}

int main(int argc, char **argv)
{
    const char *used = argc > 2 && strcmp(argv[1], "-c") == 0 ? argv[2] : NULL;
    int used_fd = used != NULL ? open_for_writing(used, O_APPEND) : -1;
    int i;

    for (i = used != NULL ? 3 : 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        int fd = open_for_writing(argv[i], 0);

        if (used_fd >= 0)
            tell_used(used, used_fd);
        used_fd = -1;
        if (write(fd, "0", 1) != 1)
            workload_fail(argv[i]);
        (void)close(fd);
    }
    if (i + 1 >= argc)
        workload_usage("join [-c FILE] FILE... -- COMMAND [ARGUMENT...]");
    (void)execvp(argv[i + 1], argv + i + 1);
    workload_fail(argv[i + 1]);
}
