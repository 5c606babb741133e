/*
 * The control group of a target: a leaf made for it alone (own), or the one metron was started in
 * (inherited), or, of a target that runs already, the one that it is in (inherited as well).
 *
 * An own leaf is a child of the group metron is in, so that every limit above still binds. On a v1 or hybrid
 * host it is a child in each hierarchy that counts something without changing how the target runs: memory,
 * pids, and for CPU time the v2 hierarchy where it is mounted (without controllers), else cpuacct. A `cpu`
 * leaf would change scheduling, a blkio leaf would leave the limits above (they are not hierarchical in v1),
 * and a cpuset leaf refuses members: none of them is made. On a v2 host a group has members or controllers
 * below it, not both: the leaf counts CPU and pressure, and memory, pids and I/O only where metron is alone
 * in a group that was delegated to it (then metron steps aside into a leaf of its own).
 *
 * Below a group that systemd manages and has not delegated nothing is made. No process but metron itself is
 * ever moved; the command starts inside the leaf. A leaf is locked (flock) as long as its metron lives: what
 * a killed one left behind is removed by the next run, once it has no members.
 */
#ifndef METRON_PROBE_CGROUP_TARGET_H
#define METRON_PROBE_CGROUP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "probe/cgroup/leaf.h"
#include "probe/cgroup/place.h"

enum cgroup_mode {
    CGROUP_MODE_AUTO,
    CGROUP_MODE_OWN,
    CGROUP_MODE_INHERITED,
    CGROUP_MODE_OFF,
    CGROUP_MODE_RUNNING, /* the target runs already: the group it is in, and nobody is moved */
    CGROUP_MODE_SEVERAL, /* it does, but in more than one group: none of them */
};
enum cgroup_scope { CGROUP_SCOPE_NONE, CGROUP_SCOPE_INHERITED, CGROUP_SCOPE_OWN };

struct cgroup_target {
    enum cgroup_scope scope;
    struct cgroup_place place; /* where metron was started, or where the target runs already */
    bool is_running;           /* it is the latter */
    struct cgroup_leaf leaves[CGROUP_CONTROLLER_COUNT];
    const char *reasons[CGROUP_CONTROLLER_COUNT]; /* own: why a controller has no leaf; static */
    const char *why_not_own;                      /* NULL where it is own; static */
    struct cgroup_leaf aside;                     /* v2: where metron itself stepped, to make room */
    bool enabled[CGROUP_CONTROLLER_COUNT];        /* v2: controllers that were turned on below our group */
    bool in_unified[CGROUP_CONTROLLER_COUNT];     /* own: the controller's files are in the v2 leaf */
    bool look_only;
};

/* Finds the group and, unless `look_only`, makes the leaf. Owns `place` from here on. AUTO never fails; OWN
 * is an error where no leaf can be had. With `look_only` (doctor) the scope is what a run would get, as far
 * as that can be told without trying. */
int cgroup_target_open(struct cgroup_target *target, struct cgroup_place *place, enum cgroup_mode mode,
                       bool look_only, struct metron_error *error);
/* Removes the leaf, as far as it is empty. Safe on a zeroed struct and twice. */
void cgroup_target_close(struct cgroup_target *target);

/* The folder to read a controller's counts from and its version; NULL where there is none, and why (static).
 */
const char *cgroup_target_folder(const struct cgroup_target *target, enum cgroup_controller controller,
                                 int *version, const char **reason);
/* Where the command enters its v1 leaves: files to write "0" to. Returns their number. */
size_t cgroup_target_entrances(const struct cgroup_target *target, int join_fds[CGROUP_CONTROLLER_COUNT]);
/* Kills everybody in an own leaf at once (v2, Linux 5.14). False where that cannot be done. */
bool cgroup_target_kill(const struct cgroup_target *target);

#endif
