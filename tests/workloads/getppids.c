/*
 * usage: getppids COUNT [CHILD_COUNT...]
 *
 * COUNT system calls getppid, of which none is left out by the compiler or by libc, and then, one after the
 * other, a child for each further number, with as many. Each prints "PID COUNT SECONDS": how long its loop
 * took.
 */
#include <sys/syscall.h>

#include "workload.h"

static void call_many(long count)
{
    double begin = clock_seconds(CLOCK_MONOTONIC);
    char line[96];

    for (long i = 0; i < count; i++)
        (void)syscall(SYS_getppid);
    int length = snprintf(line, sizeof(line), "%d %ld %.9f\n", (int)getpid(), count,
                          clock_seconds(CLOCK_MONOTONIC) - begin);
    if (write(1, line, (size_t)length) != length)
        workload_fail("write");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        workload_usage("getppids COUNT [CHILD_COUNT...]");
    call_many(argument_integer(argv[1]));
    for (int i = 2; i < argc; i++) {
        pid_t pid = fork_checked();
        if (pid == 0) {
            call_many(argument_integer(argv[i]));
            _exit(0);
        }
        if (wait_checked(pid) != 0)
            return 1;
    }
    return 0;
}
