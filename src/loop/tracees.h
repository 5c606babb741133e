/*
 * Who is to be traced by strace: the members of a tree that run already.
 */
#ifndef METRON_LOOP_TRACEES_H
#define METRON_LOOP_TRACEES_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "tree/tree.h"

/* `first`, then the other living members; the caller frees them. A listing may miss some while others die: it
 * is repeated until it finds nobody new. -ENOMEM. */
int tracees_list(struct tree *tree, pid_t first, pid_t **pids, size_t *count, struct metron_error *error);
/* After strace has attached: warns where a member has no tracer. */
void tracees_warn_of_missed(struct tree *tree);

#endif
