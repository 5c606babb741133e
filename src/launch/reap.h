/*
 * Collecting the dead: our own children, and the orphans we adopt as sub-reaper. A child that has itself
 * traced by us (ptrace, PTRACE_TRACEME) is detached as soon as it stops: no stop and no thread is ever taken
 * for an ended child. Only the thread that started the children can detach them: it has to be the one that
 * calls this.
 */
#ifndef METRON_LAUNCH_REAP_H
#define METRON_LAUNCH_REAP_H

#include <sys/resource.h>
#include <sys/types.h>

/* Makes this process adopt orphaned descendants of its children. 0 or a negative errno. */
int launch_become_subreaper(void);

struct reaped {
    pid_t pid;
    int wait_status;
    struct rusage usage; /* its own and its waited-for children's */
};
/* The pid of an ended child (`pid`, or any with -1) that is not reaped yet, and stays so; 0 if none has
 * ended, -ECHILD if there are no children at all. */
pid_t launch_ended(pid_t pid);
/* Reaps one ended child (`pid`, or any with -1) without waiting: 1 if one was reaped, 0 if none has ended,
 * -ECHILD if there are no children at all (or `pid` is none of ours). */
int launch_reap(pid_t pid, struct reaped *out);

#endif
