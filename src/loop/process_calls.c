#include "loop/process_calls.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "probe/syscall_names.h"

/* The kernel may count for one that the tree has not heard of yet, and the tree may hear late of an exit that
 * strace saw: so many readings later it is nobody's. */
#define READINGS_KEPT 3
/* What strace has to report of a process that has left is on its way. */
#define AWAIT_EXIT_NS (NS_PER_SECOND / 2)
#define AWAIT_STEP_NS 500000

struct seen_call {
    uint32_t number, error;
    struct wire_call sums;
};

/* One that strace had not reported yet when it left. */
struct unreported {
    struct subject subject;
    bool is_awaited;
};

struct process_calls {
    struct process_calls_options options;
    struct counted *by_id;
    struct unreported *left;
    size_t left_count, left_capacity;
    uint64_t patience_ns; /* how long those are awaited: halved each time that was in vain */
};

struct process_calls *process_calls_new(const struct process_calls_options *options)
{
    struct process_calls *calls = calloc(1, sizeof(*calls));

    if (calls) {
        calls->options = *options;
        calls->patience_ns = AWAIT_EXIT_NS;
    }
    return calls;
}

static void counted_free(struct process_calls *calls, struct counted *counted)
{
    HASH_DEL(calls->by_id, counted); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
    syscall_table_fini(&counted->table);
    free(counted->seen);
    free(counted);
}

void process_calls_free(struct process_calls *calls)
{
    struct counted *counted, *next;

    if (!calls)
        return;
    HASH_ITER (hh, calls->by_id, counted, next)
        counted_free(calls, counted);
    free(calls->left);
    free(calls);
}

static struct counted *counted_open(struct process_calls *calls, uint64_t kernel_id)
{
    const uint32_t id = (uint32_t)kernel_id;
    struct counted *counted = NULL;

    if (id)
        HASH_FIND_OR_ADD(calls->by_id, id, &id, counted);
    if (counted && calls->options.all_are_ours)
        counted->is_known = true;
    return counted;
}

/* ---- members of the tree ---- */

static struct counted *counted_by_kernel(struct process_calls *calls, const struct process *process)
{
    struct counted *counted = counted_open(calls, process->kernel_id);

    if (counted)
        counted->subject = process->subject;
    return counted;
}

/* One that leaves the tree; strace may have reported its whole life before the tree heard of it. */
static struct counted *counted_by_strace(struct process_calls *calls, const struct subject *subject)
{
    struct counted *counted, *next;
    uint32_t id = 0;

    HASH_ITER (hh, calls->by_id, counted, next)
        if (counted->subject.serial == subject->serial ||
            (!counted->subject.serial && counted->subject.id == subject->id))
            break;
    /* Those that the tree had under this pid before may not have been read yet. */
    while (!counted && (id = strace_calls_id(calls->options.strace, (pid_t)subject->id, id))) {
        counted = counted_open(calls, id);
        if (!counted || counted->subject.serial)
            counted = NULL;
    }
    if (counted)
        counted->subject = *subject;
    return counted;
}

static struct counted *leave(struct counted *counted)
{
    if (counted)
        counted->has_left = counted->is_known = true;
    return counted;
}

struct counted *process_calls_of(struct process_calls *calls, const struct process *process)
{
    return calls->options.strace ? NULL : counted_by_kernel(calls, process);
}

/* Whether what strace has to report of it is on its way: it began once strace had attached, as a child of one
 * that strace follows, or of one whose orphans we adopt. */
static bool is_followed(const struct process_calls *calls, const struct process *process)
{
    const uint64_t attached_ns = strace_calls_attached_ns(calls->options.strace);
    const pid_t parent = process->passes > 0 ? process->stat.ppid : process->forker;
    struct counted *counted, *next;

    if (!attached_ns || clock_elapsed_ns(attached_ns, process->subject.born_ns) < 0)
        return false;
    if (parent == getpid() || strace_calls_id(calls->options.strace, parent, 0))
        return true;
    HASH_ITER (hh, calls->by_id, counted, next)
        if (counted->subject.id == parent)
            return true;
    return false;
}

void process_calls_leave(struct process_calls *calls, const struct process *process)
{
    if (!calls->options.strace)
        (void)leave(counted_by_kernel(calls, process));
    else if (!leave(counted_by_strace(calls, &process->subject)) &&
             ARRAY_RESERVE(calls->left, calls->left_capacity, calls->left_count + 1) == 0)
        calls->left[calls->left_count++] = (struct unreported){process->subject, is_followed(calls, process)};
}

static void take(struct process_calls *calls, struct counted *counted, const char *name,
                 const struct syscall_totals *more)
{
    if (counted->is_known && calls->options.take(calls->options.owner, counted, name, more))
        (void)syscall_table_add_named(&counted->table, name, more);
}

static void take_failure(struct process_calls *calls, const struct counted *counted, const char *name,
                         int error, uint64_t count)
{
    if (counted->is_known && calls->options.take_failure)
        calls->options.take_failure(calls->options.owner, name, error, count);
}

/* ---- our programs in the kernel, whose counts only grow ---- */

