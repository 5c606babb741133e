/*
 * The conserved ledger: what a tree used in all, with no privilege.
 *
 *   T = sum over living and zombie members of (own + waited-for children)
 *     + sum over every process we reaped of what it held (the same two parts).
 *
 * What a process used moves to its parent when the parent waits for it; it is counted once at every moment
 * provided that parents are read before their children and that nothing is reaped within a pass. A race then
 * only undercounts and heals at the next pass, so the running maximum is what is published. CPU, faults and
 * I/O all behave so.
 *
 * The own part of CPU comes from the process CPU clock (nanoseconds) where it was read, else from stat
 * (kernel ticks); the part of the children exists in stat alone. The kernel drops what a child used if its
 * parent ignores SIGCHLD, or if its pid namespace is torn down. What we had seen of it is then missing in the
 * sum, and stays missing, unlike in a race: that is how the loss is noticed.
 */
#ifndef METRON_TREE_LEDGER_H
#define METRON_TREE_LEDGER_H

#include <stdint.h>
#include <sys/resource.h>

#include "probe/pid/files.h"
#include "probe/pid/stat.h"

enum ledger_count {
    LEDGER_MINOR_FAULTS,
    LEDGER_MAJOR_FAULTS,
    LEDGER_RCHAR,
    LEDGER_WCHAR,
    LEDGER_SYSCR,
    LEDGER_SYSCW,
    LEDGER_READ_BYTES,
    LEDGER_WRITE_BYTES,
    LEDGER_COUNT
};

struct ledger_sum {
    double cpu_seconds;
    uint64_t counts[LEDGER_COUNT];
};

/* So many passes in a row must miss CPU before it counts as dropped. */
#define LEDGER_PATIENCE 3

struct ledger {
    struct ledger_sum live; /* members, as of the last pass */
    struct ledger_sum
        gone; /* reaped by us; without reaping: ended members that nobody in the target inherits */
    struct ledger_sum published; /* the running maximum of live + gone */
    double reaped_cpu_seconds;   /* only what wait4 told */
    struct rusage reaped;        /* sums; ru_maxrss is the largest */
    uint64_t reaped_count;
    uint64_t hwm_bytes;               /* the largest high-water mark of any member ever read */
    double deficits[LEDGER_PATIENCE]; /* by how much the latest passes fell short of the published CPU */
    double dropped_cpu_seconds; /* seen once and never inherited by anyone: at least so much is missing */
};

/* What one process holds now: its own part and its waited-for children's. `cpu_ns`: its CPU clock, 0 if not
 * read; `io` may be NULL: not read. */
struct ledger_sum ledger_of_process(const struct pid_stat *stat, uint64_t cpu_ns, const struct pid_io *io);
struct ledger_sum ledger_minus(struct ledger_sum a, struct ledger_sum b); /* never below 0 */
void ledger_add(struct ledger_sum *to, struct ledger_sum sum);
/* Takes over a process that we reaped: `usage` from wait4; `io` what its io file said before that, NULL if it
 * could not be read (storage bytes are then wait4's, the rest is lost). */
void ledger_reap(struct ledger *ledger, const struct rusage *usage, const struct pid_io *io);
/* At the end of a pass: `live` is complete. */
void ledger_publish(struct ledger *ledger);
/* After the last pass: nothing is left that could heal. */
void ledger_settle(struct ledger *ledger);

#endif
