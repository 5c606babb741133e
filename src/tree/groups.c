#include "tree/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tree/members.h"

static struct group *group_make(struct tree *tree, const char *job_id, struct group *above)
{
    struct group *group = calloc(1, sizeof(*group));

    if (!group || !(group->job_id = strdup(job_id))) {
        free(group);
        return NULL;
    }
    group->above = above;
    if (above)
        above->references++;
    group->references = 1;
    group->serial = ++tree->next_group;
    group->made_ns = clock_monotonic_ns();
    /* Only from when every end is told can what was told be added up. */
    group->missed = tree_method(tree) != TREE_BPF;
    group->events_lost = tree_events_lost(tree);
    group->next = tree->groups;
    tree->groups = group;
    return group;
}

struct group *group_new(struct tree *tree, const char *job_id, struct group *above)
{
    return group_make(tree, job_id, above);
}

struct group *group_new_sheet(struct tree *tree, struct group *job, int64_t sheet_num)
{
    struct group *group = group_make(tree, job->job_id, job);

    if (group) {
        group->has_sheet = true;
        group->sheet_num = sheet_num;
    }
    return group;
}

/* One reference less; whoever has none left goes, and its hold on the one above with it. */
static void group_release(struct tree *tree, struct group *group)
{
    while (group && --group->references == 0) {
        struct group *above = group->above, **link = &tree->groups;
        while (*link != group)
            link = &(*link)->next;
        *link = group->next;
        free(group->job_id);
        free(group);
        group = above;
    }
}

void group_close(struct tree *tree, struct group *group)
{
    if (!group || group->closed)
        return;
    group->closed = true;
    group_release(tree, group);
}

bool group_is_within(const struct group *group, const struct group *above)
{
    while (group && group != above)
        group = group->above;
    return above && group == above;
}

/* What the groups have of it: since it joined. */
static struct ledger_sum sum_since_joined(const struct process *process)
{
    return ledger_minus(process->counted, process->group_baseline);
}

static uint64_t own_cpu_since_joined(const struct process *process, uint64_t cpu_ns)
{
    return cpu_ns > process->group_baseline_ns ? cpu_ns - process->group_baseline_ns : 0;
}

/* What the latest pass counted of it as a living one's is counted as another's from now on. */
static uint64_t take_back_own(const struct tree *tree, struct process *process)
{
    uint64_t held_ns = process->group_own_pass == tree->passes ? process->group_own_ns : 0;

    process->group_own_ns = 0;
    return held_ns;
}

/* It leaves its groups, or joins another one within them: what it has used stays with them, and its part in
 * them begins anew. */
static void close_books(const struct tree *tree, struct process *process)
{
    uint64_t held_ns = take_back_own(tree, process);

    for (struct group *group = process->group; group; group = group->above) {
        ledger_add(&group->ledger.gone, sum_since_joined(process));
        group->measured = group->measured || process->passes > 0;
        group->own_cpu_ns -= held_ns;
        if (!process->use_is_told)
            group->told_cpu_ns += own_cpu_since_joined(process, process->cpu_ns);
    }
}

/* Starts are known to the tick. */
static bool is_born_since(const struct process *process, uint64_t since_ns)
{
    const uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();

    return clock_elapsed_ns(since_ns, process->subject.born_ns + tick_ns) >= 0;
}

static void join(struct tree *tree, struct group *group, struct process *process, enum membership membership,
                 bool born_in_it)
{
    struct group *before = process->group;

    if (before == group)
        return;
    if (process->passes > 0)
        member_count(tree, process);
    close_books(tree, process);
    for (struct group *joined = group; joined; joined = joined->above) {
        if (group_is_within(before, joined))
            break;
        joined->joined++;
        joined->spawned += born_in_it;
    }
    /* One that was born in it has used nothing elsewhere. */
    process->group_baseline = process->counted;
    process->group_baseline_ns = process->cpu_ns;
    if (born_in_it) {
        process->group_baseline = (struct ledger_sum){0};
        process->group_baseline_ns = 0;
    }
    /* Of one that was born in it we may hear late: its children were born in it as well. */
    process->joined_ns = born_in_it ? process->subject.born_ns : clock_monotonic_ns();
    process->group = group;
    process->membership = membership;
    group->references++;
    group_release(tree, before);
}

