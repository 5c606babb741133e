#include "daemon/calls/member_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/log.h"
#include "tree/groups.h"

/* The kernel may count for one that the tree has not heard of yet: so many looks later it is nobody's. */
#define UNKNOWN_LOOKS 3

struct seen_call {
    uint32_t number;
    struct syscall_totals totals;
};

/* A process that is or was counted, by its id in the kernel's tables. */
struct counted {
    uint32_t id;
    pid_t pid;
    uint64_t group;          /* serial of the group it is in; 0: not known */
    struct call_book_key in; /* whose books */
    bool in_job, in_sheet;   /* which of them are open */
    bool marked;             /* in the kernel, as far as is known here */
    bool ended;              /* at the next look it is forgotten, there and here */
    unsigned unknown_looks;
    struct seen_call *seen; /* as the kernel last told */
    size_t seen_count, seen_capacity;
    struct syscall_table since; /* it came to its sheet, or to its job without one */
    UT_hash_handle hh;
};

struct member_calls {
    struct tree *tree;
    struct bpf_programs *programs;
    struct call_books *books;
    struct counted *by_id;
    pid_t *pids; /* scratch of member_calls_mark */
    size_t pid_capacity;
    uint64_t lost; /* by the kernel, as was last told */
    bool failing;
};

struct member_calls *member_calls_new(struct tree *tree, struct bpf_programs *programs,
                                      struct call_books *books)
{
    struct member_calls *members = calloc(1, sizeof(*members));

    if (members)
        *members = (struct member_calls){.tree = tree, .programs = programs, .books = books};
    return members;
}

static void counted_free(struct member_calls *members, struct counted *counted)
{
    HASH_DEL(members->by_id, counted); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
    syscall_table_fini(&counted->since);
    free(counted->seen);
    free(counted);
}

void member_calls_free(struct member_calls *members)
{
    struct counted *counted, *next;

    if (!members)
        return;
    HASH_ITER (hh, members->by_id, counted, next)
        counted_free(members, counted);
    free(members->pids);
    free(members);
}

static struct counted *counted_find(const struct member_calls *members, uint32_t id)
{
    struct counted *counted;

    HASH_FIND(hh, members->by_id, &id, sizeof(id), counted);
    return counted;
}

static struct counted *counted_of(struct member_calls *members, uint32_t id)
{
    struct counted *counted;

    HASH_FIND_OR_ADD(members->by_id, id, &id, counted);
    return counted;
}

/* While the job is known: what is told later, of one that has ended, goes to books that are still there. */
static void open_books(struct member_calls *members, const struct counted *counted)
{
    if (counted->in_job)
        (void)call_books_open(members->books, (struct call_book_key){.job = counted->in.job});
    if (counted->in_sheet)
        (void)call_books_open(members->books, counted->in);
}

/* Where a process is now. NULL: in no job, or for want of memory. */
static struct counted *place(struct member_calls *members, const struct process *process)
{
    const struct group *group = process->group, *top = group;
    struct counted *counted =
        group && process->kernel_id ? counted_of(members, (uint32_t)process->kernel_id) : NULL;

    if (!counted)
        return NULL;
    while (top->above)
        top = top->above;
    bool has_moved = counted->group != group->serial;
    counted->group = group->serial;
    counted->pid = (pid_t)process->subject.id;
    counted->in_job = !top->closed;
    counted->in_sheet = group->has_sheet && !group->closed;
    counted->in = (struct call_book_key){top->serial, group->has_sheet, group->sheet_num};
    if (has_moved) {
        syscall_table_clear(&counted->since);
        open_books(members, counted);
    }
    return counted;
}

void member_calls_end(struct member_calls *members, const struct process *process)
{
    struct counted *counted = place(members, process);

    if (counted)
        counted->ended = true;
}

/* What was added since the last look; false: nothing. */
static bool take_difference(struct counted *counted, uint32_t number, const struct wire_call *now,
                            struct syscall_totals *more)
{
    size_t i = 0;

