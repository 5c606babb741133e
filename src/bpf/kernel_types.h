/*
 * The few fields of kernel structures that our programs read, declared by hand.
 *
 * Only names and types matter: offsets are filled in when a program is loaded, from the running kernel's own
 * description of its types (CO-RE). So nothing of the build host's kernel is needed. Fields that moved or
 * were renamed between kernels have a second declaration behind `___`, which the loader ignores in names.
 */
#ifndef METRON_BPF_KERNEL_TYPES_H
#define METRON_BPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
    int counter;
} atomic_t;

typedef struct {
    long counter;
} atomic_long_t;

struct refcount_struct {
    atomic_t refs;
};

typedef struct refcount_struct refcount_t;

struct percpu_counter {
    __s64 count;
    __s32 *counters; /* per CPU */
};

/* Resident pages: file, anonymous, swap entries, shared memory. */
enum { RSS_FILE, RSS_ANON, RSS_SWAP, RSS_SHMEM, RSS_KINDS };

struct mm_struct {
    unsigned long hiwater_rss;
    unsigned long total_vm;
    unsigned long start_stack;
    unsigned long arg_start, arg_end;
    struct percpu_counter rss_stat[RSS_KINDS]; /* from Linux 6.2 */
};

struct mm_rss_stat___before_6_2 {
    atomic_long_t count[RSS_KINDS];
};

struct mm_struct___before_6_2 {
    struct mm_rss_stat___before_6_2 rss_stat;
};

struct task_io_accounting {
    __u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

struct rlimit {
    unsigned long rlim_cur;
};

/* A map of ours, as the kernel sees it. */
struct bpf_array {
    void *pptrs[1]; /* per CPU */
};

struct task_struct;

struct upid {
    int nr;
};

struct pid {
    refcount_t count;
    struct upid numbers[1];
};

/* One for all threads of a process. */
struct signal_struct {
    refcount_t sigcnt; /* threads whose memory is not freed yet */
    atomic_t live;     /* threads that have not ended */
    int nr_threads;
    int group_exit_code;
    unsigned int flags;
    /* What ended threads had used, and what waited-for children had. */
    __u64 cutime, cstime;
    unsigned long min_flt, maj_flt, cmin_flt, cmaj_flt;
    unsigned long nvcsw, nivcsw;
    unsigned long long sum_sched_runtime;
    struct task_io_accounting ioac;
    struct rlimit rlim[16];
};

struct list_head {
    struct list_head *next;
};

typedef struct {
    unsigned long sig[1]; /* one bit for each */
} sigset_t;

struct sigaction {
    void *sa_handler;
};

struct k_sigaction {
    struct sigaction sa;
};

struct sighand_struct {
    struct k_sigaction action[64];
};

struct sched_entity {
    __u64 sum_exec_runtime;
};

struct task_delay_info {
    __u64 blkio_delay;
};

struct thread_info {
    __u32 status; /* x86 */
};

struct task_struct {
    struct thread_info thread_info;
    unsigned int __state; /* `state` before Linux 5.14 */
    unsigned int flags;
    int exit_state, exit_code;
    int pid, tgid;
    struct sched_entity se;
    struct mm_struct *mm;
    struct task_struct *real_parent, *group_leader;
    struct list_head tasks; /* first threads, as a rule in the order of their pids */
    struct list_head children;
    struct pid *thread_pid;
    refcount_t usage, rcu_users;
    struct signal_struct *signal;
    struct sighand_struct *sighand;
    sigset_t blocked;
    struct task_delay_info *delays;
    __u64 start_time, start_boottime;
    unsigned long min_flt, maj_flt, nvcsw, nivcsw;
    struct task_io_accounting ioac;
    char comm[16];
};

struct task_struct___before_5_14 {
    volatile long state;
};

struct kernel_siginfo {
    int si_code;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
    __u64 seq_num;
};

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

#pragma clang attribute pop

#endif
