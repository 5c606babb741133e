/*
 * wait4 is the only call that gives a child's status and its resource usage together; after it the numbers
 * are nowhere else, so the caller that reaps must keep them.
 *
 * A child that calls ptrace(PTRACE_TRACEME) makes its parent, metron, its tracer. From then on every signal
 * stops it until the tracer resumes it, an exec sends it SIGTRAP, and a thread that made the call stays a
 * zombie until the tracer waits for it. The kernel reports all of this to every wait, whatever events the
 * wait asks for. metron does not trace: it detaches such a child at its first stop, with the signal that
 * stopped it, and the child continues without a tracer.
 */
#include "launch/reap.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int launch_become_subreaper(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : -errno;
}

/* A child (`pid`, or any with -1) that has ended or, if we trace it, stopped; its event stays to be waited
 * for. Its pid, 0 or a negative errno. */
static pid_t find(pid_t pid, int which, siginfo_t *child)
{
    int code;

    do {
        child->si_pid = 0; /* stays 0 if there is none */
        code = waitid(pid > 0 ? P_PID : P_ALL, pid > 0 ? (id_t)pid : 0, child,
                      WEXITED | WNOHANG | WNOWAIT | which);
    } while (code < 0 && errno == EINTR);
    return code < 0 ? -errno : child->si_pid;
}

/* The SIGTRAP that the kernel sends at an exec names the process itself as its sender. */
static bool is_of_exec(pid_t pid, int signal)
{
    siginfo_t info;

    return signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 && info.si_code == SI_USER &&
           info.si_pid == pid;
}

/* False: a process has ended. True: it was a stop or the end of a thread, and is dealt with. */
static bool settle_tracee(const siginfo_t *found)
{
    pid_t pid = found->si_pid;
    siginfo_t stop;

    if (found->si_code == CLD_TRAPPED) {
        /* Take the event first, so that a stop that cannot be resumed is not found again and again. */
        (void)waitid(P_PID, (id_t)pid, &stop, WSTOPPED | WNOHANG | __WALL);
        uintptr_t signal = is_of_exec(pid, found->si_status) ? 0 : (uintptr_t)found->si_status;
        (void)ptrace(PTRACE_DETACH, pid, NULL, signal);
        return true;
    }
    /* A thread other than the main one is in no thread group of its own number. */
    if (syscall(SYS_tgkill, pid, pid, 0) == 0 || errno != ESRCH)
        return false;
    return wait4(pid, NULL, WNOHANG | __WALL, NULL) == pid;
}

pid_t launch_ended(pid_t pid)
{
    siginfo_t child;
    pid_t found;

    /* Threads of `pid` have other numbers. __WCLONE finds what we trace and leaves out ordinary children. */
    while (pid > 0 && find(-1, (int)__WCLONE, &child) > 0 && settle_tracee(&child))
        ;
    /* __WALL: also children made by clone() with another exit signal than SIGCHLD, which an adopted orphan
     * may be; without it they would stay zombies for ever. */
    do {
        found = find(pid, __WALL, &child);
    } while (found > 0 && settle_tracee(&child));
    return found;
}

int launch_reap(pid_t pid, struct reaped *out)
{
    pid_t found = launch_ended(pid);

    if (found <= 0)
        return found;
    do {
        pid = wait4(found, &out->wait_status, WNOHANG | __WALL, &out->usage);
    } while (pid < 0 && errno == EINTR);
    if (pid <= 0)
        return pid < 0 ? -errno : 0;
    out->pid = found;
    return 1;
}
