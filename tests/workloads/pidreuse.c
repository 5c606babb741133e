/*
 * usage: pidreuse FILE MILLISECONDS
 *
 * Two processes with one pid, one after the other, each living and burning MILLISECONDS of CPU: the second's
 * pid is asked for with clone3 (root only), and where somebody else has it by then, another pair is made.
 * FILE gets "PID" of the pair, or "no" if no pid can be asked for.
 */
#include <linux/sched.h>
#include <sys/syscall.h>

#include "workload.h"

#define PAIRS 100

/* Burns, and returns its pid once it has ended; -1: it cannot have the wanted pid (0: any). */
static pid_t child_burn(double seconds, pid_t wanted)
{
    struct clone_args args = {.exit_signal = SIGCHLD};

    if (wanted) {
        args.set_tid = (uintptr_t)&wanted;
        args.set_tid_size = 1;
    }
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        burn_process(seconds);
        _exit(0);
    }
    if (pid > 0)
        (void)wait_checked(pid);
    return pid;
}

int main(int argc, char **argv)
{
    pid_t first = 0, second = -1;

    if (argc != 3)
        workload_usage("pidreuse FILE MILLISECONDS");
    double seconds = argument_number(argv[2]) / 1e3;
    for (int i = 0; i < PAIRS && second < 0 && (i == 0 || errno == EEXIST); i++) {
        first = child_burn(seconds, 0);
        sleep_seconds(0.03);
        second = child_burn(seconds, first);
    }
    FILE *file = fopen(argv[1], "w");
    if (file == NULL || (second > 0 ? fprintf(file, "%d\n", (int)first) : fputs("no\n", file)) < 0 ||
        fclose(file) != 0)
        workload_fail(argv[1]);
    return 0;
}
