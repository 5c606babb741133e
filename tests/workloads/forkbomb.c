/*
 * usage: forkbomb [-c CONCURRENT] [-p PAUSE] [-u PATH] SECONDS FILE EXIT_CODE
 *
 * Short children as fast as they can be made, or PAUSE seconds apart, at most CONCURRENT (default 16) at a
 * time, for SECONDS or until there is a file PATH. How many there were is written to FILE; then exits with
 * EXIT_CODE.
 */
#include "workload.h"

int main(int argc, char **argv)
{
    const char *usage = "forkbomb [-c CONCURRENT] [-p PAUSE] [-u PATH] SECONDS FILE EXIT_CODE", *until = NULL;
    double pause = 0;
    long concurrent = 16, running = 0, started = 0;
    int option;

    while ((option = getopt(argc, argv, "c:p:u:")) != -1) {
        if (option == 'c')
            concurrent = argument_integer(optarg);
        else if (option == 'p')
            pause = argument_number(optarg);
        else if (option == 'u')
            until = optarg;
        else
            workload_usage(usage);
    }
    if (argc - optind != 3)
        workload_usage(usage);
    double end = clock_seconds(CLOCK_MONOTONIC) + argument_number(argv[optind]);
    while (clock_seconds(CLOCK_MONOTONIC) < end && (until == NULL || access(until, F_OK) != 0)) {
        if (running >= concurrent && wait(NULL) > 0)
            running--;
        if (pause > 0)
            sleep_seconds(pause);
        pid_t pid = fork_checked();
        if (pid == 0)
            _exit((int)(started % 3));
        started++;
        running++;
    }
    while (wait(NULL) > 0)
        ;
    FILE *file = fopen(argv[optind + 1], "w");
    if (file == NULL || fprintf(file, "%ld\n", started) < 0 || fclose(file) != 0)
        workload_fail(argv[optind + 1]);
    return (int)argument_integer(argv[optind + 2]);
}