/* It joins from outside, and those that descend from it come with it. `found`: nobody named it. */
static void note_coming(const struct process *process, struct group *group, bool found)
{
    for (; group && !group_is_within(process->group, group); group = group->above) {
        group->came++;
        group->is_found = group->is_found || found;
    }
}

void group_join(struct tree *tree, struct group *group, struct process *process, enum membership membership)
{
    bool born_in_it = !process->group && is_born_since(process, group->made_ns);

    note_coming(process, group, true);
    join(tree, group, process, membership, born_in_it);
}

/* Whether another group beside this one was announced with it. */
static bool heads_another(const struct process *process, const struct group *group)
{
    const struct group *own = process->group;

    return own && own != group && own->above && own->above == group->above && !own->closed &&
           own->root == process->subject.serial;
}

/* It and its descendants, as far as they live. Parents mostly stand before their children in the list, and
 * one walk reaches every generation; one that was found late may stand behind its children. */
static void mark_descendants(struct tree *tree, const struct group *group, struct process *root)
{
    bool more = true;

    root->adopting = true;
    while (more) {
        more = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct process *process = tree->members[i];
            /* Of one that was never read it is known who forked it, if it was told at all. */
            pid_t parent_pid = process->passes > 0 ? process->stat.ppid : process->forker;
            const struct process *parent = members_find(tree, parent_pid);
            if (process->adopting || process->ended || !parent || !parent->adopting ||
                heads_another(process, group))
                continue;
            process->adopting = true;
            more = parent->subject.serial > process->subject.serial || more;
        }
    }
}

/* Read anew: what it has used until this moment is not the group's. False: it has ended. */
static bool adopt(struct tree *tree, struct group *group, struct process *process, enum membership membership)
{
    process->by_tasks = false;
    if (member_read(tree, process) < 0 || process_is_zombie(process))
        return false;
    join(tree, group, process, membership, false);
    /* Only now: it comes with the process that was named. */
    member_found(tree, process);
    return true;
}

int group_adopt(struct tree *tree, struct group *group, pid_t pid, enum membership membership)
{
    int joined = 0;

    tree_read_events(tree); /* those born by now are adopted, not born in it */
    struct process *root = members_find(tree, pid);
    if (!root || root->announced_exit)
        return -ESRCH;
    group->root = root->subject.serial;
    note_coming(root, group, false);
    mark_descendants(tree, group, root);
    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        if (process->adopting && !process->announced_exit && !group_is_within(process->group, group))
            joined += adopt(tree, group, process, membership);
        process->adopting = false;
    }
    return joined;
}

void group_inherit(struct tree *tree, struct process *process, const struct process *parent, bool told)
{
    if (parent && parent->group && !process->group)
        join(tree, parent->group, process, told ? MEMBER_BY_EVENTS : MEMBER_BY_DESCENT,
             is_born_since(process, parent->joined_ns));
}

void groups_begin_pass(struct tree *tree)
{
    for (struct group *group = tree->groups; group; group = group->next) {
        group->ledger.live = (struct ledger_sum){0};
        group->living = 0;
        group->own_cpu_ns = 0;
    }
}

void groups_count_missing(const struct tree *tree, struct process *process)
{
    process->group_own_ns = process->announced_exit ? 0 : own_cpu_since_joined(process, process->cpu_ns);
    process->group_own_pass = tree->passes;
    for (struct group *group = process->group; group; group = group->above)
        group->own_cpu_ns += process->group_own_ns;
}

void groups_count(const struct tree *tree, struct process *process)
{
    struct ledger_sum sum;

    if (!process->group)
        return;
    groups_count_missing(tree, process);
    sum = sum_since_joined(process);
    for (struct group *group = process->group; group; group = group->above) {
        ledger_add(&group->ledger.live, sum);
        group->living += !process_is_zombie(process);
        group->measured = true;
        group->has_io = group->has_io || process->has_io;
    }
}

void groups_publish(struct tree *tree)
{
    for (struct group *group = tree->groups; group; group = group->next)
        ledger_publish(&group->ledger);
}

