/*
 * Counts of system calls, of one process or of the whole target; and of their errors, by call and error.
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

struct syscall_failure {
    const char *name; /* of the call */
    int error;
    uint64_t count;
};

/* Starts zeroed. Walk it: entries[0 … count), by name; failures[0 … failure_count), in any order. */
struct syscall_table {
    struct syscall_entry *entries; /* owned */
    size_t count, capacity;
    struct syscall_failure *failures; /* owned; those whose error is known */
    size_t failure_count, failure_capacity;
};

void syscall_table_fini(struct syscall_table *table);
/* Forgets the counts; keeps the memory. */
void syscall_table_clear(struct syscall_table *table);
/* Adds to one call, by number (with SYSCALL_COMPAT for a 32-bit one) or by name. -ENOMEM: these are lost. */
int syscall_table_add(struct syscall_table *table, uint32_t number, const struct syscall_totals *more);
int syscall_table_add_named(struct syscall_table *table, const char *name, const struct syscall_totals *more);
/* So many calls of this name returned this error; they are counted in `errors` of the call besides. */
int syscall_table_add_failure(struct syscall_table *table, const char *name, int error, uint64_t count);
/* Adds all of `more`. -ENOMEM: some of it is lost. */
int syscall_table_merge(struct syscall_table *table, const struct syscall_table *more);

#endif
