/*
 * Reading all members in one go, through our program in the kernel that walks its tasks (bpf/tasks.bpf.c).
 *
 * It walks all tasks of the machine: worth it where the target is a large part of them. The same fields are
 * filled as from /proc/PID/{stat,statm,io,status}; whom it does not tell of (born meanwhile, or with threads
 * that came or went while it walked) is read from there.
 */
#include <signal.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/array.h"
#include "probe/bpf/programs.h"
#include "probe/process_clock.h"
#include "tree/members.h"

/* Below so many members, or if theirs are a smaller part of the machine's threads, files are cheaper. */
#define MEMBERS_MIN 32
#define PART_MIN    4

static bool is_cheaper(const struct tree *tree)
{
    struct sysinfo machine;
    size_t members = 0, threads = 0;

    if (tree->count < MEMBERS_MIN || sysinfo(&machine) != 0)
        return false;
    for (size_t i = 0; i < tree->count; i++) {
        const struct process *process = tree->members[i];
        if (process->ended || process->was_reaped || process->announced_exit)
            continue;
        members++;
        threads += process->stat.threads ? process->stat.threads : 1;
    }
    return members >= MEMBERS_MIN && threads * PART_MIN >= (size_t)machine.procs;
}

/* One letter for the kernel's bits, as /proc/PID/stat has it. */
static char state_letter(uint32_t state, uint32_t exit_state)
{
    static const char letters[] = "RSDTtXZPI";
    const uint32_t idle = 0x402; /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
    uint32_t reported = (state | exit_state) & 0x7f;

    if (state == idle)
        return 'I';
    return reported ? letters[32 - __builtin_clz(reported)] : 'R';
}

static struct pid_stat stat_of(const struct wire_task *task)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)clock_ticks_per_second();
    struct pid_stat stat = {
        .pid = (int32_t)task->pid,
        .state = state_letter(task->state, task->exit_state),
        .ppid = (int32_t)task->parent,
        .minor_faults = task->minor_faults,
        .child_minor_faults = task->children_minor_faults,
        .major_faults = task->major_faults,
        .child_major_faults = task->children_major_faults,
        .user_ticks = task->cpu_ns / tick_ns, /* only the sum with system_ticks is looked at */
        .child_user_ticks = task->children_user_ns / tick_ns,
        .child_system_ticks = task->children_system_ns / tick_ns,
        .threads = task->threads,
        .start_ticks = task->start_ns / tick_ns,
        .vsize_bytes = task->vsize_bytes,
        .start_stack = task->start_stack,
        .ignored_signals = task->ignores_sigchld ? UINT64_C(1) << (SIGCHLD - 1) : 0,
        .blocked_ticks = task->blocked_ns / tick_ns,
    };

    (void)memcpy(stat.comm, task->comm, sizeof(task->comm));
    return stat;
}

/* What the threads of a process have in common, added up in its first thread's entry. */
struct task_index {
    struct wire_task sum;
    struct process *process;
    uint32_t threads_seen;
};

static void add_thread(struct wire_task *sum, const struct wire_task *task)
{
    sum->cpu_ns += task->cpu_ns;
    sum->minor_faults += task->minor_faults;
    sum->major_faults += task->major_faults;
    sum->voluntary_switches += task->voluntary_switches;
    sum->involuntary_switches += task->involuntary_switches;
    sum->io.rchar += task->io.rchar;
    sum->io.wchar += task->io.wchar;
    sum->io.syscr += task->io.syscr;
    sum->io.syscw += task->io.syscw;
    sum->io.read_bytes += task->io.read_bytes;
    sum->io.write_bytes += task->io.write_bytes;
}

static void take_files(struct tree *tree, struct process *process, const struct wire_task *task)
{
    struct process_files *files = &process->files;

    if (tree->options.read_io) {
        process->io = (struct pid_io){task->io.rchar, task->io.wchar,      task->io.syscr,
                                      task->io.syscw, task->io.read_bytes, task->io.write_bytes};
        process->has_io = tree->has_io = true;
    }
    files->has_rss = task->vsize_bytes > 0;
    files->rss_bytes = task->rss_bytes;
    files->hwm_bytes = task->hwm_bytes;
    files->has_hwm = files->has_rss && tree_note_hwm(tree, process, task->hwm_bytes);
    files->has_swap = files->has_rss;
    files->swap_bytes = task->swap_bytes;
    files->has_switches = true;
    files->voluntary_switches = task->voluntary_switches;
    files->involuntary_switches = task->involuntary_switches;
    files->fd_limit = task->open_files_limit;
    files->has_fd_limit = task->open_files_limit != UINT64_MAX;
}

