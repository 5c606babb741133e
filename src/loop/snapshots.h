/*
 * From what a tick saw to a snapshot: who is there from the tree, what was measured from the record of the
 * tick. Which fields of the snapshot are which measurements is a table here; the rest of the loop walks the
 * registry.
 */
#ifndef METRON_LOOP_SNAPSHOTS_H
#define METRON_LOOP_SNAPSHOTS_H

#include "schema/record.h"
#include "schema/snapshot.h"
#include "tree/tree.h"

/* The measurements that snapshots are made of, as `--measurements` takes them. */
extern const char snapshot_measurements[];

/* Fills in processes and the machine; the snapshot is new and empty. -ENOMEM: it is not whole. */
int snapshot_fill(struct snapshot *snapshot, const struct tree *tree, const struct record *record);

#endif
