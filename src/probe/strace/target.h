/*
 * Whether a process can be traced, and if not, why: what the kernel's files say of it before strace is
 * started, and after it was refused. A process has at most one tracer.
 */
#ifndef METRON_PROBE_STRACE_TARGET_H
#define METRON_PROBE_STRACE_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* 0 if nothing is known to stand against it. -ESRCH: it is gone or a zombie; -EBUSY: it, or a thread of it,
 * has a tracer, which is named; -EINVAL: it is a thread, not a process; -EPERM: it is hidden from this user.
 */
int strace_target_check(const char *proc_root, pid_t pid, struct metron_error *error);
/* After the kernel has refused: the likeliest reason. Always negative: as above, or -EPERM. */
int strace_target_refused(const char *proc_root, pid_t pid, struct metron_error *error);
/* Who traces this process: a pid, 0 for nobody (or one of another pid namespace), -ESRCH. */
pid_t strace_target_tracer(const char *proc_root, pid_t pid);
/* Of which process this is a thread; a negative errno: it has gone. */
pid_t strace_target_process(const char *proc_root, pid_t thread);
/* Visits the threads of a process, if it is there. */
void strace_target_threads(const char *proc_root, pid_t pid, void (*visit)(void *context, pid_t thread),
                           void *context);
/* How often a sleeping process has left its CPU: one that has not since was asleep all the time. -1: it does
 * not sleep, or is not there. */
long strace_target_switches(const char *proc_root, pid_t pid);
/* Whether it, or a descendant, waits where no signal and no tracer reaches it, as in vfork. Of many
 * descendants only the first are looked at, of threads only the main ones. */
bool strace_target_is_held(const char *proc_root, pid_t pid);

#endif
