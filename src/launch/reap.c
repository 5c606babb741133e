/*
 * wait4 is the only call that gives a child's status and its resource usage together; after it the numbers
 * are nowhere else, so whoever reaps must keep them.
 */
#include "launch/reap.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

int launch_become_subreaper(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : -errno;
}

pid_t launch_ended(pid_t pid)
{
    siginfo_t child;
    int code;

    do {
        child.si_pid = 0; /* stays 0 if no child has ended */
        code = waitid(pid > 0 ? P_PID : P_ALL, pid > 0 ? (id_t)pid : 0, &child,
                      WEXITED | WNOHANG | WNOWAIT | __WALL);
    } while (code < 0 && errno == EINTR);
    return code < 0 ? -errno : child.si_pid;
}

int launch_reap(pid_t pid, struct reaped *out)
{
    pid_t found;

    /* __WALL: also children made by clone() with another exit signal than SIGCHLD, which an adopted orphan
     * may be; without it they would stay zombies for ever. */
    do {
        found = wait4(pid, &out->wait_status, WNOHANG | __WALL, &out->usage);
    } while (found < 0 && errno == EINTR);
    if (found <= 0)
        return found < 0 ? -errno : 0;
    out->pid = found;
    return 1;
}
