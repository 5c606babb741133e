#include "loop/syscall_counts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "collect/collector.h"
#include "loop/process_calls.h"
#include "loop/tracees.h"
#include "probe/strace/program.h"

#define ATTACH_TIMEOUT_MS 5000

struct syscall_counts {
    struct syscall_source source;
    struct tree *tree;
    struct bpf_programs *programs; /* NULL: by strace */
    struct process_calls *processes;
    struct syscall_table whole;
    struct strace_calls *calls; /* those that strace reports */
    struct strace_run *strace;
    double helper_seconds;
    struct metron_error why_not;
    struct metron_error cut_short; /* strace ended too early: why */
};

static bool take(void *owner, struct counted *counted, const char *name, const struct syscall_totals *more)
{
    struct syscall_counts *counts = owner;

    (void)counted;
    (void)syscall_table_add_named(&counts->whole, name, more);
    return true;
}

static void take_failure(void *owner, const char *name, int error, uint64_t count)
{
    struct syscall_counts *counts = owner;

    (void)syscall_table_add_failure(&counts->whole, name, error, count);
}

static int update(void *context)
{
    struct syscall_counts *counts = context;
    struct counted *counted;

    if (counts->why_not.code)
        return 0;
    for (size_t i = 0; i < tree_count(counts->tree); i++)
        if ((counted = process_calls_of(counts->processes, tree_process(counts->tree, i))))
            counted->is_known = true;
    return process_calls_read(counts->processes);
}

static void each(void *context, syscall_visit *visit, void *visitor)
{
    const struct syscall_counts *counts = context;

    for (const struct counted *counted = NULL; (counted = process_calls_next(counts->processes, counted));)
        if (counted->subject.serial && counted->table.count)
            visit(visitor, &counted->subject, &counted->table);
}

static const struct syscall_table *of_target(void *context)
{
    const struct syscall_counts *counts = context;

    return counts->why_not.code ? NULL : &counts->whole;
}

/* ---- strace ---- */

pid_t syscall_counts_prepare(struct syscall_counts *counts)
{
    if (!counts || counts->programs || counts->why_not.code)
        return 0;
    if (strace_start(counts->calls, &counts->strace, &counts->why_not) < 0)
        return 0;
    tree_ignore(counts->tree, strace_pid(counts->strace));
    return strace_pid(counts->strace);
}

static void attach(struct syscall_counts *counts, const pid_t *pids, size_t count)
{
    int code = strace_release(counts->strace, pids, count, &counts->why_not);

    if (code == 0)
        code = strace_wait_attached(counts->strace, ATTACH_TIMEOUT_MS, &counts->why_not);
    if (code == 0)
        return;
    strace_free(counts->strace); /* it may have attached to some of them */
    counts->strace = NULL;
}

void syscall_counts_attach(struct syscall_counts *counts, pid_t command)
{
    if (!counts || !counts->strace)
        return;
    strace_calls_from_exec(counts->calls, command);
    attach(counts, &command, 1);
}

void syscall_counts_attach_running(struct syscall_counts *counts, pid_t first)
{
    pid_t *pids = NULL;
    size_t count = 0;

    if (syscall_counts_prepare(counts) == 0)
        return;
    if (tracees_list(counts->tree, first, &pids, &count, &counts->why_not) == 0)
        attach(counts, pids, count);
    free(pids);
    if (!counts->why_not.code)
        tracees_warn_of_missed(counts->tree);
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
    if (tree_living(counts->tree) > 0)
        strace_interrupt(counts->strace); /* somebody lives on: it does not end by itself */
    if (strace_stop(counts->strace, &counts->cut_short) < 0)
        log_warning("system calls: %s", counts->cut_short.message);
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
    struct strace_calls *calls = by_bpf ? NULL : strace_calls_new("/proc");
    if (!counts || (!by_bpf && !calls)) {
        free(counts);
        strace_calls_free(calls);
        (void)error_set(error, -ENOMEM, "no memory");
        return NULL;
    }
    counts->programs = events->programs;
    counts->calls = calls;
    counts->source = (struct syscall_source){
        .update = update,
        .each = each,
        .of_target = of_target,
        .context = counts,
        .method = by_bpf ? "bpf" : "strace",
    };
    return counts;
}

void syscall_counts_free(struct syscall_counts *counts)
{
    if (!counts)
        return;
    process_calls_free(counts->processes);
    syscall_table_fini(&counts->whole);
    strace_free(counts->strace);
    strace_calls_free(counts->calls);
    free(counts);
}

const struct syscall_source *syscall_counts_source(struct syscall_counts *counts)
{
    return counts ? &counts->source : NULL;
}

int syscall_counts_set_tree(struct syscall_counts *counts, struct tree *tree, bool all_are_ours)
{
    if (!counts)
        return 0;
    const struct process_calls_options options = {
        .tree = tree,
        .programs = counts->programs,
        .strace = counts->calls,
        .all_are_ours = counts->calls && all_are_ours,
        .lost_are_ours = true,
        .owner = counts,
        .take = take,
        .take_failure = take_failure,
    };
    counts->tree = tree;
    counts->processes = process_calls_new(&options);
    return counts->processes ? 0 : -ENOMEM;
}

void syscall_counts_leave(struct syscall_counts *counts, const struct process *process)
{
    if (counts && counts->processes && !counts->why_not.code)
        process_calls_leave(counts->processes, process);
}

const char *syscall_counts_reason(const struct syscall_counts *counts)
{
    return counts->why_not.code ? counts->why_not.message : NULL;
}

const char *syscall_counts_note(const struct syscall_counts *counts)
{
    return counts->cut_short.code ? counts->cut_short.message : NULL;
}

uint64_t syscall_counts_lost(const struct syscall_counts *counts)
{
    return process_calls_lost(counts->processes);
}

double syscall_counts_helper_seconds(const struct syscall_counts *counts)
{
    return counts ? counts->helper_seconds : 0;
}
