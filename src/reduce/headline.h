/*
 * Which number to show first: the common questions answered from a summary, each with the key it came from.
 * Sources are compared, never merged.
 */
#ifndef METRON_REDUCE_HEADLINE_H
#define METRON_REDUCE_HEADLINE_H

#include "schema/record.h"
#include "schema/run_info.h"

/* `cpu_note`: what is missing in the ledger's CPU, NULL if nothing is known to be; `spawned_is_exact`: every
 * spawn was told. */
struct headline headline_of(const struct record *summary, const char *cpu_note, bool spawned_is_exact);

#endif
