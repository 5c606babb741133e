/*
 * The conserved ledger: what a tree used in all, with no privilege.
 *
 *   T = sum over living and zombie members of (own + waited-for children)
 *     + sum over every process we reaped of its rusage (which holds the same two parts).
 *
 * A process's time moves to its parent when the parent waits for it; it is counted once at every moment
 * provided that parents are read before their children and that nothing is reaped within a pass. A race then
 * only undercounts and heals at the next pass, so the running maximum is what is published.
 *
 * The own part comes from the process CPU clock (nanoseconds) where it was read, else from stat (kernel
 * ticks); the part of the children exists in stat alone.
 */
#ifndef METRON_TREE_LEDGER_H
#define METRON_TREE_LEDGER_H

#include <stdint.h>
#include <sys/resource.h>

#include "probe/pid_stat.h"

struct ledger_sum {
    double cpu_seconds;
    uint64_t minor_faults;
    uint64_t major_faults;
};

struct ledger {
    struct ledger_sum live; /* members, as of the last pass */
    struct ledger_sum
        gone; /* reaped by us; without reaping: ended members that nobody in the target inherits */
    struct ledger_sum published; /* the running maximum of live + gone */
    double reaped_cpu_seconds;   /* only what wait4 told */
    struct rusage reaped;        /* sums; ru_maxrss is the largest */
    uint64_t reaped_count;
    uint64_t hwm_bytes; /* the largest high-water mark of any member ever read */
};

/* What one process holds now: its own part and its waited-for children's. `cpu_ns`: its CPU clock, 0 if not
 * read. */
struct ledger_sum ledger_of_process(const struct pid_stat *stat, uint64_t cpu_ns);
struct ledger_sum ledger_minus(struct ledger_sum a, struct ledger_sum b); /* never below 0 */
void ledger_add(struct ledger_sum *to, struct ledger_sum sum);
/* Takes over a process that we reaped. */
void ledger_reap(struct ledger *ledger, const struct rusage *usage);
/* At the end of a pass: `live` is complete. */
void ledger_publish(struct ledger *ledger);

#endif
