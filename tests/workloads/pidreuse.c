/*
 * usage: pidreuse FILE MILLISECONDS
 *
 * Two processes with one pid, one after the other, each living and burning MILLISECONDS of CPU: the second's
 * pid is asked for through /proc/sys/kernel/ns_last_pid (root only). FILE gets "PID" of the pair, or "no" if
 * somebody else took the number in every one of ten tries.
 */
#include <fcntl.h>

#include "workload.h"

static int ask_for(pid_t pid)
{
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    char text[16];
    int length = snprintf(text, sizeof(text), "%d", (int)pid - 1);

    if (fd < 0)
        return -1;
    ssize_t written = write(fd, text, (size_t)length);
    (void)close(fd);
    return written == length ? 0 : -1;
}

static pid_t child_start(double seconds)
{
    pid_t pid = fork_checked();

    if (pid == 0) {
        burn_process(seconds);
        _exit(0);
    }
    return pid;
}

int main(int argc, char **argv)
{
    pid_t first = 0, second = -1;

    if (argc != 3)
        workload_usage("pidreuse FILE MILLISECONDS");
    double seconds = argument_number(argv[2]) / 1e3;
    for (int i = 0; i < 10 && first != second; i++) {
        first = child_start(seconds);
        (void)wait_checked(first);
        sleep_seconds(0.03);
        if (ask_for(first) != 0)
            break;
        second = child_start(seconds);
        (void)wait_checked(second);
    }
    FILE *file = fopen(argv[1], "w");
    if (file == NULL || (first == second ? fprintf(file, "%d\n", (int)first) : fputs("no\n", file)) < 0 ||
        fclose(file) != 0)
        workload_fail(argv[1]);
    return 0;
}
