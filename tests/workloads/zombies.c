/*
 * usage: zombies [-r] COUNT MILLISECONDS SECONDS
 *
 * COUNT children, each using MILLISECONDS of CPU, are left unreaped for SECONDS. Then this process reaps them
 * (-r) or leaves without having done so.
 */
#include <stdbool.h>

#include "workload.h"

int main(int argc, char **argv)
{
    bool reap = false;
    int option;

    while ((option = getopt(argc, argv, "r")) != -1) {
        if (option != 'r')
            workload_usage("zombies [-r] COUNT MILLISECONDS SECONDS");
        reap = true;
    }
    if (argc - optind != 3)
        workload_usage("zombies [-r] COUNT MILLISECONDS SECONDS");
    for (long i = argument_integer(argv[optind]); i > 0; i--) {
        siginfo_t info;
        pid_t pid = fork_checked();
        if (pid == 0) {
            burn_process(argument_number(argv[optind + 1]) / 1e3);
            _exit(0);
        }
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0)
            workload_fail("waitid");
    }
    sleep_seconds(argument_number(argv[optind + 2]));
    while (reap && wait(NULL) > 0)
        ;
    return 0;
}
