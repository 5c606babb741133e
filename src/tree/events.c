/*
 * What the kernel tells of members, taken in: births, programs, signals, ends. And the change from one source
 * to another in the middle of a run.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tree/groups.h"
#include "tree/members.h"

/* Events are read within a fraction of a second, or at the next sample. */
#define EVENT_AGE_LIMIT_NS (3600 * NS_PER_SECOND)
/* The end of a process is told when it leaves the CPU for the last time, a moment after its parent may have
 * waited for it. */
#define DRAIN_STEP_NS 200000
#define DRAIN_STEPS   500
#define AWAIT_NS      (NS_PER_SECOND / 4)
/* Until nobody new turns up: a tree that forks faster than it is listed is followed from where it is. */
#define TAKEOVER_ROUNDS 8

static uint64_t tick_ns(void)
{
    return NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
}

/* Whether an event is about this process, and not about another that has or had its pid. */
static bool is_about(const struct tree *tree, const struct process *process,
                     const struct lifecycle_event *event)
{
    if (event->id && process->kernel_id && event->id != process->kernel_id)
        return false;
    if (!event->start_ns)
        return true;
    if (process->start_ticks)
        return event->start_ns / tick_ns() == process->start_ticks;
    /* The connector told of it, just after it had begun. */
    return (event->id && event->id == process->kernel_id) || !process->subject.born_ns ||
           event->start_ns <= process->subject.born_ns + (uint64_t)tree->suspended_ns + tick_ns();
}

/* The member that an event is about; NULL: none of ours, or one from before that had the same pid. */
static struct process *member_of_event(const struct tree *tree, const struct lifecycle_event *event)
{
    struct process *process = members_find(tree, event->pid);

    if (!process || !is_about(tree, process, event))
        return NULL;
    if (event->id)
        process->kernel_id = event->id;
    return process;
}

/* The member that forked, or NULL: one that has ended forks no more, its pid is somebody else's by now. */
static struct process *forking_member(const struct tree *tree, pid_t pid)
{
    struct process *process = members_find(tree, pid);
    return process && !process->announced_exit ? process : NULL;
}

static void on_fork(struct tree *tree, const struct lifecycle_event *event)
{
    struct process *before = members_find(tree, event->pid);
    /* Another source may have told of it already, of its end as well (tree_listen). */
    bool is_told = before && event->id && (!before->kernel_id || before->kernel_id == event->id);
    struct process *process = member_of_event(tree, event);

    if (before && (before != process || (!is_told && (before->announced_exit || before->was_reaped)))) {
        announce_exit(tree, before, SEEN_SAMPLED, event->stamp_ns);
        settle_unreaped(tree, before);
        members_end(tree, before); /* the pid is in use again, whoever has it */
        process = NULL;
    }
    struct process *parent = forking_member(tree, event->fork.parent);
    forget_descendant(tree, event->pid);
    if (!parent && event->id && is_stranger(tree, event->fork.parent)) {
        (void)add_stranger(tree, event->pid, true);
        return;
    }
    /* Our own child is the command, or a process it cloned as our child (CLONE_PARENT): both belong. */
    bool of_us = event->fork.parent == tree->self && (tree->options.reaps || event->pid == tree->root);
    /* Our programs in the kernel tell of nobody else, whatever has become of the parent. */
    if ((!parent && !of_us && !event->id) || is_stranger(tree, event->pid) || tree->options.alone)
        return;
    if (!process)
        process = members_add(tree, event->pid, event->stamp_ns);
    if (!process)
        return;
    members_set_birth(tree, process, event->stamp_ns);
    if (event->start_ns && !process->start_ticks)
        process->start_ticks = event->start_ns / tick_ns();
    if (event->id) /* the connector has none */
        process->kernel_id = event->id;
    process->told_of_birth = true;
    if (parent) {
        parent->has_children = true;
        announce_pending(tree, parent); /* whoever is born after it is told after it */
    }
    process->of_command = member_is_of_command(tree, process, parent);
    group_inherit(tree, process, parent, true);
    announce_spawn(tree, process, event->fork.parent, SEEN_EVENT, event->stamp_ns);
}

