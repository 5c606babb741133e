/*
 * The program `strace`, attached to running processes and to whatever they start from then on: to count their
 * system calls, or for a full trace.
 *
 * It is made in two steps, so that its pid is known before it attaches: strace_start makes the process, which
 * waits; strace_release names the processes and lets it go. A process that is to be traced under Yama can
 * permit exactly that pid in between (prctl PR_SET_PTRACER).
 *
 * strace is a child of ours: a caller that follows processes must know it as none of them, and a caller that
 * waits for any child must hand on what it got (strace_reaped). It ends when the thread that started it ends,
 * however that comes about, and a target is released unharmed when strace ends, however that comes about. The
 * children that strace forks end when our process does: the kernel watches a descriptor of ours for that, so
 * a process that we fork and that outlives us must close what it inherited.
 *
 * While traced, every system call stops its process twice: a loop of short calls slows down by a factor of 50
 * and more. What strace writes has to be read: once its pipe is full (up to 1 MiB), strace and with it the
 * processes wait. Calls that are counted are read by a thread of this file, so that they wait only while
 * metron itself is stopped (SIGSTOP).
 */
#ifndef METRON_PROBE_STRACE_PROGRAM_H
#define METRON_PROBE_STRACE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/strace/calls.h"

struct strace_run; /* opaque */

/* Whether there is a strace in the absolute folders of PATH. 0, -ENOENT, -EIO when broken on purpose. */
int strace_available(struct metron_error *error);

/* Makes the process, which waits for strace_release. With `calls` (borrowed until strace_stop or strace_free)
 * the system calls are counted in there; without, they are a full trace, with a time (-tt -T) on each line,
 * to be read from strace_output_fd all the time. 0; -ENOENT: strace is not installed; another negative errno.
 * On failure nothing is left behind. */
int strace_start(struct strace_calls *calls, struct strace_run **out, struct metron_error *error);
/* Frees everything; one that still runs is told to detach, after a moment killed, and waited for. NULL is
 * allowed. */
void strace_free(struct strace_run *run);

/* To be called with 1 to many processes, all their threads included; the first is the one that must succeed.
 * -ESRCH, -EBUSY, -EINVAL: one of them is gone (the first), traced already, or a thread
 * (probe/strace/target.h): strace does not attach to any. */
int strace_release(struct strace_run *run, const pid_t *pids, size_t count, struct metron_error *error);
/* Waits until strace has attached to all that are still there. From the moment this returns 0, no call of the
 * first is missed. -ETIME; -EPERM: not permitted, with the reason; -ESRCH, -EBUSY; -EIO: strace failed, with
 * its own words. */
int strace_wait_attached(struct strace_run *run, int timeout_ms, struct metron_error *error);

pid_t strace_pid(const struct strace_run *run);
/* Of a full trace: the read end of a pipe, at its end when strace has ended; borrowed. Else -1. */
int strace_output_fd(const struct strace_run *run);
/* The caller has waited for `pid`: true if that was our strace (which is then not waited for again). */
bool strace_reaped(struct strace_run *run, pid_t pid, int wait_status, const struct rusage *usage);
/* What strace itself used; NULL until it was waited for, or if somebody else did. */
const struct rusage *strace_usage(const struct strace_run *run);

/* Whether it has ended by itself, with the last of its targets; returns at once. */
bool strace_has_ended(struct strace_run *run);
/* Tells strace to detach and end, at a moment at which it can: within a fifth of a second. */
void strace_interrupt(struct strace_run *run);
/* Ends strace (it may have ended by itself, with the last of its targets) and waits for it, some seconds at
 * most, unless the caller has; then all it has written is counted. 0; -ETIME: it had to be killed, and a full
 * trace may lack its end; another negative errno: it had ended too early, and what is counted is a lower
 * bound. */
int strace_stop(struct strace_run *run, struct metron_error *error);

#endif
