/*
 * usage: teardown BURNERS SECONDS AFTER
 *
 * A pid namespace whose first process leaves while BURNERS others in it still live, each of which has used
 * SECONDS of CPU: the kernel ends them, and their time reaches no parent. Then this process itself uses AFTER
 * seconds, so that a total that only never falls shows what it lost. Exits 77 if no namespace may be made.
 */
#include <sched.h>

#include "workload.h"

static _Noreturn void burner_main(double seconds, int done)
{
    burn_process(seconds);
    if (write(done, "d", 1) != 1)
        workload_fail("write");
    for (;;)
        (void)pause();
}

/* The namespace's first process: leaves as soon as everybody has used his share. */
static _Noreturn void init_main(long burners, double seconds)
{
    int done[2];
    char byte;

    if (pipe(done) != 0)
        workload_fail("pipe");
    for (long i = 0; i < burners; i++)
        if (fork_checked() == 0)
            burner_main(seconds, done[1]);
    for (long i = 0; i < burners; i++)
        if (read(done[0], &byte, 1) != 1)
            workload_fail("read");
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        workload_usage("teardown BURNERS SECONDS AFTER");
    /* An ordinary user needs a user namespace around it. */
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        perror("unshare");
        return 77;
    }
    pid_t pid = fork_checked();
    if (pid == 0)
        init_main(argument_integer(argv[1]), argument_number(argv[2]));
    if (wait_checked(pid) != 0)
        return 97;
    burn_process(argument_number(argv[3]));
    return 0;
}
