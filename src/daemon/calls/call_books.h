/*
 * Books of system calls: what the processes of each job and of each of its sheets have called, added up.
 *
 * A book is known by the job's group (its serial is never given twice, its name may be) and the number of the
 * sheet; it outlives the sheet, so that another try goes on in it, and is forgotten with its job.
 */
#ifndef METRON_DAEMON_CALLS_CALL_BOOKS_H
#define METRON_DAEMON_CALLS_CALL_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "loop/process_calls.h"
#include "probe/syscall_table.h"
#include "schema/snapshot.h"

/* Hashed byte by byte: no holes. */
struct call_book_key {
    uint64_t job;       /* serial of the job's group */
    uint64_t has_sheet; /* 0: of the whole job */
    int64_t sheet_num;
};

struct call_books;

struct call_books *call_books_new(void);
void call_books_free(struct call_books *books);

/* The counts themselves, to be added to; made if they are not there yet. NULL for want of memory. */
struct syscall_table *call_books_open(struct call_books *books, struct call_book_key key);
/* The same, for what comes late: NULL if they are not there, or not any more. */
struct syscall_table *call_books_find(const struct call_books *books, struct call_book_key key);
/* As they are now, most time first; false: nothing was counted. They stay as they are until the same book is
 * viewed again or forgotten. */
bool call_books_view(struct call_books *books, struct call_book_key key, const struct snapshot_call **calls,
                     size_t *count);
/* Those of a job and of all its sheets. */
void call_books_forget(struct call_books *books, uint64_t job);

/* What each process has called, into its place in the snapshot; only of those that are `marked`. */
void calls_fill(const struct process_calls *processes, struct snapshot *snapshot);
/* Calls, their names lasting, as a copy in the arena; NULL stays NULL. False: no memory, and there are none.
 */
bool calls_copy(struct arena *arena, const struct snapshot_call **calls, size_t count);

#endif
