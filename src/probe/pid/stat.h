/*
 * /proc/PID/stat: one line of space-separated fields.
 */
#ifndef METRON_PROBE_PID_STAT_H
#define METRON_PROBE_PID_STAT_H

#include <stddef.h>
#include <stdint.h>

#define PID_STAT_SIZE 1024 /* a buffer this long holds every stat line */

/* PF_… of linux/sched.h */
enum pid_flag {
    PID_EXITING = 0x4,            /* PF_EXITING */
    PID_SIGNALED = 0x400,         /* PF_SIGNALED: a signal ends it */
    PID_KERNEL_THREAD = 0x200000, /* PF_KTHREAD */
};

struct pid_stat {
    int32_t pid;
    char comm[64]; /* raw bytes as the kernel has them, NUL-terminated; 15 bytes for user processes */
    char state;    /* R S D Z T t X I … */
    int32_t ppid;
    int32_t session;
    uint32_t flags;                            /* enum pid_flag, among others */
    uint64_t minor_faults, child_minor_faults; /* own; of waited-for children */
    uint64_t major_faults, child_major_faults;
    uint64_t user_ticks, system_ticks; /* own, USER_HZ */
    uint64_t child_user_ticks, child_system_ticks;
    uint32_t threads;
    uint64_t start_ticks; /* after boot, USER_HZ, CLOCK_BOOTTIME */
    uint64_t vsize_bytes;
    uint64_t rss_pages;       /* approximate: per-CPU counters are not summed here; statm is better */
    uint64_t start_stack;     /* 0 where not permitted; changes at exec */
    uint64_t ignored_signals; /* bit N - 1: signal N is ignored; signals up to 31 */
    uint64_t blocked_ticks;   /* waited for block I/O, USER_HZ; 0 without delay accounting (kernel_facts) */
};

/* Parses one line. 0, or -EBADMSG if it is not a complete stat line. The comm field may hold spaces,
 * parentheses and newlines: it ends at the last ") ". */
int pid_stat_parse(const char *text, size_t length, struct pid_stat *out);

#endif
