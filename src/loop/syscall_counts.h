/*
 * Where the counts of system calls of a run or an attachment come from: our programs in the kernel, else
 * strace, attached to a command before it executes anything. The collector (collect/syscall.c) sees one
 * interface for both.
 */
#ifndef METRON_LOOP_SYSCALL_COUNTS_H
#define METRON_LOOP_SYSCALL_COUNTS_H

#include <stdbool.h>
#include <sys/resource.h>

#include "base/error.h"
#include "loop/kernel_events.h"
#include "tree/tree.h"

struct syscall_counts;
struct syscall_source;

/* Chooses: our programs where `events` has them, else strace. NULL and why neither can be had. */
struct syscall_counts *syscall_counts_new(const struct kernel_events *events, struct metron_error *error);
void syscall_counts_free(struct syscall_counts *counts);

const struct syscall_source *syscall_counts_source(struct syscall_counts *counts);
/* Whose calls they are, once there is a tree; `all_are_ours`: strace follows nobody else. -ENOMEM. */
int syscall_counts_set_tree(struct syscall_counts *counts, struct tree *tree, bool all_are_ours);
/* A member leaves the tree. */
void syscall_counts_leave(struct syscall_counts *counts, const struct process *process);

/* strace only, nothing to do otherwise. Before the command is started: makes the tracer, of which the pid is
 * returned (the command lets it, where Yama asks for that); 0: none. */
pid_t syscall_counts_prepare(struct syscall_counts *counts);
/* The command exists and waits: attaches. What goes wrong is remembered (syscall_counts_reason). */
void syscall_counts_attach(struct syscall_counts *counts, pid_t command);
/* Instead of those two: attaches to the members of the tree, which run already; to `first` at least. */
void syscall_counts_attach_running(struct syscall_counts *counts, pid_t first);
/* Whether a child that was reaped is the tracer. */
bool syscall_counts_reaped(struct syscall_counts *counts, pid_t pid, int wait_status,
                           const struct rusage *usage);
/* The target has ended, as far as the run is concerned: the last counts. */
void syscall_counts_finish(struct syscall_counts *counts);

const char *syscall_counts_reason(const struct syscall_counts *counts); /* why there are none; NULL */
const char *syscall_counts_note(const struct syscall_counts *counts);   /* why some are missing; NULL */
uint64_t syscall_counts_lost(const struct syscall_counts *counts);
double syscall_counts_helper_seconds(const struct syscall_counts *counts); /* CPU of strace */

#endif
