/*
 * Counts of system calls, of one process or of the whole target.
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

#endif