/* What was added since the last reading; false: nothing. */
static bool take_difference(struct counted *counted, const struct wire_call_key *key,
                            const struct wire_call *now, struct syscall_totals *more)
{
    size_t i = 0;

    while (i < counted->seen_count &&
           (counted->seen[i].number != key->number || counted->seen[i].error != key->error))
        i++;
    if (i == counted->seen_count) {
        if (ARRAY_RESERVE(counted->seen, counted->seen_capacity, counted->seen_count + 1) < 0)
            return false; /* the next reading finds it all the same */
        counted->seen[counted->seen_count++] = (struct seen_call){.number = key->number, .error = key->error};
    }
    struct seen_call *seen = &counted->seen[i];
    const uint64_t count = now->count - seen->sums.count;
    *more = (struct syscall_totals){count, key->error ? count : 0, now->ns - seen->sums.ns};
    seen->sums = *now;
    return more->count > 0;
}

static void visit_kernel(void *context, const struct wire_call_key *key, const struct wire_call *call)
{
    struct process_calls *calls = context;
    struct counted *counted = counted_open(calls, key->id);
    struct syscall_totals more;

    if (!counted)
        return;
    if (counted->is_known && take_difference(counted, key, call, &more)) {
        take(calls, counted, syscall_name(key->number), &more);
        if (key->error)
            take_failure(calls, counted, syscall_name(key->number), (int)key->error, more.count);
    }
    if (counted->has_left)
        bpf_programs_forget_call(calls->options.programs, key); /* makes room */
}

/* The tree does not know one that has left; the owner may. */
static void sweep_kernel(struct process_calls *calls)
{
    const bool lost = tree_events_lost(calls->options.tree) > 0;
    struct counted *counted, *next;

    HASH_ITER (hh, calls->by_id, counted, next) {
        counted->is_over = counted->has_left;
        if (counted->is_known)
            continue;
        if (lost)
            counted->is_known = calls->options.lost_are_ours;
        else if (++counted->readings >= READINGS_KEPT)
            counted->has_left = true; /* a helper of metron's: it makes room at the next reading */
    }
}

/* ---- strace, which reports what was added ---- */

/* Its pid is known, who has it is the tree's to say. */
static void find_member(struct process_calls *calls, struct counted *counted)
{
    const struct process *process =
        counted->subject.serial ? NULL : tree_find(calls->options.tree, (pid_t)counted->subject.id);

    if (!process)
        return;
    counted->subject = process->subject;
    counted->is_known = true;
}

static void visit_strace(void *context, uint32_t id, pid_t pid, const struct syscall_table *more)
{
    struct process_calls *calls = context;
    struct counted *counted = counted_open(calls, id);

    if (!counted)
        return;
    counted->subject.id = pid;
    find_member(calls, counted);
    for (size_t i = 0; i < more->count; i++)
        take(calls, counted, more->entries[i].name, &more->entries[i].totals);
    for (size_t i = 0; i < more->failure_count; i++)
        take_failure(calls, counted, more->failures[i].name, more->failures[i].error,
                     more->failures[i].count);
}

/* strace may not follow all of them: not what a setuid program starts, nor one that began while strace was
 * killed. They must not hold up every reading. */
static void await_unreported(struct process_calls *calls)
{
    const struct timespec pause = {.tv_nsec = AWAIT_STEP_NS};
    const uint64_t end_ns = clock_monotonic_ns() + calls->patience_ns;
    bool has_waited = false, is_late = false;

    for (size_t i = 0; i < calls->left_count; i++)
        while (!leave(counted_by_strace(calls, &calls->left[i].subject)) && calls->left[i].is_awaited) {
            is_late = clock_monotonic_ns() >= end_ns;
            if (is_late || strace_calls_is_closed(calls->options.strace))
                break;
            has_waited = true;
            (void)nanosleep(&pause, NULL);
        }
    calls->left_count = 0;
    if (is_late)
        calls->patience_ns /= 2;
    else if (has_waited)
        calls->patience_ns = AWAIT_EXIT_NS;
}

static void await_exits(struct process_calls *calls)
{
    const struct timespec pause = {.tv_nsec = AWAIT_STEP_NS};
    struct counted *counted, *next;

    await_unreported(calls);
    const uint64_t end_ns = clock_monotonic_ns() + AWAIT_EXIT_NS;
    HASH_ITER (hh, calls->by_id, counted, next)
        while (counted->has_left && strace_calls_follows(calls->options.strace, counted->id) &&
               clock_monotonic_ns() < end_ns)
            (void)nanosleep(&pause, NULL);
}

static void sweep_strace(struct process_calls *calls)
{
    struct counted *counted, *next;

    HASH_ITER (hh, calls->by_id, counted, next) {
        find_member(calls, counted);
        /* One that has left is reported once: the code that makes rates of it forgets it with that. */
        counted->is_over = counted->has_left || (!strace_calls_follows(calls->options.strace, counted->id) &&
                                                 ++counted->readings >= READINGS_KEPT);
    }
}

/* ---- both ---- */

int process_calls_read(struct process_calls *calls)
{
    struct counted *counted, *next;
    int code = 0;

    HASH_ITER (hh, calls->by_id, counted, next)
        if (counted->is_over)
            counted_free(calls, counted);
    if (calls->options.strace) {
        await_exits(calls);
        strace_calls_read(calls->options.strace, visit_strace, calls);
        sweep_strace(calls);
        return 0;
    }
    code = bpf_programs_read_calls(calls->options.programs, visit_kernel, calls);
    if (code == 0)
        sweep_kernel(calls);
    return code;
}

uint64_t process_calls_lost(const struct process_calls *calls)
{
    return calls->options.strace ? strace_calls_lost(calls->options.strace)
                                 : bpf_programs_calls_lost(calls->options.programs);
}

struct counted *process_calls_next(const struct process_calls *calls, const struct counted *before)
{
    return before ? before->hh.next : calls->by_id;
}
