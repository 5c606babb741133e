#include "loop/tracees.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "probe/strace/target.h"

#define LISTINGS_MAX 8

int tracees_list(struct tree *tree, pid_t first, pid_t **pids, size_t *count, struct metron_error *error)
{
    size_t before = 0;

    for (int i = 0; i < LISTINGS_MAX; i++) {
        tree_refresh(tree);
        if (i > 0 && tree_count(tree) == before)
            break;
        before = tree_count(tree);
    }
    *count = 0;
    *pids = calloc(tree_count(tree) + 1, sizeof(**pids));
    if (!*pids)
        return error_set(error, -ENOMEM, "no memory for the list of processes");
    (*pids)[(*count)++] = first;
    for (size_t i = 0; i < tree_count(tree); i++) {
        const struct process *process = tree_process(tree, i);
        if (process->subject.id != first && !process_is_zombie(process))
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

/* They were born between the listing and the attaching, or it was not permitted. */
void tracees_warn_of_missed(struct tree *tree)
{
    size_t missed = 0;

    tree_refresh(tree);
    for (size_t i = 0; i < tree_count(tree); i++) {
        const struct process *process = tree_process(tree, i);
        missed += !process_is_zombie(process) && is_untraced((pid_t)process->subject.id);
    }
    if (missed > 0)
        log_warning("%zu process%s of the tree %s not traced: begun while strace attached, or not permitted",
                    missed, missed == 1 ? "" : "es", missed == 1 ? "is" : "are");
}
