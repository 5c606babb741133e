/*
 * usage: leaderexit SECONDS
 *
 * The main thread leaves with pthread_exit (the process then shows as a zombie leader) while another thread
 * uses SECONDS of CPU, has a child that uses 100 ms more, and ends the process with 0.
 */
#include <pthread.h>

#include "workload.h"

static void *other_main(void *argument)
{
    burn_thread(*(double *)argument);
    pid_t pid = fork_checked();
    if (pid == 0) {
        burn_process(0.1);
        _exit(0);
    }
    (void)wait_checked(pid);
    exit(0);
}

int main(int argc, char **argv)
{
    static double seconds;
    pthread_t other;

    if (argc != 2)
        workload_usage("leaderexit SECONDS");
    seconds = argument_number(argv[1]);
    if (pthread_create(&other, NULL, other_main, &seconds) != 0)
        workload_fail("pthread_create");
    pthread_exit(NULL);
}
