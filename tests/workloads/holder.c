/*
 * usage: holder SECONDS [EXIT_CODE]
 *
 * Prints "before", leaves a grandchild behind that keeps stdout and stderr open for SECONDS, and exits.
 */
#include "workload.h"

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3)
        workload_usage("holder SECONDS [EXIT_CODE]");
    (void)puts("before");
    (void)fflush(stdout);
    pid_t pid = fork_checked();
    if (pid == 0) {
        if (fork_checked() == 0)
            sleep_seconds(argument_number(argv[1]));
        _exit(0);
    }
    (void)wait_checked(pid);
    _exit(argc > 2 ? (int)argument_integer(argv[2]) : 0);
}
