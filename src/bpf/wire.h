/*
 * What the kernel-side programs and the rest of metron say to each other: plain structs, the same on both
 * sides. Times are in nanoseconds; `stamp_ns` is CLOCK_MONOTONIC, `start_ns` CLOCK_BOOTTIME (as field 22 of
 * /proc/PID/stat has it, only finer): with the pid it names a process.
 */
#ifndef METRON_BPF_WIRE_H
#define METRON_BPF_WIRE_H

#include <linux/types.h>

#define WIRE_COMM_SIZE     16
#define WIRE_ARGUMENTS_MAX 16384 /* a power of two: a command line is sent up to one byte less */
#define WIRE_CPUS_MAX      1024
#define WIRE_RING_BYTES    (4 << 20)

/* Everybody is followed: the spawner's children, and theirs. The spawner itself is no member. */
struct wire_settings {
    __u32 spawner;   /* tgid; 0: none, members are seeded alone */
    __u32 cpu_count; /* possible CPUs */
    __u32 page_size;
    __u32 delays;       /* the kernel keeps account of delays: else nobody has any */
    __u32 marked_calls; /* only of members that are marked are system calls counted */
    __u32 pad;
};

/* What is asked for a process in the table of seeds; 0: that it is followed, no more. */
enum wire_wish { WIRE_MARK = 1, WIRE_UNMARK };

/* Shared memory that both sides see: counts of what went wrong, and our own cost. */
struct wire_control {
    __u64 lost;       /* events that did not fit into the ring */
    __u64 unfollowed; /* processes that did not fit into the table of members */
    __u64 calls_lost; /* system calls that did not fit into the table of calls */
    __u64 kernel_ns;  /* CPU that our programs took inside the target's processes */
    __u64 next_id;    /* of members */
    __u64 everybody;  /* set from outside: the reader of tasks tells all processes of the machine */
};

enum wire_what { WIRE_FORK = 1, WIRE_EXEC, WIRE_EXIT, WIRE_SIGNAL, WIRE_OOM };

/* Begins every event. */
struct wire_event {
    __u32 what; /* enum wire_what */
    __u32 pid;  /* of the process it happened to */
    __u64 id;   /* of this member, never used again */
    __u64 stamp_ns;
    __u64 start_ns;
};

struct wire_fork {
    struct wire_event event;
    __u32 parent; /* the parent's pid: not the forker's, with CLONE_PARENT */
    __u32 pad;
};

struct wire_exec {
    struct wire_event event;
    char comm[WIRE_COMM_SIZE];
    __u32 length;                       /* of `arguments`, */
    __u32 truncated;                    /* which are only the beginning of the command line */
    char arguments[WIRE_ARGUMENTS_MAX]; /* each ended by NUL; only `length` bytes are sent */
};

struct wire_io {
    __u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

/* It has ended, and this is all it had used itself: all threads, no children. */
struct wire_exit {
    struct wire_event event;
    __u64 born_ns;    /* CLOCK_MONOTONIC, */
    __u64 gone_ns;    /* and when it left the CPU for the last time; `stamp_ns` is when it began to end */
    __u64 peak_bytes; /* largest resident memory of its last program; 0: the kernel no longer had it */
    __s32 wait_status;
    __u32 seeded; /* it lived before it was followed: the I/O of threads that had ended by then is missing */
    __u64 cpu_ns;
    __u64 minor_faults, major_faults;
    __u64 voluntary_switches, involuntary_switches;
    struct wire_io io;
};

struct wire_signal {
    struct wire_event event;
    __s32 number;
    __s32 code;    /* si_code; 0 for a signal without siginfo */
    __u32 sender;  /* pid; 0: the kernel */
    __u16 deadly;  /* no handler: it ends the process, */
    __u16 blocked; /* unless the thread it was sent to, or the first, blocks it */
    char sender_comm[WIRE_COMM_SIZE];
};

/* The OOM killer chose it. */
struct wire_oom {
    struct wire_event event;
};

/* One thread of a process, as the reader of tasks tells it. A first thread stands for its process and carries
 * what the ended threads had used as well; the others only what is summed. */
struct wire_task {
    __u32 pid;      /* of the process */
    __u32 is_first; /* else only the fields up to `io` count */
    __u64 cpu_ns;
    __u64 minor_faults, major_faults;
    __u64 voluntary_switches, involuntary_switches;
    struct wire_io io;
    /* The process. */
    __u64 start_ns;
    __u64 children_user_ns, children_system_ns;
    __u64 children_minor_faults, children_major_faults;
    __u64 vsize_bytes, rss_bytes, hwm_bytes,
        swap_bytes; /* 0 without memory of its own (zombie, kernel thread) */
    __u64 start_stack;
    __u64 blocked_ns; /* of the first thread; 0 without delay accounting */
    __u64 open_files_limit;
    __u32 parent, threads;
    __u32 state, exit_state; /* the kernel's bits */
    __u32 ignores_sigchld;   /* told of parents alone */
    __u32 pad;
    char comm[WIRE_COMM_SIZE];
};

/* System calls of one process by number and outcome. */
struct wire_call_key {
    __u32 id; /* the low half of a member's id */
    __u32 number;
    __u32 error; /* the number of the error that it returned; 0: none */
};

struct wire_call {
    __u64 count, ns;
};

#endif
