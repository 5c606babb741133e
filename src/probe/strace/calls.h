/*
 * The system calls that strace reports, counted by process: what our programs in the kernel keep in their
 * table, from strace's lines.
 *
 * strace names threads, not processes. Whose thread one is, is known from what is listed when strace attaches
 * (strace_calls_know), and of later ones from the clone that made them; only where its first line comes
 * before that clone has returned is /proc asked, and if the thread has gone by then, its calls wait until the
 * clone says. What is kept is bounded; what does not fit is counted as lost.
 *
 * One thread adds, another may read at the same time.
 */
#ifndef METRON_PROBE_STRACE_CALLS_H
#define METRON_PROBE_STRACE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/syscall_table.h"

struct strace_calls;

/* NULL: out of memory. */
struct strace_calls *strace_calls_new(const char *proc_root);
void strace_calls_free(struct strace_calls *calls);

/* strace has attached, and this is a thread of that process. */
void strace_calls_know(struct strace_calls *calls, pid_t thread, pid_t process);
/* What this process calls before it executes a program is not counted. */
void strace_calls_from_exec(struct strace_calls *calls, pid_t process);
/* What strace has written, in pieces of any size. */
void strace_calls_add(struct strace_calls *calls, const char *bytes, size_t length);
/* strace has ended: nothing is added any more, nobody is followed. */
void strace_calls_close(struct strace_calls *calls);
bool strace_calls_is_closed(struct strace_calls *calls);

/* Of the first process of this pid whose id is above `after` and whose exit, if it was reported, has not been
 * read; 0: none. An id is never used twice in this metron, and a later process has a higher one. */
uint32_t strace_calls_id(struct strace_calls *calls, pid_t pid, uint32_t after);
/* Monotonic: from then on strace follows every child of those that it follows; 0: not yet. */
uint64_t strace_calls_attached_ns(struct strace_calls *calls);
/* Whether its exit has not been reported yet. */
bool strace_calls_follows(struct strace_calls *calls, uint32_t id);
/* Visits what each process has called since the last reading. */
typedef void strace_calls_visit(void *context, uint32_t id, pid_t process, const struct syscall_table *more);
void strace_calls_read(struct strace_calls *calls, strace_calls_visit *visit, void *context);
uint64_t strace_calls_lost(struct strace_calls *calls);

#endif