static void on_exec(struct tree *tree, const struct lifecycle_event *event)
{
    struct process *process = member_of_event(tree, event);

    if (!process)
        return;
    process->image = 0; /* read the command line anew */
    process->execs++;
    process->command_is_told = false;
    if (event->exec.arguments && tree->options.command_bytes) {
        member_set_command(tree, process, event->exec.arguments, event->exec.length,
                           event->exec.is_truncated);
        process->command_is_told = true;
    }
    announce_pending(tree, process);
}

/* It is a zombie until its parent waits for it, mostly: its clock and counters do not move any more. Where
 * the kernel does not report what it used, this is the last chance of knowing that. */
static void read_last(struct tree *tree, struct process *process)
{
    if (!process->group || process->was_reaped || member_read(tree, process) < 0)
        return;
    member_count(tree, process);
    settle_children(tree, process);
}

/* Of one that was there before we listened it is not known for sure how many threads it has: its own stat
 * decides, now or in the next pass. */
static void on_thread_end_of_found(struct tree *tree, struct process *process,
                                   const struct lifecycle_event *event)
{
    process->has_last_status = true;
    process->last_status = event->exit.wait_status;
    process->look_again = true;
    if (process->event_threads > 1) {
        process->event_threads--;
        return;
    }
    if (process->passes > 0 && !process->announced_exit && member_has_ended(tree, process)) {
        read_last(tree, process);
        announce_exit(tree, process, SEEN_EVENT, event->stamp_ns);
    }
}

static void on_thread_end(struct tree *tree, const struct lifecycle_event *event)
{
    struct process *process = member_of_event(tree, event);

    if (process && process->was_there && !process->told_of_birth) {
        on_thread_end_of_found(tree, process, event);
        return;
    }
    /* A main thread may leave long before the others: the process ends with its last thread, which takes the
     * exit code with it. Where threads may have begun before we listened, only its own stat can tell. */
    if (!process || !process->told_of_birth || process->event_threads == 0 || --process->event_threads > 0)
        return;
    process->wait_status = event->exit.wait_status;
    process->has_status = true;
    read_last(tree, process);
    announce_exit(tree, process, SEEN_EVENT, event->stamp_ns);
}

/* Something is told of one that was only ever a number in a listing: so it was there. */
static void announce_found(struct tree *tree, struct process *process, uint64_t born_ns)
{
    if (process->announced_spawn)
        return;
    members_set_birth(tree, process, born_ns);
    announce_spawn(tree, process, 0, SEEN_SAMPLED, born_ns);
}

static void on_exit_told(struct tree *tree, const struct lifecycle_event *event)
{
    struct process *process = member_of_event(tree, event);

    if (!process || process->announced_exit)
        return;
    announce_found(tree, process, event->stamp_ns - event->exit.lifetime_ns);
    process->wait_status = event->exit.wait_status;
    process->has_status = true;
    if (event->exit.has_use) {
        groups_told(tree, process, event->exit.use.cpu_ns, event->exit.is_whole);
        ended_add(tree, process, event);
        count_last_use(tree, process, &event->exit.use);
    }
    announce_exit(tree, process, SEEN_EVENT, event->stamp_ns);
    if (process->was_reaped)
        members_end(tree, process);
}

static void announce_signal(struct tree *tree, struct process *process, const struct deadly_signal *signal)
{
    const struct event_sender sender = {signal->sender, signal->name[0] ? signal->name : NULL};
    struct event event = {
        .type = EVENT_SIGNAL,
        .seen = SEEN_EVENT,
        .wall = tree_wall(tree, signal->stamp_ns),
        .pid = process->subject.id,
        .start_time = process->start_time[0] ? process->start_time : NULL,
        .command = process->command,
        .command_is_truncated = process->command_is_truncated,
        .signal_num = signal->number,
        .sender = &sender,
    };

    announce_found(tree, process, signal->stamp_ns);
    announce_pending(tree, process);
    group_label(process, &event);
    if (tree->options.on_event)
        tree->options.on_event(tree->options.context, &event);
}

void announce_spared(struct tree *tree, struct process *process)
{
    if (process->deadly.number && !process->deadly.was_said)
        announce_signal(tree, process, &process->deadly);
    process->deadly.number = 0;
}

