#include "loop/syscall_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "probe/bpf/programs.h"
#include "probe/strace/program.h"

#define ATTACH_TIMEOUT_MS 5000

/* The calls of one process, by its id in the kernel's tables. */
struct process_calls {
    uint32_t id;
    struct syscall_table table;
    bool ours;    /* a member's; else a helper's of metron */
    bool told;    /* it has ended, and its last counts were told */
    bool retired; /* they are in the sum of those that have ended, or nobody's */
    bool is_helper;
    unsigned unknown; /* updates in which the tree did not know it */
    UT_hash_handle hh;
};

struct syscall_counts {
    struct syscall_source source;
    struct tree *tree;
    struct bpf_programs *programs;   /* NULL: by strace */
    struct process_calls *processes; /* hashed by id */
    struct syscall_table retired;    /* of processes that have ended and were reported */
    struct syscall_table whole;
    struct strace_run *strace;
    double helper_seconds;
    struct metron_error why_not;
};

/* ---- our programs in the kernel ---- */

static struct process_calls *calls_find(const struct syscall_counts *counts, uint64_t kernel_id)
{
    const uint32_t id = (uint32_t)kernel_id;
    struct process_calls *calls;

    HASH_FIND(hh, counts->processes, &id, sizeof(id), calls);
    return calls;
}

static void calls_free(struct syscall_counts *counts, struct process_calls *calls)
{
    HASH_DEL(counts->processes, calls); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
    syscall_table_fini(&calls->table);
    free(calls);
}

static void visit_call(void *context, const struct wire_call_key *key, const struct wire_call *call)
{
    struct syscall_counts *counts = context;
    const struct syscall_totals totals = {call->count, call->errors, call->ns};
    struct process_calls *calls;

    HASH_FIND_OR_ADD(counts->processes, id, &key->id, calls);
    if (!calls)
        return;
    if (calls->retired) {
        bpf_programs_forget_call(counts->programs, key);
        return;
    }
    (void)syscall_table_add(&calls->table, key->number, &totals);
}

static void mark_ours(struct syscall_counts *counts)
{
    struct process_calls *calls;

    for (size_t i = 0; i < tree_count(counts->tree); i++) {
        calls = calls_find(counts, tree_process(counts->tree, i)->kernel_id);
        if (calls)
            calls->ours = true;
    }
    for (size_t i = 0; i < tree_ended_count(counts->tree); i++) {
        calls = calls_find(counts, tree_ended(counts->tree, i)->kernel_id);
        if (calls)
            calls->ours = calls->told = true;
    }
}

/* Whom the tree does not know twice running is a helper of metron's (ps): its calls must not fill the
 * kernel's table. Where events were lost it may be a member that was not told of, and counts. */
static void forget_helpers(struct syscall_counts *counts)
{
    bool lost = tree_events_lost(counts->tree) > 0;
    struct process_calls *calls, *next;

    HASH_ITER (hh, counts->processes, calls, next) {
        if (calls->ours || calls->retired)
            continue;
        if (lost)
            calls->ours = true;
        else if (calls->unknown++ > 0)
            calls->is_helper = true;
    }
}

/* Those whose last counts were told in the pass before are told of no more, and make room in the kernel's
 * table (visit_call). */
static void retire(struct syscall_counts *counts)
{
    struct process_calls *calls, *next;

    HASH_ITER (hh, counts->processes, calls, next) {
        if (calls->told)
            (void)syscall_table_merge(&counts->retired, &calls->table);
        calls->retired = calls->told || calls->is_helper;
        syscall_table_clear(&calls->table);
    }
}

static int update_bpf(void *context)
{
    struct syscall_counts *counts = context;
    struct process_calls *calls, *next;

    retire(counts);
    int code = bpf_programs_read_calls(counts->programs, visit_call, counts);
    if (code < 0)
        return code;
    mark_ours(counts);
    forget_helpers(counts);
    syscall_table_clear(&counts->whole);
    (void)syscall_table_merge(&counts->whole, &counts->retired);
    HASH_ITER (hh, counts->processes, calls, next) {
        if (calls->retired)
            calls_free(counts, calls);
        else if (calls->ours)
            (void)syscall_table_merge(&counts->whole, &calls->table);
    }
    return 0;
}

