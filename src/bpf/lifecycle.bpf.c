/*
 * Births, programs, deaths and signals of the target's processes, as they happen.
 *
 * A process is followed from its fork, if who forked it is followed (or is the spawner), until the kernel
 * frees its last thread; nothing needs to be looked up by pid.
 *
 * What a thread used is added up when it leaves the CPU for the last time, which is also when its process is
 * told to have ended. At sched_process_exit, where one would look first, the CPU time of a short process is
 * still stale, and taking its memory apart is still to come; sched_process_free, where it is final, comes
 * only after somebody has waited for it and a grace period of the kernel's has passed: seconds later, for a
 * zombie never. The price is a look at one word at every context switch of the machine.
 */
#include "bpf/memory.h"
#include "bpf/shared.h"

char licence[] SEC("license") = "Dual MIT/GPL";

struct member_table members SEC(".maps");
struct pid_bits member_bits SEC(".maps");
struct pid_bits marked_bits SEC(".maps");
struct event_ring events SEC(".maps");

struct landmark_table landmark SEC(".maps");

/* Not static: the compiler would make a byte of the flag, and the kernel refuse its description. */
__u64 cpu_offsets[WIRE_CPUS_MAX];
__u64 cpu_offsets_known;
struct wire_control control;
const volatile struct wire_settings settings;

/* A command line does not fit on the stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wire_exec);
} exec_scratch SEC(".maps");

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
    __u64 now_ns = bpf_ktime_get_ns();
    struct member *forker, *member;
    struct wire_fork *fork;

    forker = member_of(parent);
    if (BPF_CORE_READ(child, signal) == BPF_CORE_READ(parent, signal)) {
        if (forker)
            __sync_fetch_and_add(&forker->threads, 1);
        return 0;
    }
    if (!forker && (!settings.spawner || (__u32)parent->tgid != settings.spawner))
        return 0;
    member = member_add(child, forker ? forker->counts_calls : 0, 0);
    if (!member)
        return 0;
    fork = event_reserve(sizeof(*fork));
    if (fork) {
        event_fill(&fork->event, WIRE_FORK, member, now_ns);
        fork->parent = BPF_CORE_READ(child, real_parent, tgid);
        fork->pad = 0;
        event_submit(fork);
    }
    cost_add(now_ns);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
    __u64 now_ns = bpf_ktime_get_ns();
    struct member *member = member_of(task);
    __u64 begin, length;
    struct wire_exec *exec;
    __u32 zero = 0;

    if (!member)
        return 0;
    if (!settings.marked_calls)
        member->counts_calls = 1;
    exec = bpf_map_lookup_elem(&exec_scratch, &zero);
    if (!exec)
        return 0;
    event_fill(&exec->event, WIRE_EXEC, member, now_ns);
    BPF_CORE_READ_INTO(&exec->comm, task, comm);
    begin = BPF_CORE_READ(task, mm, arg_start);
    length = BPF_CORE_READ(task, mm, arg_end) - begin;
    exec->truncated = length > WIRE_ARGUMENTS_MAX - 1;
    if (exec->truncated)
        length = WIRE_ARGUMENTS_MAX - 1;
    length &= WIRE_ARGUMENTS_MAX - 1;
    if (bpf_probe_read_user(exec->arguments, length, (const void *)begin) != 0)
        length = 0;
    exec->length = length;
    if (bpf_ringbuf_output(&events, exec, __builtin_offsetof(struct wire_exec, arguments) + length,
                           event_flags()) != 0)
        __sync_fetch_and_add(&control.lost, 1);
    cost_add(now_ns);
    return 0;
}

#define GROUP_EXIT 4 /* SIGNAL_GROUP_EXIT in the flags of a signal_struct */

