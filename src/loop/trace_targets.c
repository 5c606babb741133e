#include "loop/trace_targets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "probe/kernel.h"
#include "probe/strace/target.h"
#include "tree/tree.h"

#define LISTINGS_MAX 8

struct trace_targets {
    pid_t pid;
    struct tree *tree;
};

int trace_targets_open(pid_t pid, struct trace_targets **out, struct metron_error *error)
{
    struct trace_targets *targets = calloc(1, sizeof(*targets));
    struct kernel_facts facts;
    int code = targets ? kernel_facts_read("/proc", &facts) : -ENOMEM;

    if (code < 0) {
        free(targets);
        return error_set(error, code, "/proc cannot be read: %s", strerror(-code));
    }
    const struct tree_options options = {
        .proc_root = "/proc", .facts = &facts, .start_ns = clock_monotonic_ns()};
    targets->pid = pid;
    targets->tree = tree_new(&options, error);
    code = targets->tree ? tree_add_root(targets->tree, pid) : error && error->code ? error->code : -ENOMEM;
    if (code == -ENOMEM)
        (void)error_set(error, code, "no memory for the list of processes");
    if (code < 0) {
        trace_targets_close(targets);
        return code;
    }
    *out = targets;
    return 0;
}

void trace_targets_close(struct trace_targets *targets)
{
    if (!targets)
        return;
    tree_free(targets->tree);
    free(targets);
}

/* A listing may miss some while others die: it is repeated until it finds nobody new. */
int trace_targets_list(struct trace_targets *targets, pid_t **pids, size_t *count, struct metron_error *error)
{
    size_t before = 0;

    for (int i = 0; i < LISTINGS_MAX; i++) {
        tree_refresh(targets->tree);
        if (i > 0 && tree_count(targets->tree) == before)
            break;
        before = tree_count(targets->tree);
    }
    *count = 0;
    *pids = calloc(tree_count(targets->tree) + 1, sizeof(**pids));
    if (!*pids)
        return error_set(error, -ENOMEM, "no memory for the list of processes");
    (*pids)[(*count)++] = targets->pid;
    for (size_t i = 0; i < tree_count(targets->tree); i++) {
        const struct process *process = tree_process(targets->tree, i);
        if (process->subject.id != targets->pid && !process_is_zombie(process))
            (*pids)[(*count)++] = (pid_t)process->subject.id;
    }
    return 0;
}

/* One that dies while it is looked at loses its tracer first: it counts only if it is alive at a second look.
 */
static bool is_untraced(pid_t pid)
{
    int first = strace_target_check("/proc", pid, NULL);
    int second = strace_target_check("/proc", pid, NULL);

    return first == 0 && second == 0;
}

size_t trace_targets_missed(struct trace_targets *targets)
{
    pid_t *pids = NULL;
    size_t count = 0, missed = 0;

    if (trace_targets_list(targets, &pids, &count, NULL) == 0)
        for (size_t i = 0; i < count; i++)
            missed += is_untraced(pids[i]);
    free(pids);
    return missed;
}