static void on_signal(struct tree *tree, const struct lifecycle_event *event)
{
    struct process *process = member_of_event(tree, event);
    struct deadly_signal signal = {
        .number = event->signal.number, .sender = event->signal.sender, .stamp_ns = event->stamp_ns};

    if (!process || process->announced_exit)
        return;
    if (event->signal.name)
        (void)strncpy(signal.name, event->signal.name, sizeof(signal.name) - 1);
    if (!event->signal.deadly) {
        announce_signal(tree, process, &signal);
        return;
    }
    /* One that is blocked did not end it, and may do so later. */
    if (event->signal.blocked) {
        announce_signal(tree, process, &signal);
        signal.was_said = true;
        if (!process->deadly.number)
            process->deadly = signal;
        return;
    }
    /* Whether it is a kill or just a signal shows in how the process ends. The first counts; only SIGKILL
     * overtakes what has not killed yet. */
    if (process->deadly.number && !process->deadly.was_said && signal.number != SIGKILL) {
        announce_signal(tree, process, &signal);
        return;
    }
    if (process->deadly.number == SIGKILL)
        return;
    announce_spared(tree, process);
    process->deadly = signal;
}

static void on_oom(struct tree *tree, const struct lifecycle_event *told)
{
    struct process *process = member_of_event(tree, told);

    if (!process)
        return;
    if (process->subject.id == tree->root)
        tree->root_oom = true;
    announce_found(tree, process, told->stamp_ns);
    announce_pending(tree, process);
    struct event event = {
        .type = EVENT_OOM,
        .seen = SEEN_EVENT,
        .wall = tree_wall(tree, told->stamp_ns),
        .pid = process->subject.id,
        .start_time = process->start_time[0] ? process->start_time : NULL,
        .command = process->command,
        .command_is_truncated = process->command_is_truncated,
    };
    group_label(process, &event);
    if (tree->options.on_event)
        tree->options.on_event(tree->options.context, &event);
}

static void visit_event(void *context, const struct lifecycle_event *told)
{
    struct tree *tree = context;
    struct lifecycle_event event = *told;
    uint64_t now_ns = clock_monotonic_ns();

    tree->events_read++;

    /* The kernel's stamp is of the initial time namespace; in another one our clock is not that one. */
    if (event.stamp_ns > now_ns || now_ns - event.stamp_ns > EVENT_AGE_LIMIT_NS)
        event.stamp_ns = now_ns;

    switch (event.what) {
    case LIFECYCLE_FORK:
        on_fork(tree, &event);
        break;
    case LIFECYCLE_EXEC:
        on_exec(tree, &event);
        break;
    case LIFECYCLE_EXIT:
        on_exit_told(tree, &event);
        break;
    case LIFECYCLE_SIGNAL:
        on_signal(tree, &event);
        break;
    case LIFECYCLE_OOM:
        on_oom(tree, &event);
        break;
    case LIFECYCLE_THREAD_BEGIN: {
        struct process *process = member_of_event(tree, &event);
        if (process)
            process->event_threads++;
        break;
    }
    case LIFECYCLE_THREAD_END:
        on_thread_end(tree, &event);
        break;
    }
}

void tree_read_events(struct tree *tree)
{
    if (!tree->source || lifecycle_read(tree->source, visit_event, tree) == 0)
        return;
    /* The loss is told before what had been queued: only now is nothing known any more of who has which
     * threads. */
    tree->scan_once = true;
    for (size_t i = 0; i < tree->count; i++)
        tree->members[i]->told_of_birth = tree->members[i]->has_last_status = false;
}

/* Has the source follow everybody who is a member by now. Returns how many there were, or a negative errno.
 */