/* Its last thread has begun to end: how, and how much memory it had at most. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
    struct signal_struct *signal = BPF_CORE_READ(task, signal);
    struct member *member;
    struct mm_struct *mm;
    __u64 peak = 0;

    if (BPF_CORE_READ(signal, live.counter) != 0)
        return 0; /* other threads live on */
    member = member_of(task);
    if (!member)
        return 0;
    member->ended_ns = bpf_ktime_get_ns();
    /* Before Linux 6.16 its memory is gone by now. */
    mm = BPF_CORE_READ(task, mm);
    if (mm) {
        __u64 resident = pages_of(mm).resident;

        peak = BPF_CORE_READ(mm, hiwater_rss);
        if (resident > peak)
            peak = resident;
    }
    member->peak_bytes = peak * settings.page_size;
    /* As wait4 decides it. */
    member->wait_status = BPF_CORE_READ(signal, flags) & GROUP_EXIT
                              ? BPF_CORE_READ(signal, group_exit_code)
                              : BPF_CORE_READ(task, group_leader, exit_code);
    cost_add(member->ended_ns);
    return 0;
}

static __always_inline void tell_exit(struct member *member, __u64 now_ns)
{
    struct wire_exit *exit = event_reserve(sizeof(*exit));

    if (!exit)
        return;
    event_fill(&exit->event, WIRE_EXIT, member, member->ended_ns);
    exit->born_ns = member->born_ns;
    exit->gone_ns = now_ns;
    exit->peak_bytes = member->peak_bytes;
    exit->wait_status = member->wait_status;
    exit->seeded = member->seeded;
    exit->cpu_ns = member->cpu_ns;
    exit->minor_faults = member->minor_faults;
    exit->major_faults = member->major_faults;
    exit->voluntary_switches = member->voluntary_switches;
    exit->involuntary_switches = member->involuntary_switches;
    exit->io = member->io;
    event_submit(exit);
}

#define HELPER_TASK (0x10 | 0x4000) /* PF_IO_WORKER, PF_USER_WORKER: threads whose birth is not told */

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *task)
{
    struct member *member;
    __u64 now_ns;
    __s64 left;

    if (!(state_of(task) & DEAD))
        return 0;
    member = member_of(task);
    if (!member)
        return 0;
    now_ns = bpf_ktime_get_ns();
    /* Two threads of one process may end at once, on two CPUs. */
    __sync_fetch_and_add(&member->cpu_ns, task->se.sum_exec_runtime);
    __sync_fetch_and_add(&member->minor_faults, task->min_flt);
    __sync_fetch_and_add(&member->major_faults, task->maj_flt);
    __sync_fetch_and_add(&member->voluntary_switches, task->nvcsw);
    __sync_fetch_and_add(&member->involuntary_switches, task->nivcsw);
    if (bpf_core_field_exists(task->ioac.rchar)) {
        __sync_fetch_and_add(&member->io.rchar, task->ioac.rchar);
        __sync_fetch_and_add(&member->io.wchar, task->ioac.wchar);
        __sync_fetch_and_add(&member->io.syscr, task->ioac.syscr);
        __sync_fetch_and_add(&member->io.syscw, task->ioac.syscw);
    }
    if (bpf_core_field_exists(task->ioac.read_bytes)) {
        __sync_fetch_and_add(&member->io.read_bytes, task->ioac.read_bytes);
        __sync_fetch_and_add(&member->io.write_bytes, task->ioac.write_bytes);
    }
    if (!(task->flags & HELPER_TASK))
        __sync_fetch_and_add(&member->threads, -1);
    left = *(volatile __s64 *)&member->threads;
    if (member->ended_ns && left <= 0 && !__sync_val_compare_and_swap(&member->told, 0, 1))
        tell_exit(member, now_ns);
    cost_add(now_ns);
    return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
    struct signal_struct *signal = BPF_CORE_READ(task, signal);
    __u64 key = (__u64)signal;
    struct member *member;
    __u64 bit, *bits;

    if (BPF_CORE_READ(signal, sigcnt.refs.counter) > 1)
        return 0;
    member = member_of(task);
    if (!member)
        return 0;
    /* Threads that were born just while it was seeded may have been counted twice. */
    if (member->ended_ns && !__sync_val_compare_and_swap(&member->told, 0, 1))
        tell_exit(member, bpf_ktime_get_ns());
    bpf_map_delete_elem(&members, &key);
    bits = member_bit(task->tgid, &bit);
    if (bits)
        __sync_fetch_and_and(bits, ~bit);
    if (settings.marked_calls) {
        bits = marked_bit(task->tgid, &bit);
        if (bits)
            __sync_fetch_and_and(bits, ~bit);
    }
    return 0;
}

