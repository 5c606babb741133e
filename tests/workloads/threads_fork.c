/*
 * usage: threads_fork THREADS CHILDREN MILLISECONDS
 *
 * THREADS threads, each of which burns MILLISECONDS itself and then has CHILDREN children, one after the
 * other, which burn MILLISECONDS each. A child's parent is the thread, listed in that thread's own file.
 */
#include <pthread.h>

#include "workload.h"

struct plan {
    long children;
    double seconds;
};

static void *thread_main(void *argument)
{
    const struct plan *plan = argument;

    burn_thread(plan->seconds);
    for (long i = 0; i < plan->children; i++) {
        pid_t pid = fork_checked();
        if (pid == 0) {
            burn_process(plan->seconds);
            _exit(0);
        }
        (void)wait_checked(pid);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        workload_usage("threads_fork THREADS CHILDREN MILLISECONDS");
    long count = argument_integer(argv[1]);
    struct plan plan = {.children = argument_integer(argv[2]), .seconds = argument_number(argv[3]) / 1e3};
    pthread_t threads[64];

    if (count < 1 || count > 64)
        workload_usage("threads_fork THREADS(1..64) CHILDREN MILLISECONDS");
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, thread_main, &plan) != 0)
            workload_fail("pthread_create");
    for (long i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
    return 0;
}