static ssize_t follow_members(struct tree *tree, struct lifecycle *source, size_t from)
{
    size_t count = tree->count - from;
    pid_t *pids = count ? calloc(count, sizeof(*pids)) : NULL;
    uint64_t *ids = count ? calloc(count, sizeof(*ids)) : NULL;
    int code = count && (!pids || !ids) ? -ENOMEM : 0;

    for (size_t i = 0; i < count && code == 0; i++)
        pids[i] = tree->members[from + i]->subject.id;
    if (count && code == 0)
        code = lifecycle_follow(source, pids, count, ids);
    for (size_t i = 0; i < count && code == 0; i++)
        if (ids[i] && !tree->members[from + i]->kernel_id)
            tree->members[from + i]->kernel_id = ids[i];
    free(pids);
    free(ids);
    return code < 0 ? code : (ssize_t)count;
}

int follow_all(struct tree *tree, struct lifecycle *source, size_t from, void (*look)(struct tree *))
{
    /* Who is born after its parent is followed is told of; who was born before that is to be found. So:
     * follow, look for more, until there are no more. */
    for (unsigned round = 0; from < tree->count; round++) {
        ssize_t count = follow_members(tree, source, from);
        if (count < 0)
            return (int)count;
        from += (size_t)count;
        if (round == TAKEOVER_ROUNDS)
            break;
        look(tree);
    }
    return 0;
}

/* By what tells of members until now. Nobody is dropped: the list only grows. */
static void look_for_more(struct tree *tree)
{
    if (tree->source) {
        tree_read_events(tree);
        return;
    }
    if (tree->method == TREE_SCAN) {
        discover_by_scan(tree);
        return;
    }
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->members[i]->ended)
            discover_children(tree, tree->members[i]);
    if (tree->options.reaps)
        discover_orphans(tree);
}

static void pass_over(void *context, const struct lifecycle_event *event)
{
    (void)context;
    (void)event;
}

int tree_listen(struct tree *tree, struct lifecycle *source)
{
    /* It has told of our own children since it is there, and of nobody else: they are known. */
    (void)lifecycle_read(source, pass_over, NULL);
    if (!tree->source)
        tree_refresh(tree); /* a pid that is in use again must lend its children to nobody */
    int code = follow_all(tree, source, 0, look_for_more);
    if (code < 0)
        return code;
    if (tree->source)
        tree->events_lost += lifecycle_lost(tree->source);
    else
        tree->scan_once = true; /* a listing may have missed a child */
    tree->source = source;
    tree->method = lifecycle_method(source) == LIFECYCLE_BPF ? TREE_BPF : TREE_CONNECTOR;
    ended_miss(tree); /* what those of before had used is not told, or not all of it */
    return 0;
}

/* A process that nobody waits for leaves the kernel's table before its last switch away from the CPU, with
 * which its exit is reported. */
static bool is_gone(const struct process *process)
{
    return process->was_reaped || process->missing_ns ||
           (kill((pid_t)process->subject.id, 0) != 0 && errno == ESRCH);
}

static bool somebody_is_awaited(const struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->members[i]->ended && !tree->members[i]->announced_exit && is_gone(tree->members[i]))
            return true;
    return false;
}

void tree_await_exit(struct tree *tree, pid_t pid, uint64_t *patience_ns)
{
    const struct timespec pause = {.tv_nsec = DRAIN_STEP_NS};
    const uint64_t begin_ns = clock_monotonic_ns();
    const uint64_t end_ns = begin_ns + (*patience_ns < AWAIT_NS ? *patience_ns : AWAIT_NS);
    uint64_t now_ns = begin_ns;

    tree_read_events(tree);
    while (tree->method == TREE_BPF && now_ns < end_ns) {
        const struct process *process = members_find(tree, pid);

        if (!process || process->ended || process->announced_exit || !is_gone(process))
            break;
        (void)nanosleep(&pause, NULL);
        tree_read_events(tree);
        now_ns = clock_monotonic_ns();
    }
    const uint64_t waited_ns = now_ns - begin_ns;
    *patience_ns -= waited_ns < *patience_ns ? waited_ns : *patience_ns;
}

void tree_drain(struct tree *tree)
{
    const struct timespec pause = {.tv_nsec = DRAIN_STEP_NS};

    for (unsigned step = 0; tree->method == TREE_BPF && step < DRAIN_STEPS; step++) {
        tree_read_events(tree);
        if (!somebody_is_awaited(tree))
            break;
        (void)nanosleep(&pause, NULL);
    }
    members_sweep(tree);
}
