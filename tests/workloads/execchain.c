/*
 * usage: execchain TIMES MILLISECONDS
 *
 * Burns MILLISECONDS, then execs itself, TIMES times over, without a fork: one process, many programs.
 */
#include "workload.h"

int main(int argc, char **argv)
{
    char left[32];

    if (argc != 3)
        workload_usage("execchain TIMES MILLISECONDS");
    burn_process(argument_number(argv[2]) / 1e3);
    long times = argument_integer(argv[1]);
    if (times == 0)
        return 0;
    (void)snprintf(left, sizeof(left), "%ld", times - 1);
    (void)execl("/proc/self/exe", "execchain", left, argv[2], (char *)NULL);
    workload_fail("exec");
}
