/*
 * Which number to show first: the common questions answered from a summary, each with the key it came from.
 * Sources are compared, never merged.
 */
#ifndef METRON_REDUCE_HEADLINE_H
#define METRON_REDUCE_HEADLINE_H

#include "schema/record.h"
#include "schema/run_info.h"

/* `cpu_is_conserved`: the ledger saw every exit; `spawned_is_exact`: every spawn was told. */
struct headline headline_of(const struct record *summary, bool cpu_is_conserved, bool spawned_is_exact);

#endif