static void take_task(struct tree *tree, struct process *process, const struct wire_task *task,
                      uint64_t stamp_ns)
{
    struct pid_stat stat = stat_of(task);

    if (process->ended || process->was_reaped)
        return;
    if (member_take(tree, process, &stat, task->cpu_ns, stamp_ns) < 0)
        return;
    take_files(tree, process, task);
    process->by_tasks = true;
}

/* The rest of this is as long as the list of tasks, not as the tree: no searching. */
static void take_tasks(struct tree *tree, const struct wire_task *tasks, size_t count, uint64_t stamp_ns)
{
    for (size_t i = 0; i < count; i++) {
        struct process *process = members_find(tree, (pid_t)tasks[i].pid);

        if (!process)
            continue;
        if (tasks[i].is_first)
            process->task_order = i + 1;
        if (tasks[i].is_first && tasks[i].threads <= 1) {
            take_task(tree, process, &tasks[i], stamp_ns);
            continue;
        }
        /* Its threads stand anywhere in the list. */
        struct task_index *entry = NULL;
        if (process->task_slot && process->task_slot <= tree->task_slots &&
            tree->task_index[process->task_slot - 1].process == process)
            entry = &tree->task_index[process->task_slot - 1];
        if (!entry) {
            process->task_slot = ++tree->task_slots;
            entry = &tree->task_index[process->task_slot - 1];
            *entry = (struct task_index){.process = process};
        }
        entry->threads_seen++;
        if (tasks[i].is_first) {
            struct wire_task others = entry->sum;
            entry->sum = tasks[i];
            add_thread(&entry->sum, &others);
        } else {
            add_thread(&entry->sum, &tasks[i]);
        }
    }
    for (size_t i = 0; i < tree->task_slots; i++) {
        struct task_index *entry = &tree->task_index[i];
        /* A thread that came or went meanwhile is in two places or in none: then its files tell. */
        if (entry->sum.is_first && entry->threads_seen == entry->sum.threads)
            take_task(tree, entry->process, &entry->sum, stamp_ns);
    }
}

/* A machine's books are kept of its jobs alone: what others inherit counts nowhere. */
static bool is_in_books(const struct tree *tree, const struct process *process)
{
    return tree->options.scope != TREE_OF_MACHINE || process->group;
}

/* The ledger wants parents before their children: a child that was read first, and then ended and was waited
 * for, would be counted twice. Pids mostly grow from parent to child; where they do not, and the child is
 * gone by now, it is left out. So is the child of one whose files have yet to be read. */
static void leave_out_inherited(struct tree *tree)
{
    uint64_t cpu_ns;

    for (size_t i = 0; i < tree->count; i++) {
        struct process *process = tree->members[i];
        const struct process *parent = process->by_tasks ? members_find(tree, process->stat.ppid) : NULL;
        if (!parent || !is_in_books(tree, parent))
            continue;
        if (!parent->by_tasks || (parent->task_order > process->task_order &&
                                  process_clock_read(process->subject.id, &cpu_ns) < 0))
            process->by_tasks = false;
    }
}

void tasks_read(struct tree *tree)
{
    const struct wire_task *tasks;
    uint64_t stamp_ns = clock_monotonic_ns();

    tree->passes++;
    for (size_t i = 0; i < tree->count; i++)
        tree->members[i]->by_tasks = false;
    if (!tree->programs || !is_cheaper(tree))
        return;
    ssize_t count = bpf_programs_read_tasks(tree->programs, false, &tasks);
    if (count < 0 || ARRAY_FIT(tree->task_index, tree->task_index_capacity, (size_t)count) < 0)
        return;
    tree->task_passes++;
    tree->task_slots = 0;
    take_tasks(tree, tasks, (size_t)count, stamp_ns);
    leave_out_inherited(tree);
}

void tree_use_tasks(struct tree *tree, struct bpf_programs *programs)
{
    tree->programs = programs;
}

void tree_passes(const struct tree *tree, uint64_t *one_by_one, uint64_t *in_one_go)
{
    *one_by_one = tree->passes - tree->task_passes;
    *in_one_go = tree->task_passes;
}
