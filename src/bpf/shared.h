/*
 * What the programs share: the table of members, the ring of events, the memory seen from outside.
 *
 * A member is a process of the target. It is known by its signal_struct, which all its threads share from
 * its birth until the last of them is freed: a pid may be in use again before that.
 */
#ifndef METRON_BPF_SHARED_H
#define METRON_BPF_SHARED_H

#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

struct member {
    __u64 id;
    __u64 start_ns; /* CLOCK_BOOTTIME, */
    __u64 born_ns;  /* CLOCK_MONOTONIC */
    __u32 pid;
    __u16 counts_calls; /* it has executed a program since it was followed, or descends from one that has;
                         * with marked_calls: it is marked, or descends from one that was */
    __u16 seeded;       /* it lived before it was followed */
    __s64 threads;      /* that have not been switched out for the last time */
    /* What its ended threads had used. */
    __u64 cpu_ns;
    __u64 minor_faults, major_faults;
    __u64 voluntary_switches, involuntary_switches;
    struct wire_io io;
    /* How it ended: from the moment its last thread began to. */
    __u64 ended_ns;
    __u64 peak_bytes;
    __u64 told; /* its end was */
    __s32 wait_status;
    __u32 pad;
};

/* The size is set when it is loaded. */
struct member_table {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, __u64); /* address of the signal_struct */
    __type(value, struct member);
};

struct event_ring {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, WIRE_RING_BYTES);
};

/* A bit for each pid that a member has or had: a first look that is cheaper than the table. */
struct pid_bits {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4 * 1024 * 1024 / 64); /* PID_MAX_LIMIT */
    __type(key, __u32);
    __type(value, __u64);
};

extern struct member_table members SEC(".maps");
extern struct pid_bits member_bits SEC(".maps");
/* The same for those that are marked: a bystander's system call costs a look at it, and no more. */
extern struct pid_bits marked_bits SEC(".maps");
extern struct event_ring events SEC(".maps");

extern struct wire_control control;
extern const volatile struct wire_settings settings;

static __always_inline struct member *member_find(const struct signal_struct *signal, __u32 pid)
{
    __u64 key = (__u64)signal;
    struct member *member = bpf_map_lookup_elem(&members, &key);

    /* An entry outlives its process where the kernel did not let us see that it was freed. */
    return member && member->pid == pid ? member : 0;
}

/* A plain load of a pointer costs little when the program runs, but much when it is loaded: the verifier
 * searches all types of the kernel for what it may point to. So programs that run once in the life of a
 * process read pointers through a helper (BPF_CORE_READ), and only the hot ones load them. */
static __always_inline struct member *member_of(struct task_struct *task)
{
    return member_find(BPF_CORE_READ(task, signal), task->tgid);
}

/* The same for programs that run often. */
static __always_inline struct member *member_of_hot(struct task_struct *task)
{
    return member_find(task->signal, task->tgid);
}

static __always_inline __u64 *member_bit(__u32 pid, __u64 *bit)
{
    __u32 word = pid / 64;

    *bit = 1ULL << (pid % 64);
    return bpf_map_lookup_elem(&member_bits, &word);
}

static __always_inline __u64 *marked_bit(__u32 pid, __u64 *bit)
{
    __u32 word = pid / 64;

    *bit = 1ULL << (pid % 64);
    return bpf_map_lookup_elem(&marked_bits, &word);
}

/* With marked_calls: whether its system calls are counted from now on. */
static __always_inline void member_mark(struct member *member, bool marked)
{
    __u64 bit, *bits = marked_bit(member->pid, &bit);

    member->counts_calls = marked;
    if (bits && marked)
        __sync_fetch_and_or(bits, bit);
    else if (bits)
        __sync_fetch_and_and(bits, ~bit);
}

/* Follows a process from now on. NULL: no room. */
static __always_inline struct member *member_add(struct task_struct *task, __u32 counts_calls, __u32 seeded)
{
    struct signal_struct *signal = BPF_CORE_READ(task, signal);
    __u64 key = (__u64)signal;
    struct member member = {
        .id = __sync_fetch_and_add(&control.next_id, 1) + 1,
        .start_ns = BPF_CORE_READ(task, group_leader, start_boottime),
        .born_ns = BPF_CORE_READ(task, group_leader, start_time),
        .pid = task->tgid,
        .counts_calls = counts_calls,
        .threads = BPF_CORE_READ(signal, nr_threads),
        .seeded = seeded,
    };

    __u64 bit, *bits = member_bit(member.pid, &bit);

    if (bits)
        __sync_fetch_and_or(bits, bit);
    if (bpf_map_update_elem(&members, &key, &member, BPF_ANY) != 0) {
        __sync_fetch_and_add(&control.unfollowed, 1);
        return 0;
    }
    if (settings.marked_calls && counts_calls) {
        bits = marked_bit(member.pid, &bit);
        if (bits)
            __sync_fetch_and_or(bits, bit);
    }
    return bpf_map_lookup_elem(&members, &key);
}

static __always_inline void event_fill(struct wire_event *event, __u32 what, const struct member *member,
                                       __u64 stamp_ns)
{
    event->what = what;
    event->pid = member->pid;
    event->id = member->id;
    event->stamp_ns = stamp_ns;
    event->start_ns = member->start_ns;
}

/* Waking the reader costs more than the event: it comes by itself, and is woken only before the ring is
 * full. */
static __always_inline __u64 event_flags(void)
{
    return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > WIRE_RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP
                                                                               : BPF_RB_NO_WAKEUP;
}

static __always_inline void *event_reserve(__u64 size)
{
    void *event = bpf_ringbuf_reserve(&events, size, 0);

    if (!event)
        __sync_fetch_and_add(&control.lost, 1);
    return event;
}

static __always_inline void event_submit(void *event)
{
    bpf_ringbuf_submit(event, event_flags());
}

/* Our own cost, for what concerned the target. */
static __always_inline void cost_add(__u64 begin_ns)
{
    __sync_fetch_and_add(&control.kernel_ns, bpf_ktime_get_ns() - begin_ns);
}

#define DEAD 0x80 /* TASK_DEAD in a task's state: it never runs again */

static __always_inline __u32 state_of(struct task_struct *task)
{
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return (__u32)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

#endif
