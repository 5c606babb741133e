/*
 * System calls of sheets, counted by strace, where our programs in the kernel cannot be had.
 *
 * When a sheet has begun, strace is attached to the process that was announced with it and to those of the
 * sheet that live by then; when it has ended, strace is asked to detach. What it has counted goes to the
 * books at every tick, the last of it once strace has ended. Each has a thread of its own, which waits for it
 * to attach and to detach: neither the loop nor a client does. Nothing of this harms a process but its speed.
 */
#ifndef METRON_DAEMON_CALLS_SHEET_STRACES_H
#define METRON_DAEMON_CALLS_SHEET_STRACES_H

#include <sys/types.h>
#include <uv.h>

#include "daemon/calls/call_books.h"

struct sheet_straces;

struct sheet_straces_options {
    uv_loop_t *loop; /* borrowed, as is all that follows */
    struct tree *tree;
    struct call_books *books;
    void *owner;
    /* The books of this sheet and of its job have got something. */
    void (*on_counted)(void *owner, struct call_book_key key);
};

struct sheet_straces *sheet_straces_new(const struct sheet_straces_options *options);
/* `pids`: the announced process, then others of the sheet; copied, as is the id. The job is known: its books
 * are opened. */
void sheet_straces_begin(struct sheet_straces *straces, struct call_book_key key, const char *job_id,
                         const pid_t *pids, size_t count);
/* The sheet has ended; without a sheet in the key: the job, and all its sheets with it. */
void sheet_straces_end(struct sheet_straces *straces, struct call_book_key key);
/* At a tick: takes what was counted since, and what each process has called into the snapshot. */
void sheet_straces_fill(struct sheet_straces *straces, struct snapshot *snapshot);
/* The loop is about to end: all detach. After that nothing is counted any more. */
void sheet_straces_stop(struct sheet_straces *straces);
/* After the loop has ended; waits until all have detached. NULL is allowed. */
void sheet_straces_free(struct sheet_straces *straces);

#endif
