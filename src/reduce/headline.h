/*
 * Which number to show first: the common questions answered from a summary, each with the key it came from,
 * and what the other methods say. Sources are compared, never merged.
 */
#ifndef METRON_REDUCE_HEADLINE_H
#define METRON_REDUCE_HEADLINE_H

#include "base/strbuf.h"
#include "schema/record.h"
#include "schema/run_info.h"

/* How the numbers of the summary came about. */
struct headline_method_facts {
    const struct note *cpu_note; /* what is missing in the ledger's CPU; NULL: nothing is known to be */
    bool spawned_is_exact;       /* every spawn was told */
    bool own_cgroup;             /* the keys of the cgroup are those of a group made for the target alone */
    bool began_in_cgroup;      /* they are of the group in which the whole target began, and others may be */
    size_t found;              /* processes that ran already, and belong to it */
    bool attached;             /* the group is the one that these are in */
    double living_cpu_seconds; /* what processes that still live have used themselves; 0: nobody does;
                                * negative: not known */
};

struct headline headline_of(const struct record *summary, const struct headline_method_facts *facts);

/* Whether the own group, or the kernel's word on those that ended, has CPU that the ledger does not have. */
bool headline_ledger_misses(const struct record *summary, const struct headline_method_facts *facts);
/* Two methods that measure the same and disagree by more than their tolerance: a sentence for each such pair,
 * one a line, that says which, by how much and what it means. Nothing is added where all agree. A group that
 * others share counts at least what the target used: only less is a disagreement. What wait4 says is no
 * method of its own, because the ledger is made of it. */
void headline_disagreements(struct strbuf *out, const struct record *summary,
                            const struct headline_method_facts *facts);

#endif
