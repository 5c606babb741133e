/*
 * What was told of processes when they ended. One entry for each, kept until the next report has taken it;
 * the sum stays.
 */

#include <errno.h>

#include "base/array.h"
#include "tree/groups.h"
#include "tree/members.h"

static void use_add(struct lifecycle_use *sum, const struct lifecycle_use *use)
{
    sum->cpu_ns += use->cpu_ns;
    sum->minor_faults += use->minor_faults;
    sum->major_faults += use->major_faults;
    sum->voluntary_switches += use->voluntary_switches;
    sum->involuntary_switches += use->involuntary_switches;
    sum->io.rchar += use->io.rchar;
    sum->io.wchar += use->io.wchar;
    sum->io.syscr += use->io.syscr;
    sum->io.syscw += use->io.syscw;
    sum->io.read_bytes += use->io.read_bytes;
    sum->io.write_bytes += use->io.write_bytes;
}

void ended_miss(struct tree *tree)
{
    tree->ended_missed = true;
}

void ended_add(struct tree *tree, struct process *process, const struct lifecycle_event *event)
{
    struct ended_sum *sum = &tree->ended_sum;

    if (!event->exit.is_whole)
        tree->ended_missed = true;
    use_add(&sum->use, &event->exit.use);
    sum->processes++;
    /* What wait4 would tell is no peak of its own: it begins with what the parent held. */
    uint64_t peak = event->exit.peak_bytes;
    bool ours = tree_note_hwm(tree, process, peak);
    if (ours && peak > sum->max_rss_bytes)
        sum->max_rss_bytes = peak;
    double lifetime = (double)event->exit.lifetime_ns / (double)NS_PER_SECOND;
    const struct lifecycle_use *use = &event->exit.use;
    process->use_is_told = true;
    process->use = (struct event_use){
        .cpu_seconds = (double)use->cpu_ns / (double)NS_PER_SECOND,
        .lifetime_seconds = lifetime,
        .max_rss_bytes = peak,
        .read_bytes = use->io.read_bytes,
        .write_bytes = use->io.write_bytes,
        .minor_faults = use->minor_faults,
        .major_faults = use->major_faults,
    };
    if (ARRAY_RESERVE(tree->ended, tree->ended_capacity, tree->ended_count + 1) < 0)
        return;
    tree->ended[tree->ended_count++] = (struct ended){
        .subject = process->subject,
        .use = *use,
        .max_rss_bytes = ours ? peak : 0,
        .lifetime_seconds = lifetime,
    };
}

/* Lower bound of what its parent inherits: its own time and that of the children it waited for. */
static uint64_t ticks_of(const struct process *process)
{
    const struct pid_stat *stat = &process->stat;
    uint64_t own = stat->user_ticks + stat->system_ticks;
    uint64_t last = process->cpu_ns / (NS_PER_SECOND / (uint64_t)clock_ticks_per_second());

    /* A process that no pass has read is known by its exit event alone. */
    if (process->has_last_use && last > own)
        own = last;
    return own + stat->child_user_ticks + stat->child_system_ticks;
}

static bool covers(const struct process *heir, const struct process *process)
{
    const uint64_t cut_down = 1; /* a sum of times is cut down to ticks once, each of them as well */

    return heir->inherited_ticks + cut_down >= heir->claimed_ticks + ticks_of(process);
}

/* Both the process and its parent are gone: either the parent waited for it and passed both on to the process
 * that waited for the parent, or it was an orphan, whose times no member has. The amount that the heir has
 * inherited decides. This pass may have read the heir before it waited for the parent (the more often, the
 * busier the machine is), so the heir is read again before the process counts as an orphan. */
static bool has_inherited(struct tree *tree, struct process *heir, const struct process *process)
{
    if (heir->inherited_pass == tree->passes && covers(heir, process))
        return true;
    if (member_read_inherited(tree, heir) == 0)
        return covers(heir, process);
    /* The heir has exited as well: this can no longer be decided. */
    tree->ended_unread = true;
    return true;
}

/* The parent as of the last reading; of a process that no pass has read, the one that forked it. */
static pid_t parent_of(const struct process *process)
{
    return process->passes == 0 ? process->forker : process->stat.ppid;
}

static bool has_parent(const struct process *process)
{
    return process->passes == 0 ? process->forker > 0 : process->has_heir;
}

/* Whoever waits for it takes over what it used, unless nobody does: its parent has gone as well, or lets the
 * kernel drop it. */
static struct process *heir_of(struct tree *tree, const struct process *process)
{
    struct process *heir =
        has_parent(process) && !tree->options.alone ? members_find(tree, parent_of(process)) : NULL;

    /* A parent that is gone stays a member until its exit event has come: it inherits nothing any more. */
    if (heir && heir->is_settled)
        heir = NULL;
    if (!heir && process->heir_above_pass == tree->passes) {
        heir = members_find(tree, process->heir_above);
        if (heir && !has_inherited(tree, heir, process))
            heir = NULL;
    }
    return heir && !(heir->stat.ignored_signals & SIGCHLD_BIT) ? heir : NULL;
}

