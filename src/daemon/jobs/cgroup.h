/*
 * The control group of a job or a sheet: one that was made for it alone. Whoever is in it belongs to it, and
 * what the kernel counts for it is exact: nobody's use is lost with its end. A process with the permission to
 * do so can move to another group, which counts it from then on. Where a pass finds a member outside, or its
 * runner reports that its command exited there, the count is a lower bound (USAGE_LEFT_CGROUP).
 *
 * Which group it is, is read from /proc/PID/cgroup here; no path comes from a client. A group that others are
 * in as well is refused: the root group, and the daemon's own with all above it.
 */
#ifndef METRON_DAEMON_JOBS_CGROUP_H
#define METRON_DAEMON_JOBS_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "probe/cgroup/members.h"
#include "probe/cgroup/reader.h"
#include "schema/job.h"

#define JOB_CGROUP_COUNTED 5 /* values that a group counts */

struct job_cgroup {
    char *folder; /* which one it is: where its members are read */
    struct cgroup_members members;
    struct cgroup_reader *reader;
    bool counts_all;                    /* whatever the part did before was counted by a group as well */
    bool was_left;                      /* a member of the part was found outside */
    uint64_t listing;                   /* the last one of its members: process->listed of those in it */
    double earlier[JOB_CGROUP_COUNTED]; /* to be added to what the group counts: of tries before */
    uint64_t memory_limit_bytes;        /* when it was opened; CGROUP_NO_LIMIT: none */
    struct group *group;                /* whose members its processes become */
    struct job_cgroup *next;            /* in the list of all */
};

/* The group of `pid`. `proc_root` and `root_prefix` as in probe/cgroup/place.h. NULL, and why it is not to be
 * had: -EBUSY, others are in it. */
struct job_cgroup *job_cgroup_open(const char *proc_root, const char *root_prefix, pid_t pid,
                                   struct metron_error *error);
void job_cgroup_close(struct job_cgroup *cgroup); /* NULL is nothing */

/* What the group had counted by now was reported already, as `usage`: it is added up from here on.
 * `is_first`: nothing was, and all that it has counted since it was made is the part's. */
void job_cgroup_go_on(struct job_cgroup *cgroup, const struct job_usage *usage, bool is_first);
/* What it has counted: CPU, the peak of memory, OOM kills, periods of its quota, as far as its controllers
 * are there; and its memory limit. Of a group that is gone `usage` keeps what was last known. */
void job_cgroup_take(const struct job_cgroup *cgroup, struct job_usage *usage);

#endif
