/*
 * usage: pidreuse FILE MILLISECONDS
 *
 * Two processes with one pid, one after the other, each living and burning MILLISECONDS of CPU: the second's
 * pid is asked for through /proc/sys/kernel/ns_last_pid (root only), until it is not taken by somebody else.
 * FILE gets "PID" of the pair, or "no" if no pid can be asked for.
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

/* Burns if it has the wanted pid, 0: any; returns the pid once it has ended. */
static pid_t child_burn(double seconds, pid_t wanted)
{
    pid_t pid = fork_checked();

    if (pid == 0) {
        if (!wanted || getpid() == wanted)
            burn_process(seconds);
        _exit(0);
    }
    (void)wait_checked(pid);
    return pid;
}

int main(int argc, char **argv)
{
    pid_t second = -1;

    if (argc != 3)
        workload_usage("pidreuse FILE MILLISECONDS");
    double seconds = argument_number(argv[2]) / 1e3;
    pid_t first = child_burn(seconds, 0);
    sleep_seconds(0.03);
    for (int i = 0; i < 10000 && first != second && ask_for(first) == 0; i++)
        second = child_burn(seconds, first);
    FILE *file = fopen(argv[1], "w");
    if (file == NULL || (first == second ? fprintf(file, "%d\n", (int)first) : fputs("no\n", file)) < 0 ||
        fclose(file) != 0)
        workload_fail(argv[1]);
    return 0;
}
