/*
 * usage: closestdio SECONDS EXIT_CODE
 *
 * Closes descriptors 0, 1 and 2 at once, burns SECONDS of CPU and exits with EXIT_CODE.
 */
#include "workload.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        workload_usage("closestdio SECONDS EXIT_CODE");
    for (int i = 0; i < 3; i++)
        (void)close(i);
    burn_process(argument_number(argv[1]));
    _exit((int)argument_integer(argv[2]));
}