/* Signals 1 to 31 whose default is not to end the process. */
#define HARMLESS                                                                                             \
    ((1U << 17) /* CHLD */ | (1U << 18) /* CONT */ | (1U << 19) /* STOP */ | (1U << 20) /* TSTP */ |         \
     (1U << 21) /* TTIN */ | (1U << 22) /* TTOU */ | (1U << 23) /* URG */ | (1U << 28) /* WINCH */)

#define KILL 9
#define CHLD 17
/* How a process sends one; with any other code whoever runs at the moment has nothing to do with it. */
#define SENT_BY_KILL  0    /* SI_USER */
#define SENT_BY_QUEUE (-1) /* SI_QUEUE */
#define SENT_BY_TKILL (-6) /* SI_TKILL */
#define SENT_BY_TIMER (-2) /* SI_TIMER */
/* In place of a siginfo: none, from a process; none, from the kernel. */
#define NO_INFO        0
#define NO_INFO_KERNEL 1
/* What became of it. */
#define IGNORED 1

/* The size of an action is the kernel's to tell: an index that is not constant would use ours. */
static __always_inline __u64 handler_of(struct task_struct *task, int number)
{
    struct sighand_struct *actions = BPF_CORE_READ(task, sighand);
    __u64 first = (__u64)__builtin_preserve_access_index(&actions->action[0].sa.sa_handler);
    __u64 handler = 0;

    (void)bpf_probe_read_kernel(
        &handler, sizeof(handler),
        (const void *)(first + (__u64)(number - 1) * bpf_core_type_size(struct k_sigaction)));
    return handler;
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int number, struct kernel_siginfo *info, struct task_struct *task, int group,
             int result)
{
    __u64 now_ns = bpf_ktime_get_ns();
    struct wire_signal *told;
    struct member *member;
    int code = 0;
    bool by_kernel = (unsigned long)info == NO_INFO_KERNEL;

    if (result == IGNORED)
        return 0;
    if ((unsigned long)info > NO_INFO_KERNEL) {
        code = BPF_CORE_READ(info, si_code);
        by_kernel = code != SENT_BY_KILL && code != SENT_BY_QUEUE && code != SENT_BY_TKILL;
    }
    /* Every child's end and every tick of a timer is one: they say nothing that is not told elsewhere. */
    if ((by_kernel && number == CHLD) || code == SENT_BY_TIMER)
        return 0;
    member = member_of(task);
    if (!member)
        return 0;
    told = event_reserve(sizeof(*told));
    if (!told)
        return 0;
    event_fill(&told->event, WIRE_SIGNAL, member, now_ns);
    told->number = number;
    told->code = code;
    told->sender = 0;
    __builtin_memset(told->sender_comm, 0, sizeof(told->sender_comm));
    if (!by_kernel) {
        told->sender = bpf_get_current_pid_tgid() >> 32;
        bpf_get_current_comm(told->sender_comm, sizeof(told->sender_comm));
    }
    told->deadly = number == KILL;
    if (number > 0 && number != KILL && number <= 64)
        told->deadly = !handler_of(task, number) && (number > 31 || !(HARMLESS >> number & 1));
    told->blocked =
        number > 0 && number != KILL && number <= 64 && (task->blocked.sig[0] >> ((number - 1) & 63) & 1);
    event_submit(told);
    cost_add(now_ns);
    return 0;
}

static __always_inline int tell_oom(struct task_struct *task)
{
    __u64 now_ns = bpf_ktime_get_ns();
    struct member *member = member_of(task);
    struct wire_oom *oom;

    if (!member)
        return 0;
    oom = event_reserve(sizeof(*oom));
    if (!oom)
        return 0;
    event_fill(&oom->event, WIRE_OOM, member, now_ns);
    event_submit(oom);
    cost_add(now_ns);
    return 0;
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom, struct task_struct *task)
{
    return tell_oom(task);
}

/* Before Linux 6.9 the tracepoint has only a number: whether it is one of ours is for the reader to know. */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom_by_pid, int pid)
{
    struct wire_oom *oom = event_reserve(sizeof(*oom));

    if (!oom)
        return 0;
    __builtin_memset(oom, 0, sizeof(*oom));
    oom->event.what = WIRE_OOM;
    oom->event.pid = pid;
    oom->event.stamp_ns = bpf_ktime_get_ns();
    event_submit(oom);
    return 0;
}