    while (i < counted->seen_count && counted->seen[i].number != number)
        i++;
    if (i == counted->seen_count) {
        if (ARRAY_RESERVE(counted->seen, counted->seen_capacity, counted->seen_count + 1) < 0)
            return false; /* the next look finds it all the same */
        counted->seen[counted->seen_count++] = (struct seen_call){.number = number};
    }
    struct seen_call *seen = &counted->seen[i];
    *more = (struct syscall_totals){now->count - seen->totals.count, now->errors - seen->totals.errors,
                                    now->ns - seen->totals.ns};
    seen->totals = (struct syscall_totals){now->count, now->errors, now->ns};
    return more->count > 0;
}

static void add_to_book(struct member_calls *members, struct call_book_key key, uint32_t number,
                        const struct syscall_totals *more)
{
    struct syscall_table *table = call_books_find(members->books, key);

    if (table)
        (void)syscall_table_add(table, number, more);
}

static void visit_call(void *context, const struct wire_call_key *key, const struct wire_call *call)
{
    struct member_calls *members = context;
    struct counted *counted = counted_of(members, key->id);
    struct syscall_totals more;

    if (!counted)
        return;
    if (counted->group && take_difference(counted, key->number, call, &more)) {
        counted->marked = true; /* from its birth, or by us */
        if (counted->in_job)
            add_to_book(members, (struct call_book_key){.job = counted->in.job}, key->number, &more);
        if (counted->in_sheet)
            add_to_book(members, counted->in, key->number, &more);
        if (counted->in_sheet || (counted->in_job && !counted->in.has_sheet))
            (void)syscall_table_add(&counted->since, key->number, &more);
    }
    if (counted->ended)
        bpf_programs_forget_call(members->programs, key); /* makes room */
}

/* Those whose last counts were taken; and those that nobody knows: a pid was used again while it was marked.
 */
static void sweep(struct member_calls *members)
{
    bool lost = tree_events_lost(members->tree) > 0;
    struct counted *counted, *next;

    HASH_ITER (hh, members->by_id, counted, next) {
        if (counted->ended)
            counted_free(members, counted);
        else if (!counted->group && ++counted->unknown_looks >= UNKNOWN_LOOKS && !lost)
            counted->ended = true;
    }
}

static void tell_trouble(struct member_calls *members, int code)
{
    uint64_t lost = bpf_programs_calls_lost(members->programs);

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
    int code = bpf_programs_read_calls(members->programs, visit_call, members);
    if (code == 0)
        sweep(members);
    tell_trouble(members, code);
}

static void mark_all(struct member_calls *members, size_t count, bool marked)
{
    int code = count ? bpf_programs_mark(members->programs, members->pids, count, marked) : 0;

    if (code < 0)
        tell_trouble(members, code);
}

void member_calls_mark(struct member_calls *members)
{
    struct counted *counted, *next;
    size_t count = 0;

    for (size_t i = 0; i < tree_count(members->tree); i++) {
        const struct process *process = tree_process(members->tree, i);
        counted = place(members, process);
        if (!counted || !counted->in_job || counted->marked || counted->ended || process->announced_exit)
            continue;
        if (ARRAY_RESERVE(members->pids, members->pid_capacity, count + 1) < 0)
            break;
        members->pids[count++] = counted->pid;
        counted->marked = true;
    }
    mark_all(members, count, true);
    count = 0;
    HASH_ITER (hh, members->by_id, counted, next)
        if (counted->group && !counted->in_job && counted->marked && !counted->ended &&
            ARRAY_RESERVE(members->pids, members->pid_capacity, count + 1) == 0) {
            members->pids[count++] = counted->pid;
            counted->marked = false;
        }
    mark_all(members, count, false);
}

void member_calls_fill(struct member_calls *members, struct snapshot *snapshot)
{
    for (size_t i = 0; i < tree_count(members->tree); i++) {
        const struct process *process = tree_process(members->tree, i);
        const struct counted *counted =
            process->group && process->kernel_id ? counted_find(members, (uint32_t)process->kernel_id) : NULL;
        if (!counted || !counted->marked)
            continue;
        struct snapshot_process *out =
            (struct snapshot_process *)snapshot_find(snapshot, (pid_t)process->subject.id);
        if (!out || out->serial != process->subject.serial)
            continue;
        out->calls = calls_of_table(&snapshot->arena, &counted->since);
        out->call_count = out->calls ? counted->since.count : 0;
    }
}