/* Its children may be found to be gone in this pass as well. */
static void tell_children(struct tree *tree, const struct process *process, const struct process *heir)
{
    for (size_t i = 0; process->has_children && i < tree->count; i++)
        if (parent_of(tree->members[i]) == process->subject.id) {
            tree->members[i]->heir_above = heir->subject.id;
            tree->members[i]->heir_above_pass = tree->passes;
        }
}

/* `heir` inherits from it; NULL: nobody does. */
static void settle(struct tree *tree, struct process *process, struct process *heir)
{
    process->is_settled = true;
    groups_settle(process, heir);
    /* The command, which we wait for ourselves in a session too, has left us all that was left to it. */
    if (!heir && process->of_command && has_parent(process) && tree->ledger.reaped_count > 0) {
        process->was_inherited = true;
        return;
    }
    if (!heir) {
        ledger_add(&tree->ledger.gone, process->counted);
        /* A zombie does not run any more: what was last read of it is all. */
        if (!process->has_last_use && !process_is_zombie(process))
            tree->ended_unread = true;
        return;
    }
    process->was_inherited = true;
    heir->claimed_ticks += ticks_of(process);
    tell_children(tree, process, heir);
    /* The heir takes over all of it, also what it had used before we came: that is not ours with the heir
     * either. The heir was read in this pass already; if that was before it took over, the next one is
     * right. */
    struct ledger_sum before = heir->counted;
    ledger_add(&heir->baseline, process->baseline);
    heir->counted = ledger_minus(before, process->baseline);
    tree->ledger.live = ledger_minus(tree->ledger.live, ledger_minus(before, heir->counted));
}

void settle_unreaped(struct tree *tree, struct process *process)
{
    if (!tree->options.reaps && !process->is_settled)
        settle(tree, process, heir_of(tree, process));
}

/* The last reading of a process includes the children that it had waited for. The next pass may find all of
 * them gone: it would settle the parent first and take the children for orphans. */
void settle_children(struct tree *tree, struct process *heir)
{
    const pid_t pid = heir->subject.id;
    bool inherits = !(heir->stat.ignored_signals & SIGCHLD_BIT);

    if (tree->options.reaps || tree->options.alone || !inherits || !process_is_zombie(heir))
        return;
    for (size_t i = 0; heir->has_children && i < tree->count; i++) {
        struct process *process = tree->members[i];
        bool is_below = parent_of(process) == pid ||
                        (process->heir_above == pid && process->heir_above_pass == tree->passes);
        if (is_below && process->announced_exit && !process->ended && !process->is_settled &&
            member_read_inherited(tree, process) == -ESRCH && covers(heir, process))
            settle(tree, process, heir);
    }
}

void count_last_use(struct tree *tree, struct process *process, const struct lifecycle_use *use)
{
    struct ledger_sum before = process->counted;

    /* Of one that was never read it is not known what it had used before we came. */
    if (tree->options.reaps || (process->was_there && process->passes == 0))
        return;
    process->has_last_use = true;
    if (use->cpu_ns > process->cpu_ns)
        process->cpu_ns = use->cpu_ns;
    if (use->minor_faults > process->stat.minor_faults)
        process->stat.minor_faults = use->minor_faults;
    if (use->major_faults > process->stat.major_faults)
        process->stat.major_faults = use->major_faults;
    if (tree->options.read_io && !process->has_io && !process->was_there) {
        process->io = use->io;
        process->has_io = tree->has_io = true;
    }
    member_count(tree, process);
    if (process->is_settled)
        groups_add_gone(process, ledger_minus(process->counted, before));
    /* It was found to be gone before this was told. */
    if (process->is_settled && !process->was_inherited)
        ledger_add(&tree->ledger.gone, ledger_minus(process->counted, before));
}

size_t tree_ended_count(const struct tree *tree)
{
    return tree->ended_count;
}

const struct ended *tree_ended(const struct tree *tree, size_t index)
{
    return &tree->ended[index];
}

void tree_forget_ended(struct tree *tree)
{
    (void)ARRAY_FIT(tree->ended, tree->ended_capacity, tree->ended_count);
    tree->ended_count = 0;
}

struct ended_sum tree_ended_sum(const struct tree *tree)
{
    struct ended_sum sum = tree->ended_sum;

    sum.is_whole = tree->method == TREE_BPF && tree->told_from_start && !tree->ended_missed &&
                   tree_events_lost(tree) == 0 && tree->options.scope == TREE_OF_COMMAND;
    return sum;
}

double tree_living_cpu_seconds(const struct tree *tree)
{
    double seconds = 0;

    /* One whose end was told is in the sum of the ended, zombie or not. */
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->members[i]->announced_exit)
            seconds += (double)tree->members[i]->cpu_ns / (double)NS_PER_SECOND;
    return seconds;
}
