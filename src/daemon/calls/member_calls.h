/*
 * System calls of the members of jobs, counted inside the kernel (src/bpf/syscalls.bpf.c).
 *
 * Whoever is in a job that runs is marked there, and so are its children from their birth; who is in none any
 * more is unmarked. The kernel's counts only grow. At every look what was added since the look before goes to
 * the books of the sheet and of the job that the process is in at that time: so a look comes before anybody
 * changes places (member_calls_take), and another after it (member_calls_mark). Nothing is lost of processes
 * that came and went between two looks: the kernel keeps their counts until they are taken.
 */
#ifndef METRON_DAEMON_CALLS_MEMBER_CALLS_H
#define METRON_DAEMON_CALLS_MEMBER_CALLS_H

#include "daemon/calls/call_books.h"
#include "probe/bpf/programs.h"
#include "tree/tree.h"

struct member_calls;

/* All are borrowed. NULL for want of memory. */
struct member_calls *member_calls_new(struct tree *tree, struct bpf_programs *programs,
                                      struct call_books *books);
void member_calls_free(struct member_calls *members);

/* What was called until now goes to where everybody is. Never within a pass. */
void member_calls_take(struct member_calls *members);
/* Who has come to a job is counted from now on, who is in none any more is not. Never within a pass. */
void member_calls_mark(struct member_calls *members);
/* A process leaves the tree, its group still known: its last counts are taken at the next look. */
void member_calls_end(struct member_calls *members, const struct process *process);
/* What each has called since it came to its sheet, into the snapshot. */
void member_calls_fill(struct member_calls *members, struct snapshot *snapshot);

#endif
