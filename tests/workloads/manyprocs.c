/*
 * usage: manyprocs [-f FANOUT] [-o FILE] [-w INTERVAL] COUNT SECONDS
 *
 * COUNT processes (this one included), a tree in which each has up to FANOUT children (default COUNT: all
 * directly below the root). Once all live, their pids are written to FILE and "ready" is printed; they sleep,
 * and SECONDS later ("-": after a line on standard input) leave, leaves of the tree first. -w: each wakes
 * every INTERVAL seconds, so that none is idle.
 */
#include <poll.h>

#include "workload.h"

struct plan {
    long count, fanout;
    int born[2];         /* every process writes its pid here */
    double wake_seconds; /* 0: sleep to the end */
    int release[2];      /* only the root holds the write end: its closing lets everybody go */
};

/* Starts the children of `index` in a heap-shaped tree, and theirs. Returns only in the process it was called
 * in. */
static void grow(const struct plan *plan, long index);

static _Noreturn void member_main(const struct plan *plan, long index)
{
    char byte;
    pid_t self = getpid();

    if (write(plan->born[1], &self, sizeof(self)) != (ssize_t)sizeof(self))
        workload_fail("write");
    grow(plan, index);
    struct pollfd released = {.fd = plan->release[0], .events = POLLIN};
    int wake_ms = plan->wake_seconds > 0 ? (int)(1000 * plan->wake_seconds) : -1;
    while (poll(&released, 1, wake_ms) <= 0)
        ;
    (void)!read(plan->release[0], &byte, 1);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    _exit(0);
}

static void grow(const struct plan *plan, long index)
{
    for (long i = 1; i <= plan->fanout; i++) {
        long child = index * plan->fanout + i;
        if (child >= plan->count)
            break;
        if (fork_checked() == 0) {
            if (index == 0) {
                (void)close(plan->release[1]);
                (void)close(plan->born[0]);
            }
            member_main(plan, child);
        }
    }
}

static void collect_pids(const struct plan *plan, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    pid_t pid;

    if (path != NULL && file == NULL)
        workload_fail(path);
    if (file != NULL)
        (void)fprintf(file, "%d\n", (int)getpid());
    for (long i = 1; i < plan->count; i++) {
        if (read(plan->born[0], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
            workload_fail("read");
        if (file != NULL)
            (void)fprintf(file, "%d\n", (int)pid);
    }
    if (file != NULL && fclose(file) != 0)
        workload_fail(path);
}

int main(int argc, char **argv)
{
    const char *usage = "manyprocs [-f FANOUT] [-o FILE] [-w INTERVAL] COUNT SECONDS";
    struct plan plan = {.fanout = 0};
    const char *path = NULL;
    int option;

    while ((option = getopt(argc, argv, "f:o:w:")) != -1) {
        if (option == 'f')
            plan.fanout = argument_integer(optarg);
        else if (option == 'o')
            path = optarg;
        else if (option == 'w')
            plan.wake_seconds = argument_number(optarg);
        else
            workload_usage(usage);
    }
    if (argc - optind != 2)
        workload_usage(usage);
    plan.count = argument_integer(argv[optind]);
    if (plan.fanout == 0)
        plan.fanout = plan.count;
    if (pipe(plan.born) != 0 || pipe(plan.release) != 0)
        workload_fail("pipe");
    grow(&plan, 0);
    collect_pids(&plan, path);
    (void)puts("ready");
    (void)fflush(stdout);
    hold(argv[optind + 1]);
    (void)close(plan.release[1]);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}