void groups_add_gone(struct process *process, struct ledger_sum more)
{
    for (struct group *group = process->group; group && group != process->heir_group; group = group->above)
        ledger_add(&group->ledger.gone, more);
}

/* The nearest of its groups that the other one is in as well; NULL: none. */
static const struct group *shared_group(const struct process *process, const struct process *other)
{
    const struct group *group = process->group;

    while (group && !group_is_within(other->group, group))
        group = group->above;
    return group;
}

void groups_settle(struct process *process, struct process *heir)
{
    process->heir_group = heir ? shared_group(process, heir) : NULL;
    groups_add_gone(process, sum_since_joined(process));
    bool is_last = process->has_last_use || process_is_zombie(process);
    for (struct group *group = process->group; group; group = group->above) {
        /* Of its last moments nobody else knows, and an heir has it in the kernel's ticks. */
        group->unread = group->unread || !is_last || group == process->heir_group;
        group->measured = group->measured || is_last;
        group->has_io = group->has_io || (is_last && process->has_io);
    }
    if (!heir || !heir->group || !process->group)
        return;
    /* The heir takes over all that it used, also what it used before it joined, or in quite another group:
     * that is none of the heir's groups'. */
    struct ledger_sum others = process->heir_group ? process->group_baseline : process->counted;
    struct ledger_sum before = sum_since_joined(heir);
    ledger_add(&heir->group_baseline, others);
    /* What it had used before we came is taken from what the heir counts (settle_unreaped). */
    struct ledger_sum after =
        ledger_minus(ledger_minus(heir->counted, process->baseline), heir->group_baseline);
    struct ledger_sum less = ledger_minus(before, after);
    for (struct group *group = heir->group; group; group = group->above)
        group->ledger.live = ledger_minus(group->ledger.live, less);
}

void groups_told(const struct tree *tree, struct process *process, uint64_t cpu_ns, bool is_whole)
{
    uint64_t held_ns = take_back_own(tree, process);

    for (struct group *group = process->group; group; group = group->above) {
        group->told_cpu_ns += own_cpu_since_joined(process, cpu_ns);
        group->own_cpu_ns -= held_ns;
        group->missed = group->missed || !is_whole;
        group->measured = true;
        group->has_io = group->has_io || tree->options.read_io;
    }
}

void group_label(const struct process *process, struct event *event)
{
    const struct group *group = process->group;

    if (!group)
        return;
    event->job_id = group->job_id;
    event->has_sheet = group->has_sheet;
    event->sheet_num = group->sheet_num;
}

void groups_leave(struct tree *tree, struct process *process)
{
    for (struct group *group = process->group; group; group = group->above) {
        group->exited++;
        group->missed = group->missed || !process->use_is_told;
    }
    group_release(tree, process->group);
    process->group = NULL;
}

void groups_free(struct tree *tree)
{
    for (struct group *group = tree->groups, *next; group; group = next) {
        next = group->next;
        free(group->job_id);
        free(group);
    }
    tree->groups = NULL;
}

void group_usage(const struct tree *tree, const struct group *group, struct job_usage *usage)
{
    const struct ledger_sum *sum = &group->ledger.published;
    bool told =
        tree_method(tree) == TREE_BPF && !group->missed && tree_events_lost(tree) == group->events_lost;
    double own_seconds = (double)(group->told_cpu_ns + group->own_cpu_ns) / (double)NS_PER_SECOND;

    bool knows_all = tree_counts_all(tree) && group->root && !group->is_found;

    if (group->measured) {
        usage_set(usage, USAGE_CPU, told ? own_seconds : sum->cpu_seconds);
        usage_set(usage, USAGE_CPU_IS_LOW, !(knows_all && (told || !group->unread)));
    }
    if (group->has_io) {
        usage_set(usage, USAGE_READ, (double)sum->counts[LEDGER_READ_BYTES]);
        usage_set(usage, USAGE_WRITTEN, (double)sum->counts[LEDGER_WRITE_BYTES]);
    }
    usage_set(usage, USAGE_SPAWNED, (double)group->spawned);
    usage_set(usage, USAGE_EXITED, (double)group->exited);
    usage_set(usage, USAGE_SPAWNED_IS_EXACT, knows_all);
    usage_set(usage, USAGE_UNIQUE_PROCESSES, (double)group->joined);
}
