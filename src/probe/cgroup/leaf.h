/*
 * Groups that metron makes for itself: one leaf in one folder. Made with a name of its own, locked (flock)
 * while its maker lives, removed when it is empty; the lock is how a later run tells what was left behind
 * from what is in use, whichever pid namespace its maker was in.
 */
#ifndef METRON_PROBE_CGROUP_LEAF_H
#define METRON_PROBE_CGROUP_LEAF_H

#include <stdbool.h>

#include "probe/cgroup/place.h"

struct cgroup_leaf {
    char *folder; /* NULL: there is none */
    int lock_fd;  /* its folder, locked; -1 */
    int join_fd;  /* where a process writes "0" to enter; -1 */
};

#define CGROUP_LEAF_NONE                                                                                     \
    (struct cgroup_leaf)                                                                                     \
    {                                                                                                        \
        .lock_fd = -1, .join_fd = -1                                                                         \
    }

/* Makes a leaf below `parent` and opens the file that lets a process in: cgroup.procs in v2; tasks in v1,
 * where cgroup.procs would take a lock that every fork of the machine waits for. A negative errno leaves
 * nothing. */
int cgroup_leaf_make(const char *parent, int version, struct cgroup_leaf *out);
/* The same for metron itself, in v2. */
int cgroup_leaf_make_aside(const char *parent, struct cgroup_leaf *out);
/* Closes it and removes it with all empty groups below it. One that still has members stays, unlocked. */
void cgroup_leaf_remove(struct cgroup_leaf *leaf);
/* Whether groups of these names, in two hierarchies, are leaves of the same metron: it makes them one after
 * another, and a name that is free in one hierarchy may be taken in the next. */
bool cgroup_leaf_has_same_maker(const char *name, const char *other);
/* Removes the leaves below `parent` that nobody holds and nobody is in. */
void cgroup_leaf_sweep(const char *parent);

/* NULL if a group may be made below this one; else why not (static): no permission, or systemd's to write. */
const char *cgroup_leaf_refusal(const struct cgroup_spot *spot);
/* Whether systemd has handed the group to whoever is in it: it, or a group above it within the same unit, is
 * marked so. */
bool cgroup_spot_is_delegated(const struct cgroup_spot *spot);
/* The part of it that is systemd's rule: may others make groups at `path`, given whether systemd runs and
 * whether the group or one above it is marked as delegated. */
bool cgroup_path_is_systemds(const char *path, bool systemd_runs, bool delegated);

#endif
