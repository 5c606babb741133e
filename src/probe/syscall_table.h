/*
 * Counts of system calls, of one process or of the whole target; and what a source of them (BPF, strace)
 * offers to the collector, so that it need not know which of them is in force.
 */
#ifndef METRON_PROBE_SYSCALL_TABLE_H
#define METRON_PROBE_SYSCALL_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct syscall_totals {
    uint64_t count, errors, ns; /* ns: from entry to return, waiting included */
};

struct syscall_entry {
    const char *name; /* of probe/syscall_names.h: lasts */
    struct syscall_totals totals;
};

/* Starts zeroed. Walk it: entries[0 … count), by name. */
struct syscall_table {
    struct syscall_entry *entries; /* owned */
    size_t count, capacity;
};

void syscall_table_fini(struct syscall_table *table);
/* Forgets the counts; keeps the memory. */
void syscall_table_clear(struct syscall_table *table);
/* Adds to one call, by number (with SYSCALL_COMPAT for a 32-bit one) or by name. -ENOMEM: these are lost. */
int syscall_table_add(struct syscall_table *table, uint32_t number, const struct syscall_totals *more);
int syscall_table_add_named(struct syscall_table *table, const char *name, const struct syscall_totals *more);
/* Adds all of `more`. -ENOMEM: some of it is lost. */
int syscall_table_merge(struct syscall_table *table, const struct syscall_table *more);

/* What a source of counts tells a collector. All counts are cumulative since the process, or the target, was
 * first followed. */
struct syscall_source {
    /* Brings everything up to date. 0 or a negative errno. */
    int (*update)(void *context);
    /* Of a process, by its id in the kernel's tables, ended ones since the last report included; NULL: none
     * was counted. The function itself is NULL in a source that does not tell processes apart. */
    const struct syscall_table *(*of_process)(void *context, uint64_t kernel_id);
    const struct syscall_table *(*of_target)(void *context);
    void *context;
    const char *method; /* "bpf", "strace" */
};

#endif
