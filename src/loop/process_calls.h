/*
 * The book of system calls by process, of a run and of the daemon, filled by our programs in the kernel or by
 * strace.
 *
 * Both are read now and then (process_calls_read), and both keep until then what processes have called that
 * came and went in between. The kernel counts everybody it follows, helpers of metron too: only the calls of
 * those that the owner knows are taken. strace follows nobody but whom it was attached to, and what they
 * start.
 */
#ifndef METRON_LOOP_PROCESS_CALLS_H
#define METRON_LOOP_PROCESS_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "probe/bpf/programs.h"
#include "probe/strace/calls.h"
#include "probe/syscall_table.h"
#include "schema/subject.h"
#include "tree/tree.h"

/* A process that is or was counted. */
struct counted {
    uint32_t id;                /* in the tables of the kernel, or of strace */
    struct subject subject;     /* serial 0: the tree does not know it */
    bool is_known;              /* its calls are taken, at the next reading the earlier ones too */
    bool has_left;              /* the tree; its last calls are taken at the next reading, then it goes */
    struct syscall_table table; /* what was taken; the owner may clear it */
    struct {                    /* the daemon's: whose books it is in (daemon/calls/member_calls.c) */
        uint64_t group, job, has_sheet;
        int64_t sheet_num;
        bool in_job, in_sheet, marked;
    } place;
    /* process_calls.c's own: */
    bool is_over;
    unsigned readings; /* in which the tree did not know it, or strace had seen it exit */
    struct seen_call *seen;
    size_t seen_count, seen_capacity;
    UT_hash_handle hh;
};

struct process_calls_options {
    struct tree *tree;             /* borrowed, as are these */
    struct bpf_programs *programs; /* either, */
    struct strace_calls *strace;   /* or */
    bool all_are_ours;             /* also those that the tree does not know */
    bool lost_are_ours;            /* also those, where the kernel's events were lost */
    void *owner;
    /* `more` of one that is known; false: it is not to be in its table. */
    bool (*take)(void *owner, struct counted *counted, const char *name, const struct syscall_totals *more);
    /* So many of its calls of this name returned this error; NULL: not wanted. */
    void (*take_failure)(void *owner, const char *name, int error, uint64_t count);
};

struct process_calls;

/* NULL: out of memory. */
struct process_calls *process_calls_new(const struct process_calls_options *options);
void process_calls_free(struct process_calls *calls);

/* Of a member of the tree, as far as the kernel counts it. NULL: it is not counted, or out of memory. With
 * strace a reading finds the members. */
struct counted *process_calls_of(struct process_calls *calls, const struct process *process);
/* The member leaves the tree. */
void process_calls_leave(struct process_calls *calls, const struct process *process);

/* Takes what was called since the last reading. 0 or a negative errno. Waits a moment where a process has
 * left and strace has not reported that yet. */
int process_calls_read(struct process_calls *calls);
/* Calls that found no place. */
uint64_t process_calls_lost(const struct process_calls *calls);

/* All of them, in any order; begin with NULL. Those that had left are there until the next reading. */
struct counted *process_calls_next(const struct process_calls *calls, const struct counted *before);

#endif
