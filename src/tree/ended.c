/*
 * What was told of processes when they ended. One entry for each, kept until the next report has taken it;
 * the sum stays.
 */
#include <stdlib.h>

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
    if (peak > sum->max_rss_bytes)
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
    if (tree->ended_count == tree->ended_capacity) {
        size_t capacity = tree->ended_capacity ? tree->ended_capacity * 2 : 64;
        struct ended *ended = realloc(tree->ended, capacity * sizeof(*ended));
        if (!ended)
            return;
        tree->ended = ended;
        tree->ended_capacity = capacity;
    }
    tree->ended[tree->ended_count++] = (struct ended){
        .subject = process->subject,
        .kernel_id = process->kernel_id,
        .use = *use,
        .max_rss_bytes = peak,
        .lifetime_seconds = lifetime,
    };
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
    tree->ended_count = 0;
}

struct ended_sum tree_ended_sum(const struct tree *tree)
{
    struct ended_sum sum = tree->ended_sum;

    sum.is_whole = tree->method == TREE_BPF && tree->told_from_start && !tree->ended_missed &&
                   tree_events_lost(tree) == 0 && !tree->options.session;
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
