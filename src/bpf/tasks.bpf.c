/*
 * Reading processes in one call: what /proc/PID/{stat,statm,io,status} would tell of every member, without
 * opening a file. Read through an iterator's descriptor, which yields `struct wire_task` for each thread of
 * a member (or of everybody), first threads standing for their processes.
 *
 * Known differences from /proc: the CPU time of a thread that runs at this moment is as of its last tick.
 * Resident memory is kept per CPU by the kernel; the parts are added up here as /proc does from Linux 6.17
 * on.
 */
#include "bpf/point.h"

#include "bpf/memory.h"
#include "bpf/shared.h"

#define RLIMIT_NOFILE 7

/* Which members are to be added, by pid, and what else is wished (enum wire_wish): written from outside
 * before the seeding iterator is read; their ids are left in it. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, __u32);
    __type(value, __u64);
} seeds SEC(".maps");

/* Follows processes that live already. */
SEC("iter/task")
int seed_members(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct signal_struct *signal;
    struct member *member;
    __u64 *id, wish;
    __u32 pid;

    if (!task || task->pid != task->tgid)
        return 0;
    pid = task->tgid;
    id = bpf_map_lookup_elem(&seeds, &pid);
    if (!id)
        return 0;
    wish = *id;
    member = member_of(task);
    if (member) {
        if (settings.marked_calls && wish)
            member_mark(member, wish == WIRE_MARK);
        *id = member->id;
        return 0;
    }
    member = member_add(task, !settings.marked_calls || wish == WIRE_MARK, 1);
    if (!member)
        return 0;
    *id = member->id;
    /* What its ended threads had used. (Not I/O: there it is mixed with that of waited-for children.) */
    signal = BPF_CORE_READ(task, signal);
    member->cpu_ns = BPF_CORE_READ(signal, sum_sched_runtime);
    member->minor_faults = BPF_CORE_READ(signal, min_flt);
    member->major_faults = BPF_CORE_READ(signal, maj_flt);
    member->voluntary_switches = BPF_CORE_READ(signal, nvcsw);
    member->involuntary_switches = BPF_CORE_READ(signal, nivcsw);
    /* A first thread that has left stays among them until all have. */
    if (task->exit_state && (state_of(task) & DEAD))
        __sync_fetch_and_add(&member->threads, -1);
    return 0;
}

static __always_inline void fill_memory(struct wire_task *told, struct mm_struct *mm)
{
    struct pages pages = pages_of(mm);
    __u64 resident = pages.resident;
    __u64 highest = mm->hiwater_rss;

    told->vsize_bytes = mm->total_vm * settings.page_size;
    told->rss_bytes = resident * settings.page_size;
    told->hwm_bytes = (highest > resident ? highest : resident) * settings.page_size;
    told->swap_bytes = pages.swapped * settings.page_size;
    told->start_stack = mm->start_stack;
}

/* Reading field by field costs a load each, reading through a helper of the kernel's twenty times that. */
#define IO_ADD(sum, io)                                                                                      \
    do {                                                                                                     \
        if (bpf_core_field_exists((io).rchar)) {                                                             \
            (sum).rchar += (io).rchar;                                                                       \
            (sum).wchar += (io).wchar;                                                                       \
            (sum).syscr += (io).syscr;                                                                       \
            (sum).syscw += (io).syscw;                                                                       \
        }                                                                                                    \
        if (bpf_core_field_exists((io).read_bytes)) {                                                        \
            (sum).read_bytes += (io).read_bytes;                                                             \
            (sum).write_bytes += (io).write_bytes;                                                           \
        }                                                                                                    \
    } while (0)

