/*
 * Processes on their way out when the command exits. A process that was killed goes on for a moment: until it
 * gets a CPU to die on, and until the kernel has taken its memory apart. Whether it outlives the command must
 * not depend on how busy the machine is.
 *
 * Its state shows that: a signal is pending that ends it, or the kernel has set the flag of one that a signal
 * ends, or of one that exits. Its exit may have to be reported still, and one of our own children may have to
 * be reaped.
 */
#include <errno.h>

#include "tree/members.h"

#define BIT(signal) (UINT64_C(1) << ((signal)-1))
#define HARMLESS                                                                                             \
    (BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGSTOP) | BIT(SIGTSTP) |               \
     BIT(SIGTTIN) | BIT(SIGTTOU))
#define STATUS_SIZE 4096

/* One that is stopped keeps every other signal until it is continued. */
static bool is_killed(struct tree *tree, struct process *process, char state)
{
    const uint64_t deadly = state == 'T' ? BIT(SIGKILL) : ~HARMLESS;
    char text[STATUS_SIZE];
    uint64_t pending;
    ssize_t length = pid_dir_read(&process->dir, &tree->reader, PID_FILE_STATUS, false, text, sizeof(text));

    return length > 0 && pid_pending_parse(text, (size_t)length, &pending) == 0 && (pending & deadly);
}

/* It has exited, and its parent has waited for it or will do so. */
static bool is_to_be_reported(const struct tree *tree, const struct process *process)
{
    return tree->method == TREE_BPF && process->announced_spawn && !process->announced_exit;
}

static bool is_exiting(struct tree *tree, struct process *process)
{
    struct pid_stat stat;

    if (process->was_reaped || process->missing_ns)
        return is_to_be_reported(tree, process);
    int code = member_read_stat(tree, process, &stat);
    if (code < 0)
        return code == -ESRCH && is_to_be_reported(tree, process);
    if (stat.state != 'Z')
        return (stat.flags & (PID_EXITING | PID_SIGNALED)) || is_killed(tree, process, stat.state);
    /* Its first thread alone may have left. */
    if (stat.threads > 1)
        return is_killed(tree, process, stat.state);
    return is_to_be_reported(tree, process) || (tree->options.reaps && stat.ppid == tree->self);
}

bool tree_awaits_exits(struct tree *tree, bool is_first)
{
    if (tree->source)
        tree_read_events(tree);
    else if (is_first)
        tree_refresh(tree); /* one that no pass has seen may have been killed */
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];

        if (!process->of_command || process->ended || process->not_awaited)
            continue;
        if (is_exiting(tree, process))
            return true;
        process->not_awaited = true;
    }
    return false;
}
