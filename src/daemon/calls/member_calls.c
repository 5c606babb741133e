#include "daemon/calls/member_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "loop/process_calls.h"
#include "tree/groups.h"

struct member_calls {
    struct tree *tree;
    struct bpf_programs *programs;
    struct call_books *books;
    struct process_calls *processes;
    pid_t *pids; /* scratch of member_calls_mark */
    size_t pid_capacity;
    uint64_t lost; /* by the kernel, as was last told */
    bool failing;
};

static struct call_book_key book_of(const struct counted *counted)
{
    return (struct call_book_key){counted->place.job, counted->place.has_sheet, counted->place.sheet_num};
}

static void add_to_book(struct call_books *books, struct call_book_key key, const char *name,
                        const struct syscall_totals *more)
{
    struct syscall_table *table = call_books_find(books, key);

    if (table)
        (void)syscall_table_add_named(table, name, more);
}

static bool take(void *owner, struct counted *counted, const char *name, const struct syscall_totals *more)
{
    const struct member_calls *members = owner;

    counted->place.marked = true; /* from its birth, or by us */
    if (counted->place.in_job)
        add_to_book(members->books, (struct call_book_key){.job = counted->place.job}, name, more);
    if (counted->place.in_sheet)
        add_to_book(members->books, book_of(counted), name, more);
    return counted->place.in_sheet || (counted->place.in_job && !counted->place.has_sheet);
}

struct member_calls *member_calls_new(struct tree *tree, struct bpf_programs *programs,
                                      struct call_books *books)
{
    struct member_calls *members = calloc(1, sizeof(*members));
    const struct process_calls_options options = {
        .tree = tree, .programs = programs, .owner = members, .take = take};

    if (!members)
        return NULL;
    *members = (struct member_calls){.tree = tree, .programs = programs, .books = books};
    members->processes = process_calls_new(&options);
    if (members->processes)
        return members;
    free(members);
    return NULL;
}

void member_calls_free(struct member_calls *members)
{
    if (!members)
        return;
    process_calls_free(members->processes);
    free(members->pids);
    free(members);
}

/* While the job is known: what is told later, of one that has ended, goes to books that are still there. */
static void open_books(struct member_calls *members, const struct counted *counted)
{
    if (counted->place.in_job)
        (void)call_books_open(members->books, (struct call_book_key){.job = counted->place.job});
    if (counted->place.in_sheet)
        (void)call_books_open(members->books, book_of(counted));
}

/* Where a process is now. NULL: in no job, or for want of memory. */
static struct counted *place(struct member_calls *members, const struct process *process)
{
    const struct group *group = process->group, *top = group;
    struct counted *counted = group ? process_calls_of(members->processes, process) : NULL;

    if (!counted)
        return NULL;
    while (top->above)
        top = top->above;
    bool has_moved = counted->place.group != group->serial;
    counted->is_known = true;
    counted->place.group = group->serial;
    counted->place.in_job = !top->closed;
    counted->place.in_sheet = group->has_sheet && !group->closed;
    counted->place.job = top->serial;
    counted->place.has_sheet = group->has_sheet;
    counted->place.sheet_num = group->sheet_num;
    if (has_moved) {
        syscall_table_clear(&counted->table);
        open_books(members, counted);
    }
    return counted;
}

void member_calls_end(struct member_calls *members, const struct process *process)
{
    if (place(members, process))
        process_calls_leave(members->processes, process);
}

static void tell_trouble(struct member_calls *members, int code)
{
    uint64_t lost = process_calls_lost(members->processes);

    if (code < 0 && !members->failing)
        log_warning("system calls of jobs cannot be read: %s", strerror(-code));
    members->failing = code < 0;
    if (lost > 0 && members->lost == 0)
        log_warning("the kernel's table of system calls is full: the counts of jobs are too low");
    members->lost = lost;
}

void member_calls_take(struct member_calls *members)
{
    tree_read_events(members->tree);
    for (size_t i = 0; i < tree_count(members->tree); i++)
        (void)place(members, tree_process(members->tree, i));
    tell_trouble(members, process_calls_read(members->processes));
}

static void mark_all(struct member_calls *members, size_t count, bool marked)
{
    int code = count ? bpf_programs_mark(members->programs, members->pids, count, marked) : 0;

    if (code < 0)
        tell_trouble(members, code);
}

void member_calls_mark(struct member_calls *members)
{
    struct counted *counted;
    size_t count = 0;

    for (size_t i = 0; i < tree_count(members->tree); i++) {
        const struct process *process = tree_process(members->tree, i);
        counted = place(members, process);
        if (!counted || !counted->place.in_job || counted->place.marked || counted->has_left ||
            process->announced_exit)
            continue;
        if (ARRAY_RESERVE(members->pids, members->pid_capacity, count + 1) < 0)
            break;
        members->pids[count++] = (pid_t)process->subject.id;
        counted->place.marked = true;
    }
    mark_all(members, count, true);
    count = 0;
    for (counted = NULL; (counted = process_calls_next(members->processes, counted));)
        if (counted->place.group && !counted->place.in_job && counted->place.marked && !counted->has_left &&
            ARRAY_RESERVE(members->pids, members->pid_capacity, count + 1) == 0) {
            members->pids[count++] = (pid_t)counted->subject.id;
            counted->place.marked = false;
        }
    mark_all(members, count, false);
}

void member_calls_fill(struct member_calls *members, struct snapshot *snapshot)
{
    calls_fill(members->processes, snapshot);
}
