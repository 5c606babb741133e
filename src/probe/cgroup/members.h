/*
 * Who is in a control group: its cgroup.procs, read again and again.
 */
#ifndef METRON_PROBE_CGROUP_MEMBERS_H
#define METRON_PROBE_CGROUP_MEMBERS_H

#include <sys/types.h>

#include "base/strbuf.h"

struct cgroup_members {
    int fd;     /* v2: kept open; -1 */
    char *path; /* v1: opened for each reading; NULL */
};

#define CGROUP_MEMBERS_NONE                                                                                  \
    {                                                                                                        \
        .fd = -1                                                                                             \
    }

/* 0 or a negative errno, which leaves nothing. */
int cgroup_members_open(struct cgroup_members *members, const char *folder, int version);
/* Calls `visit` for every process of the group itself, not of those below it. One that this pid namespace
 * cannot name is passed over. `scratch` keeps its memory. Returns how many were visited, or a negative errno:
 * -ENODEV once the group is gone. */
int cgroup_members_read(const struct cgroup_members *members, struct strbuf *scratch,
                        void (*visit)(void *context, pid_t pid), void *context);
/* May be called twice. */
void cgroup_members_close(struct cgroup_members *members);

#endif
