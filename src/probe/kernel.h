/*
 * What this machine and its kernel are, found out once at the start: by trying, not by version.
 */
#ifndef METRON_PROBE_KERNEL_H
#define METRON_PROBE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/system_files.h"

struct kernel_facts {
    bool live;               /* proc_root is this machine's /proc, not a recorded tree */
    size_t page_bytes;       /* of this machine */
    long ticks_per_second;   /* USER_HZ, of this machine */
    unsigned usable_cpus;    /* that this process may run on (its affinity); at least 1 */
    unsigned online_cpus;    /* that the machine has running; at least 1 */
    bool fd_count_in_size;   /* st_size of PID/fd is the number of descriptors (from Linux 6.2) */
    bool has_children_files; /* PID/task/TID/children is there (CONFIG_PROC_CHILDREN) */
    bool delay_accounting;   /* tasks' waits for block I/O are counted (kernel.task_delayacct) */
    pid_t pid_max;           /* pids are below this; 0: unknown */
    uint64_t memory_bytes;   /* MemTotal; 0: unknown */
    char boot_id[40];        /* another one after every boot; "" if unknown, as are all of these */
    char release[72];        /* "6.1.0-18-amd64" */
    char hostname[72];
    char architecture[72];            /* "x86_64" */
    char cpu_model[SYSTEM_NAME_SIZE]; /* of the first CPU: others of the machine may differ */
    char os_name[SYSTEM_NAME_SIZE];   /* "Debian GNU/Linux 12 (bookworm)"; of a container that of its image */
};

/* Fills `out` from `proc_root` ("/proc", or a recorded tree: then page size, ticks and CPUs are still this
 * machine's). A fact that cannot be had takes the value said above. -ENOENT or another negative errno only if
 * there is no such folder. */
int kernel_facts_read(const char *proc_root, struct kernel_facts *out);

/* On how many CPUs a process may run (its affinity); 0: the calling one. At least 1. */
unsigned kernel_usable_cpus(pid_t pid);

#endif
