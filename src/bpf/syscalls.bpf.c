/*
 * System calls of the target's processes: how often, with which error, how long. Added up in the kernel, by
 * process, number and error; what does not fit is counted.
 *
 * A call counts when it returns (as strace counts it): one that never does (exit_group, a thread killed
 * inside) has no duration. Counting begins with the first program that a process of the target executes; with
 * marked_calls, when it is marked or born of one that is, and ends when it is no more.
 */
#include "bpf/shared.h"

/* Our own cost is measured at every so many-th return; entering costs about as much. */
#define COST_SAMPLE 64

#define COMPAT_CALL 0x10000 /* a 32-bit call on a 64-bit kernel: its numbers are others */

#define IN_COMPAT_CALL 2 /* TS_COMPAT, x86 alone */

/* The call that a thread is in. */
struct running_call {
    __u64 begin_ns;
    __u32 id;
    __u32 number;
    __u32 inside;
    __u32 pad;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct running_call);
} running SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 131072);
    __type(key, struct wire_call_key);
    __type(value, struct wire_call);
} calls SEC(".maps");

static __always_inline bool may_count(struct task_struct *task)
{
    __u64 bit, *bits;

    if (!settings.marked_calls)
        return true;
    bits = marked_bit(task->tgid, &bit);
    return bits && (*bits & bit);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs *registers, long number)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct running_call *call;

    (void)registers;
    if (!may_count(task))
        return 0;
    call = bpf_task_storage_get(&running, task, 0, 0);
    if (!call) {
        struct member *member = member_of_hot(task);

        if (!member || (settings.marked_calls && !member->counts_calls))
            return 0;
        call = bpf_task_storage_get(&running, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (!call)
            return 0;
        call->id = (__u32)member->id;
    }
    call->number = (__u32)number;
    if (bpf_core_field_exists(task->thread_info.status) && (task->thread_info.status & IN_COMPAT_CALL))
        call->number |= COMPAT_CALL;
    call->inside = 1;
    call->begin_ns = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *registers, long result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct running_call *call = bpf_task_storage_get(&running, task, 0, 0);
    struct wire_call_key key;
    struct wire_call *sum;
    __u64 elapsed_ns;

    (void)registers;
    /* The first return of a new thread is that of its parent's clone. */
    if (!call || !call->inside)
        return 0;
    elapsed_ns = bpf_ktime_get_ns() - call->begin_ns;
    call->inside = 0;
    key.id = call->id;
    key.number = call->number;
    key.error = result < 0 && result >= -4095 ? (__u32)-result : 0;
    sum = bpf_map_lookup_elem(&calls, &key);
    if (!sum) {
        const struct wire_call none = {};
        struct member *member = member_of_hot(task);

        if (!member || !member->counts_calls)
            return 0;
        bpf_map_update_elem(&calls, &key, &none, BPF_NOEXIST);
        sum = bpf_map_lookup_elem(&calls, &key);
        if (!sum) {
            __sync_fetch_and_add(&control.calls_lost, 1);
            return 0;
        }
    }
    __sync_fetch_and_add(&sum->count, 1);
    __sync_fetch_and_add(&sum->ns, elapsed_ns);
    if (sum->count % COST_SAMPLE == 0)
        __sync_fetch_and_add(&control.kernel_ns,
                             2 * COST_SAMPLE * (bpf_ktime_get_ns() - call->begin_ns - elapsed_ns));
    return 0;
}
