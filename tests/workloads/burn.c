/*
 * usage: burn SECONDS [THREADS [AFTER_SECONDS]]
 *
 * Each thread (the main one included) uses SECONDS of CPU by its own clock, then the process lives on
 * AFTER_SECONDS ("-": for a line on standard input) and exits 0.
 */
#include <pthread.h>

#include "workload.h"

static void *burn_main(void *argument)
{
    burn_thread(*(double *)argument);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 4)
        workload_usage("burn SECONDS [THREADS [AFTER_SECONDS]]");
    double seconds = argument_number(argv[1]);
    long threads = argc > 2 ? argument_integer(argv[2]) : 1;
    pthread_t others[64];

    if (threads < 1 || threads > 64)
        workload_usage("burn SECONDS [THREADS up to 64 [AFTER_SECONDS]]");
    for (long i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, burn_main, &seconds) != 0)
            workload_fail("pthread_create");
    burn_thread(seconds);
    for (long i = 1; i < threads; i++)
        (void)pthread_join(others[i], NULL);
    if (argc > 3)
        hold(argv[3]);
    return 0;
}