/* What the process is, and what it has from its ended threads. */
static __always_inline void fill_process(struct wire_task *told, struct task_struct *task)
{
    struct signal_struct *signal = task->signal;
    struct mm_struct *mm = task->mm;

    told->cpu_ns += signal->sum_sched_runtime;
    told->minor_faults += signal->min_flt;
    told->major_faults += signal->maj_flt;
    told->voluntary_switches += signal->nvcsw;
    told->involuntary_switches += signal->nivcsw;
    IO_ADD(told->io, signal->ioac);
    told->start_ns = task->start_boottime;
    told->children_user_ns = signal->cutime;
    told->children_system_ns = signal->cstime;
    told->children_minor_faults = signal->cmin_flt;
    told->children_major_faults = signal->cmaj_flt;
    if (mm)
        fill_memory(told, mm);
    if (bpf_core_field_exists(task->delays) && settings.delays && task->delays)
        told->blocked_ns = task->delays->blkio_delay;
    told->open_files_limit = signal->rlim[RLIMIT_NOFILE].rlim_cur;
    told->parent = task->real_parent->tgid;
    told->threads = signal->nr_threads;
    told->state = state_of(task);
    told->exit_state = task->exit_state;
    /* Each place in memory that nobody has looked at lately costs as much as ten that somebody has: this one
     * is needed of parents alone. */
    if (task->children.next != &task->children && task->sighand)
        told->ignores_sigchld = (__u64)task->sighand->action[16].sa.sa_handler == 1; /* SIGCHLD: SIG_IGN */
    for (int i = 0; i < WIRE_COMM_SIZE; i += sizeof(__u64))
        *(__u64 *)&told->comm[i] = *(const __u64 *)&task->comm[i];
}

/* Waiting for memory is most of what reading thousands of processes costs: few of them are in a cache. The
 * process after the next, and what belongs to the next one, are called up while this one is read: one field
 * of every line of memory that will be needed, by us and by the kernel's own walk. Their values are not
 * looked at, so that all are waited for together. */
#define CALL_UP(field) asm volatile("" : : "r"(field))

static __always_inline struct task_struct *process_after(struct task_struct *task)
{
    return POINT(struct task_struct,
                 (void *)task->tasks.next - bpf_core_field_offset(struct task_struct, tasks));
}

static __always_inline void call_up_belongings(struct task_struct *task)
{
    struct signal_struct *signal = task->signal;
    struct mm_struct *mm = task->mm;
    struct pid *pid = task->thread_pid;

    CALL_UP(pid->count.refs.counter);
    CALL_UP(pid->numbers[0].nr);
    CALL_UP(signal->nr_threads);
    CALL_UP(signal->cutime);
    CALL_UP(signal->min_flt);
    CALL_UP(signal->ioac.wchar);
    CALL_UP(signal->sum_sched_runtime);
    CALL_UP(signal->rlim[RLIMIT_NOFILE].rlim_cur);
    if (!mm)
        return;
    CALL_UP(mm->total_vm);
    CALL_UP(mm->start_stack);
    if (bpf_core_field_exists(mm->rss_stat[0].count)) {
        CALL_UP(mm->rss_stat[RSS_FILE].count);
        CALL_UP(mm->rss_stat[RSS_SWAP].count);
        CALL_UP(mm->rss_stat[RSS_SHMEM].count);
    }
}

static __always_inline void call_up_following(struct task_struct *task)
{
    struct task_struct *next, *second;

    if (!CAN_POINT)
        return;
    next = process_after(task);
    second = process_after(next);
    CALL_UP(second->usage.refs.counter);
    CALL_UP(second->se.sum_exec_runtime);
    CALL_UP(second->tasks.next);
    CALL_UP(second->mm);
    CALL_UP(second->exit_state);
    CALL_UP(second->pid);
    CALL_UP(second->real_parent);
    CALL_UP(second->thread_pid);
    CALL_UP(second->nvcsw);
    CALL_UP(second->comm[0]);
    CALL_UP(second->signal);
    CALL_UP(second->ioac.rchar);
    CALL_UP(second->rcu_users.refs.counter);
    call_up_belongings(next);
}

SEC("iter/task")
int read_tasks(struct bpf_iter__task *context)
{
    struct task_struct *task = context->task;
    struct wire_task told = {};

    if (!task)
        return 0;
    if (!control.everybody) {
        __u64 bit, *bits = member_bit(task->tgid, &bit);

        /* It may be one that has the pid of a member from before: whoever reads this compares start times. */
        if (!bits || !(*bits & bit))
            return 0;
    }
    told.pid = task->tgid;
    told.is_first = task->pid == task->tgid;
    if (told.is_first)
        call_up_following(task);
    told.cpu_ns = task->se.sum_exec_runtime;
    told.minor_faults = task->min_flt;
    told.major_faults = task->maj_flt;
    told.voluntary_switches = task->nvcsw;
    told.involuntary_switches = task->nivcsw;
    IO_ADD(told.io, task->ioac);
    if (told.is_first)
        fill_process(&told, task);
    bpf_seq_write(context->meta->seq, &told, sizeof(told));
    return 0;
}
