/*
 * usage: forkstorm [-x | -i | -n] COUNT MILLISECONDS
 *
 * COUNT children one after the other, each using MILLISECONDS of CPU by its own process clock.
 *   (none)  the parent waits for each child
 *   -x      each child first execs this program anew, then burns
 *   -i      SIGCHLD is ignored: the kernel reaps the children, their CPU reaches no parent
 *   -n      each child is born of an intermediate parent that leaves at once without waiting for it
 */
#include <signal.h>

#include "workload.h"

enum way { WAY_WAIT, WAY_EXEC, WAY_IGNORE, WAY_LEAVE };

static _Noreturn void child_main(enum way way, double seconds, const char *milliseconds)
{
    if (way == WAY_EXEC) {
        (void)execl("/proc/self/exe", "forkstorm-leaf", "-l", "1", milliseconds, (char *)NULL);
        workload_fail("exec");
    }
    burn_process(seconds);
    _exit(0);
}

/* Returns once the child has ended, whoever reaps it: the pipe it holds closes. */
static void storm_step(enum way way, double seconds, const char *milliseconds)
{
    int held[2];

    if (pipe(held) != 0)
        workload_fail("pipe");
    pid_t pid = fork_checked();
    if (pid == 0) {
        if (way == WAY_LEAVE && fork_checked() != 0)
            _exit(0);
        child_main(way, seconds, milliseconds);
    }
    (void)close(held[1]);
    if (way == WAY_LEAVE || way == WAY_IGNORE) {
        char byte;
        while (read(held[0], &byte, 1) < 0 && errno == EINTR)
            ;
    }
    (void)close(held[0]);
    if (way != WAY_IGNORE)
        (void)wait_checked(pid);
}

int main(int argc, char **argv)
{
    enum way way = WAY_WAIT;
    int option;

    while ((option = getopt(argc, argv, "xinl")) != -1) {
        switch (option) {
        case 'x':
            way = WAY_EXEC;
            break;
        case 'i':
            way = WAY_IGNORE;
            break;
        case 'n':
            way = WAY_LEAVE;
            break;
        case 'l': /* the exec'ed child itself: its clock goes on through exec, so burn up to the mark */
            burn_until(CLOCK_PROCESS_CPUTIME_ID, argument_number(argv[argc - 1]) / 1e3);
            return 0;
        default:
            workload_usage("forkstorm [-x | -i | -n] COUNT MILLISECONDS");
        }
    }
    if (argc - optind != 2)
        workload_usage("forkstorm [-x | -i | -n] COUNT MILLISECONDS");
    if (way == WAY_IGNORE && signal(SIGCHLD, SIG_IGN) == SIG_ERR)
        workload_fail("signal");
    for (long i = argument_integer(argv[optind]); i > 0; i--)
        storm_step(way, argument_number(argv[optind + 1]) / 1e3, argv[optind + 1]);
    return 0;
}
