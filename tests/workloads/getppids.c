/*
 * usage: getppids COUNT[+COUNT...] [CHILD_COUNT...]
 *
 * COUNT system calls getppid, of which none is left out by the compiler or by libc, and as many as the
 * numbers after it say in a thread each; then, one after the other, a child for each further argument. Each
 * process prints "PID COUNT SECONDS": all of its calls, and how long they took. "-" as the last argument:
 * then waits for a line on standard input, or its end.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "workload.h"

static void *call_in_thread(void *count)
{
    for (long i = 0; i < *(long *)count; i++)
        (void)syscall(SYS_getppid);
    return NULL;
}

static void call_many(const char *counts)
{
    double begin = clock_seconds(CLOCK_MONOTONIC);
    char line[96], *rest;
    long count = strtol(counts, &rest, 10);

    (void)call_in_thread(&count);
    while (*rest == '+') {
        long more = strtol(rest + 1, &rest, 10);
        pthread_t thread;

        if (pthread_create(&thread, NULL, call_in_thread, &more) != 0 || pthread_join(thread, NULL) != 0)
            workload_fail("pthread_create");
        count += more;
    }
    int length = snprintf(line, sizeof(line), "%d %ld %.9f\n", (int)getpid(), count,
                          clock_seconds(CLOCK_MONOTONIC) - begin);
    if (write(1, line, (size_t)length) != length)
        workload_fail("write");
}

int main(int argc, char **argv)
{
    char byte;

    if (argc < 2)
        workload_usage("getppids COUNT[+COUNT...] [CHILD_COUNT...] [-]");
    call_many(argv[1]);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-") == 0)
            return read(0, &byte, 1) < 0;
        pid_t pid = fork_checked();
        if (pid == 0) {
            call_many(argv[i]);
            _exit(0);
        }
        if (wait_checked(pid) != 0)
            return 1;
    }
    return 0;
}
