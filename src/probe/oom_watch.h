/*
 * Was it the OOM killer, and whose limit was it? Told from counters and what they were at the start, never
 * from an exit code: 137 alone proves nothing.
 *
 * `oom_kill` of the target's group says that somebody in it was killed, not whose limit was hit. The limit is
 * that of the nearest group whose own counter of failures rose: v2's `oom` in memory.events.local, v1's
 * failcnt. Nearest first: the leaf and the group metron was started in are the target's own, the others its
 * ancestors'. If none rose and all could be read, the host ran out. Where no group can be read, /proc/vmstat
 * tells at least whether the machine has killed anybody.
 */
#ifndef METRON_PROBE_OOM_WATCH_H
#define METRON_PROBE_OOM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/cgroup/target.h"

enum oom_kind {
    OOM_NONE,
    OOM_OWN_LIMIT,      /* of the leaf or the group metron was started in */
    OOM_ANCESTOR_LIMIT, /* of a group above */
    OOM_HOST,           /* no group's limit: the machine was out of memory */
    OOM_UNKNOWN,        /* killed, but not every group above can be seen */
    OOM_ON_MACHINE,     /* the target's group cannot be read; somebody on this machine was killed */
};

struct oom_verdict {
    enum oom_kind kind;
    uint64_t kills;       /* in the target's group since the start */
    bool just_now;        /* some of them within half a second, as far as the looks can tell */
    bool is_parent;       /* OOM_ANCESTOR_LIMIT: of the group just above the one metron was started in */
    uint64_t limit_bytes; /* of OOM_OWN_LIMIT and OOM_ANCESTOR_LIMIT; CGROUP_NO_LIMIT: unknown */
    char group[256];      /* whose limit: its path in the hierarchy */
};

struct oom_watch;

/* Reads the baselines. NULL for want of memory. `target` must outlive it; may be NULL: only the machine is
 * watched. */
struct oom_watch *oom_watch_new(const char *proc_root, const struct cgroup_target *target);
/* Once in a while: how the count stands. It narrows down when a kill was. */
void oom_watch_look(struct oom_watch *watch);
/* What has happened since. Call it before the leaf is removed. */
void oom_watch_read(struct oom_watch *watch, struct oom_verdict *out);
void oom_watch_free(struct oom_watch *watch);

#endif
