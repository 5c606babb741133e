/*
 * From what a tick saw to a snapshot: who is there from the tree, what was measured from the passes of the
 * sampler, and rates from the record of the tick.
 */
#ifndef METRON_LOOP_SNAPSHOTS_H
#define METRON_LOOP_SNAPSHOTS_H

#include "loop/sampler.h"
#include "schema/record.h"
#include "schema/snapshot.h"
#include "tree/tree.h"

/* Fills in processes, GPUs and the machine; the snapshot has its columns and nothing else. -ENOMEM: it is not
 * whole. */
int snapshot_fill(struct snapshot *snapshot, const struct tree *tree, const struct sampler *sampler,
                  const struct record *record);

#endif
