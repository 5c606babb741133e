/*
 * States and what fell to each of them: how many samples found it, or the amount of it (system calls,
 * seconds).
 *
 * Names of states are kept once for all tallies of a window, and a tally keeps its states from window to
 * window: in the steady state nothing is allocated.
 */
#ifndef METRON_REDUCE_TALLY_H
#define METRON_REDUCE_TALLY_H

#include <stdbool.h>

#include "base/arena.h"
#include "schema/pass.h"
#include "schema/record.h"

/* Every name that a tally holds; starts zeroed. Must outlive the tallies. */
struct state_names {
    struct state_name *first;
};
void state_names_fini(struct state_names *names);

struct tally; /* NULL: empty. Ended by free() */

/* Adds to one state. -ENOMEM: it is lost, nothing more. */
int tally_add(struct tally **tally, struct state_names *names, const char *state, double more);
/* Takes cumulative amounts: what each state has grown by since it was last taken. A state first seen has
 * grown by its whole amount, and so has one whose amount fell: it was counted anew. `run` (may be NULL) is a
 * tally of a longer span, which takes the same. `seed`: they are only remembered. `grew` is set if any state
 * did. */
int tally_take(struct tally **tally, struct tally **run, struct state_names *names,
               const struct amounts *amounts, bool seed, bool *grew);
/* The value of a record, copied into the arena: states in the order in which they were first seen, amounts
 * the largest first. States that nothing fell to are left out. -ENOMEM. */
int tally_value(const struct tally *tally, struct arena *arena, struct record_value *out);
/* Begins the next span: nothing has fallen to any state. */
void tally_reset(struct tally *tally);

#endif