static const struct syscall_table *of_process(void *context, uint64_t kernel_id)
{
    const struct process_calls *calls = calls_find(context, kernel_id);

    return calls && calls->table.count ? &calls->table : NULL;
}

static const struct syscall_table *of_target(void *context)
{
    struct syscall_counts *counts = context;

    return counts->why_not.code ? NULL : &counts->whole;
}

/* ---- strace ---- */

static int update_strace(void *context)
{
    (void)context; /* it tells once, at its end */
    return 0;
}

pid_t syscall_counts_prepare(struct syscall_counts *counts)
{
    if (!counts || counts->programs || counts->why_not.code)
        return 0;
    if (strace_start(STRACE_SUMMARY, &counts->strace, &counts->why_not) < 0)
        return 0;
    tree_ignore(counts->tree, strace_pid(counts->strace));
    return strace_pid(counts->strace);
}

void syscall_counts_attach(struct syscall_counts *counts, pid_t command)
{
    if (!counts || !counts->strace)
        return;
    if (strace_release(counts->strace, &command, 1, &counts->why_not) == 0)
        (void)strace_wait_attached(counts->strace, ATTACH_TIMEOUT_MS, &counts->why_not);
}

bool syscall_counts_reaped(struct syscall_counts *counts, pid_t pid, int wait_status,
                           const struct rusage *usage)
{
    return counts && counts->strace && strace_reaped(counts->strace, pid, wait_status, usage);
}

void syscall_counts_finish(struct syscall_counts *counts)
{
    if (!counts || !counts->strace)
        return;
    struct metron_error error = {0};
    if (tree_living(counts->tree) > 0)
        strace_interrupt(counts->strace); /* somebody lives on: it does not end by itself */
    if (strace_stop(counts->strace, &counts->whole, &error) < 0 && !counts->why_not.code)
        counts->why_not = error;
    const struct rusage *usage = strace_usage(counts->strace);
    if (usage)
        counts->helper_seconds =
            clock_timeval_seconds(usage->ru_utime) + clock_timeval_seconds(usage->ru_stime);
}

/* ---- both ---- */

struct syscall_counts *syscall_counts_new(const struct kernel_events *events, struct metron_error *error)
{
    bool by_bpf = events->programs != NULL;

    if (!by_bpf && strace_available(error) < 0)
        return NULL;
    struct syscall_counts *counts = calloc(1, sizeof(*counts));
    if (!counts) {
        (void)error_set(error, -ENOMEM, "no memory");
        return NULL;
    }
    counts->programs = events->programs;
    counts->source = (struct syscall_source){
        .update = by_bpf ? update_bpf : update_strace,
        .of_process = by_bpf ? of_process : NULL,
        .of_target = of_target,
        .context = counts,
        .method = by_bpf ? "bpf" : "strace",
    };
    return counts;
}

void syscall_counts_free(struct syscall_counts *counts)
{
    struct process_calls *calls, *next;

    if (!counts)
        return;
    HASH_ITER (hh, counts->processes, calls, next)
        calls_free(counts, calls);
    syscall_table_fini(&counts->retired);
    syscall_table_fini(&counts->whole);
    strace_free(counts->strace);
    free(counts);
}

const struct syscall_source *syscall_counts_source(struct syscall_counts *counts)
{
    return counts ? &counts->source : NULL;
}

void syscall_counts_set_tree(struct syscall_counts *counts, struct tree *tree)
{
    if (counts)
        counts->tree = tree;
}

const char *syscall_counts_reason(const struct syscall_counts *counts)
{
    return counts->why_not.code ? counts->why_not.message : NULL;
}

uint64_t syscall_counts_lost(const struct syscall_counts *counts)
{
    return counts->programs ? bpf_programs_calls_lost(counts->programs) : 0;
}

double syscall_counts_helper_seconds(const struct syscall_counts *counts)
{
    return counts ? counts->helper_seconds : 0;
}
