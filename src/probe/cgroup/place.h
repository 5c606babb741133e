/*
 * Where a process stands in each cgroup hierarchy, as folders that can be opened.
 *
 * Two files together tell it: /proc/PID/cgroup (the group's path within its hierarchy) and
 * /proc/self/mountinfo (which part of the hierarchy is mounted, and where: the reader's own, since the reader
 * must be able to open it). Both are relative to the reader's cgroup namespace. A bind mount shows only a
 * part; several mounts may show the same hierarchy: the one that shows most ancestors is taken. A `0::` line
 * alone does not mean that v2 has any controllers: a hybrid host mounts v2 without them.
 */
#ifndef METRON_PROBE_CGROUP_PLACE_H
#define METRON_PROBE_CGROUP_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* The controllers that metron reads; UNIFIED is the v2 hierarchy itself, with or without controllers. */
enum cgroup_controller {
    CGROUP_UNIFIED,
    CGROUP_MEMORY,
    CGROUP_CPU,     /* quota and throttling */
    CGROUP_CPUACCT, /* v1 only: in v2, CPU time is the unified hierarchy's own */
    CGROUP_PIDS,
    CGROUP_IO, /* v1: blkio */
    CGROUP_CONTROLLER_COUNT
};

struct cgroup_spot {
    int version;  /* 1 or 2; 0: not to be had, see `reason` */
    char *folder; /* the group's folder, without a slash at its end; owned; NULL without version */
    char *path;   /* the group's path in its hierarchy as /proc/PID/cgroup has it; owned; NULL likewise */
    size_t top_length;     /* the first so many bytes of `folder` are the mount point: ancestors end there */
    bool is_root;          /* the hierarchy's real root group: it holds the whole machine */
    bool ancestors_hidden; /* groups above the mount point exist but cannot be seen (namespace or bind mount);
                              without version: the group is known, but not to be seen either */
    const char *reason;    /* static; NULL with version */
};

struct cgroup_place {
    struct cgroup_spot spots[CGROUP_CONTROLLER_COUNT];
};

/* Finds the place of `pid` (0: of the caller). `root_prefix` ("" for the live machine) is put before every
 * mount point, so that a recorded tree can be read; `proc_root` is used as it is. In v2 a controller's spot
 * is the unified one where the controller is enabled for the group (its files are there), else its reason
 * says so. 0 (even if nothing was found: each spot says why), or -ENOMEM. */
int cgroup_place_find(const char *proc_root, const char *root_prefix, int pid, struct cgroup_place *out);
void cgroup_place_fini(struct cgroup_place *place);

/* Cuts the last component off a folder of `spot` (a copy of spot->folder, or a result of this) in place: from
 * a group to its parent. False, and nothing changed, at the top that can be seen. */
bool cgroup_spot_ascend(const struct cgroup_spot *spot, char *folder);

#endif
